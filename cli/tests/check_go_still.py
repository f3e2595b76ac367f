#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares stacks of Go programs with those of Delve, Go's debugger.

usage: check_go_still.py DWARFPROF SOURCE-DIR [ROW...]

SOURCE-DIR is test-programs/languages/go. The program `still`, compiled by each version of Go, has
threads whose stacks do not change. `dwarfprof dump`, and then Delve, which stops them, show the
same threads. All addresses must be equal except the innermost, which is in a loop. A row is a
version and a way to build, such as 1.26/pie.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import go_toolchains

# Threads that count: main(), those it starts, and C's.
THREADS = 14
WAYS = {"default": [], "pie": ["-buildmode=pie"]}


def delve(pid, directory):
    """Stacks of running goroutines by thread, as lists of addresses, innermost first."""
    script = os.path.join(directory, "script")
    with open(script, "w") as file:
        file.write("goroutines -t 200\nexit\n")
    said = subprocess.run([go_toolchains.fetch_delve(), "attach", pid, "--init", script,
                           "--allow-non-terminal-interactive=true", "--check-go-version=false"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    stacks, stack = {}, []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", said).splitlines():
        if re.match(r"[* ] Goroutine ", line):
            stack = []
            if thread := re.search(r"\(thread (\d+)\)", line):
                stacks[int(thread[1])] = stack
        elif frame := re.match(r"\s+\d+\s+0x([0-9a-f]+) in (\S+)", line):
            # Between these two, where the stack is switched, Delve shows a frame that was never
            # called.
            if frame[2] == "runtime.cgocall" and stack[-2][1] == "runtime.asmcgocall":
                stack.pop()
            stack.append((int(frame[1], 16), frame[2]))
    return stacks


def dump(dwarfprof, pid, directory):
    """The same from dump, with each stack's outcome."""
    path = os.path.join(directory, "dump.jsonl")
    subprocess.run([dwarfprof, "dump", "-U", "-p", pid, "--format", "jsonl", "-o", path], check=True,
                   capture_output=True)
    with open(path) as file:
        samples = [json.loads(line) for line in file]
    return {s["tid"]: (s["outcome"], [(int(frame["address"], 16), frame["symbol"]) for frame in s["user_stack"]])
            for s in samples}


def is_still(stack):
    return stack and stack[0][1] in ("main.still", "C.c_still")


def words(stack):
    return " < ".join(f"{name} {address:#x}" for address, name in stack)


def check(dwarfprof, source, row, directory):
    """Prints a row. Returns whether it is good."""
    version, way = row.split("/")
    path = os.path.join(directory, "still")
    subprocess.run([go_toolchains.fetch(version), "build", *WAYS[way], "-o", path, "."], check=True,
                   cwd=os.path.join(source, "still"), env=go_toolchains.environment(GO111MODULE="off"))
    # A preempted goroutine would not be where it was.
    target = subprocess.Popen([path], env=dict(os.environ, GODEBUG="asyncpreemptoff=1"), stdout=subprocess.PIPE)
    try:
        target.stdout.readline()
        dumped = dump(dwarfprof, str(target.pid), directory)
        shown = delve(str(target.pid), directory)
    finally:
        target.kill()
        target.wait()
    shown = {tid: stack for tid, stack in shown.items() if is_still(stack)}
    n_equal, different = 0, []
    for tid, stack in shown.items():
        outcome, mine = dumped.get(tid, ("missing", []))
        is_equal = [address for address, _ in mine[1:]] == [address for address, _ in stack[1:]]
        n_equal += outcome == "complete" and is_equal
        if outcome == "complete" and not is_equal:
            different.append(f"  dwarfprof: {words(mine)}\n  Delve: {words(stack)}")
    incomplete = [dumped[tid][0] for tid in shown if tid in dumped and dumped[tid][0] != "complete"]
    print(f"| {go_toolchains.VERSIONS[version]} | {way} | {len(shown)} | {n_equal} | {len(different)} "
          f"| {' '.join(incomplete)} |", flush=True)
    if different:
        print("\n".join(different))
    return len(shown) == THREADS and n_equal == THREADS and not different


def main():
    dwarfprof, source = map(os.path.abspath, sys.argv[1:3])
    good = True
    print("| Go | built | threads | equal | different | not complete |")
    print("|---|---|--:|--:|--:|---|")
    for row in sys.argv[3:] or [f"{version}/{way}" for version in go_toolchains.VERSIONS for way in WAYS]:
        with tempfile.TemporaryDirectory() as directory:
            good &= check(dwarfprof, source, row, directory)
    return int(not good)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    sys.exit(main())
