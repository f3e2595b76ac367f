#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files are parsed by processes that have nothing else, and whatever these do holds up nobody.

usage: check_sandbox.py DWARFPROF PROGRAM-DIR

What the kernel says the helpers of a running profiler have. Helpers that are killed, stopped and starved at
random while the machine starts and builds programs cost no sample of them. A file that would exhaust the memory of
its parser has no table, and the profiler stays small. One that is never read again has no names; others have.
"""
import collections
import contextlib
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import zlib

import harness
from harness import main, start, wait_for
from slow_files import READ, SlowFiles

NOBODY = 65533
CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE = 1 << 2, 1 << 19
# Of those that the spawner forks, by name.
NEEDS = {"fetcher": CAP_SYS_PTRACE, "finder": CAP_DAC_READ_SEARCH}
# To helpers, in all; and how long this goes on while programs are built.
N_SIGNALS = int(os.environ.get("SANDBOX_SIGNALS", "40"))
BUILD_SECONDS = int(os.environ.get("SANDBOX_SECONDS", "120"))
# sandbox/parsers.c, finders.c: the first one may go to a helper that was stopped long ago. With fewer signals than
# the others while a program starts, none of its requests can fail.
ATTEMPTS = 5
INFLATED = 3 << 30
# What is read of it so that it runs and has a table does not include debug information, by chance.
FAR_FROM_DEBUG = """
__asm__(".section .padding, \\"\\", @progbits\\n.skip 1 << 22\\n.text");
int main(void)
{
	for (volatile int i = 0;; i++)
		continue;
}
"""
# A program of a build: a new file each time, which runs for some samples.
BUILT = "#include <stdio.h>\n#include <stdlib.h>\nint main(void)\n{\n\tfor (volatile int i = 0; i < 50000000; i++)\n\t\tcontinue;\n}\n"
BUILD = "n=0; while :; do n=$((n + 1)); gcc -O1 -g -c -o $0.o $1 && gcc -o $0-$n $0.o && $0-$n; done"
# Of the time, one that is starved runs for so long, and this goes on for a while.
RUNS_S, RESTS_S, STARVED_S = 0.005, 0.1, 1
DURATION = 3
# NAMERS_TIME_NS (limits/limits.def): 10 s are for the names of a binary; and the machine is busy.
BUSY = 4
PATIENCE = 10 + BUSY


def children(pid):
    """Of all threads, those that live."""
    lists = [harness.read(path) for path in glob.glob(f"/proc/{pid}/task/*/children")]
    return [int(child) for child in " ".join(lists).split() if command(child)]


def helpers(profiler):
    """[spawner], [parsers]"""
    spawners = [pid for pid in children(profiler) if "dwarfprof-helper" in command(pid)]
    return spawners, [pid for spawner in spawners for pid in children(spawner)]


def name(pid):
    return harness.read(f"/proc/{pid}/comm").strip()


def command(pid):
    """Empty for one that has ended."""
    return harness.read(f"/proc/{pid}/cmdline")


def status(pid):
    return dict(line.split(":\t", 1) for line in harness.read(f"/proc/{pid}/status").splitlines())


class Sandbox(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, *args):
        """A profiler that samples, with its stderr in a file."""
        with open(self.path("said"), "w") as file:
            profiler = start("-v", "--no-cache", "-F", "999", "-o", self.path("samples.jsonl"), *args, stderr=file)
        self.addCleanup(profiler.wait)
        self.addCleanup(profiler.kill)
        wait_for(lambda: "sampling " in self.said() or profiler.poll() is not None)
        return profiler

    def said(self):
        return harness.read(self.path("said"))

    def end(self, profiler):
        began = time.monotonic()
        profiler.send_signal(signal.SIGINT)
        self.assertEqual(profiler.wait(30), 0, self.said())
        self.took = time.monotonic() - began
        with open(self.path("samples.jsonl")) as file:
            *samples, totals = map(json.loads, file)
        self.assertEqual(totals["lost"], 0, self.said())
        return samples

    def test_helpers_have_nothing(self):
        # The names of Python's functions are in its memory, which fetchers read.
        with harness.busy() as pid, harness.Target("python3", "-c", "while True: pass") as python:
            profiler = self.start("-p", f"{pid},{python}")
            # Samples are written as they come, so names are needed.
            wait_for(lambda: any("\0namer\0" in command(helper) for helper in helpers(profiler.pid)[1]))
            # Another one reads lists of mappings.
            wait_for(lambda: [name(helper) for helper in helpers(profiler.pid)[1]].count("fetcher") > 1)
            wait_for(lambda: '"fibonacci"' in harness.read(self.path("samples.jsonl")))
            spawners, parsers = helpers(profiler.pid)
            namers = [helper for helper in parsers if "\0namer\0" in command(helper)]
            self.assertEqual(len(spawners), 1)
            names = collections.Counter(map(name, parsers))
            self.assertIn(names["fetcher"], (2, 3))
            self.assertGreaterEqual(names["finder"], 1)
            self.assertGreater(len(parsers), len(namers) + names["fetcher"] + names["finder"])
            for parser in parsers:
                # One that was started just now is about to give up what it has; it asks for nothing before.
                wait_for(lambda parser=parser: status(parser)["Seccomp"] == "2")
                has, capabilities = status(parser), NEEDS.get(name(parser), 0)
                self.assertEqual(has["Uid"].split(), [str(NOBODY)] * 4)
                self.assertEqual(has["Gid"].split(), [str(NOBODY)] * 4)
                self.assertEqual(has["Groups"].strip(), "")
                self.assertEqual({has[sets] for sets in ("CapPrm", "CapEff")}, {f"{capabilities:016x}"})
                self.assertEqual({has[sets] for sets in ("CapInh", "CapBnd", "CapAmb")}, {"0" * 16})
                self.assertEqual(has["NoNewPrivs"], "1")
            for namer in namers:
                places = {os.readlink(path) for path in glob.glob(f"/proc/{namer}/fd/*")}
                own = {place for place in places if re.match("/dev/null$|socket:|/memfd:names ", place)}
                files = places - own
                self.assertIn(harness.program("fibonacci"), files)
                self.assertFalse([place for place in files if not place.startswith("/")], places)
            for helper in set(spawners + parsers).difference(namers):
                wait_for(lambda helper=helper: sorted(map(int, os.listdir(f"/proc/{helper}/fd"))) == [0, 1, 2, 3])
                places = [os.readlink(f"/proc/{helper}/fd/{fd}") for fd in range(4)]
                self.assertEqual(places[0], "/dev/null")
                self.assertRegex(places[3], "^socket:")
                self.assertNotIn("bpf", " ".join(places))
                variables = harness.read(f"/proc/{helper}/environ").split("\0")
                self.assertFalse([v for v in variables if v and "_OPTIONS=" not in v and "LD_LIBRARY" not in v])
            harness.wait_until_it_runs(int(pid))
            self.end(profiler)
        for helper in spawners + parsers:
            wait_for(lambda helper=helper: not command(helper))

    LONG = "test_killed_stopped_and_starved_while_programs_are_built",

    def test_killed_and_stopped_at_random(self):
        """Each program that is started is a new file, so parsers are needed while they come and go."""
        self.disturb(0)

    def test_killed_stopped_and_starved_while_programs_are_built(self):
        samples = self.disturb(BUILD_SECONDS)
        built = [s for s in samples if s["comm"].startswith("built")]
        compiled = [s for s in samples if s["comm"] in ("cc1", "as", "ld", "collect2", "gcc")]
        wrong = collections.Counter(s["outcome"] for s in built + compiled if s["outcome"] not in ("complete", "no_user_stack"))
        print(f"{len({s['pid'] for s in built})} built programs with {len(built)} samples, {len(compiled)} of compilers; "
              f"incomplete: {dict(wrong)}", flush=True)
        self.assertGreater(len({s["pid"] for s in built}), BUILD_SECONDS // 4)
        self.assertGreater(len(compiled), BUILD_SECONDS)
        self.assertFalse(wrong)

    @contextlib.contextmanager
    def builds(self):
        """Programs are built and run on each CPU."""
        with open(self.path("main.c"), "w") as file:
            file.write(BUILT)
        loops = [subprocess.Popen(["sh", "-c", BUILD, self.path(f"built{i}"), self.path("main.c")], start_new_session=True)
                 for i in range(os.cpu_count())]
        try:
            yield
        finally:
            for loop in loops:
                os.killpg(loop.pid, signal.SIGKILL)
                loop.wait()

    def disturb(self, seconds):
        """Sends signals to helpers while programs start, for so long, and as many as N_SIGNALS; with a time, also starves
        them, while programs are built. Returns all samples."""
        chance = random.Random(1)
        rate = ("-F", "199") if seconds else ()  # all that is left to be written is written at the end
        profiler = self.start(*rate, "-p", str(os.getpid()))  # and what it starts from now on
        n_signals = n_started = 0
        self.parsers, self.starving, self.starved = set(), [], {}
        began = time.monotonic()
        with harness.busy() as busy, self.builds() if seconds else contextlib.nullcontext():
            while n_signals < N_SIGNALS or n_started < N_SIGNALS // 2 or time.monotonic() < began + seconds:
                program = shutil.copy(harness.program("fibonacci"), self.path(f"program{n_started}"))
                started = subprocess.Popen([program, "3600"], stdout=subprocess.DEVNULL)
                n_started += 1
                enough, n_sent = harness.cpu_time(started.pid) + 0.1, 0
                while harness.cpu_time(started.pid) < enough:
                    if n_sent < ATTEMPTS - 2:
                        n_sent += self.send_one(profiler.pid, chance, seconds > 0)
                    time.sleep(chance.random() / 20)
                n_signals += n_sent
                started.kill()
                started.wait()
                if not seconds:
                    os.remove(program)  # else its helpers may be slow to open it
        for thread in self.starving:
            thread.join()
        samples = self.end(profiler)
        ours = [s for s in samples if s["comm"].startswith(("program", "fibonacci"))]
        print(f"{n_signals} signals to helpers, {len(self.starving)} starved, {n_started} programs, {len(ours)} samples, "
              f"ended after {self.took:.1f} s", flush=True)
        self.assertGreater(len({s["pid"] for s in ours}), n_started * 9 // 10)
        self.assertIn(int(busy), {s["pid"] for s in ours})
        wrong = [s for s in ours if s["outcome"] not in ("complete", "no_user_stack")]
        self.assertFalse(wrong, (len(wrong), wrong[:3], self.said()[-2000:]))
        self.assertLess(self.took, PATIENCE)
        return samples

    def starve(self, pid):
        """It runs now and then, however much it has to do. Each rest is shorter than what has it replaced."""
        end = time.monotonic() + STARVED_S
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < end:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(RESTS_S)
                os.kill(pid, signal.SIGCONT)
                time.sleep(RUNS_S)

    def send_one(self, profiler, chance, starves):
        spawners, parsers = helpers(profiler)
        # Those of a killed spawner work on.
        self.parsers = {p for p in self.parsers.union(parsers) if "dwarfprof-helper" in command(p)}
        parsers = sorted(self.parsers)
        if not parsers:
            return 0
        # A stopped spawner is seen only when the next helper is wanted, and not at once.
        pid, number = chance.choice([(pid, n) for pid in parsers for n in (signal.SIGKILL, signal.SIGSTOP)] +
                                    [(pid, 0) for pid in parsers if starves] + [(pid, signal.SIGKILL) for pid in spawners])
        if number == 0:
            # Two would keep it stopped for longer than one that is starved.
            if self.starved.get(pid) and self.starved[pid].is_alive():
                return 0
            self.starving.append(threading.Thread(target=self.starve, args=(pid,)))
            self.starving[-1].start()
            self.starved[pid] = self.starving[-1]
            return 1
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return 0
        return 1

    def test_what_a_file_inflates_to(self):
        """A .debug_frame, compressed as GNU tools once did, of three gigabytes of zeros in three megabytes."""
        packer = zlib.compressobj(1)
        with open(self.path("section"), "wb") as file:
            file.write(b"ZLIB" + INFLATED.to_bytes(8, "big"))
            for _ in range(INFLATED >> 20):
                file.write(packer.compress(bytes(1 << 20)))
            file.write(packer.flush())
        program = self.path("inflates")
        subprocess.run(["objcopy", "--add-section", f".zdebug_frame={self.path('section')}",
                        harness.program("fibonacci"), program], check=True)
        with harness.Target(program, "3600") as pid:
            profiler = self.start("-p", pid)
            spawners, parsers = helpers(profiler.pid)
            largest = [int(status(p)["VmHWM"].split()[0]) >> 10 for p in (profiler.pid, *parsers)]
            print(f"MiB of the profiler and its parsers: {largest}", flush=True)
            harness.wait_until_it_runs(int(pid))
            samples = self.end(profiler)
        self.assertLess(largest[0], 300)
        self.assertTrue(samples)

    def test_names_in_a_file_that_hangs(self):
        """Its table is made, and then its debug information is not to be had."""
        with open(self.path("section"), "wb") as section:
            section.truncate(1 << 22)
        subprocess.run(["gcc", "-g", "-xc", "-", "-o", self.path("program")], input=FAR_FROM_DEBUG, text=True, check=True)
        subprocess.run(["objcopy", "--add-section", f".more={self.path('section')}", self.path("program")], check=True)
        os.mkdir(self.path("mounted"))
        files = self.enterContext(SlowFiles(self.path("mounted"), self.path("program"), ["hangs"], hangs=(READ,)))
        file, = files.paths()
        with harness.Target(file, "3600") as hanging, harness.busy() as other, open(self.path("said"), "w") as said:
            profiler = start("-v", "--no-cache", "-d", str(DURATION), "-p", f"{hanging},{other}",
                             "-o", self.path("stacks.folded"), stderr=said)
            self.addCleanup(profiler.wait)
            self.addCleanup(profiler.kill)
            wait_for(lambda: "sampling " in self.said() and re.search(f"{file}: \\d+ rows", self.said()))
            files.hang_for(profiler.pid)
            began = time.monotonic()
            time.sleep(DURATION)  # there are no samples after it
            with harness.stopped((hanging, other)):
                self.assertEqual(profiler.wait(60), 0, self.said())
            took = time.monotonic() - began
        print(f"it ended after {took:.1f} s", flush=True)
        # Its names are given up within a second, and the machine is busy.
        self.assertLess(took, DURATION + 1 + BUSY)
        self.assertEqual(self.said().count(f"{file} has no names: its reader took too long"), 1, self.said())
        self.assertEqual(self.said().count("has no names"), 1, self.said())
        stacks = harness.read(self.path("stacks.folded")).splitlines()
        for begin in ("hangs;[hangs+0x", "fibonacci;_start;"):
            of = [s for s in stacks if s.startswith(begin.partition(";")[0])]
            self.assertTrue(of and all(s.startswith(begin) for s in of), of)


if __name__ == "__main__":
    main()
