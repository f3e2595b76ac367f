#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the commands in ci/ count as a failure.

usage: check_rules.py
"""
import importlib.machinery
import importlib.util
import os
import sys
import unittest

CI = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True  # next to commands
sys.path[:0] = [CI, os.path.join(CI, "kernel")]
import debian  # noqa: E402


def load(name):
    """A command as a module."""
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(CI, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


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


class Age(unittest.TestCase):
    def test_a_failed_part_is_old_sooner(self):
        nightly = load("nightly")
        for result, age, old in ("OK", 59, False), ("OK", 60, True), ("OK", None, True), ("**FAIL**: a", 0, False), \
                ("**FAIL**: a", 24, False), ("**FAIL**: a", 25, True), (None, None, True):
            with self.subTest(result=result, age=age):
                self.assertEqual(nightly.is_old(result, age), old)


class Newest(unittest.TestCase):
    SAID = """| program | version | samples | complete | frames (median) | not complete |
|---|---|--:|--:|--:|---|
| C, static | 16.2.0 | 1990 | 100.00 % | 8 |  |
814 stacks compared, 0 different, 0 lost
stacks: 100 stacks compared, 2 different, 0 lost
"""

    def test_table(self):
        lines = load("nightly").table_of_newest(self.SAID).splitlines()
        self.assertEqual(lines[2:], ["| C, static | 16.2.0 | 1990 | 100.00 % | – |", "| oracles | – | 914 | – | 2 |"])

    def test_nothing_compared(self):
        table = load("nightly").table_of_newest
        self.assertIsNone(table(""))
        self.assertIsNone(table(self.SAID.replace("814 stacks", "0 stacks").replace("100 stacks", "0 stacks")))


if __name__ == "__main__":
    unittest.main()
