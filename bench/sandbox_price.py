#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What confined helpers cost: `--sandbox=off` and `--sandbox=require` in turn.

usage: bench/sandbox_price.py [-n TIMES] [--judge] [--write] DWARFPROF

A busy interpreter is profiled for 500 ms, without the cache. `first sample` is the time from dwarfprof's start to its
message that it samples, at which its events take samples; `report` that from the end of sampling to dwarfprof's end. In
milliseconds: median, minimum and maximum, and the median of what it is more within a round. Who begins each round changes.
`hashing` is what hashing files takes in further runs, each with a new cache: their sum, though some are hashed at the same
time, and its share of the time to the first profile: `first sample` and `report` of such a run.
--judge: exit 1 if that is more than LIMIT_MS or LIMIT_SHARE, whichever allows more, and hashing more than LIMIT_SHARE.
--write: docs/BENCHMARKS.md gets the table.
Needs root. Where others run, put `chrt -r 10` before it, and give more rounds.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import machine

SECONDS = 0.5
BUSY = "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nwhile True:\n    f(20)"
PARTS = "first sample", "report"
MODES = "off", "require"
LIMIT_MS, LIMIT_SHARE = 10, 0.1
CACHE = "/var/cache/dwarfprof"
HASHED = re.compile(r": hashed in ([\d.]+) ms$", re.M)

PAGE = os.path.join(machine.figures.ROOT, "docs/BENCHMARKS.md")
COMMAND = "bench/sandbox_price.py"


def run(dwarfprof, pid, mode, *options, to="/dev/null"):
    """One profile: a time in milliseconds for each of PARTS, and what it has said."""
    start = time.monotonic()
    process = subprocess.Popen([dwarfprof, "-v", "-p", str(pid), "-d", f"{SECONDS * 1000:.0f}ms", f"--sandbox={mode}",
                                "-o", to, "--format", "folded", *options], stderr=subprocess.PIPE, text=True)
    sampling, wrote, said = None, None, ""
    for line in process.stderr:
        said += line
        if sampling is None and " sampling " in line:
            sampling = time.monotonic()
        if " wrote " in line:
            wrote = time.monotonic()
    process.wait()
    end = wrote or time.monotonic()
    if process.returncode != 0 or sampling is None:
        sys.exit(said)
    return [1000 * t for t in (sampling - start, end - sampling - SECONDS)], said


def go_last():
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def run_without_cache(dwarfprof, pid, mode):
    return run(dwarfprof, pid, mode, "--no-cache")[0]


def run_with_new_cache(dwarfprof, pid, mode):
    """What hashing took, in milliseconds, and its share of the time to the profile."""
    shutil.rmtree(CACHE, ignore_errors=True)
    with tempfile.NamedTemporaryFile() as file:
        times, said = run(dwarfprof, pid, mode, to=file.name)
    # What is kept of names is hashed when the report is there.
    hashed = list(map(float, HASHED.findall(said.partition(" wrote ")[0])))
    if not hashed:
        sys.exit(f"nothing was hashed: {said}")
    return sum(hashed), sum(hashed) / sum(times)


def measure(dwarfprof, n, run):
    """{mode: what each run gives}. The target goes last, as it is not what is measured."""
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


def row_of_hashing(runs):
    """The same; the share is the largest of the modes' medians."""
    values = [[one[0] for one in runs[mode]] for mode in MODES]
    share = max(statistics.median(one[1] for one in runs[mode]) for mode in MODES)
    row = ["hashing", *map(spread, values), f"{100 * share:.1f} % of all"]
    return row, f"hashing: {100 * share:.0f} %" if share > LIMIT_SHARE else None


def have_own_cache():
    """In a mount namespace of this process's own."""
    if "DWARFPROF_BENCH_NAMESPACE" not in os.environ:
        os.environ["DWARFPROF_BENCH_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", os.path.dirname(CACHE)], check=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("-n", type=int, default=7)
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("dwarfprof")
    args = parser.parse_args()
    have_own_cache()
    hashing = row_of_hashing(measure(args.dwarfprof, args.n, run_with_new_cache))
    rows, wrong = zip(*rows_of(measure(args.dwarfprof, args.n, run_without_cache)), hashing)
    head = ["ms", *(f"`--sandbox={mode}`" for mode in MODES), "more"]
    print(*("\t".join(line) for line in (head, *rows)), sep="\n")
    if args.write:
        machine.figures.write(PAGE, COMMAND, f"\n{machine.figures.table(head, rows)}\n{machine.figures.origin()}")
    for what in filter(None, wrong if args.judge else ()):
        print("wrong:", what)
    return int(args.judge and any(wrong))


if __name__ == "__main__":
    sys.exit(main())
