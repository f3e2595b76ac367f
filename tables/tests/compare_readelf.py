#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the rows of an image with readelf's rows of the same section.

usage: compare_readelf.py DWARFPROF FILE...

For every row that `readelf --debug-dump=frames-interp` prints, the image must give the same CFA,
return address, rsp, rbp and callee-saved registers; where readelf has no row, the image must have
none. Exceptions:

* the code at the file's entry point, which has no caller, whatever the unwind information says;
* known code, whose rows must be what objdump's instructions do to the stack (in clone(), for the
  parent), or those of Go's own table;
* functions of Go's runtime whose rows are known to be wrong: the image's rows are counted separately.

readelf prints expressions only as `exp` or `vexp`; the image's rule must then be made from an
expression. A row that the image refuses (`none`) is counted separately, and is an error.

A file without rows must have no section for them. A file that has one, or cannot be read, is not
compared, which counts as an error.
"""
import bisect
import functools
import json
import re
import subprocess
import sys

import go_table

REGISTERS = ["ra", "rsp", "rbp", "rbx", "r12", "r13", "r14", "r15"]
SAVED = REGISTERS[3:]  # have no programs in the image
ENTRY_SIZE = 64  # bytes from the entry on: tables/image.c
CIE = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE ")
FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
# "[ 1] .text PROGBITS 0000000000401000 001000 3955ff 00  AX  0   0 32"
SECTION = re.compile(
    r"^ *\[ *\d+\] (\S+) +(\S+) +[0-9a-f]{16} [0-9a-f]+ ([0-9a-f]+) \S+ +(\S*?) +\d+ +\d+ +\d+$", re.M)
TERMINATOR = 4  # bytes of an .eh_frame without records


class Rules(dict):
    """Of a row. Those with the same text are one object, as a file has few different ones, and are compared once."""
    __hash__, __eq__ = object.__hash__, object.__eq__


@functools.lru_cache(maxsize=1)
def sections_of(path):
    """{name: (type, size, flags)}"""
    out = subprocess.run(["readelf", "--wide", "--sections", path],
                         capture_output=True, text=True, check=True).stdout
    found = SECTION.findall(out)
    n = re.search(r"^There (?:are|is) (\d+) section header", out, re.M)
    if n and len(found) != int(n.group(1)) - 1:  # the first is empty
        raise ValueError(f"{n.group(1)} section headers, of which {len(found)} can be read")
    return {name: (kind, int(size, 16), flags) for name, kind, size, flags in found}


def why_nothing(path):
    """The reason for a lack of unwind information, by the section headers; None: there may be some."""
    sections = sections_of(path)
    eh_frame, size, _ = sections.get(".eh_frame", (None, 0, ""))
    if not sections:
        raise ValueError("readelf cannot read unwind information without section headers")
    if sections.keys() & {".debug_frame", ".zdebug_frame"}:
        return None
    if eh_frame is None:
        return "neither .eh_frame nor .debug_frame"
    if eh_frame == "NOBITS":
        return "the bytes are in another file"
    return ".eh_frame has no record" if size <= TERMINATOR else None


@functools.lru_cache(maxsize=None)
def image_rules(text):
    """{"cfa": text, "ra": text, ...}"""
    cfa, *rules = text.split()
    row = Rules(rule.split("=", 1) for rule in rules)
    row["cfa"] = cfa
    row["rbp"] = row.pop("fp")
    row["rsp"] = row.pop("sp", "v+0")  # the CFA
    return row


def image_rows(dwarfprof, path):
    """[(start, end, rules)] in ascending order."""
    out = subprocess.run([dwarfprof, "tables", "--rows", "--regs", path],
                         capture_output=True, text=True, check=True).stdout
    rows = []
    for line in out.splitlines():
        start, end, rules = line.split(None, 2)
        rows.append((int(start, 16), int(end, 16), image_rules(rules)))
    return rows


def section_of(dwarfprof, path):
    """The section that the image is made from."""
    out = subprocess.run([dwarfprof, "tables", "--json", path],
                         capture_output=True, text=True, check=True).stdout
    return ".debug_frame" if "debug" in json.loads(out)[0]["source"] else ".eh_frame"


def words_of(text):
    """"r5 (rdi)", a register by number and name, is one."""
    return re.sub(r"\br\d+ \((\w+)\)", r"\1", text).split()


@functools.lru_cache(maxsize=None)
def readelf_rules(columns, text):
    """{"CFA": text, ...}"""
    return Rules(zip(words_of(columns), words_of(text)))


def is_record(line):
    return bool("FDE" in line and FDE.match(line) or "CIE" in line and CIE.match(line))


def readelf_records(path, section):
    """(line, [(start, rules)]) of every CIE and FDE of a section, in its order."""
    process = subprocess.Popen(
        ["readelf", "--wide", "--debug-dump=frames-interp", path],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    in_section, record, columns, rows = False, None, "", []
    for line in process.stdout:
        if line.startswith("Contents of the"):
            in_section = section in line
        if not in_section:
            continue
        first, _, rest = line.strip().partition(" ")
        if not first or is_record(line):
            if record:
                yield record, rows
            record, rows = line if first else None, []
        elif first == "LOC":
            columns = rest
        elif record:
            rows.append((int(first, 16), readelf_rules(columns, rest)))
    if record:
        yield record, rows
    process.wait()


def readelf_rows(path, section):
    """(start, end, {...}) of every row of a section, in its order."""
    initial = {}
    for line, rows in readelf_records(path, section):
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


def rows_of_file(path, section, first):
    """The same; where .eh_frame has none, those of .debug_frame, from the first address on."""
    rows = []
    for row in readelf_rows(path, section):
        rows.append(row)
        yield row
    if section == ".eh_frame":
        known = joined((start, end) for start, end, _ in rows)
        for start, end, row in readelf_rows(path, ".debug_frame"):
            if start >= first and list(without(start, end, known)) == [(start, end)]:
                yield start, end, row


def entry_of(path):
    out = subprocess.run(["readelf", "--wide", "--file-header", path],
                         capture_output=True, text=True, check=True).stdout
    return int(re.search(r"Entry point address: +0x([0-9a-f]+)", out).group(1), 16)


def without(start, end, ranges):
    """The parts of start..end outside the ranges, which ascend."""
    for i in range(max(bisect.bisect_right(ranges, (start,)) - 1, 0), len(ranges)):
        if ranges[i][0] >= end:
            break
        if start < ranges[i][0]:
            yield start, ranges[i][0]
        start = max(start, ranges[i][1])
    if start < end:
        yield start, end


def joined(ranges):
    """The same addresses as ascending ranges that do not touch."""
    result = []
    for start, end in sorted(ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def simulated(path, start, end):
    """{address: CFAs} from the instructions that push, pop, jump and return, by objdump."""
    code = [f"--section={name}" for name, (_, _, flags) in sections_of(path).items() if "X" in flags]
    # All: Go's linker marks functions of other files as data, so objdump takes their PLT for data.
    out = subprocess.run(
        ["objdump", "--disassemble-all", *code, "--no-show-raw-insn", "--wide",
         f"--start-address={start:#x}", f"--stop-address={end:#x}", path],
        capture_output=True, text=True, check=True).stdout
    instructions = re.findall(r"^ *([0-9a-f]+):\t(\S+) *(.*)$", out, re.M)
    depth, base, fresh, cfa, jumped_to = 8, None, True, {}, {}
    for address, name, operands in instructions:
        if name == "bnd":
            name = operands.split()[0]
        if fresh and "nop" not in name and name != "xchg":
            # The first entry of a PLT is jumped to, with a number pushed.
            depth, base = 16 if name == "push" and "(%rip)" in operands else 8, None
            depth, base = jumped_to.get(int(address, 16), (depth, base))
            fresh = False
        cfa.setdefault(int(address, 16), {f"rsp+{depth:x}"} | ({base} if base else set()))
        if name == "push":
            depth += 8
        elif name == "pop" or name == "leave":
            depth, base = 8 if base else depth - 8, None
        elif operands == "$0x8,%rsp":
            depth += 8 if name == "sub" else -8
        elif operands == "%rsp,%rbp":
            base = f"rbp+{depth:x}"
        elif name.startswith("j") and re.match(r"(0x)?[0-9a-f]+( |$)", operands):
            # "295eaf4 <f+0x14>", or 0x295eaf4 in a file without symbols
            jumped_to[int(operands.split()[0], 16)] = depth, base
        elif operands == "$0xf,%rax":
            cfa[int(address, 16)] = {"signal"}
        fresh = fresh or name in ("ret", "repz", "jmp")
    return cfa


def rows_in_gaps(ours, known, entry):
    """(start, end, row) of the image for addresses without a row, in ascending order."""
    for start, end, row in ours:
        for gap_start, gap_end in without(start, end, known):
            if row["ra"] != "u" or gap_start != entry or gap_end > entry + ENTRY_SIZE:
                yield gap_start, gap_end, row


def differences_from_objdump(path, gaps):
    """(start, None, row) of wrong rows of known code."""
    pieces = []
    for start, end, row in gaps:
        if pieces and pieces[-1][1] == start:
            pieces[-1][1] = end
            pieces[-1][2].append((start, end, row))
        else:
            pieces.append([start, end, [(start, end, row)]])
    for piece_start, piece_end, rows in pieces:
        cfa = simulated(path, piece_start, piece_end + 9)
        for start, end, row in rows:
            said = row["cfa"][6:-1] if row["cfa"].startswith("clone(") else row["cfa"]
            inside = [cfa[a] for a in range(start, end) if a in cfa]
            if row["cfa"] == "*(rsp+a0)+0" and row["ra"] == "*(rsp+a8)":
                # It starts one byte before the trampoline, because callers are looked up there;
                # the trampoline, a mov and a syscall, has nine bytes.
                equal = {"signal"} in simulated(path, start + 1, max(end, start + 10)).values()
            else:
                equal = inside and all(said in any_of for any_of in inside) and row["ra"] == "c-8"
            if not equal:
                yield start, None, row


def differences_from_go(functions, rows):
    """(start, None, row) of rows that differ from Go's own table."""
    depths = [depth for f in functions for depth in f.depths]
    starts = [first for first, _, _ in depths]
    for start, end, row in rows:
        i = bisect.bisect_right(starts, start) - 1
        depth = {n for first, last, n in depths[max(i, 0):bisect.bisect_left(starts, end)] if start < last}
        if row["cfa"] not in {f"rsp+{n + 8:x}" for n in depth} or len(depth) != 1 or row["ra"] != "c-8":
            yield start, None, row


