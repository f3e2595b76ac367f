#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of a file system that takes long to answer, or does not, hold up nobody's samples, nor the end.

usage: check_slow_files.py DWARFPROF PROGRAM-DIR

The table of a large library takes seconds to read. Until it is there, all samples of another process
are to be taken, and from then on those of the library's code are to be complete: what a complete stack
looks like follows from the program. A program that has ended by then leaves its functions' names.

Files that others can map, and the profiler cannot open or read, have no tables. Those of others are made
all the same, and a run ends when it is over, even if who waits for such a file cannot be ended. It may say
so a little later. So it does if such a file is the memory that a stack is in.
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from harness import cpu_time, main, start, wait_for
from slow_files import FLUSH, GETATTR, OPEN, READ, STATFS, SlowFiles as FileSystem

SENTENCE = "an address lies in a file that could not be opened or read"
READ_SECONDS = 0.05
# As the page cache reads ahead, READ_SECONDS for 128 KiB: 11 MB of .eh_frame take four seconds.
N_FUNCTIONS, CODE_SIZE = 400_000, 100_000_000
# For six seconds: less is assembled in less time.
FEWER_FUNCTIONS, MORE_SECONDS = N_FUNCTIONS // 4, 6 * READ_SECONDS

LIBRARY = """
	.text
	.rept {n_functions}
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	.skip {size}, 0x90
	pop %rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.endr
	.globl work
	.type work, @function
work:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
1:	mov $1000000, %eax
2:	dec %eax
	jnz 2b
	dec %rdi
	jnz 1b
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size work, . - work
	.section .note.GNU-stack,"",@progbits
"""

# Loads the library when it is told to, and works in it until its input ends.
PROGRAM = """
import ctypes, select, sys
sys.stdin.readline()
library = ctypes.CDLL(sys.argv[1])
while not select.select([sys.stdin], [], [], 0)[0]:
    library.work(20)
"""


# Needs less CPU time in it than its table takes, and ends.
SHORT = """
import ctypes, sys, time
def inner(library):
    while time.process_time() < 0.5:
        library.work(20)
def outer(library):
    inner(library)
sys.stdin.readline()
outer(ctypes.CDLL(sys.argv[1]))
"""


# It has hundreds of samples, and leaves the CPUs to others most of the time.
BUSY = """
import time
while True:
    sum(range(100000))
    time.sleep(0.01)
"""


# Maps files as code, once told to, without looking at them, and starts a program.
MAPS = """
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
sys.stdin.readline()
for path in sys.argv[2:]:
    fd = os.open(path, os.O_RDONLY)
    assert libc.mmap(None, ctypes.c_size_t(4096), 5, 2, fd, ctypes.c_long(0)) != 2**64 - 1  # r-x, private
subprocess.run([sys.argv[1], "300"], preexec_fn=lambda: libc.prctl(1, 9))  # it ends with this one
"""


# Maps a file, and takes its last page for its stack, without a look at it.
STACK = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noreturn)) void spin(void *stack);

__asm__(".text\n.type spin, @function\nspin: .cfi_startproc\nmov %rdi, %rsp\n1: pause\njmp 1b\n.cfi_endproc\n"
	".size spin, . - spin");

