#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What confined helpers cost: `--sandbox=off` and `--sandbox=require` in turn.

usage: sandbox_price.py [-n TIMES] DWARFPROF

A busy interpreter is profiled for 500 ms, without the cache. `sampling` is the time from dwarfprof's
start to its message that it samples, `report` that from the end of sampling to dwarfprof's end. In
milliseconds: median, minimum and maximum, and by how much the median grows. Needs root.
"""
import argparse
import statistics
import subprocess
import sys
import time

SECONDS = 0.5
BUSY = "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nwhile True:\n    f(20)"
PARTS = "sampling", "report"


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


def main():
    parser = argparse.ArgumentParser(usage="sandbox_price.py [-n TIMES] DWARFPROF")
    parser.add_argument("-n", type=int, default=7)
    parser.add_argument("dwarfprof")
    args = parser.parse_args()

    target = subprocess.Popen([sys.executable, "-c", BUSY])
    runs = {"off": [], "require": []}
    try:
        for mode in runs:
            run(args.dwarfprof, target.pid, mode)
        for _ in range(args.n):
            for mode, of_mode in runs.items():
                of_mode.append(run(args.dwarfprof, target.pid, mode))
    finally:
        target.kill()
        target.wait()
    print("ms", *runs, "more", sep="\t")
    for i, part in enumerate(PARTS):
        values = [[one[i] for one in of_mode] for of_mode in runs.values()]
        before, after = map(statistics.median, values)
        print(part, *(f"{statistics.median(v):.1f} ({min(v):.1f} to {max(v):.1f})" for v in values),
              f"{after - before:.1f} ({100 * (after - before) / before:.0f} %)", sep="\t")


if __name__ == "__main__":
    main()
