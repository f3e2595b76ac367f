# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the agent: running it, and a program that counts its calls itself."""
import glob
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import dwarfprof, start, wait_for, wait_until_it_says

# Calls a function of the C library as often as it is told, and says when.
CALLER = ("import os, sys, time\n"
          "for line in sys.stdin:\n"
          "    for i in range(int(line)):\n"
          "        print(time.time_ns(), flush=True)\n"
          "        os.getppid()\n"
          "        time.sleep(0.0005)\n"
          "    print('done', flush=True)\n")

# In front of it: publishes which service it is, as OpenTelemetry's OTEP 4719 says.
PUBLISHER = r"""
import ctypes, mmap, os, struct, time
def field(number, content):
    return bytes([number << 3 | 2, len(content)]) + content
def text(key, value):
    return field(1, field(1, key) + field(2, field(1, value)))
payload = field(1, text(b"service.name", b"shop") + text(b"service.instance.id", b"shop-7")
                + text(b"k8s.pod.name", b"made-up"))
fd = os.memfd_create("OTEL_CTX")
os.ftruncate(fd, 4096)
page = mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
at = ctypes.addressof(ctypes.c_char.from_buffer(page))
page[32:32 + len(payload)] = payload
page[8:32] = struct.pack("<IIQQ", 2, len(payload), time.monotonic_ns(), at + 32)
page[:8] = b"OTEL_CTX"
"""


def find_library(pid):
    with open(f"/proc/{pid}/maps") as maps:
        return re.search(r"/\S*/libc\.so\.6$", maps.read(), re.M).group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def nice_of(path):
    """Of a thread, or of a process's first one: field 19 of proc_pid_stat(5). 0: it has ended."""
    fields = harness.read(f"{path}/stat").rpartition(")")[2].split()
    return int(fields[16]) if fields else 0


def helpers(pid):
    """The priorities of all processes below one, by the kind of helper."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        for child in harness.read(f"/proc/{pid}/task/{tid}/children").split():
            found[" ".join(harness.read(f"/proc/{child}/cmdline").split("\0")[1:2])] = nice_of(f"/proc/{child}")
            found |= helpers(child)
    return found


class Agent(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.store = os.path.join(directory.name, "store")
        self.config = os.path.join(directory.name, "agent.conf")
        self.out = os.path.join(directory.name, "out")

    def caller(self, before=""):
        process = subprocess.Popen([sys.executable, "-c", before + CALLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        harness.wait_for(lambda: "libc.so.6" in harness.read(f"/proc/{process.pid}/maps"))
        return process

    def call(self, caller, n):
        """Returns when each call was made."""
        caller.stdin.write(f"{n}\n")
        caller.stdin.flush()
        return [int(line) for line in iter(caller.stdout.readline, "done\n")]

    def of_calls(self, caller):
        return "-p", str(caller.pid), "-e", f"uprobe:{find_library(caller.pid)}:getppid"

    def agent(self, *args, said=("sampling",)):
        process = start("agent", *args, prefix=getattr(self, "prefix", ()), stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        lines = "".join(wait_until_it_says(process, words) for words in said)
        # Whichever of its threads is the first.
        if "--pull" in args and "answering requests" not in lines:
            wait_until_it_says(process, "answering requests")
        return process

    def end(self, process):
        process.terminate()
        said = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, said)
        return said

    def end_in_time(self, process):
        said = harness.end_in_time(process)
        self.assertEqual(process.returncode, 0, said)
        return said

    def figures(self, address):
        """What /metrics says, by name and labels."""
        text = subprocess.run(["curl", "-sS", f"http://{address}/metrics"], capture_output=True, text=True, check=True,
                              timeout=60).stdout
        return {name: float(value) for name, value in re.findall(r"^dwarfprof_(\w+(?:\{.*\})?) (\S+)$", text, re.M)}

    def wait_until_written(self, address, n_outputs=1):
        """Waits until the intervals are over that have what was sampled so far: one may be about to be written, and one is open."""
        n = "intervals_written_total"
        enough = self.figures(address)[n] + 3 * n_outputs
        wait_for(lambda: self.figures(address)[n] >= enough)

    def end_and_deliver(self, process, spool, *args):
        """Ends one whose backends are these. It ends in time, and leaves for the next one what takes longer to deliver."""
        with harness.going_first(process.pid):  # names are looked up until a few seconds have passed
            said = self.end(process)
        waits = lambda: glob.glob(os.path.join(spool, "*/[0-9]*"))
        if waits():
            process = self.agent("--spool", spool, *args)
            wait_for(lambda: not waits())
            self.end(process)
        return said

    def recordings(self):
        return sorted(glob.glob(os.path.join(self.store, "*")))

    def samples(self, path, *args):
        out = self.out + ".jsonl"
        result = dwarfprof("convert", path, "-o", out, *args)
        self.assertIn(result.returncode, (0, 5), result.stderr)
        with open(out) as file:
            return [json.loads(line) for line in file]