int main(int argc, char **argv)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open(argv[1], O_RDONLY), 0);

	if (page == MAP_FAILED)
		return 1;
	puts("ready");
	fflush(stdout);
	spin(page + 256);
}
"""


def open_files(pid):
    """The files that a process has open; one may be closed meanwhile."""
    paths = []
    for link in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            paths.append(os.readlink(link))
        except OSError:
            pass
    return paths


class Files(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def mount(self, *args, **kwargs):
        mounted = os.path.join(self.directory, "mounted")
        os.mkdir(mounted)
        return self.enterContext(FileSystem(mounted, *args, **kwargs))

    def start_program(self, *args):
        process = subprocess.Popen([sys.executable, "-c", *args], stdin=subprocess.PIPE)
        os.setpriority(os.PRIO_PROCESS, process.pid, -5)  # as a harness.Target
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        return process


    def end(self, profiler, *pids):
        """Ends a profiler in time when it has sampled for a while, and enough of these processes."""
        until = time.monotonic() + self.DURATION
        for pid in pids:
            harness.wait_until_it_runs(pid, 0.3)
        time.sleep(max(0, until - time.monotonic()))
        with harness.stopped(pids):
            harness.end_in_time(profiler, self.PATIENCE)
        self.assertEqual(profiler.returncode, 0)


class SlowFiles(Files):
    LONG = "test_a_library_that_takes_long_to_read",

    def mount_library(self, n_functions, seconds):
        source, library = (os.path.join(self.directory, name) for name in ("large.S", "liblarge.so"))
        with open(source, "w") as file:
            file.write(LIBRARY.format(n_functions=n_functions, size=CODE_SIZE // N_FUNCTIONS))
        subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,--build-id", "-o", library, source], check=True)
        self.library, = self.mount(library, ["liblarge.so"], seconds).paths()

    def start_profiler(self, waiting, busy):
        """Once it samples, the program that waits for that goes on."""
        self.path, self.said = (os.path.join(self.directory, name) for name in ("samples.jsonl", "said"))
        with open(self.said, "w") as file:
            profiler = start("-v", "--no-cache", "-F", "999", "-p", f"{busy.pid},{waiting.pid}", "-o", self.path, stderr=file)
        self.addCleanup(profiler.kill)
        wait_for(lambda: "sampling " in harness.read(self.said))
        waiting.stdin.write(b"\n")
        waiting.stdin.flush()
        return profiler

    def table(self):
        """How many ms its table took; None: it is not there."""
        found = re.search(re.escape(self.library) + r": \d+ rows, .* (\d+)\.\d ms", harness.read(self.said))
        return found and int(found[1])

    def end_profiler(self, profiler, *pids):
        # It writes much, for which these would leave no CPU.
        with harness.stopped(pids):
            profiler.send_signal(signal.SIGINT)
            self.assertEqual(profiler.wait(60), 0, harness.read(self.said))
        with open(self.path) as file:
            *samples, totals = map(json.loads, file)
        self.assertEqual(totals["lost"], 0, harness.read(self.said))
        return samples

    def test_a_library_that_takes_long_to_read(self):
        self.mount_library(N_FUNCTIONS, READ_SECONDS)
        busy = self.start_program("while True: pass")
        slow = self.start_program(PROGRAM, self.library)
        profiler = self.start_profiler(slow, busy)
        wait_for(self.table, 120)
        # Both work on, with all tables there.
        for process in (slow, busy):
            enough = cpu_time(process.pid) + 1
            wait_for(lambda process=process, enough=enough: cpu_time(process.pid) > enough)
        samples = self.end_profiler(profiler, slow.pid, busy.pid)
        self.assertGreater(self.table(), 2000, "what this is about does not happen")
        of_busy = [s for s in samples if s["pid"] == busy.pid]
        self.assertFalse([s for s in of_busy if s["outcome"] not in ("complete", "no_user_stack")])
        self.check_work([s for s in samples if s["pid"] == slow.pid and s["user_stack"] and
                         s["user_stack"][0]["symbol"] == "work"])

    def test_functions_of_a_program_that_ends_before(self):
        """Their names are in its memory."""
        self.mount_library(FEWER_FUNCTIONS, MORE_SECONDS)
        busy = self.start_program(BUSY)
        short = self.start_program(SHORT, self.library)
        profiler = self.start_profiler(short, busy)
        self.assertEqual(short.wait(60), 0)
        self.assertFalse(self.table(), "what this is about does not happen")
        wait_for(self.table, 120)
        samples = [s for s in self.end_profiler(profiler, busy.pid) if s["pid"] == short.pid and s["late"] and
                   s["outcome"] == "complete" and s["user_stack"][0]["symbol"] == "work"]
        named = [s for s in samples if [f["symbol"] for f in s["user_stack"] if f["symbol"] in ("inner", "outer")] ==
                 ["inner", "outer"]]
        print(f"{len(samples)} samples, {len(named)} with names", flush=True)
        self.assertGreater(len(samples), 100)
        self.assertEqual(len(named), len(samples), samples[0])

    def check_work(self, samples):
        """From when the kernel has the table on, all is complete; what was walked before has the same root."""
        early = [s for s in samples if s["late"]]
        last = max((s["time_ns"] for s in early), default=0)
        walked = [s for s in samples if s["time_ns"] > last]
        print(f"{len(early)} samples with their stacks, {len(walked)} with the table", flush=True)
        self.assertGreater(len(early), 100)
        self.assertGreater(len(walked), 100)
        self.assertEqual({s["outcome"] for s in walked}, {"complete"})
        self.assertIn("complete", {s["outcome"] for s in early})
        for s in samples:
            if s["outcome"] == "complete":
                self.assertEqual(s["user_stack"][-1]["symbol"], "_start")


class HangingFiles(Files):
    DURATION = 3
    # What is held is waited for, and what runs, and then the machine is busy.
    PATIENCE = 2 + 1 + 4
    LONG = ("test_one_that_is_not_read", "test_many_that_are_not_opened", "test_endless_status",
            "test_endless_status_of_the_file_system", "test_endless_read", "test_endless_close")

    def profile(self, n_files, hangs, is_deaf):
        """That many files are mapped that hang for the profiler. Then, a program is started that nobody knows."""
        files = self.mount(harness.program("fibonacci"), [f"{i}.so" for i in range(n_files)], hangs=hangs,
                           is_deaf=is_deaf)
        unknown = shutil.copy(harness.program("fibonacci"), os.path.join(self.directory, "unknown"))
        busy = self.start_program(BUSY)
        maps = self.start_program(MAPS, unknown, *files.paths())
        path, said = (os.path.join(self.directory, name) for name in ("samples.jsonl", "said"))
        with open(said, "w") as file:
            profiler = start("-v", "--no-cache", "-F", "999", "-p", f"{busy.pid},{maps.pid}",
                             "-o", path, stderr=file)
        if not is_deaf:  # then, it may not end before the file system does
            self.addCleanup(profiler.wait)
        self.addCleanup(profiler.kill)
        files.hang_for(profiler.pid)
        wait_for(lambda: "sampling " in harness.read(said))
        maps.stdin.write(b"\n")
        maps.stdin.flush()
        wait_for(lambda: harness.children(maps.pid))
        self.end(profiler, busy.pid, *harness.children(maps.pid))
        with open(path) as file:
            *samples, totals = map(json.loads, file)
        self.assertEqual(totals["lost"], 0, harness.read(said))
        return busy.pid, samples

    def check(self, n_files, hangs, is_deaf=False):
        busy, samples = self.profile(n_files, hangs, is_deaf)
        for of in ([s for s in samples if s["pid"] == busy],
                   [s for s in samples if s["comm"] == "unknown"]):
            self.assertGreater(len(of), 100)
            self.assertEqual({s["outcome"] for s in of} - {"no_user_stack"}, {"complete"},
                             collections.Counter(s["outcome"] for s in of))

    def test_one_that_is_not_read(self):
        self.check(1, (READ,))

    def test_many_that_are_not_read(self):
        self.check(10, (READ,))

    def test_many_that_are_not_opened(self):
        self.check(10, (OPEN,))

    # Whoever waits for these cannot be ended.

    def test_endless_open(self):
        self.check(3, (OPEN,), is_deaf=True)

    def test_endless_status(self):
        self.check(3, (GETATTR,), is_deaf=True)

    def test_endless_status_of_the_file_system(self):
        self.check(3, (STATFS,), is_deaf=True)

    def test_endless_read(self):
        self.check(3, (READ,), is_deaf=True)

    def test_endless_close(self):
        self.check(3, (FLUSH,), is_deaf=True)


class Unread(Files):
    """Stacks that end in such a file say so: it may well have unwind information."""

    def test_outcome(self):
        files = self.mount(harness.program("fibonacci"), ["program"], hangs=(OPEN,))
        program = subprocess.Popen([*files.paths(), "3600"])
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        harness.wait_until_it_runs(program.pid, 0.01)  # what it needs of the file is in memory
        path = os.path.join(self.directory, "samples.jsonl")
        profiler = start("--no-cache", "-F", "99", "-p", str(program.pid), "-o", path, stderr=subprocess.PIPE, text=True)
        self.addCleanup(profiler.wait)
        self.addCleanup(profiler.kill)
        files.hang_for(profiler.pid)
        wait_for(lambda: '"' + SENTENCE + '"' in harness.read(path), 60)
        profiler.send_signal(signal.SIGINT)
        said = profiler.communicate(timeout=60)[1]
        self.assertEqual(profiler.returncode, 0, said)
        self.assertRegex(said, f"file_not_readable: {SENTENCE}")


class HangingDump(HangingFiles):
    """A file about generated code: who maps it runs on, in memory that is in no file."""
    LONG = "test_one_that_is_not_read", "test_endless_status", "test_endless_read", "test_endless_close"
    PROGRAM = """
