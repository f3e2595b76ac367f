#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that labels of Go's runtime/pprof are those that the program sets, in each format.

usage: check_go_labels.py DWARFPROF SOURCE-DIR [VERSION[/WAY]...]

SOURCE-DIR is test-programs/languages/go. Each function of the program (labels/main.go) always runs
with the same labels, or without any. Every sample is checked, and, for programs built without
flags, the other formats too.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import go_toolchains

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../formats/tests"))
from readers import go_pprof, read_go  # noqa: E402

HZ = "1999"
# Seconds to sample; the longer times are for busy machines.
SECONDS = (2, 5, 20)
MIN_SAMPLES = 20
# Besides JSON lines, which the others are compared with.
FORMATS = ("folded", "pb.gz", "dwarfprof")

# Ways to build Go programs. Labels are found through the program's code, so stripping does not
# matter.
WAYS = {
    "default": ("labels", []),
    "stripped": ("labels", ["-buildmode=pie", "-ldflags=-s -w", "-trimpath"]),
    "cgo": ("labels_cgo", []),
    "noinline": ("labels", ["-gcflags=all=-N -l"]),
    "race": ("labels", ["-race"]),
}
NEWEST_ONLY = ("noinline", "race")

NUMBERED = {f"key{i}": f"value{i}" for i in range(40)}
# The end of a text that was cut.
CUT = "…"
LABELS_CGO = {
    "spin_called": {"from": "go"},
    "spin_called_back": {"from": "callback"},
    "spin_afterwards": {},
}
LABELS = {
    "without": {},
    "withOne": {"one": "1"},
    "withTwo": {"method": "GET", "path": "/a;b c"},
    "withInner": {"level": "inner", "kept": "yes"},
    "withOuter": {"level": "outer", "kept": "yes"},
    "withMany": {key: NUMBERED[key] for key in list(NUMBERED)[:20]},
    # While Go's maps grow.
    "withGrown": {key: NUMBERED[key] for key in list(NUMBERED)[:27]},
    "withTooMany": NUMBERED,
    "withLong": {"long": "é" * 127 + CUT},
    "withOdd": {"": "empty key", "bad?": "zero?", "none": ""},
    "withInherited": {"from": "parent"},
    "withDeep": {"deep": "yes"},
}
# The labels that each sample has.
OWN = ("pid", "tid", "cpu", "comm", "thread_name", "outcome", "state", "language")
# Functions with more labels than fit: the samples have some of them, and say so.
IS_CUT = ("withTooMany", "withLong")
ROOM = 32


def build(source, version, program, flags, path):
    done = subprocess.run([go_toolchains.fetch(version), "build", *flags, "-o", path, "."], text=True,
                          cwd=os.path.join(source, program), capture_output=True,
                          env=go_toolchains.environment(GO111MODULE="off"))
    if done.returncode != 0:
        sys.exit(f"{version} {flags}: {done.stderr}")


def dwarfprof(*command):
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")


def is_as_set(expected, name, labels, is_cut):
    if is_cut != (name in IS_CUT):
        return False
    if name == "withTooMany":
        return len(labels) == ROOM and labels.items() <= NUMBERED.items()
    return labels == expected[name]


def function(expected, names):
    """The function in a stack's names, leaf first, that has the labels."""
    return next((name for full in names if (name := full.removeprefix("main.")) in expected), None)


def check_json(path, expected):
    """Checks each sample; returns how many there are of each function, and of each function's
    labels."""
    seen, told = collections.Counter(), collections.Counter()
    with open(path) as file:
        for line in file:
            sample = json.loads(line)
            name = function(expected, [frame["symbol"] or "" for frame in sample["user_stack"]])
            labels = sample["labels"] or {}
            told[frozenset(labels.items())] += 1
            if not name:
                continue
            # Until the tables are in the kernel, it does not know where labels are; the sample says
            # so.
            is_unknown = sample["late"] and not labels and sample["labels_cut"]
            seen[name] += not is_unknown
            if not is_unknown and not is_as_set(expected, name, labels, sample["labels_cut"]):
                sys.exit(f"{name} has the labels {labels}, cut: {sample['labels_cut']}, late: {sample['late']}, in "
                         + " < ".join(frame["symbol"] or frame["address"] for frame in sample["user_stack"][:12]))
    return seen, told


