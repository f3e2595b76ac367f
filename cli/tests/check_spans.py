#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labels by calls on the stack (--probe): what the program itself has logged.

usage: check_spans.py DWARFPROF PROGRAM-DIR
"""
import collections
import errno
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

import check_languages
import harness
from harness import CHANGING, Log, dwarfprof, profile_until_done, program, refuse, start, values_beside, wait_until_it_says

BPF, BPF_LINK_CREATE = 321, 28  # x86-64's asm/unistd_64.h, linux/bpf.h
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test-programs/languages")
VALUES = "route=arg1:str, number=arg2:s32"
KEYS = {"route", "number"}


class Labels(unittest.TestCase):
    LONG = ("test_many_cpu_samples", "test_many_samples_of_fibers", "test_of_another_compiler", "test_off_cpu_samples",
            "test_many_samples_of_coroutines", "test_several_probes")

    def record(self, target, seconds, *options, values=VALUES, form="jsonl", is_early=False, path=None, **kwargs):
        """Returns what dwarfprof wrote, and the program's log."""
        with tempfile.TemporaryDirectory() as directory:
            log, out = os.path.join(directory, "log"), os.path.join(directory, "out")
            with subprocess.Popen([path or program(target), str(seconds), log] + is_early * ["early"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True) as process:
                if is_early:
                    self.assertEqual(process.stdout.readline(), "in the call\n")
                profile_until_done(process, "--probe", f"label: {program(target)}:handle({values})", "--no-symbols", "--format", form,
                                   "-o", out, *options, **kwargs)
            with open(out) as file:
                return file.read(), Log(log)

    def until(self, look, target, seconds, *options, **kwargs):
        """What look() says of a run; of a longer one if it says nothing, as others may leave the program little CPU time."""
        for longer in 1, 3, 9:
            found = look(*self.record(target, longer * seconds, *options, **kwargs))
            if found:
                return found
        self.fail("there was too little to see")

    def judge(self, written, log):
        """Compares each sample's labels with the log. Returns how many are right, unknown and without a label."""
        counts = collections.Counter()
        for s in map(json.loads, written.splitlines()):
            wanted = log.at(s["tid"], s["time_ns"]) if s["tid"] in log.times else 0
            if wanted == CHANGING:
                continue
            labels = {key: value for key, value in (s["labels"] or {}).items() if key in KEYS}
            if labels == {key: "<unknown>" for key in KEYS}:
                counts["unknown"] += 1
            elif labels == ({"route": f"/r/{wanted}", "number": wanted} if wanted else {}):
                counts["right" if wanted else "none"] += 1
                beside = values_beside(s, KEYS)
                self.assertIn(beside, ([], [labels] if wanted else []), s)
                counts["beside"] += len(beside)
            else:
                counts["wrong"] += 1
                print(f"{labels} is wrong: {wanted} at {s['time_ns']}, thread {s['tid']}, {s['outcome']}", flush=True)
        print(dict(counts), flush=True)
        self.assertEqual(counts["wrong"], 0)
        return counts

    def counts(self, least, target, seconds, *options, **kwargs):
        """The same of a run in which there are more of each kind than `least` says."""
        def look(written, log):
            counts = self.judge(written, log)
            return counts if all(counts[kind] > n for kind, n in least.items()) else None
        return self.until(look, target, seconds, *options, **kwargs)

    def check(self, target, seconds, n, *options, **kwargs):
        counts = self.counts({"right": n, "none": n / 50}, target, seconds, *options, **kwargs)
        self.assertLess(counts["unknown"], counts["right"] / 4)
        self.assertGreater(counts["beside"], counts["right"] * 0.9)

    def test_cpu_samples(self):
        self.check("spans-O2", 3, 5000, "-F", "4999")

    def test_many_cpu_samples(self):
        self.check("spans-O2", 15, 20000, "-F", "4999")

    def test_of_another_compiler(self):
        self.check("spans-O1", 4, 500, "-F", "1999")

    def test_values_by_name(self):
        """As debug information has them: a `const char *` is a text."""
        self.check("spans-O2", 1, 200, "-F", "999", values="route=route, number")

    def test_off_cpu_samples(self):
        self.check("spans-O2", 4, 200, "--wall", "-F", "199")

    def test_without_links_for_many_functions(self):
        self.check("spans-O2", 1, 200, "-F", "999", preexec_fn=lambda: refuse(errno.EINVAL, BPF, BPF_LINK_CREATE))

    def check_several(self, seconds, *options):
        """Each has the values of its own innermost call; nested calls of one leave those of the others."""
        path = program("spans-O2")

        def look(written, log):
            counts, threads = self.judge(written, log), collections.defaultdict(set)
            for s in map(json.loads, written.splitlines()):
                labels, wanted = s["labels"] or {}, log.at(s["tid"], s["time_ns"]) if s["tid"] in log.times else CHANGING
                if s["outcome"] == "complete" and "thread" in labels:
                    counts["thread unknown" if labels["thread"] == "<unknown>" else "thread"] += 1
                    threads[s["tid"]].add(labels["thread"])
                if wanted != CHANGING and "outer" in labels:
                    counts["outer unknown" if labels["outer"] == "<unknown>" else "outer"] += 1
                    self.assertIn(labels["outer"], (wanted, "<unknown>"), s)
            print(dict(counts), dict(threads), flush=True)
            self.assertLessEqual({len(found - {"<unknown>"}) for found in threads.values()}, {1})
            return counts if len(threads) == 2 and min(counts[kind] for kind in ("right", "outer", "thread")) > 100 else None
        counts = self.until(look, "spans-O2", seconds, "--probe", f"label:{path}:last(outer=arg3:s32)",
                            "--probe", f"label:{path}:run(thread=arg1:ptr)", *options)
        self.assertLess(counts["unknown"], counts["right"])
        self.assertLess(counts["outer unknown"], counts["outer"])
        self.assertLess(counts["thread unknown"], counts["thread"] / 50)

    def test_several_probes(self):
        self.check_several(5, "-F", "4999")
        self.check_several(3, "--wall", "-F", "499")

    def test_walks_that_end_before(self):
        """Nothing is said of calls that the walk did not get to."""
        counts = self.counts({"unknown": 100}, "spans-O2", 1, "-F", "999", "--max-stack", "2")
        self.assertEqual(counts["none"], 0)

    def check_early(self, *options, **kwargs):
        """A call that began before is not known, whether the thread runs or waits; the other thread is in none."""
        def look(written, log):
            self.assertEqual({number for numbers in log.numbers.values() for number in numbers}, {7, 0, CHANGING})
            early = next(tid for tid, numbers in log.numbers.items() if 7 in numbers)
            counts = self.judge(written, log)
            self.assertEqual(counts["right"], 0)
            for s in map(json.loads, written.splitlines()):
                number = log.at(s["tid"], s["time_ns"]) if s["tid"] in log.times else CHANGING
                if s["tid"] == early and number == 7:
                    self.assertEqual((s["labels"] or {}).get("route"), "<unknown>", s)
                elif number != CHANGING:
                    self.assertNotIn("route", s["labels"] or {}, s)
            return min(counts["unknown"], counts["none"]) > 20
        self.until(look, "spans-O2", 1, *options, is_early=True, **kwargs)

    def test_calls_that_began_before(self):
        self.check_early("-F", "999")
        self.check_early("--wall", "-F", "199")

    def test_a_file_of_an_overlay(self):
        """The probe is in what the overlay is above, which the process has mapped with another device."""
        with tempfile.TemporaryDirectory() as directory:
            merged, empty = (os.path.join(directory, name) for name in ("merged", "empty"))
            os.mkdir(merged)
            os.mkdir(empty)
            lower = os.path.dirname(os.path.realpath(program("spans-O2")))
            subprocess.run(["mount", "-t", "overlay", "-o", f"ro,lowerdir={lower}:{empty}", "none", merged], check=True)
            try:
                path = os.path.join(merged, "spans-O2")
                self.check_early("-F", "999", path=path)
                self.check("spans-O2", 1, 200, "-F", "999", path=path)
            finally:
                harness.unmount(merged)

    def test_calls_that_another_thread_began(self):
        """The thread has kept a call with the same CFA, which is another one."""
        self.counts({"right": 100, "unknown": 100}, "moved", 1, "-F", "999")

    def test_fibers(self):
        """They go on in another thread, where calls that began before are not known: none has another one's values."""
        self.counts({"right": 200, "none": 20, "unknown": 100}, "fibers", 1, "-F", "1999")

    def test_many_samples_of_fibers(self):
        self.counts({"right": 20000, "none": 1000, "unknown": 10000}, "fibers", 15, "-F", "4999")

    def test_coroutines(self):
        """What has suspended itself is on the stack of no call."""
        counts = self.counts({"right": 200, "none": 100}, "coroutines", 2, "-F", "1999")
        self.assertLess(counts["unknown"], counts["right"] / 4)

    def test_many_samples_of_coroutines(self):
        counts = self.counts({"right": 20000, "none": 1000}, "coroutines", 15, "-F", "4999")
        self.assertLess(counts["unknown"], counts["right"] / 4)

    def forked(self, rounds, *options):
        """The samples of test-programs/forks.c, and its log."""
        with tempfile.TemporaryDirectory() as directory:
            log, out, path = os.path.join(directory, "log"), os.path.join(directory, "out.jsonl"), program("forks")
            result = dwarfprof("--probe", f"label:{path}:handle(number=arg1:s32)", "--no-symbols", "-o", out, *options, "--", path,
                               str(rounds), log)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(out) as file:
                return [json.loads(line) for line in file], Log(log)

    def check_forked(self, *options):
        """A process has the values of the call that has forked it, while it is in that; a thread's stack is its own."""
        for rounds in 3, 12, 72:
            counts, wrong = collections.Counter(), []
            samples, log = self.forked(rounds, *options)
            for s in samples:
                wanted = log.at(s["tid"], s["time_ns"]) if s["tid"] in log.times else CHANGING
                if wanted == CHANGING or not s["user_stack"]:
                    continue
                number = (s["labels"] or {}).get("number")
                kind = ("process " if s["pid"] == s["tid"] else "thread ") + ("again" if wanted > 1000 else "in" if wanted else "out")
                if number == (wanted or None):
                    counts[kind] += 1
                elif number == "<unknown>" and s["outcome"] != "complete":
                    counts[kind + " unknown"] += 1
                else:
                    wrong.append((number, wanted, s["time_ns"], s["tid"], s["outcome"], s["late"]))
            print(dict(counts), len(wrong), flush=True)
            self.assertEqual(wrong[:5], [])
            if all(counts[kind] > 20 for kind in ("process in", "process out", "process again", "thread out")):
                return
        self.fail("there was too little to see")

    def test_forked_processes(self):
        self.check_forked("-F", "999")
        self.check_forked("-F", "999", "--probe", f"label:{program('forks')}:work_elsewhere(x=arg1:s32)")

    def test_a_process_that_others_have_left(self):
        """Until it is known, calls of it are not kept. One has the same place on the stack as that which it was forked in."""
        for _ in range(3):  # a busy machine may have no sample of it in its time
            numbers = self.left_process()
            self.assertLessEqual(set(numbers), {"<unknown>"})
            if numbers:
                return
        self.fail("there was too little to see")

    def left_process(self):
        with tempfile.TemporaryDirectory() as directory:
            log, out, path = os.path.join(directory, "log"), os.path.join(directory, "out.jsonl"), program("forks")
            with subprocess.Popen([path, "1", log, "leave"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                profiler = start("-p", str(process.pid), "-F", "999", "--probe", f"label:{path}:handle(number=arg1:s32)",
                                 "--no-symbols", "-o", out, stderr=subprocess.PIPE, text=True)
                wait_until_it_says(profiler, "sampling")
                with harness.stopped([profiler.pid]):
                    process.stdin.write("\n")
                    process.stdin.flush()
                    harness.wait_for(lambda: 1101 in (number for numbers in Log(log).numbers.values() for number in numbers))
                self.assertEqual(process.stdout.readline(), "done\n")
                profiler.send_signal(signal.SIGINT)
                said = profiler.communicate(timeout=180)[1]
                self.assertEqual(profiler.returncode, 0, said)
            log = Log(log)
            with open(out) as file:
                samples = [json.loads(line) for line in file]
        numbers = collections.Counter((s["labels"] or {}).get("number") for s in samples
                                      if s["user_stack"] and s["tid"] in log.times and log.at(s["tid"], s["time_ns"]) == 1101)
        print(dict(numbers), flush=True)
        return numbers

    def test_a_process_that_executes_another_program(self):
        """With code and stack where this one has them: it has the labels of no call."""
        for rounds in 10, 40, 160:
            counts = self.executed(rounds)
            if counts["in"] > 50 and counts["not probed"] > 50:
                return
        self.fail("there was too little to see")

    def executed(self, rounds):
        """How many samples of test-programs/execs.c, and of a copy of it, are in calls."""
        with tempfile.TemporaryDirectory() as directory:
            out, (path, log, command) = os.path.join(directory, "out.jsonl"), harness.executing(directory, rounds)
            result = dwarfprof("-F", "999", "--probe", f"label:{path}:handle(number=arg1:s32)", "--no-symbols", "-o", out, "--", *command)
            self.assertEqual(result.returncode, 0, result.stderr)
            log, counts = Log(log), collections.Counter()
            with open(out) as file:
                for s in map(json.loads, file):
                    wanted = log.at(s["tid"], s["time_ns"]) if s["tid"] in log.times else CHANGING
                    if wanted == CHANGING or not s["user_stack"]:
                        continue
                    number = (s["labels"] or {}).get("number")
                    # Which files it has mapped may not be known yet.
                    if number == "<unknown>" and (s["outcome"] != "complete" or s["late"]):
                        continue
                    # Every other one is the copy.
                    self.assertEqual(number, wanted if wanted % 2 == 0 else None, s)
                    counts["in" if wanted % 2 == 0 else "not probed"] += 1
        print(dict(counts), flush=True)
        return counts

    def test_stacks_at_the_probe(self):
        """Until the kernel handles its breakpoint, the address is the one behind it, and so behind a push; another
        instruction is executed as a copy, where no file is. A byte like a breakpoint may also be in a gap between functions."""
        # Seconds: the longer ones are for busy machines.
        for seconds in 2, 8, 32:
            if self.stacks_at_the_probe(str(seconds)) > 200:
                return
        self.fail("too few samples")

    def stacks_at_the_probe(self, seconds):
        """The least number of samples that any function has."""
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, "out.jsonl")
            path, called = program("breakpoint"), ("probed_push", "probed_copy", "read_page")
            result = dwarfprof("-F", "4999", "--probe", f"label:{path}:probed_*(n=arg1:s32)", "-o", out, "--", path, seconds)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(out) as file:
                samples = [json.loads(line) for line in file]
        # Libraries may have no symbols.
        tops = [s["user_stack"][0] for s in samples if s["user_stack"]]
        self.assertEqual([top for top in tops if not top["symbol"] and ".so" not in (top["module"] or "")], [])
        # The kernel emulates a push in two steps.
        samples = [s for s in samples if "push_emulate_op" not in (frame["symbol"] for frame in s["kernel_stack"])]
        stacks = collections.Counter((s["outcome"], *(frame["symbol"] for frame in s["user_stack"][:2])) for s in samples
                                     if s["user_stack"] and s["user_stack"][0]["symbol"] in called)
        print(dict(stacks), flush=True)
        right = {("complete", name, "main") for name in called}
        self.assertLessEqual(set(stacks), right)
        return min(stacks[stack] for stack in right)

    def test_sums_by_label(self):
        def look(written, log):
            found = set(map(int, re.findall(r"/r/(\d+)", written)))
            self.assertLessEqual(found, {number for numbers in log.numbers.values() for number in numbers})
            return len(found) > 50
        self.until(look, "spans-O2", 1, "-F", "999", "--by", "label:route", form="folded")

    def test_what_is_wrong(self):
        path = program("spans-O2")
        for options, said in ((["--probe", f"{path}:handle(x=arg1)"], "it must be label:PATH:NAME(VALUES)"),
                              (["--probe", f"label:{path}:handle"], "values are missing"),
                              (["--probe", f"label:{path}:handle(x=arg1:u46)"], "expected a type"),
                              (["--probe", f"label:{path}:handel(x=arg1)"], "did you mean handle?"),
                              (["--probe", f"label:{path}:*(x=arg1)"], "calls of at most 8 can label samples"),
                              (["--probe", f"label:{path}:handle(x=arg1)", "--probe", f"label:{path}:last(x=arg1)"],
                               "another --probe has a value x"),
                              (["--probe", f"label:{path}:handle(x=arg1)", "--probe", f"label:{path}:handle(y=arg1)"],
                               "two --probe have a function of"),
                              (["--probe", f"label:{path}:handle(x=arg1)", "--probe", f"span:{path}:last"],
                               "`span:' goes with no other --probe"),
                              (sum((["--probe", f"label:{path}:handle(x{i}=arg1)"] for i in range(5)), []), "at most 4 --probe"),
                              (["--probe", f"label:{path}:handle(x=arg1)", "-e", f"uprobe:{path}:handle"],
                               "--probe is for CPU and off-CPU samples")):
            with self.subTest(options=options):
                result = dwarfprof(*options, "--", "true")
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(said, result.stderr)


class Languages(unittest.TestCase):
    """Programs that other compilers have made."""
    LONG = "test_many_samples_of_go", "test_rust"

    def build(self, tool, *options):
        """The program in this language, with the first version of its compiler that there is."""
        directory = self.enterContext(tempfile.TemporaryDirectory())
        out, (compiler, *_) = os.path.join(directory, "spans"), check_languages.tools(tool).values()
        subprocess.run([compiler, *options, "-o", out, os.path.join(SOURCES, "spans." + {"go": "go", "rustc": "rs"}[tool])], check=True,
                       env=dict(os.environ, GO111MODULE="off"))
        return out

    def test_rust(self):
        path = self.build("rustc", "--edition", "2021", "-g", "-O")
        labels = Labels()
        for seconds in 15, 45:
            counts = labels.judge(*labels.record(path, seconds, "-F", "4999", values="route=route, number"))
            if counts["right"] > 20000 and counts["none"] > 1000:
                break
        else:
            self.fail("there was too little to see")
        self.assertLess(counts["unknown"], counts["right"] / 4)

    def test_go(self):
        """A stack that grows has another address, which was one of calls that are over. Go's own labels tell what is true, and
        a probe's value does not take the place of one with its name."""
        self.check_go(100, 2, 8, 32)

    def test_many_samples_of_go(self):
        self.check_go(20000, 15, 45)

    def check_go(self, right, *seconds):
        path = self.build("go", "build")
        for longer in seconds:
            counts = self.judge_go(path, longer)
            if counts["right"] > right and min(counts[kind] for kind in ("unknown", "none", "own", "probe's")) > 100:
                return
        self.fail("there was too little to see")

    def judge_go(self, path, seconds):
        out, counts = os.path.join(os.path.dirname(path), "out.jsonl"), collections.Counter()
        result = dwarfprof("-F", "4999", "--probe", f"label:{path}:main.handle(n=number, number=number)", "-o", out, "--", path, str(seconds))
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(out) as file:
            for s in map(json.loads, file):
                labels = s["labels"] or {}
                # The threads' own stacks are of no goroutine.
                if "truth" not in labels or s["user_stack"][-1]["symbol"] != "runtime.goexit":
                    continue
                if labels["truth"] == "-1":
                    counts["probe's"] += isinstance(labels.get("number"), int)
                    continue
                self.assertEqual(labels["number"], "own")
                counts["own"] += 1
                n, wanted = labels.get("n"), int(labels["truth"])
                kind = "unknown" if n == "<unknown>" else "wrong" if (n or 0) != wanted else "right" if n else "none"
                counts[kind] += 1
        print(dict(counts), flush=True)
        self.assertEqual(counts["wrong"], 0)
        return counts


if __name__ == "__main__":
    harness.main()
