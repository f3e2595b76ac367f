#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the rows of an image with what readelf makes of the same section.

usage: compare_readelf.py DWARFPROF FILE...

For every row that `readelf --debug-dump=frames-interp` prints, the image must
give the same CFA, return address, rbp and callee-saved registers; and where
readelf has no row, the image must have none. readelf prints expressions only
as `exp`: there the image's rule must be one made from an expression. Rows
that the image refuses (`none`) are counted; one in a thousand is too many.
"""
import bisect
import re
import subprocess
import sys

REGISTERS = ["ra", "rbp", "rbx", "r12", "r13", "r14", "r15"]
FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=[0-9a-f]+ pc=([0-9a-f]+)\.\.([0-9a-f]+)")


def image_rows(dwarfprof, path):
    """[(start, end, {"cfa": text, "ra": text, ...})] in ascending order."""
    out = subprocess.run([dwarfprof, "tables", "--rows", "--regs", path],
                         capture_output=True, text=True, check=True).stdout
    rows = []
    for line in out.splitlines():
        start, end, cfa, *rules = line.split()
        row = dict(rule.split("=") for rule in rules)
        row["cfa"] = cfa
        row["rbp"] = row.pop("fp")
        rows.append((int(start, 16), int(end, 16), row))
    return rows


def readelf_rows(path):
    """(start, end, {...}) of every row of .eh_frame, in the order of the section."""
    process = subprocess.Popen(
        ["readelf", "--wide", "--debug-dump=frames-interp", path],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    in_eh_frame, fde_end, columns, pending = False, None, [], None
    for line in process.stdout:
        if line.startswith("Contents of the"):
            in_eh_frame = ".eh_frame" in line
        if not in_eh_frame:
            continue
        fde = FDE.match(line)
        # "r5 (rdi)": a register by number and name
        fields = re.sub(r"\br\d+ \((\w+)\)", r"\1", line).split()
        if fde or not fields or " CIE " in line:
            if pending:
                yield pending[0], fde_end, pending[1]
                pending = None
            fde_end = int(fde.group(2), 16) if fde else None
        elif fields[0] == "LOC":
            columns = fields[1:]
        elif fde_end is not None:
            start = int(fields[0], 16)
            if pending and pending[0] < start:
                yield pending[0], start, pending[1]
            pending = (start, dict(zip(columns, fields[1:])))
    if pending:
        yield pending[0], fde_end, pending[1]
    process.wait()


def decimal_to_hex(text):
    return re.sub(r"([+-])(\d+)$", lambda m: m.group(1) + format(int(m.group(2)), "x"), text)


def same(register, theirs, ours):
    """Do readelf's and the image's words for one rule mean the same?"""
    if theirs in (None, "s") or (theirs == "u" and register not in ("ra",)):
        # readelf prints `u` both for undefined and for a register the FDE is silent about.
        return ours in ("s", "u")
    if theirs == "exp":
        return ours.startswith("*(")
    if theirs.startswith("c"):
        return ours == decimal_to_hex(theirs)
    return ours == theirs


def compare(dwarfprof, path):
    ours = image_rows(dwarfprof, path)
    starts = [row[0] for row in ours]
    compared, refused, differences = 0, 0, []
    for start, end, theirs in readelf_rows(path):
        if start >= end:
            continue
        compared += 1
        i = bisect.bisect_right(starts, start) - 1
        if i < 0 or not ours[i][0] <= start < end <= ours[i][1]:
            differences.append((start, theirs, None))
            continue
        row = ours[i][2]
        if row["cfa"] == "none":
            refused += 1
            continue
        if theirs["CFA"] == "exp":
            equal = row["cfa"].startswith(("*(", "plt("))
        else:
            equal = row["cfa"] == decimal_to_hex(theirs["CFA"])
        if row["cfa"].startswith("*(rsp+a0)+0") and row["ra"] == "*(rsp+a8)":
            registers = ["ra", "rbp"]
        else:
            registers = REGISTERS
        if not equal or not all(same(r, theirs.get(r), row[r]) for r in registers):
            differences.append((start, theirs, row))
    return compared, refused, differences


def main():
    dwarfprof, *paths = sys.argv[1:]
    failed = 0
    total = 0
    for path in paths:
        compared, refused, differences = compare(dwarfprof, path)
        total += compared
        if differences or compared == 0 or refused > compared / 1000:
            failed = 1
        print(f"{path}: {compared} rows compared, {refused} refused by the image, "
              f"{len(differences)} different")
        for start, theirs, row in differences[:5]:
            print(f"  {start:x}: readelf {theirs}, image {row}")
    print(f"{total} rows compared")
    return failed


if __name__ == "__main__":
    sys.exit(main())
