# SPDX-License-Identifier: Apache-2.0
"""For tests of when a run ends."""
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

import harness
from harness import start, wait_for

# Seconds: what is promised, and as much again. The profiler goes before all others of this machine, and when nothing runs does
# not count.
BOUND = 1 + 1


class Ending(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def said(self):
        return harness.read(self.path("said"))

    def start(self, *args, rate=("-F", "99"), **kwargs):
        with open(self.path("said"), "w") as said:
            profiler = start("-v", "--no-cache", *rate, *args, stderr=said, **kwargs)
        self.addCleanup(profiler.wait)
        self.addCleanup(profiler.kill)
        return profiler

    def is_said(self, words):
        wait_for(lambda: words in self.said(), 60)

    @contextlib.contextmanager
    def in_time(self, profiler, seconds=BOUND, codes=(0,)):
        """It ends so soon after what is done meanwhile."""
        with harness.going_first(profiler.pid), harness.Stillness(harness.BEFORE_FIRST) as stillness:
            began = time.monotonic()
            yield
            try:
                profiler.wait(60)
            except subprocess.TimeoutExpired:
                self.fail(self.said())
            took = time.monotonic() - began
        print(f"{self.id()}: it ended after {took:.2f} s", flush=True)
        self.assertIn(profiler.returncode, codes, self.said())
        self.assertLess(took - stillness.total, seconds, self.said())

    def interrupt_first(self, profiler):
        """Another signal may follow. What comes within 0.1 s counts as one."""
        pending = re.compile(r"^(?:SigPnd|ShdPnd):\s*(\w+)", re.M)
        with harness.going_first(profiler.pid):  # also after it is not pending any more
            profiler.send_signal(signal.SIGINT)
            wait_for(lambda: not any(int(mask, 16) for mask in pending.findall(harness.read(f"/proc/{profiler.pid}/status"))))
            time.sleep(0.15)

    def interrupt(self, profiler, **kwargs):
        with self.in_time(profiler, **kwargs):
            profiler.send_signal(signal.SIGINT)
