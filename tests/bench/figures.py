"""Table of benchmark figures against the committed ones.

usage: figures.py [--update] FIGURES RESULT...

RESULT: JSON files of Google Benchmark, or what `ptxwire run --json` wrote (the file's name is the benchmark's). FIGURES:
{"date": ..., "figures": {benchmark: {figure: value}}}; --update puts the new values there and keeps those of benchmarks that
were not run. Ratios are now over committed. Figures with "per_second" or "speed_up" are better high, all others low. Sample output:

  benchmark                              figure                              now  committed  ratio
  copy/untimed/16                        warp_instructions_per_second      21.4M      20.9M   1.02
"""

import datetime
import json
import os
import pathlib
import sys

TO_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
# What Google Benchmark writes of every benchmark; everything else in a row is a figure of the benchmark's own.
BOOKKEEPING = {"name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index",
               "threads", "iterations", "cpu_time", "real_time", "time_unit", "label", "aggregate_name", "aggregate_unit",
               "items_per_second", "bytes_per_second"}


def figures_of_benchmark(row):
    """The figures that the benchmark itself reports; its time per iteration where it reports none."""
    own = {key: value for key, value in row.items() if key not in BOOKKEEPING}
    return own or {"seconds": row["cpu_time"] * TO_SECONDS[row["time_unit"]]}


def figures_of_run(result):
    return {"wall_seconds": result["wall_s"], "memory_bytes": result["peak_rss_bytes"],
            "warp_instructions_per_second": result["warp_instructions"] / result["wall_s"],
            "events_per_instruction": result["events"] / result["warp_instructions"]}


def read_results(paths):
    """{benchmark: {figure: value}}; of repetitions the fastest, the one that other work disturbed least."""
    figures, fastest = {}, {}
    for path in map(pathlib.Path, paths):
        result = json.loads(path.read_text())
        if "benchmarks" not in result:
            figures[path.stem] = figures_of_run(result)
            continue
        for row in result["benchmarks"]:
            name = row["run_name"]
            if row.get("error_occurred"):
                sys.exit(f"bench: error: {name}: {row['error_message']}")
            if row["run_type"] == "aggregate":
                continue
            if row["cpu_time"] < fastest.get(name, float("inf")):
                fastest[name] = row["cpu_time"]
                figures[name.replace("/iterations:1", "")] = figures_of_benchmark(row)
    return figures


def short(value):
    """A number in three digits, with an SI prefix where it is long."""
    if value is None:
        return "-"
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, "")):
        if abs(value) >= limit * 0.9995:
            return f"{value / limit:#.3g}".rstrip(".") + unit
    return f"{value:.3g}" if abs(value) >= 1e-3 or value == 0 else f"{value * 1e9:.3g}n"


def main(arguments):
    update = arguments[:1] == ["--update"]
    path, *results = arguments[1:] if update else arguments
    figures = read_results(results)
    committed = json.loads(pathlib.Path(path).read_text()) if os.path.exists(path) else {"figures": {}}
    print(f"{'benchmark':38} {'figure':30} {'now':>9} {'committed':>10} {'ratio':>6}")
    for name, values in figures.items():
        for figure, value in sorted(values.items()):
            before = committed["figures"].get(name, {}).get(figure)
            ratio = f"{value / before:.2f}" if before else "-"
            print(f"{name:38} {figure:30} {short(value):>9} {short(before):>10} {ratio:>6}")
    if update:
        rounded = {name: {key: float(f"{value:.4g}") for key, value in values.items()} for name, values in figures.items()}
        merged = {"date": datetime.date.today().isoformat(), "figures": {**committed["figures"], **rounded}}
        pathlib.Path(path).write_text(json.dumps(merged, indent=1, sort_keys=True) + "\n")
        print(f"written to {path}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    main(sys.argv[1:])
