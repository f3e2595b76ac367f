#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A target that was not measured is neither met nor missed.

usage: check_verdicts.py
"""
import copy
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "../cli/tests")]
import harness  # noqa: E402
import verdicts  # noqa: E402

FIGURES = {
    "recorded_bytes_per_sample": "bytes per sample that perf --call-graph dwarf records",
    "ring_bytes_per_sample": "bytes per sample that come out of the kernel",
    "rooted": "share of stacks that reach their root",
}


RUN = {"recorded_bytes_per_sample": 10, "ring_bytes_per_sample": 200, "rooted": 0.99, "cpu_share": 0.001, "bpf_ns": 2000}


def results():
    """Three workloads with three runs each, all good: perf takes a hundred times as many bytes."""
    theirs = {name: value * (100 if "bytes" in name else 0.5) for name, value in RUN.items()}
    rates = {"99": {verdicts.OURS: [dict(RUN) for _ in range(3)], verdicts.PERF_DWARF: [dict(theirs) for _ in range(3)]}}
    return {"known": "a", "workloads": {name: copy.deepcopy(rates) for name in "abc"},
            "slowdown": {"99": [0.001], "999": [0.01]}, "cold_start_ms": [50]}


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.results = results()

    def verdict(self, results, start):
        return next(t.verdict() for t in verdicts.of_programs(results) if t.what.startswith(start))

    def without(self, who, figure):
        """The results without a figure of one run of one profiler."""
        found = copy.deepcopy(self.results)
        found["workloads"]["b"]["99"][who][1][figure] = None
        return found

    def test_one_run_without_a_figure(self):
        for figure, start in FIGURES.items():
            for who in (verdicts.OURS, verdicts.PERF_DWARF):
                with self.subTest(figure, who=who):
                    self.assertIn(self.verdict(self.results, start).split(",")[0], ("met", "missed"))
                    self.assertEqual(self.verdict(self.without(who, figure), start), "not measured")

    def test_one_run_without_the_profilers_cpu_time(self):
        start = "CPU of the profiler"
        self.assertIn(self.verdict(self.results, start).split(",")[0], ("met", "missed"))
        self.assertEqual(self.verdict(self.without(verdicts.OURS, "cpu_share"), start), "not measured")

    def test_one_workload_without_perf(self):
        found = copy.deepcopy(self.results)
        del found["workloads"]["c"]["99"][verdicts.PERF_DWARF]
        for start in FIGURES.values():
            self.assertEqual(self.verdict(found, start), "not measured")

    def test_bytes_of_which_there_are_none(self):
        for run in self.results["workloads"]["a"]["99"][verdicts.OURS]:
            run["ring_bytes_per_sample"] = 0
        self.assertEqual(self.verdict(self.results, FIGURES["ring_bytes_per_sample"]), "not measured")


if __name__ == "__main__":
    harness.run_tests()
