#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Another user's programs with more of something than any real one has, while root profiles the machine.

usage: check_excess.py DWARFPROF PROGRAM-DIR
"""
import array
import collections
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import chance
import harness
from ending import BOUND

NOBODY = "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"
# Maps copies of a file as code, as another user.
MAPS = """
import ctypes, os, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
with open(sys.argv[1], "rb") as file:
    content = file.read()
for i in range(int(sys.argv[3])):
    fd = os.open(f"{sys.argv[2]}/{i}", os.O_RDWR | os.O_CREAT, 0o755)
    os.write(fd, content)
    assert libc.mmap(None, ctypes.c_size_t(4096), 5, 2, fd, ctypes.c_long(0)) != 2**64 - 1  # r-x, private
    os.close(fd)
print("mapped", flush=True)
sys.stdin.read()
"""
N_FILES, FILES_MAX = 1200, 1024
# Maps a page of a file again and again, and then other pages over these without end.
PAGES = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
fd, n = os.open(sys.argv[1], os.O_RDONLY), int(sys.argv[2])
start = libc.mmap(None, 4096 * n, 0, 0x22, -1, 0)  # private, anonymous
for i in range(n):
    assert libc.mmap(start + 4096 * i, 4096, 5, 0x12, fd, 0) == start + 4096 * i  # r-x, private, fixed
print("mapped", flush=True)
i = 0
while True:
    libc.mmap(start + 4096 * (i * 7919 % n), 4096, 5, 0x12, fd, 4096 * (i // n % 2))
    i += 1
"""
DURATION = 5
N_PAGES = 60000  # of 65,530 that vm.max_map_count allows
N_SYMBOLS = 10_000_000
SYMTAB = 2  # SHT_SYMTAB


def with_more_symbols(program, path):
    """Copies a program; its symbol table, which is at the end then, has that many functions more."""
    with open(program, "rb") as file:
        content = bytearray(file.read())
    headers, = struct.unpack_from("<Q", content, 0x28)
    size, n = struct.unpack_from("<HH", content, 0x3a)
    for at in range(headers, headers + n * size, size):
        if struct.unpack_from("<I", content, at + 4)[0] == SYMTAB:
            offset, length = struct.unpack_from("<QQ", content, at + 24)
            struct.pack_into("<QQ", content, at + 24, len(content), length + 24 * N_SYMBOLS)
    old = array.array("Q", content[offset:offset + length])
    names = [i for i in range(0, len(old), 3) if old[i] >> 32 & 15 == 2]  # STT_FUNC
    more = array.array("Q", [old[names[-1]], 0, 1]) * N_SYMBOLS
    more[1::3] = array.array("Q", range(1 << 40, (1 << 40) + N_SYMBOLS))
    with open(path, "wb") as file:
        for part in content, old, more:
            file.write(part)
    os.chmod(path, 0o755)


