"""The rules of the tree that no compiler checks: which folder may include which, and what a committed file may hold.

Run as `structure.py ROOT`: prints every violation and exits with 1 if there is one.
"""

import os
import pathlib
import re
import subprocess
import sys

# Each folder with everything that it may include besides itself. Only direct arrows are listed and checked; what may be
# reached follows from them. Folders further down belong to their layer; a layer that is missing here is refused.
SUPPORT = ["support"]
ISA = SUPPORT + ["ptx_frontend/isa"]
SYNTAX = ISA + ["ptx_frontend/syntax", "ptx_frontend"]
CHECK = SYNTAX + ["ptx_frontend/check"]
LINK = CHECK + ["ptx_frontend/link"]
CONTAINER = SYNTAX + ["ptx_frontend/container"]
LOWER = LINK + ["ptx_frontend/container", "ptx_frontend/lower"]
BASE = SUPPORT + ["models/base"]
MACHINES = BASE + ["models/machines"]
MODELS = MACHINES + ["models/gpu", "models/fabric", "models/host"]
SIM_LAYERS = ["engine", "memory", "exec", "nic", "cluster", "workload", "study", "measure", "report", "cli"]

ALLOWED = {
    "support": SUPPORT,
    # Files right in ptx_frontend/ are its public face: the program form and the entry points. The steps implement them.
    "ptx_frontend": SYNTAX,
    "ptx_frontend/isa": ISA,
    "ptx_frontend/syntax": SYNTAX,
    "ptx_frontend/check": CHECK,
    "ptx_frontend/link": LINK,
    "ptx_frontend/container": CONTAINER,
    "ptx_frontend/lower": LOWER,
    "models/base": BASE,
    # A machine is checked against its topology file.
    "models/machines": MACHINES + ["models/fabric"],
    # Transactions cross between these two in both directions, through the public header of each.
    "models/gpu": MACHINES + ["models/gpu", "models/fabric"],
    "models/fabric": MACHINES + ["models/gpu", "models/fabric"],
    "models/host": MACHINES + ["models/host"],
}
for index, layer in enumerate(SIM_LAYERS):
    ALLOWED["sim/" + layer] = LOWER + MODELS + ["sim/" + name for name in SIM_LAYERS[: index + 1]]

LAYERED = ("support", "ptx_frontend", "models", "sim")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
SOURCES = (".cpp", ".hpp", ".inc", ".py", ".cu")

MAX_LINES = 1000
TABLES = ("ptx_frontend/isa/",)

# Spelled so that this file does not match itself.
FORBIDDEN = [
    (re.compile(r"\.\./shared"), "refers to a folder outside the repository"),
    (re.compile(r"(?<![\w.])/(work|home|root)/\w"), "names a path of one machine"),
    (re.compile(r"\b(TO(?:DO)|FIX(?:ME)|XX(?:X))\b"), "leaves work for later; do it or file it"),
]
DATA = (".csv", ".json", ".ptx", ".png", ".svg")


def repository_files(root):
    """Files that git tracks or would add; all files where there is no git."""
    try:
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                                capture_output=True, check=True).stdout
        names = [name.decode() for name in listed.split(b"\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(root)) for path in pathlib.Path(root).rglob("*") if path.is_file()]
    return sorted(name for name in names if os.path.isfile(os.path.join(root, name)))


def layer_of(name):
    """The first two folders of a path: sim/exec/lanes/a.hpp -> sim/exec, ptx_frontend/program.hpp -> ptx_frontend"""
    return "/".join(os.path.dirname(name).split("/")[:2])


def include_violations(name, text):
    layer = layer_of(name)
    if layer not in ALLOWED:
        yield f"{name}: {layer}/ is no layer; give it a place in the order (tests/structure/structure.py)"
        return
    for match in INCLUDE.finditer(text):
        target = match.group(1)
        line = text.count("\n", 0, match.start(1)) + 1
        if target.split("/")[0] not in LAYERED:
            yield f'{name}:{line}: includes "{target}", expected a path from the repository root'
        elif layer_of(target) not in ALLOWED[layer]:
            yield f"{name}:{line}: {layer}/ may not include {layer_of(target)}/ ({target})"


def cycle_violations(texts):
    """Files that include each other in a ring. texts: path -> text of every layered file."""
    state, found = {}, []

    def visit(name, trail):
        state[name] = "open"
        for target in INCLUDE.findall(texts[name]):
            if state.get(target) == "open":
                ring = trail[trail.index(target):] + [target]
                found.append(f"{target}: includes itself: {' -> '.join(ring)}")
            elif target in texts and target not in state:
                visit(target, trail + [target])
        state[name] = "closed"

    for name in sorted(texts):
        if name not in state:
            visit(name, [name])
    return found


def text_violations(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, meaning in FORBIDDEN:
            if pattern.search(line):
                yield f"{name}:{number}: {meaning}: {line.strip()[:80]}"


def readme_violations(names):
    """Every top folder and every layer says what lives in it."""
    folders = {name.split("/")[0] for name in names if "/" in name and not name.startswith(".")}
    folders |= {layer_of(name) for name in names if name.split("/")[0] in LAYERED}
    present = set(names)
    for folder in sorted(folders):
        if folder + "/README.md" not in present:
            yield f"{folder}: has no README.md that says what lives there and what may not"


def violations(root):
    names = repository_files(root)
    found = list(readme_violations(names))
    layered = {}
    for name in names:
        if name.endswith(DATA):
            continue
        try:
            text = pathlib.Path(root, name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # seeds of the fuzz targets may be binary
        if not name.startswith("tests/fuzz/corpus/"):
            found += text_violations(name, text)
        if name.split("/")[0] in LAYERED and name.endswith((".cpp", ".hpp", ".inc")):
            found += include_violations(name, text)
            layered[name] = text
        lines = text.count("\n")
        if name.endswith(SOURCES) and lines > MAX_LINES and not name.startswith(TABLES):
            found.append(f"{name}: {lines} lines, expected at most {MAX_LINES} outside tables")
    return found + cycle_violations(layered)


def main():
    found = violations(sys.argv[1])
    print("\n".join(found) or "structure: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
