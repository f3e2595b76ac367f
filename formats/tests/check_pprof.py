#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks pprof profiles with Go's and npm's readers and protobuf's own decoder.

usage: check_pprof.py WRITE-REPORTS VIEWERS-DIR

The samples are made up (write_reports.c); what the readers find in the profile has to be
what stands in the folded stacks of the same samples: stack by stack, with the same values.
"""
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cli/tests"))
import harness  # noqa: E402
from readers import go_pprof, put_stack, read_folded, read_go, without_offsets, write_reports

TESTS = os.path.dirname(os.path.abspath(__file__))
WRITE_REPORTS, VIEWERS = map(os.path.abspath, sys.argv[1:3])
KERNEL = "[kernel.kallsyms]"

# The value that folded stacks have, and its divisor.
KINDS = {"cpu": (0, 1, ["samples/count", "cpu/nanoseconds"]),
         "uprobe": (0, 1, ["events/count"]),
         "off-cpu": (1, 1000, ["events/count", "off_cpu/nanoseconds"]),
         "wall": (3, 1000, ["events/count", "cpu/nanoseconds", "off_cpu/nanoseconds", "wall/nanoseconds"])}


def fold(frames, labels):
    """A sample as a folded stack."""
    names = []
    for frame in frames:
        lines = frame["lines"]
        if not lines:
            file = frame["mapping"]
            names.append("<unknown>" if file is None else f"[{os.path.basename(file)}]")
            continue
        kernel = "_[k]" if frame["mapping"] == KERNEL or lines == ["[kernel]"] else ""
        names += [line + "_[i]" for line in lines[:-1]] + [lines[-1] + kernel]
    return without_offsets(put_stack(labels.get("comm", ""), names))


class Readers(unittest.TestCase):
    def compare(self, profile, folded, totals, kind):
        which, divisor, types = KINDS[kind]
        self.assertEqual(profile["types"], types)
        stacks = collections.Counter()
        for sample in profile["samples"]:
            self.assertEqual(len(sample["values"]), len(types))
            stacks[fold(sample["frames"], sample["labels"])] += sample["values"][which]
        self.assertEqual({stack: (value + divisor // 2) // divisor for stack, value in stacks.items()}, dict(folded))
        events = re.search(r"scaled to (\d+) events", totals)[1]
        self.assertEqual(sum(sample["values"][0] for sample in profile["samples"]), int(events))
        counts = re.match(r"\[totals: (\d+) samples, (\d+) lost, (\d+ of \d+)", totals).groups()
        self.assertTrue(any(c.startswith("samples: {}, lost: {}, complete: {} ".format(*counts))
                            for c in profile["comments"]), profile["comments"])
        for sample in profile["samples"]:
            mark = sample["frames"][-1]["lines"]
            outcome = sample["labels"].get("outcome")
            self.assertEqual(mark == [f"[truncated: {outcome}]"], outcome is not None)
            self.assertEqual(str(sample["labels"]["thread_name"]), f"thread {str(sample['labels']['tid']).split()[0]}")

    def each_kind(self, check):
        for kind in KINDS:
            with self.subTest(kind), tempfile.TemporaryDirectory() as directory:
                folded, pprof = write_reports(WRITE_REPORTS, directory, kind, "folded", "pprof")
                check(kind, directory, pprof, *read_folded(folded))

    def test_go(self):
        def check(kind, directory, pprof, folded, totals):
            raw = go_pprof(directory, "-symbolize=none", "-raw", pprof)
            self.compare(read_go(raw), folded, totals, kind)
            self.assertRegex(raw, r"(?m)^1: .*/write_reports 0123abcd ")
            top = go_pprof(directory, "-symbolize=none", "-top", "-sample_index=0", pprof)
            self.assertRegex(top, r"^File: write_reports\nBuild ID: 0123abcd\ndwarfprof ")
            self.assertRegex(top, r"(?m) innermost \(inline\)$")
            peek = go_pprof(directory, "-symbolize=none", "-peek=^inner$", pprof)
            self.assertRegex(peek, r"(?m)\| +outer( \(inline\))?$")
            self.assertRegex(peek, r"(?m)\| +innermost \(inline\)$")
        self.each_kind(check)

    def test_npm(self):
        reader = os.path.join(VIEWERS, "pprof-format")
        if not os.path.exists(reader):
            self.skipTest("pprof-format is not installed (ci/setup viewers)")

        def check(kind, _, pprof, folded, totals):
            result = subprocess.run(["node", os.path.join(TESTS, "read_pprof.js"), reader, pprof],
                                    capture_output=True, text=True, check=True)
            profile = json.loads(result.stdout)
            self.compare(profile, folded, totals, kind)
            for ids in profile["ids"]:
                self.assertEqual(ids, list(range(1, len(ids) + 1)))
        self.each_kind(check)

    def test_protoc(self):
        """It does not know our messages, and would show strings that are not UTF-8 as messages."""
        def check(kind, _, pprof, folded, totals):
            with gzip.open(pprof) as file:
                data = file.read()
            text = subprocess.run(["protoc", "--decode_raw"], input=data, capture_output=True, check=True).stdout
            fields = collections.Counter(re.findall(rb"(?m)^(\d+)", text))
            self.assertLessEqual(set(fields), {b"1", b"2", b"3", b"4", b"5", b"6", b"9", b"10", b"11", b"12", b"13", b"14"})
            self.assertEqual(fields[b"1"], len(KINDS[kind][2]))
            self.assertGreaterEqual(fields[b"2"], len(folded))
            self.assertEqual(re.findall(rb'(?m)^6[ :].*$', text)[0], b'6: ""')
        self.each_kind(check)

    def test_go_finds_code_and_sources(self):
        """By mappings, and by the lines' files: some of the time must be in what it shows."""
        with tempfile.TemporaryDirectory() as directory:
            _, pprof = write_reports(WRITE_REPORTS, directory, "cpu", "folded", "pprof")
            assembly = go_pprof(directory, "-symbolize=none", "-disasm=outer", pprof)
            source = go_pprof(directory, "-symbolize=none", "-list=^outer$", pprof)
        symbols = subprocess.run(["nm", WRITE_REPORTS], capture_output=True, text=True, check=True).stdout
        start = re.search(r"(?m)^0*([0-9a-f]+) t outer$", symbols)[1]
        self.assertRegex(assembly, rf"(?m)^ROUTINE =+ outer\n.*\n +[1-9]\S*s +\S+s +{start}: ")
        self.assertRegex(source, r"(?m)^ +\. +[1-9]\S*s +\d+:\s+return inner\(x\) \+ inner\(x \+ 1\);$")


if __name__ == "__main__":
    harness.run_tests()
