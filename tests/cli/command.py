"""Runs the binary for the tests of this folder: `<test>.py BINARY SOURCE_DIR [unittest arguments]`."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BINARY = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()


class CommandTest(unittest.TestCase):
    """Every test has a folder of its own, where it runs and where results are kept."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ptxwire-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = dict(os.environ, PTXWIRE_CACHE=str(self.folder / "cache"))
        self.environment.pop("PTXWIRE_DATA", None)

    def run_command(self, *arguments, timeout=300, stdout=subprocess.PIPE):
        return subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, env=self.environment, timeout=timeout,
                              stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, errors="replace")

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8")
        return path

    def copy_data(self):
        """A copy of the data folders that a test may damage; PTXWIRE_DATA then names it."""
        data = self.folder / "data"
        for part in ("models", "kernels", "traces"):
            shutil.copytree(SOURCE / part, data / part, ignore=shutil.ignore_patterns("*.cpp", "*.hpp", "*.cu", "*.cuh"))
        self.environment["PTXWIRE_DATA"] = str(data)
        return data

    def assert_one_error(self, result, *words, code=2):
        """Bad input: the exit code, one message on standard error that holds all `words`, nothing on standard output."""
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        errors = [line for line in result.stderr.splitlines() if "error: " in line]
        self.assertEqual(len(errors), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(result.stdout, "")


def main():
    del sys.argv[1:3]
    unittest.main()
