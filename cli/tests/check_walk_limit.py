#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a walk may take in the kernel, whatever a program's unwind information says.

usage: check_walk_limit.py DWARFPROF PROGRAM-DIR

Each sample of test-programs/costly.S takes milliseconds if nothing bounds it, in which its CPU does
nothing else; each of test-programs/remapped.c copies most of a megabyte.
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
# Of ten samples nine must be bounded; up to one in 100 finds a page that was not touched yet. And enough
# for a second, in which walks beyond the process's share of the CPU are short.
HZ = 1999
MIN_SAMPLES = max(HZ, chance.enough(0.01, 0.1))
# Microseconds of a second, on each CPU: SHARE_MAX_NS.
SHARE = 10000
# Frames in the 64 KiB that are copied when the share is used up; a full ring ends few copies there.
SHORT, MANY = range(56, 65), 20


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


class Lines:
    """Those of a growing file, which is read once."""

    def __init__(self, path):
        self.path, self.at, self.n = path, 0, 0

    def count(self):
        if os.path.exists(self.path):
            with open(self.path, "rb") as file:
                file.seek(self.at)
                read = file.read()
            self.at, self.n = self.at + len(read), self.n + read.count(b"\n")
        return self.n


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
        """The samples, and the time of a frame in microseconds."""
        out = os.path.join(self.directory, f"{max_stack}.jsonl")
        with Target("taskset", "-c", "0", program) as pid:
            profiler = start("-p", str(pid), "-F", str(HZ), "-U", "--max-stack", str(max_stack), "-o", out)
            end, lines = time.monotonic() + 60, Lines(out)
            while time.monotonic() < end and lines.count() <= MIN_SAMPLES:
                time.sleep(0.1)
            last = spent(profiler.pid)
            profiler.terminate()
            self.assertEqual(profiler.wait(timeout=300), 0)
        with open(out) as file:
            samples = [json.loads(line) for line in file]
        self.assertGreater(len(samples), MIN_SAMPLES)
        # Runs for other processes end at once; samples after `last` was read are few.
        return samples, last / 1000 / sum(len(s["user_stack"]) for s in samples)

    def expect_limit(self, variant):
        program = os.path.join(self.directory, variant)
        subprocess.run(["gcc", "-no-pie", f"-D{variant}", "-o", program, SOURCE], check=True)
        samples, frame = self.sample(program, 2048)
        n_frames = collections.defaultdict(list)
        for s in samples:
            n_frames[s["outcome"]].append(len(s["user_stack"]))
        whole, short = n_frames["walk_limit"], n_frames["walk_share"]
        self.assertGreater(len(whole) + len(short), 0.9 * len(samples), n_frames)
        self.assertGreater(min(whole), 100)
        each = frame * min(whole)
        quarter = self.sample(program, min(whole) // 4)[1] * (min(whole) // 4)
        print(f"{variant}: {each:.0f} us per sample, {quarter:.0f} of {min(whole) // 4} of {min(whole)} frames; "
              f"{len(whole)} samples, {len(short)} shorter ones, of {len(samples)}")
        self.assertLess(each, min(MOST, MOST_TIMES * quarter))
        # At this rate they would take more than the share, unless the program hardly gets a CPU.
        times = [s["time_ns"] for s in samples]
        seconds = (max(times) - min(times)) / 1e9
        self.assertLess(len(whole) * each, 1.5 * (seconds + 2) * (SHARE + each))
        self.assertLess(max(short, default=0), min(whole) / 3)

    def count_copies(self, out):
        """Copies of whole stacks, and short ones."""
        if not os.path.exists(out):
            return 0, 0
        with open(out) as file:
            samples = [json.loads(line) for line in file.read().splitlines()[:-1]]
        short = [s for s in samples if s["outcome"] == "stack_copy_end" and len(s["user_stack"]) in SHORT]
        return sum(s["outcome"] == "depth_limit" for s in samples), len(short)

    def test_copies(self):
        out = os.path.join(self.directory, "copies.jsonl")
        with Target(harness.program("remapped")) as pid:
            profiler = start("-p", str(pid), "-F", str(HZ), "-U", "--max-stack", "100", "-o", out)
            try:
                harness.wait_for(lambda: min(self.count_copies(out)) >= MANY)
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
