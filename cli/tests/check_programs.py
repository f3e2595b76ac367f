#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles real programs that Debian builds without frame pointers.

usage: check_programs.py DWARFPROF

Of each program's samples with a user stack at least 99.5 % must be complete, none lost, and none
without a table, from the first instruction on; this includes the compiler that gcc starts, whose
table takes long to build. Nor does one cost the kernel too much. docs/ACCURACY.md has the shares.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

import chance

# Longer, if the program had too little CPU time for enough samples.
SECONDS = ("1.5", "4", "10", "30")
HZ = "1999"
WANTED = 99.5
# Too late, or too much of a cost for the kernel.
NEVER = ("no_process", "no_mapping", "no_table", "tables_changed", "walk_limit", "walk_share")

PYTHON = """
import sys
sys.setrecursionlimit(10000)
def fibonacci(n): return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
def descend(n): return fibonacci(16) if n == 0 else descend(n - 1)
while True: descend(200)
"""

PERL = r"""
while (1) { my %h; for (1..20000) { $h{$_ % 997} .= chr(65 + $_ % 26) x 3 if $_ % 3; }
            my @s = sort { $a cmp $b } map { join ",", sort split //, $h{$_} } keys %h; }
"""

SQL = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000000000) "
       "SELECT sum(x * x % 7), count(DISTINCT x % 1000) FROM c;")


def large_c_file(path):
    with open(path, "w") as file:
        for i in range(4000):
            file.write(
                f"int f{i}(int a, int b) {{ int s = 0; for (int i = 0; i < a; i++) {{ s += i * b ^ {i};"
                f" if (s % {i % 7 + 2}) s -= b; switch (s & 7) {{ case 1: s += 3; break;"
                f" case 2: s *= 5; break; case 5: s ^= a; }} }} return s; }}\n")


def programs(directory):
    c_file = os.path.join(directory, "large.c")
    data = os.path.join(directory, "data")
    large_c_file(c_file)
    with open(c_file, "rb") as source, open(data, "wb") as file:
        file.write(source.read() * 40)
    return {
        "python3, a recursive script": ["/usr/bin/python3", "-c", PYTHON],
        "gcc -O2, a large file": ["gcc", "-O2", "-c", c_file, "-o", "/dev/null"],
        "openssl speed": ["openssl", "speed", "-seconds", "1", "rsa2048", "sha256", "ecdhp256"],
        "xz -9": ["xz", "-9", "-k", "-c", data],
        "sqlite3": ["sqlite3", ":memory:", SQL],
        "perl": ["perl", "-e", PERL],
    }


def least_samples(name):
    """How many decide whether enough are complete. In gcc's library for numbers, functions without unwind
    information take up to one sample in a thousand."""
    return chance.enough(0.001 if name.startswith("gcc") else 0.0001, 1 - WANTED / 100)


def profile(dwarfprof, command, path, seconds):
    """The samples of a program that runs as long as it is sampled."""
    if os.path.exists(path):
        os.unlink(path)
    target = subprocess.Popen(
        [dwarfprof, "-F", HZ, "-d", seconds, "--no-symbols", "-o", path, "--", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    # After the duration the profile is written; there is no need to wait for the program's end.
    while target.poll() is None and not is_written(path, target.pid):
        try:
            target.wait(0.2)
        except subprocess.TimeoutExpired:
            pass
    if target.poll() is None:
        os.killpg(target.pid, 9)
    target.wait()
    with open(path) as file:
        return [json.loads(line) for line in file]


def is_written(path, pid):
    """Has dwarfprof closed its output?"""
    try:
        return os.path.exists(path) and all(
            os.path.realpath(f"/proc/{pid}/fd/{fd}") != os.path.realpath(path)
            for fd in os.listdir(f"/proc/{pid}/fd"))
    except FileNotFoundError:
        return True


def main():
    dwarfprof = os.path.abspath(sys.argv[1])
    failed = False
    print("| program | samples | complete | frames (median) | not complete |")
    print("|---|--:|--:|--:|---|")
    with tempfile.TemporaryDirectory() as directory:
        for name, command in programs(directory).items():
            path = os.path.join(directory, f"{name.split()[0]}.jsonl")
            least = least_samples(name)
            # It does one thing after the other.
            for seconds in SECONDS[name.startswith("openssl"):]:
                samples = profile(dwarfprof, command, path, seconds)
                user = [s for s in samples if s["outcome"] != "no_user_stack"]
                if len(user) >= least:
                    break
            outcomes = collections.Counter(s["outcome"] for s in user)
            share = 100 * outcomes["complete"] / max(len(user), 1)
            depth = sorted(len(s["user_stack"]) for s in user)[len(user) // 2] if user else 0
            others = ", ".join(f"{n} {word}" for word, n in outcomes.items() if word != "complete")
            print(f"| {name} | {len(user)} | {share:.2f} % | {depth} | {others} |", flush=True)
            failed |= share < WANTED or len(user) < least or user[-1]["lost"] > 0
            failed |= any(outcomes[word] > 0 for word in NEVER)
    return int(failed)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    sys.exit(main())
