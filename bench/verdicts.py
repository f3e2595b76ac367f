# SPDX-License-Identifier: Apache-2.0
"""Targets for the walker and the profiler, and whether the results meet them.

What was not measured, wholly or of one of the programs, is neither met nor missed.
"""
import statistics

import machine

REAL = ("python3", "gcc", "openssl", "postgres", "node")
RATED = ("g++", *REAL, "nginx", "C++ server, fp", "C++ server, nofp")
# Of the other profilers in rate.json; sid's bpftrace does not follow new processes.
SID = "bpftrace, dw_ustack"
UNWINDERS = (SID, "profile-bee", "lightswitch")
OURS = "dwarfprof --unwind auto"
# What the walk of a sample of gcc (21 frames), which followed another one, touched when that was first counted.
FIRST_TOUCHED = {"lines": 282.5, "pages": 28}
PERF_DWARF = "perf record --call-graph dwarf"


class Target:
    """A figure and its limit; `values` are those of all runs, or their spread. `beside` is shown with it."""

    def __init__(self, what, limit, values, form, at_least=False, idea="", beside=()):
        self.what, self.limit, self.form, self.beside = what, limit, form, beside
        self.at_least, self.idea = at_least, idea
        self.spread = values if isinstance(values, dict) else machine.spread(values)

    def is_good(self, value):
        return value >= self.limit if self.at_least else value <= self.limit

    def verdict(self):
        if self.spread is None:
            return "not measured"
        word = "met" if self.is_good(self.spread["median"]) else "missed"
        if self.is_good(self.spread["low"]) != self.is_good(self.spread["high"]):
            word += ", but the quartiles lie on both sides"
        return word

    def show(self, value):
        return self.form.format(value)


def column(programs, workload, hz, profiler, figure):
    runs = programs["workloads"].get(workload, {}).get(str(hz), {}).get(profiler, [])
    return [run[figure] for run in runs if run[figure] is not None]


def of_rate(rate, workload, method, figure, hz=99):
    """The spread of a figure; None if it was not measured."""
    methods = rate["workloads"].get(workload, {}).get(str(hz), {}) if rate else {}
    return methods.get(method, {}).get(figure)


def worst(rate):
    """The program with the highest multiple of the kernel's walk; None unless all were measured."""
    spreads = {name: of_rate(rate, name, "ours", "to_kernel") for name in RATED}
    return max(RATED, key=lambda name: spreads[name]["median"]) if all(spreads.values()) else None


def words_of(figures):
    """What a method has found: frames of the user + the kernel, share of complete stacks."""
    user, kernel, complete = (figures.get(name) for name in ("user_frames", "kernel_frames", "complete"))
    return f"{user:.0f} + {kernel:.0f}, {complete:.0%}" if user else ""


def found(rate, workload, method):
    return words_of(rate["workloads"].get(workload, {}).get("99", {}).get(method, {})) if rate else ""


def times_kernel(rate, workload, limit, what):
    """A sample at 99 Hz as a multiple of the kernel's walk, and what both have found for it."""
    def shown(per):
        spread = of_rate(rate, workload, "ours", f"to_kernel_per_{per}")
        return f"{spread['median']:.2f}" if spread else ""

    return Target(f"times the kernel's walk by frame pointers: {what}", limit,
                  of_rate(rate, workload, "ours", "to_kernel") or [], "{:.2f}", idea="fewer lines and pages touched",
                  beside=(found(rate, workload, "ours"), found(rate, workload, "both"), shown("frame"), shown("complete")))


def fastest(rate, workload, limit):
    """The other unwinder that takes the least time, and ours as a multiple of it. None if one was not measured that
    follows new processes, and could be the one by which the target is missed."""
    spreads = of_rate(rate, workload, "ours", "to_peers") or {}
    others = {name: spread for name, spread in spreads.items() if name in UNWINDERS and spread}
    name = max(others, key=lambda other: others[other]["median"], default=None)
    are_all = all(name in others for name in UNWINDERS if name != SID)
    return (name, others[name]) if are_all or (name and others[name]["median"] > limit) else (None, [])


def times_fastest(rate, workload, limit):
    name, spread = fastest(rate, workload, limit)
    return Target(f"times the fastest other unwinder{f' ({name})' if name else ''}, {workload}", limit,
                  spread, "{:.2f}", idea="fewer lines and pages touched",
                  beside=(found(rate, workload, "ours"), found(rate, workload, name), "", ""))


def touched(rate, what):
    """Lines or pages, and half of what they were at first."""
    rows = [row for row in rate["touched"] if row["recording"] == "gcc.txt" and row["state"] == "next" and
            row["touched"] == "all"] if rate else []
    return Target(f"{what} that the walk of a sample touches, gcc", FIRST_TOUCHED[what] / 2, [row[what] for row in rows],
                  "{:.0f}", idea="rules beside the addresses; one read of the stack", beside=("", "", "", ""))


