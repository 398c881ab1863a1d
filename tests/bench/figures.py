"""Table of benchmark figures against the committed ones.

usage: figures.py [--update] FIGURES RESULT...

RESULT: JSON files of Google Benchmark. FIGURES: {"machine": {...}, "figures": {benchmark: {figure: value}}}; --update puts
the new values there and keeps those of benchmarks that were not run. Sample output:

  benchmark                                figure                    now    committed   ratio
  copy_kernel/zero_latency                 instructions/s          21.4M        20.9M    1.02
"""

import json
import os
import pathlib
import sys

# What Google Benchmark reports of a benchmark besides its figures.
BOOKKEEPING = {"name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index",
               "threads", "iterations", "cpu_time", "time_unit", "label", "real_time", "aggregate_name", "aggregate_unit"}
TO_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def read_results(paths):
    """({benchmark: {figure: value}}, description of the machine)"""
    figures, machine = {}, {}
    for path in paths:
        text = pathlib.Path(path).read_text()
        if not text.strip():
            continue  # the filter matched nothing in this program
        result = json.loads(text)
        machine = {"cpus": result["context"]["num_cpus"], "mhz": result["context"]["mhz_per_cpu"]}
        for row in result["benchmarks"]:
            if row.get("error_occurred"):
                sys.exit(f"bench: error: {row['name']}: {row['error_message']}")
            values = {key: value for key, value in row.items() if key not in BOOKKEEPING and isinstance(value, (int, float))}
            values["seconds"] = row["real_time"] * TO_SECONDS[row["time_unit"]]
            figures[row["name"]] = values
    return figures, machine


def short(value):
    if value is None:
        return "-"
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{unit}"
    if value != 0 and abs(value) < 1e-3:
        return f"{value * 1e6:.3g}u"
    return f"{value:.3g}"


def main(arguments):
    update = arguments[:1] == ["--update"]
    path, *results = arguments[1:] if update else arguments
    figures, machine = read_results(results)
    committed = json.loads(pathlib.Path(path).read_text()) if os.path.exists(path) else {"figures": {}}
    print(f"{'benchmark':44} {'figure':24} {'now':>9} {'committed':>10} {'ratio':>7}")
    for name, values in figures.items():
        for figure, value in sorted(values.items()):
            before = committed["figures"].get(name, {}).get(figure)
            ratio = f"{value / before:.2f}" if before else "-"
            print(f"{name:44} {figure:24} {short(value):>9} {short(before):>10} {ratio:>7}")
    if update:
        merged = {"machine": machine, "figures": {**committed["figures"], **figures}}
        pathlib.Path(path).write_text(json.dumps(merged, indent=1, sort_keys=True) + "\n")
        print(f"written to {path}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    main(sys.argv[1:])