import ctypes, mmap, os, sys, time
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b9ffffff00" "ffc9" "75fc" "c3"))  # a loop
run = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
sys.stdin.readline()
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
fd = os.open(os.path.join(sys.argv[1], f"jit-{os.getpid()}.dump"), os.O_RDONLY)
assert libc.mmap(None, ctypes.c_size_t(4096), 5, 2, fd, ctypes.c_long(0)) != 2**64 - 1
while True:
    run()
    time.sleep(0.01)
"""

    def profile(self, n_files, hangs, is_deaf):
        compiler = self.start_program(self.PROGRAM, os.path.join(self.directory, "mounted"))
        files = self.mount(harness.program("fibonacci"), [f"jit-{compiler.pid}.dump"], hangs=hangs, is_deaf=is_deaf)
        busy = self.start_program(BUSY)
        path, said = (os.path.join(self.directory, name) for name in ("samples.jsonl", "said"))
        with open(said, "w") as file:
            profiler = start("-v", "--no-cache", "-F", "999", "-p", f"{busy.pid},{compiler.pid}", "-o", path, stderr=file)
        self.addCleanup(profiler.kill)  # it may not end before the file system does
        files.hang_for(profiler.pid)
        wait_for(lambda: "sampling " in harness.read(said))
        compiler.stdin.write(b"\n")
        compiler.stdin.flush()
        self.end(profiler, busy.pid, compiler.pid)
        with open(path) as file:
            *samples, totals = map(json.loads, file)
        self.assertEqual(totals["lost"], 0, harness.read(said))
        self.assertGreater(len([s for s in samples if s["pid"] == compiler.pid]), 100)
        return busy.pid, samples

    def check(self, n_files, hangs, is_deaf=False):
        busy, samples = self.profile(n_files, hangs, is_deaf)
        of = [s for s in samples if s["pid"] == busy]
        self.assertGreater(len(of), 100)
        self.assertEqual({s["outcome"] for s in of} - {"no_user_stack"}, {"complete"})

    test_many_that_are_not_read = test_many_that_are_not_opened = test_endless_status_of_the_file_system = None


class LockedMappings(Files):
    """Another user's process whose mappings are locked for ever, so that nobody sees which files these are.

    The kernel tries a page fault that has failed again, with the lock held this time (filemap_fault(), mm/filemap.c).
    Who wants to change the mappings waits for that, and whoever comes later for this one. Before Linux 6.17, who
    reads the list of mappings does, too.
    """
    DURATION = 3
    PATIENCE = HangingFiles.PATIENCE
    LOCKED = "smaps"
    N_ERRORS, N_OPENED = 2, 1
    # No other test runs programs as this user: a profiler of the machine gives up all of a user with such lists (FETCHERS_PER_USER).
    PROGRAM = """
