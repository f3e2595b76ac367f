#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Allocations of memory: what was allocated and what is held, as the program itself has counted.

usage: check_alloc.py DWARFPROF PROGRAM-DIR
"""
import collections
import ctypes.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import chance
import harness
from harness import dwarfprof, program, start, wait_until_it_says

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../formats/tests"))
from readers import go_pprof, read_go  # noqa: E402

HEAD = r"Allocated: (\d+) bytes in (\d+) pieces, held at the end: (\d+) bytes in (\d+)"
INTERVAL = 4096
NOT_OF_MEMORY = "otlp", "perf-script", "speedscope", "firefox", "firefox-gz"
# By library: what it takes to be the program's allocator. Those that are not installed are named.
LIBRARIES = ("jemalloc", "tcmalloc", "tcmalloc_minimal", "mimalloc")


def counted(said):
    """By way of allocating: pieces, bytes, and those held."""
    return {name: tuple(map(int, numbers)) for name, *numbers in map(str.split, said.splitlines())}


def summed(samples):
    """The same by the samples' stacks."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for s in samples:
        for frame in s["user_stack"]:
            if frame["symbol"] in WAYS:
                at = 2 * (s["event"] == "held")
                sums[frame["symbol"]][at] += s["weight"]
                sums[frame["symbol"]][at + 1] += s["weight"] * s["bytes"]
                break
    return {name: tuple(numbers) for name, numbers in sums.items()}


