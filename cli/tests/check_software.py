#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Events that the kernel counts: as many samples as getrusage() and the program itself count.

usage: check_software.py DWARFPROF PROGRAM-DIR
"""
import collections
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import chance
import harness
from harness import dwarfprof, start, wait_until_it_says

N_PAGES, N_SLEEPS, N_MOVES = 5000, 500, 200
TARGET = f"""
import mmap, os, resource, sys, time
def usage():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_minflt, used.ru_nvcsw + used.ru_nivcsw
cpus = sorted(os.sched_getaffinity(0))
# The scheduler must not move it.
os.sched_setaffinity(0, {{cpus[0]}})
pages = mmap.mmap(-1, {N_PAGES} * 4096)
pages.madvise(mmap.MADV_NOHUGEPAGE)
print("ready", flush=True)
sys.stdin.readline()
before = usage()
for i in range({N_PAGES}):
    pages[i * 4096] = 1
left = usage()[1] - before[1]
for i in range({N_SLEEPS}):
    time.sleep(0.001)
for i in range({N_MOVES}):
    os.sched_setaffinity(0, {{cpus[i % 2]}})
print(*(b - a for a, b in zip(before, usage())), left, flush=True)
sys.stdin.readline()
"""


class Software(unittest.TestCase):
    def count(self, event, *args, how="at each", reports=()):
        """The samples of a target, and what it has counted: faults and switches. reports: also to these."""
        with tempfile.TemporaryDirectory() as directory, \
                subprocess.Popen([sys.executable, "-c", TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True) as target:
            # Its start also faults.
            self.assertEqual(target.stdout.readline(), "ready\n")
            out = os.path.join(directory, "out.jsonl")
            more = [word for path in reports for word in ("-o", path)]
            profiler = start("-p", str(target.pid), "-e", event, "-o", out, *more, *args, stderr=subprocess.PIPE, text=True)
            self.assertIn(how, wait_until_it_says(profiler, "sampling"))
            target.stdin.write("\n")
            target.stdin.flush()
            *counted, self.left = map(int, target.stdout.readline().split())
            profiler.send_signal(signal.SIGINT)
            said = profiler.communicate(timeout=60)[1]
            self.assertEqual(profiler.returncode, 0, said)
            self.assertIn(" 0 lost", said)
            target.stdin.write("\n")
            target.stdin.close()
            with open(out) as file:
                samples = [json.loads(line) for line in file]
        self.assertEqual({s["event"] for s in samples}, set(event.split(",")))
        outcomes = collections.Counter(s["outcome"] for s in samples)
        print(f"{event}: {len(samples)} samples, {dict(outcomes)}; counted: {counted}")
        # Up to one in ten thousand is not complete.
        self.assertGreaterEqual(outcomes["complete"], chance.least(len(samples), 0.9999), outcomes)
        return samples, counted

    def assert_about(self, n, counted):
        """The target also does a little before and after it counts."""
        self.assertLessEqual(counted, n)
        self.assertLess(n, counted + 50)

    def test_page_faults(self):
        for event in "page-faults", "minor-faults":
            samples, (faults, _) = self.count(event)
            self.assertGreaterEqual(faults, N_PAGES)
            self.assert_about(len(samples), faults)

    def test_context_switches(self):
        samples, (_, switches) = self.count("context-switches")
        self.assertGreaterEqual(switches, N_SLEEPS)
        self.assert_about(len(samples), switches)

    def test_cpu_migrations(self):
        samples, _ = self.count("cpu-migrations")
        # It starts on the CPU to which the first move goes.
        self.assertEqual(len(samples), N_MOVES - 1)

    def test_several_at_once(self):
        """Each is counted as if it were alone, also in reports, and those from a recording."""
        events = "page-faults,context-switches"
        with tempfile.TemporaryDirectory() as directory:
            paths = [os.path.join(directory, name) for name in ("x.json", "x.dwarfprof", "x.pb.gz", "again.json", "again.pb.gz")]
            samples, counted = self.count(events, reports=paths[:3])
            for path in paths[3:]:
                result = dwarfprof("report", paths[1], "-o", path)
                self.assertEqual(result.returncode, 0, result.stderr)
            for i, event in enumerate(events.split(",")):
                n = sum(s["event"] == event for s in samples)
                self.assert_about(n, counted[i])
                for path in paths[0], paths[3]:
                    with open(path) as file:
                        profile = json.load(file)
                    self.assertEqual(profile["metadata"]["values"][i], {"name": event.replace("-", "_"), "unit": "count"})
                    self.assertEqual(sum(stack["values"][i] for stack in profile["stacks"]), n)
                for path in paths[2], paths[4]:
                    said = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-top", f"-sample_index={event.replace('-', '_')}", path],
                                          capture_output=True, text=True, check=True).stdout
                    self.assertIn(f" {n} total\n", said)
            for command in (["diff", paths[1], paths[1]], ["annotate", "main", paths[1]]):
                result = dwarfprof(*command)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("has several events", result.stderr)
        result = dwarfprof("top", "-e", events, "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("top shows one event", result.stderr)

    def test_each_report_says_what_it_counts(self):
        script = "import mmap\nm = mmap.mmap(-1, 400 * 4096)\nfor i in range(400):\n    m[i * 4096] = 1\n"
        for form, said in (("text", "page-faults"), ("json", '"page_faults"'), ("perf-script", " page-faults:")):
            result = dwarfprof("-e", "page-faults", "--format", form, "-o", "-", "--", sys.executable, "-c", script)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(said, result.stdout)

    def test_every_nth(self):
        """A sample stands for ten events. A CPU counts those of all processes, so whenever the target leaves it
        among its faults, up to ten of them are too many or too few."""
        samples, (faults, _) = self.count("page-faults", "-c", "10", how="every 10")
        self.assertEqual({s["weight"] for s in samples}, {10})
        self.assertGreaterEqual(faults, N_PAGES)
        self.assertLess(self.left, 100, "the machine is too busy to tell")
        # It also faults a little before and after it counts.
        self.assertLess(abs(10 * len(samples) - faults), 10 * (self.left + 1) + 500)

    def test_events_that_are_not_there(self):
        result = dwarfprof("-e", "page-fault", "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("page-faults", result.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    harness.main()
