#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs in languages, profiled as people do, and the profilers of these languages beside it.

usage: bench/languages.py BUILD RESULTS [--seconds S] [--only NAME]... [--show] [--keep DIR]

Writes RESULTS/languages.json, and prints tables. Programs: sites under load, builds, an installation
(language_programs.py): `dwarfprof -p PID -d S`, at its own rate and at 999 Hz. Columns: samples in user space;
the shares with a frame of the language, complete, with code that is there but has no name ([javascript] for
instance, not unnamed functions of stripped files), and with code that is gone ([python, unloaded]); dwarfprof's
own CPU time, all of it, and of that per sample; and of its BPF programs per sample.

Peers: stacks of stopped or waiting threads must be equal to those of `py-spy dump`, `jstack` and `rbspy
snapshot`; the functions that are innermost most often, to those of `py-spy record` and async-profiler,
within what chance allows (language_peers.py). Fails if one is not, or if a share is below the floor of its
program. --show prints what is different, and stacks without frames of the language. --keep keeps the profiles.

Needs root, and `ci/setup languages`; what is not installed is left out, and said.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import language_peers
import language_programs
import machine
import profilers
import programs
from workloads import Missing

JAVA_HOMES = ("/usr/lib/jvm/java-17-openjdk-amd64", "/usr/lib/jvm/temurin-25-jdk-amd64", "/usr/lib/jvm/default-java")
# Its own rate, and one that people use for details.
RATES = (None, 999)
COMPLETE = 0.99
# Fewer samples decide nothing.
MIN_SAMPLES = 200
# Processes end while they are profiled, and so does memory with names.
GONE = re.compile(r"^\[\w+, (unloaded|moved)\]$")
# Of the time, for BPF's costs, which are gone with the program.
BEFORE_END = 0.5


