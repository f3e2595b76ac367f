#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What was not measured is neither met nor missed.

usage: check_verdicts.py
"""
import copy
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "../cli/tests")]
import harness  # noqa: E402
import machine  # noqa: E402
import verdicts  # noqa: E402

FIGURES = {
    "recorded_bytes_per_sample": "bytes per sample that perf --call-graph dwarf records",
    "ring_bytes_per_sample": "bytes per sample that come out of the kernel",
    "rooted": "share of stacks that reach their root",
}


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.results = machine.read(os.path.join(HERE, "results"), "programs")

    def verdict(self, results, start):
        return next(t.verdict() for t in verdicts.of_programs(results) if t.what.startswith(start))

    def without(self, who, figure):
        """The results, but in one workload that of one profiler."""
        results = copy.deepcopy(self.results)
        workload = next(iter(results["workloads"].values()))
        for run in workload["99"][who]:
            run[figure] = None
        return results

    def test_one_workload_without_a_figure(self):
        for figure, start in FIGURES.items():
            for who in (verdicts.OURS, verdicts.PERF_DWARF):
                with self.subTest(figure, who=who):
                    self.assertIn(self.verdict(self.results, start).split(",")[0], ("met", "missed"))
                    self.assertEqual(self.verdict(self.without(who, figure), start), "not measured")

    def test_one_workload_without_the_profilers_cpu_time(self):
        start = "CPU of the profiler"
        self.assertIn(self.verdict(self.results, start).split(",")[0], ("met", "missed"))
        self.assertEqual(self.verdict(self.without(verdicts.OURS, "cpu_share"), start), "not measured")

    def test_one_workload_without_perf(self):
        results = copy.deepcopy(self.results)
        del next(iter(results["workloads"].values()))["99"][verdicts.PERF_DWARF]
        for start in FIGURES.values():
            self.assertEqual(self.verdict(results, start), "not measured")


if __name__ == "__main__":
    harness.run_tests()
