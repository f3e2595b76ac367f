#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of --off-cpu for a program that does nothing but block.

usage: bench/switches.py DWARFPROF PINGPONG [TIMES]

Alternates rounds of `pingpong` with and without profiling. Prints the CPU time of a round, which
has two switches (median of all runs), its ratio to an unprofiled round, and the BPF program's time
per switch of any thread, measured by the kernel (kernel.bpf_stats_enabled). Needs root.
"""
import json
import re
import statistics
import subprocess
import sys
import time

ROUNDS = "300000"
STATS = "/proc/sys/kernel/bpf_stats_enabled"
OPTIONS = [["--off-cpu"], ["--off-cpu", "--unwind", "fp"], ["--off-cpu", "--max-rate", "1000"],
           ["--off-cpu", "--max-rate", "100"], ["--off-cpu", "--state", "D"]]


def set_stats(value):
    with open(STATS, "w") as file:
        file.write(value)


def program_cost():
    """Nanoseconds and runs of the program while it is loaded."""
    out = subprocess.run(["bpftool", "-j", "prog", "show", "name", "dp_switch"],
                         capture_output=True, text=True).stdout
    try:
        info = json.loads(out)
        info = info[0] if isinstance(info, list) else info
        return info["run_time_ns"], info["run_cnt"]
    except (ValueError, LookupError):
        return None


def run(dwarfprof, pingpong, options):
    """Nanoseconds of CPU time per round and of the program per switch, and dwarfprof's message on
    samples."""
    command = [pingpong, ROUNDS]
    if options is not None:
        command = [dwarfprof, *options, "-o", "/dev/null", "--format", "folded", "--", *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    cost = None
    while options is not None and process.poll() is None:
        time.sleep(0.1)
        cost = program_cost() or cost
    out, err = process.communicate()
    ns = cost[0] / cost[1] if cost and cost[1] else 0
    said = re.search(r"(\d+) samples in [0-9.]+ s, (\d+) lost", err)
    return int(out.split()[1]), ns, said.groups() if said else None


def main():
    dwarfprof, pingpong = sys.argv[1:3]
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    plain, profiled = [], {tuple(o): [] for o in OPTIONS}
    with open(STATS) as file:
        before = file.read()
    try:
        set_stats("1")
        for _ in range(times):
            plain.append(run(dwarfprof, pingpong, None)[0])
            for options, results in profiled.items():
                results.append(run(dwarfprof, pingpong, list(options)))
    finally:
        set_stats(before)
    base = statistics.median(plain)
    print(f"plain: {base:.0f} ns per round")
    for options, results in profiled.items():
        ns = statistics.median(r[0] for r in results)
        samples = statistics.median(int(r[2][0]) if r[2] else 0 for r in results)
        lost = statistics.median(int(r[2][1]) if r[2] else 0 for r in results)
        print(f"{' '.join(options)}: {ns:.0f} ns per round, x {ns / base:.2f}, "
              f"{statistics.median(r[1] for r in results):.0f} ns per switch, "
              f"{samples:.0f} samples, {lost:.0f} lost")


if __name__ == "__main__":
    main()