def by_origin(gaps, functions):
    """The image's rows from Go's own table, those of functions with rules of their own, and the others."""
    starts = [f.start for f in functions]
    go, own, known = [], [], []
    for gap in gaps:
        i = bisect.bisect_right(starts, gap[0]) - 1
        # Neighbours with the same rule are one row.
        inside = [f for f in functions[max(i, 0):bisect.bisect_left(starts, gap[1])] if f.end > gap[0]]
        if not inside:
            known.append(gap)
        elif any(f.has_own_rules() for f in inside):
            own.append(gap)
        else:
            go += [(max(gap[0], f.start), min(gap[1], f.end), gap[2]) for f in inside]
    return go, own, known


def is_own_rule(functions, starts, start, rows):
    """True if these rows of ours are a Go function's own rules."""
    i = bisect.bisect_right(starts, start) - 1
    return i >= 0 and start < functions[i].end and functions[i].has_own_rules() and all(
        row["ra"] == "u" or row["cfa"].startswith(("switch:", "clone(", "*(rsp+a0)", "none", "rsp+"))
        for _, _, row in rows)


def decimal_to_hex(text):
    return re.sub(r"([+-])(\d+)$", lambda m: m.group(1) + format(int(m.group(2)), "x"), text)


def same(register, theirs, ours):
    """True if readelf's and the image's texts mean the same rule."""
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


