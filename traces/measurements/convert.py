#!/usr/bin/env python3
"""Turns tables of published measurements into the rows that ptxwire compares with.

    convert.py FOLDER [-o OUT]

FOLDER holds the tables as compiled from their sources (one CSV per kind of source, every row with a source_id,
and sources.csv). OUT (default: the folder of this script) receives one CSV per table with the columns of
README.md. Output depends on the input alone: two runs give the same bytes.

Roles are decided here, before anything is fitted, by `role_of_*` below. What no rule names is `report`.
"""

import argparse
import csv
import pathlib
import sys

COLUMNS = ("id", "source_id", "group", "family", "gpu", "machine", "scenario", "settings", "metric", "unit",
           "value", "role", "cost_s")

# Metric -> units it may have. `ptxwire` refuses a row with another one.
UNITS = {
    "time": {"us"},
    "logical_bandwidth": {"GB/s"},
    "rdma_logical_bandwidth": {"GB/s"},
    "bus_bandwidth": {"GB/s"},
    "slowdown": {"ratio"},
    "microbenchmark": {"clk", "B/clk", "B/clk/SM", "GB/s", "TB/s", "TFLOP/s", "MHz", "SM", "MB", "ratio"},
}

RANKS = 8  # of a node
SECONDS_PER_512_B = 1e-5  # of what one warp access moves


