#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that closures have names in processes that have not used the names themselves.

usage: check_forked.py [--show] DWARFPROF

With opcache, PHP has names in memory that processes share. A script makes a closure by a trait in each of two
classes, and forks, as PHP's workers are: the child executes them, and needs none of their names, so that the
kernel cannot read them before they have been read once. SHARE of its samples have to have the closure, its file
and line; from then on with the class, which may not be the other one's: a fifth of those of each class.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

import check_includes

HZ = "997"
SHARE = 0.95
MIN_SAMPLES = 300
# Seconds of each closure; the longer ones are for busy machines.
SECONDS = (3, 8, 20)
NOT_RUN = 77

LIBRARY = """<?php
trait Maker {
  static function make() {
    return function($work) { $work(); };
  }
}
class A { use Maker; }
class B { use Maker; }
"""
CLOSURE_LINE = 4

MAIN = """<?php
require __DIR__ . "/before.php";
require __DIR__ . "/library.php";
require __DIR__ . "/behind.php";
$seconds = (float)$argv[1];
function work_A() { work(); }
function work_B() { work(); }
function work() {
  $end = hrtime(true) + (int)($GLOBALS["seconds"] * 1e9);
  do {
    for ($n = $sum = 0; $n < 10000; $n++) $sum += $n * $n % 7;
  } while (hrtime(true) < $end);
}
$a = A::make();
$b = B::make();
if (pcntl_fork() == 0) {
  $a("work_A");
  $b("work_B");
} else
  pcntl_wait($status);
"""


def make_padding(name):
    """Other texts, as the kernel maps the pages around one that is used, too."""
    texts = ", ".join(f"rand() . '{name} {i:60}'" for i in range(3000))
    return f"<?php\nfunction {name}() {{ return [{texts}]; }}\n"


FILES = {"before.php": make_padding("before"), "library.php": LIBRARY, "behind.php": make_padding("behind"),
         "main.php": MAIN}


def judge(frame, called, folder):
    name, at, closure = frame["symbol"], (frame["file"], frame["line"]), "{closure"
    if name == "[php, unloaded]":
        return "unloaded"
    if at == (f"{folder}/library.php", CLOSURE_LINE):
        if name.startswith(f"{called[-1]}::{closure}"):
            return "whole"
        if name.startswith(closure):
            return "without class"
    return "wrong"


def run(dwarfprof, seconds, folder, show):
    output, counts = f"{folder}/samples", collections.Counter()
    subprocess.run([dwarfprof, "-F", HZ, "--format", "jsonl", "-o", output, "--", "php", *check_includes.OPCACHE,
                    f"{folder}/main.php", str(seconds)], check=True, timeout=600, stderr=subprocess.DEVNULL)
    with open(output, encoding="utf-8") as file:
        for sample in map(json.loads, file):
            frames = [f for f in sample["user_stack"] if f["kind"] == "php"]
            names = [f["symbol"] for f in frames]
            for called in {"work_A", "work_B"}.intersection(names[:-1]):
                verdict = judge(frames[names.index(called) + 1], called, folder)
                counts[verdict] += 1
                counts[called] += verdict == "whole"
                if verdict == "wrong" and show:
                    print(verdict, *[(f["symbol"], f["file"], f["line"]) for f in frames])
    return counts


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    if not check_includes.has_opcache():
        sys.exit(NOT_RUN)
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        for name, text in FILES.items():
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        for seconds in SECONDS:
            counts = run(args.dwarfprof, seconds, folder, args.show)
            of_class = {called: counts.pop(called, 0) for called in ("work_A", "work_B")}
            n = sum(counts.values())
            is_good = n >= MIN_SAMPLES and counts["unloaded"] <= (1 - SHARE) * n and min(of_class.values()) > n / 10
            if is_good or counts["wrong"]:
                break
    print(f"php, forked: {n} samples:", *[f"{n} {verdict}" for verdict, n in sorted(counts.items())], flush=True)
    sys.exit(0 if is_good and not counts["wrong"] else "some have no names, or others'")


if __name__ == "__main__":
    main()
