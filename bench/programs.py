#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profilers as whole programs, alternately on the same workloads: their costs and results.

usage: bench/programs.py BUILD RESULTS [-s SECONDS] [-n TIMES] [-p PAIRS]

dwarfprof in its modes, `perf record` in two, and bpftrace. Each attaches to the workload, samples
it for SECONDS (2) and makes a result with names. All run in turn, TIMES (3) times: at 99, 999 and
4,999 Hz with a program whose progress is known, to see how much it slows down, and at 99 Hz with
real ones. A slowdown below one percent needs more runs: dwarfprof's is measured PAIRS (20) more
times at 99 and 999 Hz, a second with it between two without. Then, without a profiler, the speed of
the same sources with and without frame pointers, and, as often, the time until the first sample.
RESULTS/programs.json gets every run. Needs root.
"""
import argparse
import itertools
import os
import sys
import tempfile
import time

import machine
import profilers
import workloads

STATS = "/proc/sys/kernel/bpf_stats_enabled"
RATES = (99, 999, 4999)
KNOWN = "depth 20, nofp"


def set_stats(value):
    with open(STATS) as file:
        before = file.read()
    with open(STATS, "w") as file:
        file.write(value)
    return before


def run(make, workload, directory, hz, seconds, settle=1):
    """Measures one profiler on one workload, once, after it has started up."""
    has_rate = hasattr(workload, "rate")
    before = workload.rate(seconds / 2) if has_rate else None
    profiler = make(directory, hz)
    profiler.start(workload.pid)
    time.sleep(settle)
    pid, start = profiler.process.pid, time.monotonic_ns()
    cpu = profilers.cpu_ns(pid)
    if has_rate:
        during = workload.rate(seconds)
    else:
        time.sleep(seconds)
    cpu = profilers.cpu_ns(pid) - cpu
    elapsed = time.monotonic_ns() - start
    bpf_ns, _ = profilers.program_ns(pid)
    to_result = profiler.stop()
    after = workload.rate(seconds / 2) if has_rate else None
    stacks = list(profiler.result()) if to_result is not None else []
    with_stack = [s for s in stacks if s[1]]
    times = [s[0] for s in stacks if s[0] is not None]
    return {
        "samples": len(stacks),
        "frames": sum(len(s[1]) for s in stacks) / max(1, len(with_stack)),
        "rooted": sum(profilers.is_rooted(s[1]) for s in stacks) / max(1, len(stacks)),
        "proven": sum(bool(s[2]) for s in stacks) / max(1, len(stacks)) if any(
            s[2] is not None for s in stacks) else None,
        "cpu_share": cpu / elapsed,
        "bpf_ns": bpf_ns / (profiler.called or len(stacks)) if bpf_ns and stacks else None,
        "ring_bytes_per_sample": profiler.ring_bytes() / len(stacks) if stacks else None,
        "recorded_bytes_per_sample": profiler.recorded_bytes / len(stacks) if stacks else None,
        "first_sample_ms": (min(times) - profiler.started) / 1e6 if times else None,
        "result_ms": to_result / 1e6 if to_result is not None else None,
        "slowdown": 1 - during / ((before + after) / 2) if has_rate else None,
    }


def measure(build, starts, rates, times, seconds):
    """{workload: {rate: {profiler: [run, ...]}}}"""
    makers = profilers.all_profilers(build)
    results = {}
    for name, start in starts.items():
        try:
            with start() as workload, tempfile.TemporaryDirectory() as directory:
                results[name] = {}
                for hz in rates:
                    runs = results[name][str(hz)] = {profiler: [] for profiler in makers}
                    for _, (profiler, make) in itertools.product(range(times), makers.items()):
                        runs[profiler].append(run(make, workload, directory, hz, seconds))
                    for profiler, of in runs.items():
                        last = of[-1]
                        print(f"{name}, {hz} Hz, {profiler}: {last['samples']} samples, "
                              f"{last['rooted']:.0%} rooted, CPU {last['cpu_share']:.2%}", flush=True)
        except workloads.Missing as missing:
            print(f"{name}: {missing} is not installed", file=sys.stderr)
    return results


def slowdowns(build, start, hz, times, seconds, settle=0.3):
    """The slowdown of a program sampled by dwarfprof, relative to before and after, of each run."""
    results = []
    with start() as workload, tempfile.TemporaryDirectory() as directory:
        before = workload.rate(seconds)
        for _ in range(times):
            profiler = profilers.Dwarfprof(build, "auto", directory, hz)
            profiler.start(workload.pid)
            time.sleep(settle)
            during = workload.rate(seconds)
            profiler.stop()
            time.sleep(settle)
            after = workload.rate(seconds)
            results.append(1 - during / ((before + after) / 2))
            before = after
    return results


def prices(build, directory, times, seconds):
    """{mode: {with or without frame pointers: [progress per second, ...]}}, alternately, not
    profiled."""
    results = {}
    for mode in ("chain", 14), ("hot",), ("flat",), ("words",):
        of = results[" ".join(map(str, mode))] = {"fp": [], "nofp": []}
        for _, (kind, rates) in itertools.product(range(times), of.items()):
            with workloads.Target(build, directory, kind, *mode) as target:
                rates.append(target.rate(seconds))
    return results


def cold_starts(build, start, times):
    """Milliseconds from dwarfprof's start to its first sample of a process, without cached
    tables."""
    firsts = []
    with start() as workload, tempfile.TemporaryDirectory() as directory:
        for _ in range(times):
            profiler = profilers.Dwarfprof(build, "auto", directory, 4999)
            profiler.start(workload.pid)
            time.sleep(0.3)
            profiler.stop()
            firsts.append((min(s[0] for s in profiler.result()) - profiler.started) / 1e6)
    return firsts


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("build")
    parser.add_argument("results")
    parser.add_argument("-s", dest="seconds", type=float, default=2)
    parser.add_argument("-n", dest="times", type=int, default=3)
    parser.add_argument("-p", dest="pairs", type=int, default=20)
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    os.sched_setaffinity(0, {workloads.PROFILER_CPU})
    before = set_stats("1")
    try:
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            made, real = workloads.made(build, directory), workloads.real(build, directory)
            results = measure(build, {KNOWN: made[KNOWN]}, RATES, args.times, args.seconds)
            results.update(measure(build, real, RATES[:1], 1, args.seconds))
            price = prices(build, directory, 3 * args.times, args.seconds / 2)
            slower = {str(hz): slowdowns(build, made[KNOWN], hz, args.pairs, args.seconds / 2)
                      for hz in RATES[:2]}
            firsts = cold_starts(build, real["python3"], args.pairs)
    finally:
        set_stats(before.strip())
    machine.write(args.results, "programs", seconds=args.seconds, times=args.times,
                  known=KNOWN, price=price, slowdown=slower, workloads=results, cold_start_ms=firsts)


if __name__ == "__main__":
    main()
