"""Shows that structure.py catches what it is there for: one small tree per rule, right and wrong."""

import pathlib
import tempfile
import unittest

import structure


def violations_of(files):
    """Violations in a tree that consists of `files` (path -> text) and a README in each of their folders."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            for parent in list(path.parents)[: len(pathlib.PurePath(name).parents) - 1]:
                (parent / "README.md").write_text("What lives here.\n")
        return structure.violations(folder)


class Arrows(unittest.TestCase):
    def assert_arrow(self, source, target, allowed):
        found = violations_of({source: f'#include "{target}"\n'})
        self.assertEqual(found == [], allowed, f"{source} -> {target}: {found}")

    def test_allowed(self):
        for source, target in [
            ("support/a.cpp", "support/a.hpp"),
            ("models/gpu/a.cpp", "models/base/units.hpp"),
            ("ptx_frontend/check/a.cpp", "ptx_frontend/syntax/ast.hpp"),
            ("ptx_frontend/lower/a.cpp", "ptx_frontend/program.hpp"),
            ("sim/exec/a.cpp", "ptx_frontend/program.hpp"),
            ("sim/cluster/a.cpp", "models/fabric/link.hpp"),
            ("sim/cli/a.cpp", "sim/study/a.hpp"),
            ("sim/measure/a.cpp", "sim/study/a.hpp"),
            ("sim/exec/lanes/a.cpp", "sim/exec/a.hpp"),
        ]:
            self.assert_arrow(source, target, True)

    def test_refused(self):
        for source, target in [
            ("support/a.cpp", "models/base/units.hpp"),
            ("models/gpu/a.cpp", "ptx_frontend/program.hpp"),
            ("models/base/a.cpp", "models/gpu/a.hpp"),
            ("models/gpu/a.cpp", "models/host/a.hpp"),
            ("ptx_frontend/lower/a.cpp", "models/base/units.hpp"),
            ("ptx_frontend/syntax/a.cpp", "ptx_frontend/check/a.hpp"),
            ("ptx_frontend/isa/a.cpp", "ptx_frontend/syntax/ast.hpp"),
            ("models/host/a.cpp", "sim/engine/a.hpp"),
            ("sim/memory/a.cpp", "sim/exec/a.hpp"),
            ("sim/cluster/a.hpp", "sim/workload/a.hpp"),
            ("sim/study/a.cpp", "sim/report/a.hpp"),
            ("sim/study/a.cpp", "sim/measure/a.hpp"),
            ("sim/exec/lanes/a.cpp", "sim/cluster/a.hpp"),
        ]:
            self.assert_arrow(source, target, False)

    def test_says_where(self):
        found = violations_of({"models/gpu/a.cpp": '// text\n#include "sim/exec/a.hpp"\n'})
        self.assertEqual(found, ["models/gpu/a.cpp:2: models/gpu/ may not include sim/exec/ (sim/exec/a.hpp)"])

    def test_ring(self):
        found = violations_of({"models/gpu/a.hpp": '#include "models/fabric/b.hpp"\n',
                               "models/fabric/b.hpp": '#include "models/gpu/a.hpp"\n'})
        self.assertEqual(found, ["models/fabric/b.hpp: includes itself: "
                                 "models/fabric/b.hpp -> models/gpu/a.hpp -> models/fabric/b.hpp"])

    def test_includes_are_from_the_root(self):
        self.assert_arrow("support/a.cpp", "a.hpp", False)

    def test_new_folder_needs_a_place_in_the_order(self):
        self.assert_arrow("sim/extra/a.cpp", "sim/engine/a.hpp", False)


class Files(unittest.TestCase):
    def test_readme_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "sim", "exec")
            path.mkdir(parents=True)
            (path / "a.cpp").write_text("\n")
            found = structure.violations(folder)
        self.assertEqual([line.split(":")[0] for line in found], ["sim", "sim/exec"])

    def test_size(self):
        self.assertEqual(violations_of({"sim/exec/a.cpp": "\n" * 1000}), [])
        self.assertEqual(len(violations_of({"sim/exec/a.cpp": "\n" * 1001})), 1)
        self.assertEqual(violations_of({"ptx_frontend/isa/table.cpp": "\n" * 5000}), [])

    def test_text(self):
        for text in ["see ../" + "shared/notes", "// TO" + "DO later", "cd /ho" + "me/someone", "/wo" + "rk/main/x"]:
            self.assertEqual(len(violations_of({"docs/a.md": text + "\n"})), 1, text)
        for text in ["models/base/a.hpp", "network/home/a", "../sha" + "pes", "TODOS"]:
            self.assertEqual(violations_of({"docs/a.md": text + "\n"}), [], text)


if __name__ == "__main__":
    unittest.main()
