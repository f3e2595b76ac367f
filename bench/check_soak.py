#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What soak_host.py makes of series that are known: it finds each thing that is wrong, and nothing else.

usage: check_soak.py
"""
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


def main():
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
