#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The output of `dwarfprof probes`: what readelf tells of USDT probes and functions.

usage: check_probes.py DWARFPROF PROGRAM-DIR
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import program

DWARFPROF = os.path.abspath(sys.argv[1])
LIBRARIES = ("libc.so.6", "libstdc++.so.6", "libpython3.11.so.1.0")
TYPES = {"1": "u8", "-1": "s8", "2": "u16", "-2": "s16", "4": "u32", "-4": "s32", "8": "u64", "-8": "s64"}


def probes(*args):
    return subprocess.run([DWARFPROF, "probes", *args], capture_output=True, text=True, timeout=60)


def listed(*args):
    result = probes("--json", *args)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], capture_output=True, text=True, check=True).stdout


def files():
    """Programs with and without probes, and the libraries of these names that this machine has."""
    yield from map(program, ("valued_usdt", "valued_usdt-no-pie", "valued_cplusplus-O2", "stubs"))
    yield from (path for path in (f"/usr/lib/x86_64-linux-gnu/{name}" for name in LIBRARIES) if os.path.exists(path))


class Segments:
    """Where an address is in the file."""

    def __init__(self, path):
        numbers = re.findall(r"^ +LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", readelf("-l", path), re.M)
        self.all = [tuple(int(number, 16) for number in row) for row in numbers]

    def offset(self, address):
        return next((address - start + offset for offset, start, size in self.all if start <= address < start + size), None)


class Probes(unittest.TestCase):
    def test_usdt(self):
        n = 0
        for path in files():
            segments = Segments(path)
            notes = re.findall(r"Provider: (\S+)\n +Name: (\S+)\n +Location: (\w+), Base: \w+, Semaphore: (\w+)\n +Arguments: ?(.*)",
                               readelf("-n", path))
            wanted = sorted((provider, name, segments.offset(int(location, 16)), segments.offset(int(semaphore, 16)),
                             [TYPES.get(argument.split("@")[0]) for argument in arguments.split()])
                            for provider, name, location, semaphore, arguments in notes if int(semaphore, 16))
            wanted += sorted((provider, name, segments.offset(int(location, 16)), None,
                              [TYPES.get(argument.split("@")[0]) for argument in arguments.split()])
                             for provider, name, location, semaphore, arguments in notes if not int(semaphore, 16))
            found = [(p["provider"], p["name"], int(p["offset"], 16), p["semaphore"] and int(p["semaphore"], 16), p["arguments"])
                     for p in listed(path)["usdt"]]
            with self.subTest(path=path):
                self.assertEqual(sorted(found, key=str), sorted(wanted, key=str))
            n += len(wanted)
        self.assertGreater(n, 6)

    def test_functions(self):
        for path in files():
            segments = Segments(path)
            rows = re.findall(r"^ *\d+: (\w+) +(\w+) +FUNC +\w+ +\w+ +(?!UND)\w+ (\S+)", readelf("-s", path), re.M)
            wanted = {segments.offset(int(address, 16)): int(size, 0) for address, size, symbol in rows
                      if not re.search(r"\.(part|cold)\b", symbol)}
            functions = listed(path)["functions"]
            symbols = {symbol.split("@")[0] for _, _, symbol in rows}
            with self.subTest(path=path):
                self.assertGreater(len(wanted), 5)
                self.assertEqual({int(f["offset"], 16) for f in functions}, set(wanted))
                self.assertLessEqual({f["symbol"].split("@")[0] for f in functions}, symbols)
                self.assertEqual([f["name"] for f in functions], sorted((f["name"] for f in functions), key=os.fsencode))

    def test_text(self):
        """What is printed can be sampled as it stands."""
        path = program("valued_usdt")
        lines = probes(path).stdout.splitlines()
        self.assertIn(f"usdt:{path}:valued:call(arg1:u64)", lines)
        self.assertTrue(any(re.fullmatch(re.escape(f"usdt:{path}:valued:hit(arg1:u64, arg2:u64, ") + r".*\)  # 2 places", line)
                            for line in lines), lines)
        self.assertIn(f"uprobe:{path}:main", lines)
        path = program("valued_strings-O0")
        self.assertEqual(probes(path, "save").stdout.splitlines(), [f"uprobe:{path}:save(data:ptr, size:s32, id:u64, magic:str)"])
        self.assertEqual(probes(path, "handle").stdout.splitlines(),
                         [f"uprobe:{path}:handle(route:std::string, view:std::string_view, request:ptr, id:u64)"])
        lines = probes(program("valued_cplusplus-O2"), "*Server::*").stdout.splitlines()
        self.assertTrue(lines)
        for line in lines:
            self.assertIn("Server::", line)

    def test_parameters(self):
        """Of objects, there is no type; of functions without debug information, nothing."""
        path = program("valued_cplusplus-O0")
        found = {f["name"]: f["parameters"] for f in listed(path, "make")["functions"]}
        self.assertEqual([list(p.values()) for p in found["make"]],
                         [["ratio", None], ["route", "std::string"], ["code", "s32"], ["id", "u64"]])
        self.assertEqual([f["parameters"] for f in listed(program("valued_usdt"), "main")["functions"]], [None])

    def test_names(self):
        path = program("valued_usdt")
        self.assertEqual(probes(path, "valued:c*").stdout.splitlines(), [f"usdt:{path}:valued:call(arg1:u64)"])
        self.assertEqual(probes(path, "mai?").stdout.splitlines(), [f"uprobe:{path}:main"])
        # With its parameters, if libc's debug information is there.
        self.assertRegex(probes("libc.so.6", "malloc").stdout, r"^uprobe:libc\.so\.6:malloc(\(bytes:u64\))?\n$")

    def test_sandbox(self):
        path = program("valued_usdt")
        for mode in ("require", "off"):
            self.assertEqual(probes("--sandbox", mode, path).stdout, probes(path).stdout)

    def test_what_is_wrong(self):
        path = program("valued_usdt")
        for args, code, said in (([path, "nothing"], 1, "has no function or USDT probe nothing"),
                                 (["/nowhere"], 1, "cannot read /nowhere: No such file"),
                                 ([__file__], 1, f"cannot look for probes in {__file__}: it is not an ELF file of 64 bits"),
                                 ([path, 5000 * "x"], 1, "that name is too long"),
                                 ([], 2, "give a FILE"), ([path, "a", "b"], 2, "one FILE and one NAME")):
            with self.subTest(args=args):
                result = probes(*args)
                self.assertEqual(result.returncode, code)
                self.assertIn(said, result.stderr)
                self.assertEqual(result.stdout, "")

    def test_damaged_files(self):
        """Whatever a file has in place of names: an error or a list, and no bytes for the terminal."""
        with open(program("valued_usdt"), "rb") as file:
            whole = file.read()
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "damaged")
            for damage in (lambda b: b[:len(b) // 2], lambda b: b.replace(b"main", b"ma\x1bn"),
                           lambda b: b.replace(b"valued\0", b"va\x1bued\0"), lambda b: b.replace(b"stapsdt\0", b"stapsdt\xff")):
                with open(path, "wb") as file:
                    file.write(damage(whole))
                result = probes(path)
                self.assertIn(result.returncode, (0, 1), result.stderr)
                self.assertNotIn("\x1b", result.stdout)


if __name__ == "__main__":
    harness.main()
