#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --alloc costs a program beside heaptrack, printed as a table. Needs root, and heaptrack.

usage: bench/alloc_cost.py DWARFPROF ALLOCATING [N]

Nanoseconds of a malloc() and its free() together, above those of the program alone: by the clock, and of its
thread's CPU time; what the profiler lost. ALLOCATING is build/bench/allocating.
"""
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 7
SIZE, DEPTH = 100, 20
KINDS = (("each", ["--alloc=1"]), ("a sample in 4 KiB", ["--alloc=4K"]), ("a sample in 512 KiB", ["--alloc=512K"]))


def measure(command, n, before=None):
    """Nanoseconds per pair, by the clock and of CPU time. before: starts what profiles a process, and returns how to end it."""
    program = subprocess.Popen([*command, ALLOCATING, str(SIZE), str(DEPTH), str(n), str(ROUNDS)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    end = before(program.pid) if before else None
    out = program.communicate("\n")[0]
    rounds = [tuple(int(t) / n for t in r) for r in re.findall(r"round (\d+) (\d+)", out)]
    assert len(rounds) == ROUNDS, out
    lost = end() if end else ""
    return [statistics.median(r[i] for r in rounds[1:]) for i in (0, 1)] + [lost]


def attach(options):
    def start(pid):
        profiler = subprocess.Popen([DWARFPROF, "-p", str(pid), *options, "--no-symbols", "--format", "folded", "-o", "/dev/null"],
                                    stderr=subprocess.PIPE, text=True)
        for line in profiler.stderr:
            if "sampling" in line:
                break
        else:
            sys.exit("dwarfprof did not start")

        def end():
            profiler.send_signal(signal.SIGINT)
            said = profiler.communicate()[1]
            samples, lost = re.search(r"(\d+) samples in .* s, (\d+) lost", said).groups()
            return f"{lost} lost of {int(samples) + int(lost)}"
        return end
    return start


def main():
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 100000
    plain = measure([], n)
    print(f"malloc({SIZE}) and free(), {DEPTH} calls deep, {n} times, median of {ROUNDS - 1} rounds; alone {plain[0]:.0f} ns\n")
    print("| | more time, ns | more CPU time, ns | samples |\n|---|---|---|---|")
    for name, options in KINDS:
        wall, cpu, lost = measure([], n, attach(options))
        print(f"| {name} | {wall - plain[0]:.0f} | {cpu - plain[1]:.0f} | {lost} |")
    with tempfile.TemporaryDirectory() as directory:
        wall, cpu, _ = measure(["heaptrack", "--raw", "-o", os.path.join(directory, "out")], n)
    print(f"| heaptrack, each | {wall - plain[0]:.0f} | {cpu - plain[1]:.0f} | |")


if __name__ == "__main__":
    DWARFPROF, ALLOCATING = sys.argv[1:3]
    main()
