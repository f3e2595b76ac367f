#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a machine can sample by (cycles, the CPU clock, nothing), and the messages about it.

usage: check_events.py DWARFPROF PROGRAM-DIR OTHER-EVENTS
"""
import errno
import json
import os
import sys
import unittest

import harness
from harness import Target, busy, dwarfprof, program

OTHER_EVENTS = None

# Errors of perf_event_open(2) for cycles after which the clock is used, and the messages.
NONE = "this machine counts no cycles"
IN_USE = "the counters of cycles are in use"
NOT_THESE = "this machine's counters do not take the event"
FALLS_BACK = {errno.ENOENT: NONE, errno.EOPNOTSUPP: NONE, errno.ENODEV: NONE, errno.EBUSY: IN_USE,
              errno.ENOSPC: IN_USE, errno.EINVAL: NOT_THESE, errno.E2BIG: NOT_THESE, errno.EOVERFLOW: NOT_THESE}
# Errors that end the run, and the advice given.
ENDS = {errno.EACCES: "perf_event_paranoid is", errno.EPERM: "perf_event_paranoid is", errno.EMFILE: "ulimit -n", errno.ENFILE: "fs.file-max",
        errno.ENOMEM: "Cannot allocate memory"}
CLOCK_ENDS = ENDS | {errno.ENOENT: "CONFIG_PERF_EVENTS", errno.EOPNOTSUPP: "CONFIG_PERF_EVENTS", errno.EBUSY: "another profiler",
                     errno.EINVAL: "report this", errno.E2BIG: "report this"}
RECORDS_END = CLOCK_ENDS | {errno.ENOSYS: "CONFIG_PERF_EVENTS"}


def on_machine(cycles=0, clock=0, records=0, **more):
    """The environment of a program on a machine with these results for its events."""
    return {"env": {**os.environ, "LD_PRELOAD": OTHER_EVENTS, "EVENTS": f"{cycles} {clock} {records}", **more}}


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        target = busy()
        cls.pid = target.__enter__()
        cls.addClassCleanup(target.__exit__)

    def sample(self, code, *args, **kwargs):
        """A run's messages; the events in its samples must match them."""
        result = dwarfprof("-p", self.pid, "-d", "1", "-o", "-", "--format", "jsonl", *args, **kwargs)
        self.assertEqual(result.returncode, code, result.stderr)
        events = {s["event"] for s in map(json.loads, result.stdout.splitlines()) if "event" in s and "tid" in s}
        return result.stderr, events

    def cycles_of_doctor(self, **kwargs):
        facts = json.loads(dwarfprof("doctor", "--json", **kwargs).stdout)["findings"]
        return next((f["state"], f["value"]) for f in facts if f["what"] == "cycles")

    def test_cycles(self):
        said, events = self.sample(0, **on_machine())
        self.assertIn(" at 99 Hz by cycles\n", said)
        self.assertEqual(events, {"cycles"})
        self.assertEqual(self.cycles_of_doctor(**on_machine()), ("ok", None))
        self.assertIn("by cycles, and each time a thread leaves its CPU\n", self.sample(0, "--wall", **on_machine())[0])

    def test_the_clock_instead_of_cycles(self):
        for error, why in FALLS_BACK.items():
            with self.subTest(error=errno.errorcode[error]):
                said, events = self.sample(0, **on_machine(cycles=error))
                self.assertIn(f" at 99 Hz by cpu-clock ({why})\n", said)
                self.assertEqual(events, {"cpu-clock"})
                self.assertEqual(self.cycles_of_doctor(**on_machine(cycles=error)), ("limited", f"({why})"))

    def test_cycles_of_some_cpus(self):
        """Then all CPUs use the clock, as otherwise times could not be compared."""
        self.assertGreater(os.cpu_count(), 1)
        said, events = self.sample(0, **on_machine(EVENTS_CPUS="1"))
        self.assertIn(f" at 99 Hz by cpu-clock ({NONE})\n", said)
        self.assertEqual(events, {"cpu-clock"})

    def test_a_link_that_is_refused(self):
        """The CPU attached earlier must be released, or it would have samples of both events."""
        with Target("taskset", "-c", "0", program("fibonacci"), "60"):
            result = dwarfprof("-a", "-d", "2", "-o", "-", "--format", "jsonl", **on_machine(EVENTS_LINKS="1"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f" at 99 Hz by cpu-clock ({IN_USE})\n", result.stderr)
        times = [s["time_ns"] for s in map(json.loads, result.stdout.splitlines()) if s.get("cpu") == 0]
        # Samples of one clock are 10 ms apart, unless a tick is late; with two clocks, every second
        # sample follows at once. A third of all ticks would have to be 5 ms late to confuse the
        # two.
        apart = [b - a for a, b in zip(times, times[1:])]
        self.assertGreater(len(apart), 50)
        self.assertLess(sum(ns < 5_000_000 for ns in apart), len(apart) / 3)

    def check_ends(self, table, event, name):
        for error, advice in table.items():
            with self.subTest(error=errno.errorcode[error]):
                code = 3 if error in (errno.EACCES, errno.EPERM) else 1
                said, events = self.sample(code, **on_machine(**{event: error}))
                self.assertEqual(events, set())
                self.assertIn(f"dwarfprof: cannot open {name}: {os.strerror(error)}\n", said)
                self.assertIn(advice, said)

    def test_errors_of_cycles_that_the_clock_would_have_too(self):
        self.check_ends(ENDS, "cycles", "the sampling event")

    def test_errors_of_records(self):
        self.check_ends(RECORDS_END, "records", "the records of mappings and forks")

    def test_errors_of_the_clock(self):
        """The clock's error is reported rather than that of cycles, which says less."""
        for error, advice in CLOCK_ENDS.items():
            with self.subTest(error=errno.errorcode[error]):
                said, events = self.sample(3 if error in (errno.EACCES, errno.EPERM) else 1,
                                           **on_machine(cycles=errno.ENOENT, clock=error))
                self.assertEqual(events, set())
                self.assertIn(f"dwarfprof: cannot open the sampling event: {os.strerror(error)}\n", said)
                self.assertIn(advice, said)
                self.assertNotIn("perf_event_max_sample_rate", said)


if __name__ == "__main__":
    OTHER_EVENTS = os.path.abspath(sys.argv[3])
    del sys.argv[3]
    harness.main()
