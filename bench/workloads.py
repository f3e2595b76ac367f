# SPDX-License-Identifier: Apache-2.0
"""The profiled programs, synthetic and real ones. Each keeps one CPU busy."""
import contextlib
import importlib.machinery
import importlib.util
import mmap
import os
import struct
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# Profilers run on one CPU, and what they profile on another.
PROFILER_CPU, TARGET_CPU = 0, 1


def load_check_verify():
    """ci/check-verify knows how to start real programs."""
    path = os.path.join(HERE, "../ci/check-verify")
    loader = importlib.machinery.SourceFileLoader("check_verify", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_verify", loader))
    loader.exec_module(module)
    return module


verify = load_check_verify()
Missing = verify.Missing


@contextlib.contextmanager
def on_cpu(cpu):
    """Processes started in the block run on that CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Target:
    """A mode of bench/target.c, whose progress can be read."""

    def __init__(self, build, directory, kind, *arguments, mappings=0):
        self.path = os.path.join(directory, f"counter-{os.getpid()}-{id(self)}")
        self.command = [os.path.join(build, f"bench/target-{kind}"), *map(str, arguments), self.path,
                        *([str(mappings)] if mappings else [])]

    def __enter__(self):
        with on_cpu(TARGET_CPU):
            self.process = subprocess.Popen(self.command)
        end = time.monotonic() + 30
        while not os.path.exists(self.path) or os.path.getsize(self.path) == 0:
            assert time.monotonic() < end and self.process.poll() is None, self.command
            time.sleep(0.01)
        with open(self.path, "rb") as file:
            self.counter = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)
        while self.count() == 0:
            time.sleep(0.01)
        self.pid = self.process.pid
        return self

    def count(self):
        return struct.unpack("Q", self.counter)[0]

    def waited(self):
        """Seconds that it was runnable while another process had its CPU."""
        with open(f"/proc/{self.pid}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9

    def rate(self, seconds):
        """Its progress from now on, per second in which it has the CPU or is interrupted."""
        start, waited, before = time.monotonic(), self.waited(), self.count()
        time.sleep(seconds)
        return (self.count() - before) / (time.monotonic() - start - (self.waited() - waited))

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.counter.close()
        os.unlink(self.path)


class Program:
    """A real program: the process to attach to; its children are busy too."""

    def __init__(self, start):
        self.start = start

    def __enter__(self):
        with on_cpu(TARGET_CPU):
            self.context = self.start()
            self.pid = self.context.__enter__()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(RuntimeError):
            self.context.__exit__(None, None, None)


def made(build, directory):
    """Functions that start the synthetic programs, by name."""
    targets = {}
    for depth in 5, 20, 60, 200, 1500:
        for kind in "fp", "nofp":
            # Its own functions; main() and what surrounds it are 6 more.
            targets[f"depth {depth}, {kind}"] = \
                lambda depth=depth, kind=kind: Target(build, directory, kind, "chain", max(depth - 6, 0))
    for mode in "hot", "flat", "words":
        for kind in "fp", "nofp":
            targets[f"{mode}, {kind}"] = lambda mode=mode, kind=kind: Target(build, directory, kind, mode)
    return targets


def real(build, directory):
    """The same for real programs; those that are not installed raise Missing when started."""
    names = {"python3, a recursive script": "python3", "gcc -O2, a large file": "gcc",
             "openssl speed": "openssl", "postgres, pgbench": "postgres", "node": "node"}
    programs = verify.all_programs(build, directory)
    return {short: lambda name=name: Program(programs[name]) for name, short in names.items()}
