"""`sweep`: resumes after kill -9 at any moment, and gives one database content for any number of processes."""

import random
import shutil
import signal
import sqlite3
import subprocess
import time

import command

SWEEP = """
scenario = "h100_intranode_dispatch_ep8"
set = ["tokens=8", "calls=1"]
[grid]
sms = [4, 8, 12, 16]
chunk = [4, 8]
[[point]]
set = ["sms=7"]
"""


def content(path):
    with sqlite3.connect(path) as database:
        return database.execute("SELECT key, scenario, settings, outcome, error FROM point ORDER BY key").fetchall()


class SweepTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.sweep = self.file("s.toml", SWEEP)
        self.arguments = ("sweep", self.sweep, "--db")

    def reference(self):
        result = self.run_command(*self.arguments, "whole.db", "--jobs", 1)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("fastest", result.stdout)
        self.assertIn("'sms' is 7, expected an even number", " ".join(result.stdout.split()))
        return content(self.folder / "whole.db")

    def test_killed_at_random_times_it_loses_no_finished_point(self):
        expected = self.reference()
        self.assertEqual(len(expected), 8)
        seed = random.randrange(1 << 30)
        print("seed", seed)
        chance = random.Random(seed)
        known = 0
        for _ in range(12):
            process = subprocess.Popen([command.BINARY, *map(str, self.arguments), "killed.db"], cwd=self.folder,
                                       env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.0, 0.6))
            process.send_signal(signal.SIGKILL)
            process.wait()
            if (self.folder / "killed.db").exists():
                try:
                    now = len(content(self.folder / "killed.db"))
                except sqlite3.OperationalError:  # killed before the table was there
                    now = 0
                self.assertGreaterEqual(now, known)
                known = now
        result = self.run_command(*self.arguments, "killed.db")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(content(self.folder / "killed.db"), expected)

    def test_two_and_four_mpi_processes_give_what_one_does(self):
        launcher = shutil.which("mpirun")
        linked = subprocess.run(["ldd", command.BINARY], stdout=subprocess.PIPE, text=True, check=False).stdout
        if launcher is None or "libmpi" not in linked:
            self.skipTest("no mpirun, or a build without MPI")
        expected = self.reference()
        for processes in (2, 4):
            name = f"mpi{processes}.db"
            result = subprocess.run(
                [launcher, "--allow-run-as-root", "--oversubscribe", "-n", str(processes), command.BINARY,
                 *map(str, self.arguments), name], cwd=self.folder, env=self.environment, timeout=300,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.count("points in"), 1)  # one process prints
            self.assertEqual(content(self.folder / name), expected)
            bad = subprocess.run([launcher, "--allow-run-as-root", "--oversubscribe", "-n", str(processes), command.BINARY,
                                  "sweep", "missing.toml", "--db", name], cwd=self.folder, env=self.environment, timeout=60,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(bad.returncode, 2)
            self.assertEqual(bad.stderr.count("missing.toml: error"), 1)

    def test_a_file_of_another_schema_version_is_refused_and_kept(self):
        path = self.folder / "old.db"
        self.run_command(*self.arguments, path, "--jobs", 1)
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 0")
        self.assert_one_error(self.run_command(*self.arguments, path), "schema version 0", "name another file")
        self.assertEqual(len(content(path)), 8)
        self.file("text.db", "no database, and long enough that SQLite reads a header from it" * 4)
        self.assert_one_error(self.run_command(*self.arguments, "text.db"), "text.db: error: not a result file of ptxwire sweep")

    def test_json_names_the_fastest(self):
        result = self.run_command(*self.arguments, "r.db", "--json", "-")
        document = command.json.loads(result.stdout)
        times = [point["outcome"]["time_us"] for point in document["points"] if point["outcome"]]
        best = document["points"][document["best"]["h100_intranode_dispatch_ep8"]]
        self.assertEqual(best["outcome"]["time_us"], min(times))


if __name__ == "__main__":
    command.main()
