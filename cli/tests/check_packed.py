#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs packed by UPX, in C and Go: exactly these are reported.

usage: check_packed.py DWARFPROF PROGRAM-DIR LANGUAGES-DIR

LANGUAGES-DIR is test-programs/languages. Needs upx.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import cpu_time, dwarfprof, wait_for

LANGUAGES = os.path.abspath(sys.argv.pop(3))
SOURCES = {
    "c": "gcc -O2 -pthread -o {out} {src}/busy.c",
    "c-static": "gcc -O2 -pthread -static -o {out} {src}/busy.c",
    "go": "go build -o {out} {src}/busy.go",
}
WARNING = "runs {}, which is packed by UPX: its code is only in memory"


class Packed(unittest.TestCase):
    LONG = "test_processes",

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = directory.name
        for name, command in SOURCES.items():
            subprocess.run(command.format(out=cls.file(name), src=LANGUAGES).split(), check=True,
                           env=dict(os.environ, GO111MODULE="off"))
            subprocess.run([shutil.which("upx-ucl"), "-q", "-1", "-o", cls.file(name, "packed"), cls.file(name)],
                           check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def file(cls, name, kind="plain"):
        return os.path.join(cls.directory, f"{name}-{kind}")

    def busy(self, path):
        """A process of the program that has unpacked itself and is busy."""
        process = subprocess.Popen([path], stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for(lambda: cpu_time(process.pid) > 0.3)
        return process.pid

    def test_processes(self):
        for name in SOURCES:
            with self.subTest(program=name):
                pids = [self.busy(self.file(name, kind)) for kind in ("packed", "packed", "plain")]
                said = dwarfprof("-d", "0.5", "-o", self.file(name) + ".folded",
                                 *(f"-p{pid}" for pid in pids)).stderr
                # Once per program, though there are two processes, and only for the packed one.
                self.assertEqual(said.count("packed by UPX"), 1, said)
                self.assertIn(WARNING.format(self.file(name, "packed")), said)

    def test_commands(self):
        for name in SOURCES:
            for kind in "plain", "packed":
                with self.subTest(program=name, kind=kind):
                    path = self.file(name, kind)
                    said = dwarfprof("-d", "1", "--kill", "-o", self.file(name) + ".folded", "--",
                                     "timeout", "2", path).stderr
                    self.assertEqual(WARNING.format(path) in said, kind == "packed", said)

    def test_tables(self):
        for name in SOURCES:
            for kind, who in ("plain", None), ("packed", "UPX"):
                path = self.file(name, kind)
                table, = json.loads(dwarfprof("tables", "--json", path).stdout)
                self.assertEqual(table["packed_by"], who, path)
                self.assertEqual("packed by       UPX" in dwarfprof("tables", path).stdout, bool(who), path)

    def test_libraries(self):
        """A packed library has its header elsewhere; it is read from the file, because it is seldom
        loaded."""
        library = os.path.join(self.directory, "library.so")
        source = os.path.join(self.directory, "library.c")
        with open(source, "w") as file:
            file.write("void _init(void) {}\nint f(int n) { return n * 3; }\nconst char room[1 << 16] = {1};\n")
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-nostartfiles", "-o", library, source], check=True)
        packed = f"{library}.packed"
        subprocess.run([shutil.which("upx-ucl"), "-q", "-1", "-o", packed, library], check=True,
                       stdout=subprocess.DEVNULL)
        self.assertEqual([table["packed_by"] for path in (library, packed)
                          for table in json.loads(dwarfprof("tables", "--json", path).stdout)], [None, "UPX"])


if __name__ == "__main__":
    if not shutil.which("upx-ucl"):
        sys.exit(77)  # skipped: ci/setup test installs it
    harness.main()
