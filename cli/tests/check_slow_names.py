#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that a recording or a binary names, of a file system that does not answer, hold up no report.

usage: check_slow_names.py DWARFPROF PROGRAM-DIR
"""
import contextlib
import os
import subprocess
import time

import harness
from check_slow_files import Files
from harness import main, start
from slow_files import OPEN, READ


class HangingRecording(Files):
    """A file that was recorded, and is not opened any more by who makes a report of it."""
    # It waits for two seconds to open, or ten to read, and the other file's names are found.
    PATIENCE = {OPEN: 2 + 4, READ: 10 + 4}

    def report(self, recording):
        """What it says and shows, and how long that takes."""
        began = time.monotonic()
        report = start("report", recording, "--no-cache", "--format", "folded", stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
        self.addCleanup(report.kill)  # it may not end before the file system does
        folded, said = report.communicate(timeout=30)
        self.assertEqual(report.returncode, 0, said)
        return folded, said, time.monotonic() - began

    def check(self, hang):
        files = self.mount(harness.program("fibonacci"), ["hangs"], hangs=(hang,), is_deaf=True)
        file, = files.paths()
        recording = os.path.join(self.directory, "recording.dwarfprof")
        with harness.Target(file, "3600") as hanging, harness.busy() as busy:
            profiler = start("-F", "499", "-d", "1", "-p", f"{hanging},{busy}", "-o", recording, stderr=subprocess.DEVNULL)
            self.addCleanup(profiler.kill)
            self.assertEqual(profiler.wait(60), 0)
        folded, said, _ = self.report(recording)
        self.assertEqual(said, "")
        self.assertRegex(folded, r"(?m)^hangs;.*;main;fibonacci")
        files.hang_for(os.getpid())
        folded, said, took = self.report(recording)
        print(f"it was there after {took:.1f} s", flush=True)
        self.assertLess(took, self.PATIENCE[hang])
        self.assertIn(f"no names for {file}: its file system does not answer", said)
        self.assertRegex(folded, r"(?m)^fibonacci;.*;main;fibonacci")
        self.assertRegex(folded, r"(?m)^hangs;.*\[hangs\+0x")

    def test_one_that_is_not_opened(self):
        self.check(OPEN)

    def test_one_that_is_not_read(self):
        self.check(READ)

    def test_many_of_one_file_system(self):
        """Two are waited for. It is not the share of who makes the report, nor of any other file system."""
        files = self.mount(harness.program("fibonacci"), ["one", "two", "three"], hangs=(OPEN,), is_deaf=True)
        recording = os.path.join(self.directory, "recording.dwarfprof")
        with contextlib.ExitStack() as stack:
            pids = [stack.enter_context(harness.Target(file, "3600")) for file in files.paths()]
            pids.append(stack.enter_context(harness.busy()))
            profiler = start("-F", "499", "-d", "2", "-p", ",".join(map(str, pids)), "-o", recording, stderr=subprocess.DEVNULL)
            self.addCleanup(profiler.kill)
            self.assertEqual(profiler.wait(60), 0)
        files.hang_for(os.getpid())
        folded, said, took = self.report(recording)
        print(f"it was there after {took:.1f} s", flush=True)
        self.assertLess(took, 2 + self.PATIENCE[OPEN])
        for file in files.paths():
            self.assertIn(f"no names for {file}: its file system does not answer", said)
        self.assertEqual(said.count("no names for "), 3, said)
        self.assertRegex(folded, r"(?m)^fibonacci;.*;main;fibonacci")


class HangingSource(Files):
    """A source file that a binary names, which is not there in time, or at all."""
    PATIENCE = 2 + 4
    TEXT = "the text of a line\n"

    def annotate(self):
        began = time.monotonic()
        annotate = start("annotate", "main", self.recording, "--no-cache", stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
        self.addCleanup(annotate.kill)  # it may not end before the file system does
        shown, said = annotate.communicate(timeout=60)
        self.assertEqual((annotate.returncode, said), (0, ""))
        return shown, time.monotonic() - began

    def check(self, hang):
        text, binary, self.recording = (os.path.join(self.directory, name) for name in ("text", "binary", "x.dwarfprof"))
        with open(text, "w") as file:
            file.write(self.TEXT)
        files = self.mount(text, ["source.c"], hangs=(hang,), is_deaf=True)
        source, = files.paths()
        code = (f'volatile unsigned sink;\n#line 1 "{source}"\n'
                'int main(void) { for (unsigned i = 0; i < 400000000; i++) sink++; return 0; }\n')
        subprocess.run(["gcc", "-g", "-O1", "-x", "c", "-", "-o", binary], input=code, text=True, check=True)
        self.assertEqual(harness.dwarfprof("-F", "499", "-o", self.recording, "--", binary).returncode, 0)
        if hang != READ:  # what was read is known
            self.assertIn(self.TEXT, self.annotate()[0])
        files.hang_for(os.getpid())
        shown, took = self.annotate()
        print(f"it was there after {took:.1f} s", flush=True)
        self.assertLess(took, self.PATIENCE)
        self.assertIn(f"{source} (file system does not answer: lines by number)\n", shown)
        self.assertNotIn(self.TEXT, shown)

    def test_one_that_is_not_opened(self):
        self.check(OPEN)

    def test_one_that_is_not_read(self):
        self.check(READ)


if __name__ == "__main__":
    main()
