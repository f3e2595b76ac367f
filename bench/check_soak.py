#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What soak_host.py and soak.py make of series that are known: they find each thing that is wrong, and nothing
else.

usage: check_soak.py
"""
import collections
import types

import soak
import soak_host

SECONDS = 1200


def row(seconds, rss=100_000, files=900, starts=None, profiles=None, samples=100_000, lost=0):
    return (seconds, rss, rss, rss, files, soak_host.STARTS * seconds if starts is None else starts,
            seconds // soak_host.INTERVAL if profiles is None else profiles, samples, lost)


def series(**changes):
    """changes: functions of the seconds."""
    return [row(seconds, **{name: change(seconds) for name, change in changes.items()})
            for seconds in range(5, SECONDS + 1, 5)]


def expect(wrong, rows, status=0, failed=0):
    found = list(soak_host.judge(rows, SECONDS, status, failed))
    assert len(found) == len(wrong) and all(a in b for a, b in zip(wrong, found)), (wrong, found)


def expect_of_machine(wrong, seconds=600, pss=lambda s: 200_000, fds=lambda s: 700, objects=lambda s: 14, status=0,
                      left=0, starts=60, **samples):
    """The same of soak.py: a row has seconds, PSS, descriptors, BPF objects and CPU time."""
    rows = [(s, pss(s), fds(s), objects(s), 10) for s in range(10, seconds + 1, 10)]
    counts = {"all": 800 * seconds, "lost": 0, "user": 700 * seconds, "own": 600 * seconds, "foreign": 0, **samples}
    counts = {"own_complete": counts["own"], **counts}
    found = soak.judge(rows, types.SimpleNamespace(returncode=status),
                       types.SimpleNamespace(others=collections.Counter(), **counts),
                       types.SimpleNamespace(started=starts * seconds), seconds, left)
    assert len(found) == len(wrong) and all(a in b for a, b in zip(wrong, found)), (wrong, found)


def check_machine():
    expect_of_machine([])
    expect_of_machine([], pss=lambda s: 200_000 + 1000 * s / 60)
    expect_of_machine(["memory grows"], pss=lambda s: 200_000 + 1100 * s / 60)
    expect_of_machine(["descriptors grow"], fds=lambda s: 700 + s / 5)
    expect_of_machine(["BPF objects grow"], objects=lambda s: 14 + (s == 600))
    expect_of_machine(["objects are left"], left=1)
    expect_of_machine(["it ended with -11"], status=-11)
    expect_of_machine(["samples are lost"], lost=481)
    expect_of_machine(["too few processes"], starts=49)
    expect_of_machine(["too few stacks are complete"], own_complete=356_000)
    expect_of_machine(["too few stacks are of what was started"], own=29_000)
    expect_of_machine(["samples are lost", "too few stacks"], all=0, lost=1, user=0, own=0)
    # Too short to settle.
    expect_of_machine([], seconds=60, pss=lambda s: 100_000 + 2000 * s)
    expect_of_machine(["PSS grow"], seconds=60, pss=lambda s: 100_000 + 3000 * s)
    expect_of_machine(["fds grow"], seconds=60, fds=lambda s: 100 + 20 * s)
    expect_of_machine(["cannot be judged"], seconds=60, foreign=6000)
    expect_of_machine(["too short"], seconds=20)


def main():
    check_machine()
    expect([], series())
    # It may grow until it has settled, and go up and down with each profile.
    expect([], series(rss=lambda s: 100_000 - max(0, 200 - s) * 100, files=lambda s: min(s, 200) * 4))
    expect([], series(rss=lambda s: 100_000 + s % 10 * 4000))
    # 7 % in the time that is judged, of which two medians lie three quarters apart.
    expect(["rss_kib grows"], series(rss=lambda s: 100_000 + 7 * s))
    expect([], series(rss=lambda s: 100_000 + 4 * s))
    expect(["files grows"], series(files=lambda s: 900 + s / 10))
    expect(["1 of 100000 samples are lost"], series(lost=lambda s: int(s == SECONDS)))
    expect(["profiles of 0 samples"], series(samples=lambda s: 0))
    expect(["60 profiles"], series(profiles=lambda s: s // 20))
    expect(["too few processes"], series(starts=lambda s: 44 * s))
    expect(["of the processes have failed"], series(), failed=3)
    expect(["it ended with -11"], series(), status=-11)
    expect(["too short"], series()[:20])


if __name__ == "__main__":
    main()
