#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labels that a program in Rust sets with Polar Signals' library itself, of the version in ci/custom-labels: what the
program has logged. Needs cargo, which fetches the library, and libclang.

usage: check_custom_library.py DWARFPROF DIRECTORY
"""
import os
import subprocess

import harness
from check_custom import Logged

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")
TARGET = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dwarfprof-tests/custom-labels")


class Library(Logged):
    @classmethod
    def setUpClass(cls):
        subprocess.run(["cargo", "build", "--quiet", "--locked", "--release", "--target-dir", TARGET], check=True,
                       cwd=os.path.join(ROOT, "ci/custom-labels"))
        cls.program = os.path.join(TARGET, "release/custom")

    def test_tables(self):
        self.assertIn("custom_labels_v1, at offset ", harness.dwarfprof("tables", self.program).stdout)

    def test_cpu_samples(self):
        self.check(self.program, 10, 20000, "-F", "4999")

    def test_off_cpu_samples(self):
        self.check(self.program, 3, 500, "--off-cpu")


if __name__ == "__main__":
    harness.main()