class Comparison:
    """The result for one file. For gaps of the image and for Go's runtime: numbers of rows."""
    def __init__(self):
        self.compared, self.refused, self.go, self.gaps = 0, 0, 0, 0
        self.differences = []  # (start, readelf's row, the image's)
        self.nothing = None    # why readelf has no row

    def __str__(self):
        if self.nothing:
            words = [f"nothing to compare: {self.nothing}"]
        else:
            words = [f"{self.compared} rows compared", f"{self.refused} refused by the image"]
        words += [f"{self.go} of Go's runtime"] if self.go else []
        words += [f"{self.gaps} in gaps"] if self.gaps else []
        return ", ".join([*words, f"{len(self.differences)} different"])


@functools.lru_cache(maxsize=None)
def compare_row(row, theirs):
    """Are two rows the same?"""
    cfa = decimal_to_hex(theirs["CFA"])
    if cfa == "exp":
        # OCaml's runtime marks frames that lead to another stack as signal frames.
        equal = row["cfa"].startswith(("*(", "plt(", "exp(", "switch:exp("))
    elif cfa.startswith("rbx+") and theirs.get("rbx", "u") == "u":
        equal = row["cfa"] == f"switch:exp({cfa})"
    else:
        equal = row["cfa"] == cfa
    if row["cfa"].startswith("*(rsp+a0)+0") and row["ra"] == "*(rsp+a8)":
        registers = ["ra", "rbp"]
    else:
        registers = REGISTERS
    return equal and all(same(r, theirs.get(r), row[r]) for r in registers)


