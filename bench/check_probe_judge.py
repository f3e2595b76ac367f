#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What probe_cost.py --judge makes of results that are known: it finds each thing that is too much, and nothing else.

usage: check_probe_judge.py
"""
import probe_cost

ROUNDS = 10  # two seconds


def result(rate, more, samples=None):
    return {rate: {"without": [2000.0] * len(more), "more": more, "samples": [samples or 2 * rate] * len(more)}}


def expect(wrong, samples):
    found = list(probe_cost.judge(samples, ROUNDS))
    assert len(found) == len(wrong) and all(a in b for a, b in zip(wrong, found)), (wrong, found)


def main():
    expect([], {**result(99, [500.0]), **result(999, [120.0])})
    expect(["99 Hz: a label makes a sample 501 ns longer, allowed are 500"], result(99, [501.0]))
    expect(["999 Hz: a label makes a sample 121 ns longer, allowed are 120"], result(999, [121.0]))
    # Less than half of the turns may have met other work of the machine.
    expect([], result(999, [-300.0, 90.0, 110.0, 900.0, 110.0]))
    expect(["999 Hz"], result(999, [90.0, 110.0, 130.0, 140.0, 150.0]))
    # A program that was not there has taken no time.
    expect(["99 Hz: only 1 samples"], result(99, [0.0], samples=1))
    expect([], result(99, [0.0], samples=160))
    expect(["only 150"], result(99, [0.0], samples=150))


if __name__ == "__main__":
    main()
