#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what PHP's files have outside of functions has a name, although it is soon gone.

usage: check_includes.py [--show] DWARFPROF

A script includes others, in a random order, again and again: for each, PHP makes code that it frees after
about a millisecond, before its name is read, and has the memory for the next one. It writes down when it was
in which file. In each sample from in between, the frames have to be that file's and the script's, with lines
that they have been in; not another file's.

With opcache, which keeps the names of files, SHARE of the samples have to be whole. One in 200 was never seen
that is not: then a run of MIN_SAMPLES would fail with a probability below 1e-4, and three runs below 1e-12.
Without it, PHP frees the name, too, when a file is included again: frames may have no name, but no other one.
"""
import argparse
import bisect
import json
import os
import subprocess
import sys
import tempfile

HZ = "997"
SHARE = 0.98
MIN_SAMPLES = 400
# Seconds; the longer ones are for busy machines.
SECONDS = (2, 6, 20)
N_FILES = 20

MAIN = """<?php
mt_srand(1);
$log = [];
$end = hrtime(true) + (int)($argv[1] * 1e9);
do {
  $i = mt_rand(0, %d);
  $began = hrtime(true);
  include __DIR__ . "/part$i.php";
  $log[] = [$i, $began, hrtime(true)];
} while ($began < $end);
file_put_contents($argv[2], json_encode($log));
""" % (N_FILES - 1)
# Where it includes.
MAIN_LINE = 8

# Its loop is in other lines in each file.
PART = """<?php
{lines}$sum = 0;
for ($n = 0; $n < 20000; $n++)
  $sum += $n * $n % 7;
"""

# It keeps nothing of files that are not older than its protection.
OPCACHE = ["-d", "opcache.enable_cli=1", "-d", "opcache.file_update_protection=0"]
WITHOUT = ["-d", "opcache.enable_cli=0"]


def has_opcache():
    said = subprocess.run(["php", *OPCACHE, "-r", "echo (int)function_exists('opcache_get_status');"], capture_output=True,
                          text=True, check=False)
    return said.stdout.strip() == "1"


def write(folder):
    for i in range(N_FILES):
        with open(f"{folder}/part{i}.php", "w", encoding="utf-8") as file:
            file.write(PART.format(lines="\n" * i))
    with open(f"{folder}/main.php", "w", encoding="utf-8") as file:
        file.write(MAIN)


def judge(frames, i, folder):
    """whole, shorter or wrong"""
    wanted = [f"{folder}/part{i}.php", f"{folder}/main.php"]
    known = [f for f in frames if f["symbol"] != "[php, unloaded]"]
    for frame in known:
        # The return that PHP adds is in the line behind the file's last one.
        first, last = (2 + i, 5 + i) if frame["file"] == wanted[0] else (MAIN_LINE, MAIN_LINE)
        # At its beginning, a file has not stored where it is, and is in its first line.
        if frame["symbol"] != "<main>" or frame["file"] not in wanted or frame["line"] not in (1, *range(first, last + 1)):
            return "wrong"
    return "whole" if [f["file"] for f in frames] == wanted else "shorter"


def run(dwarfprof, options, seconds, folder, show):
    output, log = f"{folder}/samples", f"{folder}/log"
    subprocess.run([dwarfprof, "-F", HZ, "--format", "jsonl", "-o", output, "--", "php", *options, f"{folder}/main.php", str(seconds),
                    log], check=True, timeout=600, stderr=subprocess.DEVNULL)
    with open(log, encoding="utf-8") as file:
        spans = json.load(file)
    begins, counts = [began for _, began, _ in spans], {"whole": 0, "shorter": 0, "wrong": 0}
    with open(output, encoding="utf-8") as file:
        for sample in map(json.loads, file):
            at = bisect.bisect_right(begins, sample["time_ns"]) - 1
            frames = [f for f in sample["user_stack"] if f["kind"] == "php" and f["symbol"] != "hrtime"]
            # Between its files, and while PHP compiles one, the script is alone.
            if at < 0 or sample["time_ns"] >= spans[at][2] or len(frames) < 2:
                continue
            verdict = judge(frames, spans[at][0], folder)
            counts[verdict] += 1
            if verdict != "whole" and show:
                print(verdict, spans[at][0], [(f["symbol"], f["file"], f["line"]) for f in frames])
    return counts


def check(dwarfprof, name, options, share, show):
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        for seconds in SECONDS:
            counts = run(dwarfprof, options, seconds, os.path.realpath(folder), show)
            n = sum(counts.values())
            is_good = n >= MIN_SAMPLES and counts["whole"] >= share * n
            if is_good or counts["wrong"]:
                break
    print(f"php, {name}: {n} samples, {100 * counts['whole'] / max(n, 1):.2f} % whole, {counts['shorter']} shorter, "
          f"{counts['wrong']} wrong", flush=True)
    return is_good and not counts["wrong"]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    kinds = {"without opcache": (WITHOUT, 0), **({"with opcache": (OPCACHE, SHARE)} if has_opcache() else {})}
    good = [check(args.dwarfprof, name, *kind, args.show) for name, kind in kinds.items()]
    sys.exit(0 if all(good) else "some files are missing or wrong")


if __name__ == "__main__":
    main()
