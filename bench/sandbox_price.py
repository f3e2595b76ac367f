#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What confined helpers cost: `--sandbox=off` and `--sandbox=require` in turn.

usage: bench/sandbox_price.py [-n TIMES] [--judge] [--write] DWARFPROF

A busy interpreter is profiled for 500 ms, without the cache. `first sample` is the time from dwarfprof's start to its
message that it samples, at which its events take samples; `report` that from the end of sampling to dwarfprof's end. In
milliseconds: median, minimum and maximum, and the median of what it is more within a round. Who begins each round changes.
--judge: exit 1 if that is more than LIMIT_MS or LIMIT_SHARE, whichever allows more. --write: docs/BENCHMARKS.md gets the table.
Needs root. Where others run, put `chrt -r 10` before it, and give more rounds.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

import machine

SECONDS = 0.5
BUSY = "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nwhile True:\n    f(20)"
PARTS = "first sample", "report"
MODES = "off", "require"
LIMIT_MS, LIMIT_SHARE = 10, 0.1

PAGE = os.path.join(machine.figures.ROOT, "docs/BENCHMARKS.md")
COMMAND = "bench/sandbox_price.py"


def run(dwarfprof, pid, mode):
    """One profile: a time in milliseconds for each of PARTS."""
    start = time.monotonic()
    process = subprocess.Popen([dwarfprof, "-v", "-p", str(pid), "-d", f"{SECONDS * 1000:.0f}ms", "--no-cache",
                                f"--sandbox={mode}", "-o", "/dev/null", "--format", "folded"],
                               stderr=subprocess.PIPE, text=True)
    sampling, said = None, ""
    for line in process.stderr:
        said += line
        if sampling is None and " sampling " in line:
            sampling = time.monotonic()
    process.wait()
    end = time.monotonic()
    if process.returncode != 0 or sampling is None:
        sys.exit(said)
    return [1000 * t for t in (sampling - start, end - sampling - SECONDS)]


def go_last():
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def measure(dwarfprof, n):
    """{mode: times of each run}. The target goes last, as it is not what is measured."""
    runs = {mode: [] for mode in MODES}
    target = subprocess.Popen([sys.executable, "-c", BUSY], preexec_fn=go_last)
    try:
        for mode in MODES:
            run(dwarfprof, target.pid, mode)
        for i in range(n):
            for mode in MODES if i % 2 == 0 else reversed(MODES):
                runs[mode].append(run(dwarfprof, target.pid, mode))
    finally:
        target.kill()
        target.wait()
    return runs


def spread(values):
    return f"{statistics.median(values):.1f} ({min(values):.1f}–{max(values):.1f})"


def rows_of(runs):
    """(row of the table, what is too much or None) for each of PARTS."""
    for i, part in enumerate(PARTS):
        values = [[one[i] for one in runs[mode]] for mode in MODES]
        more = statistics.median(after - before for before, after in zip(*values))
        share = more / statistics.median(values[0])
        is_too_much = more > LIMIT_MS and share > LIMIT_SHARE
        yield [part, *map(spread, values), f"{more:.1f} ({100 * share:.0f} %)"], f"{part}: {more:.1f} ms more" if is_too_much else None


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("-n", type=int, default=7)
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("dwarfprof")
    args = parser.parse_args()
    rows, wrong = zip(*rows_of(measure(args.dwarfprof, args.n)))
    head = ["ms", *(f"`--sandbox={mode}`" for mode in MODES), "more"]
    print(*("\t".join(line) for line in (head, *rows)), sep="\n")
    if args.write:
        machine.figures.write(PAGE, COMMAND, f"\n{machine.figures.table(head, rows)}\n{machine.figures.origin()}")
    for what in filter(None, wrong if args.judge else ()):
        print("wrong:", what)
    return int(args.judge and any(wrong))


if __name__ == "__main__":
    sys.exit(main())
