#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the rows of an image with what readelf makes of the same section.

usage: compare_readelf.py DWARFPROF FILE...

For every row that `readelf --debug-dump=frames-interp` prints, the image must
give the same CFA, return address, rsp, rbp and callee-saved registers; and where
readelf has no row, the image must have none. The one exception is the code that
the file is entered at: it has no caller, whether the unwind information says so
or not. readelf prints expressions only as `exp` or `vexp`: there the image's rule
must be one made from an expression. Rows that the image refuses (`none`) are counted;
one in a thousand is too many.
"""
import bisect
import re
import subprocess
import sys

REGISTERS = ["ra", "rsp", "rbp", "rbx", "r12", "r13", "r14", "r15"]
SAVED = REGISTERS[3:]  # have no programs in the image
ENTRY_SIZE = 64  # bytes from the entry on: tables/image.c
CIE = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE ")
FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")


def image_rows(dwarfprof, path):
    """[(start, end, {"cfa": text, "ra": text, ...})] in ascending order."""
    out = subprocess.run([dwarfprof, "tables", "--rows", "--regs", path],
                         capture_output=True, text=True, check=True).stdout
    rows = []
    for line in out.splitlines():
        start, end, cfa, *rules = line.split()
        row = dict(rule.split("=", 1) for rule in rules)
        row["cfa"] = cfa
        row["rbp"] = row.pop("fp")
        row["rsp"] = row.pop("sp", "v+0")  # the CFA
        rows.append((int(start, 16), int(end, 16), row))
    return rows


def readelf_records(path):
    """(line, [(start, {"CFA": text, ...})]) of every CIE and FDE of .eh_frame, in its order."""
    process = subprocess.Popen(
        ["readelf", "--wide", "--debug-dump=frames-interp", path],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    in_eh_frame, record, columns, rows = False, None, [], []
    for line in process.stdout:
        if line.startswith("Contents of the"):
            in_eh_frame = ".eh_frame" in line
        if not in_eh_frame:
            continue
        # "r5 (rdi)": a register by number and name
        fields = re.sub(r"\br\d+ \((\w+)\)", r"\1", line).split()
        if FDE.match(line) or CIE.match(line) or not fields:
            if record:
                yield record, rows
            record, rows = line if fields else None, []
        elif fields[0] == "LOC":
            columns = fields[1:]
        elif record:
            rows.append((int(fields[0], 16), dict(zip(columns, fields[1:]))))
    if record:
        yield record, rows
    process.wait()


def readelf_rows(path):
    """(start, end, {...}) of every row of .eh_frame, in the order of the section."""
    initial = {}
    for line, rows in readelf_records(path):
        fde = FDE.match(line)
        if not fde:
            initial[CIE.match(line).group(1)] = rows[0][1] if rows else {}
            continue
        start, end = (int(fde.group(i), 16) for i in (2, 3))
        # Where an FDE adds nothing to its CIE, readelf prints no rows.
        rows = rows or [(start, initial[fde.group(1)])]
        ends = [row[0] for row in rows[1:]] + [end]
        for (row_start, row), row_end in zip(rows, ends):
            yield row_start, row_end, row


def entry_of(path):
    out = subprocess.run(["readelf", "--wide", "--file-header", path],
                         capture_output=True, text=True, check=True).stdout
    return int(re.search(r"Entry point address: +0x([0-9a-f]+)", out).group(1), 16)


def without(start, end, ranges):
    """What is left of start..end outside of the ranges, which ascend."""
    for i in range(max(bisect.bisect_right(ranges, (start,)) - 1, 0), len(ranges)):
        if ranges[i][0] >= end:
            break
        if start < ranges[i][0]:
            yield start, ranges[i][0]
        start = max(start, ranges[i][1])
    if start < end:
        yield start, end


def joined(ranges):
    """The same addresses in ranges that ascend and do not touch."""
    result = []
    for start, end in sorted(ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def rows_in_gaps(ours, known, entry):
    """(start, None, row) of what the image says about addresses without a row."""
    for start, end, row in ours:
        for gap_start, gap_end in without(start, end, known):
            if row["ra"] != "u" or gap_start != entry or gap_end > entry + ENTRY_SIZE:
                yield gap_start, None, row


def decimal_to_hex(text):
    return re.sub(r"([+-])(\d+)$", lambda m: m.group(1) + format(int(m.group(2)), "x"), text)


def same(register, theirs, ours):
    """Do readelf's and the image's words for one rule mean the same?"""
    if register == "rsp" and (ours == "v+0" or theirs == "s"):
        return theirs in (None, "u", "v+0") or ours == "rsp"
    if theirs in (None, "s") or (theirs == "u" and register not in ("ra",)):
        # readelf prints `u` both for undefined and for a register the FDE is silent about.
        return ours in ("s", "u")
    if theirs == "exp":
        return ours.startswith(("*(", "exp(cfa")) or (ours == "unknown" and register in SAVED)
    if theirs == "vexp" or theirs.startswith("v"):
        return ours.startswith("exp(cfa") or (ours == "unknown" and register in SAVED)
    if theirs.startswith("c"):
        return ours == decimal_to_hex(theirs)
    return ours == theirs


def compare(dwarfprof, path):
    ours = image_rows(dwarfprof, path)
    starts = [row[0] for row in ours]
    compared, refused, differences, known = 0, 0, [], []
    for start, end, theirs in readelf_rows(path):
        if start >= end:
            continue
        compared += 1
        known.append((start, end))
        i = bisect.bisect_right(starts, start) - 1
        if i < 0 or not ours[i][0] <= start < end <= ours[i][1]:
            differences.append((start, theirs, None))
            continue
        row = ours[i][2]
        if row["cfa"] == "none":
            refused += 1
            continue
        if theirs["CFA"] == "exp":
            equal = row["cfa"].startswith(("*(", "plt(", "exp("))
        else:
            equal = row["cfa"] == decimal_to_hex(theirs["CFA"])
        if row["cfa"].startswith("*(rsp+a0)+0") and row["ra"] == "*(rsp+a8)":
            registers = ["ra", "rbp"]
        else:
            registers = REGISTERS
        if not equal or not all(same(r, theirs.get(r), row[r]) for r in registers):
            differences.append((start, theirs, row))
    differences += rows_in_gaps(ours, joined(known), entry_of(path))
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
