# SPDX-License-Identifier: Apache-2.0
"""For tests of probes that are added while a run samples."""
import contextlib
import os
import signal
import subprocess
import tempfile
import time
import unittest

import harness

# Seconds, of a program that is ended when there are enough samples
LONGEST_S = 600


class Times:
    """When a probe was certainly on, off, or just changing."""
    def __init__(self):
        self.changes = [(0, "off")]

    @contextlib.contextmanager
    def change(self, to):
        self.changes.append((time.monotonic_ns(), "changing"))
        yield
        self.changes.append((time.monotonic_ns(), to))

    def at(self, moment):
        return [state for begin, state in self.changes if begin <= moment][-1]


class Added(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        self.socket, self.out, self.log = (os.path.join(self.directory, name) for name in ("probes", "out", "log"))
        self.times = Times()

    @contextlib.contextmanager
    def recording_of(self, *command, options=(), begins_with="", why=None):
        """Of a program, from before the time at which it begins to call functions until its end."""
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            if begins_with:
                self.assertEqual(process.stdout.readline(), begins_with)
            profiler = harness.start("-p", str(process.pid), "--probe-socket", self.socket, "--no-symbols", "--format", "jsonl",
                                     "-o", self.out, *options, stderr=subprocess.PIPE, text=True)
            harness.wait_until_it_says(profiler, "sampling")
            process.stdin.write("\n")
            process.stdin.flush()
            yield process
            self.assertEqual(process.stdout.readline(), "done\n", why)
            profiler.send_signal(signal.SIGINT)
            self.said = profiler.communicate(timeout=180)[1]
            self.assertEqual(profiler.returncode, 0, self.said)
            process.stdin.close()

    def wait_for_samples(self, n=1000):
        harness.wait_for_samples(self.out, n)

    @staticmethod
    def end(process):
        """Ends the program before its time."""
        process.stdin.write("\n")
        process.stdin.flush()

    def ask(self, *words):
        return subprocess.run([harness.DWARFPROF, "probe", "-s", self.socket, *words], capture_output=True, text=True, timeout=180)

    def do(self, *words):
        result = self.ask(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip()
