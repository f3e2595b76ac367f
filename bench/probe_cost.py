#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What probes cost, as tables. Needs root and bpftool.

usage: bench/probe_cost.py BUILD RESULTS [--rounds N] [--turns N] [--judge] [--write]

Per hit: CPU time of a call above that of one without a probe, and the time of the BPF program within it, as the
kernel measures it (kernel.bpf_stats_enabled); the rest is the kernel's uprobe. Per sample: time of the sampling
program with a call's values and without, by turns, at two rates. A run has N (10) rounds of 200 ms, and there are N
(25) turns. --judge: exit 1 if a label makes a sample cost more than LIMITS, by the median of the turns, or if too few
samples were taken to tell. RESULTS/probe_cost.json gets all of it; with --write, docs/BENCHMARKS.md the tables.
"""
import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys

import machine

STATS = "/proc/sys/kernel/bpf_stats_enabled"
PERIOD_NS = 10000000  # of a call while samples are taken
ROUND = 0.2  # seconds
TEXT = "text=arg3:str"  # of 32 bytes
VALUES = ("", "x=arg1:u64", "a=arg1:u64, b=arg2:u64, c=arg1:u32, d=arg2:u16", TEXT)
COLUMNS = ("no value", "1", "4", "32 bytes")
# The most nanoseconds that a label adds to a sample, by the samples per second
LIMITS = {99: 500, 999: 120}
MIN_SAMPLES = 0.8  # of the rate

PAGE, COMMAND = os.path.join(machine.figures.ROOT, "docs/BENCHMARKS.md"), "bench/probe_cost.py"


@contextlib.contextmanager
def stats():
    with open(STATS) as file:
        before = file.read()
    with open(STATS, "w") as file:
        file.write("1")
    try:
        yield
    finally:
        with open(STATS, "w") as file:
            file.write(before)


def spent(name):
    """Nanoseconds and runs of a program."""
    for _ in range(100):
        # It fails if a program goes while it lists all of them: those of the profiler before it are freed late.
        shown = subprocess.run(["bpftool", "-j", "prog", "show", "name", name], capture_output=True, text=True)
        if shown.returncode == 0 and shown.stdout.strip():
            break
    else:
        sys.exit(f"bpftool does not find {name}: {shown.stderr}")
    programs = json.loads(shown.stdout)
    programs = programs if isinstance(programs, list) else [programs]
    return sum(p.get("run_time_ns", 0) for p in programs), sum(p.get("run_cnt", 0) for p in programs)


class Bench:
    def __init__(self, build, rounds):
        self.dwarfprof, self.probed, self.rounds = f"{build}/cli/dwarfprof", f"{build}/bench/probed", rounds

    def profile(self, pid, options):
        profiler = subprocess.Popen([self.dwarfprof, "-p", str(pid), *options, "--no-symbols", "--format", "folded", "-o", "/dev/null"],
                                    stderr=subprocess.PIPE, text=True)
        for line in profiler.stderr:
            if "sampling" in line:
                return profiler
        return sys.exit("dwarfprof did not start")

    def run(self, options, period_ns, program):
        """CPU nanoseconds per call; and of a program, or of several together, nanoseconds per run, and runs."""
        probed = subprocess.Popen([self.probed, str(period_ns), str(self.rounds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        profiler = self.profile(probed.pid, options) if options else None
        probed.stdin.write("\n")
        probed.stdin.flush()
        calls = [tuple(map(int, probed.stdout.readline().split())) for _ in range(self.rounds)]
        each = [spent(name) for name in program.split()] if profiler else []
        if profiler:
            profiler.send_signal(signal.SIGINT)
            profiler.communicate()
        probed.communicate()
        return statistics.median(cpu / n for n, cpu in calls), sum(ns / runs for ns, runs in each if runs), sum(runs for _, runs in each)

    def hits(self):
        """(probe, values, ns of a call above one without, ns of these in BPF)"""
        bare = self.run([], 0, "")[0]
        kinds = [("`--probe label:`", values, ["--probe", f"label:{self.probed}:probed({values})"], "dp_begin_span") for values in VALUES if values]
        kinds += [("`--probe span:`", values, ["--probe", f"span:{self.probed}:probed{values and f'({values})'} min=1s"],
                   "dp_begin_span dp_end_span") for values in VALUES]
        kinds += [("`-e uprobe:`", values, ["-e", f"uprobe:{self.probed}:probed{values and f'({values})'}"], "dp_sample_uprobe")
                  for values in VALUES]
        for probe, values, options, program in kinds:
            rate = [] if options[0] == "-e" else ["-F", "1"]
            call, own, _ = self.run([*rate, *options], 0, program)
            yield probe, values, call - bare, own

    def samples(self, rate, turns):
        """What a sample costs without a label, what it costs more with one, and the fewest samples, of each turn."""
        plain = ["-F", str(rate)]
        label = [*plain, "--probe", f"label:{self.probed}:probed({TEXT})"]
        # By turns, as the machine's other work changes
        pairs = [(self.run(plain, PERIOD_NS, "dp_sample_cpu"), self.run(label, PERIOD_NS, "dp_sample_cpu")) for _ in range(turns)]
        return {"without": [a[1] for a, _ in pairs], "more": [b[1] - a[1] for a, b in pairs], "samples": [min(a[2], b[2]) for a, b in pairs]}


def judge(samples, rounds):
    """What is too much. samples: as Bench.samples() has them, by rate."""
    for rate, found in samples.items():
        more = statistics.median(found["more"])
        if more > LIMITS[rate]:
            yield f"{rate} Hz: a label makes a sample {more:.0f} ns longer, allowed are {LIMITS[rate]}"
        if min(found["samples"]) < MIN_SAMPLES * rate * rounds * ROUND:
            yield f"{rate} Hz: only {min(found['samples'])} samples were taken"


def table_of_hits(hits):
    """A column for each of VALUES. The uprobe itself is what is left of a hit's time without that of our program."""
    rows = []
    for kind in dict.fromkeys(probe for probe, *_ in hits):
        found = {values: f"{call:,.0f} ({own:,.0f})" for probe, values, call, own in hits if probe == kind}
        rows.append([kind, *(found.get(values, "") for values in VALUES)])
    itself = {values: f"{call - own:,.0f}" for _, values, call, own in hits}
    rows.append(["the uprobe itself", *(itself[values] for values in VALUES)])
    return machine.figures.table(["ns per hit (of these, BPF)", *COLUMNS], rows)


def table_of_samples(samples):
    rows = []
    for rate, found in samples.items():
        more = sorted(found["more"])
        rows.append([rate, f"{statistics.median(found['without']):,.0f}", f"{statistics.median(more):+,.0f} ({more[0]:+,.0f} to {more[-1]:+,.0f})",
                     f"≤ {LIMITS[rate]}"])
    return machine.figures.table(["samples a second", "ns per sample", "more with a label", "wanted"], rows)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("results")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    bench = Bench(args.build, args.rounds)
    with stats():
        hits = list(bench.hits())
        print(table_of_hits(hits), flush=True)
        samples = {rate: bench.samples(rate, args.turns) for rate in LIMITS}
    print(table_of_samples(samples), flush=True)
    machine.write(args.results, "probe_cost", rounds=args.rounds, hits=hits, samples=samples)
    if args.write:
        machine.figures.write(PAGE, COMMAND, f"\n{table_of_hits(hits)}\n{table_of_samples(samples)}\n{machine.figures.origin()}")
    wrong = list(judge(samples, args.rounds)) if args.judge else []
    for what in wrong:
        print("wrong:", what)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
