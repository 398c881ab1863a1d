"""measure on the stand-in driver: exit codes, messages, the file of rows, and that check reads it."""

import csv
import os
import pathlib
import signal
import subprocess
import sys
import time

DRIVER = str(pathlib.Path(sys.argv.pop(3)).resolve())

import command  # noqa: E402: reads the other arguments

CHASE = ("measure", "micro_chase_l1", "--machine", "h800-node", "--set", "values.accesses=64", "--repeat", "2")


class Measure(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.environment["PTXWIRE_CUDA_DRIVER"] = DRIVER
        self.rows = self.folder / "rows.csv"

    def test_rows(self):
        result = self.run_command(*CHASE, "-o", self.rows, "--role", "fit")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("micro_chase_l1 on Stand-in h800-node (CUDA driver 12.4, 1980 MHz): correct, 2 calls", result.stdout)
        self.assertNotIn("warning", result.stderr)
        with open(self.rows, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(rows[0]["scenario"], "micro_chase_l1")
        self.assertEqual(rows[0]["settings"], "values.accesses=64")
        self.assertEqual(rows[0]["metric"], "microbenchmark")
        self.assertEqual(rows[0]["unit"], "clk")
        self.assertEqual({row["role"] for row in rows}, {"fit"})
        self.assertIn("time", [row["metric"] for row in rows])
        self.assertEqual(os.listdir(self.folder), ["rows.csv"])  # no temporary file is left

    def test_rows_are_read_by_check(self):
        """What the simulator measured of itself, it predicts."""
        data = self.copy_data()
        result = self.run_command(*CHASE, "-o", data / "traces/measurements/mine.csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        suite = self.file("mine.toml", 'description = "mine"\n[[rows]]\nids = ["stand-in-*-clk-per-access-*"]\n')
        result = self.run_command("check", "--suite", suite)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertIn("stand-in-h800-node-micro-chase-l1", result.stdout)

    def test_another_gpu_than_the_machine_describes(self):
        result = self.run_command("measure", "micro_chase_l1", "--set", "values.accesses=64", "--repeat", "1", "-o", self.rows)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("warning: Stand-in h800-node is not what machine 'h800-pcie' describes", result.stderr)
        self.assertIn("132 SMs instead of 114", result.stderr)

    def test_wrong_result_writes_nothing(self):
        self.environment["PTXWIRE_STANDIN_CORRUPT"] = "1"
        result = self.run_command(*CHASE, "-o", self.rows)
        self.assertEqual(result.returncode, 1)
        self.assertIn("WRONG: checksum: found", result.stdout)
        self.assertFalse(self.rows.exists())

    def test_what_fails_is_one_error_and_no_file(self):
        cases = [
            ({"PTXWIRE_CUDA_DRIVER": "no-such-driver.so"}, "no CUDA driver"),
            ({"PTXWIRE_STANDIN_VERSION": "11040"}, "at least 11.8 is needed"),
            ({"PTXWIRE_STANDIN_DEVICES": "0"}, "sees no GPU"),
            ({"PTXWIRE_STANDIN_FAIL": "cuMemAlloc_v2"}, "cuMemAlloc of"),
        ]
        for settings, message in cases:
            with self.subTest(message):
                environment = dict(self.environment)
                self.environment.update(settings)
                self.assert_one_error(self.run_command(*CHASE, "-o", self.rows), message)
                self.environment = environment
                self.assertFalse(self.rows.exists())
        self.assert_one_error(self.run_command("measure", "h800_intranode_dispatch_ep8", "-o", self.rows), "intranode_dispatch")
        self.assert_one_error(self.run_command("measure", "micro_chase_l1"), "--output is required")
        self.assert_one_error(self.run_command(*CHASE, "-o", self.folder / "none" / "rows.csv"), "none")
        self.assert_one_error(self.run_command(*CHASE, "-o", self.rows, "--repeat", "0"), "--repeat")
        self.assert_one_error(self.run_command(*CHASE, "-o", self.rows, "--role", "best"), "--role")

    def test_stopped_run_leaves_the_old_file(self):
        self.rows.write_text("as it was\n", encoding="utf-8")
        process = subprocess.Popen([command.BINARY, "measure", "micro_chase_l1", "--repeat", "100000", "-o", str(self.rows)],
                                   cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.rows.read_text(encoding="utf-8"), "as it was\n")
        self.assertEqual(os.listdir(self.folder), ["rows.csv"])


if __name__ == "__main__":
    command.main()
