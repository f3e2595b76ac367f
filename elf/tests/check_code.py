#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the instructions of all code of files with what objdump writes of them.

Both may know instructions that the other does not, and write some in other ways, but few. What is data between
functions, both may read in their own ways until they meet again.

usage: check_code.py SHOW_CODE FILE...
"""
import collections
import re
import subprocess
import sys

# Of all instructions.
MAX_DIFFERENT = 0.001
# Names of variables: those of a linker's symbols and of versions are objdump's alone.
NAME = re.compile(r" <[^>]*>$")


def plain(text):
    """Newer versions of objdump write $1 where older ones leave it out."""
    return re.sub(r"\$0?x?1,(?=[^,]*$)", "", NAME.sub("", text.strip())) \
        if re.match(r"(ro|rc|s[ah])[lr]", text) else NAME.sub("", text.strip())


def by_objdump(path):
    out = subprocess.run(["objdump", "-dw", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    # It leaves out what it takes for padding.
    return {int(address, 16): plain(text) for address, text in re.findall(r"(?m)^ *([0-9a-f]+):\t(.*)$", out)}


def by_us(show_code, path):
    out = subprocess.run([show_code, path], capture_output=True, text=True, check=True).stdout
    return {int(address, 16): text for address, text in (line.split(":\t", 1) for line in out.splitlines())}


def main():
    failed = False
    for path in sys.argv[2:]:
        wanted, found = by_objdump(path), by_us(sys.argv[1], path)
        assert len(wanted) > 100, path
        different = [(address, text, plain(found.get(address, "(not there)"))) for address, text in wanted.items()
                     if "(bad)" not in text and text != plain(found.get(address, "(not there)"))]
        names = sum(bool(NAME.search(text)) for text in found.values())
        print(f"{path}: {len(wanted)} instructions, {len(different)} others, {names} names of variables")
        for (word, _), n in collections.Counter((a.split()[0] if a else "", b.split()[0])
                                                for _, a, b in different).most_common(20):
            address, a, b = next(d for d in different if d[1].split()[:1] == [word])
            print(f"  {n} times, as at {address:x}: objdump has {a!r}, not {b!r}")
        failed |= len(different) > MAX_DIFFERENT * len(wanted)
    sys.exit(failed)


main()
