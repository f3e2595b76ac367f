#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever a run is doing, Ctrl-C and the end of its time end it within a second, and what was sampled is written.

usage: check_end.py DWARFPROF PROGRAM-DIR

A phase at a time. Those that somebody has asked for after sampling, such as looking up names, take as long as they take; Ctrl-C
ends these, too. Who reads a report from a pipe is waited for: see test_an_output_that_nobody_reads. Samples that are written as
they come are not: see test_a_stream_that_nobody_reads.
"""
import contextlib
import fcntl
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import harness
from check_excess import N_PAGES, PAGES
from check_sandbox import command, helpers, name
from ending import BOUND, Ending
from harness import main, start, wait_for
from slow_files import OPEN, READ, SlowFiles

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../symbols/tests"))
import debug_files  # noqa: E402

DURATION = 1
# Symbols that are read one after the other, 24 bytes each.
N_SYMBOLS = 100000
SYMBOLS = "int main(void) { for (volatile int i = 0;; i++) continue; }\n__asm__(\"" + \
    "".join(f"f{i}: nop\\n" for i in range(N_SYMBOLS)) + "\");\n"
# Each has a C++ runtime of its own, with probes of its own.
N_THROWING = 60
THROWING = "#include <unistd.h>\nint main() { for (;;) try { usleep(100000); throw 1; } catch (int) { } }\n"


class End(Ending):
    LONG = "test_verification",

    def mounted(self, *args, **kwargs):
        os.mkdir(self.path("mounted"))
        return self.enterContext(SlowFiles(self.path("mounted"), *args, **kwargs))

    def run_slow(self, files):
        process = subprocess.Popen([*files.paths(), "3600"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        harness.wait_until_it_runs(process.pid, 0.01)
        return process.pid

    def test_start(self):
        profiler = self.start("-a", "-o", self.path("x.folded"))
        wait_for(lambda: helpers(profiler.pid)[0])
        self.interrupt(profiler, codes=(0, 5))

    def test_a_pipe_without_a_reader(self):
        os.mkfifo(self.path("pipe"))
        with harness.busy() as busy:
            profiler = self.start("-p", busy, "-o", self.path("pipe"), "--format", "folded")

            def waits():
                files = {os.readlink(f"/proc/{profiler.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{profiler.pid}/fd")}
                return "anon_inode:[eventfd]" in files and ") S " in harness.read(f"/proc/{profiler.pid}/stat")
            wait_for(waits)
            self.interrupt(profiler, codes=(5,))
        self.assertIn("interrupted before sampling began", self.said())

    def start_mappings(self):
        process = subprocess.Popen([sys.executable, "-c", PAGES, harness.program("libplain_a.so"), str(N_PAGES)],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "mapped\n")
        return process.pid

    def test_mappings(self):
        """That are read before sampling begins, and that come and go while there is sampling."""
        pid = self.start_mappings()
        profiler = self.start("-p", str(pid), "-o", self.path("x.folded"))
        wait_for(lambda: "fetcher" in map(name, helpers(profiler.pid)[1]))
        self.interrupt(profiler, codes=(0, 5))
        with harness.busy() as busy:
            profiler = self.start("-p", f"{pid},{busy}", "-d", str(DURATION), "-o", self.path("x.folded"))
            self.is_said("sampling ")
            with self.in_time(profiler, DURATION + BOUND):
                pass
        self.assertIn("fibonacci;_start;", harness.read(self.path("x.folded")))

    def test_tables(self):
        """Before sampling begins, there is nothing to write."""
        program = shutil.copy(harness.program("fibonacci"), self.path("slow"))
        files = self.mounted(program, ["slow"], hangs=(READ, OPEN))
        pid = self.run_slow(files)
        files.hang_for(os.getpid())  # and its children
        profiler = self.start("-p", str(pid), "-o", self.path("x.folded"))
        wait_for(lambda: "finder" in map(name, helpers(profiler.pid)[1]))
        self.interrupt(profiler, codes=(0, 1, 5))

    def test_a_table_that_samples_wait_for(self):
        program = shutil.copy(harness.program("fibonacci"), self.path("slow"))
        files = self.mounted(program, ["slow"], hangs=(OPEN,))
        for args in (), ("-d", str(DURATION)):
            with self.subTest(args), harness.busy() as busy:
                profiler = self.start("-p", str(os.getpid()), *args, "-o", self.path("x.folded"))
                files.hang_for(profiler.pid)
                self.is_said("sampling ")
                with self.in_time(profiler, DURATION + BOUND) if args else contextlib.nullcontext():
                    process = subprocess.Popen([*files.paths(), "3600"])
                    self.addCleanup(process.wait)
                    self.addCleanup(process.kill)
                    harness.wait_until_it_runs(process.pid, 0.05)
                if args:
                    continue
                harness.wait_until_it_runs(int(busy), 0.05)
                self.interrupt(profiler)
                self.assertIn("fibonacci;_start;", harness.read(self.path("x.folded")))

    def test_names(self):
        """That take long: those that are there by then are written."""
        subprocess.run(["gcc", "-O1", "-xc", "-", "-o", self.path("program")], input=SYMBOLS, text=True, check=True)
        files = self.mounted(self.path("program"), ["slow"], seconds=0.3)
        with harness.busy() as busy:
            pid = self.run_slow(files)
            profiler = self.start("-p", f"{pid},{busy}", "-o", self.path("x.folded"))
            self.is_said("sampling ")
            wait_for(lambda: re.search(f"{files.paths()[0]}: \\d+ rows", self.said()))
            harness.wait_until_it_runs(pid)
            profiler.send_signal(signal.SIGINT)
            self.is_said("looking up names")
            self.interrupt(profiler)
        self.assertRegex(harness.read(self.path("x.folded")), r"(?m)^fibonacci;")
        self.assertRegex(harness.read(self.path("x.folded")), r"(?m)^slow;.*\[slow\+0x")

    def test_a_server_of_debug_information(self):
        program = shutil.copy(harness.program("inlined"), self.path("inlined"))
        subprocess.run(["strip", "--strip-all", program], check=True)
        with debug_files.Server({}, silent=True) as server, harness.Target(program, "3600") as pid:
            profiler = self.start("-p", pid, "-d", str(DURATION), "-o", self.path("x.folded"),
                                  env=server.environment(self.directory))
            wait_for(lambda: server.asked)
            self.interrupt(profiler)
        self.assertIn("inlined;[inlined+0x", harness.read(self.path("x.folded")))

    def test_verification(self):
        """The first Ctrl-C ends sampling, and the next one the rest."""
        with harness.Target(harness.program("inefficient"), "300") as pid:
            profiler = self.start("--verify=1", "-F", "4999", "-p", pid, "-o", self.path("x.folded"))
            self.is_said("sampling ")
            harness.wait_until_it_runs(pid, 1)
            self.interrupt_first(profiler)
            if profiler.poll() is None:
                self.interrupt(profiler)
        self.assertEqual(profiler.returncode, 0, self.said())
        self.assertTrue(harness.read(self.path("x.folded")).startswith("inefficient;"))

    def test_probes(self):
        """The kernel waits for a grace period to remove each."""
        subprocess.run(["g++", "-O1", "-static-libstdc++", "-static-libgcc", "-xc++", "-", "-o", self.path("throwing")],
                       input=THROWING, text=True, check=True)
        pids = []
        for i in range(N_THROWING):
            process = subprocess.Popen([shutil.copy(self.path("throwing"), self.path(f"throwing{i}"))])
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            pids.append(str(process.pid))
        profiler = self.start("-e", "exceptions", "-p", ",".join(pids), "-o", self.path("x.jsonl"), rate=())
        self.is_said("sampling ")
        wait_for(lambda: len(set(re.findall(r'"pid":(\d+)', harness.read(self.path("x.jsonl"))))) == N_THROWING)
        self.interrupt(profiler)

    def test_a_recording_that_is_read(self):
        report = start("report", "-", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(report.wait)
        self.addCleanup(report.kill)
        self.addCleanup(report.stdin.close)
        children = f"/proc/{report.pid}/task/{report.pid}/children"
        wait_for(lambda: any("\nSeccomp:\t2" in harness.read(f"/proc/{pid}/status") for pid in harness.read(children).split()))
        readers = harness.read(children).split()
        self.interrupt(report, codes=(-signal.SIGINT,))
        wait_for(lambda: not any(command(reader) for reader in readers))

    def test_an_output_that_nobody_reads(self):
        """Whoever waits for a pipe's reader has written all files. The third Ctrl-C ends that."""
        os.mkfifo(self.path("pipe.html"))
        reader = os.open(self.path("pipe.html"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        with harness.busy() as busy:
            profiler = self.start("-p", busy, "-o", self.path("pipe.html"), "-o", self.path("x.folded"))
            self.is_said("sampling ")
            harness.wait_until_it_runs(int(busy), 0.1)
            began = time.monotonic()
            profiler.send_signal(signal.SIGINT)
            wait_for(lambda: re.search(r"\n\[totals: .*\] 0\n$", harness.read(self.path("x.folded"))))
            print(f"the other output is there after {time.monotonic() - began:.1f} s", flush=True)
            self.assertIsNone(profiler.poll())
            self.assertIn("fibonacci;_start;", harness.read(self.path("x.folded")))
            for _ in range(30):  # those that come at once count as one
                profiler.send_signal(signal.SIGINT)
                try:
                    profiler.wait(0.5)
                    break
                except subprocess.TimeoutExpired:
                    pass
            self.assertEqual(profiler.returncode, -signal.SIGINT)

    def full_pipe(self, format_name):
        """A pipe of a page, its reader, and how to see that it is full. A recording of equal samples may have room."""
        path = self.path("pipe." + format_name)
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        if format_name == "dwarfprof":
            with open(path, "wb", buffering=0) as writer:
                writer.write(bytes(4096))

        def is_full():
            writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            try:
                return not select.select([], [writer], [], 0)[1]
            finally:
                os.close(writer)
        return path, reader, is_full

    def end_unread(self, format_name, args):
        path, reader, is_full = self.full_pipe(format_name)
        with harness.busy() as busy:
            profiler = self.start("-F", "4999", "-p", busy, *args, "-o", path, "-o", self.path("x.folded"))
            self.is_said("sampling ")
            if args:
                with self.in_time(profiler, DURATION + BOUND, codes=(1,)):
                    pass
            else:
                wait_for(is_full)
                harness.wait_until_it_runs(int(busy), 0.1)
                self.interrupt(profiler, codes=(1,))
        said = re.search(rf"the reader of {re.escape(path)} has stopped reading: (\d+) of (\d+) samples are not in it", self.said())
        self.assertTrue(said, self.said())
        missing, n = map(int, said.groups())
        folded = harness.read(self.path("x.folded"))
        self.assertIn("fibonacci;_start;", folded)
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in folded.splitlines() if not line.startswith("[")), n)
        self.assertLess(0, missing)
        self.assertLessEqual(missing, n)
        os.unlink(path)
        return n - missing, os.read(reader, 1 << 16)

    def test_a_stream_that_nobody_reads(self):
        """What its reader has not taken a second after the end is given up, and counted; other outputs have all samples."""
        for args in (), ("-d", str(DURATION)):
            for format_name in "jsonl", "perf", "dwarfprof":
                with self.subTest(format_name, args=args):
                    n, written = self.end_unread(format_name, args)
                    if format_name == "jsonl":
                        self.assertEqual(n, written.count(b"\n"))


if __name__ == "__main__":
    main()
