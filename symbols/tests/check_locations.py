#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares functions, inlined functions and lines of programs by several compilers and in all forms
of debug information with those of addr2line and others.

usage: check_locations.py SHOW_PLACES
"""
import lzma
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

import compare_addr2line
import debug_files
import make_program

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cli/tests"))
import harness  # noqa: E402

SHOW = os.path.abspath(sys.argv[1])
SOURCES = os.path.dirname(os.path.abspath(__file__))

RUST = """
use std::collections::{BTreeMap, HashMap};
fn collatz(mut n: u64) -> u64 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}
fn main() {
    let mut names: HashMap<String, u64> = HashMap::new();
    let mut numbers = BTreeMap::new();
    for i in 1..1000u64 {
        *names.entry(format!("{}", collatz(i))).or_insert(0) += i;
        numbers.insert(i * 7 % 101, vec![i; 3]);
    }
    let mut sorted: Vec<_> = names.iter().map(|(k, v)| (v, k.len())).collect();
    sorted.sort();
    println!("{:?} {:?}", sorted.iter().map(|x| x.1).sum::<usize>(),
             numbers.values().map(|x| x.iter().sum::<u64>()).max());
}
"""

# Units that cost much work: entries that are each other's children and siblings, endless ones, and
# functions, calls and units that share a long list of ranges.
ABBREVIATIONS = """
.section .debug_abbrev
.uleb128 1, 0x11        # a unit with address, size, and an old compiler's line table
.byte 1
.uleb128 0x11, 0x01, 0x12, 0x07, 0, 0
"""
RANGES = """
.section .debug_ranges
.rept 100000
.quad 16, 32
.endr
.quad 0, 0
.section .debug_info
"""
HOSTILE = {
    "siblings": (".uleb128 2, 0x39\n.byte 1\n.uleb128 0x01, 0x13, 0, 0, 0",
                 "".join(f".uleb128 2\n.long {28 + 5 * (i + 1)}\n" for i in range(20000))),
    "children": (".uleb128 2, 0x39\n.byte 1\n.uleb128 0, 0, 0",
                 ".fill 1000000, 1, 2\n"),
    "ranges": (".uleb128 2, 0x2e\n.byte 0\n.uleb128 0x55, 0x17, 0, 0, 0",
               ".rept 20000\n.uleb128 2\n.long 0\n.endr\n" + RANGES),
    "calls": (".uleb128 2, 0x2e\n.byte 1\n.uleb128 0x11, 0x01, 0x12, 0x07, 0, 0\n"
              ".uleb128 3, 0x1d\n.byte 0\n.uleb128 0x55, 0x17, 0, 0, 0",
              ".uleb128 2\n.quad function, 4096\n"
              ".rept 20000\n.uleb128 3\n.long 0\n.endr\n.byte 0\n" + RANGES),
    "units": (".uleb128 2, 0x11\n.byte 0\n.uleb128 0x55, 0x17, 0, 0, 0",
              "end:\n.rept 20000\n.long 12\n.short 4\n.long .debug_abbrev\n.byte 8\n"
              ".uleb128 2\n.long 0\n.endr\n" + RANGES),
}
HOSTILE_CODE = """
.text
.globl function
.type function, @function
function:
    ret
    .zero 4095
.size function, 4096
{abbreviations}
.section .debug_info
    .long end - start
