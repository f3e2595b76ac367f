#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare dwarfprof's stacks with libgcc's, frame by frame.

usage: compare_oracle.py DWARFPROF PROGRAM [--min N] [-- SCENARIO...]

Runs PROGRAM (test-programs/stacks.c) under dwarfprof with a uprobe on
oracle_mark(). The program writes what libgcc's _Unwind_Backtrace lists right
before each call. Both must give the same number of stacks, and the same
frames in each.

At one instruction both unwinders go astray, each in its own way: the end of
a function that returns to an exception's landing pad (libgcc's _Unwind_Resume
and its kin), `jmp *%rcx`. The address in rcx is where the landing pad begins,
not a return address, and the byte before it, where callers are looked up, is
of other code. Stacks interrupted there are counted apart; dwarfprof's must be
the beginning of libgcc's, which may go on with addresses that are no code.
"""
import argparse
import os
import struct
import subprocess
import sys
import tempfile

from oracle_files import read_oracle, read_samples


def describe(sample):
    return [
        f"{f['address']} {f['method']} {os.path.basename(f['module'] or '?')}+{f['offset']}"
        for f in sample["user_stack"]
    ]


def read_code(path, address, size):
    """Bytes at an address of an ELF file, found through its program headers."""
    with open(path, "rb") as file:
        data = file.read()
    (table,) = struct.unpack_from("<Q", data, 0x20)
    entry_size, n_entries = struct.unpack_from("<HH", data, 0x36)
    for i in range(n_entries):
        kind, _, offset, start, _, file_size = struct.unpack_from("<IIQQQQ", data,
                                                                 table + i * entry_size)
        if kind == 1 and start <= address < start + file_size:
            return data[offset + address - start:][:size]
    return b""


def is_eh_return(sample):
    """Was a frame interrupted at `jmp *%rcx`, right behind `pop %rcx`?"""
    return any(
        frame["method"] == "signal" and frame["module"] and
        read_code(frame["module"], int(frame["offset"], 16) - 1, 3) == b"\x59\xff\xe1"
        for frame in sample["user_stack"])


def compare(oracle, samples, show):
    compared, different, eh_return = 0, 0, 0
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
            if ours == theirs[:len(ours)] and is_eh_return(sample):
                eh_return += 1
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
    return compared, different, eh_return


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

    compared, different, eh_return = compare(oracle, samples, args.show)
    late = sum(sample["late"] for stacks in samples.values() for _, sample in stacks)
    print(f"{args.program}: {compared} stacks compared, {different} different, {lost} lost, "
          f"{eh_return} inside eh_return, {late} walked in user space")
    if late > 0.7 * compared:
        print("  too many were not walked in the kernel to say much about it")
        return 1
    if compared < args.min:
        print(f"  at least {args.min} were expected")
    return 0 if different == 0 and lost == 0 and compared >= args.min and eh_return < 3 else 1


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    sys.exit(main())
