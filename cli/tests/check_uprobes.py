#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls of functions whose names C++ and Rust mangle: as many as the program has made.

usage: check_uprobes.py DWARFPROF PROGRAM-DIR
"""
import collections
import ctypes
import errno
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import unittest
import unittest.mock

import harness
import readers
from harness import dwarfprof, program, refuse, start, wait_until_it_says
from slow_files import READ, STATFS, SlowFiles

IN_OPEN = 0x20
BPF, BPF_LINK_CREATE = 321, 28  # x86-64's asm/unistd_64.h, linux/bpf.h
N = 20
PYTHON = os.path.realpath("/usr/bin/python3")
# Calls by function, in calls.cc.
CPLUSPLUS = {"shapes::Circle::grow(int)": N, "shapes::Circle::grow(double, char const*)": 2 * N,
             "shapes::Circle::shrink() const": 3 * N, "shapes::Circle::operator[](int) const": 4 * N,
             "int shapes::twice<int>(int)": 5 * N, "long shapes::twice<long>(long)": 6 * N,
             "shapes::detail::draw()": 7 * N}
GROW = {name: n for name, n in CPLUSPLUS.items() if "grow" in name}
TWICE = {name: n for name, n in CPLUSPLUS.items() if "twice" in name}
CIRCLE = {name: n for name, n in CPLUSPLUS.items() if "Circle" in name}
# In calls.rs.
CIRCLE_GROW, SQUARE_GROW = (f"<calls_rs::shapes::{shape} as calls_rs::shapes::Shape>::grow" for shape in ("Circle", "Square"))
RUST = {CIRCLE_GROW: N, SQUARE_GROW: 2 * N, "calls_rs::shapes::draw": 4 * N}


def wait_for_open(fd, timeout=300):
    """Waits for what was watched (inotify(7)). The time is generous, as a profiler has to start first."""
    if not select.select([fd], [], [], timeout)[0]:
        raise TimeoutError("nobody has opened the file")
    os.read(fd, 4096)


class Uprobes(unittest.TestCase):
    def check(self, path, name, calls, begin=lambda: None, started=lambda: None, ran=None, n_places=None, **kwargs):
        """Each sample's innermost function is one that was called, as often as it was."""
        with tempfile.TemporaryDirectory() as directory, \
                subprocess.Popen([ran or path, str(N)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
            out = os.path.join(directory, "out.jsonl")
            begin()
            profiler = start("-p", str(target.pid), "-e", f"uprobe:{path}:{name}", "-o", out, "--demangle=full",
                             stderr=subprocess.PIPE, text=True, **kwargs)
            started()
            how = name if (n_places or len(calls)) == 1 else f"{n_places or len(calls)} functions {name}"
            self.assertIn(f"at each call of {how} in {path}", wait_until_it_says(profiler, "sampling"))
            target.stdin.write("\n")
            target.stdin.flush()
            self.assertEqual(target.stdout.readline(), "done\n")
            profiler.send_signal(signal.SIGINT)
            said = profiler.communicate(timeout=60)[1]
            self.assertEqual(profiler.returncode, 0, said)
            self.assertIn(" 0 lost", said)
            target.stdin.close()
            with open(out) as file:
                samples = [json.loads(line) for line in file]
        self.assertEqual({s["event"] for s in samples}, {f"uprobe:{path}:{name}"})
        self.assertEqual({s["outcome"] for s in samples}, {"complete"})
        self.assertEqual(collections.Counter(s["user_stack"][0]["symbol"] for s in samples), calls)

    def test_functions_that_the_kernel_refuses(self):
        path = program("refused")
        for name, found, what in (("begins_with_lock", "begins_with_lock", "this instruction, f0 ff 07 c3"),
                                  ("begins_with_breakpoint", "begins_with_breakpoint", "a breakpoint of the program, cc c3"),
                                  ("begins_with_halt", "begins_with_halt", "this instruction, f4 c3"),
                                  ("begins_*", "begins_with_lock", "this instruction, f0 ff 07 c3")):
            with self.subTest(name=name):
                result = dwarfprof("-e", f"uprobe:{path}:{name}", "-d", "1", "--", path)
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, rf"cannot set the uprobe at {found}, 0x[0-9a-f]+ of {re.escape(path)}: "
                                                rf"the kernel does not probe {what}")

    def test_functions_of_cplusplus(self):
        for name, calls in (("shapes::Circle::grow", GROW), ("shapes::Circle::grow(int)", {"shapes::Circle::grow(int)": N}),
                            ("shapes::Circle::*", CIRCLE), ("shapes::*", CPLUSPLUS), ("shapes::twice<*>", TWICE),
                            ("_ZN6shapes6Circle4growEi", {"shapes::Circle::grow(int)": N}),
                            ("shapes::Circle::operator[]", {"shapes::Circle::operator[](int) const": 4 * N})):
            with self.subTest(name=name):
                self.check(program("calls"), name, calls)

    def test_functions_of_rust(self):
        for mangling, shrink in (("legacy", "calls_rs::shapes::Circle::shrink"), ("v0", "<calls_rs::shapes::Circle>::shrink")):
            path = program(f"calls_rs_{mangling}")
            if not os.path.exists(path):
                self.skipTest("rustc is missing")
            for name, calls in (("calls_rs::shapes::draw", {"calls_rs::shapes::draw": 4 * N}), (shrink, {shrink: 3 * N}),
                                (CIRCLE_GROW, {CIRCLE_GROW: N}), ("*Shape>::grow", {CIRCLE_GROW: N, SQUARE_GROW: 2 * N}),
                                ("*calls_rs::shapes::*", {**RUST, shrink: 3 * N})):
                with self.subTest(mangling=mangling, name=name):
                    self.check(path, name, calls)

    def test_a_stripped_file_in_a_path_with_colons(self):
        with tempfile.TemporaryDirectory(prefix="a::b:") as directory:
            path = os.path.join(directory, "calls")
            subprocess.run(["strip", "-o", path, program("calls")], check=True)
            self.check(path, "shapes::Circle::grow", GROW)

    def check_replaced(self, **kwargs):
        """Whatever has the name once the file was opened, the probes are set in that file."""
        libc = ctypes.CDLL(None, use_errno=True)
        with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as own:
            ran, path, other = os.path.join(own, "calls"), os.path.join(directory, "calls"), os.path.join(own, "other")
            shutil.copy(program("calls"), ran)
            os.link(ran, path)  # who opens what a process has mapped opens the other one
            shutil.copy("/bin/true", other)
            watch = libc.inotify_init1(0)

            def begin():
                self.assertGreaterEqual(libc.inotify_add_watch(watch, directory.encode(), IN_OPEN), 0)

            def replace():
                wait_for_open(watch)
                os.rename(other, path)

            try:
                self.check(path, "shapes::Circle::grow", GROW, begin, replace, ran, **kwargs)
            finally:
                os.close(watch)

    def test_a_file_that_is_replaced(self):
        self.check_replaced()
        self.check_replaced(preexec_fn=lambda: refuse(errno.EINVAL, BPF, BPF_LINK_CREATE))

    def test_without_links_for_many_functions(self):
        self.check(program("calls"), "shapes::*", CPLUSPLUS,
                   preexec_fn=lambda: refuse(errno.EINVAL, BPF, BPF_LINK_CREATE))

    def check_refused(self, **kwargs):
        """The kernel would read the file, and wait: it is not asked to. Nor is it read before."""
        with tempfile.TemporaryDirectory() as directory, \
                SlowFiles(directory, program("valued_usdt"), ["probed"], **kwargs) as files:
            path, = files.paths()
            for options in (("-e", f"uprobe:{path}:main"), ("-e", f"uretprobe:{path}:main"), ("-e", f"usdt:{path}:valued:call"),
                            ("--probe", f"label:{path}:main(x=arg1)")):
                with self.subTest(options=options, **kwargs), \
                        start(*options, "--format", "folded", "--", "true", stderr=subprocess.PIPE, text=True) as profiler:
                    files.hang_for(profiler.pid)
                    said = profiler.communicate(timeout=60)[1]
                    self.assertEqual(profiler.returncode, 1, said)
                    self.assertRegex(said, f"cannot set probes in {re.escape(path)}: its file system (may|does) not answer")

    def test_a_file_of_a_server(self):
        self.check_refused()
        self.check_refused(hangs=(READ,))
        self.check_refused(hangs=(STATFS,))

    def test_files_that_cannot_be_searched(self):
        """What is wrong with the file, not which error its parser has had."""
        with open(program("calls"), "rb") as file:
            whole = file.read()
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "other")
            for bytes, said in ((whole[:18] + b"\xb7" + whole[19:], "it is for another kind of machine"), (b"text", "is not an ELF file")):
                with open(path, "wb") as file:
                    file.write(bytes)
                for options in (("-e", f"uprobe:{path}:main"), ("-e", f"usdt:{path}:a:b"), ("--probe", f"label:{path}:main(x=arg1)")):
                    with self.subTest(options=options, said=said):
                        result = dwarfprof(*options, "--", "true")
                        self.assertEqual(result.returncode, 1)
                        self.assertIn(said, result.stderr)

    def test_lines(self):
        """A line of the source, which is known by its text, is hit as often as its function is called."""
        path, source = program("calls"), os.path.join(os.path.dirname(__file__), "../../test-programs/calls.cc")
        with open(source) as file:
            lines = file.read().splitlines()
        number = 1 + next(i for i, line in enumerate(lines) if "sum = sum + by;" in line)
        self.check(path, f"calls.cc:{number}", {"shapes::Circle::grow(int)": N}, n_places=1)
        self.check(path, f"test-programs/calls.cc:{number}", {"shapes::Circle::grow(int)": N}, n_places=1)
        nothing = 1 + next(i for i, line in enumerate(lines) if line == "")
        for name, said in ((f"calls.cc:{nothing}", f"line {nothing} has no code, the next one is "), ("calls.cc:99999", "line 99999 has no code, nor has one behind"),
                           ("cals.cc:1", "no such source file"), (f"calls.cc:{number}(x=arg1)", "arg1, arg2, ... are where a function begins"),
                           (f"calls.cc:{number}(x=bye)", "cannot read bye in the function at 0x")):
            result = dwarfprof("-e", f"uprobe:{path}:{name}", "--", "true")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(said, result.stderr)
        result = dwarfprof("-e", f"uretprobe:{path}:calls.cc:{number}", "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("returns are of functions, not of a line", result.stderr)
        with tempfile.TemporaryDirectory() as directory:
            stripped = os.path.join(directory, "stripped")
            subprocess.run(["strip", "-o", stripped, path], check=True)
            result = dwarfprof("-e", f"uprobe:{stripped}:calls.cc:{number}", "--", "true")
            self.assertIn("it has no debug information of lines", result.stderr)

    def test_instructions(self):
        """Each of a function without branches is hit as often as it is called; other bytes of it are none."""
        path, function = program("calls"), "shapes::Circle::grow(int)"
        begins = readers.instructions_of(path, function)
        self.assertGreater(len(begins), 3)
        for at in begins[1:3]:
            self.check(path, f"{function}+{at}", {function: N}, n_places=1)
        within = next(at for at in range(1, begins[-1]) if at not in begins)
        after = next(at for at in begins if at > within)
        for name, said in ((f"+{within}", f"that is within an instruction; the next one begins at +{after}"),
                           ("+0x1000", "the function has only "), (f"+{begins[1]}(x=arg1)", "arg1, arg2, ... are where a function begins"),
                           ("+0(y=bye)", "cannot read bye in the function at 0x")):
            result = dwarfprof("-e", f"uprobe:{path}:{function}{name}", "--", "true")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(said, result.stderr)
        result = dwarfprof("-e", f"uretprobe:{path}:{function}+{begins[1]}", "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("returns are of functions, not of FUNCTION+N", result.stderr)
        result = dwarfprof("--probe", f"label:{path}:{function}+{begins[1]}(by=by)", "--", "true")
        self.assertIn("calls are of functions, not of FUNCTION+N", result.stderr)

    def test_functions_that_are_not_there(self):
        for name, said in (("shapes::Circel::grow", "did you mean shapes::Circle::grow?"),
                           ("Circle::grow", "did you mean shapes::Circle::grow?"),
                           ("shapes::twice", "did you mean shapes::twice<"),
                           ("shapes::Square::*", "has no function shapes::Square::*"),
                           ("shapes::Circle::grow(long)", "has no function shapes::Circle::grow(long)")):
            result = dwarfprof("-e", f"uprobe:{program('calls')}:{name}", "--", "true")
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(said, result.stderr)


# Calls a library's function as often as it is told, for buffers of one size.
CALLER = """
import ctypes, sys
library, n, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
crc32 = ctypes.CDLL(library).crc32
print("loaded", flush=True)
sys.stdin.readline()
for i in range(n): crc32(0, b"x" * size, size)
print("done", flush=True)
sys.stdin.readline()
"""
ZLIB = "/usr/lib/x86_64-linux-gnu/libz.so.1"
# As many threads as it is told, each of which calls crc32() and ends.
CALLING_THREADS = """
import ctypes, sys, threading
crc32 = ctypes.CDLL(sys.argv[1]).crc32
for i in range(int(sys.argv[2])):
    thread = threading.Thread(target=crc32, args=(0, b"abc", 3))
    thread.start()
    thread.join()
"""
# The same of processes, which are not in a call when they are forked.
CALLING_PROCESSES = """
import ctypes, os, sys
crc32 = ctypes.CDLL(sys.argv[1]).crc32
for i in range(int(sys.argv[2])):
    if os.fork() == 0:
        crc32(0, b"abc", 3)
        os._exit(0)
    os.wait()
"""
SPAN_THREADS, SPAN_PROCESSES = 4096, 1024  # DP_MAX_SPAN_THREADS and _PROCESSES in bpf/span_layout.h
SPARE_SPANS = 128  # LOCAL_FREE_TARGET in the kernel's kernel/bpf/bpf_lru_list.c


class Calling(unittest.TestCase):
    def call(self, library, n, size, prefix=(), **kwargs):
        process = subprocess.Popen([*prefix, PYTHON, "-c", CALLER, library, str(n), str(size)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, **kwargs)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        self.assertEqual(process.stdout.readline(), "loaded\n")
        return process

    def run_caller(self, caller):
        caller.stdin.write("\n")
        caller.stdin.flush()
        self.assertEqual(caller.stdout.readline(), "done\n")


class Many(Calling):
    LONG = ("test_millions_of_calls", "test_millions_of_timed_calls", "test_more_processes_than_are_kept")
    N = 3_000_000

    def test_millions_of_calls(self):
        """Each is a sample or counted as lost, however many there are."""
        n = self.N
        for probe in ("uprobe:lib:z:crc32(size=arg3:u32)", "uretprobe:lib:z:crc32(ret, time)"):
            with self.subTest(probe=probe), tempfile.TemporaryDirectory() as directory:
                caller, out = self.call(ZLIB, n, 10), os.path.join(directory, "out.folded")
                profiler = start("-p", str(caller.pid), "-e", probe, "--no-symbols", "--format", "folded", "-o", out,
                                 stderr=subprocess.PIPE, text=True)
                wait_until_it_says(profiler, "sampling")
                self.run_caller(caller)
                profiler.send_signal(signal.SIGINT)
                said = profiler.communicate(timeout=600)[1]
                self.assertEqual(profiler.returncode, 0, said)
                sampled, lost = map(int, re.search(r"(\d+) samples in .*, (\d+) lost", said).groups())
                print(f"{n} calls, {probe}: {sampled} samples, {lost} lost", flush=True)
                self.assertEqual(sampled + lost, n)
                self.assertGreater(sampled, 0)
                with open(out, encoding="utf-8") as file:
                    counts = collections.Counter({name: int(count) for name, count in (line.rsplit(" ", 1) for line in file)})
                self.assertEqual(counts["[lost samples]"], lost)
                self.assertEqual(sum(counts.values()), n)

    def test_millions_of_timed_calls(self):
        """Each is counted when it begins and when it returns, and each sample in one has its values."""
        with tempfile.TemporaryDirectory() as directory:
            caller, outs = self.call(ZLIB, self.N, 10), [os.path.join(directory, name) for name in ("out.json", "out.jsonl")]
            profiler = start("-p", str(caller.pid), "-F", "999", "--probe", f"span:{ZLIB}:crc32(size=arg3:u32)", "--no-symbols",
                             "-o", outs[0], "-o", outs[1], stderr=subprocess.PIPE, text=True)
            wait_until_it_says(profiler, "sampling")
            self.run_caller(caller)
            profiler.send_signal(signal.SIGINT)
            said = profiler.communicate(timeout=600)[1]
            self.assertEqual(profiler.returncode, 0, said)
            calls = json.loads(harness.read(outs[0]))["totals"]["calls"]
            labels = collections.Counter((s["labels"]["size"], s["outcome"]) for s in map(json.loads, harness.read(outs[1]).splitlines()))
        print(dict(labels), flush=True)
        self.assertEqual((calls["count"], sum(row["returned"] for row in calls["times"]), calls["not_begun"]), (self.N, self.N, 0))
        self.assertGreater(labels[10, "complete"], 100)
        self.assertLessEqual({size for size, _ in labels}, {10, "<unknown>"})

    def label_calls(self, n, script=CALLING_THREADS):
        """By as many threads, one after the other. Returns how many of them were forgotten; None: that is not said."""
        said = dwarfprof("--probe", f"label:{ZLIB}:crc32(size=arg3:u32)", "--no-symbols", "--format", "folded", "-o", os.devnull, "--",
                         PYTHON, "-c", script, ZLIB, str(n))
        self.assertEqual(said.returncode, 0, said.stderr)
        found = re.search(r"calls of (\d+) threads and (\d+) processes were forgotten", said.stderr)
        return found and tuple(map(int, found.groups()))

    def test_more_threads_than_are_kept(self):
        self.assertIsNone(self.label_calls(100))
        n_threads, n_processes = self.label_calls(SPAN_THREADS + 500)
        self.assertGreaterEqual(n_threads, 500)
        # The kernel makes room for more than one, on each CPU.
        self.assertLessEqual(n_threads, 500 + SPARE_SPANS * os.sysconf("SC_NPROCESSORS_CONF"))
        self.assertEqual(n_processes, 0)


    def test_more_processes_than_are_kept(self):
        n_threads, n_processes = self.label_calls(SPAN_PROCESSES + 500, CALLING_PROCESSES)
        self.assertGreaterEqual(n_processes, 500)
        self.assertLessEqual(n_processes, 500 + SPARE_SPANS * os.sysconf("SC_NPROCESSORS_CONF"))
        self.assertEqual(n_threads, 0)


class Libraries(Calling):
    """lib:NAME is whatever file of that name a process maps."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.first, self.second = (os.path.join(directory.name, place, "libcounted.so.1") for place in ("first", "second"))
        for path in (self.first, self.second):
            os.mkdir(os.path.dirname(path))
            shutil.copy(ZLIB, path)

    def call_second(self, n, size):
        """In a container, which has the other file at that path."""
        script = f'mount --bind {self.second} {self.first} && exec "$0" "$@"'
        return self.call(self.first, n, size, ("unshare", "-m", "sh", "-c", script))

    def check(self, callers, *options, how, calls, sizes=None):
        """calls: by process; sizes: likewise, values."""
        out = os.path.join(os.path.dirname(self.first), "out.jsonl")
        profiler = start("-p", ",".join(str(c.pid) for c in callers), *options, "-o", out, stderr=subprocess.PIPE, text=True)
        self.assertIn(how, wait_until_it_says(profiler, "sampling"))
        for caller in callers:
            self.run_caller(caller)
        profiler.send_signal(signal.SIGINT)
        said = profiler.communicate(timeout=60)[1]
        self.assertEqual(profiler.returncode, 0, said)
        with open(out) as file:
            samples = [json.loads(line) for line in file]
        self.assertEqual(collections.Counter(s["pid"] for s in samples), {c.pid: n for c, n in zip(callers, calls)})
        for caller, size in zip(callers, sizes or ()):
            self.assertEqual({s["labels"]["size"] for s in samples if s["pid"] == caller.pid}, {size})

    def test_of_one_process(self):
        for probe, how in (("uprobe:lib:counted:crc32(size=arg3:u32)", "each call of crc32 in"), ("uretprobe:lib:counted:crc32", "each return of crc32 in")):
            with self.subTest(probe=probe):
                self.check([self.call(self.first, 7, 100)], "-e", probe, how=f"{how} {self.first}", calls=[7])

    def change(self, change, *options):
        """What is said of a file that becomes another one while it is probed."""
        caller = self.call(self.first, 7, 100)
        profiler = start("-p", str(caller.pid), *options, "-o", os.devnull, "--format", "folded", stderr=subprocess.PIPE, text=True)
        wait_until_it_says(profiler, "sampling")
        change()
        self.run_caller(caller)
        profiler.send_signal(signal.SIGINT)
        return profiler.communicate(timeout=60)[1]

    def test_files_that_change(self):
        def write():
            with open(self.first, "r+b") as file:
                file.write(b"\x7f")
            os.utime(self.first)

        probes = ("-e", f"uprobe:{self.first}:crc32"), ("--probe", f"label:{self.first}:crc32(size=arg3:u32)"), ("-e", "uprobe:lib:counted:crc32")
        for options in probes:
            with self.subTest(options=options):
                self.assertNotIn(" after it was searched: ", self.change(lambda: None, *options))
                self.assertIn(f"{self.first} was written to after it was searched: hits may be missed", self.change(write, *options))
                shutil.copy(ZLIB, self.second)
                self.assertIn(f"{self.first} was replaced after it was searched: hits of programs that have started since are not seen",
                              self.change(lambda: os.rename(self.second, self.first), *options))

    def test_a_container_s_file(self):
        """At the same path, it has another one; by a path of its own, it is probed."""
        callers = [self.call_second(7, 200)]
        for options in ("-e", f"uprobe:{self.first}:crc32"), ("--probe", f"label:{self.first}:crc32(size=arg3:u32)"):
            result = dwarfprof("-p", str(callers[0].pid), *options, "-d", "100ms", "-o", os.devnull, "--format", "folded")
            self.assertIn(f"process {callers[0].pid} has another file at {self.first}, which is not probed", result.stderr)
            self.assertIn(f"/proc/{callers[0].pid}/root{self.first}", result.stderr)
        path = f"/proc/{callers[0].pid}/root{self.first}"
        self.check(callers, "-e", f"uprobe:{path}:crc32(size=arg3:u32)", how="each call of crc32 in", calls=[7], sizes=[200])

    def test_of_the_kernel_alone(self):
        """What processes map is not known then: the dynamic linker's file is taken."""
        caller = self.call(self.first, 7, 100)
        with unittest.mock.patch.dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(self.first)):
            result = dwarfprof("--kernel-only", "-p", str(caller.pid), "--probe", "label:lib:counted:crc32(size=arg3:u32)",
                               "-d", "0.1", "-o", "/dev/null", "--format", "folded")
        self.assertIn("dwarfprof: sampling ", result.stderr)
        caller.stdin.write("\n")
        caller.stdin.flush()
        self.assertEqual(caller.stdout.readline(), "done\n")

    def test_of_processes_with_different_files(self):
        callers = [self.call(self.first, 7, 100), self.call_second(11, 200), self.call(self.first, 13, 300)]
        self.check(callers, "-e", "uprobe:lib:counted:crc32(size=arg3:u32)", how="each call of crc32 in 2 files of lib:counted",
                   calls=[7, 11, 13], sizes=[100, 200, 300])

    def test_labels_of_calls(self):
        callers = [self.call(self.first, 7, 100), self.call_second(11, 200)]
        probe = ("--probe", "label:lib:counted:crc32(size=arg3:u32)")
        result = dwarfprof(*probe, "-p", ",".join(str(c.pid) for c in callers), "-d", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("processes map 2 different files of it: give one's path", result.stderr)
        for caller in callers:
            result = dwarfprof(*probe, "-p", str(caller.pid), "-d", "100ms", "--format", "folded")
            self.assertIn("dwarfprof: sampling python3", result.stderr)

    def test_of_the_dynamic_linker(self):
        out = os.path.join(os.path.dirname(self.first), "out.jsonl")
        for path in (self.first, self.second):
            environment = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(path)}
            result = dwarfprof("-e", "uprobe:lib:counted:crc32", "-o", out, "--", PYTHON, "-c", CALLER, "libcounted.so.1", "5", "10",
                               stdin=subprocess.DEVNULL, env=environment)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"each call of crc32 in {path}", result.stderr)
            with open(out) as file:
                self.assertEqual(len(file.readlines()), 5)
            result = dwarfprof("probes", "lib:counted", "crc32", env=environment)
            self.assertEqual(result.stdout.partition("(")[0].rstrip("\n"), "uprobe:lib:counted:crc32")

    def test_static_probes(self):
        script = "import ctypes; ctypes.CDLL('libstdc++.so.6'); print('loaded', flush=True); input()"
        with subprocess.Popen([PYTHON, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
            self.assertEqual(target.stdout.readline(), "loaded\n")
            result = dwarfprof("-p", str(target.pid), "-e", "usdt:lib:stdc++:libstdcxx:throw", "-d", "100ms", "--format", "folded")
            self.assertRegex(result.stderr, r"each hit of libstdcxx:throw in /\S*/libstdc\+\+\.so\.6")
            target.stdin.write("\n")

    def test_none(self):
        caller = self.call(self.first, 1, 1)
        for options in (("-e", "uprobe:lib:missing:crc32"), ("-e", "usdt:lib:missing:a:b"), ("--probe", "label:lib:missing:crc32(x=arg1)")):
            result = dwarfprof(*options, "-p", str(caller.pid), "-d", "1")
            self.assertEqual(result.returncode, 1)
            self.assertIn("no process that is sampled maps a library lib:missing (libmissing.so)", result.stderr)
            result = dwarfprof(*options, "--", "true")
            self.assertEqual(result.returncode, 1)
            self.assertIn("cannot read lib:missing: No such file or directory", result.stderr)
        result = dwarfprof("-e", "uprobe:lib:c", "--", "true")
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    harness.main()
