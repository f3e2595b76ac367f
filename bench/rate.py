#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sample costs at the rates that people use, when nothing is in the caches.

usage: bench/rate.py BUILD RESULTS [-s SECONDS] [-n TURNS] [--quick] [WORKLOAD...]

Samples each workload's CPU by turns: by an empty program, one that only sends, the kernel's own
walks of the user's stack and of both, dwarfprof as a whole and by its parts, and other profilers
that are there (bench/peers.py). Each turn measures SECONDS (1) at 99 Hz, longer below, a second
after sampling has begun, and there are TURNS (5); at other rates half as many. --quick: one short
turn for few workloads. The time is that in the whole BPF programs (kernel.bpf_stats_enabled),
divided by the samples that were counted meanwhile; only ratios are without the empty program's. A
run that took no sample, on an idle CPU or another one, is taken to have cost as much as the empty
program. RESULTS/rate.json gets medians and quartiles, frames found, and the lines and pages that a
walk touches (bench_touches). Needs root.
"""
import argparse
import collections
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import machine
import peers
import profilers
import programs
import workloads

HERE = os.path.dirname(os.path.abspath(__file__))

MAIN = 99
RATES = (19, 49, MAIN, 999)
KERNEL = ("empty", "send", "user", "both")
OURS = {"ours": (), "ours -U": ("-U",), "ours fp": ("--unwind", "fp"), "ours fp -U": ("--unwind", "fp", "-U")}
# What is measured at each rate; at 99 Hz everything is.
ALWAYS = ("empty", "both", "ours")
# Programs whose processes run on; others start new ones all the time.
LASTING = ("postgres", "node", "nginx", "C++ server, fp", "C++ server, nofp")
QUICK = ("g++", "C++ server, nofp")
# Seconds after which tables and maps are in place.
SETTLE = 1
# Libraries are loaded elsewhere each time, but their pages are not moved.
PAGE = 4096

# Time and runs of programs, runs before, and the beginning and end by CLOCK_MONOTONIC.
Watched = collections.namedtuple("Watched", "ns runs runs_before start end")


def look(pid):
    """When it is, by CLOCK_MONOTONIC, and what a profiler's programs have done up to now."""
    for _ in range(100):
        start, done = time.monotonic_ns(), profilers.program_ns(pid)
        if time.monotonic_ns() - start < 5_000_000:  # else it has waited for the CPU: no sample should come in between
            break
    return start, *done


def watch(process, seconds):
    """Waits until a profiler samples, lets it settle, and sees what its programs do from then on."""
    end = time.monotonic() + profilers.PATIENCE
    while profilers.program_ns(process.pid)[1] == 0 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(SETTLE)
    start, ns_before, runs_before = look(process.pid)
    time.sleep(seconds)
    end, ns, runs = look(process.pid)
    return Watched(ns - ns_before, runs - runs_before, runs_before, start, end)


def by_kernel(build, method, hz, seconds):
    with workloads.on_cpu(workloads.PROFILER_CPU):
        out = subprocess.run([f"{build}/bench/bench_rate", method, str(workloads.TARGET_CPU), str(hz), str(SETTLE), str(seconds)],
                             capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stderr[-2000:])
    (ns, runs, n), *stacks = ([int(n, 0) for n in line.split("\t")] for line in out.stdout.splitlines())
    return {"ns": ns, "runs": runs, "samples": runs if method == "empty" else n, "stacks": [(*stack, 1) for stack in stacks]}


def read_ours(path, start, end):
    """The samples' stacks of a time, and the roots of the complete ones."""
    stacks, roots = [], set()
    with open(path) as file:
        for line in file:
            sample = json.loads(line)
            if not start <= sample["time_ns"] < end:
                continue
            user = [int(f["address"], 0) for f in sample["user_stack"]]
            stacks.append((len(user), len(sample.get("kernel_stack") or ()), user[-1] if user else 0, 1))
            if sample["outcome"] == "complete":
                roots.add(user[-1] % PAGE)
    return stacks, roots


def by_ours(build, options, hz, seconds, directory):
    log, output = os.path.join(directory, "log"), os.path.join(directory, "ours.jsonl")
    with workloads.on_cpu(workloads.PROFILER_CPU):
        process = profilers.start_logged(
            [f"{build}/cli/dwarfprof", "-a", "-C", str(workloads.TARGET_CPU), "-F", str(hz), *options,
             "--no-symbols", "--format", "jsonl", "-o", output], log)
    try:
        profilers.wait_for_sampling(process, log)
        watched = watch(process, seconds)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
    stacks, roots = read_ours(output, watched.start, watched.end)
    return {"ns": watched.ns, "runs": watched.runs, "samples": len(stacks), "stacks": stacks, "roots": roots}


