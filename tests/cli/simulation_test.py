"""run, predict and check on small scenarios: figures, files, the cache, stopping."""

import json
import signal
import subprocess
import time

import command

SMALL = ("--ranks", "2", "--set", "tokens=64", "--set", "hidden=1024", "--set", "sms=4")
DISPATCH, COMBINE = "h800_intranode_dispatch_ep8", "h800_intranode_combine_ep8"
# Figures that say what the simulation cost, not what it predicts.
COST = ("wall_s", "peak_rss_bytes")


class Simulation(command.CommandTest):
    def run_json(self, *arguments, code=0):
        path = self.folder / "out.json"
        result = self.run_command(*arguments, "--json", path)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return json.loads(path.read_text(encoding="utf-8")), result.stdout

    def test_run(self):
        for scenario in (DISPATCH, COMBINE):
            with self.subTest(scenario):
                document, text = self.run_json("run", scenario, *SMALL)
                self.assertEqual(document["result"], "correct")
                self.assertGreater(document["time_us"], 0)
                self.assertGreater(document["time_us_rank0"], document["bound_us"])
                # Nothing is faster than the links allow; bound_share is that ratio.
                self.assertGreater(document["time_us"], document["bound_us"])
                self.assertAlmostEqual(document["bound_share"], document["bound_us"] / document["time_us"], places=6)
                self.assertLess(document["wire_gb_per_s"], document["logical_gb_per_s"])
                self.assertGreater(document["warp_instructions"], 0)
                self.assertIsInstance(document["bottleneck"], str)
                self.assertFalse(document["from_cache"])
                self.assertIn(f"{document['time_us']:.1f} us per call", text)
                self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_json_on_standard_output(self):
        result = self.run_command("run", DISPATCH, *SMALL, "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["result"], "correct")

    def test_same_bits_for_any_thread_count_and_again(self):
        documents = [self.run_json("run", DISPATCH, *SMALL, "--threads", threads)[0] for threads in (1, 2, 1)]
        for document in documents:
            for key in COST:
                del document[key]
        self.assertEqual(documents[0], documents[1])
        self.assertEqual(documents[0], documents[2])

    def test_results_are_not_compared_if_not_wanted(self):
        document, _ = self.run_json("run", DISPATCH, *SMALL, "--no-check")
        self.assertEqual(document["result"], "unchecked")

    def test_predict(self):
        arguments = ("predict", DISPATCH, "--base-set", "ranks=2", "--base-set", "tokens=64", "--base-set", "hidden=1024",
                     "--base-set", "sms=4", "--set", "sms=8")
        first, _ = self.run_json(*arguments)
        change = 100 * (first["changed"]["time_us"] / first["base"]["time_us"] - 1)
        self.assertAlmostEqual(first["delta_pct"], change, places=6)
        self.assertEqual(first["interval_pct"], [None, None])
        self.assertIsNone(first["in_range"])
        self.assertNotIn("sms=8", first["base"]["settings"])
        self.assertIn("sms=8", first["changed"]["settings"])
        second, text = self.run_json(*arguments)
        self.assertIn("nothing was simulated", text)
        self.assertTrue(second["base"]["from_cache"] and second["changed"]["from_cache"])
        self.assertEqual(second["delta_pct"], first["delta_pct"])

    def test_check(self):
        arguments = ("check", "--suite", "quick", "--only", "h100-ep8-dispatch-*-t1-sm8")
        first, text = self.run_json(*arguments)
        (row,) = first["rows"]
        self.assertEqual(row["measured"], 26.23)  # the H100 table
        self.assertAlmostEqual(row["error_pct"], 100 * (row["predicted"] / 26.23 - 1), places=6)
        self.assertEqual(first["mape_pct"], abs(row["error_pct"]))
        self.assertEqual(row["result"], "correct")
        self.assertIn("h100-ep8-dispatch-h7168-k8-e256-t1-sm8", text)
        second, text = self.run_json(*arguments)
        self.assertTrue(second["rows"][0]["from_cache"])
        self.assertEqual(second["rows"][0]["predicted"], row["predicted"])
        self.assertIn("nothing was simulated", text)
        third, _ = self.run_json(*arguments, "--no-cache")
        self.assertFalse(third["rows"][0]["from_cache"])
        self.assertEqual(third["rows"][0]["predicted"], row["predicted"])

    def test_a_cached_result_is_not_taken_for_another_setting_or_machine(self):
        base = ("predict", DISPATCH, "--base-set", "ranks=2", "--base-set", "tokens=32", "--base-set", "hidden=512",
                "--base-set", "sms=4", "--set", "chunk=4")
        self.run_json(*base)
        changed, _ = self.run_json(*base, "--base-set", "seed=2")
        self.assertFalse(changed["base"]["from_cache"])
        other, _ = self.run_json(*base, "--machine", "h100-node")
        self.assertFalse(other["base"]["from_cache"])

    def test_a_damaged_store_is_put_aside_and_one_that_cannot_be_written_is_a_note(self):
        arguments = ("predict", DISPATCH, "--base-set", "ranks=2", "--base-set", "tokens=32", "--base-set", "hidden=512",
                     "--base-set", "sms=4", "--set", "chunk=4")
        self.file("cache/results.sqlite", b"no database" * 1000)
        first, _ = self.run_json(*arguments)
        self.assertFalse(first["base"]["from_cache"])
        second, _ = self.run_json(*arguments)
        self.assertTrue(second["base"]["from_cache"])
        self.environment["PTXWIRE_CACHE"] = str(self.file("taken", "x"))
        result = self.run_command(*arguments)
        self.assertEqual(result.returncode, 0)
        self.assertIn("note: results are not kept", result.stderr)

    def test_a_closed_pipe_loses_no_result(self):
        arguments = ("predict", DISPATCH, "--base-set", "ranks=2", "--base-set", "tokens=32", "--base-set", "hidden=512",
                     "--base-set", "sms=4", "--set", "chunk=4")
        process = subprocess.Popen([command.BINARY, *arguments, "--json", "-"], cwd=self.folder, env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        process.stderr.read()
        process.stderr.close()
        process.wait(timeout=60)
        document, _ = self.run_json(*arguments)
        self.assertTrue(document["base"]["from_cache"] and document["changed"]["from_cache"])

    def test_ctrl_c_in_predict_keeps_what_was_done(self):
        small = ("--base-set", "ranks=2", "--base-set", "tokens=32", "--base-set", "hidden=512", "--base-set", "sms=4")
        self.run_json("predict", DISPATCH, *small, "--set", "chunk=4")
        process = subprocess.Popen([command.BINARY, "predict", DISPATCH, *small, "--set", "tokens=500000", "--json", "p.json"],
                                   cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(output, b"")
        self.assertFalse((self.folder / "p.json").exists())
        again, _ = self.run_json("predict", DISPATCH, *small, "--set", "chunk=4")
        self.assertTrue(again["base"]["from_cache"] and again["changed"]["from_cache"])

    def test_ctrl_c_stops_within_a_second_and_leaves_no_file(self):
        process = subprocess.Popen([command.BINARY, "run", DISPATCH, "--json", "out.json"], cwd=self.folder,
                                   env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(2)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)
        self.assertLess(time.monotonic() - start, 1.5)  # a second, and what a loaded machine adds
        self.assertEqual(output, b"")
        self.assertEqual([p.name for p in self.folder.iterdir()], [])


if __name__ == "__main__":
    command.main()
