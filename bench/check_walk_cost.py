#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Walks that are as expensive as they can be take as long as the walker thinks.

usage: check_walk_cost.py WALK_COST DIRECTORY

None of the directory's inputs (bench/walk_cost.c) may take much longer than the one that has only plain
operations, or longer than a sample may. Prints the longest.
"""
import os
import subprocess
import sys

PLAIN = "operations"
# What is not charged: the frames themselves, and what the caches do not have.
MOST_TIMES = 2.5
# Microseconds of a sample, in which its CPU does nothing else. 200 are wanted, of which a server's CPU needs two thirds;
# others are slower.
MOST = 300
# Others on the machine only make walks longer.
ATTEMPTS = 5


def measure(program, directory):
    """{input: (microseconds, what became of the walk)}"""
    lines = subprocess.run([program, directory], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return {name: (float(us), f"{outcome}, {frames} frames, cost {cost}")
            for name, outcome, frames, cost, us in (line.split("\t") for line in lines[1:])}


def main(program, directory):
    least = {}
    for _ in range(ATTEMPTS):
        for name, walk in measure(program, directory).items():
            least[name] = min(walk, least.get(name, walk))
        most = min(MOST, MOST_TIMES * least[PLAIN][0])
        wrong = [name for name, walk in least.items() if walk[0] > most]
        if not wrong:
            break
    longest = sorted(least, key=least.get, reverse=True)
    for name in (longest[:5] if not wrong else wrong) + [PLAIN]:
        print(f"{name}: {least[name][0]:.0f} us ({least[name][1]})")
    if wrong:
        print(f"longer than {most:.0f} us: {', '.join(wrong)}")
    return int(bool(wrong))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    sys.exit(main(*sys.argv[1:]))
