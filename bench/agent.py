#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `dwarfprof agent` costs in user space: CPU time and memory of all its processes.

usage: bench/agent.py BUILD RESULTS [-s SECONDS] [--settle SECONDS] [-F HZ] [--starts N] [OPTION...] [SITUATION[=SECONDS]...]

SITUATION is idle (nothing is started here), busy (a program on each CPU that lasts), churn (N of 200
programs are started per second, 50) or containers (as churn, each in a cgroup that is made for it and
removed after it, by 1,000 names of containers). In each, an agent profiles all processes, with a store.
Measured are its first 20 seconds, and SECONDS (60) from when it has run for SETTLE (60). CPU time is that
of the agent's cgroup, so that helpers that have ended count; memory, looked at each minute, is Pss_Anon
of smaps_rollup, in which a page that several share counts once; maps are memlock of fdinfo. A machine has
other processes: samples, and processes and threads that were made, stand beside it. --threads: which
threads and helpers use it. --judge: exit 1 if it is more than LIMITS, on a machine that does nothing else.
RESULTS/agent.json gets all of it, with --add beside what it has; with --write, docs/BENCHMARKS.md a table. Needs root, and cgroup v2.
"""
import argparse
import collections
import contextlib
import glob
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import churn
import machine
import profilers
import workloads

SITUATIONS = ("idle", "busy", "churn", "containers")
START = 20  # seconds
MEMORY_EVERY = 60
PROGRAMS = 200
CONTAINERS = 1000

PAGE = os.path.join(machine.figures.ROOT, "docs/BENCHMARKS.md")
COMMAND = "bench/agent.py"

# What --judge allows. Of an hour, memory is flat if the last quarter, after SETTLED, is FLAT above the first.
IDLE_SHARE = 0.001  # of a CPU
START_SHARE, PER_START = 0.002, 100e-6  # of a CPU, and CPU seconds for each program that is started here
BUSY_SHARE = 0.006  # of a CPU, for each that is busy
PRIVATE_KIB, MAP_KIB = 64 << 10, 64 << 10
SETTLED, FLAT = 600, 0.05
MIN_STARTED = 0.9  # of what was asked for

Look = collections.namedtuple("Look", "time cpu samples started clones threads")


def cgroup_mount():
    mounts = [line.split()[1] for line in profilers.read("/proc/self/mounts").splitlines() if line.split()[2] == "cgroup2"]
    return mounts[0] if mounts else sys.exit("no cgroup v2 is mounted")


class Cgroup:
    """What is started in it, with its children, is counted together."""

    def __init__(self):
        self.path = os.path.join(cgroup_mount(), f"bench-agent-{os.getpid()}")

    def __enter__(self):
        os.mkdir(self.path)
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            os.rmdir(self.path)

    def enter(self):
        with open(os.path.join(self.path, "cgroup.procs"), "w") as file:
            file.write(str(os.getpid()))

    def cpu_seconds(self):
        return int(re.search(r"^usage_usec (\d+)", profilers.read(os.path.join(self.path, "cpu.stat")), re.M)[1]) / 1e6

    def pids(self):
        return [int(pid) for pid in profilers.read(os.path.join(self.path, "cgroup.procs")).split()]


def private_kib(pid):
    try:
        return int(re.search(r"^Pss_Anon:\s+(\d+)", profilers.read(f"/proc/{pid}/smaps_rollup"), re.M)[1])
    except (OSError, TypeError):
        return 0


def map_kib(pid):
    """Kernel memory of the maps that a process has open, each once."""
    maps = {}
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        with contextlib.suppress(OSError):
            fields = dict(re.findall(r"^(\w+):\s*(\d+)$", profilers.read(path), re.M))
            if "map_id" in fields:
                maps[fields["map_id"]] = int(fields["memlock"])
    return sum(maps.values()) >> 10


def thread_ns(pids):
    """CPU time by the names of process and thread."""
    times = collections.Counter()
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*"):
            with contextlib.suppress(OSError):
                words = profilers.read(f"/proc/{pid}/cmdline").split("\0")
                kind = words[1] if "helper" in words[0] and len(words) > 1 else "agent"
                name = profilers.read(os.path.join(path, "comm")).strip()
                times[f"{kind}/{name}"] += int(profilers.read(os.path.join(path, "schedstat")).split()[0])
    return times


def clones():
    """Processes and threads that were made."""
    return int(re.search(r"^processes (\d+)", profilers.read("/proc/stat"), re.M)[1])


class Agent:
    def __init__(self, build, directory, hz, cgroup, starts=None):
        self.cgroup = cgroup
        self.starts = starts
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{s.getsockname()[1]}"
        self.command = [f"{build}/cli/dwarfprof", "agent", "-F", str(hz), "--store", os.path.join(directory, "store"),
                        "--pull", self.address]
        self.log = os.path.join(directory, "log")

    def __enter__(self):
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, preexec_fn=self.cgroup.enter)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def samples(self):
        with urllib.request.urlopen(f"http://{self.address}/metrics") as answer:
            return int(re.search(r"^dwarfprof_samples_total (\d+)", answer.read().decode(), re.M)[1])

    def look(self):
        if self.process.poll() is not None:
            sys.exit(profilers.read(self.log)[-2000:])
        try:
            samples = self.samples()
        except OSError:  # it does not answer yet
            samples = 0
        started = self.starts.started if self.starts else 0
        return Look(time.monotonic(), self.cgroup.cpu_seconds(), samples, started, clones(), thread_ns(self.cgroup.pids()))

    def memory(self):
        pids = self.cgroup.pids()
        return {"private_kib": sum(map(private_kib, pids)),
                "helpers_kib": sum(private_kib(pid) for pid in pids if pid != self.process.pid),
                "map_kib": map_kib(self.process.pid), "processes": len(pids)}


@contextlib.contextmanager
def situation(name, build, directory, per_second):
    """Yields what starts programs, or None."""
    starts = None
    with contextlib.ExitStack() as stack:
        for cpu in range(os.cpu_count() if name == "busy" else 0):
            target = stack.enter_context(workloads.Target(build, directory, "nofp", "chain", 20))
            os.sched_setaffinity(target.pid, {cpu})
        if name in ("churn", "containers"):
            programs = [program for program, _ in churn.make(build, directory, PROGRAMS)]
            starts = churn.Starts(build, programs, per_second, CONTAINERS if name == "containers" else 0, cgroup_mount())
            stack.callback(starts.end)
        yield starts


def between(before, after):
    """CPU time, and what there was to do, of a time."""
    return {"seconds": after.time - before.time, "cpu_seconds": after.cpu - before.cpu,
            "percent": 100 * (after.cpu - before.cpu) / (after.time - before.time),
            "samples": after.samples - before.samples, "started": after.started - before.started,
            "clones": after.clones - before.clones,
            "threads_ms": {name: ns / 1e6 for name, ns in (after.threads - before.threads).most_common()}}


def measure(args, name, seconds):
    with tempfile.TemporaryDirectory() as directory, situation(name, args.build, directory, args.starts) as starts, \
            Cgroup() as cgroup, Agent(args.build, directory, args.freq, cgroup, starts) as agent:
        looks = [agent.look()]
        for pause in START, max(args.settle - START, 0):
            time.sleep(pause)
            looks.append(agent.look())
        memory, end = [agent.memory()], time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, MEMORY_EVERY))
            memory.append(agent.memory())
        looks.append(agent.look())
        return {"start": between(*looks[:2]), "steady": between(*looks[2:]), "memory": memory}


def show(name, result, threads):
    for phase in "start", "steady":
        r = result[phase]
        print(f"{name:10} {phase:6} {r['percent']:6.2f} % of a CPU: {r['cpu_seconds']:.2f} s in {r['seconds']:.0f} s, "
              f"{r['samples']} samples, {r['started']} programs started, {r['clones']} processes and threads in all", flush=True)
        for thread, ms in r["threads_ms"].items() if threads else ():
            print(f"  {ms:8.1f} ms {thread}")
    memory = result["memory"]
    for what in "private_kib", "helpers_kib", "map_kib", "processes":
        values = [m[what] for m in memory]
        print(f"{name:10} {what:11} {values[0]} at first, {min(values)} to {max(values)}, {values[-1]} in the end", flush=True)


def growth(memory):
    """Private memory of the last quarter of the looks after SETTLED over that of the first; None for less than an hour's."""
    values = [look["private_kib"] for look in memory[SETTLED // MEMORY_EVERY:]]
    quarter = len(values) // 4
    if len(memory) * MEMORY_EVERY < 3600:
        return None
    return statistics.median(values[-quarter:]) / statistics.median(values[:quarter]) - 1


def allowed_cpu(name, steady, cpus):
    """CPU seconds."""
    share = {"idle": IDLE_SHARE, "busy": BUSY_SHARE * cpus}.get(name, START_SHARE)
    return share * steady["seconds"] + PER_START * steady["started"]


def judge(name, result, starts, cpus):
    """What is too much, on so many CPUs."""
    steady, memory = result["steady"], result["memory"]
    allowed = allowed_cpu(name, steady, cpus)
    if steady["cpu_seconds"] > allowed:
        yield f"{steady['cpu_seconds']:.2f} s of CPU time, allowed are {allowed:.2f}"
    for what, most in ("private_kib", PRIVATE_KIB), ("map_kib", MAP_KIB):
        if (found := max(look[what] for look in memory)) > most:
            yield f"{what} {found}, allowed are {most}"
    if (share := growth(memory)) is not None and share > FLAT:
        yield f"private memory grows by {100 * share:.1f} %"
    if name in ("churn", "containers") and steady["started"] < MIN_STARTED * starts * steady["seconds"]:
        yield "too few programs were started, the machine is too busy"
    if not steady["samples"] and name != "idle":
        yield "no samples"


def row(name, result):
    """Of the page's table."""
    steady, memory = result["steady"], result["memory"]
    per_start = f"{1e6 * steady['cpu_seconds'] / steady['started']:.0f} µs" if steady["started"] else "–"
    private = [look["private_kib"] / 1024 for look in memory]
    return [name, f"{steady['seconds'] / 60:.0f}", f"{steady['started']:,}", f"{steady['samples']:,}", f"{steady['percent']:.2f} %", per_start,
            f"{min(private):.0f}–{max(private):.0f}", f"{max(look['map_kib'] for look in memory) / 1024:.0f}"]


def write_page(results):
    head = ["machine", "minutes", "programs started", "samples", "CPU, of one", "per start", "private MiB", "maps, MiB"]
    text = machine.figures.table(head, [row(name, result) for name, result in results.items()])
    machine.figures.write(PAGE, COMMAND, f"\n{text}\n{machine.figures.origin()}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("results")
    parser.add_argument("-s", "--seconds", type=float, default=60)
    parser.add_argument("--settle", type=float, default=60)
    parser.add_argument("-F", "--freq", type=int, default=19)
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--add", action="store_true")
    parser.add_argument("situations", nargs="*", default=SITUATIONS)
    args = parser.parse_intermixed_args()
    earlier = machine.read(args.results, "agent") if args.add else None
    results, wrong = earlier["situations"] if earlier else {}, []
    for wanted in args.situations:
        name, _, seconds = wanted.partition("=")
        results[name] = measure(args, name, float(seconds or args.seconds))
        show(name, results[name], args.threads)
        wrong += [f"{name}: {what}" for what in judge(name, results[name], args.starts, os.cpu_count())] if args.judge else []
    machine.write(args.results, "agent", hz=args.freq, starts=args.starts, situations=results)
    if args.write:
        write_page(results)
    for what in wrong:
        print("wrong:", what)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
