#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what rules read from Go's structs with debug information, which names the fields.

usage: check_go_structs.py DWARFPROF SOURCE-DIR [ROW...]

SOURCE-DIR is test-programs/languages/go. Rules that lead to another stack start at the goroutine,
whose address is relative to fs, and follow pointers between structs: g, m, and the gobuf with a
goroutine's saved stack pointer. Their offsets come from the code of the runtime. Each program also
has them in its debug information: each step must be to a field that leads on, and the paths that
the runtime's functions take must exist. The place of a goroutine's labels is what `tables` shows
for programs that set labels. A row is a version and a way to build, such as 1.26/pie.
"""
import os
import re
import subprocess
import sys
import tempfile

import go_toolchains

WAYS = {"default": ("chains", []), "pie": ("chains", ["-buildmode=pie"]), "cgo": ("chains_cgo", []),
        "cgo-pie": ("chains_cgo", ["-buildmode=pie"]),
        "labels": ("labels", []), "labels-pie": ("labels", ["-buildmode=pie"])}

# The fields of a struct that lead on: to another struct, or to the end of the path.
FIELDS = {
    "g": {"m": "m", "sched.sp": None, "sched.pc": None, "sched.bp": None},
    "m": {"g0": "g", "curg": "g"},
}
# What functions must do in every version: switch to the goroutine, or to the thread's own stack.
WANTED = {
    "runtime.systemstack": {"g.m.curg.sched.sp"},
    "runtime.morestack": {"g.m.curg.sched.sp", "g.m.curg.sched.pc"},
}
WANTED_OF = {"chains": WANTED, "labels": WANTED, "chains_cgo": {**WANTED, "runtime.cgocallback": {"g.m.g0.sched.sp"}}}


def output(*command, **kwargs):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **kwargs).stdout


def offsets(path, name):
    """The offsets of a struct's fields by name, from debug information."""
    said = output("llvm-dwarfdump", f"--name=runtime.{name}", "--show-children", "--recurse-depth=1", path)
    return {field: int(offset) for field, offset in re.findall(
        r'DW_TAG_member\n\s+DW_AT_name\s+\("(\w+)"\)\n\s+DW_AT_data_member_location\s+\((\d+)\)', said)}


def structs(path):
    """By struct and offset: the field there, and where it leads."""
    gobuf = offsets(path, "gobuf")
    found = {}
    for name, fields in FIELDS.items():
        own = offsets(path, name)
        found[name] = {own[first] + (gobuf[rest] if rest else 0): (field, to) for field, to in fields.items()
                       for first, _, rest in [field.partition(".")]}
    return found


def place_of_labels(path):
    """Code on the thread's own stack also works for the goroutine: g.m.curg.labels."""
    g, m = offsets(path, "g"), offsets(path, "m")
    return f"deref,+{g['m']:x},deref,+{m['curg']:x},deref,+{g['labels']:x},deref"


def wrong_labels(dwarfprof, path, program):
    """What `tables` says about labels, if it differs from debug information; for programs without
    labels, it should say nothing."""
    said = re.findall(r"^ *labels .* fs_base-[0-9a-f]+,(.*)$", output(dwarfprof, "tables", path), re.M)
    wanted = [place_of_labels(path)] if program == "labels" else []
    return {f"labels are at {said}, not {wanted}"} if said != wanted else set()


def ways(rule):
    """What a rule reads, starting at the goroutine: offsets, as long as each applies to the value
    just read."""
    for found in re.finditer(r"fs_base[+-][0-9a-f]+((?:,deref(?:,[+-][0-9a-f]+)?)+)", rule):
        steps = found[1].split(",deref")[1:]
        # The first read is the goroutine itself; what is added at the end is not read.
        yield [int(step.strip(",") or "0", 16) for step in steps[:-1]]


def named(way, fields):
    """The fields along a path; ends with `?` if there is no field at an offset."""
    at, words = "g", ["g"]
    for offset in way:
        field, at = fields.get(at, {}).get(offset, ("?", None))
        words.append(field)
    return ".".join(words)


def functions(path):
    said = output("nm", "-n", "--defined-only", path)
    return [(int(at, 16), re.sub(r"\.abi(0|internal)$", "", name))
            for at, kind, name in (line.split(" ", 2) for line in said.splitlines()) if kind in "tT"]


def check(dwarfprof, source, row, directory):
    """Prints a row. Returns whether it is good."""
    version, way = row.split("/")
    program, flags = WAYS[way]
    path = os.path.join(directory, "program")
    subprocess.run([go_toolchains.fetch(version), "build", *flags, "-o", path, "."], check=True,
                   cwd=os.path.join(source, program), env=go_toolchains.environment(GO111MODULE="off"))
    fields, starts = structs(path), functions(path)
    n, wrong, seen = 0, wrong_labels(dwarfprof, path, program), {}
    for line in output(dwarfprof, "tables", "--rows", path).splitlines():
        start, _, rule = line.split(" ", 2)
        for steps in ways(rule):
            name = max(each for each in starts if each[0] <= int(start, 16))[1]
            words = named(steps, fields)
            n += 1
            seen.setdefault(name, set()).add(words)
            if "?" in words:
                wrong.add(f"{name} reads {words} at {', '.join(map(hex, steps))}")
    for name, wanted in WANTED_OF[program].items():
        wrong |= {f"{name} does not read {each}" for each in wanted - seen.get(name, set())}
    print(f"{row}: {n} ways, {len(wrong)} wrong", flush=True)
    for each in sorted(wrong):
        print(f"  {each}")
    return not wrong


def main():
    dwarfprof, source = map(os.path.abspath, sys.argv[1:3])
    rows = sys.argv[3:] or [f"{version}/{way}" for version in go_toolchains.VERSIONS for way in WAYS]
    with tempfile.TemporaryDirectory() as directory:
        return int(not all([check(dwarfprof, source, row, directory) for row in rows]))


if __name__ == "__main__":
    sys.exit(main())
