#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of a file system that does not answer hold up `tables` for a while, and the other files are shown.

usage: check_slow_tables.py DWARFPROF PROGRAM-DIR
"""
import ctypes
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import harness
from harness import main, start
from slow_files import MNT_DETACH, OPEN, READ, SlowFiles


class HangingTables(unittest.TestCase):
    """`tables` of a directory whose files are others'."""
    PATIENCE = {OPEN: 2 + 4, READ: 10 + 4}
    MS_BIND = 4096

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())

    def mount(self, name, *args, **kwargs):
        os.mkdir(os.path.join(self.directory, name))
        return self.enterContext(SlowFiles(os.path.join(self.directory, name), *args, **kwargs))

    def bind(self, path, target):
        libc = ctypes.CDLL(None, use_errno=True)
        open(target, "x").close()
        self.assertEqual(libc.mount(path.encode(), target.encode(), None, self.MS_BIND, None), 0, ctypes.get_errno())
        self.addCleanup(libc.umount2, target.encode(), MNT_DETACH)

    def tables(self, *args):
        """What it says and shows, and how long that takes."""
        began = time.monotonic()
        process = start("tables", *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)  # it may not end before the file system does
        shown, said = process.communicate(timeout=30)
        return shown, said, process.returncode, time.monotonic() - began

    def check(self, hang):
        files = self.mount("mounted", harness.program("fibonacci"), ["hangs"], hangs=(hang,))
        tree = os.path.join(self.directory, "tree")
        os.mkdir(tree)
        hanging, other = os.path.join(tree, "a"), os.path.join(tree, "b")
        self.bind(*files.paths(), hanging)
        shutil.copy(harness.program("fibonacci"), other)
        shown, said, code, _ = self.tables("--json", tree)
        self.assertEqual((said, code), ("", 0))
        self.assertEqual([table["path"] for table in json.loads(shown)], [hanging, other])
        files.hang_for(os.getpid())
        shown, said, code, took = self.tables("--json", tree)
        print(f"it was there after {took:.1f} s", flush=True)
        self.assertLess(took, self.PATIENCE[hang])
        self.assertEqual((said, code), (f"dwarfprof: {hanging}: its file system does not answer\n", 1))
        self.assertEqual([(table["path"], "error" in table) for table in json.loads(shown)], [(hanging, True), (other, False)])

    def test_one_that_is_not_opened(self):
        self.check(OPEN)

    def test_one_that_is_not_read(self):
        self.check(READ)

    def test_a_debug_file(self):
        """Its name is the file's own, and so is where it lies."""
        binary = os.path.join(self.directory, "x")
        debug = os.path.join(self.directory, "x.debug")
        subprocess.run(["gcc", "-g", "-fno-asynchronous-unwind-tables", "-nostdlib", "-static", "-x", "c", "-", "-o", binary],
                       input="void _start(void) { for (;;) ; }\n", text=True, check=True)
        subprocess.run(["objcopy", "--only-keep-debug", binary, debug], check=True)
        subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", binary], check=True)
        files = self.mount(".debug", debug, ["x.debug"], hangs=(OPEN,))
        os.remove(debug)
        files.hang_for(os.getpid())
        shown, said, code, took = self.tables("--json", binary)
        print(f"it was there after {took:.1f} s", flush=True)
        self.assertLess(took, self.PATIENCE[OPEN])
        self.assertEqual((said, code), (f"dwarfprof: warning: {binary}: its debug file is left out: its file system does not "
                                        "answer\n", 0))
        self.assertEqual([table["path"] for table in json.loads(shown)], [binary])


if __name__ == "__main__":
    main()
