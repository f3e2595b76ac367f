#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debug files from servers: when servers are asked, for how long, and with what result.

usage: check_debuginfod.py DWARFPROF PROGRAM-DIR
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import harness

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../symbols/tests"))
import debug_files  # noqa: E402

# Functions that are inlined into work() of test-programs/inlined.c.
MIXERS = {"mix_[i]", "mix_many_[i]"}
# Seconds. Without a limit, a minute is waited for a server.
BOUND = 40


class Debuginfod(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.path = os.path.join(self.directory, "inlined")
        self.debug = os.path.join(self.directory, "debug")
        shutil.copy(harness.program("inlined"), self.path)
        subprocess.run(["objcopy", "--only-keep-debug", self.path, self.debug], check=True)
        subprocess.run(["strip", "--strip-all", self.path], check=True)
        self.files = {debug_files.build_id(self.path): self.debug}

    def profile(self, server, *args, **variables):
        environment = dict(server.environment(self.directory), **variables)
        result = harness.dwarfprof("-d", "1", "--kill", "-o", os.path.join(self.directory, "out.folded"),
                                   *args, "--", self.path, "3", env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return harness.read(os.path.join(self.directory, "out.folded")), result.stderr

    @staticmethod
    def inlined(folded):
        """The functions inlined into work(). At start-up the dynamic linker has inlined functions
        too."""
        stacks = (line.rpartition(" ")[0].split(";") for line in folded.splitlines())
        return {frame for stack in stacks if "work" in stack
                for frame in stack[stack.index("work"):] if frame.endswith("_[i]")}

    def test_names_and_inlined_functions(self):
        with harness.Target(harness.program("inlined"), "60") as pid:
            harness.dwarfprof("-d", "1", "-p", pid, "-o", os.path.join(self.directory, "full.folded"))
        full = harness.read(os.path.join(self.directory, "full.folded"))
        self.assertEqual(self.inlined(full), MIXERS)
        with debug_files.Server(self.files) as server:
            text, stderr = self.profile(server)
            # Each file is requested once, by its build id.
            self.assertEqual(len(server.asked), len(set(server.asked)))
            self.assertIn(f"/buildid/{debug_files.build_id(self.path)}/debuginfo", server.asked)
        self.assertRegex(stderr, r"debuginfod: \d+ of \d+ debug files found")
        self.assertEqual(self.inlined(text), MIXERS)
        self.assertNotIn("[inlined+0x", text)

    def test_nobody_is_asked(self):
        with debug_files.Server(self.files) as server:
            for args, variables in ((["--no-debuginfod"], {}), ([], {"DEBUGINFOD_URLS": ""}),
                                    (["--no-symbols"], {}), (["--format", "jsonl"], {})):
                text, stderr = self.profile(server, *args, **variables)
                self.assertEqual(server.asked, [], args)
                self.assertNotIn("debuginfod", stderr)
                self.assertFalse(MIXERS & set(text.replace(" ", ";").split(";")))
            environment = server.environment(self.directory)
            del environment["DEBUGINFOD_URLS"]
            harness.dwarfprof("-d", "1", "--kill", "--", self.path, "3", env=environment)
            self.assertEqual(server.asked, [])

    def test_time_is_bounded(self):
        with debug_files.Server({}, silent=True) as server:
            start = time.monotonic()
            text, stderr = self.profile(server, "--debuginfod-timeout", "2s")
            self.assertLess(time.monotonic() - start, BOUND)
            self.assertGreater(len(server.asked), 0)
        self.assertIn("no time", stderr)
        self.assertIn("[inlined+0x", text)

    def test_wrong_time(self):
        result = harness.dwarfprof("--debuginfod-timeout", "soon", "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--debuginfod-timeout takes a time", result.stderr)


harness.main()
