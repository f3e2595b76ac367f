#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_walks walks the same stack in all ways, with the right results.

usage: check_walks.py DWARFPROF BENCH_WALKS

Profiles a busy Python while dwarfprof runs. Each moment has all ways, once and in each order. All
modes with tables find the same complete stack, with or without memory or frame pointers; nothing
finds more than frame pointers along these.
"""
import os
import signal
import subprocess
import sys
import time

import walks

WAYS = ("empty", *walks.WAYS)
MIN_SAMPLES = 20
# Some samples may meet tables that were just replaced.
COMPLETE = 0.95


def main():
    dwarfprof, bench_walks = sys.argv[1:]
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    cpu = max(os.sched_getaffinity(0))
    with subprocess.Popen(["/usr/bin/python3", "-c", "while True: sum(range(1000))"]) as target, \
            subprocess.Popen([dwarfprof, "-p", str(target.pid), "-F", "9", "-o", "/dev/null",
                              "--format", "folded"], stderr=subprocess.PIPE, text=True) as profiler:
        try:
            while " sampling " not in profiler.stderr.readline():
                assert profiler.poll() is None
            time.sleep(0.5)
            out = subprocess.run([bench_walks, str(profiler.pid), str(cpu), "999", "2"],
                                 capture_output=True, text=True)
        finally:
            profiler.send_signal(signal.SIGINT)
            target.kill()
    assert out.returncode == 0, out.stderr[-2000:]
    samples = walks.read_samples(out.stdout)
    assert len(samples) >= MIN_SAMPLES, f"{len(samples)} samples"
    firsts = set()
    complete = 0
    for sample in samples:
        assert sorted(sample) == sorted(WAYS), sample
        assert sorted(turn for turn, *_ in sample.values()) == list(range(len(WAYS))), sample
        firsts.update(way for way, (turn, *_) in sample.items() if turn == 0)
        _, _, frames, outcome, root = sample["cold"]
        if outcome != "complete":
            continue
        complete += 1
        for way in "dwarf", "auto":
            assert sample[way][2:] == (frames, outcome, root), sample
        assert sample["fp"][2] <= frames, sample
    assert firsts == set(WAYS), firsts
    assert complete >= COMPLETE * len(samples), f"{complete} of {len(samples)} complete"


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    main()
