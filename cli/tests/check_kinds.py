#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Special stacks: with uretprobes, of coroutines, with pages not in memory, of 32-bit programs.

usage: check_kinds.py DWARFPROF PROGRAM-DIR
"""
import collections
import ctypes
import json
import os
import re
import struct
import subprocess
import tempfile
import unittest

import chance
import harness
from harness import Target, busy, dwarfprof, program, read, wait_until_it_runs

NR_PERF_EVENT_OPEN = 298
# Up to one in two hundred samples is taken where stacks are switched and has another outcome; one in fifty may.
SWITCHES = 0.005, 0.02
ENOUGH = chance.enough(*SWITCHES)
ROOT = ["__libc_start_call_main", "__libc_start_main", "_start"]


def profile(pid, *options, hz="499", seconds="1"):
    """The samples of a process, and the messages."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "samples.jsonl")
        result = dwarfprof("-p", pid, "-d", seconds, "-F", hz, "-o", path, *options)
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        with open(path) as file:
            return [json.loads(line) for line in file], result.stderr


def names(sample):
    return [frame["symbol"] for frame in sample["user_stack"]]


def outcomes(samples):
    return collections.Counter(sample["outcome"] for sample in samples)


def uretprobe(pid, path, symbol):
    """Opens a perf event that counts returns from a function of the process."""
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    address = int(re.search(rf"^(\w+) [tT] {symbol}$", symbols, re.M).group(1), 16)
    headers = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True,
                             check=True).stdout
    offset = next(address - start + at for at, start, size in
                  (map(lambda x: int(x, 16), fields) for fields in
                   re.findall(r"LOAD +(\w+) (\w+) \w+ (\w+)", headers))
                  if start <= address < start + size)
    devices = "/sys/bus/event_source/devices/uprobe/"
    bit = int(read(devices + "format/retprobe").strip().rpartition(":")[2])
    name = ctypes.create_string_buffer(os.fsencode(path))
    # struct perf_event_attr, include/uapi/linux/perf_event.h: config1 and config2 are at 56
    attr = struct.pack("IIQQQQQIIQQ", int(read(devices + "type")), 112, 1 << bit, 0, 0, 0, 0, 0, 0,
                       ctypes.addressof(name), offset).ljust(112, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(NR_PERF_EVENT_OPEN, attr, int(pid), -1, -1, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "perf_event_open")
    return fd


class Uretprobes(unittest.TestCase):
    def test_what_they_replaced_is_found(self):
        """Many at a time: the function is recursive."""
        with busy() as pid:
            fd = uretprobe(pid, program("fibonacci"), "fibonacci")
            try:
                for options in ((), ("--unwind", "dwarf")):
                    samples, _ = profile(pid, *options, hz="999")
                    self.assertIn("[uprobes]", read(f"/proc/{pid}/maps"))
                    user = [s for s in samples if s["outcome"] != "no_user_stack"]
                    self.assertGreater(len(user), 50)
                    complete = [s for s in user if s["outcome"] == "complete"]
                    for sample in complete:
                        stack = names(sample)
                        self.assertEqual(stack[-4:], ["main", *ROOT])
                        # Between two rounds it reads the clock.
                        if "seconds_now" not in stack:
                            self.assertLessEqual(set(stack[1:-4]), {"fibonacci"}, stack)
                    self.assertTrue(any("fibonacci" in names(sample)[1:] for sample in complete))
                    # While a probe is being set, or its trampoline runs, the original address is
                    # unknown. And while the kernel emulates a `push` for the program, the stack
                    # pointer has moved, but not the program counter: any word may be there.
                    others = outcomes(user)
                    del others["complete"]
                    self.assertLessEqual(set(others), {"uretprobe", "null_return", "no_mapping", "no_call"})
                    # That is about 1 in 100 samples, and more where the kernel is emulated too.
                    share = 0.05 if harness.is_emulated() else 0.01
                    rest = sum(others.values()) - others["uretprobe"]
                    print(f"uretprobes: {len(user)} samples, {dict(others)}", flush=True)
                    self.assertLessEqual(rest, chance.most(len(user), share), others)
                    # Setting probes takes one in six of this program's time.
                    self.assertLessEqual(others["uretprobe"],
                                         chance.most(len(user), 0.35 if harness.is_emulated() else 0.22), others)
            finally:
                os.close(fd)


class Pages(unittest.TestCase):
    """Parts of a stack that are not in memory."""

    def test_are_asked_for(self):
        with Target(program("paged")) as pid:
            samples, said = profile(pid, hz="1999", seconds="3")
        user = [s for s in samples if "spin" in names(s)]
        self.assertEqual(set(outcomes(user)), {"read_fault", "complete"})
        # The stack has 200 KiB, and 64 KiB are requested at a time: it takes some rounds.
        complete = [s["outcome"] == "complete" for s in user]
        self.assertFalse(complete[0])
        self.assertTrue(all(complete[-100:]))
        self.assertGreater(len(complete), 150)
        for sample in user:
            if sample["outcome"] == "complete":
                self.assertEqual(names(sample)[:-3], ["spin"] + 101 * ["descend"])
            else:
                self.assertEqual(set(names(sample)[1:]), {"descend"})
                self.assertIsNotNone(sample["fault_address"])
        pages = int(re.search(r"(\d+) pages were not in memory", said).group(1))
        self.assertGreater(pages, 40)
        self.assertLess(pages, 300)

    def test_are_not_made_up(self):
        """Nothing is mapped there."""
        with Target(program("paged"), "gone") as pid:
            samples, said = profile(pid, hz="199")
        self.assertEqual(set(outcomes(samples)), {"read_fault"})
        self.assertEqual({tuple(names(s)[:2]) for s in samples}, {("spin", "descend")})
        self.assertNotIn("were not in memory", said)


class Coroutines(unittest.TestCase):
    """They have their own stacks, which end where the coroutine was started, without a call."""

    def check(self, path, main):
        with Target(path) as pid:
            samples = harness.sample_each([pid], ENOUGH, "-F", "1999")[pid]
        inside = [s for s in samples if any((name or "").startswith("coroutine") for name in names(s))]
        self.assertGreater(len(inside), 100)
        for sample in inside:
            # The code that starts a coroutine has no unwind information, and did not call it.
            self.assertIn(sample["outcome"], ("no_call", "no_rule"), names(sample))
            self.assertNotIn(main, names(sample))
            self.assertLess(len(sample["user_stack"]), 30)
        # On the main stack, and a few where stacks are switched.
        found = outcomes(samples)
        rest = len(samples) - found["complete"] - found["no_call"] - found["no_rule"]
        self.assertTrue(chance.is_rare(rest, len(samples), *SWITCHES), found)

    def test_ucontext(self):
        self.check(program("contexts"), "main")

    def test_boost_context(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "fcontexts")
            source = os.path.join(os.path.dirname(__file__), "../../test-programs/fcontexts.cc")
            subprocess.run(["g++", "-O2", "-fno-inline", source, "-lboost_context", "-o", path],
                           check=True)
            self.check(path, "main")


class Compat(unittest.TestCase):
    """Stacks of 32-bit programs are not walked: the outcome says so, and other processes are
    unaffected."""
    LONG = "test_off_cpu",

    def profile_all(self, *options):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "samples.jsonl")
            result = dwarfprof("-F", "1999", "--no-symbols", "-o", path, *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path) as file:
                return [json.loads(line) for line in file]

    def check(self, samples, comm, outcome, least):
        found = outcomes(s for s in samples if s["comm"] == comm)
        # No sample has a user stack during exec.
        found.pop("no_user_stack", None)
        self.assertGreaterEqual(found[outcome], least, found)
        self.assertEqual(set(found), {outcome})

    def test_beside_64_bit_ones(self):
        """Both run on one CPU, which switches between them."""
        with Target("taskset", "-c", "0", program("compat")) as first, \
                Target("taskset", "-c", "0", program("fibonacci"), "300") as second:
            for pid in first, second:
                wait_until_it_runs(pid)
            samples = self.profile_all("-p", f"{first},{second}", "-d", "2")
            samples += self.profile_all("-a", "-d", "1")
            dumped = dwarfprof("dump", "-p", first)
        self.check(samples, "compat", "compat_mode", 100)
        self.check(samples, "fibonacci", "complete", 100)
        self.assertTrue(all(not s["user_stack"] for s in samples if s["outcome"] == "compat_mode"))
        self.assertIn("compat_mode: the task runs 32-bit code", dumped.stdout)

    def test_that_executes_a_64_bit_one(self):
        samples = self.profile_all("--", program("compat"), program("fibonacci"), "1")
        self.check(samples, "compat", "compat_mode", 10)
        self.check(samples, "fibonacci", "complete", 100)

    def test_that_a_64_bit_one_executes(self):
        """A known process whose mappings are gone."""
        samples = self.profile_all("--", "sh", "-c", f"timeout 1 {program('compat')}; true")
        self.check(samples, "compat", "compat_mode", 100)

    def test_off_cpu(self):
        with Target("taskset", "-c", "0", program("compat")), Target("taskset", "-c", "0", program("compat")):
            samples = self.profile_all("-a", "-d", "2", "--wall")
        # They take turns.
        self.check([s for s in samples if s["event"] == "off-cpu"], "compat", "compat_mode", 20)
        self.check([s for s in samples if s["event"] != "off-cpu"], "compat", "compat_mode", 100)

if __name__ == "__main__":
    harness.main()
