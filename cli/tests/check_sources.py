#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where `dwarfprof tables` finds unwind information, and what it knows without any.

usage: check_sources.py DWARFPROF COMPARE-READELF
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

DWARFPROF, COMPARE = (os.path.abspath(path) for path in sys.argv[1:3])

CODE = """
extern int other(int);
static volatile int sink;
int first(int n) { int a[n]; for (int i = 0; i < n; i++) a[i] = other(i); return a[n / 2]; }
int second(int n) { sink = n; return n > 1 ? second(n - 1) + first(n) * second(n - 2) : 1; }
double third(double x, int n) { while (n--) x = x * other(n) + second(n); return x; }
"""

# musl's signal handlers return to such code, behind padding.
TRAMPOLINE = """
.text
    .cfi_startproc
    nop
    .cfi_endproc
    nop
    mov $15, %rax
    syscall
"""

# Go's linker also makes PLT entries for symbols of type data.
CALLS_DATA = """
.text
    .cfi_startproc
    call one@PLT
    call two@PLT
    ret
    .cfi_endproc
.type one, @object
.type two, @object
.section .note.GNU-stack, "", @progbits
"""

MAIN = "#include <stdlib.h>\n#include <stdio.h>\nint main(int n, char **v) { return puts(v[0]) + atoi(v[0]); }\n"


def run(*command, **kwargs):
    return subprocess.run(command, check=True, capture_output=True, text=True, **kwargs).stdout


def table_of(path):
    table, = json.loads(run(DWARFPROF, "tables", "--json", path))
    return table


def rows_of(path):
    return run(DWARFPROF, "tables", "--rows", "--regs", path)


def libc_of_this_process():
    with open("/proc/self/maps") as maps:
        return next(line.split()[5] for line in maps if "/libc.so.6" in line)


def rules_of(path):
    """{address: (CFA, RA, FP)}; rules that differ within PLT entries are written out."""
    rules = {}
    for line in rows_of(path).splitlines():
        start, end, cfa, ra, fp = line.split()[:5]
        for address in range(int(start, 16), int(end, 16)):
            here = cfa
            if cfa.startswith("plt("):
                here = "rsp+10" if address % 16 >= int(cfa[4:-1], 16) else "rsp+8"
            rules[address] = (here, ra, fp)
    return rules


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def build(self, name, code, *options, suffix=".c"):
        source = self.path("source" + suffix)
        with open(source, "w") as file:
            file.write(code)
        run("gcc", *options, "-o", self.path(name), source)
        return self.path(name)

    def without_section_headers(self, path, offset_too=True):
        """A copy like that of sstrip, but with the data behind the segments."""
        copy = self.path("bare-" + os.path.basename(path))
        with open(path, "rb") as file:
            data = bytearray(file.read())
        if offset_too:
            data[0x28:0x30] = bytes(8)  # e_shoff
        data[0x3c:0x40] = bytes(4)  # e_shnum, e_shstrndx
        with open(copy, "wb") as file:
            file.write(data)
        return copy


class Headers(Case):
    def test_rows_are_the_same_without_section_headers(self):
        libc = libc_of_this_process()
        for path in (libc, os.path.realpath(sys.executable),
                     self.build("static", MAIN, "-static-pie"),
                     self.build("lazy", MAIN, "-Wl,-z,lazy,-z,noseparate-code")):
            for offset_too in (True, False):
                table = table_of(path)
                bare = self.without_section_headers(path, offset_too)
                found = table_of(bare)
                self.assertEqual((table["source"], found["source"]), ("eh_frame", "eh_frame_hdr"))
                for field in ("fdes", "bad_records", "rows", "build_id", "inexpressible"):
                    self.assertEqual(found[field], table[field], (path, field))
                self.assertGreater(found["covered"], 0)
                self.assertEqual({s["name"] for s in found["sections"]}, {"PT_LOAD"})
                self.assertEqual(rows_of(bare), rows_of(path))

    def test_nothing_leads_to_eh_frame(self):
        path = self.build("no-hdr.so", CODE, "-shared", "-nostdlib", "-Wl,--no-eh-frame-hdr")
        self.assertEqual(table_of(path)["source"], "eh_frame")
        found = table_of(self.without_section_headers(path))
        self.assertEqual((found["source"], found["source_bytes"], found["fdes"]), ("none", 0, 0))

    def test_rubbish_behind_eh_frame_is_no_bad_record(self):
        path = self.build("data.so", CODE + "const char text[4096] = \"some text\";\n"
                          "__attribute__((section(\".zzz\"))) const char more[999] = \"more\";",
                          "-shared", "-nostdlib")
        found = table_of(self.without_section_headers(path))
        self.assertEqual((found["source"], found["bad_records"]), ("eh_frame_hdr", 0))


