#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings, which may be strangers', are read by a process that has given up its rights.

usage: check_confined.py DWARFPROF PROGRAM-DIR
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import busy, dwarfprof, main, start, wait_for

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../symbols/tests"))
import debug_files  # noqa: E402

NOBODY = 65534


class Confined(unittest.TestCase):
    """What reads a recording, which may be a stranger's, has given up its rights."""

    @classmethod
    def setUpClass(cls):
        cls.made = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.recording = os.path.join(cls.made, "x.dwarfprof")
        with busy() as pid:
            result, = harness.run_at_once([harness.DWARFPROF, "-o", cls.recording, "-p", pid], of=[pid])
        assert result.returncode == 0, result.stderr
        cls.folded = dwarfprof("report", cls.recording, "--sandbox=off", "--format", "folded").stdout
        assert ";fibonacci" in cls.folded

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_on(self, command, *args, code=0, **kwargs):
        result = dwarfprof(command, *args, **kwargs)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def test_has_nothing(self):
        with open(self.recording, "rb") as file:
            whole = file.read()
        report = start("report", "-", "-v", "--format", "folded", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
        self.addCleanup(report.kill)
        report.stdin.write(whole[:len(whole) // 2])
        report.stdin.flush()
        children = f"/proc/{report.pid}/task/{report.pid}/children"
        wait_for(lambda: harness.read(children).split())
        reader, = harness.read(children).split()
        # It waits for the rest.
        wait_for(lambda: "\nSeccomp:\t2" in harness.read(f"/proc/{reader}/status"))
        has = dict(line.split(":\t", 1) for line in harness.read(f"/proc/{reader}/status").splitlines())
        self.assertEqual((has["NoNewPrivs"], int(has["CapEff"], 16), int(has["CapPrm"], 16), int(has["CapBnd"], 16)),
                         ("1", 0, 0, 0))
        self.assertIsNone(report.poll())
        out, said = report.communicate(whole[len(whole) // 2:])
        self.assertEqual(report.returncode, 0, said)
        self.assertIn("recordings are read with no capabilities, no_new_privs, Landlock, seccomp", said.decode())
        self.assertEqual(out.decode(), self.folded)

    def test_of_anybody_s_directory(self):
        """Root reads and writes where only another user may."""
        shutil.copy(self.recording, self.path("a.dwarfprof"))
        shutil.copy(self.recording, self.path("b.dwarfprof"))
        for name in "a.dwarfprof", "b.dwarfprof":
            os.chmod(self.path(name), 0o600)
            os.chown(self.path(name), NOBODY, NOBODY)
        os.chown(self.directory, NOBODY, NOBODY)
        self.run_on("convert", self.path("a.dwarfprof"), "-o", self.path("x.folded"), "-o", self.path("x.svg"))
        self.assertEqual(harness.read(self.path("x.folded")), self.folded)
        self.assertIn("</svg>", harness.read(self.path("x.svg")))
        # A file with two names is replaced.
        os.link(self.path("x.svg"), self.path("y.svg"))
        before = harness.read(self.path("x.svg"))
        self.run_on("convert", self.path("a.dwarfprof"), "-o", self.path("y.svg"))
        self.assertEqual(os.stat(self.path("x.svg")).st_nlink, 1)
        self.assertEqual(harness.read(self.path("x.svg")), before)
        samples = self.run_on("report", self.directory, "--format", "jsonl").stdout.splitlines()
        self.assertEqual(len(samples), 2 * len(self.run_on("report", self.recording, "--format", "jsonl").stdout.splitlines()))
        # Of one that cannot be read, nothing is left.
        with open(self.path("c.dwarfprof"), "w") as file:
            file.write("none")
        self.run_on("convert", self.path("c.dwarfprof"), "-o", self.path("z.svg"), code=1)
        self.assertEqual(sorted(os.listdir(self.directory)),
                         ["a.dwarfprof", "b.dwarfprof", "c.dwarfprof", "x.folded", "x.svg", "y.svg"])

    def test_by_anybody(self):
        os.chmod(self.directory, 0o777)
        recording = shutil.copy(self.recording, self.path("x.dwarfprof"))
        os.chmod(recording, 0o644)
        for mode in "off", "auto", "require":
            result = self.run_on("report", recording, f"--sandbox={mode}", "--format", "folded", "--no-cache", user=NOBODY)
            self.assertEqual((result.stdout, result.stderr), (self.folded, ""))

    def test_that_asks_a_server(self):
        """It may use sockets of the Internet then, and write what it gets."""
        program, debug = self.path("inlined"), self.path("debug")
        shutil.copy(harness.program("inlined"), program)
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["strip", "--strip-all", program], check=True)
        recording = self.path("x.dwarfprof")
        dwarfprof("-d", "1", "--kill", "-o", recording, "--", program, "3")
        with debug_files.Server({debug_files.build_id(program): debug}) as server:
            result = self.run_on("report", recording, "-v", "--sandbox=require", "--format", "folded", "--no-cache",
                                 env=server.environment(self.directory))
            self.assertIn(f"/buildid/{debug_files.build_id(program)}/debuginfo", server.asked)
        self.assertIn("recordings are read with no capabilities", result.stderr)
        self.assertIn("_[i]", result.stdout)

    def test_a_pipe_that_is_closed(self):
        report = start("report", self.recording, "--format", "jsonl", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        report.stdout.close()
        said = report.stderr.read()
        report.stderr.close()
        self.assertNotEqual(report.wait(), 0)
        self.assertNotIn(b"has ended", said)


if __name__ == "__main__":
    main()
