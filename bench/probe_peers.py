#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes with values beside those of perf and bpftrace, as tables. Needs root; `ci/setup bench` has the others.

usage: bench/probe_peers.py [--write] BUILD [ROUNDS]

Per hit: CPU time of a call above that of one without a probe, with no value, one, four, and a text of 32 bytes, and
which part of the hits was told. Then, of 10,000 calls whose values the program logs, how many hits were missed, and
in how many a value differs. --write: into docs/BENCHMARKS.md.

perf probe writes to uprobe_events, in tracefs. Without either, as `ls /sys/kernel/tracing/uprobe_events` shows once
tracefs is mounted, perf is left out.
"""
import argparse
import ctypes
import json
import os
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "ci"))

import figures  # noqa: E402

PAGE, COMMAND = os.path.join(ROOT, "docs/BENCHMARKS.md"), "bench/probe_peers.py"
TRACEFS = "/sys/kernel/tracing"
UPROBE_EVENTS = os.path.join(TRACEFS, "uprobe_events")
CLONE_NEWNS, MS_REC, MS_SLAVE = 0x20000, 0x4000, 0x80000  # linux/sched.h, linux/mount.h
EVENT = "dp_peer"
CALLS = 10000
UNREAD = "<unread>", "(fault)", ""
# bpftrace 0.17 has no longer texts.
SETTINGS = {"BPFTRACE_STRLEN": "200", "BPFTRACE_PERF_RB_PAGES": "4096"}
COMPARED = 190


class Tool:
    """One that tells of the hits of a function in a process. `values`: a key of `forms`; None: it cannot do without."""
    name, stack = "", "none"
    forms = {}
    ready = ""

    def __init__(self, path, function, values, directory):
        self.path, self.function, self.values, self.directory = path, function, values, directory
        self.out, self.log = os.path.join(directory, "out"), os.path.join(directory, "log")

    def command(self, pid):
        raise NotImplementedError

    def prepare(self):
        """Before the first command."""

    def done(self):
        """After the last one."""

    def told(self):
        """The number of hits that are in its output."""
        raise NotImplementedError

    def hits(self):
        """(size, path, status, id) of each, as it has written them."""
        raise NotImplementedError

    def start(self, pid):
        self.prepare()
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(self.command(pid), stdout=log, stderr=log, env={**os.environ, **SETTINGS})
        end = time.monotonic() + 60
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit(f"{self.name}: {self.said()}")
            time.sleep(0.05)

    def is_ready(self):
        return self.ready in self.said()

    def said(self):
        with open(self.log, errors="replace") as file:
            return file.read()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.done()


class Dwarfprof(Tool):
    name, stack = "`-e uprobe:`", "exact"
    forms = {0: "", 1: "(x=arg1:u64)", 4: "(a=arg1:u64, b=arg2:u64, c=arg1:u32, d=arg2:u16)", "text": "(text=arg3:str)",
             "all": "(size=arg1:u64, path=arg2:str, status=arg4->16:s32, id=arg4->0:u64)"}
    ready = "sampling"

    def command(self, pid):
        return [DWARFPROF, "-p", str(pid), *self.options(f"{self.path}:{self.function}{self.forms[self.values]}"), "--no-symbols",
                *(["--format", "jsonl", "-o", self.out] if self.values == "all" else ["--format", "folded", "-o", "/dev/null"])]

    def options(self, probe):
        return ["-e", f"uprobe:{probe}"]

    def told(self):
        return int(re.search(r"(\d+) samples in", self.said())[1])

    def hits(self):
        with open(self.out) as file:
            for labels in (json.loads(line)["labels"] for line in file):
                yield int(labels["size"]), labels["path"], labels["status"], labels["id"]


class Label(Dwarfprof):
    name, stack = "`--probe label:`", "of samples"
    forms = {**Dwarfprof.forms, 0: None}

    def options(self, probe):
        return ["-F", "1", "--probe", f"label:{probe}"]

    def told(self):
        return None


class Bpftrace(Tool):
    name = "bpftrace, `printf()`"
    forms = {0: 'printf("hit\\n");', 1: 'printf("hit %lu\\n", arg0);',
             4: 'printf("hit %lu %lu %u %u\\n", arg0, arg1, (uint32)arg0, (uint16)arg1);', "text": 'printf("hit %s\\n", str(arg2));',
             "all": 'printf("hit %lu %d %lu %s\\n", arg0, *(int32*)(arg3 + 16), *(uint64*)arg3, str(arg1));'}
    ready = "ready\n"

    def command(self, pid):
        script = (f'uprobe:{self.path}:{self.function} {{ {self.forms[self.values]} }}\n'
                  'interval:ms:50 { if (@ready == 0) { printf("ready\\n"); @ready = 1; } }')
        return ["bpftrace", "-p", str(pid), "-B", "line", "-e", script]

    def told(self):
        with open(self.log, "rb") as file:
            return sum(line.startswith(b"hit") for line in file)

    def hits(self):
        for size, status, number, path in re.findall("^hit ([0-9]+) (-?[0-9]+) ([0-9]+) (.*)$", self.said(), re.M):
            yield int(size), path, int(status), int(number)


class Stacks(Bpftrace):
    name, stack = "bpftrace, `ustack()`", "frame pointers"
    forms = {key: form.replace("hit", "hit %s", 1).replace('\\n"', '\\n", ustack(perf)', 1) for key, form in Bpftrace.forms.items()}


class Map(Bpftrace):
    name = "bpftrace, kept in a map"
    forms = {0: None, 1: "@[tid] = arg0;", 4: "@[tid] = (arg0, arg1, (uint32)arg0, (uint16)arg1);", "text": "@[tid] = str(arg2);"}

    def told(self):
        return None


class Perf(Tool):
    name = "`perf probe`, `record`"
    forms = {0: "", 1: "a", 4: "a b c=a:u32 d=b:u16", "text": "text:string",
             "all": "size=size:u64 path=path:string status=request->status:s32 id=request->id:u64"}

    def prepare(self):
        event = f"{EVENT}:hit={self.function} {self.forms[self.values]}"
        result = subprocess.run(["perf", "probe", "-q", "-x", self.path, "--add", event], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"perf probe: {result.stderr}")
        self.control, self.answer = (os.path.join(self.directory, name) for name in ("control", "answer"))
        for path in self.control, self.answer:
            os.mkfifo(path)
        self.answers, self.is_asked = os.open(self.answer, os.O_RDWR), False

    def done(self):
        os.close(self.answers)
        subprocess.run(["perf", "probe", "-q", "--del", f"{EVENT}:*"], capture_output=True)

    def command(self, pid):
        return ["perf", "record", "-D", "-1", "--control", f"fifo:{self.control},{self.answer}", "-e", f"{EVENT}:hit", "-m", "16M",
                "-o", self.out, "-p", str(pid), "--synth=no", *self.options()]

    def options(self):
        return []

    def is_ready(self):
        """It answers once it has done what it is asked for."""
        if not self.is_asked:
            with open(self.control, "w") as file:
                file.write("enable\n")
            self.is_asked = True
        ready, _, _ = select.select([self.answers], [], [], 0)
        return bool(ready)

    def told(self):
        text = subprocess.run(["perf", "report", "--stats", "-i", self.out], capture_output=True, text=True).stdout
        return int(re.search(r"SAMPLE events: +(\d+)", text)[1])

    def hits(self):
        text = subprocess.run(["perf", "script", "-i", self.out, "-F", "trace"], capture_output=True, text=True, errors="replace").stdout
        for size, path, status, number in re.findall(r"size=(\d+) path=(\(fault\)|\"[^\n]*\") status=(-?\d+) id=(\d+)", text):
            yield int(size), path.strip('"'), int(status), int(number)


class PerfStacks(Perf):
    name, stack = "`perf probe`, `record -g`", "frame pointers"

    def options(self):
        return ["-g"]


TOOLS = Dwarfprof, Label, Perf, PerfStacks, Bpftrace, Stacks, Map


def start(*command):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def begin(process):
    process.stdin.write("\n")
    process.stdin.flush()


def cost(tool, values):
    """CPU nanoseconds per call, and the part of the hits that the tool has told of, or None."""
    with tempfile.TemporaryDirectory() as directory, start(PROBED, "0", str(ROUNDS)) as probed:
        peer = tool(PROBED, "probed", values, directory) if tool else None
        if peer:
            peer.start(probed.pid)
        begin(probed)
        rounds = [tuple(map(int, probed.stdout.readline().split())) for _ in range(ROUNDS)]
        if peer:
            peer.stop()
        told = peer.told() if peer else None
    return statistics.median(cpu / n for n, cpu in rounds), told if told is None else told / sum(n for n, _ in rounds)


def are_same(wanted, hit):
    """Of texts, what all of the tools can have."""
    if (wanted["size"], wanted["status"], wanted["id"]) != (hit[0], hit[2], hit[3]):
        return False
    return hit[1] in UNREAD if wanted["path"] in UNREAD else hit[1][:COMPARED] == wanted["path"][:COMPARED]


def compare(tool):
    """Calls of which the tool says nothing, and those of which it says something else than the program."""
    with tempfile.TemporaryDirectory() as directory, start(VALUED, str(CALLS), os.path.join(directory, "logged")) as valued:
        peer = tool(VALUED, "take", "all", directory)
        peer.start(valued.pid)
        begin(valued)
        assert valued.stdout.readline() == "done\n"
        peer.stop()
        with open(os.path.join(directory, "logged")) as file:
            logged = {call["id"]: call for call in map(json.loads, file)}
        logged = {number: {**call, "size": int(call["size"])} for number, call in logged.items()}
        hits = list(peer.hits())
        valued.stdin.close()
    found = {hit[3] for hit in hits}
    return len(logged.keys() - found), sum(hit[3] not in logged or not are_same(logged[hit[3]], hit) for hit in hits)


def mount_tracefs():
    """For this process and what it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) == 0 and libc.mount(b"none", b"/", None, MS_REC | MS_SLAVE, None) == 0:
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], stderr=subprocess.DEVNULL)


