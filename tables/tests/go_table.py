# SPDX-License-Identifier: Apache-2.0
"""The functions of a program by Go's linker: a second reader of .gopclntab besides go/pclntab.c.

Of Go 1.18 and later (runtime/symtab.go), where the linker has left the section its name.
"""
import re
import struct
import subprocess

TOP_FRAME, SP_WRITE = 1, 2
# Offset of the id in a function's record, since Go 1.18 and since Go 1.20.
RECORDS = {0xfffffff0: 36, 0xfffffff1: 40}

# Functions that are called in other ways than their unwind information says, or give the thread
# away: tables/go_rules.h. Functions that load rsp, or are a stack's root, have flags.
OTHERS = {"crosscall2", "runtime.sigtramp", "runtime.sigprofNonGoWrapper", "runtime.racecallbackthunk",
          "_rt0_amd64_lib", "runtime.asyncPreempt", "runtime.sigpanic", "runtime.sigpanic0",
          "runtime.debugCallV2", "syscall.rawVforkSyscall", "runtime.newstack", "runtime.sigreturn__sigaction", "runtime.sigreturn"}


class Function:
    def __init__(self, start, name, flags, depths):
        self.start, self.name, self.flags = start, name, flags
        self.depths = depths  # [(start, end, distance from rsp up to the return address)]
        self.end = depths[-1][1] if depths else start

    def has_own_rules(self):
        return bool(self.flags & (TOP_FRAME | SP_WRITE)) or self.name in OTHERS


def sections(path):
    """{name: (address, offset, size)}"""
    out = subprocess.run(["readelf", "--wide", "--section-headers", path],
                         capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ *\[ *\d+\] (\S+) +\S+ +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", out, re.M)
    return {name: tuple(int(n, 16) for n in numbers) for name, *numbers in found}


def text_start(path, header, text):
    """The start of Go's code, which is not in the table since Go 1.26."""
    said = struct.unpack_from("<Q", header, 24)[0]
    if said:
        return said
    out = subprocess.run(["nm", path], capture_output=True, text=True).stdout
    symbol = re.search(r"^(\w+) \S runtime\.text$", out, re.M)
    return int(symbol[1], 16) if symbol else text[0]


def find_table(path, known):
    """The bytes from its header on. Linkers other than Go's put it among other constants."""
    for name in ".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro":
        if name not in known or ".go.buildinfo" not in known:
            continue
        _, offset, size = known[name]
        with open(path, "rb") as file:
            file.seek(offset)
            data = file.read(size)
        found = re.search(rb"[\xf0\xf1]\xff\xff\xff\0\0\x01\x08", data)
        if found:
            return data[found.start():]
    return None


def number(table, at):
    value = shift = 0
    while True:
        byte = table[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def depths_at(table, at, start):
    """Pairs of a change, in zigzag encoding, and the bytes of code for which the value holds."""
    found, depth = [], -1
    while True:
        change, at = number(table, at)
        if change == 0 and found:
            return found
        length, at = number(table, at)
        depth += (change >> 1) ^ -(change & 1)
        found.append((start, start + length, depth))
        start += length


def functions(path):
    """Those of a Go program, in ascending order; empty for others, and for older versions."""
    known = sections(path)
    table = find_table(path, known)
    if not table:
        return []
    magic = struct.unpack_from("<I", table)[0]
    text = text_start(path, table, known[".text"])
    n, _, _, names, _, _, values, records = struct.unpack_from("<8Q", table, 8)
    found = []
    for i in range(n):
        distance, record = struct.unpack_from("<II", table, records + 8 * i)
        at = records + record
        name, sp = struct.unpack_from("<i8xI", table, at + 4)
        flags = table[at + RECORDS[magic] + 1]
        end = table.index(b"\0", names + name)
        depths = depths_at(table, values + sp, text + distance) if sp else []
        found.append(Function(text + distance, table[names + name:end].decode(), flags, depths))
    return found
