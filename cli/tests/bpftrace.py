# SPDX-License-Identifier: Apache-2.0
"""Shared by tests that compare with what bpftrace sees of the same program at the same time."""
import bisect
import collections
import re
import subprocess
import tempfile

from harness import read, wait_for

# With a tracefs that disappears with it.
PRIVATE = ("unshare", "--mount", "--propagation", "slave", "sh", "-c",
           'mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; exec "$@"', "sh")
# It neither cuts texts before their 200th byte, nor loses what is written in a burst.
SETTINGS = "BPFTRACE_STRLEN=200", "BPFTRACE_PERF_RB_PAGES=4096"


class Bpftrace:
    """Runs a program of it during the `with` block; `lines` is then what it has printed."""

    def __init__(self, script, *options):
        self.script, self.options = script + '\ninterval:ms:50 { if (@ready == 0) { printf("ready\\n"); @ready = 1; } }', options

    def __enter__(self):
        self.log = tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen([*PRIVATE, "env", *SETTINGS, "bpftrace", *self.options, "-B", "line", "-e", self.script],
                                        stdout=self.log, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            wait_for(lambda: "ready\n" in read(self.log.name) or self.process.poll() is not None)
        except BaseException:
            self.process.kill()
            raise
        assert self.process.poll() is None, self.process.communicate()[1]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        said = self.process.communicate(timeout=180)[1]
        with open(self.log.name, errors="backslashreplace") as file:
            written = file.read()
        self.log.close()
        assert not (lost := re.search(r"Lost \d+ events", written + said)), lost[0]
        self.lines = [line for line in written.splitlines()[1:] if line not in ("", "ready", "@ready: 1")]


class Intervals:
    """The times between two kinds of lines of a thread, each with a text."""

    def __init__(self, lines, begin, end):
        self.begins, self.ends, self.texts = (collections.defaultdict(list) for _ in range(3))
        for line in lines:
            kind, pid, when, text = line.split(" ", 3)
            if kind == begin:
                self.begins[int(pid)].append(int(when))
                self.texts[int(pid)].append(text)
            elif kind == end and len(self.ends[int(pid)]) < len(self.begins[int(pid)]):
                self.ends[int(pid)] += [int(when)] * (len(self.begins[int(pid)]) - len(self.ends[int(pid)]))

    def at(self, pid, when):
        i = bisect.bisect(self.begins[pid], when) - 1
        return self.texts[pid][i] if 0 <= i < len(self.ends[pid]) and when < self.ends[pid][i] else None
