#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks at 57-bit addresses, on machines with five-level page tables.

usage: check_high.py DWARFPROF PROGRAM-DIR
"""
import json
import os
import tempfile
import unittest

import harness
from harness import Target, dwarfprof, program

FRAMES = ["descend"] * 21 + ["run"]


class High(unittest.TestCase):
    def test_stacks_are_walked(self):
        with tempfile.TemporaryDirectory() as directory, Target(program("high")) as pid:
            path = os.path.join(directory, "samples.jsonl")
            result = dwarfprof("-F", "99", "-d", "2", "-p", pid, "-o", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            dumped = dwarfprof("dump", "-p", pid)
            with open(path) as file:
                samples = [json.loads(line) for line in file]
        self.assertGreater(len(samples), 20)
        self.assertEqual({s["outcome"] for s in samples}, {"complete"})
        for sample in samples:
            self.assertEqual([f["symbol"] for f in sample["user_stack"]][:len(FRAMES)], FRAMES)
        self.assertEqual(dumped.stdout.count("descend"), 21, dumped.stdout)


if __name__ == "__main__":
    harness.main()
