#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records stacks of real programs for bench_touches (recorded.h).

usage: bench/record_stacks.py BUILD DIRECTORY [-n SAMPLES] [-s SECONDS] [WORKLOAD...]

Runs each workload of bench/workloads.py, samples it 99 times a second for SECONDS (10), and writes SAMPLES (40)
consecutive complete stacks to DIRECTORY/WORKLOAD.txt. Only distances are kept: no contents of
memory. Left out: stacks that a signal handler has interrupted, and those with a frame whose size
depends on more than its address. If the program was restarted, the recording has the first samples
after that. Needs root.
"""
import argparse
import os
import tempfile

import walks
import workloads

HZ = "99"
CHAIN, SIGNAL, LANDING = 2, 3, 4  # enum dp_method
STACK_SIZE = 1 << 24


class Rejected(Exception):
    """A sample that cannot be recorded."""


def read_samples(text):
    """[(process, in_syscall, sp, [frame, ...])]; numbers as walks_stacks.c has written them."""
    samples = []
    for line in text.splitlines():
        kind, *fields = line.split("\t")
        numbers = [int(field, 0) for field in fields]
        if kind == "sample":
            pid, memory_map, in_syscall, sp = numbers
            samples.append(((pid, memory_map), in_syscall, sp, []))
        else:
            samples[-1][3].append(numbers)
    return samples


class Recording:
    def __init__(self):
        self.binaries = {}  # cell of its table: [number, start, end]
        self.rules = {}
        self.lines = []
        self.processes = []

    def number(self, image, start, end):
        of = self.binaries.setdefault(image, [len(self.binaries), start, end])
        of[1:] = min(of[1], start), max(of[2], end)
        return of[0]

    def add(self, sample):
        process, in_syscall, sp, frames = sample
        base = sp & ~(STACK_SIZE - 1)
        lines, rules, n_known = [f"sample {sp - base:x} {in_syscall}"], {}, len(self.binaries)
        for i, (pc, method, image, start, end, bias, cfa, fp, is_known, by_fp, below) in enumerate(frames):
            caller = frames[i + 1] if i + 1 < len(frames) else None
            number = self.number(image, start - bias, end - bias)
            address, size, rule = pc - bias, cfa - sp, "f" if by_fp else "s"
            if caller is None:
                rule, size, below = "r", 0, 0
            elif caller[1] == CHAIN:
                rule, below = "c", 1
            elif not is_known and caller[7] != fp:
                below = 1  # somewhere: usually it is pushed first
            if below and size < 8 * (below + 1):
                raise Rejected
            if method in (SIGNAL, LANDING) or not 0 <= size < STACK_SIZE or (caller and cfa - base > STACK_SIZE):
                raise Rejected
            if rule in "fc" and not sp <= fp <= cfa:
                raise Rejected
            key = number, address - (i > 0 or in_syscall)
            # A rule has one distance.
            rules[key] = rule, cfa - fp if rule == "f" else 0 if rule == "c" else size, below
            if self.rules.get(key, rules[key]) != rules[key]:
                raise Rejected
            fp = fp - base if 0 < fp - base < STACK_SIZE else 0
            lines.append(f"frame {number} {address:x} {rule} {size:x} {below} {fp:x}")
            sp = cfa
        self.rules.update(rules)
        if process not in self.processes:
            self.processes.append(process)
            lines.insert(0, "process")
        self.lines += lines

    def write(self, path, name, n):
        with open(path, "w") as file:
            file.write("# SPDX-License-Identifier: Apache-2.0\n"
                       f"# {n} stacks of {name} at {HZ} Hz, written by bench/record_stacks.py\n")
            for image, (_, start, end) in self.binaries.items():
                file.write(f"binary {start:x} {end - start:x} {int(image != 0)}\n")
            file.write("\n".join(self.lines) + "\n")


def first_index(samples):
    """Where another process begins, else the second quarter."""
    changes = [i for i in range(1, len(samples)) if samples[i][0] != samples[i - 1][0]]
    return max(0, next((i for i in changes if i > 10), len(samples) // 4) - 3)


def record(text, path, name, n):
    samples, recording, added = read_samples(text), Recording(), 0
    for sample in samples[first_index(samples):]:
        if added == n:
            break
        try:
            recording.add(sample)
            added += 1
        except Rejected:
            pass
    recording.write(path, name, added)
    print(f"{name}: {added} of {len(samples)} samples, {len(recording.processes)} processes", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("build")
    parser.add_argument("directory")
    parser.add_argument("-n", dest="samples", type=int, default=40)
    parser.add_argument("-s", dest="seconds", type=int, default=10)
    parser.add_argument("workloads", nargs="*")
    args = parser.parse_intermixed_args()
    build = os.path.abspath(args.build)
    os.makedirs(args.directory, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        for name, start in workloads.real(build, directory).items():
            if args.workloads and name not in args.workloads:
                continue
            with start() as workload:
                text = walks.of_samples(build, workload, HZ, args.seconds, "stacks")
            record(text, os.path.join(args.directory, f"{name}.txt"), name, args.samples)


if __name__ == "__main__":
    main()
