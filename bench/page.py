#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/UNWINDING.md and its pictures from what was measured.

usage: bench/page.py RESULTS DOCS

RESULTS has walks.json, programs.json and growing.json, as bench/walks.py and so on write them; a
part whose results are missing is left out, and the page says so. No figure or verdict is written by hand.
"""
import math
import os
import re
import sys

import large_host
import machine
import pictures
import verdicts

WAYS = {"kernel": "`bpf_get_stack()`", "fp": "`fp`", "dwarf": "`dwarf`", "auto": "`auto`",
        "apart": "`dwarf`, other stack before", "cold": "`dwarf`, cold"}


def show(spread, form="{:,.0f}"):
    if spread is None:
        return ""
    if spread["runs"] == 1:
        return form.format(spread["median"])
    return f"{form.format(spread['median'])} ({form.format(spread['low'])}–{form.format(spread['high'])})"


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "--:|" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def intro(results):
    m = next(r["machine"] for r in results if r)
    yield """<!-- Written by bench/page.py; `sudo ci/bench` makes it anew. -->
# Ways to unwind, side by side

    sudo ci/bench

measures everything and writes this page. `bench/results/*.json` has each run. Figures are medians, with
quartiles in brackets; ratios are taken within a run. [BENCHMARKS.md](BENCHMARKS.md) has what is not about
ways to unwind.

## Which mode to choose

| `--unwind` | when | why |
|---|---|---|
| `auto` | normally | tables, and frame pointers where code has no table, such as JIT code |
| `dwarf` | if no frame may come from an unchecked frame pointer | costs the same; JIT code ends the stack |
| `fp` | to compare | cannot prove a root, and finds no callers in code built without frame pointers |
| `copy` | to compare with `perf --call-graph dwarf` | same stacks as `auto` within 64 KiB, at many times the bytes and more CPU time |

## Machine

"""
    yield from table(["", "value"], [[k.replace("_", " "), f"{v:.1f}" if isinstance(v, float) else str(v)]
                                        for k, v in m.items()])


def wanted(walks, programs):
    yield "## Targets\n"
    targets = verdicts.all_targets(walks, programs)
    yield from table(["figure", "wanted", "measured", "verdict"], [
        [t.what, ("≥ " if t.at_least else "≤ ") + t.show(t.limit),
         show(t.spread, t.form) if t.spread else "", f"**{t.verdict()}**"] for t in targets])
    missed = [t for t in targets if t.verdict().startswith("missed")]
    for t in missed:
        yield f"* Missed: {t.what}. Next idea: {t.idea}."
    if missed:
        yield ""
    if programs:
        yield f"""Ratios of bytes, completeness and CPU time are over all workloads, and so are their quartiles. A slowdown
compares {len(programs["slowdown"]["99"])} runs with the ones before and after without dwarfprof. It includes the timer interrupt, perf,
`kernel.bpf_stats_enabled` and noise; where its quartiles are wider than the target, the time in the BPF
program is the better figure.
"""


def walked(walks, docs):
    yield f"""## The same stacks at the same moments

    sudo bench/walks.py build bench/results

{walks['hz']} times a second, on the workload's own CPU, a BPF program (`bench/walks.bpf.c`) walks the same stack in
all ways, in changing order. `bpf_get_stack()` is the kernel's walk by frame pointers, without its limit
of 127 frames. The others are dwarfprof's walker, warm; in *other stack before* it does not
remember the previous stack, as if threads alternated, and in *cold* nothing. All of them compete for the
CPU's caches, so one alone is faster.

* *To the kernel's*: ratio at the same moment. *First*: only moments at which this way came first, before any
  other had brought the stack into the cache. Reading the clock is subtracted.
