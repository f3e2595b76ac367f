#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what PHP's eval() executes has its own file, line and name, or none.

usage: check_evals.py [--show] DWARFPROF

A script calls eval() in N_SITES lines, in a random order, again and again, for what is in one of N_LINES of its
own lines, or makes a closure, in a namespace of its own, in one of those. PHP frees all that after less than a
millisecond, before its name is read, and has the memory for the next one, often at the same addresses. Each
calls a function whose name says by what it is called: in each sample that has that, the frame that calls it
has to be in this file and line, or without a name. Then one eval() executes for long: at least SHARE of the samples of it have to
have its name.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HZ = "997"
SHARE = 0.9
MIN_SAMPLES = 300
# Seconds of each part; the longer ones are for busy machines.
SECONDS = (2, 6, 20)
N_SITES, N_LINES = 12, 4
# The first line with an eval().
FIRST_SITE = 10
UNLOADED = "[php, unloaded]"


def sites():
    """The name that tells each, its kind, its line, and the line in what it executes."""
    for site in range(N_SITES):
        for line in range(N_LINES):
            kind = "c" if site % 2 else "e"
            yield f"{kind}{site}_{line}", kind, FIRST_SITE + site, line + 1


def make_program():
    text = """<?php
require __DIR__ . "/functions.php";
mt_srand(1);
$end = hrtime(true) + (int)($argv[1] * 1e9);
do {
  $line = mt_rand(0, %d);
  $space = str_repeat("\\n", $line);
  $function = null;
  switch (mt_rand(0, %d)) {
""" % (N_LINES - 1, N_SITES - 1)
    for i in range(N_SITES):
        called = f'{"c" if i % 2 else "e"}{i}_$line()'
        text += (f'  case {i}: ($function = eval("namespace N$line; $space return function() {{ \\\\{called}; }};"))(); break;\n'
                 if i % 2 else f'  case {i}: eval("$space {called};"); break;\n')
    text += """  }
} while (hrtime(true) < $end);
$end += (int)($argv[1] * 1e9);
eval("\\n\\ndo { last(); } while (hrtime(true) < \\$end);");
"""
    return text


LAST_LINE = FIRST_SITE + N_SITES + 3


def write(folder):
    with open(f"{folder}/main.php", "w", encoding="utf-8") as file:
        file.write(make_program())
    body = "{ $sum = 0; for ($n = 0; $n < 10000; $n++) $sum += $n * $n % 7; return $sum; }\n"
    with open(f"{folder}/functions.php", "w", encoding="utf-8") as file:
        file.write("<?php\n" + "".join(f"function {name}() {body}" for name, *_ in sites()) + f"function last() {body}")


def is_named(frame, kind, line, file):
    # Since PHP 8.4, a closure's name says where it is.
    is_name = frame["symbol"].startswith(f"N{line - 1}\\{{closure") if kind == "c" else frame["symbol"] == "<main>"
    return is_name and frame["file"] == file and frame["line"] == line


def judge(frames, main):
    """named, unloaded, wrong or last; "": it does not count."""
    leaf = frames[0]["symbol"] if len(frames) > 1 else ""
    found = [site for site in sites() if site[0] == leaf]
    if leaf == "last":
        is_last = is_named(frames[1], "e", 3, f"{main}({LAST_LINE}) : eval()'d code")
        return "last" if is_last else "last unloaded" if frames[1]["symbol"] == UNLOADED else "wrong"
    if not found:
        return ""
    _, kind, site, line = found[0]
    if frames[1]["symbol"] == UNLOADED:
        return "unloaded"
    return "named" if is_named(frames[1], kind, line, f"{main}({site}) : eval()'d code") else "wrong"


def run(dwarfprof, seconds, folder, show):
    output, main = f"{folder}/samples", f"{folder}/main.php"
    subprocess.run([dwarfprof, "-F", HZ, "--format", "jsonl", "-o", output, "--", "php", main, str(seconds)],
                   check=True, timeout=600, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    counts = {"named": 0, "unloaded": 0, "wrong": 0, "last": 0, "last unloaded": 0}
    with open(output, encoding="utf-8") as file:
        for sample in map(json.loads, file):
            frames = [f for f in sample["user_stack"] if f["kind"] == "php"]
            verdict = judge(frames, main)
            if verdict:
                counts[verdict] += 1
            if verdict == "wrong" and show:
                print(verdict, *[(f["symbol"], f["file"], f["line"]) for f in frames])
    return counts


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        write(folder)
        for seconds in SECONDS:
            counts = run(args.dwarfprof, seconds, folder, args.show)
            n_last = counts["last"] + counts["last unloaded"]
            is_good = (sum(counts.values()) - n_last >= MIN_SAMPLES and n_last >= MIN_SAMPLES and
                       counts["last"] >= SHARE * n_last)
            if is_good or counts["wrong"]:
                break
    print("php, eval():", ", ".join(f"{n} {name}" for name, n in counts.items()), flush=True)
    sys.exit(0 if is_good and not counts["wrong"] else "some have no names, or others'")


if __name__ == "__main__":
    main()