import ctypes, mmap, os, sys, threading, time
os.setgroups([]), os.setgid(65532), os.setuid(65532)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.strnlen.argtypes = libc.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
fd = os.open(sys.argv[1], os.O_RDONLY)
page = libc.mmap(None, ctypes.c_size_t(4096), 5, 2, fd, ctypes.c_long(0))
other = libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0))
sys.stdin.readline()
threading.Thread(target=libc.strnlen, args=(page, 1)).start()
time.sleep(0.5)
libc.munmap(other, 4096)
"""

    def are_locked(self, pid):
        """Reading what needs the lock takes long."""
        reader = subprocess.Popen(["cat", f"/proc/{pid}/{self.LOCKED}"], stdout=subprocess.DEVNULL)
        try:
            return reader.wait(0.3) is None
        except subprocess.TimeoutExpired:
            return True
        finally:
            reader.kill()
            reader.wait()

    def start_locked(self, n=1):
        os.chmod(self.directory, 0o755)
        files = self.mount(harness.program("fibonacci"), ["file"], hangs=(READ,), n_errors=self.N_ERRORS)
        path, = files.paths()
        programs = [self.start_program(self.PROGRAM, path) for _ in range(n)]
        # Later, opening it would wait, too.
        for program in programs:
            wait_for(lambda program=program: open_files(program.pid).count(path) == self.N_OPENED)
        files.hang_for(programs[0].pid)
        for program in programs:
            program.stdin.write(b"\n")
            program.stdin.flush()
            wait_for(lambda program=program: self.are_locked(program.pid))
        # All wait for what the first one reads.
        self.addCleanup(lambda: [program.kill() for program in programs])
        return programs

    def profile(self, locked, busy, *targets):
        """The run is over in time, and the other process is profiled as ever. Returns what was said."""
        path, said = (os.path.join(self.directory, name) for name in ("samples.jsonl", "said"))
        began = time.monotonic()
        with open(said, "w") as file:
            profiler = start("-v", "--no-cache", "-F", "499", "-d", str(self.DURATION), *targets, "-o", path, stderr=file)
        self.addCleanup(profiler.kill)
        self.assertEqual(profiler.wait(30), 0, harness.read(said))
        took = time.monotonic() - began
        print(f"it ended after {took:.1f} s", flush=True)
        self.assertTrue(self.are_locked(locked.pid))
        self.assertLess(took, self.DURATION + self.PATIENCE)
        with open(path) as file:
            *samples, totals = map(json.loads, file)
        self.assertEqual(totals["lost"], 0)
        of = collections.Counter(s["outcome"] for s in samples if s["pid"] == busy.pid)
        self.assertGreater(of["complete"], 100)
        self.assertEqual(set(of) - {"no_user_stack"}, {"complete"})
        return harness.read(said)

    def test_run_is_over_in_time(self):
        locked, = self.start_locked()
        busy = self.start_program(BUSY)
        self.profile(locked, busy, "-p", f"{busy.pid},{locked.pid}")


class LockedLists(LockedMappings):
    """The same, and on every kernel nobody can read the list of mappings.

    A mapping is replaced, for which the lock is held, and so is that mapping's own, by one of a file without a page
    cache (FOPEN_DIRECT_IO). What the file has there is removed first (fuse_file_mmap(), fs/fuse/file.c), which waits
    for a page that somebody is reading.
    """
    LONG = "test_run_of_the_machine_is_over_in_time",
    LOCKED = "maps"
    N_ERRORS, N_OPENED = 0, 2
    PROGRAM = """