def by_peer(make, pid, hz, seconds, directory):
    """It does not say when it took a sample: as many runs were samples before as in the measured time."""
    profiler = make(directory, hz)
    profiler.start(pid)
    watched = watch(profiler.process, seconds)
    if profiler.process.poll() is not None:
        print(f"{' '.join(profiler.command())}: {profilers.read(profiler.log)[-2000:]}", file=sys.stderr)
    profiler.stop()
    stacks = profiler.samples()
    share = watched.runs / max(1, watched.runs_before + watched.runs)
    return {"ns": watched.ns, "runs": watched.runs, "samples": share * sum(times for *_, times in stacks), "stacks": stacks}


def turn(build, method, pid, hz, seconds, directory):
    """Time and runs of the programs, samples counted, [(user frames, kernel frames, root, times)] of them, and the
    roots if the method proves them."""
    if method in KERNEL:
        return by_kernel(build, method, hz, seconds)
    if method in OURS:
        return by_ours(build, OURS[method], hz, seconds, directory)
    return by_peer(peers.ALL[method], pid, hz, seconds, directory)


def find(turns, roots):
    """What a method finds: mean frames of the samples with a user stack, and the share of these that reach a root; None
    if there are none."""
    stacks = [s for t in turns for s in t["stacks"] if s[0] > 0]
    n = sum(times for *_, times in stacks)
    return {
        "user_frames": sum(user * times for user, _, _, times in stacks) / n if n else None,
        "kernel_frames": sum(kernel * times for _, kernel, _, times in stacks) / n if n else None,
        "complete": sum(times for _, _, root, times in stacks if root % PAGE in roots) / n if n else None,
    }


def cost(turns, method, i):
    """Of a sample, in a turn; None if there was none."""
    of, empty = turns[method][i], turns["empty"][i]
    if not of["samples"] or not empty["runs"]:
        return None
    return (of["ns"] - (of["runs"] - of["samples"]) * empty["ns"] / empty["runs"]) / of["samples"]


def net(turns, method, i):
    """The same without the empty program's."""
    ns = cost(turns, method, i)
    return ns - cost(turns, "empty", i) if ns is not None else None


def ratio(turns, method, to, i):
    """None as well if the other one is not slower than an empty program."""
    ours, theirs = net(turns, method, i), net(turns, to, i)
    return ours / theirs if ours is not None and theirs is not None and theirs > 0 else None


# What a sample of a method has, by its figures: for what is comparable although they do not find the same.
PER = {"": lambda figures: 1,
       "_per_frame": lambda figures: (figures["user_frames"] or 0) + (figures["kernel_frames"] or 0),
       "_per_complete": lambda figures: figures["complete"] or 0}


def summarize(turns):
    """{method: figures} of {method: [turn, ...]}, which has `empty` and `both`."""
    roots = set().union(*(t.get("roots", ()) for of in turns.values() for t in of))
    result = {method: find(of, roots) for method, of in turns.items()}
    for method, figures in result.items():
        of = range(len(turns[method]))
        figures.update(
            ns=machine.spread(cost(turns, method, i) for i in of),
            runs=sum(turn["runs"] for turn in turns[method]),
            samples=round(sum(turn["samples"] for turn in turns[method])))
        for per, count in PER.items():
            n, theirs = count(figures), count(result["both"])
            figures[f"net_ns{per}"] = machine.spread(ns / n for i in of if n and (ns := net(turns, method, i)) is not None)
            figures[f"to_kernel{per}"] = machine.spread(
                r * theirs / n for i in of if n and theirs and (r := ratio(turns, method, "both", i)) is not None)
        # With the empty program's time, which cannot be avoided.
        figures["to_peers"] = {
            peer: machine.spread(ns / theirs for i in of if (ns := cost(turns, method, i)) and (theirs := cost(turns, peer, i)))
            for peer in peers.ALL if peer in turns}
    return result


def all_methods(lasts):
    """Those that can be measured, of a program whose processes run on or do not."""
    return [*KERNEL, *OURS, *(name for name, peer in peers.ALL.items() if (peer.follows_processes or lasts) and peer.is_there())]


