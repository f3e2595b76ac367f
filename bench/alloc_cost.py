#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --alloc costs a program beside heaptrack, as a table. Needs root; `ci/setup bench` has heaptrack.

usage: bench/alloc_cost.py [--write] BUILD [N]

Nanoseconds of a malloc() and its free() together, above those of the program alone: by the clock, and of its
thread's CPU time; what the profiler lost. --write: into docs/BENCHMARKS.md.
"""
import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

import machine

PAGE, COMMAND = os.path.join(machine.figures.ROOT, "docs/BENCHMARKS.md"), "bench/alloc_cost.py"
ROUNDS = 7
SIZE, DEPTH = 100, 20
KINDS = "1", "4K", "512K"


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


def table(n):
    plain = measure([], n)
    rows = []
    for size in KINDS:
        wall, cpu, lost = measure([], n, attach([f"--alloc={size}"]))
        rows.append([f"`--alloc={size}`", f"{wall - plain[0]:,.0f}", f"{cpu - plain[1]:,.0f}", lost])
    with tempfile.TemporaryDirectory() as directory:
        wall, cpu, _ = measure(["heaptrack", "--raw", "-o", os.path.join(directory, "out")], n)
    rows.append(["heaptrack", f"{wall - plain[0]:,.0f}", f"{cpu - plain[1]:,.0f}", ""])
    return machine.figures.table([f"`malloc({SIZE})` and `free()`, alone {plain[0]:.0f} ns", "more time, ns", "more CPU time, ns", "samples"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("build")
    parser.add_argument("n", type=int, nargs="?", default=100000)
    args = parser.parse_args()
    DWARFPROF, ALLOCATING = (os.path.join(args.build, name) for name in ("cli/dwarfprof", "bench/allocating"))
    found = table(args.n)
    print(found)
    if args.write:
        machine.figures.write(PAGE, COMMAND, f"\n{found}\n{machine.figures.origin()}")