def distinct(parts, experts, topk):
    """parts * (1 - c(E - E/parts, k) / c(E, k)): how many of so many equal parts of E experts hold one of k, in the mean."""
    miss = 1.0
    for i in range(topk):
        miss *= (experts - experts // parts - i) / (experts - i)
    return parts * (1 - miss)


def call_cost(tokens, hidden, topk, experts, bytes_per_element, nodes=1):
    """Estimated wall seconds of one row on two cores: two calls, each row to every rank and, across nodes, node."""
    ranks = RANKS * nodes
    copies = distinct(ranks, experts, topk) + (distinct(nodes, experts, topk) if nodes > 1 else 0)
    return round(1 + 2 * ranks * tokens * copies * hidden * bytes_per_element / 512 * SECONDS_PER_512_B, 1)


def settings(**pairs):
    """`k=v;k=v` of the pairs that are known."""
    return ";".join(f"{key}={value}" for key, value in pairs.items() if value not in ("", None))


def row(id, source, family, gpu, machine, scenario, setting, metric, unit, value, role, group="", cost=""):
    """One measurement. `group` is for rows that repeat one measurement; empty: the row stands alone."""
    if unit not in UNITS[metric]:
        raise ValueError(f"{id}: {metric} in {unit}, expected one of {sorted(UNITS[metric])}")
    return dict(zip(COLUMNS, (id, source, group, family, gpu, machine, scenario, setting, metric, unit, value,
                              role, cost), strict=True))


def tag(source):
    """S_DEEPEP_V1_0224 -> 0224, S_ISSUE_51 -> issue51: the part of an id that names the source."""
    short = source.removeprefix("S_").removeprefix("DEEPEP_").removeprefix("V1_").lower()
    return short.replace("issue_", "issue").replace("_", "-")


def machine_of(gpu):
    return {"H800": "h800-node", "H100": "h100-node", "H200": "h200-node"}.get(gpu, "")


def short_gpu(text):
    """The GPU as one word; what is not stated stays `unstated`."""
    for name in ("label conflict", "H800 PCIe", "H100 PCIe", "H800", "A100/H100", "H100", "H200", "H20"):
        if text.startswith(name) or (name in text and not text.startswith("unstated") and "not stated" not in text):
            return {"label conflict": "H100_or_H200"}.get(name, name)
    return "unstated"


# --- deepep_published: the tables in the projects' own pages --------------------------------------------------

NORMAL_MODES = {"normal", "hybrid_ep", "normal_no_nvlink", "elastic"}
# Sources that print one measurement again share its group (see README.md, "Groups").
REPEATS_NORMAL = {"S_DEEPEP_V1_0224", "S_DEEPEP_V1_0422", "S_INSIGHTS_FIG7", "S_ISSUE_285"}


def role_of_published(r, low_latency):
    if short_gpu(r["gpu"]) != "H800" or not r["fit_worthy"].startswith("yes"):
        return "report"
    ranks, source = int(r["ranks"]), r["source_id"]
    if source in ("S_INSIGHTS_FIG7", "S_ISSUE_285"):
        return "report"  # labels or GPU side inferred, or a rounded restatement
    if low_latency:
        return "fit" if source == "S_DEEPEP_V1_0224" and ranks == 8 else "test"
    if ranks == 16:
        return "fit" if source == "S_DEEPEP_V1_0422" else "report"  # 0224 repeats the number of a later revision
    return "test"


def published_group(r, stem):
    """The group of a published H800 row; '' for a row that stands alone."""
    source, ranks = r["source_id"], int(r["ranks"])
    if r["mode"] == "low_latency":
        return f"{stem}-0224" if source in ("S_DEEPEP_V1_0224", "S_DEEPEP_V1_0605") and ranks == 256 else ""
    if source == "S_ISSUE_PPLX10" or source not in REPEATS_NORMAL:
        return ""
    if ranks > 8 and source == "S_DEEPEP_V1_0224":
        return ""  # revision A is another kernel across nodes, though both tables print one number at EP16
    return f"h800-ep{ranks}-{r['kernel']}"


LOW_LATENCY_REVISIONS = {"S_DEEPEP_V1_0224": "a", "S_DEEPEP_V1_0605": "c"}


def published_revision(r, gpu, place, mode):
    """State of the kernels of a row (kernels/README.md), where it changed between tables of one kind."""
    if gpu == "H800" and mode == "low_latency":
        return LOW_LATENCY_REVISIONS.get(r["source_id"], "")
    if gpu != "H800" or place != "internode" or mode != "normal":
        return ""
    return "a" if r["source_id"] == "S_DEEPEP_V1_0224" else "b"


def published(r):
    if r["gpu"].startswith("SM100"):
        return []  # another generation
    gpu = short_gpu(r["gpu"])
    mode = r["mode"] if r["mode"] in NORMAL_MODES else "low_latency"
    low_latency = mode == "low_latency"
    intranode = int(r["nodes"]) == 1
    place = "intranode" if intranode else "internode"
    kind = "low-latency" if low_latency else place + ("" if mode == "normal" else "-" + mode.replace("_", "-"))
    word = {"low_latency": "-ll", "normal": "", "normal_no_nvlink": "-nic-only"}.get(mode, "-" + mode.split("_")[0])
    dtype = r["dtype"].lower() if r["dtype"] not in ("", "unstated") else "unstated"
    stem = f"{gpu.lower()}-ep{r['ranks']}{word}-{r['kernel'].replace('+', '-')}-{dtype}"
    id = f"{stem}-{tag(r['source_id'])}"
    if mode == "hybrid_ep":
        id += f"-sm{r['sm_count']}" + ("-api" if "Torch API" in r["bandwidth_kind"] else "-kernel")
    if r["framework"].startswith("pplx"):
        id += f"-t{r['tokens']}"
    scenario = f"{gpu.lower()}_{'low_latency' if low_latency else place}_{r['kernel'].replace('+', '_')}_ep{r['ranks']}"
    # Top-k groups are not a setting: the routing of the tests takes the best min(nodes, 4), which the tables state.
    setting = settings(revision=published_revision(r, gpu, place, mode), tokens=r["tokens"], hidden=r["hidden"],
                       topk=r["topk"], experts=r["num_experts"], sms=r["sm_count"])
    common = dict(source=r["source_id"], family=f"{gpu.lower()}-{kind}", gpu=gpu, machine=machine_of(gpu),
                  scenario=scenario, setting=setting, role=role_of_published(r, low_latency),
                  group=published_group(r, stem) if gpu == "H800" else "")
    if low_latency or not r["bandwidth_gb_per_s"]:
        return [row(id, metric="time", unit="us", value=r["latency_us"], **common)] if r["latency_us"] else []
    metric = "logical_bandwidth" if intranode and mode != "normal_no_nvlink" else "rdma_logical_bandwidth"
    cost = ""
    if r["hidden"] and r["num_experts"] and (intranode or (mode == "normal" and gpu == "H800")):
        cost = call_cost(int(r["tokens"]), int(r["hidden"]), int(r["topk"]), int(r["num_experts"]),
                         1 if r["dtype"] == "FP8" else 2, int(r["nodes"]))
    return [row(id, metric=metric, unit="GB/s", value=r["bandwidth_gb_per_s"], cost=cost, **common)]


# --- deepep_normal_sm_sweep: SM count x tokens ----------------------------------------------------------------


def role_of_sweep(gpu, nodes, hidden):
    if gpu != "H100" or nodes != 1:
        return "report"
    return {7168: "fit", 4096: "test"}.get(hidden, "report")


def sm_sweep(r):
    gpu = "H100_or_H200" if "conflict" in r["gpu"] else short_gpu(r["gpu"].removeprefix("NVIDIA "))
    nodes, ranks, hidden = int(r["nodes"]), int(r["ranks"]), int(r["hidden"])
    tokens, topk, experts = int(r["tokens"]), int(r["topk"]), int(r["num_experts"])
    if nodes != 1 and gpu != "H100_or_H200":
        return []
    place = "intranode" if nodes == 1 else "internode"
    prefix = gpu.lower().replace("_", "-")
    out = []
    for kernel, element in (("dispatch", 1), ("combine", 2)):
        sms = int(r[f"{kernel}_sm_count"])
        id = f"{prefix}-ep{ranks}-{kernel}-h{hidden}-k{topk}-e{experts}-t{tokens}-sm{sms}"
        machine = machine_of(gpu)
        out.append(row(
            id, r["source_id"], f"{prefix}-{place}", gpu, machine,
            f"{prefix.replace('-', '_')}_{place}_{kernel}_ep{ranks}",
            settings(tokens=tokens, hidden=hidden, topk=topk, experts=experts, sms=sms), "time", "us",
            r[f"{kernel}_transmit_us"], role_of_sweep(gpu, nodes, hidden),
            cost=call_cost(tokens, hidden, topk, experts, element) if machine and nodes == 1 else ""))
    return out


# --- deepep_tuning_sweeps: chunk sizes, from logs in issue threads --------------------------------------------


# Logs from before 2025-04-22 that name their GPU: the host posts.
POSTED_BY_HOST = {"S_ISSUE_51": "a"}


def tuning_sweep(r):
    gpu = short_gpu(r["gpu"])
    ranks = int(r["ranks"]) if r["ranks"] else 0
    where = f"ep{ranks}" if ranks else "ep-unstated"
    sweep = {"first": "-s1", "second": "-s2"}.get(r["dtype"].partition("(")[2].partition(" ")[0], "")
    dtype = "" if r["dtype"].startswith("unstated") else "-" + r["dtype"].lower()
    id = (f"{gpu.lower()}-{where}-{r['kernel']}{dtype}-{tag(r['source_id'])}{sweep}-sm{r['sm_count']}"
          f"-c{r['nvl_chunk_tokens']}")
    intranode = r["nodes"] == "1"
    if not intranode:
        id += f"-r{r['rdma_chunk_tokens']}"
    if r["point_kind"] == "best-of-sweep":
        id += "-best"
    place = "intranode" if intranode else "internode"
    cost = ""
    if gpu == "H800":  # 256 experts are the test's default
        cost = call_cost(int(r["tokens"]), int(r["hidden"]), int(r["topk"]), 256, 1, int(r["nodes"]))
    metric, column = (("logical_bandwidth", "nvl_bandwidth_logical_gb_per_s") if intranode else
                      ("rdma_logical_bandwidth", "rdma_bandwidth_logical_gb_per_s"))
    return [row(id, r["source_id"], f"{gpu.lower()}-{place}-chunks", gpu, machine_of(gpu),
                f"{gpu.lower()}_{place}_{r['kernel']}_{where.replace('-', '_')}",
                settings(revision=POSTED_BY_HOST.get(r["source_id"]), tokens=r["tokens"], hidden=r["hidden"],
                         topk=r["topk"], sms=r["sm_count"],
                         **{"chunk" if intranode else "nvlink_chunk": r["nvl_chunk_tokens"]},
                         rdma_chunk=r["rdma_chunk_tokens"]),
                metric, "GB/s", r[column], "report", cost=cost)]


# --- low latency: logs and tables -----------------------------------------------------------------------------


def low_latency_log(r):
    gpu = short_gpu(r["gpu"])
    where = f"ep{r['ranks']}" if r["ranks"] else "ep-unstated"
    kernel = r["kernel"].replace("+", "-")
    stem = f"{gpu.lower()}-{where}-ll-{kernel}-{tag(r['source_id'])}"
    role = "test" if gpu == "H800" and r["fit_worthy"].startswith("yes") else "report"
    return [row(f"{stem}-rank{r['rank']}", r["source_id"], f"{gpu.lower()}-low-latency", gpu, machine_of(gpu),
                f"{gpu.lower()}_low_latency_{r['kernel'].replace('+', '_')}_{where.replace('-', '_')}",
                settings(tokens=r["tokens"], hidden=r["hidden"], topk=r["topk"]),
                "time", "us", r["avg_time_us"], role, group=stem)]


def low_latency_table(r):
    gpu = "H100_or_H200" if "conflict" in r["gpu"] else short_gpu(r["gpu"].removeprefix("NVIDIA "))
    prefix = gpu.lower().replace("_", "-")
    out = []
    for kernel in ("dispatch", "combine"):
        id = (f"{prefix}-ep{r['ranks']}-ll-{kernel}-h{r['hidden']}-k{r['topk']}-e{r['num_experts']}"
              f"-t{r['tokens']}")
        out.append(row(id, r["source_id"], f"{prefix}-low-latency", gpu, machine_of(gpu),
                       f"{prefix.replace('-', '_')}_low_latency_{kernel}_ep{r['ranks']}",
                       settings(tokens=r["tokens"], hidden=r["hidden"], topk=r["topk"], experts=r["num_experts"]),
                       "time", "us", r[f"{kernel}_avg_us"], "report"))
    return out


# --- collectives, microbenchmarks, overlap --------------------------------------------------------------------

# Below this a broadcast is launch latency of one process driving 8 GPUs, not bandwidth.
BROADCAST_FIT_BYTES = 8 << 20


def nccl(r):
    gpu = short_gpu(r["gpu"])
    prefix = gpu.lower()
    if r["collective"].startswith("broadcast"):
        size = int(r["message_bytes"])
        stem = f"{prefix}-ep{r['ranks']}-broadcast-{size}"
        role = "fit" if size >= BROADCAST_FIT_BYTES else "report"
        return [row(f"{stem}-{r['placement']}", r["source_id"], f"{prefix}-collective", gpu, machine_of(gpu),
                    f"{prefix}_nccl_broadcast_ep{r['ranks']}", settings(bytes=size, placement=r["placement"]),
                    "time", "us", r["time_us"], role, group=stem)]
    if not r["busbw_gb_per_s"]:
        return []
    name = r["collective"].split(" (")[0].replace(" ", "-").replace("_", "-")
    return [row(f"{prefix}-ep{r['ranks']}-{name.lower()}-{tag(r['source_id'])}", r["source_id"],
                f"{prefix}-collective", gpu, machine_of(gpu),
                f"{prefix}_nccl_{name.lower().replace('-', '_')}_ep{r['ranks']}", "", "bus_bandwidth", "GB/s",
                r["busbw_gb_per_s"], "report")]


OTHER_GENERATIONS = ("A100 PCIe", "A100", "RTX 4090", "V100")
UNIT_WORDS = {"byte/clk/SM": "B/clk/SM", "byte/clk": "B/clk"}

# Quantity -> scenario, settings, estimated seconds. What is not here keeps the quantity as the name of its scenario.
MICRO_SCENARIOS = {
    "l1_hit_latency": ("micro_chase_l1", "", 0.1),
    "shared_memory_latency": ("micro_chase_shared", "", 0.1),
    "l2_hit_latency_average": ("micro_chase_l2", "figure=mean_clk", 1),
    "l2_near_partition_hit_latency": ("micro_chase_l2", "figure=near_clk", 1),
    "l2_far_partition_hit_latency": ("micro_chase_l2", "figure=far_clk", 1),
    "global_memory_latency": ("micro_chase_hbm", "figure=mean_clk", 1),
    "l2_near_partition_miss_latency": ("micro_chase_hbm", "figure=near_clk", 1),
    "l2_far_partition_miss_latency": ("micro_chase_hbm", "figure=far_clk", 1),
    "l1_throughput_fp32_v4": ("micro_l1_throughput", "", 1),
    "l2_throughput_fp32_v4": ("micro_l2_throughput", "", 5),
    "sm_to_sm_network_latency": ("micro_chase_cluster", "", 0.1),
    "dsm_ring_copy_throughput_cluster_size_2": ("micro_cluster_ring", "values.cluster=2;values.ctas=114", 3),
    "dsm_ring_copy_throughput_cluster_size_4": ("micro_cluster_ring", "values.cluster=4;values.ctas=100", 3),
    "tma_extra_latency_over_regular_access": ("micro_bulk_latency", "", 0.1),
    "wgmma_fp16_m64n256k16_latency": ("micro_wgmma", "values.ctas=1", 0.1),
    "wgmma_fp16_throughput_zero_inputs":
        ("micro_wgmma", "figure=tflop_per_s;values.ctas=114;values.warpgroups=2;values.count=256;machine.sm.clock_hz=1.62 GHz", 5),
    "wgmma_fp8_throughput_zero_inputs":
        ("micro_wgmma", "figure=tflop_per_s;entry=wgmma_chain_e4m3;values.depth=32;values.ctas=114;values.warpgroups=2;"
         "values.count=256;machine.sm.clock_hz=1.62 GHz", 5),
    "memcpy_d2d_131072_bytes_bandwidth":
        ("micro_memcpy", "values.threads=64;values.share=1024;values.unroll=1", 0.2),
    "memcpy_d2d_4194304_bytes_bandwidth": ("micro_memcpy", "", 0.5),
}

# Rows that others contradict (README.md, "Traps"): no machine can meet them all, so they are averaged apart.
MICRO_CONTRADICTORY = {"l2_hit_latency_average", "global_memory_latency", "l2_throughput_fp32_v4",
                       "tma_extra_latency_over_regular_access"}


def microbench(r):
    tensor = r["unit"] == "TFLOP/s" or "_mma_" in r["quantity"] or r["quantity"].startswith(("mma", "wgmma"))
    if r["gpu"] in OTHER_GENERATIONS or (tensor and r["quantity"] not in MICRO_SCENARIOS):
        return []  # other generations; products that no kernel of ours makes
    gpu = "V100/A100/H100" if r["gpu"].startswith(("V100/", "unstated (V100/")) else short_gpu(r["gpu"])
    prefix = gpu.lower().replace(" ", "-").replace("/", "-")
    machine = {"H800 PCIe": "h800-pcie", "H800": "h800-node"}.get(gpu, "")
    scenario, setting, cost = (MICRO_SCENARIOS if machine else {}).get(r["quantity"], (f"micro_{r['quantity']}", "", ""))
    family = "microbenchmark"
    if r["quantity"].startswith("memcpy"):
        family = "driver-copy"
    elif machine and r["quantity"] in MICRO_CONTRADICTORY:
        family = "microbenchmark-contradictory"
    return [row(f"{prefix}-{r['quantity'].replace('_', '-')}-{tag(r['source_id'])}", r["source_id"],
                family, gpu, machine, scenario, setting, "microbenchmark",
                UNIT_WORDS.get(r["unit"], r["unit"]), r["value"], "report", cost=cost)]


def slowdown(r):
    """Ratios of one compute kernel's duration under dispatch or combine to its duration without, from a trace."""
    out = []
    kernel = "".join(c if c.isalnum() else "-" for c in r["kernel"].lower())
    while "--" in kernel:
        kernel = kernel.replace("--", "-")
    for overlap in ("dispatch", "combine"):
        ratio = r[f"ratio_{overlap}_over_baseline"]
        if ratio:
            id = (f"h800-slowdown-{overlap}-{kernel.strip('-')}-g{r['grid']}-s{r['smem_bytes']}"
                  f"-p{r['position_in_layer']}")
            out.append(row(id, r["source_id"], f"h800-slowdown-{r['role'].replace('_', '-')}", "H800", "h800-node",
                           f"h800_overlap_{overlap}_ep64",
                           settings(grid=r["grid"], block=r["block"], shared=r["smem_bytes"],
                                    baseline=r["baseline_state"]),
                           "slowdown", "ratio", ratio, "fit"))
    return out


TABLES = (
    ("deepep_published.csv", (("deepep_published", published),)),
    ("deepep_normal_sm_sweep.csv", (("deepep_normal_sm_sweep_h100_h200", sm_sweep),)),
    ("deepep_tuning_sweeps.csv", (("deepep_tuning_sweeps", tuning_sweep),)),
    ("deepep_low_latency.csv", (("deepep_low_latency_logs", low_latency_log),
                                ("deepep_low_latency_h100_h200", low_latency_table))),
    ("nccl.csv", (("nccl_h800_and_peaks", nccl),)),
    ("microbench.csv", (("microbench_hopper", microbench),)),
    ("slowdown.csv", (("profile_train_slowdown", slowdown),)),
)


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path, columns, rows):
    """Writes beside the target and renames, so that a reader never sees half a table."""
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    temporary.replace(path)


