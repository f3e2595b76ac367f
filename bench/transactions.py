#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `dwarfprof agent` costs a machine that works: PostgreSQL's transactions with and without it.

usage: bench/transactions.py BUILD RESULTS [--select] [-n TIMES] [-s SECONDS] [--settle SECONDS] [-F HZ] [--write]

pgbench runs for SECONDS (10) with an agent that profiles all processes, with a store, and has done so for
SETTLE (5), and without one: TIMES (20) each, in pairs whose order changes, as the machine's speed drifts.
Printed are the medians, and the mean difference within a pair with its 95 % interval (Student's t), which
bounds what is not seen. --select: transactions that only read, so that the CPUs and not the disk limit
them. RESULTS/transactions.json gets all of it; with --write, docs/BENCHMARKS.md a line. Needs root, cgroup v2, and `ci/setup bench`.
"""
import argparse
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import agent
import machine
import workloads

COMMAND = "bench/transactions.py"
CLIENTS, THREADS = 4, 2
# Two-sided 95 % by degrees of freedom, and beyond the last.
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 7: 2.36, 9: 2.26, 14: 2.14, 19: 2.09, 29: 2.05}
T95_MANY = 1.96


def student(freedom):
    """At least the quantile: that of the next smaller number in the table."""
    return T95[max(known for known in T95 if known <= freedom)] if freedom <= max(T95) else T95_MANY


def rate(client, seconds, kind):
    """Transactions per second."""
    said = subprocess.run([*client, *kind, "-n", "-c", str(CLIENTS), "-j", str(THREADS), "-T", str(seconds), "postgres"],
                          check=True, cwd="/", capture_output=True, text=True).stdout
    return float(re.search(r"^tps = ([\d.]+)", said, re.M)[1])


def with_agent(args, client):
    with tempfile.TemporaryDirectory() as directory, agent.Cgroup() as cgroup, \
            agent.Agent(args.build, directory, args.freq, cgroup) as one:
        time.sleep(args.settle)
        before = one.look()
        found = rate(client, args.seconds, args.kind)
        return found, one.look().samples - before.samples


def measure(args):
    """(transactions with it, without it, samples meanwhile) of each pair."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o711)  # the server runs as another user
        with workloads.verify.postgres_server(directory) as (_, client):
            rate(client, args.seconds, args.kind)  # what is read first is in no cache
            for i in range(args.times):
                without = rate(client, args.seconds, args.kind) if i % 2 else None
                found, samples = with_agent(args, client)
                without = rate(client, args.seconds, args.kind) if without is None else without
                print(f"{found:,.0f} transactions per second with it, {without:,.0f} without, {samples} samples", flush=True)
                yield found, without, samples


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("results")
    parser.add_argument("--select", dest="kind", action="store_const", const=["-S"], default=[])
    parser.add_argument("-n", "--times", type=int, default=20)
    parser.add_argument("-s", "--seconds", type=int, default=10)
    parser.add_argument("--settle", type=float, default=5)
    parser.add_argument("-F", "--freq", type=int, default=19)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if args.times < 2:
        parser.error("-n: an interval needs 2 pairs")
    try:
        pairs = list(measure(args))
    except workloads.Missing as missing:
        sys.exit(f"{missing} is not installed: run ci/setup bench")
    lost = [100 * (1 - found / without) for found, without, _ in pairs]
    mean = statistics.mean(lost)
    around = student(len(lost) - 1) * statistics.stdev(lost) / math.sqrt(len(lost))
    print(f"medians: {statistics.median(p[0] for p in pairs):,.0f} with it, {statistics.median(p[1] for p in pairs):,.0f} without")
    fewer = f"fewer with it: {mean:.2f} % ({mean - around:.2f} to {mean + around:.2f} %, 95 %)"
    print(f"{fewer}: {'no difference is seen' if abs(mean) <= around else 'the difference is more than noise'}")
    if args.write:
        kind = "that only read" if args.kind else "of pgbench"
        machine.figures.write(agent.PAGE, COMMAND, f"\n{args.times} pairs of {args.seconds} s, transactions {kind}: {fewer}.\n\n"
                                                   f"{machine.figures.origin()}")
    machine.write(args.results, "transactions", hz=args.freq, pairs=pairs, fewer_percent=[mean - around, mean, mean + around])


if __name__ == "__main__":
    main()
