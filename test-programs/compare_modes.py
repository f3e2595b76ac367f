#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares unwinding by tables with unwinding by frame pointers.

usage: compare_modes.py DWARFPROF PROGRAM-WITH PROGRAM-WITHOUT

The same program, compiled with and without frame pointers, is walked in both modes at the same
function. With frame pointers both modes must find all of the program's own frames, up to main().
Without, tables must still find them all, and frame pointers must not. (Beyond main() is libc, which
Debian compiles without frame pointers.) Copies of stacks that user space walks by tables must give
the same frames: all of a stack that fits into a copy, and those that fit of a deeper one.
"""
import os
import subprocess
import sys
import tempfile

from oracle_files import read_oracle, read_samples

# How many frames of dwarfprof precede oracle_check()'s. At a function's first instruction the frame
# pointer is still the caller's, so frame pointers miss the frame of the caller, record().
BEFORE = {"dwarf": 2, "copy": 2, "fp": 1}

# Frames that fit into a copy of 64 KiB; the program's are smaller than 200 bytes.
IN_COPY = 65536 // 200


def run(dwarfprof, program, mode):
    """[(libgcc's frames, dwarfprof's frames, outcome)], one for each call."""
    with tempfile.TemporaryDirectory() as directory:
        oracle = os.path.join(directory, "oracle")
        samples = os.path.join(directory, "samples.jsonl")
        subprocess.run(
            [dwarfprof, "-e", f"uprobe:{program}:oracle_mark", "--unwind", mode,
             "--max-stack", "2048", "--no-symbols", "-o", samples,
             "--", program, oracle, "recursion"], check=True, stderr=subprocess.DEVNULL)
        expected = read_oracle(oracle)
        found, lost = read_samples(samples, skip=0)
    assert lost == 0 and expected.keys() == found.keys()
    return [(theirs, ours, sample["outcome"])
            for tid in expected
            for theirs, (ours, sample) in zip(expected[tid], found[tid])]


def program_length(theirs):
    """The number of frames before the first one of libc. The program's code is far from libc's.

    In a signal handler libc comes first, because it has the return trampoline.
    """
    n = 1
    while n < len(theirs) and abs(theirs[n] - theirs[0]) < 1 << 32:
        n += 1
    return n


def count(stacks, mode):
    """(number of stacks, number of those with all program frames)"""
    total = complete = 0
    for theirs, ours, outcome in stacks:
        n = program_length(theirs)
        if n < 60:  # not one of the moments chosen by the program
            continue
        total += 1
        ours = ours[BEFORE[mode]:]
        if outcome == "stack_copy_end" and len(ours) > IN_COPY:
            n = min(n, len(ours))
        complete += ours[:n] == theirs[:n]
    return total, complete


def main():
    dwarfprof, with_fp, without_fp = sys.argv[1:]
    failed = 0
    for program, fp_finds_all in ((with_fp, True), (without_fp, False)):
        for mode in ("dwarf", "copy", "fp"):
            total, complete = count(run(dwarfprof, program, mode), mode)
            print(f"{os.path.basename(program)}, {mode}: {complete} of {total} stacks with all frames")
            expect = total if mode != "fp" or fp_finds_all else 0
            failed |= total < 30 or complete != expect
    return int(failed)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    sys.exit(main())