def compare(dwarfprof, path):
    ours = image_rows(dwarfprof, path)
    starts = [row[0] for row in ours]
    functions = go_table.functions(path)
    go_starts = [f.start for f in functions]
    result, known = Comparison(), []
    first = starts[0] if starts else 0
    for start, end, theirs in rows_of_file(path, section_of(dwarfprof, path), first):
        if start >= end:
            continue
        result.compared += 1
        known.append((start, end))
        i = bisect.bisect_right(starts, start) - 1
        if functions and is_own_rule(functions, go_starts, start, ours[max(i, 0):bisect.bisect_left(starts, end)]):
            result.go += 1
        elif i < 0 or not ours[i][0] <= start < end <= ours[i][1]:
            result.differences.append((start, theirs, None))
        elif ours[i][2]["cfa"] == "none":
            result.refused += 1
        elif not compare_row(ours[i][2], theirs):
            result.differences.append((start, theirs, ours[i][2]))
    gaps = list(rows_in_gaps(ours, joined(known), entry_of(path)))
    result.gaps = len(gaps)
    from_go, own, known_code = by_origin(gaps, functions)
    result.go += len(own)
    result.differences += differences_from_go(functions, from_go)
    result.differences += differences_from_objdump(path, known_code)
    if result.compared == 0:
        result.nothing = why_nothing(path)
        if not result.nothing:
            raise ValueError("no row by readelf, but sections that could have some")
    return result


def main():
    dwarfprof, *paths = sys.argv[1:]
    results, not_compared = [], 0
    for path in paths:
        try:
            result = compare(dwarfprof, path)
        except (OSError, subprocess.CalledProcessError, ValueError) as error:
            print(f"{path}: not compared: {error}")
            not_compared += 1
            continue
        results.append(result)
        print(f"{path}: {result}")
        for start, theirs, row in result.differences[:5]:
            print(f"  {start:x}: readelf {theirs}, image {row}")
    nothing = sum(result.nothing is not None for result in results)
    rows, gaps = sum(result.compared for result in results), sum(result.gaps for result in results)
    print(f"{len(paths)} files: {len(results) - nothing} compared, {nothing} with nothing to compare, "
          f"{not_compared} not compared; {rows} rows compared, {gaps} in gaps")
    return int(not_compared > 0 or rows + gaps == 0 or
               any(result.differences or result.refused for result in results))


if __name__ == "__main__":
    sys.exit(main())