def measure(build, pid, hz, turns, seconds, lasts):
    methods = [m for m in all_methods(lasts) if hz == MAIN or m in ALWAYS]
    if hz != MAIN:
        turns, seconds = (turns + 1) // 2, seconds * max(0.5, min(3, MAIN / hz))
    found = {method: [] for method in methods}
    with tempfile.TemporaryDirectory() as directory:
        for number in range(turns):
            # The other way round each second time, so that no method always follows the same one.
            for method in methods[::-1 if number % 2 else 1]:
                found[method].append(turn(build, method, pid, hz, seconds, directory))
    return summarize(found)


def starts(build, directory):
    nginx = workloads.verify.all_programs(build, directory)["nginx, gzip"]
    again, plain = workloads.verify.again_and_again, workloads.verify.plain
    return {"g++": lambda: workloads.Program(lambda: again("g++", "-O2", f"-I{HERE}/..", "-c", f"{HERE}/target_words.cc",
                                                           "-o", "/dev/null")),
            **workloads.real(build, directory), "nginx": lambda: workloads.Program(nginx),
            **{f"C++ server, {kind}": lambda kind=kind: workloads.Program(lambda: plain(f"{build}/bench/server-{kind}"))
               for kind in ("fp", "nofp")}}


def touched(build):
    """Lines and pages by what was touched, as bench_touches writes them."""
    stacks = sorted(glob.glob(os.path.join(HERE, "stacks/*.txt")))
    out = subprocess.run([f"{build}/bench/bench_touches", *stacks], capture_output=True, text=True, check=True).stdout
    head, *rows = (line.split("\t") for line in out.splitlines())
    return [dict(zip(head, row[:3] + list(map(float, row[3:])))) for row in rows]


def missed(build, rows):
    """Nanoseconds of a chase through as many lines and pages, by recording: {MiB of other memory: ns}."""
    result = {}
    for row in rows:
        if row["touched"] == "all" and row["state"] == "next":
            result[row["recording"].removesuffix(".txt")] = {
                mib: int(subprocess.run(["taskset", "-c", str(workloads.TARGET_CPU), f"{build}/bench/bench_chase",
                                         f"{row['lines']:.0f}", f"{row['pages']:.0f}", str(mib)],
                                        capture_output=True, text=True, check=True).stdout.split()[0])
                for mib in (0, 4, 64)}
    return result


def measure_workload(build, name, start, rates, turns, seconds, results):
    """Adds {rate: {method: figures}} to the results, unless the program is not installed."""
    try:
        with start() as workload:
            found = {str(hz): measure(build, workload.pid, hz, turns, seconds, name in LASTING) for hz in rates}
    except workloads.Missing as missing:
        print(f"{name}: {missing} is not installed", file=sys.stderr)
        return
    results[name] = found
    for hz, of in found.items():
        print(f"{name}, {hz} Hz:", ", ".join(f"{m} {f['ns']['median']:,.0f} ns" for m, f in of.items() if f["ns"]), flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("build")
    parser.add_argument("results")
    parser.add_argument("-s", dest="seconds", type=float, default=1)
    parser.add_argument("-n", dest="turns", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("workloads", nargs="*")
    args = parser.parse_intermixed_args()
    build, turns, seconds = os.path.abspath(args.build), args.turns, args.seconds
    rates = RATES
    if args.quick:
        turns, seconds, rates = 1, 0.5, RATES[-2:]
        args.workloads = args.workloads or list(QUICK)
    os.sched_setaffinity(0, {workloads.PROFILER_CPU})
    # As by Ctrl-C: what was started ends, and the setting is as before.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    results = {}
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        all_starts = starts(build, directory)
        if unknown := set(args.workloads) - set(all_starts):
            parser.error(f"no workload is called {'; '.join(sorted(unknown))}; there are: {'; '.join(all_starts)}")
        rows = touched(build)
        chases = missed(build, rows)
        before = programs.set_stats("1")
        try:
            for name in args.workloads or all_starts:
                measure_workload(build, name, all_starts[name], rates, turns, seconds, results)
        finally:
            programs.set_stats(before.strip())
            if results:
                machine.write(args.results, "rate", turns=turns, seconds=seconds, workloads=results, touched=rows, missed=chases,
                              peers={name: peer.version() if peer.is_there() else None for name, peer in peers.ALL.items()})
    if not results:
        sys.exit("bench/rate.py: nothing was measured")


if __name__ == "__main__":
    main()
