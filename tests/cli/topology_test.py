"""`ptxwire topology`: figures, bounds, pictures, and bad files."""

import json
import os
import shutil
import stat
import unittest
import xml.etree.ElementTree

import command

FOLDER = command.SOURCE / "models" / "fabric" / "topologies"
SVG = "{http://www.w3.org/2000/svg}"


class Figures(command.CommandTest):
    def topology(self, *arguments):
        result = self.run_command("topology", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100, result.stdout)
        return result.stdout

    def document(self, *arguments):
        return json.loads(self.run_command("topology", *arguments, "--json", "-").stdout)

    def test_every_shipped_file_is_valid(self):
        for path in sorted(FOLDER.glob("*.toml")):
            with self.subTest(path.stem):
                self.assertIn(path.stem + ": ", self.topology(path.stem))
                self.assertEqual(self.topology(path), self.topology(path.stem))

    def test_multi_rail_and_multi_plane_networks_of_all_sizes(self):
        for nodes in (2, 4, 8, 16, 32):
            for plane in ("", "-multi-plane"):
                with self.subTest(nodes=nodes, plane=plane):
                    figures = self.document(f"h800-{nodes}-nodes{plane}")
                    self.assertEqual((figures["nodes"], figures["gpus"], figures["nics"]), (nodes, 8 * nodes, 8 * nodes))
                    self.assertEqual(figures["rails"], 8)
                    self.assertEqual(figures["planes"], 8 if plane else 1)
                    self.assertEqual(figures["oversubscription"], None if plane else 1)
                    self.assertEqual(figures["bisection_gb_per_s"], nodes / 2 * 400)

    def test_text(self):
        text = self.topology("h800-4-nodes")
        for words in ("4 nodes of 8 GPUs", "32 GPUs, 16 NVSwitches, 32 NICs, 12 InfiniBand switches", "8 leaves, 4 spines",
                      "64: 32 of NICs, 32 between switches", "800 GB/s in each direction",
                      "node0.nic0 -> leaf0 -> spine0 -> leaf7 -> node3.nic7, 4 of this length",
                      "node0.nic0 -> leaf0 -> node3.nic0, the only one"):
            self.assertIn(words, text)
        self.assertNotIn("Speed of light", text)

    def test_bound_of_all_to_all(self):
        # A node sends 8 x 24 MB over 8 x 50 GB/s.
        text = self.topology("h800-4-nodes", "--all-to-all", "1 MB")
        self.assertRegex(text, r"any +480\.0 us +what node0 sends: 192 MB over 8 links NIC to leaf, 400 GB/s")
        bounds = {bound["relays"]: bound for bound in self.document("h800-4-nodes", "--all-to-all", "1000000")["bounds"]}
        self.assertEqual(set(bounds), {"any", "same rail", "none"})
        for bound in bounds.values():
            self.assertAlmostEqual(bound["time_us"], 480, places=3)
            self.assertEqual(bound["cut"], [{"kind": "NIC to leaf", "links": 8, "gb_per_s": 400.0}])

    def test_bound_of_a_matrix(self):
        matrix = self.file("t.csv", "from,to,bytes\n0,9,500 MB\n0,9,500000000\n")
        bounds = {bound["relays"]: bound
                  for bound in self.document("h800-2-nodes-multi-plane", "--traffic", matrix)["bounds"]}
        # 50 GB/s of its NIC and 200 of NVLink to the other seven; one NIC; another plane.
        self.assertAlmostEqual(bounds["any"]["time_us"], 1e9 / 250e3, places=3)
        self.assertAlmostEqual(bounds["same rail"]["time_us"], 1e9 / 50e3, places=3)
        self.assertIsNone(bounds["none"]["time_us"])

    def test_all_gpus_of_32_nodes(self):
        # 8 x 248 MB per node over 400 GB/s; a maximum flow over 256 GPUs may take seconds, not minutes.
        figures = self.document("h800-32-nodes", "--all-to-all", "1 MB")
        self.assertAlmostEqual(figures["bounds"][0]["time_us"], 4960, places=2)

    def test_one_node(self):
        figures = self.document("h800-node", "--all-to-all", "1 MB")
        self.assertEqual((figures["nics"], figures["bisection_gb_per_s"]), (0, 800))
        self.assertAlmostEqual(figures["bounds"][0]["time_us"], 35, places=3)

    def test_faults(self):
        figures = self.document("h800-4-nodes", "--fail", "leaf0-spine0", "--slow", "node2.nic5=50 %", "--all-to-all", "1 MB")
        self.assertEqual(figures["faults"], ["leaf0-spine0 down", "node2.nic5 at 50 %"])
        self.assertEqual(figures["links_down"], 1)
        self.assertAlmostEqual(figures["bounds"][0]["time_us"], 192e6 / 375e3, places=3)
        self.assertAlmostEqual(figures["bounds"][1]["time_us"], 24e6 / 25e3, places=3)
        self.assertEqual(figures["ways"][0]["path"][2], "spine1")

    def test_json_in_a_file_and_text_on_standard_output(self):
        text = self.topology("h800-2-nodes", "--json", "out.json")
        self.assertEqual(text, self.topology("h800-2-nodes"))
        self.assertEqual(json.loads((self.folder / "out.json").read_text())["name"], "h800-2-nodes")


