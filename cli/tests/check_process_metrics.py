#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labels of what a sample's process uses (--process-metrics): what /proc says of it, read by the test.

usage: check_process_metrics.py DWARFPROF PROGRAM-DIR
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from harness import dwarfprof, start, wait_for, wait_until_it_says

KEYS = ["usage.cpu", "usage.memory", "usage.read", "usage.run_queue_wait", "usage.write"]
BUSY = "while True: pass"
# Once it is told, it has 50 MB more, and is busy rather than mostly asleep.
CHANGES = ("import signal, time\ndef change(*_):\n global held\n held = bytearray(b'x') * 50000000\n"
           "held = None\nsignal.signal(signal.SIGUSR1, change)\nwhile True:\n"
           " t = time.monotonic() + 0.01\n while time.monotonic() < t: pass\n if not held: time.sleep(0.04)\n")
WRITES = ("import os, sys, time\nfd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\nblock = b'x' * 100000\n"
          "while True:\n os.pwrite(fd, block, 0)\n os.fsync(fd)\n t = time.monotonic() + 0.01\n while time.monotonic() < t: pass\n")
READS = ("import os, sys, time\nfd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\nos.write(fd, b'x' * 100000)\nos.fsync(fd)\n"
         "while True:\n os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n os.pread(fd, 100000, 0)\n"
         " t = time.monotonic() + 0.01\n while time.monotonic() < t: pass\n")


def numbers_of(path):
    with open(path) as file:
        return {key: int(value) for key, value in (line.split(": ") for line in file)}


