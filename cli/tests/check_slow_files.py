#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A large library in a file system whose reads take long holds up nobody's samples.

usage: check_slow_files.py DWARFPROF PROGRAM-DIR

Its table takes seconds to read. Until it is there, all samples of another process are to be
taken, and from then on those of the library's code are to be complete: what a complete stack looks
like follows from the program.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import cpu_time, main, start, wait_for
from slow_files import SlowFile

READ_SECONDS = 0.05
# As the page cache reads ahead, READ_SECONDS for 128 KiB: 11 MB of .eh_frame take four seconds.
N_FUNCTIONS, CODE_SIZE = 400_000, 100_000_000

LIBRARY = f"""
	.text
	.rept {N_FUNCTIONS}
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	.skip {CODE_SIZE // N_FUNCTIONS}, 0x90
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


class SlowFiles(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        library = self.make_library()
        mounted = os.path.join(self.directory, "mounted")
        os.mkdir(mounted)
        self.library = self.enterContext(SlowFile(mounted, library, READ_SECONDS))

    def make_library(self):
        source, library = (os.path.join(self.directory, name) for name in ("large.S", "liblarge.so"))
        with open(source, "w") as file:
            file.write(LIBRARY)
        subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,--build-id", "-o", library, source], check=True)
        return library

    def start_program(self, *args):
        process = subprocess.Popen([sys.executable, "-c", *args], stdin=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        return process

    def test_a_library_that_takes_long_to_read(self):
        busy = self.start_program("while True: pass")
        slow = self.start_program(PROGRAM, self.library)
        path = os.path.join(self.directory, "samples.jsonl")
        said = os.path.join(self.directory, "said")
        with open(said, "w") as file:
            profiler = start("-v", "--no-cache", "-F", "4999", "-p", f"{busy.pid},{slow.pid}", "-o", path, stderr=file)
        self.addCleanup(profiler.kill)
        wait_for(lambda: "sampling " in harness.read(said))
        slow.stdin.write(b"\n")
        slow.stdin.flush()
        table = re.compile(re.escape(self.library) + r": \d+ rows, .* (\d+)\.\d ms")
        wait_for(lambda: table.search(harness.read(said)), 120)
        # Both work on, with all tables there.
        for process in (slow, busy):
            enough = cpu_time(process.pid) + 1
            wait_for(lambda process=process, enough=enough: cpu_time(process.pid) > enough)
        profiler.send_signal(signal.SIGINT)
        self.assertEqual(profiler.wait(60), 0, harness.read(said))

        self.assertGreater(int(table.search(harness.read(said))[1]), 2000, "what this is about does not happen")
        with open(path) as file:
            *samples, totals = map(json.loads, file)
        self.assertEqual(totals["lost"], 0, harness.read(said))
        of_busy = [s for s in samples if s["pid"] == busy.pid]
        self.assertFalse([s for s in of_busy if s["outcome"] not in ("complete", "no_user_stack")])
        self.check_work([s for s in samples if s["pid"] == slow.pid and s["user_stack"] and
                         s["user_stack"][0]["symbol"] == "work"])

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


if __name__ == "__main__":
    main()
