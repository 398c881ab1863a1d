"""Every kind of bad input gets one clear error and exit code 2, and leaves nothing half-written."""

import re

import command

# A scenario that takes little time, for errors that show only when something runs.
SMALL = ("h800_intranode_dispatch_ep8", "--ranks", "2", "--set", "tokens=16", "--set", "hidden=512", "--set", "sms=4",
         "--set", "ring_slots=16", "--set", "chunk=4")


def dispatch_signature():
    """The parameter list of our dispatch kernel, for other kernels that stand in for it."""
    text = (command.SOURCE / "kernels" / "dispatch_a.ptx").read_text(encoding="utf-8")
    return re.search(r"\.visible \.entry dispatch_a\((.*?)\)", text, re.DOTALL).group(1)


def kernel(body, declarations="", directives=".maxntid 256, 1, 1"):
    return f""".version 8.0
.target sm_90a
.address_size 64
{declarations}
.visible .entry bad({dispatch_signature()})
{directives}
{{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
{body}
    ret;
}}
"""


class PtxFiles(command.CommandTest):
    """The main kernel is taken from a file of the user."""

    def run_kernel(self, content, *options, entry="bad"):
        path = content if content is None else self.file("bad.ptx", content)
        return self.run_command("run", *SMALL, "--set", f"ptx={path or self.folder / 'missing.ptx'}", "--set",
                                f"entry={entry}", *options)

    def test_no_such_file(self):
        self.assert_one_error(self.run_kernel(None), "missing.ptx")

    def test_empty_and_binary(self):
        self.assert_one_error(self.run_kernel(""), "bad.ptx")
        self.assert_one_error(self.run_kernel(bytes(range(256)) * 8), "bad.ptx")

    def test_truncated(self):
        whole = (command.SOURCE / "kernels" / "dispatch_a.ptx").read_text(encoding="utf-8")
        self.assert_one_error(self.run_kernel(whole[:len(whole) // 3], entry="dispatch_a"), "bad.ptx:")

    def test_mistakes_in_the_text_name_the_line(self):
        cases = {
            "unknown instruction": ("    frobnicate.u32 %r1, %r1;", "frobnicate"),
            "unknown modifier": ("    add.blue.u32 %r1, %r1, %r1;", "blue"),
            "wrong operand type": ("    add.u32 %r1, %rd1, %r1;", "%rd1"),
            "undefined register": ("    mov.u32 %r1, %missing;", "%missing"),
            "undefined label": ("    bra NOWHERE;", "NOWHERE"),
        }
        for name, (line, word) in cases.items():
            with self.subTest(name):
                content = kernel(line)
                number = content[:content.index(line)].count("\n") + 1
                self.assert_one_error(self.run_kernel(content), f"bad.ptx:{number}:", word)

    def test_kernel_not_found_and_the_nearest(self):
        self.assert_one_error(self.run_kernel(kernel(""), entry="bat"), "bat", "'bad'")

    def test_more_threads_than_the_kernel_allows(self):
        self.assert_one_error(self.run_kernel(kernel("", directives=".maxntid 128, 1, 1")), "128")

    def test_too_much_shared_memory(self):
        self.assert_one_error(self.run_kernel(kernel("    mov.u32 %r1, room;",
                                                     ".shared .align 16 .b8 room[300000];")), "shared")

    def test_unmapped_misaligned_and_out_of_bounds(self):
        variable = ".global .align 8 .b8 flag[8];"
        cases = {
            "unmapped": "    mov.u64 %rd1, 16;\n    ld.global.u32 %r1, [%rd1];\n    st.global.u32 [%rd1], %r1;",
            "misaligned": "    mov.u64 %rd1, flag;\n    ld.global.u32 %r1, [%rd1+1];\n    st.global.u32 [%rd1], %r1;",
            "out of bounds": "    mov.u64 %rd1, flag;\n    add.u64 %rd1, %rd1, 70368744177664;\n"
                             "    st.global.u32 [%rd1], 1;",
        }
        for name, body in cases.items():
            with self.subTest(name):
                self.assert_one_error(self.run_kernel(kernel(body, variable)), "bad")

    def test_a_kernel_that_deadlocks(self):
        body = "    mov.u64 %rd1, flag;\nWAIT:\n    ld.volatile.global.u32 %r1, [%rd1];\n" \
               "    setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra WAIT;"
        self.assert_one_error(self.run_kernel(kernel(body, ".global .align 8 .b8 flag[8];")), "bad")

    def test_a_kernel_that_never_ends(self):
        body = "    mov.u32 %r1, 0;\nAGAIN:\n    add.u32 %r1, %r1, 1;\n    bra AGAIN;"
        self.assert_one_error(self.run_kernel(kernel(body), "--max-time", "200 us"), "200 us")

    def test_a_wrong_result_is_the_exit_code_of_run_and_a_finding_of_predict(self):
        path = self.file("bad.ptx", kernel(""))
        result = self.run_command("run", *SMALL, "--set", f"ptx={path}", "--set", "entry=bad")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("WRONG: ", result.stdout)
        base = [word.replace("--set", "--base-set") for word in SMALL[3:]]
        result = self.run_command("predict", SMALL[0], "--base-set", "ranks=2", *base, "--set", f"ptx={path}", "--set", "entry=bad")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("base correct", result.stdout)
        self.assertIn("changed WRONG: ", result.stdout)

    def test_a_trap(self):
        self.assert_one_error(self.run_kernel(kernel("    trap;")), "trap")


class Scenarios(command.CommandTest):
    def test_no_such_scenario(self):
        self.assert_one_error(self.run_command("run", "h800_intranode_dispatch_ep9"), "'h800_intranode_dispatch_ep9'",
                              "did you mean 'h800_intranode_dispatch_ep8'")
        self.assert_one_error(self.run_command("run", ""), "scenario")
        self.assert_one_error(self.run_command("run", "/dev/null"), "no scenario '/dev/null'")
        self.assert_one_error(self.run_command("run", self.file("empty.toml", "")), "empty.toml")
        self.assert_one_error(self.run_command("run", self.file("binary.toml", bytes(range(256)))), "binary.toml:1")
        self.assert_one_error(self.run_command("run", self.folder / "none.toml"), "none.toml")

    def test_unknown_key_wrong_unit_negative_size(self):
        text = (command.SOURCE / "traces/scenarios/h800_intranode_dispatch_ep8.toml").read_text(encoding="utf-8")
        cases = {"chnuk = 6": ("chnuk", "'chunk'"), 'tokens = "4096 us"': ("us",), "hidden = -7168": ("hidden", "-7168"),
                 "kernel = 'intranode_dispach'": ("'intranode_dispatch'",), "topk = = 8": ()}
        for line, words in cases.items():
            with self.subTest(line):
                key = line.split()[0]
                lines = [line if old.split(" ")[0] == key else old for old in text.splitlines()]
                if line not in lines:
                    lines.append(line)
                path = self.file("mine.toml", "\n".join(lines) + "\n")
                self.assert_one_error(self.run_command("run", path), f"mine.toml:{lines.index(line) + 1}", *words)

    def test_settings(self):
        self.assert_one_error(self.run_command("run", *SMALL, "--set", "chnuk=6"), "chnuk", "'chunk'")
        self.assert_one_error(self.run_command("run", *SMALL, "--set", "chunk"), "chunk")
        self.assert_one_error(self.run_command("run", *SMALL, "--set", "tokens=-1"), "tokens", "-1")
        self.assert_one_error(self.run_command("run", *SMALL, "--set", "chunk="), "chunk", "a whole number of rows")
        self.assert_one_error(self.run_command("run", *SMALL, "--set", "chunk=abc"), "chunk", "'abc'")
        self.assert_one_error(self.run_command("run", *SMALL, "--set", "seed=9007199254740993"), "seed", "at most")
        for key in ("tokens", "hidden", "experts", "ring_slots", "sms", "calls"):
            with self.subTest(key):
                self.assert_one_error(self.run_command("run", *SMALL, "--set", f"{key}=2147483136", timeout=20))
        unit = "machine.nvlink.header_bytes=3 furlong"
        self.assert_one_error(self.run_command("run", *SMALL, "--set", unit), "nvlink.header_bytes", "'furlong'", "KiB")
        self.assert_one_error(self.run_command("run", *SMALL, "--set", "machine.nvlink.heder_bytes=1 B"), "heder_bytes")

    def test_more_ranks_than_gpus(self):
        self.assert_one_error(self.run_command("run", SMALL[0], "--ranks", "16"), "16")

    def test_a_cooperative_launch_that_cannot_be_resident(self):
        # 132 SMs hold 8 CTAs of 256 threads each: 1056.
        self.assert_one_error(self.run_command("run", *SMALL, "--set", "sms=1200"), "1200")

    def test_no_such_machine(self):
        self.assert_one_error(self.run_command("run", *SMALL, "--machine", "h801-node"), "h801-node")


class MachineFiles(command.CommandTest):
    def test_unknown_key_wrong_unit_negative_value(self):
        machines = command.SOURCE / "models/machines"
        text = (machines / "h800-node.toml").read_text(encoding="utf-8").replace(
            'base = "', f'base = "{machines}/').replace('topology = "../', f'topology = "{command.SOURCE}/models/')
        shown = self.run_command("machine", "show", self.file("good.toml", text))
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("nvlink.header_bytes", shown.stdout)
        rest = 'kind = "fitted", source = "test" }'
        for line, words in {f'heder_bytes = {{ value = 16, unit = "B", {rest}': ("heder_bytes",),
                            f'header_bytes = {{ value = 16, unit = "ns", {rest}': ("ns",),
                            f'header_bytes = {{ value = -16, unit = "B", {rest}': ("negative",)}.items():
            with self.subTest(line):
                kept = [old for old in text.splitlines() if not old.startswith("header_bytes")]
                place = kept.index("[nvlink]") + 1
                path = self.file("mine.toml", "\n".join([*kept[:place], line, *kept[place:]]) + "\n")
                result = self.run_command("run", *SMALL, "--machine", path)
                self.assert_one_error(result, f"mine.toml:{place + 1}", *words)


    def test_files_that_a_machine_file_names(self):
        text = (command.SOURCE / "models/machines/h800-node.toml").read_text(encoding="utf-8")
        for key in ("base", "topology"):
            lines = [f'{key} = "none.toml"' if old.startswith(f"{key} = ") else old for old in text.splitlines()]
            if key == "topology":
                lines = [f'base = "{command.SOURCE}/models/machines/gh100-gpu.toml"' if old.startswith("base = ") else old
                         for old in lines]
            with self.subTest(key):
                path = self.file("mine.toml", "\n".join(lines) + "\n")
                number = next(i for i, line in enumerate(lines) if line.startswith(f"{key} = ")) + 1
                self.assert_one_error(self.run_command("run", *SMALL, "--machine", path), f"mine.toml:{number}", "none.toml")

    def test_a_circle_of_bases_and_files_that_are_no_machine(self):
        circle = self.file("circle.toml", 'name = "x"\nbase = "circle.toml"\n')
        self.assert_one_error(self.run_command("run", *SMALL, "--machine", circle), "circle.toml:2", "circle")
        for name, content in {"empty.toml": "", "binary.toml": bytes(range(256)), "text.toml": "no toml"}.items():
            with self.subTest(name):
                self.assert_one_error(self.run_command("run", *SMALL, "--machine", self.file(name, content)), f"{name}:1")


class Checks(command.CommandTest):
    def test_a_measurement_with_an_unknown_unit(self):
        data = self.copy_data()
        path = data / "traces/measurements/deepep_published.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        number = next(i for i, line in enumerate(lines) if line.startswith("h800-ep8-combine-bf16-0224"))
        lines[number] = lines[number].replace("GB/s", "Gbit/s")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.assert_one_error(self.run_command("check"), f"deepep_published.csv:{number + 1}", "unknown unit 'Gbit/s'")

    def test_suites(self):
        self.assert_one_error(self.run_command("check", "--suite", "defualt"), "defualt")
        self.assert_one_error(self.run_command("check", "--only", "h900*"), "h900*")
        suite = self.file("mine.toml", "description = 'x'\n[[rows]]\nids = ['h800*']\nsearhc = { chunk = [1] }\n")
        self.assert_one_error(self.run_command("check", "--suite", suite), "mine.toml:4", "'search'")


class Outputs(command.CommandTest):
    def test_a_path_that_cannot_be_written_is_found_before_the_run(self):
        self.file("taken", "x")
        for path in ("missing/out.json", "taken/out.json", "."):
            with self.subTest(path):
                self.assert_one_error(self.run_command("run", "h800_intranode_dispatch_ep8", "--json", path, timeout=20),
                                      "cannot write")
                self.assert_one_error(self.run_command("check", "--json", path, timeout=20), "cannot write")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["taken"])

    def test_a_failed_run_leaves_the_old_file(self):
        out = self.file("out.json", "old")
        self.assert_one_error(self.run_command("run", *SMALL, "--set", "entry=missing", "--json", out), "missing")
        self.assertEqual(out.read_text(encoding="utf-8"), "old")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["out.json"])


if __name__ == "__main__":
    command.main()
