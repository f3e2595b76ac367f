#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes of an image per row of unwind information.

usage: bytes_per_row.py DWARFPROF FILE-OR-DIRECTORY...

Counts rows as in tables of other unwinders, to be comparable: neighbours with equal rules for CFA,
return address and rbp are one row, even across functions. Gaps of less than 64 bytes belong to the
row before them; larger ones are a row. The image itself keeps every gap, and the other callee-saved
registers.
"""
import json
import subprocess
import sys

SMALL_GAP = 64
LARGEST = 12


def count_rows(lines):
    """Counts rows in the output of `dwarfprof tables --rows DIRECTORY...`, by path."""
    counts, path, rule, end = {}, None, None, None
    for line in lines:
        if line.startswith("#"):
            path, rule, end = line[2:].rstrip("\n"), None, None
            counts[path] = 0
            continue
        start, row_end, *this = line.split()
        start = int(start, 16)
        if rule is not None and start - end >= SMALL_GAP:
            counts[path] += 1
            rule = None
        if this != rule:
            counts[path] += 1
        rule, end = this, int(row_end, 16)
    return counts


def main():
    dwarfprof, *paths = sys.argv[1:]
    # With a second path, each file's rows follow a line with its name.
    command = [dwarfprof, "tables"]
    files = json.loads(subprocess.run([*command, "--json", *paths], capture_output=True).stdout)
    with subprocess.Popen([*command, "--rows", *paths, "/proc/self/exe"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as rows:
        counts = count_rows(rows.stdout)
    sizes = [(counts[f["path"]], f["image_bytes"], f["build_ns"], f["path"])
             for f in files if counts.get(f.get("path"), 0) > 0]
    sizes.sort(reverse=True)
    print("| file | table rows | image bytes | bytes per row | ns per row |")
    print("|---|--:|--:|--:|--:|")
    for rows, size, ns, path in sizes[:LARGEST]:
        print(f"| {path} | {rows:,} | {size:,} | {size / rows:.2f} | {ns / rows:.0f} |")
    rows, size, ns = (sum(column) for column in list(zip(*sizes))[:3])
    print(f"| all {len(sizes)} files | {rows:,} | {size:,} | {size / rows:.2f} | {ns / rows:.0f} |")


if __name__ == "__main__":
    main()
