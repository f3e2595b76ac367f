# SPDX-License-Identifier: Apache-2.0
"""Readers of the stacks written by test-programs/stacks.c and by dwarfprof."""
import collections
import json


def read_oracle(path):
    """{tid: [[address, ...], ...]} in the order of the calls."""
    stacks = collections.defaultdict(list)
    with open(path) as file:
        for line in file:
            tid, *addresses = line.split()
            frames = [int(a, 16) for a in addresses]
            while frames and frames[-1] == 0:
                frames.pop()  # libgcc lists a caller of _start, which has none
            stacks[int(tid)].append(frames[1:])  # the first one is oracle_check() itself
    return stacks


def read_samples(path, skip):
    """({tid: [(addresses after the first `skip`, sample), ...]}, samples lost)."""
    stacks = collections.defaultdict(list)
    lost = 0
    with open(path) as file:
        for line in file:
            sample = json.loads(line)
            frames = [int(f["address"], 16) for f in sample["user_stack"]]
            stacks[sample["tid"]].append((frames[skip:], sample))
            lost = sample["lost"]
    return stacks, lost
