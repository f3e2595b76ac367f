#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time until a process's tables are ready, without and with the cache.

usage: start.py [-n TIMES] [-r ROWS] DWARFPROF FILE...

A process maps the files' code like the dynamic linker, and dwarfprof attaches to it: without the
cache, with an empty one, and with that of the previous run, in turn. `tables` is the time from
reading /proc/PID/maps to publishing the last table, from `dwarfprof -v`; `sampling` is the time
from dwarfprof's start to its message that it samples, including the loading of BPF programs. In
milliseconds: median, minimum and maximum of all runs.

Needs root, and uses a separate mount namespace, to leave the machine's /var/cache alone. -r: fails
if there are fewer rows.
"""
import argparse
import mmap
import os
import re
import signal
import statistics
import struct
import subprocess
import sys
import time

PT_LOAD, PF_X = 1, 1  # elf(5)
CACHE = "/var/cache/dwarfprof"
READY = re.compile(r"tables: (\d+) files, (\d+) rows, (\d+) KiB, ready in ([\d.]+) ms")


def code_of(data):
    """Offset and size of each executable segment of a 64-bit ELF file."""
    start, = struct.unpack_from("<Q", data, 32)
    size, number = struct.unpack_from("<HH", data, 54)
    for i in range(number):
        kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, start + i * size)
        if kind == PT_LOAD and flags & PF_X:
            yield offset, length


def map_files(paths):
    """Maps the files' code into this process, and waits."""
    maps = []
    for path in paths:
        with open(path, "rb") as file:
            for offset, length in code_of(file.read(1 << 16)):
                first = offset & ~(mmap.PAGESIZE - 1)
                maps.append(mmap.mmap(file.fileno(), offset + length - first, mmap.MAP_PRIVATE,
                                      mmap.PROT_READ | mmap.PROT_EXEC, offset=first))
    print("mapped", flush=True)
    signal.pause()


def attach(dwarfprof, pid, *options):
    """Attaches once. Returns the message about tables, and the milliseconds until it samples."""
    start = time.monotonic()
    process = subprocess.Popen([dwarfprof, "-v", "-p", str(pid), "-o", "/dev/null", "--format", "folded", *options],
                               stderr=subprocess.PIPE, text=True)
    said = ""
    for line in process.stderr:
        said += line
        if " sampling " in line:
            break
    sampling = (time.monotonic() - start) * 1000
    process.send_signal(signal.SIGINT)
    said += process.stderr.read()
    process.wait()
    ready = READY.search(said)
    if not ready:
        sys.exit(said)
    return {"files": int(ready[1]), "rows": int(ready[2]), "cached": said.count(", from the cache"),
            "tables": float(ready[4]), "sampling": sampling}


def empty_cache():
    subprocess.run(["rm", "-rf", CACHE], check=True)


def measure(dwarfprof, pid, times):
    """The runs of each kind; the page cache is warm from the start."""
    runs = {"no cache": [], "cold": [], "warm": []}
    attach(dwarfprof, pid, "--no-cache")
    for _ in range(times):
        runs["no cache"].append(attach(dwarfprof, pid, "--no-cache"))
        empty_cache()
        runs["cold"].append(attach(dwarfprof, pid))
        runs["warm"].append(attach(dwarfprof, pid))
    return runs


def spread(runs, what):
    values = [run[what] for run in runs]
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def main():
    parser = argparse.ArgumentParser(usage="start.py [-n TIMES] [-r ROWS] DWARFPROF FILE...")
    parser.add_argument("-n", type=int, default=10)
    parser.add_argument("-r", type=int, default=0)
    parser.add_argument("dwarfprof")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()

    if "DWARFPROF_BENCH_NAMESPACE" not in os.environ:
        os.environ["DWARFPROF_BENCH_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/var/cache"], check=True)

    child = subprocess.Popen([sys.executable, "-c",
                              f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
                              "import start; start.map_files(sys.argv[1:])", *args.files],
                             stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        runs = measure(args.dwarfprof, child.pid, args.n)
    finally:
        child.kill()
        child.wait()
    print("start\tfiles\trows\tfrom the cache\ttables, ms\tsampling, ms")
    for kind, of_kind in runs.items():
        last = of_kind[-1]
        print(kind, last["files"], last["rows"], last["cached"], spread(of_kind, "tables"),
              spread(of_kind, "sampling"), sep="\t")
        if last["rows"] < args.r:
            sys.exit(f"less than {args.r} rows")


if __name__ == "__main__":
    main()
