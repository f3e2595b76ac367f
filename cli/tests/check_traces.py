#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labels by the span that a thread publishes: what the program itself has logged.

usage: check_traces.py DWARFPROF PROGRAM-DIR
"""
import collections
import json
import os
import subprocess
import tempfile
import unittest

import harness
from harness import CHANGING, Log, program, record_logged

KEYS = {"trace_id", "span_id"}
SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../test-programs")


def labels_of(number):
    return {"trace_id": "11" * 8 + f"{number:016x}", "span_id": f"{number:016x}"} if number else {}


class Traces(unittest.TestCase):
    LONG = "test_more_ways_to_link", "test_off_cpu_samples", "test_ways_to_link"

    def record(self, target, seconds, *options, library=None, env=None):
        """Returns the samples, and the program's log."""
        return record_logged(target, seconds, *options, more=[program(library)] if library else (),
                             env=dict(os.environ, **(env or {})))

    def judge(self, samples, log):
        """Compares each sample's labels with the log. Returns how many are right, unknown and without a label."""
        counts = collections.Counter()
        for s in samples:
            number = log.at(s["tid"], s["time_ns"]) if s["tid"] in log.times else 0
            if number == CHANGING:
                continue
            # Those of probes are numbers.
            labels = {key: value for key, value in (s["labels"] or {}).items() if key in KEYS and isinstance(value, str)}
            # Odd ones have an attribute, whose name is not known.
            if labels == labels_of(number) and s["labels_cut"] == (number % 2 == 1):
                counts["right" if number else "none"] += 1
            elif not labels and s["labels_cut"]:
                counts["unknown"] += 1
            else:
                counts["wrong"] += 1
                print(f"{labels} is wrong: {number} at {s['time_ns']}, thread {s['tid']}, cut: {s['labels_cut']}, "
                      f"{s['outcome']}, late: {s['late']}", flush=True)
        print(dict(counts), flush=True)
        self.assertEqual(counts["wrong"], 0)
        return counts

    def check(self, target, seconds, n, *options, **kwargs):
        """Again and again if others leave the program little CPU time."""
        counts = collections.Counter()
        for _ in range(40):
            counts += self.judge(*self.record(target, seconds, *options, **kwargs))
            if counts["right"] > n and counts["none"] > n / 50:
                break
        else:
            self.fail("there was too little to see")
        self.assertLess(counts["unknown"], counts["right"] / 50)

    def test_cpu_samples(self):
        self.check("traces-pie", 3, 20000, "-F", "4999")

    def test_off_cpu_samples(self):
        self.check("traces-pie", 3, 500, "--off-cpu")
        self.check("traces-with-descriptor", 4, 500, "--wall", "-F", "499")

    def test_uprobes(self):
        self.check("traces-pie", 1, 300, "-e", f"uprobe:{program('traces-pie')}:nap")

    def check_ways(self, *targets):
        for target in targets:
            with self.subTest(target=target):
                self.check(f"traces-{target}", 2, 500, "-F", "999")

    def test_ways_to_link(self):
        self.check_ways("static", "with-module", "with-slot", "with-descriptor")

    def test_more_ways_to_link(self):
        self.check_ways("nopie", "static-pie", "with-descriptor_large", "interposed")

    def test_libraries_opened_at_run_time(self):
        for name in "module", "slot", "descriptor", "descriptor_large":
            with self.subTest(library=name):
                self.check("traces-run-time", 1, 500, "-F", "999", library=f"libtraces_{name}.so")

    def test_another_c_library(self):
        """musl's list of blocks has another form."""
        with tempfile.TemporaryDirectory() as directory:
            target = os.path.join(directory, "traces")
            subprocess.run(["musl-gcc", "-O2", "-D_GNU_SOURCE", "-DAT_RUN_TIME", "-pthread",
                            os.path.join(SOURCES, "traces.c"), "-o", target], check=True)
            for dialect in "gnu", "gnu2":
                library = os.path.join(directory, f"{dialect}.so")
                subprocess.run(["musl-gcc", "-O2", "-shared", "-fPIC", f"-mtls-dialect={dialect}",
                                os.path.join(SOURCES, "traces_variable.c"), "-o", library], check=True)
                with self.subTest(dialect=dialect):
                    self.check(target, 1, 500, "-F", "999", library=library)

    def test_attributes(self):
        """Their keys' names are read soon after they are met."""
        for longer in 1, 3, 9:
            samples, log = self.record("traces-pie", longer, "-F", "999", env={"TRACES_KEYS": "1"})
            counts = collections.Counter()
            for s in samples:
                number = log.at(s["tid"], s["time_ns"]) if s["tid"] in log.times else 0
                if number == CHANGING:
                    continue
                labels = {key: value for key, value in (s["labels"] or {}).items() if key in KEYS | {"route"}}
                wanted = labels_of(number)
                if number % 2 == 1 and not s["labels_cut"]:
                    wanted["route"] = f"/r/{number}"
                if s["late"] and not labels and s["labels_cut"]:
                    continue
                self.assertEqual(labels, wanted, s)
                self.assertLessEqual(s["labels_cut"], number % 2 == 1, s)
                counts["route" in labels, s["labels_cut"]] += 1
            print(dict(counts), flush=True)
            if counts[True, False] > 200:
                break
        else:
            self.fail("there was too little to see")
        self.assertLess(counts[False, True], counts[True, False] / 2)

    def test_authority_over_probes(self):
        """A probe's value of the same name does not take the span's place; without a span, it is there."""
        for longer in 1, 3, 9:
            samples, log = self.record("traces-pie", 2 * longer, "-F", "999", "--probe",
                                       f"label:{program('traces-pie')}:run(trace_id=arg1:u64,thread=arg1:u64)")
            right = self.judge(samples, log)["right"]
            both = [s["labels"] for s in samples if s["labels"] and "thread" in s["labels"]]
            self.assertTrue(all(isinstance(of["thread"], int) for of in both))
            kinds = {type(of["trace_id"]) for of in both}
            if right > 300 and kinds == {str, int}:
                return
        self.fail(f"there was too little to see: {right}, {kinds}")

    def test_tables_say_where_the_variable_is(self):
        for name, kind in (("traces-pie", "offset"), ("traces-static", "offset"), ("libtraces_module.so", "module"),
                           ("libtraces_slot.so", "slot"), ("libtraces_descriptor.so", "descriptor")):
            self.assertIn(f"thread_context, at {kind} ", harness.dwarfprof("tables", program(name)).stdout)
        self.assertNotIn("thread_context", harness.dwarfprof("tables", program("traces-run-time")).stdout)

    def test_recordings(self):
        """What is recorded has the same labels."""
        with tempfile.TemporaryDirectory() as directory:
            out, log = os.path.join(directory, "run.dwarfprof"), os.path.join(directory, "log")
            result = harness.dwarfprof("-F", "999", "-o", out, "--", "sh", "-c", 'echo | "$0" 2 "$1" > /dev/null',
                                       program("traces-pie"), log)
            self.assertEqual(result.returncode, 0, result.stderr)
            shown = harness.dwarfprof("convert", "--format", "jsonl", "-o", "-", out)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            counts = self.judge(map(json.loads, shown.stdout.splitlines()), Log(log))
            self.assertGreater(counts["right"], 100)


if __name__ == "__main__":
    harness.main()
