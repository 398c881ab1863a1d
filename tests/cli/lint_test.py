"""ptxwire lint: all diagnostics of readable PTX, one message for what is no PTX."""

import json

import command

CLEAN = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    ret;
}
"""
# Three independent mistakes: an unknown instruction, an unknown modifier, an undefined register.
WRONG = CLEAN.replace("    ret;\n", "    frobnicate.u32 %rd1, %rd1;\n    add.blue.u64 %rd1, %rd1, %rd1;\n"
                                    "    add.u64 %rd1, %rd1, %missing;\n    ret;\n")


class Lint(command.CommandTest):
    def test_clean(self):
        result = self.run_command("lint", self.file("a.ptx", CLEAN))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("clean", result.stdout)

    def test_every_kernel_of_ours_is_clean(self):
        kernels = sorted((command.SOURCE / "kernels").rglob("*.ptx"))
        if not kernels:
            self.skipTest("no kernels yet")
        result = self.run_command("lint", *kernels)
        self.assertEqual(result.returncode, 0, result.stdout[-3000:])

    def test_all_errors_of_all_files(self):
        first, second = self.file("a.ptx", WRONG), self.file("b.ptx", WRONG)
        result = self.run_command("lint", first, second)
        self.assertEqual(result.returncode, 1)
        for path in (first, second):
            for line, word in ((8, "frobnicate"), (9, "blue"), (10, "%missing")):
                self.assertRegex(result.stdout, rf"{path}:{line}:\d+: error: .*{word}")
        self.assertIn("6 errors", result.stdout)

    def test_json(self):
        path = self.file("a.ptx", WRONG)
        result = self.run_command("lint", "--format", "json", path)
        self.assertEqual(result.returncode, 1)
        (entry,) = json.loads(result.stdout)["files"]
        self.assertEqual(entry["path"], str(path))
        self.assertTrue(entry["readable"])
        self.assertEqual([d["line"] for d in entry["diagnostics"]], [8, 9, 10])
        for diagnostic in entry["diagnostics"]:
            self.assertEqual(diagnostic["severity"], "error")
            self.assertGreater(diagnostic["column"], 0)
            self.assertTrue(diagnostic["message"])
            self.assertRegex(diagnostic["id"], r"^[a-z0-9]+(-[a-z0-9]+)*$")

    def test_unreadable_files_are_named_and_give_2(self):
        cases = {"missing.ptx": None, "empty.ptx": b"", "blank.ptx": b" \n\t\n", "binary.ptx": bytes(range(256)) * 20}
        for name, content in cases.items():
            with self.subTest(name):
                path = self.file(name, content) if content is not None else self.folder / name
                result = self.run_command("lint", path)
                self.assertEqual(result.returncode, 2)
                self.assertEqual(result.stdout.count("error: "), 1, result.stdout)
                self.assertIn(str(path), result.stdout)
        self.assertEqual(self.run_command("lint", self.folder).returncode, 2)

    def test_a_good_file_is_still_linted_beside_a_missing_one(self):
        wrong = self.file("a.ptx", WRONG)
        result = self.run_command("lint", self.folder / "missing.ptx", wrong)
        self.assertEqual(result.returncode, 2)
        self.assertIn("frobnicate", result.stdout)

    def test_json_of_an_unreadable_file(self):
        result = self.run_command("lint", "--format", "json", self.folder / "missing.ptx")
        self.assertEqual(result.returncode, 2)
        (entry,) = json.loads(result.stdout)["files"]
        self.assertFalse(entry["readable"])
        self.assertEqual(entry["diagnostics"][0]["id"], "unreadable-file")

    def test_a_file_cut_anywhere_never_crashes(self):
        for size in range(1, len(WRONG), 7):
            with self.subTest(size):
                result = self.run_command("lint", self.file("cut.ptx", WRONG[:size]))
                self.assertIn(result.returncode, (0, 1), result.stderr)
        # Cut inside a body it is never complete.
        result = self.run_command("lint", self.file("cut.ptx", CLEAN[:CLEAN.index("ret")]))
        self.assertEqual(result.returncode, 1)

    def test_bytes_that_are_no_utf8_do_not_break_json(self):
        path = self.file("a.ptx", WRONG.encode() + b"\n.visible .func \xff\xfe oops\n")
        result = self.run_command("lint", "--format", "json", path)
        self.assertEqual(result.returncode, 1)
        json.loads(result.stdout)

    def test_folders(self):
        folder = self.folder / "many"
        (folder / "deep").mkdir(parents=True)
        (folder / "b.ptx").write_text(CLEAN)
        (folder / "deep" / "a.ptx").write_text(WRONG)
        (folder / "notes.txt").write_text("no PTX")
        result = self.run_command("lint", folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("3 errors, 0 warnings in 2 files", result.stdout)

    def test_binaries(self):
        fatbin = command.SOURCE / "tests" / "ptx_frontend" / "data" / "vector_add_size.fatbin"
        self.assertIn("clean", self.run_command("lint", fatbin).stdout)
        listing = self.run_command("extract", "--list", fatbin).stdout
        self.assertIn("2 PTX texts", listing)
        self.assertIn("zstd", listing)
        newest = self.run_command("extract", fatbin).stdout
        kernel = (command.SOURCE / "kernels" / "micro" / "vector_add.ptx").read_text()
        self.assertEqual(newest.split(), kernel.split())
        self.assertIn(".target sm_80", self.run_command("extract", "--target", "sm_80", fatbin).stdout)
        self.assert_one_error(self.run_command("extract", "--target", "sm_70", fatbin), "no PTX for sm_70", "sm_90a")

    def test_sarif(self):
        path = self.file("a b.ptx", WRONG)
        document = json.loads(self.run_command("lint", "--format", "sarif", path).stdout)
        self.assertEqual(document["version"], "2.1.0")
        run = document["runs"][0]
        self.assertEqual(run["tool"]["driver"]["name"], "ptxwire")
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        self.assertEqual(len(run["results"]), 3)
        for result, line in zip(run["results"], (8, 9, 10)):
            self.assertIn(result["ruleId"], rules)
            self.assertEqual(result["level"], "error")
            self.assertTrue(result["message"]["text"])
            place = result["locations"][0]["physicalLocation"]
            self.assertTrue(place["artifactLocation"]["uri"].endswith("a%20b.ptx"))
            region = place["region"]
            self.assertEqual(region["startLine"], line)
            self.assertLess(region["startColumn"], region["endColumn"])

    def test_a_newer_version_is_one_warning(self):
        result = self.run_command("lint", self.file("a.ptx", CLEAN.replace("8.0", "9.7")))
        self.assertEqual(result.returncode, 0)
        self.assertIn("0 errors, 1 warning in 1 file", result.stdout)

    def test_errors_of_syntax_and_of_meaning_in_one_run(self):
        text = CLEAN.replace("    ret;\n", "    add.u64 %rd1 %rd1, 1;\n    add.u65 %rd1, %rd1, 1;\n    ret;\n")
        result = self.run_command("lint", self.file("a.ptx", text))
        self.assertIn("2 errors", result.stdout)

    def test_annotate(self):
        result = self.run_command("annotate", self.file("a.ptx", CLEAN))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("// kernel k:", result.stdout)
        self.assertRegex(result.stdout, r"1  memory +\d+  \|      ?ld.param.u64")
        self.assert_one_error(self.run_command("annotate", self.file("b.ptx", WRONG)), "has errors", "lint")


if __name__ == "__main__":
    command.main()
