#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPUs that go offline and come online during sampling.

usage: check_cpus.py DWARFPROF PROGRAM-DIR [Told | Gone]

Told: the kernel reports that a CPU went and came, because somebody wrote that into the CPU's uevent
file; nothing else happens. Gone: the CPU really goes offline; for virtual machines.
"""
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

import chance
import harness
from harness import Target, cpu_time, program, start, wait_for

CPUS = "/sys/devices/system/cpu"
BALANCING = "/proc/sys/kernel/numa_balancing"
# Of CPU time, each time: as many samples as one rate allows, and the other where the CPU is emulated.
HZ, SECONDS = (499, 2.0) if harness.is_emulated() else (1999, 0.5)
# The least share of the expected samples: virtual CPUs miss some.
LEAST = 0.1


def write(cpu, name, what):
    with open(f"{CPUS}/cpu{cpu}/{name}", "w") as file:
        file.write(what)


class Run:
    """A profiler of the whole machine, and a program that spins on one CPU."""

    def __init__(self, test, cpu):
        self.test, self.cpu = test, cpu
        self.directory = self.pid = self.profiler = None
        self.target = Target("taskset", "-c", str(cpu), program("fibonacci"), "600")

    def __enter__(self):
        # Cleans up, even if the profiler does not print what it should.
        self.test.addCleanup(self.end)
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, "samples.jsonl")
        self.pid = self.target.__enter__()
        self.profiler = start("-v", "-d", "900", "-F", str(HZ), "-p", self.pid, "-o", self.path, stderr=subprocess.PIPE, text=True)
        self.until("dwarfprof: sampling")
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.profiler:
            self.profiler.kill()
            self.profiler.communicate()
            self.profiler = None
        if self.pid:
            self.target.__exit__()
            self.pid = None
        if self.directory:
            self.directory.cleanup()
            self.directory = None

    def until(self, said):
        """Reads the profiler's messages up to this one."""
        lines = []
        for line in self.profiler.stderr:
            lines.append(line)
            if line.startswith(said):
                return
        self.test.fail(f"it never said {said!r}:\n{''.join(lines)}")

    def spin(self):
        """Lets the program use its CPU for a while; returns the interval and its CPU time."""
        begin, used = time.monotonic_ns(), cpu_time(self.pid)
        wait_for(lambda: cpu_time(self.pid) - used >= SECONDS, 600)
        return begin, time.monotonic_ns(), cpu_time(self.pid) - used

    def samples(self):
        """All samples."""
        self.profiler.terminate()
        said = self.profiler.communicate(timeout=60)[1]
        self.test.assertEqual(self.profiler.returncode, 0, said)
        with open(self.path) as file:
            return [json.loads(line) for line in file]


class Cpus(unittest.TestCase):
    def check_rate(self, samples, span, cpu):
        """Was the program sampled by this CPU only, once per period while it ran?"""
        begin, end, used = span
        found = [s for s in samples if begin <= s["time_ns"] <= end]
        self.assertEqual({s["cpu"] for s in found}, {cpu})
        # Errors would give none, or twice as many.
        self.assertGreater(len(found), LEAST * used * HZ)
        self.assertLess(len(found), chance.events(used * HZ)[1])
        outcomes = collections.Counter(s["outcome"] for s in found)
        # Up to one in 200 is not.
        self.assertGreaterEqual(len(found), chance.enough(0.005, 0.1))
        self.assertGreater(outcomes["complete"], 0.9 * len(found), outcomes)


class Told(Cpus):
    """The CPU stays online, so what runs meanwhile must be missing from the samples."""

    def test_one_that_goes_and_comes(self):
        with Run(self, 0) as run:
            before = run.spin()
            write(0, "uevent", "offline")
            run.until("dwarfprof: CPU 0 went offline")
            gone = run.spin()
            write(0, "uevent", "online")
            run.until("dwarfprof: CPU 0 came online")
            after = run.spin()
            samples = run.samples()
        self.check_rate(samples, before, 0)
        self.assertFalse([s for s in samples if gone[0] <= s["time_ns"] <= gone[1]])
        self.check_rate(samples, after, 0)

    def test_what_it_has_is_taken_once(self):
        """A CPU is reported as online that was never reported as offline."""
        with Run(self, 0) as run:
            for _ in range(3):
                write(0, "uevent", "online")
                run.until("dwarfprof: CPU 0 came online")
            span = run.spin()
            self.check_rate(run.samples(), span, 0)


class Gone(Cpus):
    def setUp(self):
        # It takes the rights from pages of stacks, which then cannot be read.
        if os.path.exists(BALANCING):
            self.addCleanup(pathlib.Path(BALANCING).write_text, harness.read(BALANCING))
            pathlib.Path(BALANCING).write_text("0")
        self.last = os.cpu_count() - 1
        self.assertGreater(self.last, 0, "a machine of one CPU has none to spare")
        self.addCleanup(write, self.last, "online", "1")

    def move(self, run, cpu):
        os.sched_setaffinity(int(run.pid), {cpu})

    def test_one_that_comes_back(self):
        with Run(self, self.last) as run:
            before = run.spin()
            self.move(run, 0)
            write(self.last, "online", "0")
            run.until(f"dwarfprof: CPU {self.last} went offline")
            gone = run.spin()
            write(self.last, "online", "1")
            run.until(f"dwarfprof: CPU {self.last} came online")
            self.move(run, self.last)
            after = run.spin()
            samples = run.samples()
        self.check_rate(samples, before, self.last)
        self.check_rate(samples, gone, 0)
        # It was still migrating to that CPU.
        self.check_rate([s for s in samples if s["cpu"] != 0], after, self.last)

    def test_one_that_was_not_there_at_the_start(self):
        write(self.last, "online", "0")
        with Run(self, 0) as run:
            write(self.last, "online", "1")
            run.until(f"dwarfprof: CPU {self.last} came online")
            self.move(run, self.last)
            span = run.spin()
            samples = run.samples()
        self.check_rate([s for s in samples if s["cpu"] != 0], span, self.last)


if __name__ == "__main__":
    harness.main()
