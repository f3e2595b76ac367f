#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damaged stacks and deep ones: each ends with the right outcome, and no frame is invented.

usage: check_damaged.py DWARFPROF PROGRAM-DIR
"""
import collections
import json
import os
import tempfile
import unittest

import harness
from harness import Target, dwarfprof, program, wait_until_it_runs


def profile(pid, *options):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "samples.jsonl")
        result = dwarfprof("-p", pid, "-d", "1", "-F", "999", "-o", path, *options)
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        with open(path) as file:
            return [json.loads(line) for line in file]


def names(sample):
    return [frame["symbol"] for frame in sample["user_stack"]]


class Damaged(unittest.TestCase):
    def expect(self, scenario, outcome, frames, *options, build="damaged"):
        """Expects every stack of a scenario to have this outcome and exactly these frames,
        innermost first."""
        with Target(program(build), scenario) as pid:
            wait_until_it_runs(pid)
            samples = profile(pid, *options)
        self.assertGreater(len(samples), 20)
        found = collections.Counter((s["outcome"], *names(s)) for s in samples)
        self.assertEqual(set(found), {(outcome, *frames)}, scenario)
        return samples

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
        above = ["middle", "outer", "main", "__libc_start_call_main",
                 "__libc_start_main", "_start"]
        self.expect("self-reference", "complete", ["victim_rbp", *above])

    def test_frame_pointers_alone(self):
        for scenario, victim, frames in (("self-reference", "victim_rbp", ["middle"]),
                                         ("cycle", "victim_cycle", ["middle", "outer"])):
            self.expect(scenario, "bad_frame_pointer", [victim, *frames], "--unwind", "fp",
                        build="damaged-fp")

    def test_code_without_rules(self):
        for options in ((), ("--unwind", "dwarf")):
            self.expect("wild-pointer", "no_rule", ["victim_wild"], *options)
        self.expect("wild-pointer", "bad_frame_pointer", ["victim_wild"], "--unwind", "fp")

    def test_stack_pointer(self):
        for scenario in ("unmapped", "end-of-page"):
            samples = self.expect(scenario, "read_fault", ["victim_sp"])
            self.assertEqual({int(s["fault_address"], 16) % 4096 for s in samples},
                             {0 if scenario == "unmapped" else 4092})

    def test_depth(self):
        frames = ["spin"] + 2047 * ["descend"]
        self.expect("deep", "depth_limit", frames, "--max-stack", "2048")
        self.expect("deep", "depth_limit", frames[:1024])
        self.expect("deep-enough", "complete",
                    frames[:2002] + ["main", "__libc_start_call_main", "__libc_start_main", "_start"],
                    "--max-stack", "2048")

    def test_walks_that_end_where_a_handler_returns_to(self):
        """That address was not called, but the frame is right, whatever comes after it."""
        with Target(program("damaged"), "handler") as pid:
            wait_until_it_runs(pid)
            whole, cut = profile(pid), profile(pid, "--max-stack", "2")
        self.assertEqual({s["outcome"] for s in whole}, {"complete"})
        self.assertEqual({s["outcome"] for s in cut}, {"depth_limit"})
        self.assertEqual({tuple(names(s)[:2]) for s in whole}, {tuple(names(s)) for s in cut})
        self.assertEqual({f["method"] for s in whole for f in s["user_stack"][2:3]}, {"signal"})

    def test_code_that_is_in_no_file(self):
        samples = self.expect("jit", "complete",
                              ["spin", None, "jit", "main", "__libc_start_call_main",
                               "__libc_start_main", "_start"])
        self.assertEqual([f["method"] for f in samples[0]["user_stack"]],
                         ["leaf", "table", "frame_pointer"] + 4 * ["table"])


if __name__ == "__main__":
    harness.main()
