#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the commands in ci/ count as a failure.

usage: check_rules.py
"""
import os
import sys
import unittest

CI = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [CI, os.path.join(CI, "kernel")]
import debian  # noqa: E402


class NewKernels(unittest.TestCase):
    PROVEN = ("6.1.192-2", "6.12.118-1", "7.2.13-1")

    def expect(self, new, *versions):
        for version in versions:
            with self.subTest(version=version):
                self.assertEqual(debian.is_new(version, self.PROVEN), new)

    def test_updates_of_each_series(self):
        self.expect(True, "6.1.192-3", "6.1.193-1", "6.1.1000-1", "6.12.119-1", "7.2.14-1")

    def test_series_without_a_proven_one(self):
        self.expect(True, "7.3.1-1", "8.0.1-1", "6.13.1-1")

    def test_proven_ones_and_older(self):
        self.expect(False, *self.PROVEN, "6.1.191-9", "6.12.9-1", "7.2.12-2")


if __name__ == "__main__":
    unittest.main()