class DebugFrame(Case):
    OPTIONS = ("-O2", "-g", "-shared", "-nostdlib", "-fno-asynchronous-unwind-tables",
               "-fno-exceptions", "-fPIC", "-Wl,--build-id")

    def test_is_read_where_there_is_no_eh_frame(self):
        path = self.build("debug.so", CODE, *self.OPTIONS)
        table = table_of(path)
        self.assertEqual((table["source"], table["eh_frame_bytes"]), ("debug_frame", 0))
        self.assertEqual((table["fdes"], table["bad_records"]), (3, 0))
        self.assertIn(f".debug_frame, {table['source_bytes']} bytes", run(DWARFPROF, "tables", path))
        self.assertIn(" 0 different", run(COMPARE, DWARFPROF, path))

    def test_fills_the_gaps_of_eh_frame(self):
        """As in Go programs that are linked with C."""
        first = self.build("first.o", CODE, *self.OPTIONS[:2], "-c", *self.OPTIONS[4:])
        second = self.build("second.o", re.sub(r"\b(first|second|third)\(", r"\1_again(", CODE), "-O2", "-c", "-fPIC")
        path = self.path("both.so")
        run("gcc", "-shared", "-nostdlib", "-o", path, first, second)
        table, rows = table_of(path), rows_of(path)
        self.assertEqual(table["source"], "eh_frame")
        self.assertGreater(table["debug_frame_bytes"], 0)
        self.assertIn(f", and .debug_frame, {table['debug_frame_bytes']} bytes",
                      run(DWARFPROF, "tables", path))
        self.assertIn(" 0 different", run(COMPARE, DWARFPROF, path))
        run("strip", path)
        self.assertEqual(table_of(path)["fdes"], table["fdes"] - 3)
        self.assertEqual(table_of(path)["debug_frame_bytes"], 0)
        self.assertLess(len(rows_of(path)), len(rows))

    def test_may_be_compressed(self):
        path = self.build("debug.so", CODE, *self.OPTIONS)
        for how in ("zlib-gabi", "zlib-gnu"):
            packed = self.path(how + ".so")
            run("objcopy", "--compress-debug-sections=" + how, path, packed)
            self.assertEqual(table_of(packed)["source"], "debug_frame")
            self.assertEqual(rows_of(packed), rows_of(path))

    def separate(self):
        """(the whole file, the stripped file, the separate debug file)"""
        whole = self.build("debug.so", CODE, *self.OPTIONS)
        bare, debug = self.path("bare.so"), self.path("bare.debug")
        run("objcopy", "--only-keep-debug", whole, debug)
        run("strip", "--strip-debug", "-o", bare, whole)
        return whole, bare, debug

    def test_may_be_in_a_linked_file(self):
        whole, bare, debug = self.separate()
        run("objcopy", "--remove-section=.note.gnu.build-id", "--add-gnu-debuglink=" + debug, bare)
        self.assertEqual(table_of(bare)["source"], "debug_file")
        self.assertEqual(rows_of(bare), rows_of(whole))
        os.mkdir(self.path(".debug"))
        moved = shutil.move(debug, self.path(".debug"))
        self.assertEqual(table_of(bare)["source"], "debug_file")
        self.assertEqual(rows_of(bare), rows_of(whole))
        with open(moved, "ab") as file:
            file.write(b"\0")
        self.assertEqual(table_of(bare)["source"], "none")
        os.unlink(moved)
        os.mkfifo(moved)
        self.assertEqual(table_of(bare)["source"], "none")

    def test_may_be_in_a_file_with_the_build_id(self):
        whole, bare, debug = self.separate()
        build_id = table_of(bare)["build_id"]
        self.assertEqual(table_of(bare)["source"], "none")
        place = f"/usr/lib/debug/.build-id/{build_id[:2]}"
        script = (f"mount -t tmpfs none /usr/lib/debug && mkdir -p {place} && "
                  f"cp $1 {place}/{build_id[2:]}.debug && exec $0 tables --json $2")

        # After chroot(), a user namespace may be forbidden.
        apart = ["unshare", "--mount"] + (["--map-root-user"] if os.geteuid() != 0 else [])

        def found(file):
            return subprocess.run([*apart, "sh", "-c", script, DWARFPROF, file, bare], capture_output=True, text=True)
        tried = subprocess.run([*apart, "mount", "-t", "tmpfs", "none", "/usr/lib/debug"], capture_output=True, text=True)
        if tried.returncode != 0:
            self.skipTest("this user cannot mount: " + tried.stderr)
        result = found(debug)
        self.assertEqual(result.returncode, 0, result.stderr)
        table, = json.loads(result.stdout)
        self.assertEqual((table["source"], table["rows"]), ("debug_file", table_of(whole)["rows"]))
        other = self.build("other.so", CODE.replace("third", "fourth"), *self.OPTIONS)
        table, = json.loads(found(other).stdout)
        self.assertEqual(table["source"], "none")


