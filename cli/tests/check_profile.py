#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Contents of a profile: stacks, fields and names, in each format.

usage: check_profile.py DWARFPROF PROGRAM-DIR
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import chance
import harness
from harness import Target, busy, children, cpu_time, dwarfprof, program, read, wait_for


class Folded(unittest.TestCase):
    """dwarfprof -p PID -d N, the basic use."""

    def test_stdout_gets_folded_stacks_and_stderr_the_chatter(self):
        with busy() as pid:
            result, = harness.run_at_once([harness.DWARFPROF, "-p", pid], of=[pid], seconds=0.5)
        self.assertEqual(result.returncode, 0, result.stderr)
        *lines, totals = result.stdout.splitlines()
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, r"^fibonacci(;[^;]+)+ \d+$")
        total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
        self.assertGreater(total, 20)  # of 50, as many as come in that much CPU time
        recursive = [line for line in lines if line.count(";fibonacci") > 10]
        self.assertTrue(recursive)
        self.assertIn(";_start;", recursive[0])
        self.assertIn(";main;", recursive[0])
        self.assertRegex(result.stderr, r"sampling fibonacci \(PID \d+\) at 99 Hz by (cycles|cpu-clock)")
        self.assertRegex(totals, rf"^\[totals: {total} samples, 0 lost, .*100\.0 %\)\] 0$")
        self.assertRegex(result.stderr, rf"{total} samples in \d+\.\d s, 0 lost, {total} of {total} with a user stack complete")

    def test_duration_is_kept(self):
        with busy() as pid:
            start = time.monotonic()
            result = dwarfprof("-p", pid, "-d", "500ms")
            took = time.monotonic() - start
        self.assertGreater(took, 0.5)
        self.assertLess(took, 20)
        self.assertGreaterEqual(harness.seconds_sampled(result.stderr), 0.5)
        self.assertLess(harness.seconds_sampled(result.stderr), 3)

    def test_file_by_extension(self):
        with tempfile.TemporaryDirectory() as directory, busy() as pid:
            path = os.path.join(directory, "out.folded")
            result = dwarfprof("-p", pid, "-d", "1", "-o", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, "")
            with open(path) as file:
                self.assertIn(";main;", file.read())

    def test_several_reports_are_of_the_same_samples(self):
        with tempfile.TemporaryDirectory() as directory, busy() as pid:
            result = dwarfprof("-p", pid, "-d", "500ms", "-o", f"{directory}/%p-%h-%t-100%%.folded",
                               "-o", f"{directory}/x.jsonl", "-o", "-")
            self.assertEqual(result.returncode, 0, result.stderr)
            names = sorted(os.listdir(directory))
            self.assertEqual(len(names), 2)
            self.assertRegex(names[0], rf"^{pid}-{os.uname().nodename}-\d{{8}}-\d{{6}}-100%\.folded$")
            with open(f"{directory}/{names[0]}") as file:
                folded = file.read()
            with open(f"{directory}/x.jsonl") as file:
                samples = [json.loads(line) for line in file]
        self.assertEqual(result.stdout, folded)
        stacks = {}

        def name(frame):
            """A stripped library has none for its functions."""
            nameless = f"[{os.path.basename(frame['module'])}+{frame['function_start'] or frame['offset']}]"
            return (frame["symbol"] or nameless) + ("_[i]" if frame["inlined"] else "")

        for sample in samples:
            names = [name(frame) for frame in reversed(sample["user_stack"])]
            line = ";".join(["fibonacci", *names, *(f["symbol"] + "_[k]" for f in reversed(sample["kernel_stack"]))])
            stacks[line] = stacks.get(line, 0) + 1
        self.assertEqual(sorted(f"{stack} {n}" for stack, n in stacks.items()), sorted(folded.splitlines()[:-1]))

    def test_text_report(self):
        with busy() as pid:
            result = dwarfprof("-p", pid, "-d", "1", "--format", "text")
        nearly = r"(?:100\.0|9\d\.\d) %"  # it reads the clock now and then
        self.assertRegex(result.stdout, r"fibonacci \(PID \d+\), (cycles|cpu-clock) at 99 Hz, [1-9]\.\d s")
        self.assertRegex(result.stdout, r"lost: 0, complete: (\d+) of \1 with a user stack \(100\.0 %\)")
        self.assertRegex(result.stdout, rf"(\d+\.\d) % +{nearly}  fibonacci +fibonacci\n")
        uname = os.uname()
        self.assertIn(f"\nCommand: {harness.DWARFPROF} -p {pid} -d 1 --format text\nHost: {uname.nodename}\n"
                      f"Kernel: {uname.sysname} {uname.release} {uname.machine}\n", result.stdout)
        hottest = result.stdout.partition("\nHottest stack, ")[2]
        self.assertRegex(hottest, r"^\d+ of \d+ \(\d+\.\d %\), of fibonacci\n +100\.0 %  _start\n")
        self.assertRegex(hottest, rf"\n +100\.0 %  main\n +{nearly}  fibonacci \(\d+ times, down to \d+\.\d %\)\n")
        self.assertNotIn("\x1b", result.stdout)

    def test_rust_names(self):
        if not os.path.exists(program("fibonacci_rs")):
            self.skipTest("built without rustc")
        with Target(program("fibonacci_rs"), "60") as pid:
            result = dwarfprof("-p", pid, "-d", "500ms")
        # Now and then a sample is between two calls of it.
        self.assertIn(";fibonacci_rs::main;"
                      "<fibonacci_rs::numbers::Fibonacci as fibonacci_rs::numbers::Series>::term",
                      result.stdout)
        self.assertNotRegex(result.stdout, r"17h[0-9a-f]{16}E")

    def test_inlined_functions(self):
        with Target(program("inlined"), "60") as pid:
            folded = dwarfprof("-p", pid, "-d", "500ms")
            text = dwarfprof("-p", pid, "-d", "500ms", "--format", "text")
            without = dwarfprof("-p", pid, "-d", "500ms", "--no-inline")
        self.assertRegex(folded.stdout, r"(?m)^inlined;_start;.*;main;work;mix_many_\[i\];mix_\[i\] \d+$")
        self.assertRegex(text.stdout, r"(?m)^ +(?:100|[1-9]\d)\.\d % +\d+\.\d %  mix +inlined$")
        self.assertRegex(without.stdout, r"(?m)^inlined;_start;.*;main;work \d+$")
        # The kernel has functions such as mix_interrupt_randomness().
        self.assertNotRegex(without.stdout, r";mix(_many)?(_\[i\])?[; ]")

    def test_two_processes(self):
        with busy() as one, Target(program("inefficient"), "300") as two:
            result = dwarfprof("-p", f"{one},{two}", "-d", "1")
        self.assertIn("fibonacci;", result.stdout)
        self.assertIn("inefficient;", result.stdout)

    def test_children_that_run_already(self):
        shell = f"(exec {program('fibonacci')} 60) & (exec {program('inefficient')} 60 & wait) & wait"
        with Target("/bin/bash", "-c", shell, start_new_session=True) as pid:
            # The second one is a grandchild.
            wait_for(lambda: {read(f"/proc/{p}/comm") for child in children(pid) for p in [child, *children(child)]} >=
                     {"fibonacci\n", "inefficient\n"})
            result = dwarfprof("-p", pid, "-d", "1", "--format", "jsonl")
            os.killpg(int(pid), signal.SIGKILL)
        samples = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual({s["comm"] for s in samples}, {"fibonacci", "inefficient"})
        self.assertLessEqual({s["outcome"] for s in samples}, {"complete", "no_user_stack"})

    def test_a_process_whose_first_thread_has_exited(self):
        code = ("import ctypes,threading\n"
                "def f():\n"
                "  while True: sum(range(1000))\n"
                "threading.Thread(target=f).start()\n"
                "ctypes.CDLL(None).syscall(60, 0)\n")
        with Target("/usr/bin/python3", "-c", code) as pid:
            wait_for(lambda: ") Z " in read(f"/proc/{pid}/stat"))
            result = dwarfprof("-p", pid, "-F", "499", "-d", "1", "--format", "jsonl")
        self.assertEqual(result.returncode, 0, result.stderr)
        samples = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertGreater(len(samples), 20)
        self.assertEqual({s["outcome"] for s in samples}, {"complete"})

    def test_all_processes(self):
        with busy():
            result = dwarfprof("-a", "-d", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("fibonacci;", result.stdout)

    def test_a_target_that_ends_ends_sampling(self):
        with busy() as pid:
            process = harness.start("-p", pid, "-d", "300", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while "sampling" not in process.stderr.readline():
                self.assertIsNone(process.poll())
            enough = cpu_time(pid) + 0.3
            wait_for(lambda: cpu_time(pid) > enough)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn(";main;", out)


class TaskNames(unittest.TestCase):
    """Names are sent only when they change. The functions in a stack tell which ones are right."""

    NAMES = {"run_first": [("first", "first")],
             "run_second": [("second", "second")],
             "run_worker": [("first", "worker"), ("second", "worker")],
             "run_child": [("child", "child")],
             "run_child_worker": [("child", "worker")]}

    def check(self, samples, wanted):
        """Checks that all names are right, and that the wanted functions have enough samples."""
        counts = self.count(samples)
        for function in wanted:
            self.assertGreater(counts[function], 20, counts)

    def check_runs(self, wanted, *options, command=("2",)):
        """The same of as many runs as it takes, as others may leave the program little CPU time."""
        counts = collections.Counter()
        for _ in range(5):
            counts += self.count(self.samples(*options, command=command))
            if all(counts[function] > 20 for function in wanted):
                return
        self.fail(counts)

    def count(self, samples):
        """Checks that all names are right. Returns how often each function was seen."""
        counts, wrong = collections.Counter(), collections.Counter()
        for sample in samples:
            for function in {frame["symbol"] for frame in sample["user_stack"]} & set(self.NAMES):
                names = (sample["comm"], sample["thread_name"])
                counts[function] += 1
                wrong[function, names] += names not in self.NAMES[function]
        self.assertEqual(+wrong, {}, counts)
        return counts

    def samples(self, *options, command=("2",)):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            result = dwarfprof(*options, "-o", path, "--", program("names"), *command)
            self.assertEqual(result.returncode, 0, result.stderr)
            return [json.loads(line) for line in read(path).splitlines()]

    def test_of_threads_and_processes_by_turns(self):
        self.check_runs(self.NAMES, "-F", "997")

    def test_of_a_thread_that_is_renamed(self):
        self.check_runs(["run_first", "run_second"], "-F", "997", command=("1", "alone"))

    def test_of_those_that_leave_the_cpu(self):
        """With --wall a CPU has two rings."""
        self.check_runs(self.NAMES, "--off-cpu", "--min-block", "0", "--state", "R,S")
        self.check_runs(self.NAMES, "--wall", "-F", "997")

    def test_of_uprobes(self):
        self.check_runs(self.NAMES, "-e", f"uprobe:{program('names')}:work")

    def test_without_user_stacks(self):
        samples = self.samples("-K", "--off-cpu", "--min-block", "0")
        names, start = collections.defaultdict(set), samples[0]["time_ns"] + 5e8
        for s in samples:
            if s["time_ns"] > start:  # all have their names
                names[s["tid"]].add((s["comm"], s["thread_name"]))
        self.assertEqual(sorted(map(sorted, names.values())),
                         [[("child", "child")], [("child", "worker")],
                          [("first", "first"), ("second", "second")],
                          [("first", "worker"), ("second", "worker")]])

    def test_after_samples_were_lost(self):
        """Names that were lost with their sample are sent again."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            # Each sample includes its stack, to fill the ring quickly.
            process = harness.start("-F", "2999", "--unwind", "copy", "-o", path, "--", program("names"), "600",
                                    stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            harness.wait_until_it_says(process, "sampling")
            wait_for(lambda: any(map(children, children(process.pid))))
            first, = children(process.pid)
            both = [first, *children(first)]

            def wait_until_they_run(seconds):
                enough = sum(map(cpu_time, both)) + seconds
                wait_for(lambda: sum(map(cpu_time, both)) >= enough, 300)
            for _ in range(3):
                wait_until_they_run(0.5)
                process.send_signal(signal.SIGSTOP)
                wait_until_they_run(1)  # twice what the ring of their CPU holds
                process.send_signal(signal.SIGCONT)
            wait_until_they_run(0.5)
            for pid in both:
                os.kill(int(pid), signal.SIGKILL)
            said = process.communicate(timeout=60)[1]
            self.assertEqual(process.returncode, 128 + signal.SIGKILL, said)
            samples = [json.loads(line) for line in read(path).splitlines()]
        print(f"names: {len(samples)} samples, {samples[-1]['lost']} lost", flush=True)
        self.assertGreater(samples[-1]["lost"], 0)
        self.check(samples, self.NAMES)


class Stream(unittest.TestCase):
    """--format jsonl, the interface for programs."""

    FIELDS = ["time_ns", "cpu", "pid", "tid", "comm", "thread_name", "outcome", "state", "language",
              "event",
              "user_stack", "kernel_stack", "user_stack_error", "kernel_stack_error", "fault_address",
              "late", "weight", "value_ns", "labels", "labels_cut", "lost"]

    def samples(self, *args):
        result = dwarfprof("--format", "jsonl", *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_fields(self):
        with busy() as pid:
            samples = self.samples("-p", pid, "-d", "500ms")
        self.assertTrue(samples)
        for sample in samples:
            self.assertEqual(list(sample), self.FIELDS)
            self.assertEqual(sample["pid"], int(pid))
            self.assertEqual(sample["comm"], "fibonacci")
            self.assertEqual(sample["outcome"], "complete")
            self.assertIsNone(sample["user_stack_error"])
            leaf, *callers = sample["user_stack"]
            self.assertEqual(leaf["method"], "leaf")
            for frame in callers:
                self.assertEqual(list(frame), ["address", "module", "offset", "function_start", "symbol",
                                               "method", "kind", "file", "line", "column", "inlined"])
                self.assertEqual(frame["method"], "table")
                self.assertRegex(frame["address"], "^0x[0-9a-f]+$")
            self.assertEqual(callers[-1]["symbol"], "_start")

    def test_times_ascend(self):
        with busy() as pid, busy() as other:
            samples = self.samples("-p", f"{pid},{other}", "-d", "1", "-F", "499")
        times = [sample["time_ns"] for sample in samples]
        self.assertEqual(times, sorted(times))
        self.assertEqual(len({sample["pid"] for sample in samples}), 2)

    def test_rate_is_kept(self):
        with busy() as pid:
            samples = harness.sample_each([pid], 400, "-F", "499")[pid]
        # Counts only while the target runs, as its share of the CPU depends on the machine. If its
        # time slices are short, most gaps are two periods: it did not run in the middle of them.
        gaps = sorted((after["time_ns"] - before["time_ns"]) * 499e-9
                      for before, after in zip(samples, samples[1:]) if before["cpu"] == after["cpu"])
        self.assertGreater(len(gaps), 100)
        gaps = [gap for gap in gaps if gap < 1.5]
        # Of those, up to one in ten is not about a period.
        self.assertGreaterEqual(len(gaps), chance.enough(0.1, 0.5))
        self.assertAlmostEqual(gaps[len(gaps) // 2], 1, delta=0.2)

    def test_no_symbols(self):
        with busy() as pid:
            samples = self.samples("-p", pid, "-d", "1", "--no-symbols")
        self.assertTrue(all(frame["symbol"] is None and frame["offset"] is not None
                            for sample in samples for frame in sample["user_stack"]))

    def inlined(self, *options):
        """Function, line, and whether it was inlined, of a sample of the program `inlined`."""
        with Target(program("inlined"), "60") as pid:
            samples = self.samples("-p", pid, "-d", "1", "-F", "499", *options)
        frames = [s["user_stack"] for s in samples if s["user_stack"][0]["symbol"] in ("mix", "work")]
        self.assertGreater(len(frames), 10)
        return frames

    def test_lines_and_inlined_functions(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test-programs/inlined.c")
        with open(path) as file:
            lines = file.read().splitlines()
        marked = {what: next(i + 1 for i, line in enumerate(lines) if f"/* {what} */" in line)
                  for what in ("here", "mix", "mix_many", "work")}
        self.assertIn([("mix", marked["here"], True), ("mix_many", marked["mix"], True),
                       ("work", marked["mix_many"], False), ("main", marked["work"], False)],
                      [[(f["symbol"], f["line"], f["inlined"]) for f in stack[:4]]
                       for stack in self.inlined()])
        for stack in self.inlined():
            leaf, *callers = [f for f in stack if f["address"] == stack[0]["address"]]
            self.assertTrue(all(f["file"].endswith("/inlined.c") and f["column"] > 0 for f in [leaf, *callers]))
            self.assertEqual([f["inlined"] for f in [leaf, *callers]], [True] * len(callers) + [False])

    def test_no_inlined_functions_and_no_lines(self):
        for stack in self.inlined("--no-inline"):
            self.assertEqual([(f["symbol"], f["inlined"]) for f in stack[:2]], [("work", False), ("main", False)])
            self.assertGreater(stack[0]["line"], 0)
        stacks = self.inlined("--no-lines")
        self.assertIn("mix", {stack[0]["symbol"] for stack in stacks})
        self.assertTrue(all(f["file"] is None and f["line"] is None for stack in stacks for f in stack))

    def test_depth_limit_is_reported(self):
        with busy() as pid:
            samples = self.samples("-p", pid, "-d", "500ms", "--max-stack", "5")
        deep = [s for s in samples if s["outcome"] == "depth_limit"]
        self.assertTrue(deep)
        self.assertTrue(all(len(s["user_stack"]) == 5 and s["user_stack_error"] for s in deep))

    def test_thread_names(self):
        code = ("import threading,ctypes,sys\n"
                "def f():\n"
                "  ctypes.CDLL(None).prctl(15, b'my worker', 0, 0, 0)\n"
                "  while True: sum(range(1000))\n"
                "threading.Thread(target=f, daemon=True).start()\n"
                "while True: sum(range(1000))\n")
        with Target("/usr/bin/python3", "-c", code) as pid:
            wait_for(lambda: any(read(comm) == "my worker\n" for comm in glob.glob(f"/proc/{pid}/task/*/comm")))
            samples = self.samples("-p", pid, "-d", "1")
        names = {(s["comm"], s["thread_name"], s["tid"] == s["pid"]) for s in samples}
        self.assertIn(("python3", "python3", True), names)
        self.assertIn(("python3", "my worker", False), names)

    def test_uprobe(self):
        with Target(program("inefficient"), "300") as pid:
            # A program to which others leave little of the CPUs calls it seldom.
            for seconds in 0.5, 4, 30:
                result = dwarfprof("--format", "jsonl", "-p", pid, "-d", str(seconds),
                                   "-e", f"uprobe:{program('inefficient')}:report")
                if result.returncode == 0:
                    break
        self.assertEqual(result.returncode, 0, result.stderr)
        samples = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertTrue(samples)
        for sample in samples:
            self.assertEqual([f["symbol"] for f in sample["user_stack"][:2]], ["report", "main"])
            self.assertTrue(sample["event"].startswith("uprobe:"))
            self.assertEqual(sample["outcome"], "complete")

    def test_kernel_stacks(self):
        with Target("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1M") as pid:
            # All that it needs is mapped.
            wait_for(lambda: re.search(r"wchar: [1-9]", read(f"/proc/{pid}/io")), 60)
            samples = self.samples("-p", pid, "-d", "1")
        in_kernel = [s for s in samples if s["kernel_stack"]]
        self.assertTrue(in_kernel)
        for sample in in_kernel:
            self.assertIsNone(sample["kernel_stack_error"])
            self.assertEqual(sample["outcome"], "complete")
        self.assertTrue(any("read" in (f["symbol"] or "") for s in in_kernel for f in s["kernel_stack"]))


class Names(unittest.TestCase):
    """A target may have any name, and its file may be gone."""

    def test_a_hostile_name(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "e\x1b[2J\n\\101 f")
            shutil.copy(program("fibonacci"), path)
            with Target(path, "60") as pid:
                os.unlink(path)
                text = dwarfprof("-v", "-p", pid, "-d", "500ms", "--format", "text")
                folded = dwarfprof("-p", pid, "-d", "500ms", "--no-symbols")
                stream = dwarfprof("-p", pid, "-d", "500ms", "--format", "jsonl")
        for result in (text, folded, stream):
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertFalse([c for c in result.stdout + result.stderr if c < " " and c not in "\n\t"])
        self.assertIn("sampling e?[2J?\\101 f (PID ", text.stderr)
        self.assertIn(" e?[2J?\\101 f\n", text.stdout)
        self.assertIn(";[e?[2J?\\101 f+0x", folded.stdout)
        leaves = [json.loads(line)["user_stack"][0] for line in stream.stdout.splitlines()]
        self.assertIn((path, "fibonacci"), {(leaf["module"], leaf["symbol"]) for leaf in leaves})


if __name__ == "__main__":
    harness.main()
