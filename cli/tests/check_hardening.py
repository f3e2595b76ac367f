#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the program, the library and its helper are built, as readelf tells.

usage: check_hardening.py DWARFPROF LIBDWARFPROF HELPER ARCHIVE
"""
import re
import subprocess
import sys
import unittest

import harness


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], check=True, capture_output=True, text=True).stdout


def count(path, what):
    code = subprocess.run(["objdump", "-dr", path], check=True, capture_output=True, text=True).stdout
    return len(re.findall(what, code))


class Hardening(unittest.TestCase):
    def test_all_relocations_are_done_at_the_start_and_then_read_only(self):
        for path in PATHS:
            self.assertRegex(readelf("-d", path), r"FLAGS.*\bNOW\b", path)
            self.assertIn("GNU_RELRO", readelf("-l", path), path)

    def test_addresses_are_random(self):
        for path in PATHS:
            self.assertRegex(readelf("-h", path), r"Type: +DYN ", path)

    def test_no_memory_is_both_written_and_executed(self):
        for path in PATHS:
            segments = readelf("-l", path)
            self.assertRegex(segments, r"GNU_STACK .* RW +0x", path)
            self.assertNotRegex(segments, r"LOAD .* RWE ", path)

    def test_overflows_are_noticed(self):
        for path in PATHS:
            self.assertGreater(count(path, r"call .*<__stack_chk_fail@plt>"), 300, path)

    def test_functions_of_libc_know_the_size_of_buffers(self):
        """In the project's own code, a part of it: what is linked statically has such calls, too."""
        self.assertGreater(count(ARCHIVE, r"R_X86_64_\w+\s+__\w+_chk\b"), 50)

    def test_indirect_jumps_have_landing_pads(self):
        """As far as the files that the compiler brings have them."""
        for path in PATHS:
            self.assertGreater(count(path, r"endbr64"), 300, path)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    PATHS, ARCHIVE = sys.argv[1:4], sys.argv[4]
    harness.run_tests(sys.argv[5:])
