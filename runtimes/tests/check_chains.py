#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares many stacks of each language with chains of calls that are known.

usage: check_chains.py [--samples N] [--seconds S] [--seed N] [--jobs N] [--write] DWARFPROF [LANGUAGE...]

Runs what check_python.py, check_node.py, check_hotspot.py and check_scripts.py compare, with a new random program each
time, with each interpreter, JVM and mode that they know on this machine, again until there are N samples of each
language. A program computes for S seconds in each of its chains; else time and rate are such that one round of all
should be enough. Prints a table, and with --write puts it into docs/ACCURACY.md. Fails if a stack is wrong, or if fewer
are complete or have the whole chain, with all lines, than COMPLETE and WHOLE.
"""
import argparse
import collections
import concurrent.futures
import math
import os
import random
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "ci"))

import check_hotspot  # noqa: E402
import check_node  # noqa: E402
import check_python  # noqa: E402
import check_scripts  # noqa: E402
import figures  # noqa: E402

COMMAND = "runtimes/tests/check_chains.py"
PAGE = os.path.join(ROOT, "docs/ACCURACY.md")
MAX_HZ = 2999
# A JVM that has just started is not known yet.
LEAST_SECONDS = 1
MARGIN = 1.2
MAX_ROUNDS = 20
COMPLETE = 0.99
WHOLE = 0.98
# Between safepoints, nothing says which functions are inlined.
WHOLE_INLINED = 0.95
HEAD = ["language", "samples", "complete", "whole chain", "unnamed", "wrong"]
JAVA_SOURCE = os.path.join(HERE, "Chain.java")

# chains: how many a program computes for some seconds each, one after another or in threads
Row = collections.namedtuple("Row", "name measure targets whole chains")


def java_targets(is_inlined):
    return [(home, mode, JAVA_SOURCE) for home in check_hotspot.homes() for mode in check_hotspot.ALL
            if (mode.name in check_hotspot.INLINING) == is_inlined and "virtual" not in mode.arguments and mode.name != "described"]


def rows():
    """What there is of each language on this machine."""
    node = shutil.which("node")
    found = [Row("Python", check_python.measure, check_python.find_pythons(), WHOLE, 1),
             Row("JavaScript", check_node.measure,
                 [(os.path.realpath(node), mode) for mode in check_node.usual_modes()] if node else [], WHOLE, 1),
             Row("Java", check_hotspot.measure, java_targets(False), WHOLE, 6),
             Row("Java, inlined", check_hotspot.measure, java_targets(True), WHOLE_INLINED, 6)]
    titles = {"php": "PHP", "ruby": "Ruby", "perl": "Perl"}
    scripts = collections.defaultdict(list)
    for language in check_scripts.LANGUAGES:
        if shutil.which(language.command) and not language.options:
            scripts[language.title().replace(language.name, titles[language.name], 1)].append(language)
    found += [Row(name, check_scripts.measure, targets, WHOLE, 1) for name, targets in scripts.items()]
    return [row for row in found if row.targets]


def seconds_and_hz(row, args):
    n_chains = row.chains * len(row.targets)
    seconds = args.seconds or max(LEAST_SECONDS, args.samples / MAX_HZ / n_chains)
    return seconds, min(MAX_HZ, math.ceil(MARGIN * args.samples / seconds / n_chains))


def measure(row, args):
    """The counts of so many samples."""
    counts, draw = collections.Counter(), random.Random(args.seed)
    seconds, hz = seconds_and_hz(row, args)
    for module in (check_hotspot, check_node, check_python, check_scripts):
        module.HZ = str(hz)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for number in range(1, MAX_ROUNDS + 1):
            runs = [pool.submit(row.measure, args.dwarfprof, target, draw.randrange(1 << 30), seconds) for target in row.targets]
            for run in runs:
                counts.update(run.result())
            print(f"  {row.name}, {number} times {len(runs)} runs: {dict(counts)}", flush=True)
            if counts["samples"] >= args.samples:
                break
    return counts


def is_good(row, counts, args):
    n = counts["samples"]
    return n >= args.samples and counts["wrong"] == 0 and counts["complete"] >= COMPLETE * n and counts["whole"] >= row.whole * n


def cells(row, counts):
    n = max(counts["samples"], 1)
    unnamed = counts["unloaded"] + counts["moved"]
    return [row.name, f"{counts['samples']:,}", f"{100 * counts['complete'] / n:.2f} %", f"{100 * counts['whole'] / n:.2f} %",
            f"{unnamed:,}", f"{counts['wrong']:,}"]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true")
    parser.add_argument("dwarfprof")
    parser.add_argument("languages", nargs="*")
    args = parser.parse_args()
    if os.geteuid() != 0:
        return 77
    print(f"--seed {args.seed}")
    measured = [(row, measure(row, args)) for row in rows() if not args.languages or row.name in args.languages]
    table = figures.table(HEAD, [cells(*one) for one in measured])
    print(table)
    bad = [row.name for row, counts in measured if not is_good(row, counts, args)]
    if args.write and not bad:
        figures.write(PAGE, COMMAND, "\n\n" + table + "\n" + figures.origin())
    if bad:
        print("not as it has to be:", ", ".join(bad))
    return 1 if bad or not measured else 0


if __name__ == "__main__":
    sys.exit(main())
