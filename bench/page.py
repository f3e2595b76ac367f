#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a page about all results, unwinding.md, and its pictures into OUT; and a summary into BENCHMARKS.md.

usage: bench/page.py RESULTS OUT [BENCHMARKS]

RESULTS has rate.json, walks.json, programs.json and growing.json, written by bench/walks.py and so on. A part
without results is left out, and the page says so. No figure or verdict is written by hand.
"""
import math
import os
import re
import sys
import textwrap

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../ci"))
import figures  # noqa: E402
import large_host
import machine
import pictures
import verdicts

# Of programs that differ in nothing else, the picture has the times.
DEPTH = re.compile(r"depth \d+, ")
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
    yield """# Ways to unwind, side by side

`sudo ci/bench` measures this and writes the page. Figures are medians, with quartiles in brackets; ratios are
taken within a run. `bench/results/*.json` has each run.

## Machine
"""
    facts = (f"{k.replace('_', ' ')}: {f'{v:.1f}' if isinstance(v, float) else v}" for k, v in m.items())
    yield textwrap.fill("; ".join(facts), 105) + "\n"


def cells(target):
    return [("≥ " if target.at_least else "≤ ") + target.show(target.limit),
            show(target.spread, target.form) if target.spread else "", f"**{target.verdict()}**"]


def wanted_at_99(rate):
    at_99 = verdicts.of_rates(rate)
    yield from table(["99 samples a second", "wanted", "measured", "verdict", "found", "by the other", "per frame", "per complete stack"],
                     [[t.what, *cells(t), *t.beside] for t in at_99])
    yield """*Found*: frames of the user + the kernel, and stacks that reach their root. *Per frame*, *per complete stack*: the
same multiple, each time divided by what was found for it; none where the kernel completes no stack.
"""
    yield from ideas(at_99)


def wanted_of_all(walks, programs):
    targets = verdicts.of_others(walks, programs)
    yield from table(["figure", "wanted", "measured", "verdict"], [[t.what, *cells(t)] for t in targets])
    yield from ideas(targets)
    if programs:
        yield f"""Ratios of bytes, completeness and CPU time are over all workloads, and so are their quartiles. A slowdown
compares {len(programs["slowdown"]["99"])} runs with the ones before and after without dwarfprof. It includes the timer interrupt, perf,
`kernel.bpf_stats_enabled` and noise.
"""


def ideas(targets):
    missed = [t for t in targets if t.verdict().startswith("missed")]
    for t in missed:
        yield f"* Missed: {t.what}. Next idea: {t.idea}."
    if missed:
        yield ""


def others(peers):
    """The other profilers, by the versions that were there."""
    return "; ".join(f"*{name}*: {version or 'not measured'}" for name, version in peers.items()) + "."


def rated(rate):
    yield f"""## At the rates that people use

    sudo bench/rate.py build bench/results

At 99 samples a second the caches belong to the program. By turns, {rate['turns']} of {rate['seconds']:g} s each: ns of the
whole BPF programs per sample that was counted meanwhile. *kernel*: `bpf_get_stack()` of the user's stack, and
of both; *send*: only a record of 20 frames. *ours*: dwarfprof as a whole, without the kernel's stack, with the
frame pointer, and both. In brackets: frames found, of the user + the kernel, and stacks that reach their root.
{others(rate["peers"])}
dw_ustack() is told processes when bpftrace starts, and has no figure for programs that start new ones.
"""
    at_99 = {name: rates["99"] for name, rates in rate["workloads"].items()}
    names = list(dict.fromkeys(method for of in at_99.values() for method in of))

    def shown(figures):
        if not figures or not figures["ns"]:
            return ""
        found = verdicts.words_of(figures)
        return f"{figures['ns']['median']:,.0f}" + (f" ({found})" if found else "")

    words = {"user": "kernel, user", "both": "kernel, both"}
    yield from table(["workload", *(words.get(name, name) for name in names)], [
        [name, *(shown(of.get(method)) for method in names)] for name, of in at_99.items()])
    yield "Without the empty program: times the kernel's walk of both; ns per frame, per complete stack, at 99 Hz.\n"
    rates = list(dict.fromkeys(hz for of in rate["workloads"].values() for hz in of))
    yield from table(["workload", *(f"{hz} Hz" for hz in rates), "per frame", "kernel's", "per complete stack", "kernel's"], [
        [name, *(show(of.get(hz, {}).get("ours", {}).get("to_kernel"), "{:.2f}") for hz in rates),
         *(show(of["99"].get(who, {}).get(figure)) for figure in ("net_ns_per_frame", "net_ns_per_complete")
           for who in ("ours", "both"))] for name, of in rate["workloads"].items()])
    yield """Distinct cache lines and pages that a walk touches, counted in user space for recorded stacks (`bench_touches`):
median of *first* walks, with nothing kept, and of the *next* ones. Lines of code are not counted, since the
compiled BPF program has others, and neither is what a sample touches before and after its walk.
"""
    yield from touched(rate["touched"])
    yield """What that may cost: a chase of pointers through as many lines and pages as a next walk's (`bench_chase`), ns, after