def of_rates(rate):
    """At 99 Hz, without the empty program's time if not stated otherwise."""
    name = worst(rate)
    return [
        times_kernel(rate, "postgres", 1.0, "postgres"),
        times_kernel(rate, "g++", 1.5, "g++"),
        times_kernel(rate, name, 1.5, f"the worst program{f', {name}' if name else ''}"),
        Target("one frame and no kernel stack, g++, with the empty program", 6000,
               of_rate(rate, "g++", "ours fp -U", "ns") or [], "{:,.0f} ns", idea="fewer maps, one read of the stack",
               beside=(found(rate, "g++", "ours fp -U"), "", "", "")),
        times_fastest(rate, "g++", 0.4), times_fastest(rate, "python3", 0.3), times_fastest(rate, "node", 0.6),
        touched(rate, "lines"), touched(rate, "pages"),
    ]


def mix_ratio(walks):
    """Total walk time for real programs, relative to the kernel's; [] unless all were measured. JIT
    code has frame pointers, which `auto` follows: without, its stacks would count as cheap."""
    if not all(name in walks["workloads"] for name in REAL):
        return []
    real = [walks["workloads"][name]["ways"] for name in REAL]
    return [sum(w["auto"]["ns"]["median"] for w in real) / sum(w["kernel"]["ns"]["median"] for w in real)]


def of_walks(walks):
    ways = walks["workloads"].get("depth 60, fp", {}).get("ways")
    deep = {way: ways[way]["to_kernel"] if ways else [] for way in ("dwarf", "cold")}
    return [
        Target("a walk by tables, warm, as a multiple of the kernel's by frame pointers, 60 frames", 0.4,
               deep["dwarf"], "{:.2f}", idea="fewer reads of the stack"),
        Target("the same with `--unwind auto`, real programs taken together", 1.0, mix_ratio(walks), "{:.2f}",
               idea="more addresses remembered; the kernel's walk of code without frame pointers ends after few frames"),
        Target("a walk by tables, cold, as a multiple of the kernel's, 60 frames", 3, deep["cold"], "{:.2f}",
               idea="fewer calls: on some CPUs each return from a function takes as long as a frame"),
    ]


def profiled(programs):
    """Workloads that a verdict about all of them needs."""
    return (programs["known"], *REAL)


def whole(programs, workload, profiler, figure):
    """A figure of all runs at 99 Hz; [] if a run lacks it."""
    runs = programs["workloads"].get(workload, {}).get("99", {}).get(profiler, [])
    found = column(programs, workload, 99, profiler, figure)
    return found if len(found) == len(runs) else []


def both(programs, figure):
    """Medians of a figure for dwarfprof and perf, by workload; None: a run lacks it, or there is no
    run."""
    for name in profiled(programs):
        runs = [whole(programs, name, who, figure) for who in (OURS, PERF_DWARF)]
        yield tuple(map(statistics.median, runs)) if all(runs) else None


def bytes_ratio(programs, what):
    """Bytes relative to perf's copies, by workload. [] unless all were measured."""
    pairs = list(both(programs, what))
    return [theirs / ours for ours, theirs in pairs] if all(pair and pair[0] for pair in pairs) else []


def more_complete(programs):
    """The increase in the share of stacks that reach their root, by workload; [] likewise."""
    pairs = list(both(programs, "rooted"))
    return [ours - theirs for ours, theirs in pairs] if all(pairs) else []


def most_cpu(programs):
    """The maximum of each workload's runs; [] likewise."""
    runs = [whole(programs, name, OURS, "cpu_share") for name in profiled(programs)]
    return list(map(max, runs)) if all(runs) else []


def of_programs(programs):
    known = programs["known"]
    return [
        Target("all that the BPF program does for a sample of 21 frames", 3000,
               column(programs, known, 999, OURS, "bpf_ns"), "{:,.0f} ns",
               idea="the copy into the ring: reserve it, and walk in place"),
        Target("slowdown of the program at 99 Hz", 0.005, programs["slowdown"]["99"], "{:.2%}",
               idea="as for the sample's cost"),
        Target("slowdown of the program at 999 Hz", 0.02, programs["slowdown"]["999"], "{:.2%}",
               idea="as for the sample's cost"),
        Target("slowdown at 999 Hz, by the time in the BPF program alone", 0.02,
               [ns * 999 / 1e9 for ns in column(programs, known, 999, OURS, "bpf_ns")], "{:.2%}",
               idea="as for the sample's cost"),
        Target("bytes per sample that perf --call-graph dwarf records, as a multiple of a .dwarfprof file's", 50,
               bytes_ratio(programs, "recorded_bytes_per_sample"), "{:.0f}", at_least=True,
               idea="frames as differences from the sample before"),
        Target("bytes per sample that come out of the kernel, perf's as a multiple of ours", 50,
               bytes_ratio(programs, "ring_bytes_per_sample"), "{:.0f}", at_least=True,
               idea="frames as differences from the one before"),
        Target("share of stacks that reach their root, over perf --call-graph dwarf's", 0, more_complete(programs),
               "{:+.1%}", at_least=True, idea="see the outcomes in ACCURACY.md"),
        Target("CPU of the profiler at 99 Hz, for a busy process", 0.0005, most_cpu(programs), "{:.2%}",
               idea="wake up less often"),
        Target("first sample of python3 after the start, no table known", 50, programs["cold_start_ms"],
               "{:.0f} ms", idea="less that the verifier has to look at"),
    ]


def of_others(walks, programs):
    """None: nothing of it was measured."""
    return (of_walks(walks or {"workloads": {}}) +
            of_programs(programs or {"known": None, "workloads": {}, "slowdown": {"99": [], "999": []}, "cold_start_ms": []}))