def run(dwarfprof, pid, rate, seconds, path):
    """Profiles once. Its CPU time in ns, and the time of its BPF programs so far."""
    command = [dwarfprof, "-p", str(pid), "-d", str(seconds), "-o", path, *(["-F", str(rate)] if rate else [])]
    with open(path + ".log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stderr=log)
    profilers.wait_for_sampling(process, path + ".log")
    time.sleep(max(0, seconds - BEFORE_END))
    bpf_ns, runs = profilers.program_ns(process.pid)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: {profilers.read(path + '.log')[-2000:]}")
    return (usage.ru_utime + usage.ru_stime) * 1e9, bpf_ns / max(runs, 1)


def is_unnamed(frame):
    """Is it code of a runtime that is there, but is not known?"""
    if frame["kind"] == "native":
        return frame["module"] is None
    return frame["kind"] != "kernel" and frame["symbol"] in (None, "", "?")


def judge(path, language, show):
    """Counts of a profile's samples."""
    counts, without = collections.Counter(), collections.Counter()
    with open(path, encoding="utf-8") as file:
        for sample in map(json.loads, file):
            stack = sample["user_stack"]
            if sample["outcome"] == "no_user_stack":
                continue
            has_language = any(f["kind"] == language for f in stack)
            counts["samples"] += 1
            counts["language"] += has_language
            counts["complete"] += sample["outcome"] == "complete"
            counts["unnamed"] += any(map(is_unnamed, stack))
            counts["gone"] += any(GONE.match(f["symbol"] or "") for f in stack)
            if not has_language:
                without[" < ".join(f["symbol"] or "?" for f in stack[-6:])] += 1
    for stack, times in without.most_common(12 if show else 0):
        print(f"    {times} without {language}: {stack}")
    return dict(counts)


def measure(dwarfprof, name, seconds, directory, show):
    """A row for each rate."""
    language, start, *limits = language_programs.PROGRAMS[name]
    rows = []
    with start(directory) as pid:
        for rate in RATES:
            path = os.path.join(directory, f"{rate or 'default'}.jsonl")
            cpu_ns, bpf_ns = run(dwarfprof, pid, rate, seconds, path)
            counts = judge(path, language, show)
            n = counts.get("samples", 0)
            rows.append({"program": name, "language": language, "rate": rate or 99, "seconds": seconds, **counts, "cpu_ms": cpu_ns / 1e6,
                         "cpu_ns_per_sample": cpu_ns / max(n, 1), "bpf_ns_per_run": bpf_ns,
                         "good": is_good(counts, *limits)})
    return rows


def is_good(counts, least, most_unnamed, most_gone):
    n = counts.get("samples", 0)
    return (n >= MIN_SAMPLES and counts["language"] >= least * n and counts["complete"] >= COMPLETE * n and
            counts["unnamed"] <= most_unnamed * n and counts["gone"] <= most_gone * n)


def show_row(row):
    n = max(row.get("samples", 0), 1)
    shares = " | ".join(f"{100 * row.get(name, 0) / n:.2f} %" for name in ("language", "complete", "unnamed", "gone"))
    print(f"| {row['program']} | {row['rate']} | {row.get('samples', 0):,} | {shares} | {row['cpu_ms']:.0f} | "
          f"{row['cpu_ns_per_sample'] / 1e3:.0f} | {row['bpf_ns_per_run'] / 1e3:.1f} |{'' if row['good'] else ' FAILED'}", flush=True)


def homes():
    return [home for home in JAVA_HOMES if os.path.exists(f"{home}/bin/jstack")][:2]


def all_dumps(dwarfprof, show):
    """name: a function of a directory that compares, and returns counts of equal and different threads"""
    dumps = {"py-spy dump": lambda d: language_peers.dump_python(dwarfprof, d, 20, show)}
    for home in homes():
        dumps[f"jstack, {os.path.basename(home)}"] = lambda d, home=home: language_peers.dump_java(dwarfprof, d, home, show)
    dumps["rbspy snapshot"] = lambda d: language_peers.dump_ruby(dwarfprof, d, 20, show)
    return dumps


def all_profiles(dwarfprof, seconds):
    profiles = {"py-spy record": lambda d: language_peers.profile_python(dwarfprof, d, seconds)}
    for home in homes()[:1]:
        profiles["async-profiler"] = lambda d, home=home: language_peers.profile_java(dwarfprof, d, home, seconds)
    return profiles


def compare_dump(name, compare, directory):
    equal, different, *lines = compare(directory)
    print(f"| {name} | {equal} | {different} | {lines[0] if lines else 0} |{'' if equal and not different else ' FAILED'}", flush=True)
    return {"peer": name, "equal": equal, "different": different, "lines_missing": lines[0] if lines else 0,
            "good": equal > 0 and different == 0}


def compare_profile(name, profile, directory):
    ours, theirs = profile(directory)
    rows = language_peers.most(ours, theirs)
    good = min(sum(ours.values()), sum(theirs.values())) >= MIN_SAMPLES and all(row[3] for row in rows)
    print(f"\n| {name}: innermost function | ours, of {sum(ours.values()):,} | theirs, of {sum(theirs.values()):,} |\n|---|--:|--:|")
    for function, mine, other, is_chance in rows:
        print(f"| {function} | {100 * mine:.2f} % | {100 * other:.2f} % |{'' if is_chance else ' FAILED'}", flush=True)
    return {"peer": name, "rows": rows, "good": good}


def each(tasks, options, work):
    """What each task gives, in a directory of its own; without those that are not installed."""
    results = []
    for name, task in tasks.items():
        if options.only and not any(name.startswith(only) for only in options.only):
            continue
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            if options.keep:
                directory = os.path.join(os.path.abspath(options.keep), re.sub(r"\W+", "-", name))
                os.makedirs(directory)
            try:
                results.append(work(name, task, directory))
            except Missing as missing:
                print(f"{name}: {missing} is not installed; try: ci/setup languages", file=sys.stderr, flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2].replace("%", "%%"))
    parser.add_argument("build")
    parser.add_argument("results")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--only", action="append")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--keep")
    options = parser.parse_args()
    dwarfprof = os.path.abspath(f"{options.build}/cli/dwarfprof")

    def measure_program(name, _, directory):
        rows = measure(dwarfprof, name, options.seconds, directory, options.show)
        for row in rows:
            show_row(row)
        return rows

    before = programs.set_stats("1")
    try:
        print("| program | Hz | samples | language | complete | unnamed | gone | CPU, ms | µs/sample | BPF, µs |\n"
              "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
        rows = sum(each(language_programs.PROGRAMS, options, measure_program), [])
        print("\n| stacks of | equal | different | without a line |\n|---|--:|--:|--:|", flush=True)
        dumps = each(all_dumps(dwarfprof, options.show), options, compare_dump)
        profiles = each(all_profiles(dwarfprof, 3 * options.seconds), options, compare_profile)
    finally:
        programs.set_stats(before.strip())
    machine.write(options.results, "languages", programs=rows, dumps=dumps, profiles=profiles)
    return int(not rows + dumps + profiles or not all(found["good"] for found in rows + dumps + profiles))


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("bench/languages.py: needs root\n  try: sudo bench/languages.py BUILD RESULTS")
    sys.exit(main())