other memory of so many MiB was used. A walk need not wait for each line before it asks for the next one.
"""
    yield from table(["stacks", "0", "4", "64"], [
        [name, *(f"{ns:,}" for ns in by_mib.values())] for name, by_mib in rate["missed"].items()])


TOUCHED = ("all", "walk.stack", "walk.trail", "walk.cache", "walk.rules", "tables", "user's stack", "user's other memory")


def touched(rows):
    by_stack = {}
    for row in rows:
        by_stack.setdefault((row["recording"].removesuffix(".txt"), row["state"], f"{row['frames']:g}"), {})[row["touched"]] = row
    yield from table(["stacks", "walk", "frames", *TOUCHED], [
        [*key, *(f"{of[part]['lines']:g} on {of[part]['pages']:g}" for part in TOUCHED)] for key, of in by_stack.items()])


def walked(walks):
    yield f"""## The same stacks at the same moments

    sudo bench/walks.py build bench/results

{walks['hz']} times a second, on the workload's own CPU, a BPF program (`bench/walks.bpf.c`) walks the same stack in
all ways, in changing order. `bpf_get_stack()` is the kernel's walk by frame pointers, without its limit
of 127 frames. The others are dwarfprof's walker, warm; *other stack before*: without the previous stack, as
if threads alternated; *cold*: with nothing kept. *fp* and *nofp* programs are built with and without frame
pointers; libc is without. Median ns of a walk; *ratio*: `dwarf` to the kernel's; *found*: share of the frames
of `dwarf`.
"""
    yield from table(["workload", "frames", *WAYS.values(), "ratio", "kernel's found"], [
        [name, f"{ways['dwarf']['frames']['median']:.0f}", *(f"{ways[way]['ns']['median']:,.0f}" for way in WAYS),
         f"{ways['dwarf']['to_kernel']['median']:.2f}", f"{ways['kernel']['of_frames']:.0%}"]
        for name, ways in ((name, result["ways"]) for name, result in walks["workloads"].items()) if not DEPTH.match(name)])


def depths(walks, directory):
    lines = {}
    for way, words in WAYS.items():
        points = [(r["ways"][way]["frames"]["median"],
                   *(r["ways"][way]["ns"][k] for k in ("median", "low", "high")))
                  for name, r in walks["workloads"].items() if DEPTH.match(name) and name.endswith(", fp")]
        if points:
            lines[words.replace("`", "")] = points
    if lines:
        lines["expected: in proportion"] = pictures.like(lines["dwarf"], lambda n: n)
        pictures.draw(os.path.join(directory, "unwinding-depth.svg"), "frames", "ns per walk", lines)
        yield "![Time of a walk, over its depth](unwinding-depth.svg)\n"
        yield "Stacks of one program, at the same moments (`bench/walks.py`); *cold*: nothing is kept from other walks.\n"


def spread_of(runs, figure):
    return machine.spread(run[figure] for run in runs)


# Figures of whole profilers: what, its name in the results, its form.
WHOLE = (("Stacks that reach their root", "rooted", "{:.1%}"), ("BPF program, ns per sample", "bpf_ns", "{:,.0f}"),
         ("CPU of the profiler", "cpu_share", "{:.2%}"))
# What the summary shows: the figures that begin so; of profilers at 99 Hz, head of the column, profiler, figure, form.
CITED = ("a walk by tables, warm", "bytes per sample that come out", "CPU of the profiler")
SUMMARY = (("dwarfprof", verdicts.OURS, "rooted", "{:.1%}"), ("`--unwind fp`", "dwarfprof --unwind fp", "rooted", "{:.1%}"),
           ("`perf -g`", "perf record -g", "rooted", "{:.1%}"),
           ("`perf --call-graph dwarf`", verdicts.PERF_DWARF, "rooted", "{:.1%}"),
           ("dwarfprof, ns per sample", verdicts.OURS, "bpf_ns", "{:,.0f}"))


def profiled(programs):
    yield f"""## Profilers as a whole

    sudo bench/programs.py build bench/results

Each samples the workload, which has a CPU of its own, for {programs['seconds']} s from the other CPU, at 99 Hz unless
stated, and writes a text with names. `auto` to `copy` are dwarfprof's `--unwind`. A root is `_start`,
`__libc_start_main` or a thread's start, by the profiler's own names. A profiler that takes over a minute for
the text has no samples here.
"""
    runs = [(f"{name}, {int(hz):,} Hz" if int(hz) != 99 else name, profilers)
            for name, rates in programs["workloads"].items() for hz, profilers in rates.items()]
    names = list(runs[0][1])
    for what, figure, form in WHOLE:
        # Stacks have the same roots at any rate.
        shown_runs = [run for run in runs if figure != "rooted" or not run[0].endswith(" Hz")]
        spreads = [[spread_of((run for run in profilers.get(who, []) if run["samples"]), figure) for who in names]
                   for _, profilers in shown_runs]
        shown = [n for n in range(len(names)) if any(row[n] for row in spreads)]
        yield f"{what}:\n"
        yield from table(["workload", *(names[n].removeprefix("dwarfprof --unwind ").replace(" record", "") for n in shown)], [
            [name, *(form.format(row[n]["median"]) if row[n] else "" for n in shown)]
            for (name, _), row in zip(shown_runs, spreads)])


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


def grown(growing, directory):
    yield """## How it grows

    sudo bench/growing.py build bench/results