def missing(kind):
    """What it needs and is not there, or ""."""
    program = "perf" if kind is Perf else "bpftrace"
    if not shutil.which(program):
        return program
    return "uprobe_events" if kind is Perf and not os.access(UPROBE_EVENTS, os.W_OK) else ""


def tell(lines, text):
    print(text, flush=True)
    lines.append(text)


def measure():
    """Lines of a page."""
    lines, tools = [], TOOLS
    for kind in Perf, Bpftrace:
        if missing(kind):
            tell(lines, f"Left out: {kind.name}, as there is no {missing(kind)}.\n")
            tools = [tool for tool in tools if not issubclass(tool, kind)]
    bare = cost(None, 0)[0]
    tell(lines, "| ns per hit | stack | no value | 1 | 4 | 32 bytes | told, 1 value |\n|---|---|--:|--:|--:|--:|--:|")
    for tool in tools:
        costs = {values: cost(tool, values) if tool.forms[values] is not None else None for values in (0, 1, 4, "text")}
        shown = (f"{c[0] - bare:,.0f}" if c else "" for c in costs.values())
        told = costs[1][1]
        tell(lines, f"| {tool.name} | {tool.stack} | {' | '.join(shown)} | {'' if told is None else f'{100 * told:.1f} %'} |")
    tell(lines, f"\n| of {CALLS:,} calls | missed | with a different value |\n|---|--:|--:|")
    for tool in tools:
        if tool in (Dwarfprof, Perf, Bpftrace):
            missed, different = compare(tool)
            tell(lines, f"| {tool.name} | {missed:,} | {different:,} |")
    return lines


def write(lines):
    """At the end of the page, the first time."""
    with open(PAGE) as file:
        is_there = figures.marks(COMMAND)[0] in file.read()
    if not is_there:
        with open(PAGE, "a") as file:
            file.write("\n".join(("", "## Probes", "", f"    sudo {COMMAND} --write build", "", *figures.marks(COMMAND), "")))
    text = "\n".join(lines)
    figures.write(PAGE, COMMAND, f"\n{text}\n\n{figures.origin()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("build")
    parser.add_argument("rounds", type=int, nargs="?", default=10)
    args = parser.parse_args()
    DWARFPROF, PROBED, VALUED = (os.path.abspath(os.path.join(args.build, name)) for name in
                                 ("cli/dwarfprof", "bench/probed", "test-programs/valued"))
    ROUNDS = args.rounds
    mount_tracefs()
    result = measure()
    if args.write:
        write(result)
