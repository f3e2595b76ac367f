#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Crashes (--crashes): the kernel's own words, the program's marked lines, and eu-stack's stack of the
core that the same process has left.

usage: check_crashes.py DWARFPROF PROGRAM-DIR
"""
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import tempfile
import time
import unittest

import harness
from harness import dwarfprof, program, start, wait_until_it_says

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test-programs/crash.c")
CORE_PATTERN = "/proc/sys/kernel/core_pattern"
FRAME = re.compile(r"#\d+ +0x([0-9a-f]{16})(?: +(.*))?")
MAX_CORE = 1000  # frames that are compared
OUTER = ["inner", "outer", "handle", "main"]
# What sigaction(2) says of each: the signal, its code, and the function that gets it.
FAULTS = {
    "null": ("SIGSEGV", "SEGV_MAPERR", "at_null"),
    "constant": ("SIGSEGV", "SEGV_ACCERR", "at_constant"),
    "impossible": ("SIGSEGV", "SI_KERNEL", "at_impossible"),
    "end-of-file": ("SIGBUS", "BUS_ADRERR", "at_end_of_file"),
    "illegal": ("SIGILL", "ILL_ILLOPN", "at_illegal"),
    "division": ("SIGFPE", "FPE_INTDIV", "at_division"),
}


def marks():
    """The lines of the program that are marked with a function's name; none where the source is not, in virtual machines."""
    lines = harness.read(SOURCE).splitlines()
    return {mark[1]: n for n, line in enumerate(lines, 1) if (mark := re.search(r"; /\* (\w+) \*/$", line))}


LINES = marks()


def leave_core():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)


