#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What agent.py --judge makes of results that are known: it finds each thing that is too much, and nothing else.

usage: check_agent_judge.py
"""
import agent

HOUR = 3600
STARTS = 100
CPUS = 2


def result(seconds=HOUR, cpu=40.0, started=STARTS * HOUR, samples=1000, private=lambda minute: 40 << 10, maps=38 << 10):
    looks = [{"private_kib": private(minute), "map_kib": maps} for minute in range(seconds // agent.MEMORY_EVERY + 1)]
    return {"steady": {"seconds": seconds, "cpu_seconds": cpu, "started": started, "samples": samples}, "memory": looks}


def expect(wrong, name="containers", **changes):
    found = list(agent.judge(name, result(**changes), STARTS, CPUS))
    assert len(found) == len(wrong) and all(a in b for a, b in zip(wrong, found)), (wrong, found)


def main():
    expect([], cpu=43.1)  # 0.2 % of an hour, and 100 us for each of 360,000
    expect(["CPU time"], cpu=43.3)
    expect([], "idle", cpu=3.5, started=0, samples=0)
    expect(["CPU time"], "idle", cpu=3.7, started=0)
    expect([], "busy", cpu=43.1, started=0)  # 0.6 % of each of two CPUs
    expect(["CPU time"], "busy", cpu=43.3, started=0)
    expect(["private_kib"], private=lambda minute: (65 if minute == 30 else 40) << 10)
    expect(["map_kib"], maps=65 << 10)
    expect(["grows by 13.5"], private=lambda minute: (40 << 10) + minute * 150)
    expect([], private=lambda minute: (40 << 10) + minute * 50)
    # It may grow until it has settled, and nothing is flat in a few minutes.
    expect([], private=lambda minute: min(minute + 1, 10) << 12)
    expect([], seconds=120, cpu=1, started=12000, private=lambda minute: (minute + 1) << 14)
    expect(["CPU time", "too few programs"], started=STARTS * HOUR * 8 // 10)
    expect(["no samples"], samples=0)


if __name__ == "__main__":
    main()