Only an address that the walker does not remember takes a binary search among the process's mappings.
"""
    points = {kind: [(m["mappings"], *(m[f"{kind}_ns"][k] for k in ("median", "low", "high")))
                     for m in growing["mappings"]] for kind in ("warm", "cold")}
    points["expected: the logarithm"] = pictures.like(points["cold"], lambda n: math.log2(n) + 8)
    pictures.draw(os.path.join(directory, "unwinding-mappings.svg"), "mappings", "ns per walk", points)
    yield "![Time of a walk, over the mappings of its process](unwinding-mappings.svg)\n"
    rows = growing["rows"]
    search = [(r["rows"], r["search_ns"]) for r in rows["search"]]
    making = [(r["rows"], r["ns_per_row"]) for r in rows["making"]]
    size = [(r["rows"], r["image_bytes"] / r["rows"]) for r in rows["making"]]
    pictures.draw(os.path.join(directory, "unwinding-rows.svg"), "rows of a table", "", {
        "search, ns": search, "making, ns per row": making, "bytes per row": size,
        "expected: the logarithm": pictures.like(search, lambda n: math.log2(n))})
    yield "![A search, making and memory per row, over the rows of a table](unwinding-rows.svg)\n"
    pictures.draw(os.path.join(directory, "unwinding-processes.svg"), "processes", "", {
        "until it samples, ms": [(p["processes"], p["ready_ms"]) for p in growing["processes"]],
        "memory, MiB": [(p["processes"], p["memory_kib"] / 1024) for p in growing["processes"]],
        "BPF program, ns": [(p["processes"], p["bpf_ns"]) for p in growing["processes"]],
        "expected of the BPF program: constant":
            [(p["processes"], growing["processes"][0]["bpf_ns"]) for p in growing["processes"]]})
    yield "![Start, memory and cost of a sample, over the processes](unwinding-processes.svg)\n"


def page(walks, programs, growing, rate, directory):
    yield from intro((rate, walks, programs, growing))
    yield "## Targets\n"
    yield from wanted_at_99(rate) if rate else ["The rates that people use were not measured.\n"]
    yield from wanted_of_all(walks, programs)
    yield from rated(rate) if rate else []
    yield from walked(walks) if walks else ["The walks were not measured.\n"]
    yield from [*profiled(programs), *priced(programs)] if programs else ["The profilers were not measured.\n"]
    yield from grown(growing, directory) if growing else ["The growth was not measured.\n"]
    yield from depths(walks, directory) if walks else []
    if walks and programs and growing:
        yield from large_host.section(programs, growing, table)


def summary(walks, programs, rate):
    """What BENCHMARKS.md shows: which targets are missed, the figures that are cited, and whole profilers."""
    targets = (verdicts.of_rates(rate) if rate else []) + verdicts.of_others(walks, programs)
    missed = [t for t in targets if t.verdict() != "met"]
    yield f"\n{len(targets) - len(missed)} of {len(targets)} targets are met. Those that are not, and figures cited elsewhere:\n"
    yield from table(["figure", "wanted", "measured", "verdict"],
                     [[t.what, *cells(t)] for t in targets if t in missed or t.what.startswith(CITED)])
    if programs:
        yield "Stacks that reach their root at 99 Hz, and time of dwarfprof's BPF program:\n"
        yield from table(["workload", *(head for head, *_ in SUMMARY)], [
            [name, *(summarized(rates["99"].get(who, []), figure, form) for _, who, figure, form in SUMMARY)]
            for name, rates in programs["workloads"].items()])
    machines = [r["machine"] for r in (rate, walks, programs) if r]
    oldest = min(machines, key=lambda m: m["time"])
    is_all = all(m["commit"] == oldest["commit"] for m in machines)
    yield f"{'Of' if is_all else 'Oldest:'} commit {oldest['commit']}, {oldest['time'][:10]}.\n"


def summarized(runs, figure, form):
    spread = spread_of((run for run in runs if run["samples"]), figure)
    return form.format(spread["median"]) if spread else ""


def write(path, lines):
    with open(path, "w") as file:
        file.write("\n".join(lines).rstrip("\n") + "\n")


def make(directory, out, summary_page=None):
    walks, programs, growing, rate = results = [machine.read(directory, name)
                                                for name in ("walks", "programs", "growing", "rate")]
    if not any(results):
        sys.exit(f"{directory}: no results; `sudo ci/bench` makes them")
    write(os.path.join(out, "unwinding.md"), page(*results, out))
    if summary_page:
        figures.write(summary_page, "ci/bench", "\n".join(summary(walks, programs, rate)))


if __name__ == "__main__":
    make(*sys.argv[1:])