class Excess(unittest.TestCase):
    LONG = "test_files", "test_symbols"

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        os.chmod(directory.name, 0o755)
        self.directory = directory.name

    def assert_nearly_all(self, outcomes, said):
        """Nine of ten are complete; up to one in fifty is not, by chance."""
        self.assertGreaterEqual(outcomes.total(), chance.enough(0.02, 0.1), (outcomes, said))
        self.assertGreater(outcomes["complete"], 0.9 * outcomes.total(), (outcomes, said))

    def test_symbols(self):
        path = os.path.join(self.directory, "symbols")
        with_more_symbols(harness.program("fibonacci"), path)
        with harness.Target(*NOBODY, path, "3600"), harness.busy() as busy:
            profiler = harness.start("-F", "499", "-o", os.path.join(self.directory, "out.folded"), "-a", "--no-cache",
                                     stderr=subprocess.PIPE, text=True)
            self.addCleanup(profiler.kill)
            said = harness.wait_until_it_says(profiler, "sampling")
            harness.wait_until_it_runs(busy, 0.3)
            profiler.terminate()
            with profiler.stderr:
                said += profiler.stderr.read()
            status, usage = os.wait4(profiler.pid, 0)[1:]
            profiler.returncode = status
        found = harness.read(os.path.join(self.directory, "out.folded"))
        self.assertEqual(status, 0, said)
        self.assertRegex(found, "(?m)^symbols;")
        self.assertRegex(found, "(?m)^fibonacci;.*;fibonacci")
        # The table itself, which is mapped, and what was read of it.
        self.assertLess(usage.ru_maxrss << 10, 24 * N_SYMBOLS + (450 << 20))

    def test_mappings(self):
        """A user whose programs have as many as can be, all of which come and go."""
        user = subprocess.Popen([*NOBODY, sys.executable, "-c", PAGES, harness.program("libplain_a.so"), str(N_PAGES)],
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(user.stdout.close)
        self.addCleanup(user.wait)
        self.addCleanup(user.kill)
        self.assertEqual(user.stdout.readline(), "mapped\n")
        path = os.path.join(self.directory, "out.jsonl")
        with harness.busy() as busy:
            # Names of what else this machine runs would be looked up afterwards.
            for args in ("-p", f"{user.pid},{busy}"), ("-a", "--no-symbols"):
                with self.subTest(args):
                    said, usage = self.run_in_time("-F", "1999", "-o", path, "--no-cache", *args)
                    with open(path) as file:
                        samples = [s for s in map(json.loads, file) if s["pid"] == int(busy)]
                    outcomes = collections.Counter(s["outcome"] for s in samples)
                    cpu = usage.ru_utime + usage.ru_stime
                    print(f"{cpu:.1f} s of CPU, {usage.ru_maxrss >> 10} MiB, {dict(outcomes)}", flush=True)
                    self.assert_nearly_all(outcomes, said)
                    # It was 175 s, 85 s of CPU and 5.5 GB when each change cost as much as all mappings.
                    self.assertLess(cpu, 2 * DURATION)
                    self.assertLess(usage.ru_maxrss << 10, 1 << 30)

    def run_in_time(self, *args):
        """It is over so soon after its time, of what the machine leaves; what it has said and used."""
        profiler = harness.start("-d", str(DURATION), *args, stderr=subprocess.PIPE, text=True)
        self.addCleanup(profiler.kill)
        began = time.monotonic()
        said = harness.wait_until_it_says(profiler, "sampling")
        sampling = time.monotonic()
        with harness.going_first(profiler.pid), harness.Stillness(harness.BEFORE_FIRST) as stillness:
            with profiler.stderr:
                said += profiler.stderr.read()
            status, usage = os.wait4(profiler.pid, 0)[1:]
            profiler.returncode, took = status, time.monotonic() - sampling
        print(f"{N_PAGES} mappings: sampling after {sampling - began:.1f} s, over after {took:.2f} s", flush=True)
        self.assertEqual(status, 0, said)
        self.assertLess(took - stillness.total, DURATION + BOUND, said)
        return said, usage

    def test_a_name(self):
        """One that takes too long to demangle: the report says so, and -v."""
        path, source = (os.path.join(self.directory, name) for name in ("long", "long.c"))
        with open(source, "w") as file:
            file.write(f'void f(void) __asm__("_Z{"name" * 2000}");\nvoid f(void) {{ for (volatile int i = 0;; i++) continue; }}\n'
                       "int main(void) { f(); }\n")
        subprocess.run(["gcc", "-O1", "-o", path, source], check=True)
        said = f"{path}: its names are incomplete: beyond 4 KiB (a name that is demangled), longer ones remain mangled"
        with harness.Target(*NOBODY, path) as pid:
            for form in "text", "json":
                result, = harness.run_at_once([harness.DWARFPROF, "-v", "-F", "499", "-p", pid, "--no-cache", "--format", form],
                                              of=[pid], seconds=0.1)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(said, result.stdout)
                self.assertEqual(result.stderr.count(said), 1)

    def test_files(self):
        """The usual limit, and a user who maps more files than that; as many more would be of other users."""
        os.chmod(self.directory, 0o777)
        user = subprocess.Popen([sys.executable, "-c", MAPS, harness.program("libplain_a.so"), self.directory,
                                 str(N_FILES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(user.communicate)
        self.assertEqual(user.stdout.readline(), "mapped\n")
        limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_MAX, FILES_MAX))}
        with harness.busy() as busy:
            profiler = harness.start("-F", "499", "-o", os.path.join(self.directory, "out.jsonl"), "-a", "--no-cache",
                                     stderr=subprocess.PIPE, text=True, **limits)
            self.addCleanup(profiler.kill)
            said = harness.wait_until_it_says(profiler, "sampling")
            harness.wait_until_it_runs(busy, 0.6)
            others = [shutil.copy(harness.program("fibonacci"), os.path.join(self.directory, name)) for name in "ab"]
            os.chown(others[1], 65532, 65532)
            as_another = "setpriv", "--reuid=65532", "--regid=65532", "--clear-groups"
            with harness.Target(others[0], "3600") as new, harness.Target(*as_another, others[1], "3600") as users:
                harness.wait_until_it_runs(new, 0.6)
                harness.wait_until_it_runs(users, 0.6)
            profiler.terminate()
            said += profiler.communicate(timeout=180)[1]
        self.assertEqual(profiler.returncode, 0, said)
        self.assertIn("more files are mapped as code than may be open", said)
        # Those of root, also one that comes later, have tables; and so has another user's own.
        with open(os.path.join(self.directory, "out.jsonl")) as file:
            samples = [s for s in map(json.loads, file) if s.get("user_stack")]
        for pid in busy, new, users:
            outcomes = collections.Counter(s["outcome"] for s in samples if s["pid"] == int(pid))
            self.assert_nearly_all(outcomes, said)


if __name__ == "__main__":
    harness.main()
