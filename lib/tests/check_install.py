#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed library, as another project finds it: with pkg-config alone.

usage: check_install.py BUILD-DIRECTORY EXAMPLE-SOURCE
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cli/tests"))
import harness  # noqa: E402

BUILD, EXAMPLE = sys.argv[1:3]

# Programs that are linked with these need them for ever.
SYMBOLS = {
    "DWARFPROF_0.1": {"fd", "free", "lost", "run", "sample_event", "sample_label", "sample_value", "start", "stop", "take"},
}


def run(*command, **env):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **env}).stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.root)
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--tags", "devel,runtime", "--destdir", cls.root)
        (cls.pc,) = glob.glob(cls.root + "/**/dwarfprof.pc", recursive=True)
        (cls.library,) = glob.glob(cls.root + "/**/libdwarfprof.so.0", recursive=True)

    def flags(self, *options):
        return run("pkg-config", *options, "dwarfprof", PKG_CONFIG_LIBDIR=os.path.dirname(self.pc),
                   PKG_CONFIG_SYSROOT_DIR=self.root).split()

    def test_example_compiles_and_runs(self):
        program = self.root + "/example"
        run(*os.environ.get("CC", "cc").split(), "-Wall", "-Werror", EXAMPLE, "-o", program,
            *self.flags("--cflags", "--libs"))
        ran = subprocess.run([program], capture_output=True, text=True, check=False,
                             env={"LD_LIBRARY_PATH": os.path.dirname(self.library)})
        self.assertEqual((ran.returncode, ran.stderr), (2, "usage: example PID SECONDS FILE\n"))

    def test_helper_is_where_the_library_looks(self):
        with open(self.library, "rb") as file:
            path, = (text for text in file.read().split(b"\0") if text.endswith(b"/helper"))
        helper = self.root + path.decode()
        self.assertEqual(os.path.dirname(os.path.dirname(helper)), os.path.dirname(self.library))
        ran = subprocess.run([helper], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("libdwarfprof starts this program", ran.stderr)

    def test_header_is_plain_c(self):
        run(*os.environ.get("CC", "cc").split(), "-std=c99", "-pedantic-errors", "-fsyntax-only", "-x", "c",
            *self.flags("--cflags"), "-include", "dwarfprof.h", os.devnull)

    def test_symbols_keep_their_versions(self):
        symbols = {version: set() for version in SYMBOLS}
        for line in run("nm", "-D", "--defined-only", "--with-symbol-versions", self.library).splitlines():
            address, kind, name = line.split()
            if kind != "A":  # a version itself
                name, version = name.split("@@")
                symbols[version].add(name.removeprefix("dwarfprof_"))
        self.assertEqual(symbols, SYMBOLS)


if __name__ == "__main__":
    harness.run_tests()
