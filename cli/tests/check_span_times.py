#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples in calls that took long enough (--probe span:), and the times of calls: what the program itself has logged.

usage: check_span_times.py DWARFPROF PROGRAM-DIR

The program's own clock bounds the time of each call from both sides, so nothing here has a tolerance.
"""
import bisect
import collections
import errno
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

import harness
import readers
from harness import dwarfprof, program, refuse, start, values_beside, wait_until_it_says

BPF, BPF_LINK_CREATE = 321, 28  # x86-64's asm/unistd_64.h, linux/bpf.h
MIN, MIN_NS = "2ms", 2000000
NO_SAMPLES = 5
UNSEEN = "xl"  # how calls end that do not return

Call = collections.namedtuple("Call", "number before begin end after how")


class Thread:
    """Its calls, in the order of their begins, and for each the one around it."""

    def __init__(self):
        self.calls, self.parents, self.sleeps, self.around = [], [], [], []

    def add(self, call):
        while self.around and self.calls[self.around[-1]].after <= call.before:
            self.around.pop()
        self.parents.append(self.around[-1] if self.around else None)
        self.around.append(len(self.calls))
        self.calls.append(call)

    def at(self, time):
        """Calls that may have been on the stack, innermost first."""
        found, i = [], bisect.bisect(self.befores, time) - 1
        while i is not None and i >= 0:
            if self.calls[i].after >= time:
                found.append(self.calls[i])
            i = self.parents[i]
        return found


class Log:
    def __init__(self, path):
        self.threads = collections.defaultdict(Thread)
        with open(path) as file:
            for line in file:
                kind, tid, *rest = line.split()
                thread = self.threads[int(tid)]
                if kind == "c":
                    thread.add(Call(*map(int, rest[:-1]), rest[-1]))
                else:
                    thread.sleeps.append(tuple(map(int, rest)))
        for thread in self.threads.values():
            thread.befores = [call.before for call in thread.calls]

    def calls(self):
        return [call for thread in self.threads.values() for call in thread.calls]


def is_long(call):
    return call.end - call.begin >= MIN_NS


def may_be_long(call):
    return call.after - call.before >= MIN_NS


def contains(call, time):
    return call.begin <= time <= call.end


def is_at_copy(sample):
    """Does the thread run the kernel's copy of an instruction that has a probe? Its stack is not walked."""
    return sample["outcome"] == "no_table" and [f["module"] for f in sample["user_stack"]] == [None]