* *Of frames*: frames found, of those found by tables. *Root*: stacks whose root is proven.
* *fp*, *nofp*: the program is built with or without frame pointers; libc is without.
"""
    rows = []
    for name, result in walks["workloads"].items():
        for way, words in WAYS.items():
            w = result["ways"][way]
            rows.append([name if way == "kernel" else "", words, show(w["ns"]), show(w["first_ns"]),
                         show(w["to_kernel"], "{:.2f}") if way != "kernel" else "1",
                         show(w["ns_per_frame"]), f"{w['frames']['median']:.0f}" if w["frames"] else "",
                         f"{w['of_frames']:.0%}", f"{w['complete']:.0%}"])
    yield from table(["workload", "way", "ns", "first, ns", "to the kernel's", "ns per frame", "frames",
                      "of frames", "root"], rows)
    lines = {}
    for way, words in WAYS.items():
        points = [(r["ways"][way]["frames"]["median"],
                   *(r["ways"][way]["ns"][k] for k in ("median", "low", "high")))
                  for name, r in walks["workloads"].items() if re.fullmatch(r"depth \d+, fp", name)]
        if points:
            lines[words.replace("`", "")] = points
    if lines:
        lines["expected: in proportion"] = pictures.like(lines["dwarf"], lambda n: n)
        pictures.draw(os.path.join(docs, "unwinding-depth.svg"), "frames", "ns per walk", lines)
        yield "![Time of a walk, over its depth](unwinding-depth.svg)\n"


def spread_of(runs, figure):
    return machine.spread(run[figure] for run in runs)


def median_of(runs, figure):
    spread = spread_of(runs, figure)
    return f"{spread['median']:,.0f}" if spread else ""


def percent(spread, digits=1):
    return show(spread, f"{{:.{digits}%}}")


def profiled(programs):
    yield f"""## Profilers as a whole

    sudo bench/programs.py build bench/results

Each samples the workload, which has a CPU of its own, for {programs['seconds']} s from the other CPU, and ends with a text with names.

* *In the kernel*: time of the BPF program per sample. *CPU*: of the profiler, while sampling. *Bytes*: out
  of the kernel, per sample; of bpftrace its output.
* *Root*: the profiler's own names have `_start`, `__libc_start_main` or a thread's start outermost.
  *Proven*: dwarfprof says complete.
* *First sample*: from the start of the command. *Result*: from the end of sampling (perf: with `perf script`).
  A profiler that takes over a minute for that has no samples here.
"""
    head = ["profiler", "samples", "frames", "root", "proven", "in the kernel, ns", "CPU", "bytes",
            "recording, bytes per sample", "first sample, ms", "result, ms", "slowdown"]
    for name, rates in programs["workloads"].items():
        for hz, profilers in rates.items():
            yield f"### {name}, {int(hz):,} Hz\n"
            yield from table(head, [[
                who, f"{machine.spread(r['samples'] for r in runs)['median']:.0f}",
                f"{spread_of(runs, 'frames')['median']:.1f}", f"{spread_of(runs, 'rooted')['median']:.1%}",
                f"{spread_of(runs, 'proven')['median']:.1%}" if spread_of(runs, "proven") else "",
                show(spread_of(runs, "bpf_ns")), percent(spread_of(runs, "cpu_share"), 2),
                median_of(runs, "ring_bytes_per_sample"), median_of(runs, "recorded_bytes_per_sample"),
                show(spread_of(runs, "first_sample_ms")), show(spread_of(runs, "result_ms")),
                percent(spread_of(runs, "slowdown"), 2)] for who, runs in profilers.items() if runs])


def priced(programs):
    yield """## What frame pointers cost the programs

The same sources, built with and without frame pointers, run in turn, unprofiled. `chain` is a loop below
20 frames, `hot` one function, `flat` calls of 8,192 small functions, `words` C++ with the system's library.
"""
    rows = []
    for mode, rates in programs["price"].items():
        pairs = [with_ / without for with_, without in zip(rates["fp"], rates["nofp"])]
        rows.append([mode, show(machine.spread(1 / p - 1 for p in pairs), "{:+.1%}"), str(len(pairs))])
    yield from table(["program", "time with frame pointers, to without", "pairs"], rows)


def grown(growing, docs):
    yield """## How it grows

    sudo bench/growing.py build bench/results

### With the mappings of a process

