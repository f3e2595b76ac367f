#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a walk may take in the kernel, whatever a program's unwind information says.

usage: check_walk_limit.py DWARFPROF PROGRAM-DIR

Each sample of test-programs/costly.S takes milliseconds if nothing bounds it, in which its CPU does
nothing else.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

import chance
import harness
from harness import Target, start

SOURCE = os.path.join(os.path.dirname(__file__), "../../test-programs/costly.S")
STATS = "/proc/sys/kernel/bpf_stats_enabled"
# How much longer a walk may take than one that --max-stack ends after a quarter of its frames: about
# four times, if nothing more is read or searched beyond the limit. The same in microseconds, on any
# CPU: 100 to 200 on a Xeon, up to 900 where the kernel guards each return and indirect call.
MOST_TIMES, MOST = 8, 3000
# Of ten samples nine must be bounded; up to one in 100 finds a page that was not touched yet.
MIN_SAMPLES = chance.enough(0.01, 0.1)


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


def lines(path):
    return harness.read(path).count("\n") if os.path.exists(path) else 0


class WalkLimit(unittest.TestCase):
    LONG = "test_registers_to_be_recovered",

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = temporary.name
        before = harness.read(STATS)
        self.addCleanup(self.write_stats, before)
        self.write_stats("1")

    @staticmethod
    def write_stats(value):
        with open(STATS, "w") as file:
            file.write(value)

    def sample(self, program, max_stack):
        """The samples, and the time of each in microseconds."""
        out = os.path.join(self.directory, f"{max_stack}.jsonl")
        with Target("taskset", "-c", "0", program) as pid:
            profiler = start("-p", str(pid), "-F", "499", "-U", "--max-stack", str(max_stack), "-o", out)
            end = time.monotonic() + 60
            while time.monotonic() < end and lines(out) <= MIN_SAMPLES:
                time.sleep(0.1)
            last = spent(profiler.pid)
            profiler.terminate()
            self.assertEqual(profiler.wait(timeout=60), 0)
        with open(out) as file:
            samples = [json.loads(line) for line in file]
        self.assertGreater(len(samples), MIN_SAMPLES)
        # Runs for other processes end at once; samples after `last` was read are few.
        return samples, last / 1000 / len(samples)

    def expect_limit(self, variant):
        program = os.path.join(self.directory, variant)
        subprocess.run(["gcc", "-no-pie", f"-D{variant}", "-o", program, SOURCE], check=True)
        samples, each = self.sample(program, 2048)
        outcomes = collections.Counter(s["outcome"] for s in samples)
        n_frames = [len(s["user_stack"]) for s in samples if s["outcome"] == "walk_limit"]
        self.assertGreater(len(n_frames), 0.9 * len(samples), outcomes)
        self.assertGreater(min(n_frames), 100)
        quarter = self.sample(program, min(n_frames) // 4)[1]
        print(f"{variant}: {each:.0f} us per sample, {quarter:.0f} of {min(n_frames) // 4} of {min(n_frames)} frames, "
              f"{len(samples)} samples, {dict(outcomes)}")
        self.assertLess(each, min(MOST, MOST_TIMES * quarter))

    def test_registers_to_be_recovered(self):
        self.expect_limit("REGISTERS")

    def test_reads_of_other_pages(self):
        self.expect_limit("READS")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    harness.main()