class Written:
    """The samples of a file that is being written, so far."""

    def __init__(self, path):
        self.file, self.rest, self.samples = open(path), "", []

    def of(self, key, pid=None):
        """A label's values, of one process or all."""
        *lines, self.rest = (self.rest + self.file.read()).split("\n")
        self.samples += map(json.loads, lines)
        return [s["labels"][key] for s in self.samples if key in (s["labels"] or {}) and pid in (None, s["pid"])]


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Metrics(unittest.TestCase):
    LONG = "test_its_cost", "test_many_processes"

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory(dir=os.getcwd()))
        self.out = os.path.join(self.directory, "out.jsonl")

    @contextlib.contextmanager
    def program(self, text, *args, prefix=()):
        with subprocess.Popen([*prefix, sys.executable, "-c", text, *args]) as process:
            try:
                yield process.pid
            finally:
                process.kill()

    @contextlib.contextmanager
    def recording(self, *options):
        profiler = start("--process-metrics", "-F", "99", "--no-symbols", "-o", self.out, *options, stderr=subprocess.PIPE, text=True)
        wait_until_it_says(profiler, "sampling")
        written = Written(self.out)
        yield written
        written.file.close()
        profiler.send_signal(signal.SIGINT)
        said = profiler.communicate(timeout=180)[1]
        self.assertEqual(profiler.returncode, 0, said)

    def samples(self, pid=None):
        with open(self.out) as file:
            return [s for s in map(json.loads, file) if pid in (None, s["pid"])]

    def values(self, pid, key):
        return [s["labels"][key] for s in self.samples(pid) if key in (s["labels"] or {})]

    def test_a_busy_process(self):
        with self.program(BUSY) as pid, self.recording("-p", str(pid)) as written:
            wait_for(lambda: len(set(written.of("usage.cpu"))) > 1 or len(written.of("usage.cpu")) > 200)
            memory = resident(pid)
        has_all = [s for s in self.samples() if set(KEYS) <= set(s["labels"] or {})]
        self.assertTrue(has_all)
        # From the first one on.
        later = [s for s in self.samples() if s["time_ns"] >= has_all[0]["time_ns"] and "usage.cpu" in (s["labels"] or {})]
        self.assertEqual(len(later), len(has_all))
        for s in has_all:
            self.assertGreater(s["labels"]["usage.cpu"] + s["labels"]["usage.run_queue_wait"], 90)
            self.assertLess(s["labels"]["usage.cpu"], 110)
            self.assertLess(abs(s["labels"]["usage.memory"] - memory), 1 << 20)
            self.assertEqual((s["labels"]["usage.read"], s["labels"]["usage.write"]), (0, 0))

    def test_what_changes(self):
        with self.program(CHANGES) as pid, self.recording("-p", str(pid)) as written:
            wait_for(lambda: len(written.of("usage.cpu")) > 20)
            self.assertLess(max(written.of("usage.cpu")), 60)
            before = written.of("usage.memory")[-1]
            os.kill(pid, signal.SIGUSR1)
            # On a busy machine it waits for a part of that time.
            wait_for(lambda: written.of("usage.cpu")[-1] + written.of("usage.run_queue_wait")[-1] > 80)
            self.assertLess(abs(written.of("usage.memory")[-1] - before - 50000000), 5000000)

    def test_three_threads_on_one_cpu(self):
        text = f"import os, threading\nos.sched_setaffinity(0, {{0}})\nfor _ in range(2):\n if os.fork() == 0: break\n{BUSY}\n"
        with self.program(text, prefix=["setsid"]) as pid:
            try:
                with self.recording("-p", str(pid)) as written:
                    wait_for(lambda: len(written.of("usage.cpu")) > 80)
                waits, cpu = self.values(pid, "usage.run_queue_wait"), self.values(pid, "usage.cpu")
            finally:
                os.killpg(pid, signal.SIGKILL)
        self.assertGreater(min(waits), 40)
        self.assertLess(max(waits), 110)
        self.assertLess(max(cpu), 60)

    def check_bytes(self, text, counter, key):
        """As many as the kernel has counted, while it was looked at."""
        with self.program(text, os.path.join(self.directory, "file")) as pid, self.recording("-p", str(pid)) as written:
            wait_for(lambda: written.of("usage.cpu"))
            n, before, begin = len(written.of("usage.cpu")), numbers_of(f"/proc/{pid}/io")[counter], time.monotonic()
            wait_for(lambda: len(written.of("usage.cpu")) > n + 60)
            rate = (numbers_of(f"/proc/{pid}/io")[counter] - before) / (time.monotonic() - begin)
        values = self.values(pid, key)
        if rate == 0:
            self.skipTest("this file system does not count them")
        mean = sum(values) / len(values)
        self.assertLess(abs(mean - rate), rate / 2)

    def test_writes(self):
        self.check_bytes(WRITES, "write_bytes", "usage.write")

    def test_reads(self):
        self.check_bytes(READS, "read_bytes", "usage.read")

    def test_many_processes(self):
        """Each has its own."""
        with contextlib.ExitStack() as stack:
            sizes = 1, 50, 100, 200
            held = [stack.enter_context(self.program(f"held = bytearray(b'x') * ({n} << 20)\n{BUSY}")) for n in sizes]
            wait_for(lambda: all(resident(pid) > n << 20 for pid, n in zip(held, sizes)))
            written = stack.enter_context(self.recording("-p", ",".join(map(str, held))))
            wait_for(lambda: all(len(written.of("usage.cpu", pid)) > 20 for pid in held))
            memory = {pid: resident(pid) for pid in held}
        for pid in held:
            values = self.values(pid, "usage.memory")
            self.assertLess(abs(values[-1] - memory[pid]), 1 << 20)

    def test_in_each_format(self):
        forms = {"folded": "[usage.memory=", "txt": "usage.cpu", "json": "usage.cpu", "perf": "usage.cpu"}
        outs = {form: os.path.join(self.directory, "out." + form) for form in forms}
        with self.program(BUSY) as pid, \
                self.recording("-p", str(pid), *(word for out in outs.values() for word in ("-o", out))) as written:
            wait_for(lambda: len(written.of("usage.cpu")) > 20)
        for form, wanted in forms.items():
            with self.subTest(form=form):
                self.assertIn(wanted, harness.read(outs[form]))

    def test_without_it(self):
        with self.program(BUSY) as pid:
            result = dwarfprof("-p", str(pid), "-d", "1s", "-F", "49", "--no-symbols", "--format", "jsonl")
        self.assertNotIn("usage.", result.stdout)

    def test_its_cost(self):
        """The thread is within its budget, whatever the number of processes."""
        with contextlib.ExitStack() as stack:
            for _ in range(60):
                stack.enter_context(self.program("import time\nwhile True:\n for _ in range(10000): pass\n time.sleep(0.05)"))
            profiler = start("-a", "-F", "49", "--process-metrics", "--no-symbols", "-o", self.out, stderr=subprocess.PIPE, text=True)
            wait_until_it_says(profiler, "sampling")
            written = Written(self.out)
            wait_for(lambda: len(written.of("usage.cpu")) > 500)
            written.file.close()
            thread, = [tid for tid in os.listdir(f"/proc/{profiler.pid}/task")
                       if open(f"/proc/{profiler.pid}/task/{tid}/comm").read() == "metrics\n"]

            def used():
                with open(f"/proc/{profiler.pid}/task/{thread}/schedstat") as file:
                    return int(file.read().split()[0]) / 1e9
            before, begin = used(), time.monotonic()
            time.sleep(8)
            share = (used() - before) / (time.monotonic() - begin)
            profiler.send_signal(signal.SIGINT)
            profiler.communicate(timeout=180)
        print(f"{share * 100:.2f} % of a CPU", flush=True)
        self.assertLess(share, 0.03)
        self.assertGreater(share, 0)


if __name__ == "__main__":
    harness.main()
