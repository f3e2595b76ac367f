#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare dwarfprof's stacks with libgcc's, frame by frame.

usage: compare_oracle.py DWARFPROF PROGRAM [--min N] [-- SCENARIO...]

Runs PROGRAM (test-programs/stacks.c) under dwarfprof with a uprobe on
oracle_mark(). The program writes what libgcc's _Unwind_Backtrace lists right
before each call. Both must give the same number of stacks, and the same
frames in each.

There is one moment when a stack cannot be walked by anybody: when libgcc lands
in an exception's handler, it overwrites return address and saved registers of
its own frame, one by one (uw_install_context(), __builtin_eh_return()). Stacks
interrupted in libgcc there are counted apart. dwarfprof's must be the beginning
of libgcc's, which goes on with an address or two that are no code.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from oracle_files import read_oracle, read_samples


def describe(sample):
    return [
        f"{f['address']} {f['method']} {os.path.basename(f['module'] or '?')}+{f['offset']}"
        for f in sample["user_stack"]
    ]


def is_landing(theirs, ours, sample):
    """Was libgcc interrupted while it landed in a handler?"""
    in_libgcc = any(frame["method"] == "signal" and "libgcc_s" in (frame["module"] or "")
                    for frame in sample["user_stack"])
    return (in_libgcc and sample["outcome"] != "complete" and
            ours == theirs[:len(ours)] and len(theirs) - len(ours) <= 2)


def compare(oracle, samples, show):
    compared, different, landing = 0, 0, 0
    for tid, expected in oracle.items():
        found = samples.get(tid, [])
        if len(expected) != len(found):
            print(f"  thread {tid}: {len(expected)} stacks expected, {len(found)} sampled")
            different += abs(len(expected) - len(found))
        for i, (theirs, (ours, sample)) in enumerate(zip(expected, found)):
            compared += 1
            # An interrupted address that is NULL is a frame for us, and the end for libgcc.
            if ours and ours[-1] == 0:
                ours = ours[:-1]
            if ours == theirs:
                continue
            if is_landing(theirs, ours, sample):
                landing += 1
                continue
            different += 1
            if show <= 0:
                continue
            show -= 1
            print(f"  thread {tid}, stack {i}: outcome {sample['outcome']}, "
                  f"{len(ours)} frames, expected {len(theirs)}")
            for line in describe(sample)[:40]:
                print(f"    {line}")
            print("    expected " + " ".join(f"{a:x}" for a in theirs[:40]))
    return compared, different, landing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dwarfprof")
    parser.add_argument("program")
    parser.add_argument("--min", type=int, default=1, help="stacks that must be compared")
    parser.add_argument("--unwind", default="dwarf")
    parser.add_argument("--show", type=int, default=3, help="differences to print")
    parser.add_argument("scenarios", nargs="*")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as directory:
        oracle_file = os.path.join(directory, "oracle")
        samples_file = os.path.join(directory, "samples.jsonl")
        result = subprocess.run(
            [args.dwarfprof, "-e", f"uprobe:{args.program}:oracle_mark", "--unwind", args.unwind,
             "--max-stack", "2048", "--no-symbols", "-o", samples_file,
             "--", args.program, oracle_file, *args.scenarios],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode != 0:
            print(result.stdout)
            print(f"{args.program}: exit code {result.returncode}")
            return 1
        oracle = read_oracle(oracle_file)
        # The first two frames are oracle_mark() and record().
        samples, lost = read_samples(samples_file)

    compared, different, landing = compare(oracle, samples, args.show)
    late = sum(sample["late"] for stacks in samples.values() for _, sample in stacks)
    print(f"{args.program}: {compared} stacks compared, {different} different, {lost} lost, "
          f"{landing} landing in a handler, {late} walked in user space")
    if late > 0.7 * compared:
        print("  too many were not walked in the kernel to say much about it")
        return 1
    if compared < args.min:
        print(f"  at least {args.min} were expected")
    return 0 if different == 0 and lost == 0 and compared >= args.min and landing < 3 else 1


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    sys.exit(main())
