#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Walks the same stacks in all ways at the same moments: time and result of each.

usage: bench/walks.py BUILD RESULTS [-s SECONDS] [WORKLOAD...]

For each workload runs a dwarfprof, for its tables, and bench_walks, which samples the workload 999
times a second for SECONDS (4) and walks each stack by bpf_get_stack() and by the walker in its
modes, in another order each time. RESULTS/walks.json gets medians and quartiles of each way's time
and result, and of its ratio to bpf_get_stack() at the same moment. Needs root.
"""
import argparse
import collections
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import machine
import workloads

HZ = "999"
OURS = ("fp", "dwarf", "auto", "apart", "cold")
WAYS = ("kernel", *OURS)


def read_samples(text):
    """[{way: (turn, ns, frames, outcome, root)}]"""
    samples = collections.defaultdict(dict)
    for line in text.splitlines()[1:]:
        number, way, turn, ns, frames, outcome, root = line.split("\t")
        samples[number][way] = (int(turn), int(ns), int(frames), outcome, root)
    return list(samples.values())


def summarize(samples):
    """Each way's time less that of reading the clock, its result, and its ratio to the kernel's."""
    clock = statistics.median(s["empty"][1] for s in samples)
    # The root of a complete walk by tables is known.
    roots = [s["cold"][4] if s["cold"][3] == "complete" else None for s in samples]
    result = {"samples": len(samples), "clock_ns": clock, "ways": {}}
    for way in WAYS:
        ns = [max(s[way][1] - clock, 1) for s in samples]
        frames = [s[way][2] for s in samples]
        result["ways"][way] = {
            "ns": machine.spread(ns),
            "first_ns": machine.spread(n for n, s in zip(ns, samples) if s[way][0] == 0),
            "ns_per_frame": machine.spread(n / f for n, f in zip(ns, frames) if f),
            "to_kernel": machine.spread(n / max(s["kernel"][1] - clock, 1)
                                        for n, s in zip(ns, samples)),
            "frames": machine.spread(frames),
            "of_frames": sum(frames) / max(1, sum(s["cold"][2] for s in samples)),
            "complete": sum(root is not None and s[way][4] == root
                            for root, s in zip(roots, samples)) / len(samples),
            "outcomes": dict(collections.Counter(s[way][3] for s in samples)),
        }
    return result


def of_samples(build, workload, hz, seconds, *options):
    """What bench_walks writes of a workload."""
    with workloads.on_cpu(workloads.PROFILER_CPU):
        profiler = subprocess.Popen([f"{build}/cli/dwarfprof", "-p", str(workload.pid), "-F", "49",
                                     "-o", "/dev/null", "--format", "folded", "--no-symbols"],
                                    stderr=subprocess.PIPE, text=True)
        try:
            for line in profiler.stderr:
                if " sampling " in line:
                    break
            time.sleep(0.5)  # for the tables of new processes
            out = subprocess.run([f"{build}/bench/bench_walks", str(profiler.pid),
                                  str(workloads.TARGET_CPU), hz, str(seconds), *options],
                                 capture_output=True, text=True)
        finally:
            profiler.send_signal(signal.SIGINT)
            profiler.communicate()
    if out.returncode:
        sys.exit(out.stderr[-2000:])
    return out.stdout


def measure(build, workload, seconds):
    """None if nothing was sampled."""
    samples = read_samples(of_samples(build, workload, HZ, seconds))
    return summarize(samples) if samples else None


def measure_again(build, workload, seconds, times=3):
    """Repeats, because a program that is restarted in a loop may not have run at the right time."""
    for _ in range(times):
        result = measure(build, workload, seconds)
        if result:
            return result
    return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("build")
    parser.add_argument("results")
    parser.add_argument("-s", dest="seconds", type=int, default=4)
    parser.add_argument("workloads", nargs="*")
    args = parser.parse_intermixed_args()
    build = os.path.abspath(args.build)
    results = {}
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        for name, start in {**workloads.made(build, directory), **workloads.real(build, directory)}.items():
            if args.workloads and name not in args.workloads:
                continue
            try:
                with start() as workload:
                    result = measure_again(build, workload, args.seconds)
            except workloads.Missing as missing:
                print(f"{name}: {missing} is not installed", file=sys.stderr)
                continue
            if result is None:
                print(f"{name}: no sample", file=sys.stderr)
                continue
            results[name] = result
            ways = result["ways"]
            print(f"{name}: {result['samples']} samples,",
                  ", ".join(f"{w} {ways[w]['ns']['median']:.0f} ns for {ways[w]['frames']['median']:.0f}"
                            for w in WAYS), flush=True)
    machine.write(args.results, "walks", hz=int(HZ), seconds=args.seconds, workloads=results)


if __name__ == "__main__":
    main()