def until_none_is_lost(record, *args, **named):
    """On a busy machine more threads than have a place in the kernel may be interrupted while they allocate: those
    samples are lost, and counted; or calls are over before the kernel has set all probes, of which it tells. Then again, with
    fewer calls."""
    n, *options = args
    for fewer in 1, 2, 4, 8:
        found = record(n // fewer, *options, **named)
        if " 0 lost" in found[-1] and "are not seen yet" not in found[-1]:
            break
    return found


WAYS = {"by_malloc", "by_calloc", "by_realloc", "by_aligned_alloc", "by_posix_memalign", "by_memalign", "by_new", "grown"}


MAX_HELD = 1 << 21  # DP_MAX_HELD in bpf/alloc_layout.h
# Allocates as many pieces as it is told, and frees none of them.
HOLDING = """
import ctypes, sys
malloc = ctypes.CDLL(None).malloc
malloc.restype = ctypes.c_void_p
for i in range(int(sys.argv[1])): malloc(16)
"""


class Alloc(unittest.TestCase):
    LONG = "test_more_than_is_known_to_be_held",

    def record(self, *args, **named):
        """Returns what was written in each format, what the program has counted, and what dwarfprof said."""
        return until_none_is_lost(self.record_once, *args, **named)

    def record_once(self, n, *options, interval=1, formats=("a.jsonl",), target="allocating"):
        with tempfile.TemporaryDirectory() as directory:
            paths = [os.path.join(directory, name) for name in formats]
            outputs = [o for path in paths for o in ("-o", path)]
            result = dwarfprof(f"--alloc={interval}", *options, *outputs, "--", program(target), str(n))
            self.assertEqual(result.returncode, 0, result.stderr)
            written = []
            for path in paths:
                with open(path, "rb") as file:
                    written.append(file.read())
            return written, counted(result.stdout), result.stderr

    def check_equal(self, samples, log, said):
        self.assertIn(" 0 lost", said)
        self.assertTrue(log, "the program has ended")
        self.assertEqual(summed(samples), log)

    def record_samples(self, *args, **named):
        (written,), log, said = self.record(*args, **named)
        return list(map(json.loads, written.splitlines())), log, said

    def test_libc(self):
        samples, log, said = self.record_samples(5000)
        self.check_equal(samples, log, said)
        self.assertGreater(sum(n for n, *_ in log.values()), 2500)
        self.assertGreater(log["grown"][2], 60)
        outcomes = collections.Counter(s["outcome"] for s in samples)
        # Up to one in a thousand is not.
        self.assertTrue(chance.is_rare(len(samples) - outcomes["complete"], len(samples), 0.001, 0.01), outcomes)

    def record_running(self, n, **environment):
        """The same of a process that runs already."""
        return until_none_is_lost(self.record_running_once, n, **environment)

    def record_running_once(self, n, **environment):
        with subprocess.Popen([program("allocating"), str(n), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **environment}) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            with tempfile.TemporaryDirectory() as directory:
                path = os.path.join(directory, "out")
                profiler = start("-p", str(process.pid), "--alloc=1", "--format", "jsonl", "-o", path, stderr=subprocess.PIPE, text=True)
                said = wait_until_it_says(profiler, "sampling")
                log = counted(process.communicate("\n")[0])
                said += profiler.communicate(timeout=180)[1]
                with open(path, encoding="utf-8") as file:
                    return list(map(json.loads, file)), log, said

    def test_a_process_that_runs_already(self):
        self.check_equal(*self.record_running(2000))

    def test_another_allocator(self):
        tried = []
        for name in LIBRARIES:
            library = ctypes.util.find_library(name)
            if not library:
                continue
            tried.append(name)
            with self.subTest(library=library):
                never = {"NEVER_THROW": "1"} if name == "mimalloc" else {}
                self.check_equal(*self.record_running(2000, LD_PRELOAD=library, **never))
        print("allocators tried:", *tried, "; not installed:", *(n for n in LIBRARIES if n not in tried))
        self.assertIn("jemalloc", tried)

    def test_a_static_program(self):
        samples, log, said = self.record_samples(2000, target="allocating-static")
        self.check_equal(samples, log, said)

    def test_an_interval(self):
        """Sums over samples are those of the program, but for chance."""
        samples, log, said = self.record_samples(20000, interval=INTERVAL)
        self.assertIn(f"every {INTERVAL} bytes on average", said)
        self.assertIn(" 0 lost", said)
        all_of = [sum(v[i] for v in log.values()) for i in range(4)]
        self.assertLess(len(samples), 0.6 * all_of[0])
        for s in samples:
            if s["event"] == "alloc":
                self.assertEqual(s["weight"], max(1, -(-INTERVAL // max(s["bytes"], 1))))
        got = [sum(v[i] for v in summed(samples).values()) for i in range(4)]
        for i in (0, 2):
            # Of sizes from 64 bytes on, each is taken with 1 of at most 64.
            deviation = (all_of[i] * (INTERVAL / 64)) ** 0.5
            self.assertLess(abs(got[i] - all_of[i]), chance.SIGMAS * deviation)
        for i in (1, 3):
            deviation = (all_of[i] * INTERVAL) ** 0.5
            self.assertLess(abs(got[i] - all_of[i]), chance.SIGMAS * deviation)

    def test_more_than_is_known_to_be_held(self):
        """Of how many that is not known is said; each was allocated."""
        n = MAX_HELD + 10000
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "a.txt")
            result = subprocess.run([harness.DWARFPROF, "--alloc=1", "-o", path, "--", sys.executable, "-c", HOLDING, str(n)], capture_output=True,
                                    text=True, timeout=500)
            self.assertEqual(result.returncode, 0, result.stderr)
            pieces, held = (int(found) for found in re.search(HEAD, harness.read(path)).group(2, 4))
        print(result.stderr, flush=True)
        over, = map(int, re.findall(rf"more than {MAX_HELD} allocations were held at once: for (\d+)", result.stderr))
        lost, = map(int, re.findall(r" (\d+) lost", result.stderr))
        stackless = sum(map(int, re.findall(r"the stacks of (\d+) held allocations were lost", result.stderr)))
        self.assertGreaterEqual(pieces + lost, n)
        self.assertGreaterEqual(over, n - MAX_HELD)
        self.assertGreaterEqual(held + stackless + over, n)

    def test_formats(self):
        (text, pprof, folded), log, said = self.record(1000, formats=("a.txt", "a.pb.gz", "a.folded"))
        self.assertIn(" 0 lost", said)
        text = text.decode()
        size, n, held_size, held = map(int, re.search(HEAD, text).groups())
        for mine, own in zip((n, size, held, held_size), zip(*log.values())):
            self.assertGreaterEqual(mine, sum(own))
        self.assertIn(f"\nalloc_space: {size} bytes\n", text)
        self.assertIn(f"\ninuse_space: {held_size} bytes\n", text)
        self.assertEqual(sum(int(line.rsplit(b" ", 1)[1]) for line in folded.splitlines()), size)
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "a.pb.gz")
            with open(path, "wb") as file:
                file.write(pprof)
            profile = read_go(go_pprof(directory, "-symbolize=none", "-raw", path))
        self.assertEqual(profile["types"], ["alloc_objects/count", "inuse_objects/count", "inuse_space/bytes", "alloc_space/bytes"])
        self.assertEqual([sum(s["values"][i] for s in profile["samples"]) for i in range(4)], [n, held, held_size, size])

    def record_to(self, n, *paths):
        result = dwarfprof("--alloc=1", *(o for path in paths for o in ("-o", path)), "--", program("allocating"), str(n))
        self.assertEqual(result.returncode, 0, result.stderr)
        return counted(result.stdout), result.stderr

    def test_a_recording(self):
        with tempfile.TemporaryDirectory() as directory:
            recording, direct = (os.path.join(directory, n) for n in ("a.dwarfprof", "a.jsonl"))
            log, said = until_none_is_lost(self.record_to, 500, recording, direct)
            again = dwarfprof("report", recording, "--format", "text")
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertNotIn("damaged", again.stderr)
            for command in (["diff", recording, recording], ["annotate", "main", recording],
                            *(["convert", recording, "--format", name, "-o", direct + ".other"] for name in NOT_OF_MEMORY)):
                with self.subTest(command=command):
                    refused = dwarfprof(*command)
                    self.assertNotIn(refused.returncode, (0, -8), refused.stderr)
                    self.assertIn("memory allocations", refused.stderr)
            with open(direct, encoding="utf-8") as file:
                samples = list(map(json.loads, file))
        sums = [sum(s["weight"] * (s["bytes"] if i % 2 == 0 else 1) for s in samples if (s["event"] == "held") == (i > 1)) for i in range(4)]
        self.assertEqual(list(map(int, re.search(HEAD, again.stdout).groups())), sums)
        self.check_equal(samples, log, said)
        self.assertEqual({(s["tid"] == s["pid"], s["labels"]) for s in samples if s["event"] == "held"}, {(True, None)})

    def test_what_does_not_go_with_it(self):
        for options, said in ((["--alloc", "--off-cpu"], "exclude each other"), (["--alloc", "-K"], "exclude each other"),
                              (["--alloc=2G"], "takes a size"), (["--alloc=x"], "takes a size"), (["--alloc", "-F", "99"], "-F is for"),
                              (["--alloc", "--max-rate=9"], "--alloc=SIZE takes fewer"), (["--alloc", "--crashes"], "exclude each other"),
                              (["--alloc", "-t", "1"], "any thread may free memory"), (["top", "-e", "alloc"], "is known only at the end"),
                              (["agent", "-e", "alloc", "--store", "/nowhere"], "is known only at the end")):
            with self.subTest(options=options):
                result = dwarfprof(*options, *(["--", "true"] if options[0][0] == "-" and "-t" not in options else []))
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(said, result.stderr)


if __name__ == "__main__":
    harness.main()
