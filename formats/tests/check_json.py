#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the JSON profile with the folded stacks of the same synthetic samples.

usage: check_json.py WRITE-REPORTS
"""
import collections
import json
import os
import re
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cli/tests"))
import harness  # noqa: E402
from readers import put_stack, read_folded, write_reports

WRITE_REPORTS = os.path.abspath(sys.argv[1])


def frame_names(frames, kernel):
    for frame in frames:
        if frame["symbol"]:
            name = frame["symbol"]
        elif frame["module"]:
            name = f"[{os.path.basename(frame['module'])}]"
        else:
            name = "<unknown>"
        yield name + ("_[i]" if frame["inlined"] else "") + ("_[k]" if kernel else "")


def fold(stack, wall):
    """With the facts that folded stacks have as functions, and JSON as fields."""
    names = [f"[off-cpu {stack['state']}]"] if stack["state"] and wall else []
    names += frame_names(stack["kernel_stack"], True)
    if stack["kernel_stack_error"]:
        names.append("[kernel]_[k]")
    names += frame_names(stack["user_stack"], False)
    if stack["outcome"] not in ("complete", "kernel_only"):
        names.append(f"[truncated: {stack['outcome']}]")
    return put_stack(stack["comm"], names)


class Json(unittest.TestCase):
    def check(self, kind, value, divisor):
        with tempfile.TemporaryDirectory() as directory:
            folded_path, path = write_reports(WRITE_REPORTS, directory, kind, "folded", "json")
            folded, said = read_folded(folded_path)
            with open(path) as file:
                profile = json.load(file)
        totals, stacks = profile["totals"], collections.Counter()
        for stack in profile["stacks"]:
            stacks[fold(stack, kind == "wall")] += stack[value]
        self.assertEqual({stack: (n + divisor // 2) // divisor for stack, n in stacks.items()}, dict(folded))
        self.assertEqual(sum(stack["count"] for stack in profile["stacks"]), totals["count"])
        self.assertEqual(totals["count"], int(re.search(r"scaled to (\d+) events", said)[1]))
        self.assertTrue(said.startswith("[totals: {samples} samples, {lost} lost, ".format(**totals)))
        self.assertEqual(sum(totals["outcomes"].values()), totals["samples"])
        if divisor > 1:
            self.assertEqual(sum(stack["time_ns"] for stack in profile["stacks"]), totals["time_ns"])
        lines = [f["source_location"]["line"] for s in profile["stacks"] for f in s["user_stack"] if f["source_location"]]
        self.assertTrue(lines and all(lines))

    def test_samples(self):
        self.check("cpu", "count", 1)

    def test_calls(self):
        self.check("uprobe", "count", 1)

    def test_blocks(self):
        self.check("off-cpu", "time_ns", 1000)

    def test_wall_time(self):
        self.check("wall", "time_ns", 1000)


if __name__ == "__main__":
    harness.run_tests()
