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
import unittest

import harness

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
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        os.chmod(directory.name, 0o755)
        self.directory = directory.name

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
            harness.wait_until_it_runs(busy, 0.5)
            with harness.Target(shutil.copy(harness.program("fibonacci"), os.path.join(self.directory, "new")),
                                "3600") as new:
                harness.wait_until_it_runs(new, 0.5)
            profiler.terminate()
            said += profiler.communicate(timeout=180)[1]
        self.assertEqual(profiler.returncode, 0, said)
        self.assertIn("more files are mapped as code than may be open", said)
        # Those of root, also one that comes later, have tables.
        with open(os.path.join(self.directory, "out.jsonl")) as file:
            samples = [s for s in map(json.loads, file) if s.get("user_stack")]
        for pid in busy, new:
            outcomes = collections.Counter(s["outcome"] for s in samples if s["pid"] == int(pid))
            self.assertGreater(outcomes["complete"], 0.9 * sum(outcomes.values()), (outcomes, said))


if __name__ == "__main__":
    harness.main()