def compare(counted, wanted, what):
    """Shows the first difference."""
    for labels in {**counted, **wanted}:
        if counted[labels] != wanted[labels]:
            sys.exit(f"{what}: {counted[labels]} samples with {labels}, not {wanted[labels]}")


def folded_text(labels):
    return ";".join(f"[{key}={value}]".replace(";", ":").replace("\0", "?") for key, value in sorted(labels.items()))


def check_folded(path, told):
    counted = collections.Counter()
    with open(path) as file:
        for line in file:
            stack, n = line.rsplit(" ", 1)
            if not stack.startswith("["):
                counted[";".join(re.findall(r"(?<=;)\[[^;]*=[^;]*\](?=;)", stack))] += int(n)
    wanted = collections.Counter()
    for labels, n in told.items():
        wanted[folded_text(dict(labels))] += n
    compare(counted, wanted, "folded stacks")


def check_pprof(path, directory, told):
    """As Go's own reader sees it. It prints unusual keys oddly, and in such profiles "" is no
    value."""
    counted, wanted = collections.Counter(), collections.Counter()
    for sample in read_go(go_pprof(directory, "-symbolize=none", "-raw", path))["samples"]:
        labels = {key: value for key, value in sample["labels"].items() if key not in OWN}
        counted[frozenset(labels.items())] += sample["values"][0]
    for labels, n in told.items():
        wanted[frozenset((key, value) for key, value in labels if value and re.fullmatch(r"\w+", key))] += n
    compare(counted, wanted, "pprof")


def check(program, expected, tool, directory, formats):
    paths = {name: os.path.join(directory, f"profile.{name}") for name in ("jsonl", *formats)}
    outputs = [arg for path in paths.values() for arg in ("-o", path)]
    target = subprocess.Popen([program], stderr=subprocess.DEVNULL, env=dict(os.environ, GOMAXPROCS="2"))
    try:
        for seconds in SECONDS:
            dwarfprof(tool, "-F", HZ, "-d", str(seconds), "-p", str(target.pid), *outputs)
            seen, told = check_json(paths["jsonl"], expected)
            if all(seen[name] >= MIN_SAMPLES for name in expected):
                break
        else:
            sys.exit(f"some function has fewer than {MIN_SAMPLES} samples: {seen}")
    finally:
        target.kill()
        target.wait()
    if formats:
        check_folded(paths["folded"], told)
        check_pprof(paths["pb.gz"], directory, told)
        replayed = os.path.join(directory, "replayed.jsonl")
        dwarfprof(tool, "report", paths["dwarfprof"], "-o", replayed)
        compare(check_json(replayed, expected)[1], told, "a report of the recording")
    return seen.total()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dwarfprof")
    parser.add_argument("source")
    parser.add_argument("rows", nargs="*")
    args = parser.parse_args()
    for row in args.rows or go_toolchains.VERSIONS:
        version, _, only = row.partition("/")
        for way, (source, flags) in {only: WAYS[only]}.items() if only else WAYS.items():
            if way in NEWEST_ONLY and version != max(go_toolchains.VERSIONS):
                continue
            with tempfile.TemporaryDirectory() as directory:
                program = os.path.join(directory, source)
                build(os.path.abspath(args.source), version, source, flags, program)
                formats = FORMATS if way == "default" else ()
                n = check(program, LABELS_CGO if way == "cgo" else LABELS, args.dwarfprof, directory, formats)
                print(f"{go_toolchains.VERSIONS[version]}, {way}: {n} samples", flush=True)


if __name__ == "__main__":
    main()
