# SPDX-License-Identifier: Apache-2.0
"""Profilers as whole programs: how each is started and stopped, and how its result is read."""
import glob
import json
import os
import re
import signal
import subprocess
import time

import workloads

# Functions among the outermost frames of a stack that reaches its thread's start. In stripped
# programs _start has no name, but its callee is known to be in libc.
ROOT = re.compile(r"^(_start|__libc_start_main|__libc_start_call_main|__clone3?|clone3?|start_thread)\b")
ROOT_FRAMES = 3

# The first line of a sample in the output of `perf script`.
BEGIN = re.compile(r"^\S.*\s\d+/\d+\s+([0-9.]+):")

# The prefix of kernel addresses, which come first in perf's stacks.
KERNEL = "ffffffff"

# Seconds that a profiler may take to begin, and to write its result.
PATIENCE = 60

NS_PER_S = 1_000_000_000

# BPF_PROG_TYPE_PERF_EVENT (linux/bpf.h), as in fdinfo.
PERF_EVENT = "7"


def cpu_ns(pid):
    """CPU time of all threads of a process, by the scheduler's statistics."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path) as file:
                total += int(file.read().split()[0])
        except OSError:
            pass  # the thread has ended
    return total


def family(pid):
    """A process and all its present descendants."""
    pids = [pid]
    for parent in pids:
        for path in glob.glob(f"/proc/{parent}/task/*/children"):
            try:
                with open(path) as file:
                    pids += map(int, file.read().split())
            except OSError:
                pass
    return pids


def program_ns(pid):
    """Time of the BPF programs that a process has loaded, and runs of those for perf events, if the kernel counts them."""
    programs = {}
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            fields = dict(re.findall(r"^(\w+):\s*(\d+)$", read(path), re.MULTILINE))
        except OSError:
            continue
        if "run_cnt" in fields:
            programs[fields["prog_id"]] = fields
    return (sum(int(p["run_time_ns"]) for p in programs.values()),
            sum(int(p["run_cnt"]) for p in programs.values() if p["prog_type"] == PERF_EVENT))


def is_rooted(names):
    """Does the stack, as names leaf first, reach a root?"""
    return any(ROOT.match(name) for name in names[-ROOT_FRAMES:])


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def start_logged(command, log):
    """Messages go to a file: an unread pipe would block the profiler."""
    with open(log, "w") as file:
        return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)


def wait_for_sampling(process, log):
    """Waits until a dwarfprof says that it samples."""
    while " sampling " not in read(log):
        if process.poll() is not None:
            raise SystemExit(read(log)[-2000:])
        time.sleep(0.01)


class Profiler:
    """One run. result() is a list of (time in ns or None, names, proven) of its user stacks."""

    called = None  # runs of its BPF program, if there are more than samples
    after = None  # a command that makes the result, if the profiler does not

    def __init__(self, directory, hz):
        self.output = os.path.join(directory, "profile")
        self.text = os.path.join(directory, "profile.txt")
        self.hz = str(hz)
        self.log = os.path.join(directory, "log")
        for path in self.output, self.text:
            if os.path.exists(path):
                os.unlink(path)

    def start(self, pid):
        self.root, self.pids = pid, family(pid)
        self.started = time.monotonic_ns()
        with workloads.on_cpu(workloads.PROFILER_CPU):
            self.process = start_logged(self.command(), self.log)
        self.wait_until_ready()

    def wait_until_ready(self):
        time.sleep(1)

    def stop(self):
        """Nanoseconds from the end of sampling to the result; None if it took too long."""
        self.pids += family(self.root)
        stopped = time.monotonic_ns()
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(PATIENCE)
            self.recorded_bytes = os.path.getsize(self.output) if os.path.exists(self.output) else 0
            if self.after:
                with open(self.text, "w") as file, workloads.on_cpu(workloads.PROFILER_CPU):
                    subprocess.run(self.after, stdout=file, stderr=subprocess.DEVNULL, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
        return time.monotonic_ns() - stopped

    def ring_bytes(self):
        """Bytes sent by the kernel."""
        return self.recorded_bytes


class Dwarfprof(Profiler):
    def __init__(self, build, mode, directory, hz):
        super().__init__(directory, hz)
        self.build, self.mode = build, mode
        self.after = [f"{build}/cli/dwarfprof", "convert", self.output, "-o", "-", "--format", "jsonl"]

    def command(self):
        return [f"{self.build}/cli/dwarfprof", "-v", "-p", str(self.root), "-F", self.hz, "--unwind", self.mode,
                "--no-cache", "-C", str(workloads.TARGET_CPU), "-o", self.output, "--format", "recording"]

    def wait_until_ready(self):
        wait_for_sampling(self.process, self.log)

    def ring_bytes(self):
        return int(re.search(r"read from the kernel: (\d+) bytes", read(self.log))[1])

    def result(self):
        with open(self.text) as file:
            for line in file:
                sample = json.loads(line)
                if sample["outcome"] == "no_user_stack":
                    continue
                names = [f["symbol"] or "" for f in sample["user_stack"] if not f["inlined"]]
                yield sample["time_ns"], names, sample["outcome"] == "complete"


class Perf(Profiler):
    def __init__(self, graph, directory, hz):
        super().__init__(directory, hz)
        self.graph, self.retries = graph, 3
        self.after = ["perf", "script", "-i", self.output, "--no-inline",
                      "-F", "comm,pid,tid,time,ip,sym"]

    def wait_until_ready(self):
        super().wait_until_ready()
        # A process ended before it was attached to: others have started.
        while self.process.poll() is not None and self.retries > 0:
            self.retries -= 1
            self.start(self.root)

    def command(self):
        return ["perf", "record", "-F", self.hz, "-e", "cpu-clock", "--call-graph", self.graph,
                "-k", "CLOCK_MONOTONIC", "-o", self.output, "-p", ",".join(map(str, self.pids))]

    def result(self):
        """From `perf script`: a line with the time, and one for each frame."""
        stack, at = None, None
        with open(self.text, errors="replace") as file:
            for line in file:
                match = BEGIN.match(line)
                if match:
                    if stack is not None:
                        yield at, stack, None
                    at, stack = int(float(match[1]) * NS_PER_S), []
                elif line.strip() and stack is not None:
                    address, name = (line.split(maxsplit=1) + [""])[:2]
                    if not address.startswith(KERNEL):
                        stack.append(name)
        if stack is not None:
            yield at, stack, None


class Bpftrace(Profiler):
    """The usual way: equal stacks are counted in the kernel, and named at the end."""

    def command(self):
        return ["bpftrace", "-o", self.output, "-e",
                f"profile:hz:{self.hz} /cpu == {workloads.TARGET_CPU}/ "
                "{ @[pid, ustack(perf)] = count(); }"]

    def wait_until_ready(self):
        end = time.monotonic() + 20
        while time.monotonic() < end and not (os.path.exists(self.output) and os.path.getsize(self.output)):
            time.sleep(0.01)

    def result(self):
        """Only stacks of the workload: the program is also called for other tasks on its CPU."""
        self.called = 0
        pid, names = None, []
        with open(self.output, errors="replace") as file:
            for line in file:
                if begin := re.match(r"@\[(\d+), ", line):
                    pid, names = int(begin[1]), []
                elif end := re.match(r"\]: (\d+)", line):
                    self.called += int(end[1])
                    for _ in range(int(end[1]) if pid in self.pids else 0):
                        yield None, names, None
                elif line.strip():
                    names.append(line.split(maxsplit=2)[1])


def all_profilers(build):
    """Functions that make each profiler from a directory and a rate, by name."""
    made = {f"dwarfprof --unwind {mode}": lambda d, hz, mode=mode: Dwarfprof(build, mode, d, hz)
            for mode in ("auto", "dwarf", "fp", "copy")}
    made["perf record -g"] = lambda d, hz: Perf("fp", d, hz)
    made["perf record --call-graph dwarf"] = lambda d, hz: Perf("dwarf", d, hz)
    made["bpftrace ustack"] = Bpftrace
    return made
