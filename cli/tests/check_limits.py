#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dwarfprof doctor --limits: each row of the table, as text and as JSON.

usage: check_limits.py DWARFPROF TABLE
"""
import json
import re
import subprocess
import sys
import unittest

DWARFPROF, TABLE = sys.argv[1:3]
del sys.argv[1:3]
FACTORS = {"ms": 10**6, "s": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def run(*options, **kwargs):
    return subprocess.run([DWARFPROF, "doctor", "--limits", *options], stderr=subprocess.PIPE, text=True, **kwargs)


class Limits(unittest.TestCase):
    def setUp(self):
        self.said = json.loads(run("--json", stdout=subprocess.PIPE, check=True).stdout)["limits"]

    def test_all_rows_in_order(self):
        with open(TABLE) as file:
            expected = re.findall(r"^(?:LIMIT\((\w+),|GROUP\(\"(.*)\"\))", file.read(), re.M)
        group = None
        for limit, next_group in expected:
            if next_group:
                group = next_group
            else:
                said = self.said.pop(0)
                self.assertEqual((said["name"], said["group"]), (limit, group))
        self.assertEqual(self.said, [])

    def test_text_says_the_same(self):
        lines = run(stdout=subprocess.PIPE, check=True).stdout.splitlines()
        group = None
        for limit in self.said:
            if limit["group"] != group:
                group = limit["group"]
                self.assertEqual(lines.pop(0), group)
            name, value, unit, what = re.fullmatch(r"  (\w+) +(\d+) ([^:]+): (.*)", lines.pop(0)).groups()
            self.assertEqual((name, what), (limit["name"], limit["what"]))
            self.assertEqual(int(value) * FACTORS.get(unit if limit["unit"] in ("ns", "bytes") else "", 1), limit["value"])
            if limit["unit"] not in ("ns", "bytes"):
                self.assertEqual(unit, limit["unit"])
            told = f'{limit["told"]}: "{limit["words"]}"' if limit["words"] else limit["told"]
            self.assertEqual(lines.pop(0), f"    beyond: {limit['beyond']} ({told})")
            if lines and not lines[0]:
                lines.pop(0)
        self.assertEqual(lines, [])

    def test_what_has_nothing_to_do_with_them(self):
        result = run("--btf", "/dev/null", stdout=subprocess.PIPE)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--limits and --btf exclude each other", result.stderr)

    def test_what_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            for options in (), ("--json",):
                result = run(*options, stdout=full)
                self.assertEqual(result.returncode, 1)
                self.assertIn("cannot write the limits: No space left on device", result.stderr)


if __name__ == "__main__":
    unittest.main()
