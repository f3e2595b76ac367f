#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the lines of instructions with CPython's own, for each function of its library.

usage: check_lines.py [--long] LINES [PYTHON...]

LINES is built from lines.c. --long: all files of the library, not every fourth. Each interpreter compiles its library and says what its line tables mean:
code.co_lines() from 3.10 on, else dis.findlinestarts().
"""
import glob
import os
import re
import subprocess
import sys

# Prints `version first n table` and the lines of n instructions, of each code object.
LIST = r"""
import dis, glob, os, sys, types

def lines_of(code):
    n = len(code.co_code) // 2
    lines = [0] * n
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            for i in range(start // 2, min(end // 2, n)):
                lines[i] = line or 0
        return lines
    at, line = dict(dis.findlinestarts(code)), 0
    for i in range(n):
        line = at.get(2 * i, line)
        lines[i] = line or code.co_firstlineno
    return lines

def show(code):
    table = getattr(code, "co_linetable", None)
    if table is None:
        table = code.co_lnotab
    lines = lines_of(code)
    print("%x %d %d %s" % (sys.hexversion >> 16, code.co_firstlineno, len(lines), table.hex() or "-"))
    print(" ".join(map(str, lines)))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            show(constant)

library = os.path.dirname(os.__file__)
paths = sorted(glob.glob(library + "/*.py") + glob.glob(library + "/asyncio/*.py"))
for path in paths[::int(sys.argv[1])]:
    with open(path, "rb") as of:
        show(compile(of.read(), path, "exec"))
"""


def version_of(python):
    return subprocess.run([python, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=True).stdout.strip()


def find_pythons():
    found = glob.glob("/usr/bin/python3.[0-9]*") + glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    known = re.compile(r"Python 3\.([89]|1[0-9])\.")
    return sorted(p for p in found if not p.endswith("-config") and known.match(version_of(p)))


def check(lines, python, each):
    text = subprocess.run([python, "-W", "ignore", "-c", LIST, str(each)], stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = text.splitlines()
    wanted = [row.split() for row in rows[1::2]]
    got = subprocess.run([lines], input="\n".join(rows[::2]) + "\n", stdout=subprocess.PIPE, text=True, check=True)
    ours = [row.split() for row in got.stdout.splitlines()]
    different = [i for i in range(len(wanted)) if i >= len(ours) or ours[i] != wanted[i]]
    print(f"{version_of(python)}: {len(wanted)} functions, {sum(map(len, wanted))} instructions, "
          f"{len(different)} functions differ")
    for i in different[:1]:
        print(rows[2 * i], "ours", ours[i:i + 1], "wanted", wanted[i], sep="\n")
    return len(wanted) > 1000 and not different


def main():
    is_long, (lines, *pythons) = "--long" in sys.argv, [arg for arg in sys.argv[1:] if arg != "--long"] or [None]
    if not lines:
        sys.exit(__doc__)
    pythons = pythons or find_pythons()
    if not pythons or not all([check(lines, python, 1 if is_long else 4) for python in pythons]):
        sys.exit("lines differ")


if __name__ == "__main__":
    main()