start:
    .short 4
    .long .debug_abbrev
    .byte 8
    .uleb128 1
    .quad function, 4096
{entries}
.ifndef end
end:
.endif
"""


def run(*command, **kwargs):
    return subprocess.run(command, check=True, capture_output=True, text=True, **kwargs).stdout


def locations(path, address):
    """The functions, and `FILE:LINE:COLUMN`, of an address."""
    lines = run(SHOW, path, input=f"{address:x}\n").splitlines()[1:]
    return list(zip(lines[::2], lines[1::2]))


def locations_of_each(path, addresses):
    """The same of many addresses, by one process."""
    text, found = run(SHOW, path, input="".join(f"{address:x}\n" for address in addresses)), {}
    for part in re.split("^(?=0x)", text, flags=re.M)[1:]:
        address, *lines = part.splitlines()
        found[int(address, 16)] = list(zip(lines[::2], lines[1::2]))
    assert found.keys() == set(addresses), found
    return found


def symbol(path, name):
    return next(int(line.split()[0], 16) for line in run("nm", path).splitlines()
                if line.split()[-1] == name)


def compress_zeros(compressor, start, size):
    """Compresses `start` and that many zeros, a MiB at a time."""
    pieces = [compressor.compress(start)]
    pieces += [compressor.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join(pieces) + compressor.flush()


def elf_of_zeros(size):
    """An ELF file with a symbol table of that many bytes, compressed by zlib."""
    def section(name, kind, flags, offset, length, link, entry):
        return struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, offset, length, link, 1, 8, entry)

    names = b"\0.symtab\0.strtab\0".ljust(32, b"\0")
    table = struct.pack("<IIQQ", 1, 0, size, 8) + compress_zeros(zlib.compressobj(), b"", size)
    table = table.ljust(len(table) + 7 & ~7, b"\0")
    at = 64 + len(names) + len(table)  # of the headers
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 0, at, 0, 64, 56, 0,
                         64, 3, 2)
    return header + names + table + bytes(64) + \
        section(1, 2, 0x800, 64 + len(names), len(table), 2, 24) + \
        section(9, 3, 0, 64, len(names), 0, 0)


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory, True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def program(self, *compiler):
        make_program.make(self.directory, self.path("program"), 1, 1, compiler)
        return self.path("program")

    def sample(self, *flags):
        path = self.path("sample.so")
        run("g++", "-O2", "-g", "-shared", "-fPIC", *flags, "-o", path,
            os.path.join(SOURCES, "sample.cc"))
        return path

    def compare(self, path, n=450):
        self.assertEqual(compare_addr2line.compare(SHOW, path, n), 0)


class Compared(Case):
    """Compares with other programs: many addresses in each language, fewer in each other form."""

    MANY = 5500  # some are drawn twice

    def test_gcc_dwarf_5(self):
        path = self.program("g++", "-O2", "-g", "-gdwarf-5")
        self.compare(path, self.MANY)
        run("objcopy", "--compress-debug-sections=zlib", path)
        self.compare(path)

    def test_gcc_dwarf_4_also_shared_by_dwz(self):
        path = self.program("g++", "-O2", "-g", "-gdwarf-4")
        self.compare(path)
        shutil.copy(path, self.path("other"))
        # binutils finds the common file only by a relative name.
        run("dwz", "-m", "common", path, self.path("other"), cwd=self.directory)
        self.compare(path)

    def test_clang_dwarf_5(self):
        self.compare(self.program("clang++-14", "-O2", "-g", "-gdwarf-5"))

    def test_clang_dwarf_4(self):
        self.compare(self.program("clang++-14", "-O2", "-g", "-gdwarf-4"))

    def test_gcc_split(self):
        self.compare(self.program("g++", "-O2", "-g", "-gsplit-dwarf"))

    def test_clang_split(self):
        self.compare(self.program("clang++-14", "-O2", "-g", "-gsplit-dwarf"))

    def test_units_of_types(self):
        self.compare(self.program("g++", "-O2", "-g", "-fdebug-types-section"))

    def test_sections_thrown_away(self):
        self.compare(self.program("g++", "-O3", "-g", "-ffunction-sections",
                                  "-Wl,--gc-sections"))

    def test_not_optimized(self):
        self.compare(self.program("g++", "-O0", "-g"))

    def test_optimized_when_linked(self):
        self.compare(self.program("g++", "-O2", "-g", "-flto=1"))

    def test_rust_of_both_manglings(self):
        source = self.write("program.rs", RUST)
        for mangling in "-g", "-Csymbol-mangling-version=v0":
            run("rustc", "-g", "-O", mangling, "-o", self.path("program"), source)
            self.compare(self.path("program"), self.MANY)

    def test_c(self):
        self.compare(SHOW, self.MANY)

    def test_split_and_packed(self):
        """libdw finds .dwp files since 0.191. Without them, inlined functions are missing."""
        path = self.path("sample.so")
        run("g++", "-O2", "-g", "-gdwarf-4", "-gsplit-dwarf", "-shared", "-fPIC", "-o", path,
            os.path.join(SOURCES, "sample.cc"), cwd=self.directory)
        start, size = (int(word, 16) for line in run("nm", "-S", path).splitlines()
                       for word in line.split()[:2] if line.endswith(" work"))
        before = locations_of_each(path, range(start, start + size, 4))
        # Debian 13 has binutils' with gold alone, which nothing else needs.
        run("dwp" if shutil.which("dwp") else "llvm-dwp", "-e", path, "-o", path + ".dwp")
        for name in os.listdir(self.directory):
            if name.endswith(".dwo"):
                os.remove(self.path(name))
        after = locations_of_each(path, before)
        for address, wanted in before.items():
            found = after[address]
            self.assertEqual(found[-1][0], "work")
            self.assertEqual(found[0][1], wanted[0][1])
            self.assertIn(len(found), (1, len(wanted)))


class Found(Case):
    """Where debug information is found, and the result if there is none."""

    def expect(self, path, address, functions, line=True):
        found = locations(path, address)
        self.assertEqual([function for function, _ in found], functions)
        for _, where in found:
            self.assertRegex(where, r"/sample\.cc:\d+:\d+$" if line else r"^\?\?:0:0$")

    def test_separate_debug_file(self):
        path = self.sample("-Wl,--build-id=none")
        address = symbol(path, "_ZN6sample7counter4nextEv")
        self.expect(path, address, ["sample::counter::next"])
        debug = self.path("sample.debug")
        run("objcopy", "--only-keep-debug", path, debug)
        run("objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", path)
        self.expect(path, address, ["sample::counter::next"])
        # One of another build is not used: its checksum differs.
        shutil.copy(path, self.path("stripped"))
        shutil.move(self.sample("-Wl,--build-id=none", "-O0"), debug)
        self.expect(self.path("stripped"), address, ["sample::counter::next"], line=False)

    def test_server_of_debug_files(self):
        path = self.sample("-Wl,--build-id")
        address = symbol(path, "_ZN6sample7counter4nextEv")
        debug = self.path("debug")
        run("objcopy", "--only-keep-debug", path, debug)
        run("strip", "--strip-all", path)
        with debug_files.Server({debug_files.build_id(path): debug}) as server:
            def ask(*options, **variables):
                return run(SHOW, *options, path, input=f"{address:x}\n",
                           env=dict(server.environment(self.directory), **variables))

            # Not unless allowed, nor without the variable
            ask()
            ask("-u", "10", DEBUGINFOD_URLS="")
            self.assertEqual(server.asked, [])
            self.assertRegex(ask("-u", "10"), r"sample::counter::next\n.*/sample\.cc:\d+:\d+\n")
            self.assertEqual(len(server.asked), 1)
        # The file is cached.
        self.assertRegex(run(SHOW, "-u", "10", path, input=f"{address:x}\n",
                             env=server.environment(self.directory)), r"/sample\.cc:\d+")

    def test_server_that_has_what_dwz_has_shared(self):
        path = self.sample("-Wl,--build-id", "-gdwarf-4")
        address = symbol(path, "_ZN6sample7counter4nextEv")
        shutil.copy(path, self.path("other"))
        common, debug = self.path("common"), self.path("debug")
        run("dwz", "-m", common, "-M", self.path("gone"), path, self.path("other"))
        run("objcopy", "--only-keep-debug", path, debug)
        run("strip", "--strip-all", path)
        files = {debug_files.build_id(path): debug, debug_files.build_id(common): common}
        with debug_files.Server(files) as server:
            found = run(SHOW, "-u", "10", path, input=f"{address:x}\n",
                        env=server.environment(self.directory))
            self.assertEqual(len(server.asked), 2)
        self.assertRegex(found, r"sample::counter::next\n.*/sample\.cc:\d+:\d+\n")

    def test_server_that_has_nothing_or_rubbish(self):
        path = self.sample("-Wl,--build-id")
        address = symbol(path, "work")
        run("strip", "--strip-all", path)
        rubbish = self.write("rubbish", "no ELF file")
        for files in {}, {debug_files.build_id(path): rubbish}:
            os.mkdir(self.path(str(len(files))))
            with debug_files.Server(files) as server:
                found = run(SHOW, "-u", "10", path, input=f"{address:x}\n",
                            env=server.environment(self.path(str(len(files)))))
                self.assertEqual(found.splitlines()[1:], ["work", "??:0:0"])
                self.assertEqual(len(server.asked), 1)

    def test_server_that_never_answers(self):
        path = self.sample("-Wl,--build-id")
        address = symbol(path, "work")
        run("strip", "--strip-all", path)
        start = time.monotonic()
        with debug_files.Server({}, silent=True) as server:
            found = run(SHOW, "-u", "2", path, input=f"{address:x}\n",
                        env=server.environment(self.directory))
            self.assertEqual(found.splitlines()[1:], ["work", "??:0:0"])
            # libdebuginfod asks again, since 0.192 also a server that is silent.
            self.assertIn(len(server.asked), (1, 3))
        # On an idle machine, half a second more than the limit; the usual limit is a minute.
        self.assertLess(time.monotonic() - start, 40)

    def test_stripped(self):
        path = self.sample()
        address = symbol(path, "work")
        run("strip", "--strip-debug", path)
        self.expect(path, address, ["work"], line=False)
        run("strip", "--strip-all", path)
        self.expect(path, address, ["work"], line=False)  # .dynsym has it
        self.expect(path, 1, ["??"], line=False)

    def test_file_gone(self):
        path = self.sample()
        address = symbol(path, "work")
        os.remove(path)
        self.expect(path, address, ["??"], line=False)

    def test_inlined_functions_and_names(self):
        path = self.sample()
        start, size = (int(word, 16) for line in run("nm", "-S", path).splitlines()
                       for word in line.split()[:2] if line.endswith(" work"))
        chains = {tuple(function for function, _ in found)
                  for found in locations_of_each(path, range(start, start + size, 4)).values()}
        # Local functions have the names in the source.
        self.assertTrue(any(len(chain) > 1 and chain[-1] == "work" for chain in chains), chains)
        names = {style: run(SHOW, "-d", style, path,
                            input=f"{symbol(path, '_ZN6sample7counter4nextEv'):x}").splitlines()[1]
                 for style in ("simple", "none", "full")}
        self.assertEqual(names, {"simple": "sample::counter::next",
                                 "none": "_ZN6sample7counter4nextEv",
                                 "full": "sample::counter::next()"})


# Runs a program and prints its peak memory. The caller must be small, unlike this test: the peak
# includes memory from before exec() (exec_mmap(), fs/exec.c).
PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


class Hostile(Case):
    def functions_and_memory(self, path, *addresses):
        """The functions at the addresses, and the peak memory of the look-up in MiB."""
        result = subprocess.run([sys.executable, "-c", PEAK, SHOW, path], text=True, check=True,
                                input="".join(f"{address:x}\n" for address in addresses),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        lines = [line for line in result.stdout.splitlines() if line[:2] != "0x"]
        return lines[::2], int(result.stderr.splitlines()[-1]) / 1024

    def test_work_is_bounded(self):
        for name, (abbreviation, entries) in HOSTILE.items():
            with self.subTest(name):
                source = self.write("hostile.s", HOSTILE_CODE.format(
                    abbreviations=ABBREVIATIONS + abbreviation, entries=entries))
                run("gcc", "-shared", "-nostdlib", "-o", self.path("hostile.so"), source)
                address = symbol(self.path("hostile.so"), "function") + 20
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                found, memory = self.functions_and_memory(self.path("hostile.so"),
                                                          address, address + 4)
                took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
                # A later look-up gives the same result.
                self.assertEqual(found, ["function"] * 2)
                self.assertLess(took, 30)
                self.assertLess(memory, 128)

    def test_sections_that_claim_to_be_huge(self):
        path = self.path("sample.so")
        run("g++", "-O2", "-g", "-gz", "-shared", "-fPIC", "-o", path,
            os.path.join(SOURCES, "sample.cc"))
        address = symbol(path, "work")
        self.assertRegex(locations(path, address)[0][1], r"/sample\.cc:\d+")
        with open(path, "r+b") as file:
            data = bytearray(file.read())
            start, = struct.unpack_from("<Q", data, 40)  # Elf64_Ehdr.e_shoff, .e_shnum
            number, = struct.unpack_from("<H", data, 60)
            for at in range(start, start + number * 64, 64):
                flags, _, offset = struct.unpack_from("<QQQ", data, at + 8)
                if flags & 0x800:  # SHF_COMPRESSED: Elf64_Chdr.ch_size
                    struct.pack_into("<Q", data, offset + 8, 5 << 30)
            file.seek(0)
            file.write(data)
        self.assertEqual(locations(path, address), [("work", "??:0:0")])

    def minidebuginfo(self, data):
        """A library whose only symbols are in .gnu_debugdata."""
        path = self.sample()
        with open(self.path("debugdata"), "wb") as file:
            file.write(data)
        run("objcopy", "--strip-all", f"--add-section=.gnu_debugdata={self.path('debugdata')}",
            path, self.path("mini.so"))
        return self.path("mini.so")

    def test_minidebuginfo_is_read_if_it_is_no_bomb(self):
        path = self.sample()
        name, address = next((line.split()[2], int(line.split()[0], 16))
                             for line in run("nm", path).splitlines() if " t _Z" in line)
        run("objcopy", "--only-keep-debug", "--remove-section=.debug_*", path, self.path("symbols"))
        with open(self.path("symbols"), "rb") as file:
            symbols = file.read()
        path = self.minidebuginfo(lzma.compress(symbols))
        self.assertEqual(run(SHOW, "-d", "none", path, input=f"{address:x}").splitlines()[1], name)
        # The same, followed by zeros
        bomb = compress_zeros(lzma.LZMACompressor(preset=0), symbols, 512 << 20)
        found, memory = self.functions_and_memory(self.minidebuginfo(bomb), address)
        self.assertEqual(found, ["??"])
        self.assertLess(memory, 256)

    def test_symbols_that_are_compressed_to_a_thousandth(self):
        bomb = elf_of_zeros(512 << 20)
        with open(self.path("bomb.so"), "wb") as file:
            file.write(bomb)
        for path in self.path("bomb.so"), self.minidebuginfo(lzma.compress(bomb)):
            found, memory = self.functions_and_memory(path, 0x1000)
            self.assertEqual(found, ["??"])
            self.assertLess(memory, 256)

    def test_whole_file_that_is_compressed(self):
        with open(self.path("bomb.xz"), "wb") as file:
            file.write(compress_zeros(lzma.LZMACompressor(preset=0), b"", 512 << 20))
        found, memory = self.functions_and_memory(self.path("bomb.xz"), 0x1000)
        self.assertEqual(found, ["??"])
        self.assertLess(memory, 256)


if __name__ == "__main__":
    harness.run_tests(sys.argv[2:])
