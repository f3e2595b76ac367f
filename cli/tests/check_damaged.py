#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damaged stacks and deep ones: each ends with the right outcome, and no frame is invented.

usage: check_damaged.py DWARFPROF PROGRAM-DIR
"""
import contextlib
import os
import signal
import unittest

import harness
from harness import Target, program, wait_until_it_runs

START = ["__libc_start_call_main", "__libc_start_main", "_start"]
DEEP = ["spin"] + 2047 * ["descend"]


def names(sample):
    return [frame["symbol"] for frame in sample["user_stack"]]


class Damaged(unittest.TestCase):
    """All scenarios that need the same options are sampled in one run."""
    LONG = "test_depth",

    PLAIN = ("noncanonical", "heap", "itself", "vsyscall", "null", "code", "self-reference", "wild-pointer", "unmapped",
             "end-of-page", "handler", "jit")
    WITH_FRAME_POINTER = "self-reference", "cycle"

    @classmethod
    def setUpClass(cls):
        cls.samples = cls.profile(*(("damaged", scenario) for scenario in cls.PLAIN),
                                  *(("damaged-fp", scenario) for scenario in cls.WITH_FRAME_POINTER))

    @staticmethod
    def profile(*programs, rate="199", options=()):
        """Samples programs, each with a scenario; returns the samples of each."""
        with contextlib.ExitStack() as targets:
            pids = []
            for build, scenario in programs:
                pids.append(targets.enter_context(Target(program(build), scenario)))
                harness.wait_for(lambda name=scenario: harness.read(f"/proc/{pids[-1]}/comm").strip() == name)
                wait_until_it_runs(pids[-1])
                os.kill(int(pids[-1]), signal.SIGSTOP)  # until all of them are there
            samples = harness.sample_each(pids, 21, "-F", rate, *options)
        return {which: samples[pid] for which, pid in zip(programs, pids)}

    def expect(self, scenario, outcome, frames, build="damaged", samples=None):
        """Expects every stack of a scenario to have this outcome and exactly these frames,
        innermost first."""
        found = (samples or self.samples)[build, scenario]
        self.assertEqual({(s["outcome"], *names(s)) for s in found}, {(outcome, *frames)}, scenario)
        return found

    def test_return_address(self):
        self.expect("noncanonical", "no_mapping", ["victim_return"])
        self.expect("heap", "no_mapping", ["victim_return"])
        self.expect("itself", "no_mapping", ["victim_itself"])
        self.expect("vsyscall", "no_mapping", ["victim_return"])
        self.expect("null", "null_return", ["victim_return"])
        samples = self.expect("code", "no_call", ["victim_return"])
        # The kernel found it, without a copy of the stack.
        self.assertFalse(any(s["late"] for s in samples))

    def test_frame_pointer(self):
        """Where rules need it: a build with a frame pointer in each function, and an alloca()."""
        self.expect("self-reference", "stack_direction", ["victim_rbp", "middle"], build="damaged-fp")
        self.expect("cycle", "stack_direction", ["victim_cycle", "middle", "outer"],
                    build="damaged-fp")
        # Without an alloca(), no rule needs it.
        self.expect("self-reference", "complete", ["victim_rbp", "middle", "outer", "main", *START])

    def test_frame_pointers_alone(self):
        samples = self.profile(("damaged-fp", "self-reference"), ("damaged-fp", "cycle"), ("damaged", "wild-pointer"),
                               options=("--unwind", "fp"))
        self.expect("self-reference", "bad_frame_pointer", ["victim_rbp", "middle"], "damaged-fp", samples)
        self.expect("cycle", "bad_frame_pointer", ["victim_cycle", "middle", "outer"], "damaged-fp", samples)
        self.expect("wild-pointer", "bad_frame_pointer", ["victim_wild"], samples=samples)

    def test_code_without_rules(self):
        self.expect("wild-pointer", "no_rule", ["victim_wild"])
        self.expect("wild-pointer", "no_rule", ["victim_wild"],
                    samples=self.profile(("damaged", "wild-pointer"), options=("--unwind", "dwarf")))

    def test_stack_pointer(self):
        for scenario in ("unmapped", "end-of-page"):
            samples = self.expect(scenario, "read_fault", ["victim_sp"])
            self.assertEqual({int(s["fault_address"], 16) % 4096 for s in samples},
                             {0 if scenario == "unmapped" else 4092})

    def test_depth(self):
        # Rarely: the text of a sample has half a megabyte, and its walk takes an emulated CPU a tenth of a second.
        rate = "9" if harness.is_emulated() else "49"
        self.expect("deep", "depth_limit", DEEP[:1024], samples=self.profile(("damaged", "deep"), rate=rate))
        samples = self.profile(("damaged", "deep"), ("damaged", "deep-enough"), rate=rate, options=("--max-stack", "2048"))
        self.expect("deep", "depth_limit", DEEP, samples=samples)
        self.expect("deep-enough", "complete", [*DEEP[:2002], "main", *START], samples=samples)

    def test_walks_that_end_where_a_handler_returns_to(self):
        """That address was not called, but the frame is right, whatever comes after it."""
        whole = self.samples["damaged", "handler"]
        cut = self.profile(("damaged", "handler"), options=("--max-stack", "2"))["damaged", "handler"]
        self.assertEqual({s["outcome"] for s in whole}, {"complete"})
        self.assertEqual({s["outcome"] for s in cut}, {"depth_limit"})
        self.assertEqual({tuple(names(s)[:2]) for s in whole}, {tuple(names(s)) for s in cut})
        self.assertEqual({f["method"] for s in whole for f in s["user_stack"][2:3]}, {"signal"})

    def test_code_that_is_in_no_file(self):
        samples = self.expect("jit", "complete", ["spin", None, "jit", "main", *START])
        self.assertEqual([f["method"] for f in samples[0]["user_stack"]],
                         ["leaf", "table", "frame_pointer"] + 4 * ["table"])


if __name__ == "__main__":
    harness.main()
