#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tracepoints and functions of the kernel: as many samples as the program has made calls of each, from
the function that made them and with what it passed; as many switches as getrusage() counts; and as
many system calls as perf counts.

usage: check_tracepoints.py DWARFPROF PROGRAM-DIR
"""
import collections
import ctypes
import errno
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import chance
import harness
from harness import Target, dwarfprof, program, refuse, start, wait_until_it_says

N = 1000
FSOPEN = 430  # asm-generic/unistd.h
KPROBES = os.path.exists("/sys/bus/event_source/devices/kprobe/type")
TRACING = "/sys/kernel/tracing"
# Frames of what takes a sample, which are left out.
# Not bpf_prog_load() of a program that is loaded meanwhile.
OWN = re.compile("bpf_prog_[0-9a-f]{16}|bpf_trace_run|bpf_trampoline_|__bpf_trace_|perf_trace_")
# The beginning of a command that sees tracefs, whether it is mounted for all or not, and of one that does not.
WITH_TRACEFS = ["unshare", "--mount", "sh", "-ec", f'[ -e {TRACING}/events ] || mount -t tracefs nodev {TRACING}; exec "$@"', "sh"]
WITHOUT_TRACEFS = ["unshare", "--mount", "sh", "-ec",
                   f'for d in {TRACING} /sys/kernel/debug; do [ ! -d $d ] || mount -t tmpfs none $d; done; exec "$@"', "sh"]


def takes_functions():
    """Does this kernel look at a program for one of its functions? Its first type is none, which is invalid."""
    sys_bpf, load, tracing, fentry = 321, 5, 26, 24  # asm/unistd_64.h, linux/bpf.h
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(struct.pack("BBhiBBhi", 0xb7, 0, 0, 0, 0x95, 0, 0, 0))
    name = ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack("=IIQQ44xI36xI", tracing, 2, ctypes.addressof(code), ctypes.addressof(name), fentry, 1)
    libc.syscall(sys_bpf, load, attributes, len(attributes))
    return ctypes.get_errno() == errno.EINVAL


def functions(sample):
    return {frame["symbol"] for frame in sample["user_stack"]}


def calls_of(samples, function):
    return [s for s in samples if function in functions(s)]


class Tracepoints(unittest.TestCase):
    def record(self, *options, n=N, **kwargs):
        """The samples of a program, what it says that the kernel has counted, and what dwarfprof says."""
        with tempfile.TemporaryDirectory() as directory, \
                subprocess.Popen([program("traced"), str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
            out = os.path.join(directory, "out.jsonl")
            profiler = start("-p", str(target.pid), *options, "-o", out, stderr=subprocess.PIPE, text=True, **kwargs)
            said = wait_until_it_says(profiler, "sampling")
            target.stdin.write("\n")
            target.stdin.flush()
            counted = json.loads(target.stdout.readline())
            profiler.send_signal(signal.SIGINT)
            said += profiler.communicate(timeout=180)[1]
            self.assertEqual(profiler.returncode, 0, said)
            target.stdin.close()
            with open(out) as file:
                samples = [json.loads(line) for line in file]
        lost = int(re.search(r" (\d+) lost", said)[1])
        outcomes = collections.Counter(s["outcome"] for s in samples)
        print(f"{options}: {len(samples)} samples, {lost} lost, {dict(outcomes)}; counted: {counted}", flush=True)
        self.assertEqual(lost, 0, said)
        self.assertGreaterEqual(outcomes["complete"], chance.least(len(samples), 0.9999), outcomes)
        return samples, counted, said

    def assert_kernel_stacks(self, samples, leaf):
        """They begin where the event is, not in what takes the sample."""
        for s in samples:
            names = [frame["symbol"] or "" for frame in s["kernel_stack"]]
            self.assertTrue(names and names[0].startswith(leaf), names)
            self.assertFalse([name for name in names if OWN.match(name)], names)

    def test_a_system_call(self):
        """All are from the function that makes them."""
        event = "tracepoint:syscalls:sys_enter_getppid"
        samples, _, said = self.record("-e", event)
        self.assertIn(" at each hit of syscalls:sys_enter_getppid\n", said)
        self.assertEqual({s["event"] for s in samples}, {event})
        self.assertEqual((len(samples), len(calls_of(samples, "ask"))), (N, N))

    @unittest.skipUnless(shutil.which("perf"), "perf is missing")
    def test_as_many_as_perf_counts(self):
        with tempfile.NamedTemporaryFile("r") as counts:
            subprocess.run([*WITH_TRACEFS, "perf", "stat", "-x,", "-o", counts.name, "-e", "syscalls:sys_enter_getppid", "--",
                            program("traced"), str(N)], input="\n", text=True, stdout=subprocess.DEVNULL, check=True)
            counted = int(re.search(r"(?m)^(\d+),.*sys_enter_getppid", counts.read())[1])
        samples, _, _ = self.record("-e", "tracepoint:syscalls:sys_enter_getppid")
        self.assertEqual(len(samples), counted)

    def test_fields(self):
        """Pointers are followed in the program, and numbers are as wide as their types."""
        samples, _, _ = self.record("-e", "tracepoint:syscalls:sys_enter_openat(file=filename:str, dfd, flags:x32)")
        labels = [s["labels"] for s in calls_of(samples, "look")]
        self.assertEqual([label["file"] for label in labels], [f"/nowhere/{i}" for i in range(1, N + 1)])
        self.assertEqual({label["dfd"] for label in labels}, {-100})  # AT_FDCWD
        self.assertLessEqual({label["flags"] for label in labels}, {"0x0", "0x8000"})  # O_LARGEFILE

    def test_pointers_into_the_kernel(self):
        """A program chooses what it passes to a system call, and does not get the kernel's memory read so."""
        code_of_kernel = int(re.search(r"(?m)^(\w+) T _stext$", harness.read("/proc/kallsyms"))[1], 16)
        code = (f"import ctypes; c = ctypes.CDLL(None); at = ctypes.c_void_p({code_of_kernel})\n"
                "for i in range(100): c.openat(-100, at, 0)")
        result = dwarfprof("-e", "tracepoint:syscalls:sys_enter_openat(file=filename:str, word=filename->0:x64, at=filename)",
                           "-o", "-", "--format", "jsonl", "--", sys.executable, "-c", code)
        self.assertEqual(result.returncode, 0, result.stderr)
        labels = [json.loads(line)["labels"] for line in result.stdout.splitlines()]
        read = [(label["file"], label["word"]) for label in labels if label["at"] == hex(code_of_kernel)]
        self.assertEqual(read, [("<unread>", "<unread>")] * 100)

    def test_fields_as_values(self):
        samples, _, _ = self.record("-e", "tracepoint:syscalls:sys_enter_write(count)", "--value", "count")
        self.assertEqual([(s["weight"], s["values"]) for s in calls_of(samples, "put")], [(1, {"count": i}) for i in range(1, N + 1)])
        samples, _, _ = self.record("-e", "tracepoint:syscalls:sys_enter_write(count, fd)", "--value", "count", "--value", "fd")
        puts = calls_of(samples, "put")
        self.assertEqual([s["values"]["count"] for s in puts], list(range(1, N + 1)))
        self.assertEqual({s["values"]["fd"] for s in puts}, {puts[0]["labels"]["fd"]})

    def test_numbers_of_several(self):
        """Each event has its own, and one has none."""
        events = ["tracepoint:syscalls:sys_enter_write(count)", "tracepoint:syscalls:sys_exit_openat(ret)", "tracepoint:syscalls:sys_enter_getppid"]
        samples, _, _ = self.record("-e", ",".join(events), "--value", "count:bytes", "--value", "ret")
        write, openat, getppid = ([s for s in samples if s["event"] == event.partition("(")[0]] for event in events)
        self.assertEqual([s["values"] for s in calls_of(write, "put")], [{"count": i} for i in range(1, N + 1)])
        # What is negative is a label.
        self.assertEqual([(s["values"], s["labels"]["ret"]) for s in calls_of(openat, "look")], [({"ret": None}, -errno.ENOENT)] * N)
        self.assertEqual([s for s in calls_of(getppid, "ask") if "values" in s], [])
        self.assertEqual(len(calls_of(getppid, "ask")), N)
        for options, said in ((["count", "rte"], "--value rte: -e reads no number of that name"),
                              (["count", "fd"], "--value: only one number of an event can be added up")):
            result = dwarfprof("-e", events[0].replace("count", "count, fd"), "-e", events[1], *(word for name in options for word in ("--value", name)),
                               "-o", "/dev/null", "--format", "folded", "--", "true")
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(said, result.stderr)

    def test_texts_in_the_record(self):
        samples, counted, _ = self.record("-e", "tracepoint:sched:sched_switch(from=prev_comm, pid=prev_pid, to=next_comm)")
        self.assertEqual({s["labels"]["from"] for s in samples}, {"traced"})
        self.assertEqual({s["labels"]["pid"] for s in samples}, {s["tid"] for s in samples})
        self.assert_about(len(calls_of(samples, "naps")), counted["left"])

    def test_several(self):
        """A glob stands for all tracepoints that it matches, each with a name of its own."""
        names = [f"tracepoint:syscalls:sys_{way}_getppid" for way in ("enter", "exit")]
        for events in (["tracepoint:syscalls:sys_e*_getppid"], [",".join(names)], names):
            with self.subTest(events=events):
                samples, _, _ = self.record(*(word for event in events for word in ("-e", event)))
                self.assertEqual(collections.Counter(s["event"] for s in samples), dict.fromkeys(names, N))
        values = [f"{names[0]}(nr=__syscall_nr)", f"{names[1]}(ret)"]
        samples, _, _ = self.record("-e", ",".join(values))
        by_event = {name: [s["labels"] for s in samples if s["event"] == name] for name in names}
        self.assertEqual({label["nr"] for label in by_event[names[0]]}, {110})  # asm/unistd_64.h
        self.assertEqual({label["ret"] for label in by_event[names[1]]}, {os.getpid()})
        self.assertEqual([len(labels) for labels in by_event.values()], [N, N])

    def assert_about(self, n, counted):
        """The program's thread may also leave its CPU in naps() before and after it counts."""
        self.assertLessEqual(counted, n)
        self.assertLess(n, counted + 50)

    def test_switches_by_either_way(self):
        for event in "raw_tracepoint:sched_switch", "tracepoint:sched:sched_switch":
            with self.subTest(event=event):
                samples, counted, _ = self.record("-e", event)
                # A sleep that is over before the thread gets to leave is none.
                self.assertGreaterEqual(counted["left"], N / 2)
                self.assert_about(len(calls_of(samples, "naps")), counted["left"])
                self.assert_kernel_stacks(samples, "__schedule")

    def test_arguments_of_a_tracepoint(self):
        """By name, by number, and members of what they point to."""
        values = "from=prev->comm, same=arg2->comm, pid=prev->pid, leader=prev->group_leader->pid, flags=arg2->flags:x32, preempt"
        samples, _, _ = self.record("-e", f"raw_tracepoint:sched_switch({values})")
        for s in samples:
            labels = s["labels"]
            self.assertEqual((labels["from"], labels["same"], labels["pid"], labels["leader"]), ("traced", "traced", s["tid"], s["pid"]))
            self.assertIn(labels["preempt"], ("true", "false", 0, 1))

    def test_wakeups(self):
        """Each time that the thread had waited, and at most as often as it was written to."""
        samples, counted, said = self.record("-e", "wakeups")
        self.assertIn(" at each wake-up of a thread\n", said)
        # Interrupts wake others.
        wakes = [s for s in calls_of(samples, "wake") if s["labels"]["wakes_tid"] == counted["sleeper"]]
        self.assertEqual({s["labels"]["wakes"] for s in wakes}, {"traced"})
        self.assertGreaterEqual(counted["waits"], N / 2)
        self.assertLessEqual(counted["waits"], len(wakes))
        self.assertLessEqual(len(wakes), N)

    def test_a_function(self):
        if not takes_functions():
            self.check_error("fentry:vfs_write", "this kernel refuses every BPF program at a function (fentry)\n", "try:  -e ")
            return
        values = "n=count, file:ptr, third=arg3:u32, name=file->f_path.dentry->d_name.name:str"
        samples, _, said = self.record("-e", f"fentry:vfs_write({values})")
        self.assertIn(" at each call, in the kernel, of vfs_write\n", said)
        self.assertEqual({s["event"] for s in samples}, {"fentry:vfs_write"})
        puts = calls_of(samples, "put")
        self.assertEqual([s["labels"]["n"] for s in puts], list(range(1, N + 1)))
        self.assertEqual([s["labels"]["third"] for s in puts], list(range(1, N + 1)))
        self.assertEqual(len({s["labels"]["file"] for s in puts}), 1)
        self.assertEqual({s["labels"]["name"] for s in puts}, {"null"})
        self.assert_kernel_stacks(puts, "vfs_write")
        self.check_error("fentry:vfs_write(file->f_pat)", "there is no member f_pat in file")
        self.check_error("fentry:vfs_write(arg5)", "there is no arg5, but file, buf, count, pos")

    def test_kprobes(self):
        if not KPROBES:
            self.check_error("kprobe:vfs_write", "this kernel has no kprobes\n", "try:  -e fentry:")
            return
        events = ["kprobe:vfs_write", "kprobe:do_sys_openat2"]
        samples, _, _ = self.record("-e", ",".join(events))
        for event, function in zip(events, ("put", "look")):
            calls = calls_of([s for s in samples if s["event"] == event], function)
            self.assertEqual(len(calls), N)
            self.assert_kernel_stacks(calls, event.partition(":")[2])
        samples, _, _ = self.record("-e", "kprobe:vfs_write(count, third=arg3:u8, file=file->f_mode:u32, name=buf:str)")
        puts = calls_of(samples, "put")
        self.assertEqual([s["labels"]["count"] for s in puts], list(range(1, N + 1)))
        self.assertEqual([s["labels"]["third"] for s in puts], [i % 256 for i in range(1, N + 1)])
        self.check_error("kprobe:vfs_write(count, x)", "there is no x, but file, buf, count, pos")
        self.check_error("kprobe:vfs_wriet", "no function vfs_wriet; did you mean vfs_write?")

    def test_one_side(self):
        samples, _, _ = self.record("-e", "raw_tracepoint:sched_switch", "-U", n=100)
        self.assertEqual({len(s["kernel_stack"]) for s in samples}, {0})
        result = dwarfprof("-e", "raw_tracepoint:sched_switch", "-K", "-a", "-d", "300ms", "--format", "jsonl", "-o", "-")
        samples = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual({s["outcome"] for s in samples}, {"kernel_only"})
        self.assert_kernel_stacks(samples, "__schedule")

    def test_none_is_the_profiler_s_own(self):
        """With all processes, what it does with a sample would be one more."""
        with Target(sys.executable, "-c", "import time\nwhile True: time.sleep(0.01)") as pid, \
                start("-a", "-d", "1", "-e", "raw_tracepoint:sys_enter", "-o", "-", "--format", "jsonl",
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as profiler:
            out, err = profiler.communicate(timeout=180)
        self.assertEqual(profiler.returncode, 0, err)
        pids = {json.loads(line)["pid"] for line in out.splitlines()}
        self.assertIn(int(pid), pids)
        self.assertNotIn(profiler.pid, pids)

    def check_error(self, event, *messages, **kwargs):
        with self.subTest(event=event):
            result = dwarfprof("-e", event, "-o", "/dev/null", "--format", "folded", "--", "true", **kwargs)
            self.assertIn(result.returncode, (1, 2), result.stderr)
            for message in messages:
                self.assertIn(message, result.stderr)

    def test_what_is_not_there(self):
        self.check_error("tracepoint:sched:sched_swich", "no tracepoint sched:sched_swich; did you mean sched:sched_switch?")
        self.check_error("tracepoint:sched:sched_swich(x=prev_pid)", "did you mean sched:sched_switch?")
        self.check_error("tracepoint:task:sched_switch", "did you mean sched:sched_switch?")
        self.check_error("raw_tracepoint:sched_swich", "no tracepoint sched_swich; did you mean sched_switch?")
        self.check_error("fentry:vfs_wriet", "no function vfs_wriet; did you mean vfs_write?")
        self.check_error("tracepoint:sched:sched_switch(prev_pdi)", "there is no prev_pdi, but prev_comm, prev_pid, ")
        self.check_error("tracepoint:sched:sched_switch(prev_comm->8)", "prev_comm is a text")
        self.check_error("raw_tracepoint:sched_waking(arg2)", "there is no arg2, but p")
        self.check_error("tracepoint:sched:sched_switch(prev_pid->x)", "tracefs does not tell what fields point to")
        self.check_error("tracepoint:syscalls:*", "matches ", "1 to 8 are allowed")
        self.check_error("tracepoint:nosuch*:*", "it matches 0 tracepoints")
        self.check_error("tracepoint:sched:sched_switch(prev_pid),tracepoint:sched:sched_switch", "takes sched:sched_switch once")

    def without_tracefs(self, *options):
        """No mount of its own, either. The program writes to stdout as well."""
        with tempfile.NamedTemporaryFile("r") as out:
            result = subprocess.run([*WITHOUT_TRACEFS, harness.DWARFPROF, *options, "-o", out.name, "--format", "jsonl", "--",
                                     program("traced"), "100"], input="\n", capture_output=True, text=True, timeout=180,
                                    preexec_fn=lambda: refuse(errno.ENOSYS, FSOPEN))
            return result, [json.loads(line) for line in out]

    def test_without_tracefs(self):
        """Tracepoints are found by their names, as far as these tell all."""
        result, samples = self.without_tracefs("-e", "tracepoint:sched:sched_switch")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(len(calls_of(samples, "nap")), 100)
        for event, message in (("tracepoint:syscalls:sys_enter_getppid", "which describes system calls"),
                               ("tracepoint:sched:sched_switch(prev_pid)", "which describes its values"),
                               ("tracepoint:sched:sched_switch,tracepoint:sched:sched_waking", "cannot sample several tracepoints"),
                               ("tracepoint:sched:sched_*", "tracefs, to look up the glob")):
            with self.subTest(event=event):
                result, _ = self.without_tracefs("-e", event)
                self.assertIn(result.returncode, (1, 2), result.stderr)
                self.assertIn(message, result.stderr)
                self.assertEqual("mount -t tracefs" in result.stderr, "*" not in event, result.stderr)


class Missed(unittest.TestCase):
    def test_hits_within_the_program_are_said(self):
        """Another profiler's program hits the function, and then this one's, which walks a stack in the same way."""
        if not takes_functions():
            return
        with harness.busy(), start("-a", "-F", "499", "-o", "/dev/null", "--format", "folded", stderr=subprocess.PIPE, text=True) as other:
            wait_until_it_says(other, "sampling")
            result = dwarfprof("-e", "fentry:copy_from_user_nofault", "-a", "-d", "1", "-o", "/dev/null", "--format", "folded")
            other.send_signal(signal.SIGINT)
            other.communicate(timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        missed = int(re.search(r"(\d+) hits, of any process, were missed", result.stderr)[1])
        self.assertGreater(missed, 0)
        self.assertGreaterEqual(int(re.search(r" (\d+) lost", result.stderr)[1]), missed)


if __name__ == "__main__":
    harness.main()