import ctypes, os, sys, threading
os.setgroups([]), os.setgid(65532), os.setuid(65532)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
fd = os.open(sys.argv[1], os.O_RDONLY)
direct = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
other = libc.mmap(None, 4096, 5, 0x22, -1, 0)  # r-x, private, anonymous
sys.stdin.readline()
threading.Thread(target=os.read, args=(fd, 1)).start()
while True:
    libc.mmap(other, 4096, 5, 0x12, direct, 0)  # private, fixed
"""

    def test_run_is_over_in_time(self):
        locked, = self.start_locked()
        busy = self.start_program(BUSY)
        said = self.profile(locked, busy, "-p", f"{busy.pid},{locked.pid}")
        self.assertIn(f"mappings of process {locked.pid} cannot be read", said)

    def test_run_of_the_machine_is_over_in_time(self):
        locked, = self.start_locked()
        busy = self.start_program(BUSY)
        said = self.profile(locked, busy, "-a")
        self.assertIn(f"cannot read the mappings of process {locked.pid}: ", said)

    def test_those_of_one_user(self):
        """Who reads them waits for two; the others are refused."""
        locked = self.start_locked(5)
        busy = self.start_program(BUSY)
        said = self.profile(locked[0], busy, "-a")
        for process in locked:
            self.assertIn(f"cannot read the mappings of process {process.pid}: ", said)

    def test_other_commands_end(self):
        locked, = self.start_locked()
        for command in ["dump", "-p", str(locked.pid)], ["doctor"]:
            process = start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(process.kill)
            self.assertGreaterEqual(process.wait(30), 0, command)
        self.assertTrue(self.are_locked(locked.pid))


class HangingMemory(Files):
    """A stack in a page that nobody ever provides. The profiler has it read, so that the next walk finds it."""
    DURATION = 3
    # Whoever reads it is given up after 0.1 s, twice.
    PATIENCE = 2

    def start_stack(self, path):
        source, program = (os.path.join(self.directory, name) for name in ("stack.c", "stack"))
        with open(source, "w") as file:
            file.write(STACK)
        subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
        process = subprocess.Popen([program, path], stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.stdout.close()
        harness.wait_until_it_runs(process.pid)  # on that stack
        return process

    def test_run_is_over_in_time(self):
        file_system = self.mount(harness.program("fibonacci"), ["stack"], hangs=(READ,), is_deaf=True)
        stack = self.start_stack(*file_system.paths())
        busy = self.start_program(BUSY)
        path, said = (os.path.join(self.directory, name) for name in ("samples.jsonl", "said"))
        with open(said, "w") as file:
            profiler = start("-v", "--no-cache", "-F", "999", "-p", f"{busy.pid},{stack.pid}", "-o", path, stderr=file)
        self.addCleanup(profiler.kill)  # it may not end before the file system does
        file_system.hang_for(profiler.pid)
        wait_for(lambda: "sampling " in harness.read(said))
        self.end(profiler, busy.pid, stack.pid)
        self.assertIn(f"memory of process {stack.pid} cannot be read", harness.read(said))
        with open(path) as file:
            *samples, totals = map(json.loads, file)
        self.assertEqual(totals["lost"], 0, harness.read(said))
        outcomes = {pid: collections.Counter(s["outcome"] for s in samples if s["pid"] == pid)
                    for pid in (busy.pid, stack.pid)}
        print(outcomes, flush=True)
        self.assertEqual(set(outcomes[busy.pid]) - {"no_user_stack"}, {"complete"})
        self.assertGreater(outcomes[busy.pid]["complete"], 100)
        self.assertGreater(outcomes[stack.pid]["read_fault"], 100)

    def test_threads_are_shown_in_time(self):
        file_system = self.mount(harness.program("fibonacci"), ["stack"], hangs=(READ,), is_deaf=True)
        stack = self.start_stack(*file_system.paths())
        said = os.path.join(self.directory, "said")
        stack.send_signal(signal.SIGSTOP)
        with open(said, "w") as file:
            profiler = start("dump", "-p", str(stack.pid), stdout=subprocess.PIPE, stderr=file)
        self.addCleanup(profiler.stdout.close)
        self.addCleanup(profiler.kill)
        file_system.hang_for(profiler.pid)
        shown, _ = profiler.communicate(timeout=30)
        self.assertEqual(profiler.returncode, 0, harness.read(said))
        self.assertIn(b"read_fault", shown)
        self.assertIn(f"memory of process {stack.pid} cannot be read", harness.read(said))


if __name__ == "__main__":
    main()