The program with 20 frames, and more executable mappings. Only an address that is met for the first time
takes a binary search among them.
"""
    yield from table(["mappings", "warm, ns", "cold, ns"],
                     [[f"{m['mappings']:,}", show(m["warm_ns"]), show(m["cold_ns"])] for m in growing["mappings"]])
    points = {kind: [(m["mappings"], *(m[f"{kind}_ns"][k] for k in ("median", "low", "high")))
                     for m in growing["mappings"]] for kind in ("warm", "cold")}
    points["expected: the logarithm"] = pictures.like(points["cold"], lambda n: math.log2(n) + 8)
    pictures.draw(os.path.join(docs, "unwinding-mappings.svg"), "mappings", "ns per walk", points)
    yield "![Time of a walk, over the mappings of its process](unwinding-mappings.svg)\n"
    yield """### With the rows of a table

Lookups of random addresses in the kernel (`bench_lookup -r`). The picture also has the building
(`bench_growth`).
"""
    rows = growing["rows"]
    yield from table(["rows", "search, ns", "search by halves, ns"],
                     [[f"{r['rows']:,.0f}", f"{r['search_ns']:.0f}", f"{r['halving_ns']:.0f}"]
                      for r in rows["search"]])
    search = [(r["rows"], r["search_ns"]) for r in rows["search"]]
    making = [(r["rows"], r["ns_per_row"]) for r in rows["making"]]
    size = [(r["rows"], r["image_bytes"] / r["rows"]) for r in rows["making"]]
    pictures.draw(os.path.join(docs, "unwinding-rows.svg"), "rows of a table", "", {
        "search, ns": search, "making, ns per row": making, "bytes per row": size,
        "expected: the logarithm": pictures.like(search, lambda n: math.log2(n))})
    yield "![A search, making and memory per row, over the rows of a table](unwinding-rows.svg)\n"
    yield "### With the number of processes\n"
    yield "All processes are profiled; the added ones sleep.\n"
    yield from table(["processes", "until it samples, ms", "memory, MiB", "tables, MiB", "BPF program, ns"],
                     [[f"{p['processes']:,}", f"{p['ready_ms']:,.0f}", f"{p['memory_kib'] / 1024:,.1f}",
                       f"{p['tables_mib']}", f"{p['bpf_ns']:,.0f}"] for p in growing["processes"]])
    kib = large_host.per_process_kib(growing["processes"])
    yield (f"A process takes {kib:.1f} KiB of the profiler's memory, by the slope.\n" if kib > 0 else
           "Memory did not grow with them: what else the machine did outweighed it.\n")
    pictures.draw(os.path.join(docs, "unwinding-processes.svg"), "processes", "", {
        "until it samples, ms": [(p["processes"], p["ready_ms"]) for p in growing["processes"]],
        "memory, MiB": [(p["processes"], p["memory_kib"] / 1024) for p in growing["processes"]],
        "BPF program, ns": [(p["processes"], p["bpf_ns"]) for p in growing["processes"]],
        "expected of the BPF program: constant":
            [(p["processes"], growing["processes"][0]["bpf_ns"]) for p in growing["processes"]]})
    yield "![Start, memory and cost of a sample, over the processes](unwinding-processes.svg)\n"


def main():
    directory, docs = sys.argv[1:]
    walks, programs, growing = (machine.read(directory, name) for name in ("walks", "programs", "growing"))
    if not (walks or programs or growing):
        sys.exit(f"{directory}: no results; `sudo ci/bench` makes them")
    lines = [*intro((walks, programs, growing)), *wanted(walks, programs)]
    lines += walked(walks, docs) if walks else ["The walks were not measured.\n"]
    lines += [*profiled(programs), *priced(programs)] if programs else ["The profilers were not measured.\n"]
    lines += grown(growing, docs) if growing else ["The growth was not measured.\n"]
    if walks and programs and growing:
        lines += large_host.section(programs, growing, table)
    with open(os.path.join(docs, "UNWINDING.md"), "w") as file:
        file.write("\n".join(lines).rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