class KnownCode(Case):
    def test_plt_is_as_the_linker_would_describe_it(self):
        for layout in ("-Wl,-z,lazy", "-Wl,-z,lazy,-z,ibtplt", "-Wl,-z,now"):
            options = ("-fcf-protection", layout)
            described = self.build("described", MAIN, *options)
            bare = self.build("bare", MAIN, "-Wl,--no-ld-generated-unwind-info", *options)
            sections, known = table_of(described)["sections"], table_of(bare)["sections"]
            expected, found = rules_of(described), rules_of(bare)
            plt = [s for s in sections if s["name"].startswith(".plt")]
            self.assertTrue(plt)
            self.assertEqual(plt, [s for s in known if s["name"].startswith(".plt")])
            self.assertLess(table_of(bare)["fdes"], table_of(described)["fdes"])
            for section in plt:
                start = int(section["address"], 16)
                for address in range(start, start + section["size"]):
                    self.assertEqual(found[address], expected[address], hex(address))

    def test_init_and_fini_are_covered(self):
        for options in ((), ("-static",), ("-static-pie",), ("-Wl,-z,lazy",)):
            path = self.build("program", MAIN, *options)
            sections = {s["name"]: s for s in table_of(path)["sections"]}
            for name in (".init", ".fini"):
                self.assertEqual(sections[name]["uncovered"], 0, (name, options))
            self.assertIn(" 0 different", run(COMPARE, DWARFPROF, path))

    def test_trampolines_have_the_rule_of_glibcs(self):
        path = self.build("trampoline.so", TRAMPOLINE, "-shared", "-nostdlib", suffix=".s")
        text = int(table_of(path)["sections"][0]["address"], 16)
        row = rows_of(path).splitlines()[1].split()
        self.assertEqual([int(row[0], 16), int(row[1], 16)], [text + 1, text + 11])
        libc = libc_of_this_process()
        self.assertIn(row[2:], [line.split()[2:] for line in rows_of(libc).splitlines()])
        self.assertEqual(row[2:5], ["*(rsp+a0)+0", "ra=*(rsp+a8)", "fp=*(rsp+78)"])


class Comparison(Case):
    """compare_readelf.py says what it has compared, and fails if that is nothing."""
    UNDESCRIBED = "-Wl,-z,lazy,--no-ld-generated-unwind-info"

    def compare(self, *paths, dwarfprof=DWARFPROF):
        result = subprocess.run([COMPARE, dwarfprof, *paths], capture_output=True, text=True)
        return result.returncode, result.stdout.splitlines()

    def test_a_plt_is_read_whatever_its_symbols_are(self):
        path = self.build("data.so", CALLS_DATA, "-shared", "-nostdlib", self.UNDESCRIBED, suffix=".s")
        code, lines = self.compare(path)
        self.assertEqual((code, lines[0]), (0, f"{path}: 1 rows compared, 0 refused by the image, "
                                               "6 in gaps, 0 different"))

    def test_rows_of_known_code_can_be_wrong(self):
        path = self.build("data.so", CALLS_DATA, "-shared", "-nostdlib", self.UNDESCRIBED, suffix=".s")
        wrong = self.path("wrong")
        with open(wrong, "w") as file:
            file.write(f"#!/bin/sh\n{DWARFPROF} \"$@\" | sed s/rsp+10/rsp+20/\n")
        os.chmod(wrong, 0o755)
        code, lines = self.compare(path, dwarfprof=wrong)
        self.assertEqual(code, 1)
        self.assertIn("6 in gaps, 3 different", lines[0])

    def test_without_unwind_information_known_code_is_left(self):
        path = self.build("program", MAIN, "-Wl,-z,lazy")
        run("objcopy", "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", path)
        self.assertEqual(table_of(path)["source"], "none")
        code, lines = self.compare(path)
        self.assertEqual(code, 0, lines)
        self.assertRegex(lines[0], f"^{path}: nothing to compare: neither .eh_frame nor .debug_frame, "
                                   "[1-9][0-9]* in gaps, 0 different$")

    def test_what_is_not_compared_is_an_error(self):
        path = self.build("program", MAIN)
        bare = self.without_section_headers(path)
        code, lines = self.compare(path, bare)
        self.assertEqual(code, 1)
        self.assertIn(f"{bare}: not compared: ", "\n".join(lines))
        self.assertIn("2 files: 1 compared, 0 with nothing to compare, 1 not compared; ", lines[-1])


if __name__ == "__main__":
    harness.run_tests()
