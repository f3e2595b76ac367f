#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory to build tables are proportional to their rows.

usage: check_growth.py BENCH_GROWTH FILE

Runs, and so also tests, bench_growth: up to 100,000 rows, some of them copies of FILE's. With a
quadratic step, a row of the largest table would take a hundred times longer than one of the
smallest. Variations on a busy machine, and the fixed cost of a small table, stay below FACTOR.
"""
import statistics
import subprocess
import sys

ROWS = 100_000
SIZES = 7  # 1, 2, 5, 10, 20, 50, 100 thousand
FACTOR = 4


def main():
    out = subprocess.run([sys.argv[1], "-r", str(ROWS), sys.argv[2]],
                         capture_output=True, text=True, check=True).stdout
    head, *lines = (line.split("\t") for line in out.splitlines())
    sizes = [dict(zip(head, map(float, line), strict=True)) for line in lines]

    assert len(sizes) == SIZES, out
    for smaller, larger in zip(sizes, sizes[1:]):
        assert smaller["rows"] < larger["rows"], out
        assert smaller["image_bytes"] < larger["image_bytes"], out
    assert ROWS * 0.8 < sizes[-1]["rows"] < ROWS * 1.2, out
    for size in sizes:
        assert size["ns_per_row"] >= size["fastest_ns_per_row"] > 0, out
        assert size["peak_bytes"] > size["image_bytes"], out
    for figure in "fastest_ns_per_row", "peak_bytes_per_row":
        *smaller, largest = (size[figure] for size in sizes)
        assert largest < FACTOR * statistics.median(smaller), f"{figure}:\n{out}"


if __name__ == "__main__":
    main()
