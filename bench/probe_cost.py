#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What probes cost, printed as a table. Needs root and bpftool.

usage: bench/probe_cost.py DWARFPROF PROBED [ROUNDS]

Per hit: CPU time of a call above that of one without a probe, and the time of the BPF program within it, as the
kernel measures it (kernel.bpf_stats_enabled). Per sample: time of the sampling program with a call's values and
without, at two rates. PROBED is build/bench/probed.
"""
import json
import signal
import statistics
import subprocess
import sys

STATS = "/proc/sys/kernel/bpf_stats_enabled"
PERIOD_NS = 10000000  # of a call while samples are taken
TURNS = 5
VALUES = ("x=arg1:u64", "a=arg1:u64, b=arg2:u64, c=arg1:u32, d=arg2:u16", "text=arg3:str")


def set_stats(value):
    with open(STATS) as file:
        before = file.read()
    with open(STATS, "w") as file:
        file.write(value)
    return before


def spent(name):
    """Nanoseconds and runs of a program."""
    out = subprocess.run(["bpftool", "-j", "prog", "show", "name", name], capture_output=True, text=True).stdout
    programs = json.loads(out) if out.strip() else []
    programs = programs if isinstance(programs, list) else [programs]
    return sum(p.get("run_time_ns", 0) for p in programs), sum(p.get("run_cnt", 0) for p in programs)


def run(options, period_ns, program):
    """CPU nanoseconds per call, and the nanoseconds per run of a program, or of several together."""
    probed = subprocess.Popen([PROBED, str(period_ns), str(ROUNDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    profiler = None
    if options:
        profiler = subprocess.Popen([DWARFPROF, "-p", str(probed.pid), *options, "--no-symbols", "--format", "folded", "-o", "/dev/null"],
                                    stderr=subprocess.PIPE, text=True)
        for line in profiler.stderr:
            if "sampling" in line:
                break
        else:
            sys.exit("dwarfprof did not start")
    probed.stdin.write("\n")
    probed.stdin.flush()
    calls = [tuple(map(int, probed.stdout.readline().split())) for _ in range(ROUNDS)]
    each = [spent(name) for name in program.split()] if profiler else []
    if profiler:
        profiler.send_signal(signal.SIGINT)
        profiler.communicate()
    probed.communicate()
    return statistics.median(cpu / n for n, cpu in calls), sum(ns / runs for ns, runs in each if runs)


def main():
    probe = f"label:{PROBED}:probed"
    bare = run([], 0, "")[0]
    print("| probe | ns per call | of these, BPF |\n|---|--:|--:|")
    for values in VALUES:
        call, own = run(["-F", "1", "--probe", f"{probe}({values})"], 0, "dp_begin_span")
        print(f"| `--probe label:`, `{values}` | {call - bare:,.0f} | {own:,.0f} |", flush=True)
    for values in "", *(f"({values})" for values in VALUES):
        call, own = run(["-F", "1", "--probe", f"span:{PROBED}:probed{values} min=1s"], 0, "dp_begin_span dp_end_span")
        print(f"| `--probe span:`, `{values}` | {call - bare:,.0f} | {own:,.0f} |", flush=True)
    call, own = run(["-e", f"uprobe:{PROBED}:probed"], 0, "dp_sample_uprobe")
    print(f"| `-e uprobe:`, a sample | {call - bare:,.0f} | {own:,.0f} |\n")
    print("| samples a second | ns per sample | more with a label |\n|--:|--:|--:|")
    for rate in ("99", "999"):
        label = ["-F", rate, "--probe", f"{probe}({VALUES[2]})"]
        # In turn, as the machine's other work changes
        pairs = [(run(["-F", rate], PERIOD_NS, "dp_sample_cpu")[1], run(label, PERIOD_NS, "dp_sample_cpu")[1]) for _ in range(TURNS)]
        without = statistics.median(pair[0] for pair in pairs)
        more = sorted(pair[1] - pair[0] for pair in pairs)
        print(f"| {rate} | {without:,.0f} | {more[TURNS // 2]:+,.0f} ({more[0]:+,.0f} to {more[-1]:+,.0f}) |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    DWARFPROF, PROBED = sys.argv[1:3]
    ROUNDS = int(sys.argv[3]) if len(sys.argv) == 4 else 10
    before = set_stats("1")
    try:
        main()
    finally:
        set_stats(before)
