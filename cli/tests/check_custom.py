#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labels that threads set as Polar Signals' library has them: what the program itself has logged.

usage: check_custom.py DWARFPROF PROGRAM-DIR
"""
import collections
import unittest

import chance
import harness
from harness import CHANGING, program, record_logged

KEYS = {"none", "number", "route", "empty", "long"}
CUT = "x" * 255 + "…"
# Up to one in a thousand is of a moment at which they cannot be read: at most one in 50.
UNKNOWN = 0.001, 0.02


def labels_of(number):
    if not number:
        return {}
    labels = {"number": str(number)}
    if number % 3 == 0:
        labels["route"] = f"/r/{number}"
    if number % 5 == 0:
        labels["empty"] = ""
    if number % 7 == 0:
        labels["long"] = CUT
    return labels


class Logged(unittest.TestCase):
    def judge(self, samples, log):
        """Compares each sample's labels with the log. Returns how many are right, unknown and without a label."""
        counts = collections.Counter()
        for s in samples:
            number = log.at(s["tid"], s["time_ns"]) if s["tid"] in log.times else 0
            if number == CHANGING:
                continue
            labels = {key: value for key, value in (s["labels"] or {}).items() if key in KEYS and isinstance(value, str)}
            if labels == labels_of(number) and s["labels_cut"] == ("long" in labels):
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

    def check(self, target, seconds, n, *options):
        """Longer if others leave the program little CPU time."""
        for longer in 1, 3, 9:
            counts = self.judge(*record_logged(target, longer * seconds, *options))
            if counts["right"] > n and counts["none"] > n / 50:
                break
        else:
            self.fail("there was too little to see")
        self.assertTrue(chance.is_rare(counts["unknown"], counts["unknown"] + counts["right"], *UNKNOWN))


class Custom(Logged):
    LONG = "test_many_cpu_samples",

    def test_cpu_samples(self):
        self.check("custom-pie", 2, 3000, "-F", "4999")
        self.check("custom-v0", 1, 1000, "-F", "4999")

    def test_many_cpu_samples(self):
        self.check("custom-pie", 10, 20000, "-F", "4999")
        self.check("custom-v0", 5, 10000, "-F", "4999")

    def test_off_cpu_samples(self):
        self.check("custom-pie", 3, 500, "--off-cpu")
        self.check("custom-with-descriptor", 4, 500, "--wall", "-F", "499")

    def test_each_way_to_link(self):
        for target in "static", "with-descriptor", "with-v0":
            with self.subTest(target=target):
                self.check(f"custom-{target}", 2, 500, "-F", "999")

    def test_a_file_with_two_sources(self):
        """The other one is read. That these are not, is said."""
        for longer in 1, 3, 9:
            samples, log = record_logged("custom-both", 2 * longer, "-F", "999")
            walked = [s for s in samples if s["tid"] in log.times and s["outcome"] == "complete"]
            if len(walked) > 500:
                break
        self.assertFalse(any(KEYS & set(s["labels"] or {}) for s in walked))
        self.assertTrue(chance.is_rare(sum(not s["labels_cut"] for s in walked), len(walked), *UNKNOWN))

    def test_authority_over_probes(self):
        """A probe's value of the same name does not take a label's place."""
        for longer in 1, 3, 9:
            samples, log = record_logged("custom-pie", 3 * longer, "-F", "999", "--probe",
                                       f"label:{program('custom-pie')}:run(number=arg1:u64,thread=arg1:u64)")
            right = self.judge(samples, log)["right"]
            both = [s["labels"] for s in samples if s["labels"] and "thread" in s["labels"]]
            self.assertTrue(all(isinstance(of["thread"], int) for of in both))
            kinds = {type(of["number"]) for of in both}
            if right > 500 and kinds == {str, int}:
                return
        self.fail(f"there was too little to see: {right}, {kinds}")

    def test_tables_say_which(self):
        for name, words in (("custom-pie", "custom_labels_v1, at offset "), ("custom-v0", "custom_labels_v0, at offset "),
                            ("custom-static", "custom_labels_v1, at offset "),
                            ("libcustomlabels_descriptor.so", "custom_labels_v1, at descriptor "),
                            ("libcustomlabels_v0.so", "custom_labels_v0, at descriptor ")):
            self.assertIn(words, harness.dwarfprof("tables", program(name)).stdout)
        self.assertNotIn("custom_labels", harness.dwarfprof("tables", program("custom-with-v0")).stdout)


if __name__ == "__main__":
    harness.main()
