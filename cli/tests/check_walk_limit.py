#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a walk may take in the kernel, whatever a program's unwind information says.

usage: check_walk_limit.py DWARFPROF PROGRAM-DIR

Each sample of test-programs/costly.S takes milliseconds if nothing bounds it, in which its CPU does
nothing else; each of test-programs/remapped.c copies most of a megabyte, and so would those of costly.S that
end at no code, after a walk that has taken nearly as long as it may.
"""
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

import chance
import harness
from harness import Target, start

SOURCE = os.path.join(os.path.dirname(__file__), "../../test-programs/costly.S")
# How much longer a walk may take than one that --max-stack ends after a quarter of its frames: about
# four times, if nothing more is read or searched beyond the limit. The same in microseconds, on any
# CPU: 50 to 150, up to 300 where the kernel guards each return and indirect call.
MOST_TIMES, MOST = 8, 1000
# How many times as many frames are found in a copy of the stack, in user space: UNWINDER_TIMES in samples/unwinder.h.
TIMES = 4
# How much longer with a copy of the stack, which then is short: the shortest of so many times, as load only adds.
MOST_TIMES_LATE, ATTEMPTS = 1.7, 5
# A rate at which whole walks take less than the share of the CPU, share_of_rate() of a second, in microseconds;
# and one at which they would take more.
HZ, SHARE_HZ = 49, 1999
SHARE = 50000
# Of ten samples nine must be bounded; up to one in 100 finds a page that was not touched yet.
MIN_SAMPLES = chance.enough(0.01, 0.1)
# Two seconds, or longer if the program hardly gets a CPU.
SHARE_SAMPLES = 2 * SHARE_HZ
# Copies of each kind that are waited for. --max-stack ends whole ones.
MANY, MAX_STACK = 20, 100


def spent(pid):
    """Nanoseconds of the program by which a profiler samples."""
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        number = re.search(r"^prog_id:\s*(\d+)$", harness.read(f"/proc/{pid}/fdinfo/{fd}"), re.M)
        if number:
            said = json.loads(subprocess.run(["bpftool", "-j", "prog", "show", "id", number[1]],
                                             check=True, capture_output=True, text=True).stdout)
            if said.get("name") == "dp_sample_cpu":
                return said["run_time_ns"]
    raise LookupError("dp_sample_cpu")


class WalkLimit(unittest.TestCase):
    # Of ci/test, ci/check-guard runs both.
    LONG = "test_reads_of_other_pages", "test_registers_to_be_recovered"

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = temporary.name
        self.enterContext(harness.bpf_stats())

    @staticmethod
    def n_walked(sample):
        """Frames that the kernel has walked, if user space has gone on as far as it may."""
        return len(sample["user_stack"]) // (TIMES if sample["late"] and sample["outcome"] == "walk_limit" else 1)

    def sample(self, program, max_stack, hz, n):
        """The samples, at least n, and the time of a frame in microseconds."""
        out = os.path.join(self.directory, f"{max_stack}-{hz}.jsonl")
        with Target("taskset", "-c", "0", program) as pid:
            profiler = start("-p", str(pid), "-F", str(hz), "-U", "--max-stack", str(max_stack), "-o", out)
            harness.wait_for(lambda: os.path.exists(out))
            harness.wait_for_samples(out, n)
            last = spent(profiler.pid)
            profiler.terminate()
            self.assertEqual(profiler.wait(timeout=300), 0)
        with open(out) as file:
            samples = [json.loads(line) for line in file]
        # Runs for other processes end at once; samples after `last` was read are few.
        return samples, last / 1000 / sum(map(self.n_walked, samples))

    def walk(self, program, max_stack, hz=HZ, n=MIN_SAMPLES):
        """The numbers of frames of whole walks and of short ones, the microseconds of a frame, and the seconds from
        the first sample to the last."""
        samples, each = self.sample(program, max_stack, hz, n)
        n_frames = collections.defaultdict(list)
        for s in samples:
            n_frames[s["outcome"]].append(self.n_walked(s))
        whole, short = n_frames["walk_limit"], n_frames["walk_share"]
        self.assertGreater(len(whole) + len(short) + len(n_frames["depth_limit"]), 0.9 * len(samples), n_frames)
        times = [s["time_ns"] for s in samples]
        return whole, short, each, (max(times) - min(times)) / 1e9

    def compile(self, variant, *options):
        program = os.path.join(self.directory, "".join((variant, *options)))
        subprocess.run(["gcc", "-no-pie", f"-D{variant}", *options, "-o", program, SOURCE], check=True)
        return program

    def late(self, variant, program):
        """The time of a sample that ends before the limit and is to be finished in user space, in microseconds."""
        samples, frame = self.sample(program, 2048, HZ, MIN_SAMPLES)
        whole = [s for s in samples if s["outcome"] != "walk_share"]
        late = [len(s["user_stack"]) for s in whole if s["late"]]
        self.assertGreater(len(late), 0.9 * len(whole))
        each = frame * statistics.mean(late)
        print(f"{variant}, late: {each:.0f} us per sample of {statistics.mean(late):.0f} frames, with a copy of the stack")
        return each

    def expect_late(self, variant, program, n_frames, each):
        """A walk that ends before its limit, and is to be finished in user space, copies little."""
        late, times = self.compile(variant, f"-DLATE={n_frames - 2}"), []
        for _ in range(ATTEMPTS):
            times.append(self.late(variant, late))
            if min(times) < MOST_TIMES_LATE * each:
                return
            each = min(each, self.walk(program, 2048)[2] * n_frames)
        self.fail(f"with a copy {min(times):.0f} us, without {each:.0f}")

    def expect_limit(self, variant):
        program = self.compile(variant)
        whole, _, frame, _ = self.walk(program, 2048)
        n_frames = min(whole)
        self.assertGreater(n_frames, 30)
        each = frame * n_frames
        quarter = self.walk(program, n_frames // 4)[2] * (n_frames // 4)
        print(f"{variant}: {each:.0f} us per sample, {quarter:.0f} of {n_frames // 4} of {n_frames} frames")
        self.assertLess(each, min(MOST, MOST_TIMES * quarter))
        self.expect_share(program, each, n_frames)
        self.expect_late(variant, program, n_frames, each)

    def expect_share(self, program, each, n_frames):
        """Within each second, whole walks take the share at most, and then one more."""
        whole, short, _, seconds = self.walk(program, 2048, SHARE_HZ, SHARE_SAMPLES)
        print(f"{len(whole)} whole walks and {len(short)} short ones in {seconds:.1f} s")
        self.assertLess(len(whole) * each, 1.5 * (seconds + 2) * (SHARE + each))
        self.assertLess(max(short, default=0), 0.7 * n_frames)

    def count_copies(self, new):
        """Counts copies of whole stacks, and short ones, in more of what is written."""
        for line in new:
            s = json.loads(line)
            if s["late"] and s["outcome"] == "depth_limit":
                self.n_whole += 1
            elif s["late"] and s["outcome"] == "stack_copy_end" and len(s["user_stack"]) < MAX_STACK:
                self.n_short += 1
        return min(self.n_whole, self.n_short) >= MANY

    def test_copies(self):
        out = os.path.join(self.directory, "copies.jsonl")
        self.n_whole = self.n_short = 0
        with Target(harness.program("remapped")) as pid:
            profiler = start("-p", str(pid), "-F", str(SHARE_HZ), "-U", "--max-stack", str(MAX_STACK), "-o", out)
            try:
                harness.wait_for(lambda: os.path.exists(out))
                with open(out) as file:
                    harness.wait_for(lambda: self.count_copies(harness.whole_lines(file)))
            finally:
                profiler.terminate()
                self.assertEqual(profiler.wait(timeout=300), 0)

    def test_registers_to_be_recovered(self):
        self.expect_limit("REGISTERS")

    def test_reads_of_other_pages(self):
        self.expect_limit("READS")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    harness.main()