class Spans(unittest.TestCase):
    LONG = "test_off_cpu_samples", "test_wall", "test_without_values_and_time"

    def record(self, seconds, depth, *options, values="(number=arg1:s32)", minimum=f" min={MIN}", forms=("jsonl",), **kwargs):
        """Returns what dwarfprof wrote in each form, the program's log, and what dwarfprof said."""
        with tempfile.TemporaryDirectory() as directory:
            log = os.path.join(directory, "log")
            outs = [os.path.join(directory, "out." + form) for form in forms]
            with subprocess.Popen([program("timed"), str(seconds), log, str(depth)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                profiler = start("-p", str(process.pid), "--probe", f"span: {program('timed')}:handle{values}{minimum}", "--no-symbols",
                                 *(word for out in outs for word in ("-o", out)), *options, stderr=subprocess.PIPE, text=True, **kwargs)
                said = wait_until_it_says(profiler, "sampling")
                process.stdin.write("\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "done\n", "an exception must not end the program")
                profiler.send_signal(signal.SIGINT)
                said += profiler.communicate(timeout=180)[1]
                self.assertEqual(profiler.returncode, 0, said)
                process.stdin.close()
            written = []
            for out in outs:
                with open(out) as file:
                    written.append(file.read())
            return written, Log(log), said

    def judge(self, written, log, is_deep=False):
        """Compares each sample's label with the log. Returns how many are right and unknown, and the samples of each thread by time."""
        counts, samples = collections.Counter(), collections.defaultdict(dict)
        for s in map(json.loads, written.splitlines()):
            self.assertEqual(s["lost"], 0)
            labels, time = s["labels"], s["time_ns"]
            if s["tid"] not in log.threads:
                self.assertEqual(labels["span"], "<unknown>")
                continue
            calls = log.threads[s["tid"]].at(time)
            samples[s["tid"]][time] = labels["span"]
            if labels["span"] == "<unknown>":
                self.assertEqual(labels["number"], "<unknown>")
                told = is_deep or any(call.how in UNSEEN for call in calls)
                counts["unknown" if told else "unknown at a copy" if is_at_copy(s) else "unknown for another reason"] += 1
                continue
            self.assertEqual(labels["span"], "handle")
            of = [i for i, call in enumerate(calls) if call.number == labels["number"]]
            is_right = of and may_be_long(calls[of[0]]) and not any(contains(call, time) and is_long(call) for call in calls[:of[0]])
            counts["right" if is_right else "wrong"] += 1
            beside = values_beside(s)
            self.assertIn(beside, ([], [{"number": labels["number"]}]), s)
            counts["beside"] += len(beside)
            if not is_right:
                print(f"{labels} is wrong at {time}, thread {s['tid']}: {calls}", flush=True)
        self.assertEqual(counts["wrong"], 0)
        return counts, samples

    def judge_sleeps(self, samples, log, counts):
        """Each sleep in a call that took long enough is a sample, and no other one."""
        for tid, thread in log.threads.items():
            times = sorted(samples[tid])
            for before, after in thread.sleeps:
                i = bisect.bisect_left(times, before)
                is_there = i < len(times) and times[i] <= after
                calls = thread.at(before)
                if any(map(is_long, calls)):
                    counts["sleeps found" if is_there else "sleeps missing"] += 1
                elif not any(map(may_be_long, calls)):
                    counts["sleeps left out"] += not is_there
                    counts["sleeps not left out"] += is_there and samples[tid][times[i]] != "<unknown>"
        print(dict(counts), flush=True)
        self.assertEqual(counts["sleeps missing"], 0)
        self.assertEqual(counts["sleeps not left out"], 0)

    def until(self, least, seconds, depth, *options, is_deep=False, **kwargs):
        """A run with more of each kind than `least` says; a longer one if others leave the program little CPU time."""
        for longer in 1, 3, 9:
            (written, *others), log, said = self.record(longer * seconds, depth, *options, **kwargs)
            counts, samples = self.judge(written, log, is_deep)
            if "--off-cpu" in options:
                self.judge_sleeps(samples, log, counts)
            print(dict(counts), flush=True)
            self.assertLess(counts["unknown for another reason"], counts["right"] / 50 + 5)
            self.assertLess(counts["unknown at a copy"], counts["right"] / 10 + 5)
            # With calls that are not kept, it is not known which frame has the one that counts.
            self.assertGreater(counts["beside"], counts["right"] * (0.5 if is_deep else 0.9))
            if all(counts[kind] > n for kind, n in least.items()):
                return others, log, said
        self.fail("there was too little to see")

    def test_off_cpu_samples(self):
        """All that the program has slept, of which it knows each time."""
        self.until({"sleeps found": 5000, "sleeps left out": 500, "right": 5000, "unknown": 5}, 20, 5, "--off-cpu")

    def test_cpu_samples(self):
        others, log, said = self.until({"right": 3000}, 5, 5, "-F", "4999", forms=["jsonl", "json", "txt"] + ["html"] * readers.html_is_there(dwarfprof))
        self.check_times(json.loads(others[0])["totals"]["calls"], log)
        self.assertIn("left out", said)
        for text in others[1:]:
            self.assertRegex(text, "(?i)calls of handle")
            self.assertIn("not seen to return", text)
            self.assertRegex(text, r"\d ms to +[0-9.]+ ms")

    def check_times(self, calls, log):
        """Each count of calls, and of those below each time, is between those of the shortest and of the longest times that they may have taken."""
        returned = [call for call in log.calls() if call.how not in UNSEEN]
        self.assertEqual(calls["name"], "handle")
        self.assertEqual(calls["min_ns"], MIN_NS)
        self.assertEqual(calls["count"], len(log.calls()))
        self.assertEqual(sum(row["returned"] for row in calls["times"]), len(returned))
        self.assertEqual(calls["not_returned"], len(log.calls()) - len(returned))
        self.assertEqual(calls["not_begun"], 0)
        self.assertLessEqual(sum(row["at_least"] for row in calls["times"]), calls["not_returned"])
        self.assertGreaterEqual(calls["long"], sum(map(is_long, returned)))
        self.assertLessEqual(calls["long"], sum(map(may_be_long, log.calls())))
        shortest = sorted(call.end - call.begin for call in returned)
        longest = sorted(call.after - call.before for call in returned)
        below = 0
        self.assertGreater(len(calls["times"]), 20)
        for row in calls["times"]:
            self.assertLessEqual(row["to_ns"], row["from_ns"] * 1.25 + 1)
            below += row["returned"]
            self.assertLessEqual(bisect.bisect_left(longest, row["to_ns"]), below)
            self.assertGreaterEqual(bisect.bisect_left(shortest, row["to_ns"]), below)

    def test_calls_that_execute_another_program(self):
        """They are over by then, and none took long."""
        for rounds in 30, 120, 480:
            if self.left_out_of_executed(rounds) > 100:
                return
        self.fail("there was too little to see")

    def left_out_of_executed(self, rounds):
        """How many samples of test-programs/execs.c are known to be in no call that took long."""
        with tempfile.TemporaryDirectory() as directory:
            out, (path, log, command) = os.path.join(directory, "out.jsonl"), harness.executing(directory, rounds)
            result = dwarfprof("-F", "999", "--probe", f"span:{path}:handle(number=arg1:s32) min=60s", "-o", out, "--", *command)
            self.assertIn(result.returncode, (0, NO_SAMPLES), result.stderr)
            log, counts = harness.Log(log), collections.Counter()
            with open(out) as file:
                for s in map(json.loads, file):
                    self.assertEqual(s["labels"]["span"], "<unknown>", s)
                    counts[s["outcome"], s["late"], log.at(s["tid"], s["time_ns"]) % 2 == 0] += 1
        print(dict(counts), result.stderr, flush=True)
        self.assertEqual(counts["complete", False, True], 0)
        return int(re.search("long enough calls, left out: ([0-9]+)", result.stderr)[1])

    def test_deep_recursion(self):
        """Of more calls than are kept, some are not known."""
        self.until({"right": 300, "unknown": 10}, 5, 14, "-F", "999", is_deep=True)

    def test_wall(self):
        self.until({"right": 300}, 5, 5, "--wall", "-F", "499")

    def test_without_links_for_many_functions(self):
        self.until({"right": 100}, 5, 5, "-F", "999", preexec_fn=lambda: refuse(errno.EINVAL, BPF, BPF_LINK_CREATE))

    def test_without_values_and_time(self):
        """Then, all samples in calls count, with the one label."""
        (written,), log, said = self.record(2, 5, "-F", "999", values="", minimum="")
        samples = list(map(json.loads, written.splitlines()))
        self.assertGreater(len(samples), 20)
        for s in samples:
            self.assertIn(s["labels"], ({"span": "handle"}, {"span": "<unknown>"}))
            self.assertTrue(s["labels"]["span"] == "<unknown>" or log.threads[s["tid"]].at(s["time_ns"]), s)

    def test_where_calls_return(self):
        """As objdump has it."""
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program("timed")], capture_output=True, text=True, check=True).stdout
        parts = {name: body for name, body in re.findall(r"^[0-9a-f]+ <(handle(?:\.cold)?)>:\n((?:.+\n)+)", code, re.M)}
        self.assertIn("handle", parts)
        wanted = 0
        for body in parts.values():
            wanted += len(re.findall(r"\tret\b", body))
            wanted += sum(re.sub(r"\+0x.*", "", to) not in parts for to in re.findall(r"\tjmp +[0-9a-f]+ <(.+)>", body))
        result = dwarfprof("-v", "--probe", f"span:{program('timed')}:handle", "--", "true")
        self.assertIn(f"calls of handle return at {wanted} places", result.stderr)

    def test_what_is_wrong(self):
        path = program("timed")
        for options, said in ((["--probe", f"spam:{path}:handle"], "it must be label:PATH:NAME(VALUES) or span:PATH:NAME(VALUES) min=TIME"),
                              (["--probe", f"span:{path}:handle min=5"], "min= takes a time"),
                              (["--probe", f"span:{path}:handle(x=arg1) min=5x"], "min= takes a time"),
                              (["--probe", f"span:{path}:timed.cc:100"], "calls are of functions"),
                              (["--probe", f"span:{path}:handel"], "did you mean handle?"),
                              (["--probe", f"span:{path}:handle", "-e", f"uprobe:{path}:handle"], "--probe is for CPU and off-CPU samples")):
            with self.subTest(options=options):
                result = dwarfprof(*options, "--", "true")
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(said, result.stderr)


if __name__ == "__main__":
    harness.main()