def profile_waiting(command, options, cwd):
    """Profiles a program that goes on when its tables are in the kernel, and its calls are probed."""
    with subprocess.Popen([*command, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=cwd,
                          preexec_fn=leave_core) as process:
        assert process.stdout.readline() == "ready\n"
        profiler = start("-p", str(process.pid), *options, stderr=subprocess.PIPE, text=True, cwd=cwd)
        try:
            said = wait_until_it_says(profiler, "sampling")
            process.communicate("\n", timeout=180)
            said += profiler.communicate(timeout=180)[1]
        finally:
            profiler.kill()
            process.kill()
    return subprocess.CompletedProcess(profiler.args, profiler.returncode, None, said)


class Crash:
    """What dwarfprof says of a command that it runs, or of one that waits for it, and the core that this has left."""

    def __init__(self, *command, options=(), crashes=1, own=("--crashes=words",), waits=False):
        with tempfile.TemporaryDirectory() as directory:
            options = [*own, "-o", "samples.jsonl", *options]
            if waits:
                self.run = profile_waiting(command, options, directory)
            else:
                self.run = dwarfprof(*options, "--", *command, cwd=directory, preexec_fn=leave_core)
            self.words = harness.read(os.path.join(directory, "words"))
            samples = [json.loads(line) for line in harness.read(os.path.join(directory, "samples.jsonl")).splitlines()]
            self.samples = [s for s in samples if s["event"] == "crash"]
            assert len(self.samples) == crashes, (len(self.samples), self.run.stderr)
            if crashes:
                self.sample = self.samples[0]
                self.labels = self.sample["labels"]
                self.frames = self.sample["user_stack"]
                self.functions = [f["symbol"] for f in self.frames]
                self.core = self.read_core(directory)

    def read_core(self, directory):
        """Address, function and line of each frame, as eu-stack sees them."""
        core = [name for name in os.listdir(directory) if re.fullmatch(r"core(\.\d+)?", name)]
        if not core:
            return None
        said = subprocess.run(["eu-stack", "--core", os.path.join(directory, core[0]), "-n", str(MAX_CORE), "-s"], capture_output=True,
                              text=True, timeout=60).stdout
        frames, own = [], False
        for line in said.splitlines():
            if head := re.match(r"TID (\d+)", line):
                own = int(head[1]) == self.sample["tid"]
            elif own and (frame := FRAME.match(line)):
                frames.append([int(frame[1], 16), frame[2], None])
            elif own and frames and (place := re.match(r"\s+\S*/(\S+?):(\d+)", line)):
                frames[-1][2] = f"{place[1]}:{place[2]}"
        return frames


class Crashes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        pattern = harness.read(CORE_PATTERN).strip()
        if not re.fullmatch("core", pattern):
            with open(CORE_PATTERN, "w", encoding="utf-8") as file:
                file.write("core")
            cls.addClassCleanup(lambda: open(CORE_PATTERN, "w", encoding="utf-8").write(pattern))

    def expect_lines(self, frames, functions):
        """Frames are in these functions of the program, each in its marked line."""
        self.assertEqual([f["symbol"] for f in frames], functions)
        for f in frames if LINES else ():
            self.assertEqual((os.path.basename(f["file"]), f["line"]), ("crash.c", LINES[f["symbol"]]))

    def expect_core(self, crash, n=None):
        """The core has the same frames: all of them, or the innermost n."""
        self.assertIsNotNone(crash.core)
        own = [f for f in crash.frames if not f["inlined"]][:n]
        self.assertEqual([int(f["address"], 16) for f in own], [address for address, _, _ in crash.core][:n])
        self.assertGreater(len(own), 3)
        n_lines = 0
        for f, (_, name, place) in zip(own, crash.core):
            if f["file"] and f["file"].endswith("crash.c"):
                self.assertEqual((f["symbol"], f"crash.c:{f['line']}"), (name, place))
                n_lines += 1
        return n_lines

    def expect_words(self, crash, *words):
        self.assertEqual(crash.words.count("Crash of "), len(crash.samples), crash.words)
        for word in words:
            self.assertIn(word, crash.words)

    def test_faults(self):
        for kind, (name, code, function) in FAULTS.items():
            with self.subTest(kind=kind):
                crash = Crash(program("crash"), kind)
                self.assertEqual((crash.labels["signal"], crash.labels["signal.code"]), (name, code))
                self.assertEqual(crash.sample["outcome"], "complete")
                self.expect_lines(crash.frames[:5], [function, *OUTER])
                self.assertEqual(self.expect_core(crash), 5)
                self.assertEqual(crash.run.returncode, 128 + getattr(signal, name))
                self.expect_words(crash, f"Crash of crash (PID {crash.sample['pid']}), thread crash (TID {crash.sample['tid']})",
                                  f": {name}, ", f" ({code})", f"{function} at ", "crash.c:", " [crash]\n")

    def test_addresses(self):
        self.assertEqual(Crash(program("crash"), "null").labels["fault.address"], "0x10")
        self.assertNotIn("fault.address", Crash(program("crash"), "impossible").labels)
        illegal = Crash(program("crash"), "illegal")
        self.assertEqual(illegal.labels["fault.address"], f"0x{int(illegal.frames[0]['address'], 16):x}")

    def test_breakpoint(self):
        crash = Crash(program("crash"), "breakpoint")
        self.assertEqual((crash.labels["signal"], crash.labels["signal.code"]), ("SIGTRAP", "SI_KERNEL"))
        self.assertEqual(crash.functions[0], "at_breakpoint")
        self.expect_lines(crash.frames[1:5], OUTER)
        self.expect_core(crash)

    def test_abort(self):
        crash = Crash(program("crash"), "abort")
        self.assertEqual((crash.labels["signal"], crash.labels["signal.code"]), ("SIGABRT", "SI_TKILL"))
        at = crash.functions.index("at_abort")
        self.expect_lines(crash.frames[at:at + 5], ["at_abort", *OUTER])
        self.expect_core(crash)
        self.expect_words(crash, "SIGABRT, abort() or raise() (SI_TKILL)\n")

    def test_uncaught_exception(self):
        crash = Crash(program("crash_throw"))
        self.assertEqual(crash.labels["signal"], "SIGABRT")
        place = next(i for i, name in enumerate(crash.functions) if name and name.startswith("order::place"))
        self.assertTrue(any("terminate" in name for name in crash.functions[:place] if name), crash.functions)
        self.assertEqual(crash.functions[place + 2], "main")
        self.expect_core(crash)

    def test_refused_system_call(self):
        crash = Crash(program("crash"), "system-call")
        self.assertEqual((crash.labels["signal"], crash.labels["signal.code"]), ("SIGSYS", "SYS_SECCOMP"))
        self.assertEqual(crash.labels["signal.syscall"], 110)  # asm/unistd_64.h
        self.assertEqual(crash.functions[0], "syscall")
        self.expect_lines(crash.frames[1:6], ["at_system_call", *OUTER])
        self.expect_words(crash, "system call refused by seccomp (SYS_SECCOMP), system call 110\n")

    def test_thread(self):
        crash = Crash(program("crash"), "thread")
        self.assertNotEqual(crash.sample["tid"], crash.sample["pid"])
        self.assertEqual((crash.sample["comm"], crash.sample["thread_name"]), ("crash", "worker"))
        self.expect_lines(crash.frames[:2], ["at_null", "in_thread"])
        self.expect_core(crash)
        self.expect_words(crash, f"thread worker (TID {crash.sample['tid']})")

    def test_stack_overflow(self):
        crash = Crash(program("crash"), "overflow", options=["--max-stack", "500"])
        self.assertEqual((crash.labels["signal"], crash.labels["signal.code"]), ("SIGSEGV", "SEGV_MAPERR"))
        self.assertEqual((crash.sample["outcome"], crash.functions), ("depth_limit", ["overflow"] * 500))
        self.expect_words(crash, "     ... 401 more\n", "[depth_limit: ")

    def test_stack_overflow_with_a_handler(self):
        """The handler is on another stack, from which the walk goes on to the first. A copy has the first one's other end."""
        crash = Crash(program("crash"), "raise-overflow", waits=True)
        at = crash.functions.index("overflow")
        self.assertIn("raise_again", crash.functions[:at])
        self.assertEqual(set(crash.functions[at:]), {"overflow"})
        self.assertGreater(len(crash.functions), 1000)
        self.expect_core(crash, at + 500)
        crash = Crash(program("crash"), "return-overflow")
        self.assertEqual(set(crash.functions), {"overflow"})

    def test_stack_overflow_without_room_for_a_handler(self):
        crash = Crash(program("crash"), "overflow-without-room")
        self.assertEqual(crash.labels["signal"], "SIGSEGV")
        self.assertEqual(set(crash.functions), {"overflow"})

    def test_handler_that_raises_again(self):
        """It is walked when the signal has its default action: through the handler."""
        crash = Crash(program("crash"), "raise")
        at = crash.functions.index("raise_again")
        self.expect_lines(crash.frames[at:at + 1], ["raise_again"])
        inner = crash.functions.index("at_null")
        self.assertEqual(crash.frames[inner]["method"], "signal")
        self.expect_lines(crash.frames[inner:inner + 6], ["at_null", "raise_at_null", *OUTER])
        self.expect_core(crash)

    def test_handler_whose_signal_waits(self):
        """Blocked until the handler has returned, it comes where the handler was called."""
        crash = Crash(program("crash"), "raise-later")
        self.assertEqual((crash.labels["signal"], crash.labels["signal.code"]), ("SIGSEGV", "SI_TKILL"))
        self.assertNotIn("fault.address", crash.labels)
        self.expect_lines(crash.frames[:6], ["at_null", "raise_later_at_null", *OUTER])
        self.expect_core(crash)
        self.expect_words(crash, "SIGSEGV, raise() or tgkill() (SI_TKILL)\n")

    def test_calls_of_no_code(self):
        for kind, function, code in (("nothing", "at_nothing", "SEGV_MAPERR"), ("garbage", "at_garbage", "SEGV_MAPERR"),
                                     ("data", "at_data", "SEGV_ACCERR")):
            with self.subTest(kind=kind):
                crash = Crash(program("crash"), kind)
                self.assertEqual(crash.labels["signal.code"], code)
                self.assertEqual(int(crash.frames[0]["address"], 16), int(crash.labels["fault.address"], 16))
                self.assertEqual([f["method"] for f in crash.frames[:3]], ["leaf", "stack_top", "table"])
                self.expect_lines(crash.frames[1:6], [function, *OUTER])
                self.assertEqual(crash.sample["outcome"], "complete")
                self.expect_words(crash, "(by the return address on top of the stack)\n")

    def test_survivors(self):
        """Handlers of their own, and signals that are ignored."""
        for kind in "survive", "ignore":
            with self.subTest(kind=kind):
                crash = Crash(program("crash"), kind, crashes=0)
                self.assertEqual((crash.run.returncode, crash.run.stdout, crash.words), (0, "survived\n", ""))

    def test_words_on_stderr(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        result = dwarfprof("--crashes", "--", program("crash"), "null", cwd=directory)
        self.assertEqual((result.returncode, result.stdout), (128 + signal.SIGSEGV, ""))
        self.assertRegex(result.stderr, r"\nCrash of crash \(PID \d+\), thread crash \(TID \d+\), at [-\d: ]+: "
                                        r"SIGSEGV, address not mapped \(SEGV_MAPERR\), address 0x10\n#0   0x0000[0-9a-f]{12}  at_null at ")

    def test_values_beside_their_frame(self):
        probes = [f"label: {program('crash')}:{values}" for values in ("handle(kind=arg1:str, length=arg2:s32)", "inner(run=arg1:ptr)")]
        crash = Crash(program("crash"), "division", options=["--probe", probes[0], "--probe", probes[1]], waits=True)
        self.assertEqual((crash.labels["kind"], crash.labels["length"]), ("division", 8))
        self.assertEqual([f.get("values") for f in crash.frames[:4]], [None, {"run": crash.labels["run"]}, None, {"kind": "division", "length": 8}])
        self.assertRegex(crash.words, r"#1 +0x[0-9a-f]+  inner at .*crash\.c:\d+ \[crash\]  run=0x[0-9a-f]+\n")
        self.assertRegex(crash.words, r"#3 +0x[0-9a-f]+  handle at .*crash\.c:\d+ \[crash\]  kind=division, length=8\n")
        self.assertEqual(crash.words.count("kind=division"), 1)

    def test_values_of_a_walk_that_ends_before(self):
        """Nothing is known of calls that the kernel's walk did not get to."""
        probe = f"label: {program('crash')}:handle(kind=arg1:str)"
        crash = Crash(program("crash"), "division", options=["--probe", probe, "--max-stack", "2"], waits=True)
        self.assertEqual(crash.labels["kind"], "<unknown>")
        self.expect_words(crash, "     with kind=<unknown>\n")

    def test_beside_cpu_time(self):
        crash = Crash(program("crash"), "null", own=["--crashes=words", "-e", "cpu", "-F", "999"])
        self.expect_lines(crash.frames[:5], ["at_null", *OUTER])
        self.expect_words(crash)

    def test_beside_both_times(self):
        crash = Crash(program("crash"), "thread", own=["--crashes=words", "--wall"])
        self.expect_lines(crash.frames[:2], ["at_null", "in_thread"])

    def test_formats_have_the_labels(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        for form in "folded", "perf-script":
            result = dwarfprof("--crashes", "--format", form, "--", program("crash"), "null", cwd=directory)
            self.assertIn("signal=SIGSEGV", result.stdout)
            self.assertIn("fault.address=0x10", result.stdout)

    def watch(self, *options):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        path = os.path.join(self.directory, "samples.jsonl")
        profiler = start("--crashes", "-o", path, *options, stderr=subprocess.PIPE, text=True)
        self.addCleanup(profiler.kill)
        wait_until_it_says(profiler, "sampling")
        return profiler, path

    def stop(self, profiler, path):
        """Returns what it said, and its samples."""
        profiler.send_signal(signal.SIGINT)
        said = profiler.communicate(timeout=180)[1]
        return said, [json.loads(line) for line in harness.read(path).splitlines()]

    def test_programs_that_start_and_crash_at_once(self):
        """Milliseconds after their exec, with no table in the kernel yet for the first."""
        profiler, path = self.watch("-a", "--comm", "^crash$")
        pids = []
        for _ in range(5):
            process = subprocess.Popen([program("crash"), "null"], cwd=self.directory)
            process.wait()
            pids.append(process.pid)
            time.sleep(0.3)
        said, samples = self.stop(profiler, path)
        samples = {s["pid"]: s for s in samples if s["pid"] in pids}
        self.assertEqual(sorted(samples), sorted(pids), said)
        for s in samples.values():
            self.assertEqual(s["outcome"], "complete")
            self.expect_lines(s["user_stack"][:5], ["at_null", *OUTER])
        self.assertEqual(sum(f"Crash of crash (PID {pid})" in said for pid in pids), 5)

    def test_the_words_follow_at_once(self):
        """The stack is taken while the process is there, which nothing holds up: it may be gone when the words are written."""
        profiler, path = self.watch("-a", "--comm", "^crash$")
        gone, late = {}, []
        for _ in range(5):
            process = subprocess.Popen([program("crash"), "null"], cwd=self.directory)
            process.wait()
            gone[process.pid] = time.monotonic_ns()
            wait_until_it_says(profiler, f"Crash of crash (PID {process.pid})")
            late.append((time.monotonic_ns() - gone[process.pid]) / 1e9)
        samples = [s for s in self.stop(profiler, path)[1] if s["pid"] in gone]
        print(f"words are there {statistics.median(late):.3f} s later", flush=True)
        self.assertEqual(len(samples), len(gone))
        for s in samples:
            self.assertLess(s["time_ns"], gone[s["pid"]])
        self.assertLess(statistics.median(late), 2)

    def test_signal_of_another_process(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        with subprocess.Popen([program("crash"), "pause"], stdout=subprocess.PIPE, text=True, cwd=directory) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            profiler, path = self.watch("-p", str(process.pid))
            process.send_signal(signal.SIGABRT)
            process.wait()
            said = profiler.communicate(timeout=180)[1]
        sample, = (json.loads(line) for line in harness.read(path).splitlines())
        self.assertEqual((sample["labels"]["signal.code"], sample["labels"]["signal.sender"]), ("SI_USER", os.getpid()))
        self.assertIn(f"SIGABRT, sent with kill() (SI_USER), by process {os.getpid()}\n", said)
        self.assertIn("at_pause", [f["symbol"] for f in sample["user_stack"]])

    def test_a_loop_of_crashes_is_not_told_at_length(self):
        profiler, path = self.watch("-a", "--comm", "^crash$")
        began = time.monotonic()
        processes = [subprocess.Popen([program("crash"), "null"], cwd=self.directory) for _ in range(60)]
        for process in processes:
            process.wait()
        took = time.monotonic() - began
        said, samples = self.stop(profiler, path)
        pids = {process.pid for process in processes}
        self.assertEqual(len([s for s in samples if s["pid"] in pids]), 60)
        told = said.count("Crash of crash")
        left_out = sum(int(n) for n in re.findall(r"not described in that second: (\d+)", said))
        print(f"60 crashes in {took:.1f} s, {told} told", flush=True)
        self.assertEqual(told + left_out, 60)
        self.assertLessEqual(told, 10 * (int(took) + 2))

    def test_what_excludes_it(self):
        for wrong in (["-K"], ["-e", "page-faults,context-switches"], ["-F", "99"]):
            self.assertEqual(dwarfprof("-a", "--crashes", *wrong).returncode, 2)


if __name__ == "__main__":
    harness.main()
