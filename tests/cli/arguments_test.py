"""Options, help, and what this version refuses by name."""

import command


class Arguments(command.CommandTest):
    def test_help_names_every_command(self):
        result = self.run_command("--help")
        self.assertEqual(result.returncode, 0)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)
        for name in ("check", "run", "predict", "lint", "machine", "isa", "topology"):
            self.assertRegex(result.stdout, rf"\n  {name} ")
        self.assertEqual(result.stderr, "")

    def test_help_of_a_command(self):
        result = self.run_command("run", "--help")
        self.assertEqual(result.returncode, 0)
        for option in ("--set", "--ranks", "--json", "--threads", "--machine", "--no-check", "--max-time"):
            self.assertIn(option, result.stdout)

    def test_version(self):
        result = self.run_command("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^ptxwire \d+\.\d+\.\d+\n$")

    def test_no_command(self):
        self.assert_one_error(self.run_command(), "expected a command")

    def test_unknown_command_and_the_nearest(self):
        self.assert_one_error(self.run_command("chekc"), "unknown command 'chekc'", "'check'")

    def test_unknown_option_and_the_nearest(self):
        self.assert_one_error(self.run_command("run", "s", "--thread", "2"), "unknown option '--thread'", "'--threads'")
        self.assert_one_error(self.run_command("run", "s", "--jsno=x"), "unknown option '--jsno'", "'--json'")
        self.assert_one_error(self.run_command("predict", "s", "--set", "a=1", "--wrong"), "ptxwire predict --help")
        self.assert_one_error(self.run_command("machine", "shwo", "x"), "machine show MACHINE")
        self.assert_one_error(self.run_command("--verison"), "unknown option '--verison'", "'--version'")

    def test_commands_of_later_versions_are_refused_by_name(self):
        for name in ("tune", "calibrate", "diff", "report"):
            with self.subTest(name):
                self.assert_one_error(self.run_command(name, "x"), f"'{name}' is not in this version")

    def test_options_of_later_versions_are_refused_by_name(self):
        self.assert_one_error(self.run_command("run", "s", "--trace", "t.json"), "'run --trace' is not in this version")
        self.assert_one_error(self.run_command("run", "s", "--trace=t"), "'run --trace' is not in this version")

    def test_the_page_of_instructions_is_what_isa_writes(self):
        result = self.run_command("isa", "--format", "markdown")
        self.assertEqual(result.stdout, (command.SOURCE / "docs" / "isa.md").read_text())

    def test_isa(self):
        result = self.run_command("isa", "mul")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^mul  \(ptx 1\.0\)  parsed, checked, executed, timed$")
        self.assertNotRegex(result.stdout, r"(?m)^mul24")
        self.assert_one_error(self.run_command("isa", "mbarrier.try_wiat"), "'mbarrier.try_wait'")
        everything = self.run_command("isa")
        self.assertGreater(everything.stdout.count("operands"), 100)

    def test_values_that_do_not_fit(self):
        self.assert_one_error(self.run_command("run", "s", "--threads", "many"), "many")
        self.assert_one_error(self.run_command("run", "s", "--threads", "-1"), "-1")
        self.assert_one_error(self.run_command("run", "s", "--threads", "1.5"), "1.5")
        self.assert_one_error(self.run_command("run", "s", "--threads", "99999999999"), "99999999999")
        for time in ("5", "5 furlong", "-5 ms", "0 us", "us", "nan us", "inf s", "1e30 s", "ms 5"):
            with self.subTest(time):
                self.assert_one_error(self.run_command("run", "s", "--max-time", time), "--max-time", time)
        self.assert_one_error(self.run_command("lint", "f.ptx", "--format", "xml"), "unknown format 'xml'")
        self.assert_one_error(self.run_command("lint"), "files")
        self.assert_one_error(self.run_command("predict", "s"), "--set")
        for option in ("--json", "--machine", "--max-time"):
            with self.subTest(option):
                self.assert_one_error(self.run_command("run", "s", option, ""), option)
                self.assert_one_error(self.run_command("run", "s", option), option)
        self.assert_one_error(self.run_command("check", "--only", ""), "--only")

    def test_a_full_disk_is_reported(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            for arguments in (("--help",), ("--version",), ("isa",), ("machine", "show", "h800-node")):
                with self.subTest(arguments):
                    result = self.run_command(*arguments, stdout=full)
                    self.assertEqual(result.returncode, 2)
                    self.assertIn("cannot write to standard output", result.stderr)


if __name__ == "__main__":
    command.main()