def check_unique_and_consistent(rows):
    """Ids are unique; a group is never fitted on and tested on at once; values are positive numbers."""
    seen, roles = set(), {}
    for r in rows:
        if r["id"] in seen:
            raise ValueError(f"id {r['id']} twice")
        seen.add(r["id"])
        if r["metric"] != "microbenchmark" and r["role"] != "report" and float(r["value"]) <= 0:
            raise ValueError(f"{r['id']}: value {r['value']}")
        roles.setdefault(r["group"] or r["id"], set()).add(r["role"])
    for group, found in roles.items():
        if {"fit", "test"} <= found:
            raise ValueError(f"group {group} is both fitted and tested on")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="folder of the compiled tables")
    parser.add_argument("-o", "--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    arguments = parser.parse_args()
    everything, outputs = [], []
    for name, inputs in TABLES:
        rows = [out for table, convert in inputs for r in read(arguments.folder / f"{table}.csv") for out in convert(r)]
        everything += rows
        outputs.append((name, rows))
    check_unique_and_consistent(everything)
    for name, rows in outputs:
        write(arguments.out / name, COLUMNS, rows)
        print(f"{len(rows):6} rows  {name}")
    used = {r["source_id"] for r in everything}
    sources = [s for s in read(arguments.folder / "sources.csv") if s["source_id"] in used]
    write(arguments.out / "sources.csv", sources[0].keys(), sources)
    print(f"{len(sources):6} rows  sources.csv")
    if missing := used - {s["source_id"] for s in sources}:
        raise ValueError(f"no citation of {sorted(missing)}")


if __name__ == "__main__":
    try:
        main()
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"convert.py: {error}")
