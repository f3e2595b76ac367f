#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a machine can sample by (cycles, the CPU clock, nothing), and the messages about it.

usage: check_events.py DWARFPROF PROGRAM-DIR OTHER-EVENTS
"""
import errno
import json
import os
import signal
import sys
import tempfile
import unittest

import chance
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


# What linux/perf_event.h defines: type and configuration.
COUNTERS = {"cycles": "0 0x0", "instructions": "0 0x1", "cache-references": "0 0x2", "cache-misses": "0 0x3",
            "branches": "0 0x4", "branch-misses": "0 0x5", "r1c2": "4 0x1c2", "rFFFFFFFF00000001": "4 0xffffffff00000001"}


class Events(unittest.TestCase):
    LONG = "test_the_clock_instead_of_cycles",

    @classmethod
    def setUpClass(cls):
        target = busy()
        cls.pid = target.__enter__()
        cls.addClassCleanup(target.__exit__)
        os.kill(int(cls.pid), signal.SIGSTOP)  # it runs only where samples are awaited

    def profile(self, *args, **kwargs):
        """A run that has samples, though others may leave the process no CPU time for a while."""
        os.kill(int(self.pid), signal.SIGCONT)
        for _ in range(10):
            result = dwarfprof("-p", self.pid, "-o", "-", *args, **kwargs)
            if result.returncode != 5:
                break
        os.kill(int(self.pid), signal.SIGSTOP)
        return result

    def refuse(self, *args, **kwargs):
        """A run that must have no samples: it would end with another code."""
        return dwarfprof("-p", self.pid, "-o", "-", *args, **kwargs)

    def sample(self, code, *args, **kwargs):
        """A run's messages; the events in its samples must match them."""
        profile = self.refuse if code else self.profile
        result = profile("-d", "300ms", "--format", "jsonl", *args, **kwargs)
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

    def test_the_clock_instead_of_cycles_that_do_not_exist(self):
        self.check_falls_back({errno.ENOENT: NONE})

    def test_the_clock_instead_of_cycles(self):
        self.check_falls_back(FALLS_BACK)

    def check_falls_back(self, errors):
        for error, why in errors.items():
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
        # two; up to one in ten is.
        apart = [b - a for a, b in zip(times, times[1:])]
        self.assertGreaterEqual(len(apart), chance.enough(0.1, 1 / 3))
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

    def test_events_of_counters(self):
        """Each sample stands for as many events as were counted: here they are the CPU clock's ns."""
        for event, attributes in COUNTERS.items():
            for options, how, period in ((["-F", "200"], f"at 200 Hz by {event}", 5_000_000),
                                         (["-c", "3000000"], f"every 3000000 {event}", 3_000_000)):
                with self.subTest(event=event, options=options), tempfile.NamedTemporaryFile("r") as told:
                    result = self.profile("-d", "300ms", "--format", "jsonl", "-e", event, *options,
                                          **on_machine(EVENTS_TOLD=told.name))
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertIn(f" {how}\n", result.stderr)
                    self.assertEqual(set(told.read().split("\n")) - {""}, {attributes})
                    samples = [json.loads(line) for line in result.stdout.splitlines()]
                    self.assertEqual({(s["event"], s["weight"]) for s in samples}, {(event, period)})
                    self.assertIn(f"the samples stand for {period * len(samples)} events\n", result.stderr)

    def test_counters_in_reports(self):
        """They are counts, not times."""
        for event, unit in (("cache-misses", "cache_misses"), ("r1c2", "events")):
            with self.subTest(event=event):
                result = self.profile("-d", "300ms", "--format", "json", "-e", event, **on_machine())
                profile = json.loads(result.stdout)["metadata"]
                self.assertIsNone(profile["hz"])
                self.assertEqual([value["name"] for value in profile["values"]], [unit])

    def test_errors_of_counters(self):
        """Nothing takes their place."""
        for event in COUNTERS:
            for error, why in FALLS_BACK.items() if event == "cache-misses" else [(errno.ENOENT, NONE)]:
                with self.subTest(event=event, error=errno.errorcode[error]):
                    said, events = self.sample(1, "-e", event, **on_machine(cycles=error))
                    self.assertEqual(events, set())
                    self.assertIn(f"cannot sample {event}: {why.replace('cycles', event)}\n", said)
                    self.assertEqual("most virtual machines have none" in said, why != IN_USE)
        self.assertIn("cannot open the event", self.sample(3, "-e", "cycles", **on_machine(cycles=errno.EPERM))[0])

    def test_a_rate_that_the_kernel_refuses(self):
        with open("/proc/sys/kernel/perf_event_max_sample_rate") as file:
            rate = int(file.read())
        said, _ = self.sample(1, "-e", "cycles", "-F", str(rate + 1), **on_machine(cycles=errno.EINVAL))
        self.assertIn(f"the highest rate is {rate} Hz", said)

    def test_several_counters(self):
        """Events of the kernel and of counters have their own periods."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            result = dwarfprof("-d", "1", "-o", path, "-e", "page-faults,r1c2", "-e", "cycles", "-F", "200",
                               "--", program("fibonacci"), "1", **on_machine())
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path) as file:
                samples = [json.loads(line) for line in file]
        self.assertIn(" at each page fault, at 200 Hz by r1c2, at 200 Hz by cycles\n", result.stderr)
        self.assertNotIn("the samples stand for", result.stderr)
        self.assertEqual({(s["event"], s["weight"]) for s in samples},
                         {("page-faults", 1), ("r1c2", 5_000_000), ("cycles", 5_000_000)})
        said, events = self.sample(1, "-e", "page-faults,cache-misses", **on_machine(cycles=errno.ENOENT))
        self.assertEqual(events, set())
        self.assertIn("cannot sample cache-misses: ", said)

    def test_cycles_on_this_machine(self):
        state, _ = self.cycles_of_doctor()
        said, _ = self.sample(0 if state == "ok" else 1, "-e", "cycles")
        self.assertEqual("cannot sample cycles: " in said, state != "ok")

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
