#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Another user's programs with more of something than any real one has, while root profiles the machine.

usage: check_excess.py DWARFPROF PROGRAM-DIR
"""
import array
import os
import struct
import subprocess
import tempfile
import unittest

import harness

NOBODY = "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"
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


if __name__ == "__main__":
    harness.main()
