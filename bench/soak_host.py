# SPDX-License-Identifier: Apache-2.0
"""Profiling without end, in an hour or less: does a host grow that takes a profile every 10 seconds?

For soak.py --host. bench_host profiles the whole machine, or what is started here, while 50 processes are started per second, in
turns of 2,000 programs that differ (churn.c), and one process loads and unloads the libraries of all.
A row is printed every 5 seconds. Judged is what comes after the first ten minutes, or in less than an
hour, after the first sixth: resident memory and open files in the last quarter of that are within 5 %
of those in the first; nothing is lost, profiles are taken, and it ends well.
"""
import os
import re
import statistics
import subprocess
import tempfile
import time

import churn

EVERY = 5  # seconds, a row
INTERVAL = 10  # seconds, a profile
STARTS = 50  # per second
PROGRAMS = 2000
MAX_SETTLE = 600  # seconds
FLAT = 0.05
COLUMNS = ("seconds", "rss_kib", "pss_kib", "heap_kib", "files", "starts", "profiles", "samples", "lost")
MIN_ROWS = 8  # that are judged


def measure(pid):
    """RSS, PSS and what is no file's, in KiB; open files."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        text = file.read()
    sizes = [int(re.search(rf"^{what}:\s+(\d+)", text, re.M)[1]) for what in ("Rss", "Pss", "Anonymous")]
    return *sizes, len(os.listdir(f"/proc/{pid}/fd"))


def profiles_taken(path):
    """How many, and of the last one, the samples and how many were lost; not yet one: zeros."""
    with open(path) as file:
        lines = [line.split() for line in file if line.endswith("\n")]
    return (len(lines), *map(int, lines[-1][:2])) if lines else (0, 0, 0)


def watch(process, starts, taken, seconds):
    """A row (COLUMNS) each EVERY seconds."""
    rows, begin = [], time.monotonic()
    print(" ".join(f"{name:>9}" for name in COLUMNS), flush=True)
    while time.monotonic() - begin < seconds and process.poll() is None:
        time.sleep(EVERY)
        try:
            measured = measure(process.pid)
        except OSError:  # it has ended
            break
        rows.append((round(time.monotonic() - begin), *measured, starts.started, *profiles_taken(taken)))
        print(" ".join(f"{value:9}" for value in rows[-1]), flush=True)
    return rows


def growth(rows, name):
    """From the first quarter of the rows to the last one, by how much of it; and both medians."""
    values, n = [row[COLUMNS.index(name)] for row in rows], len(rows) // 4
    first, last = statistics.median(values[:n]), statistics.median(values[-n:])
    return (last - first) / first, first, last


def judge(rows, seconds, status, failed):
    """What is wrong."""
    settled = [row for row in rows if row[0] >= min(MAX_SETTLE, seconds / 6)]
    if len(settled) < MIN_ROWS:
        yield f"too short to judge: {len(settled)} rows"
        return
    for name in ("rss_kib", "files"):
        share, first, last = growth(settled, name)
        print(f"{name}: {first:.0f} after {settled[0][0]} s, {last:.0f} at the end, {100 * share:+.1f} %")
        if share > FLAT:
            yield f"{name} grows"
    last = dict(zip(COLUMNS, rows[-1], strict=True))
    if last["lost"]:
        yield f"{last['lost']} of {last['samples']} samples are lost"
    if not last["samples"] or last["profiles"] < last["seconds"] / INTERVAL - 3:
        yield f"{last['profiles']} profiles of {last['samples']} samples in {last['seconds']} s"
    if last["starts"] < 0.9 * STARTS * last["seconds"]:
        yield "too few processes were started, the machine is too busy"
    if failed:
        yield f"{failed} of the processes have failed"
    if status != 0:
        yield f"it ended with {status}"


def end(process):
    process.terminate()
    return process.wait()


def soak(args):
    """args: as soak.py has them."""
    build, pid = args.dwarfprof, [str(os.getpid())] * args.own
    with tempfile.TemporaryDirectory() as directory:
        programs = churn.make(build, directory, PROGRAMS)
        taken = os.path.join(directory, "taken")
        with open(taken, "w") as output:
            host = subprocess.Popen([f"{build}/bench/bench_host", args.event, args.hz, str(INTERVAL), "pprof", *pid],
                                    stdout=output)
        staying = churn.start_staying(programs)
        starts = churn.Starts(build, programs, STARTS)
        try:
            rows = watch(host, starts, taken, args.seconds)
        finally:
            starts.end()
            end(staying)
            status = end(host)
    if args.series:
        with open(args.series, "w") as file:
            file.writelines("\t".join(map(str, row)) + "\n" for row in (COLUMNS, *rows))
    wrong = list(judge(rows, args.seconds, status, starts.failed))
    for line in wrong:
        print("wrong:", line)
    return int(bool(wrong))