class Pictures(command.CommandTest):
    @unittest.skipUnless(shutil.which("dot"), "Graphviz is not installed")
    def test_svg_shows_all_vertices_and_links(self):
        for nodes in (2, 8):
            with self.subTest(nodes=nodes):
                result = self.run_command("topology", f"h800-{nodes}-nodes", "--svg", "net.svg", "--fail", "rail3")
                self.assertEqual(result.returncode, 0, result.stderr)
                tree = xml.etree.ElementTree.parse(self.folder / "net.svg")
                words = [text.text for text in tree.iter(SVG + "text")]
                spines = 2 if nodes == 2 else 4
                for name in [f"node{i}" for i in range(nodes)] + [f"leaf{i}" for i in range(8)] + [
                        f"spine{i}" for i in range(spines)]:
                    self.assertEqual(words.count(name), 1, name)
                self.assertEqual(words.count(str(8 * nodes - 1)), 1)  # the last GPU
                self.assertTrue(any("rail3 down" in text for text in words))
                edges = [group for group in tree.iter(SVG + "g") if group.get("class") == "edge"]
                self.assertEqual(len(edges), 8 * nodes + 8 * spines)
                dashed = [edge for edge in edges if edge.find(SVG + "path").get("stroke-dasharray")]
                self.assertEqual(len(dashed), nodes)

    @unittest.skipUnless(shutil.which("dot"), "Graphviz is not installed")
    def test_svg_of_one_node(self):
        result = self.run_command("topology", "h100-node", "--svg", "node.svg")
        self.assertEqual(result.returncode, 0, result.stderr)
        tree = xml.etree.ElementTree.parse(self.folder / "node.svg")
        edges = [group for group in tree.iter(SVG + "g") if group.get("class") == "edge"]
        self.assertEqual(len(edges), 32)

    def test_without_graphviz(self):
        self.environment["PATH"] = str(self.folder)
        result = self.run_command("topology", "h800-2-nodes", "--svg", "net.svg")
        self.assert_one_error(result, "'dot' is not installed", "graphviz")
        self.assertFalse((self.folder / "net.svg").exists())

    def test_a_dot_that_fails(self):
        self.environment["PATH"] = str(self.folder)
        program = self.file("dot", "#!/bin/sh\necho broken pencil >&2\nexit 3\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.assert_one_error(self.run_command("topology", "h800-2-nodes", "--svg", "net.svg"), "broken pencil")
        self.assertFalse((self.folder / "net.svg").exists())


class BadInput(command.CommandTest):
    def refused(self, *arguments, words=()):
        self.assert_one_error(self.run_command("topology", *arguments), *words)

    def test_names(self):
        self.refused(words=["topology is required"])
        self.refused("h800-3-nodes", words=["no topology 'h800-3-nodes'", "did you mean 'h800-"])
        self.refused("/nonexistent/net.toml", words=["/nonexistent/net.toml"])
        self.refused(self.folder, words=["no topology"])

    def test_files_name_the_line(self):
        good = (FOLDER / "h800-2-nodes.toml").read_text().replace('"h800-node.toml"', f'"{FOLDER}/h800-node.toml"')
        cases = {
            'to = "leaf0"': ('to = "leaf8"', "'leaf8' is not there, the file has 8 switches"),
            'from = "node[0-1].nic0"': ('from = "node[0-2].nic0"', "the file has 2 nodes"),
            "count = 2\n": ("count = -2\n", "whole number from 1"),
            'rate = "400 Gb/s"': ('rate = "400 Gbps"', "wrong unit 'Gbps'"),
            "spine = 2": ("spines = 2", "unknown key 'spines'"),
        }
        for before, (after, words) in cases.items():
            with self.subTest(after):
                content = good.replace(before, after, 1)
                line = content[:content.index(after)].count("\n") + 1
                path = self.file("net.toml", content)
                self.refused(path, words=[f"net.toml:{line}:", words])
        self.refused(self.file("net.toml", good + "[[link"), words=["net.toml:"])
        self.refused(self.file("net.toml", ""), words=["net.toml:1:1", "[nodes]"])
        self.refused(self.file("net.toml", bytes(range(256))), words=["net.toml:"])

    def test_traffic(self):
        cases = {
            "": (1, "from,to,bytes"),
            "a,b,c\n": (1, "from,to,bytes"),
            "from,to,bytes\n0,1,5\n0,16,5\n": (3, "expected a GPU from 0 to 15, found '16'"),
            "from,to,bytes\n-1,1,5\n": (2, "found '-1'"),
            "from,to,bytes\n0,1,many\n": (2, "found 'many'"),
            "from,to,bytes\n0,1,-5\n": (2, "found '-5'"),
            "from,to,bytes\n0,1,5 GB/s\n": (2, "wrong unit"),
            "from,to,bytes\n0,1\n": (2, ""),
            "from,to,bytes\n0,1,1e19\n": (2, "found '1e19'"),
            "from,to,bytes\n0,1,9e17\n0,2,9e17\n": (1, "at most 1e18 bytes"),
        }
        for content, (line, words) in cases.items():
            with self.subTest(content):
                self.refused("h800-2-nodes", "--traffic", self.file("t.csv", content), words=[f"t.csv:{line}:", words])
        self.refused("h800-2-nodes", "--traffic", "missing.csv", words=["missing.csv"])
        for size in ("", "much", "-1", "1 us", "0.5", "1e18"):
            self.refused("h800-2-nodes", "--all-to-all", size, words=["all-to-all"])
        self.refused("h800-2-nodes", "--all-to-all", "1", "--traffic", "t.csv", words=["--all-to-all"])

    def test_faults(self):
        self.refused("h800-2-nodes", "--fail", "nic16", words=["'nic16'", "leaf0-spine0"])
        self.refused("h800-2-nodes", "--fail", "leef1", words=["did you mean 'leaf1'?"])
        for slow in ("nic1", "nic1=", "nic1=x", "nic1=0", "nic1=2", "nic1=0.5 us", "=0.5"):
            self.refused("h800-2-nodes", "--slow", slow, words=["error"])

    def test_places_that_cannot_be_written(self):
        self.refused("h800-2-nodes", "--svg", self.folder / "no" / "net.svg", words=["net.svg"])
        self.refused("h800-2-nodes", "--json", self.folder, words=[str(self.folder)])
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    command.main()
