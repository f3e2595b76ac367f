#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How costs grow with processes, with mappings per process, and with rows per table.

usage: bench/growing.py BUILD RESULTS [--quick]

Writes RESULTS/growing.json. For each number of processes (1 to 2,000): the start-up time, the
memory, and the BPF program's time per run of a dwarfprof of the whole machine. For mappings per
process (10 to 5,000): the time of a walk. For rows per table (1,000 to 5 million): the time of a
search in the kernel, and of building. Needs root.
"""
import argparse
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time

import machine
import profilers
import programs
import walks
import workloads

# The largest file with unwind information that the build needs.
LIBRARY = "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"


def find_library():
    if os.path.exists(LIBRARY):
        return LIBRARY
    return max((os.path.join("/usr/lib/x86_64-linux-gnu", name)
                for name in os.listdir("/usr/lib/x86_64-linux-gnu") if ".so." in name),
               key=os.path.getsize)


@contextlib.contextmanager
def sleepers(n):
    """Starts n sleeping processes, each with the mappings of a small program."""
    started = [subprocess.Popen(["/bin/sleep", "3600"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def memory_kib(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def profile_all(build, directory, seconds):
    """The costs of a dwarfprof of all processes."""
    log = os.path.join(directory, "log")
    start = time.monotonic()
    process = profilers.start_logged([f"{build}/cli/dwarfprof", "-v", "-a", "-U", "-F", "999",
                                      "-C", str(workloads.TARGET_CPU), "-o", "/dev/null",
                                      "--format", "folded", "--no-symbols"], log)
    profilers.wait_for_sampling(process, log)
    ready = time.monotonic() - start
    before = profilers.program_ns(process.pid)
    time.sleep(seconds)
    after = profilers.program_ns(process.pid)
    memory = memory_kib(process.pid)
    process.send_signal(signal.SIGINT)
    process.wait()
    tables = re.search(r"table memory: (\d+) of", profilers.read(log))
    return {"ready_ms": ready * 1000, "memory_kib": memory, "tables_mib": int(tables[1]),
            "bpf_ns": (after[0] - before[0]) / max(1, after[1] - before[1])}


def by_processes(build, directory, sizes, seconds):
    results = []
    for n in sizes:
        with sleepers(n - 1), workloads.Target(build, directory, "nofp", "chain", 14):
            results.append({"processes": n, **profile_all(build, directory, seconds)})
        print(results[-1], flush=True)
    return results


def by_mappings(build, directory, sizes, seconds):
    results = []
    for n in sizes:
        with workloads.Target(build, directory, "nofp", "chain", 14, mappings=n) as target:
            ways = walks.measure(build, target, seconds)["ways"]
        results.append({"mappings": n, "warm_ns": ways["dwarf"]["ns"], "cold_ns": ways["cold"]["ns"]})
        print(results[-1], flush=True)
    return results


def by_rows(build, rows):
    """The costs of a search, and of building the table."""
    library = find_library()
    search = subprocess.run([f"{build}/bench/bench_lookup", "-r", str(rows), library],
                            capture_output=True, text=True, check=True).stdout
    made = subprocess.run([f"{build}/bench/bench_growth", "-n", "3", "-r", str(rows), library],
                          capture_output=True, text=True, check=True).stdout
    searches = [dict(zip(("rows", "search_ns", "halving_ns"), map(float, line.split("\t")[:3])))
                for line in search.splitlines()[1:]]
    head, *lines = (line.split("\t") for line in made.splitlines())
    return {"library": library, "search": searches,
            "making": [dict(zip(head, map(float, line))) for line in lines]}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("build")
    parser.add_argument("results")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    os.sched_setaffinity(0, {workloads.PROFILER_CPU})
    quick = args.quick
    before = programs.set_stats("1")
    try:
        with tempfile.TemporaryDirectory() as directory:
            mappings = by_mappings(build, directory, (10, 1000) if quick else (10, 100, 1000, 5000),
                                   1 if quick else 4)
            processes = by_processes(build, directory,
                                     (1, 200) if quick else (1, 10, 100, 500, 1000, 2000),
                                     1 if quick else 3)
    finally:
        programs.set_stats(before.strip())
    machine.write(args.results, "growing", mappings=mappings, processes=processes,
                  rows=by_rows(build, 50_000 if quick else 5_000_000))


if __name__ == "__main__":
    main()
