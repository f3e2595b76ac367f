#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles a program in each of many languages, linked in different ways.

usage: check_languages.py DWARFPROF SOURCE-DIR [PROGRAM...]

Compiles test-programs/languages with the compilers in PATH and, if their versions differ, those in
/usr/bin, and profiles each program for some seconds. At least the share next to it must be
complete, each complete stack must end at a known root, and the others must have one of the outcomes
listed. Those lost for want of unwind information must end in code that has none, as readelf sees
it. docs/ACCURACY.md has the shares.
"""
import bisect
import collections
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import chance
import harness

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test-programs"))
import compare_oracle  # noqa: E402

SECONDS = ("4", "30")
HZ = "999"
# Up to one stack in 2,000 is not like the others of its program.
USUAL = 0.0005
MIN_SAMPLES = 300

# Roots of stacks: C's, Go's.
C_ROOTS = {"_start", "clone3", "__clone3"}
GO_ROOTS = {"runtime.goexit", "runtime.mstart", "runtime.clone", "runtime.rt0_go"} | C_ROOTS

# name: (build command, run command, minimum share of complete stacks, roots, other outcomes)
PROGRAMS = {
    "C, static": ("gcc -O2 -static -o {out} {src}/busy.c", "{out}", 99, C_ROOTS, {"no_rule"}),
    "C, static-pie": ("gcc -O2 -static-pie -o {out} {src}/busy.c", "{out}", 99, C_ROOTS, {"no_rule"}),
    "C, by clang": ("clang -O2 -o {out} {src}/busy.c", "{out}", 99, C_ROOTS, {"no_rule"}),
    "C, musl, static": ("musl-gcc -O2 -static -o {out} {src}/busy.c", "{out}", 0, set(),
                        {"no_rule", "no_call"}),
    # It panics. libgcc overwrites the saved registers with the catcher's some instructions before
    # it jumps there (uw_install_context()): 5 of 170,000 stacks, which may end anywhere.
    "Rust": ("rustc --edition 2021 -O -o {out} {src}/busy.rs", "{out}", 99, C_ROOTS,
             {"stack_direction", "no_rule", "no_mapping", "no_call", "read_fault"}),
    "Go": ("go build -o {out} {src}/busy.go", "{out}", 99.5, GO_ROOTS, {"goroutine_left", "read_fault"}),
    "Go, with C": ("go build -o {out} {src}/busy_cgo.go", "{out}", 99.5, GO_ROOTS,
                   {"goroutine_left", "read_fault", "no_rule"}),
    "OCaml": ("ocamlopt -o {out} {dir}/busy.ml", "{out}", 99, C_ROOTS, {"no_rule"}),
    "Node.js": (None, "node {src}/busy.js", 97, C_ROOTS, {"no_rule", "no_table", "no_call"}),
    "Java, -XX:+PreserveFramePointer": (None, "java -XX:+PreserveFramePointer {src}/Busy.java", 97,
                                        C_ROOTS, {"no_rule", "no_table", "no_call"}),
    "Java": (None, "java {src}/Busy.java", 97, C_ROOTS,
             {"no_rule", "no_table", "no_call", "chain_end"}),
}

# Code without any unwind information: the minimum share of stacks, in percent, that are incomplete,
# and the outcomes of nearly all of these. Whoever improves that must raise a floor above.
LOST = {
    "C, musl, static": (99, "no_rule"),
}


def profile(dwarfprof, command, path, seconds):
    """The samples of a program, which runs unprofiled for a while first."""
    target = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # Until Java has compiled the program.
        harness.wait_until_it_runs(target.pid, 4 if os.path.basename(command[0]) == "java" else 1)
        subprocess.run([dwarfprof, "-F", HZ, "-d", seconds, "-p", str(target.pid), "-o", path],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        target.kill()
        target.wait()
    with open(path) as file:
        return [json.loads(line) for line in file]


def build(command, source, directory, out):
    environment = dict(os.environ, GO111MODULE="off", CGO_ENABLED="1",
                       GOCACHE=os.path.join(directory, "go"))
    # ocamlopt writes next to its source.
    subprocess.run(["cp", os.path.join(source, "busy.ml"), directory], check=True)
    subprocess.run(command.format(out=out, src=source, dir=directory).split(), check=True,
                   env=environment, stdout=subprocess.DEVNULL)


def version_of(tool):
    """The version that a compiler or runtime prints."""
    option = {"go": ["version"], "ocamlopt": ["-version"]}.get(os.path.basename(tool), ["--version"])
    said = subprocess.run([tool, *option], capture_output=True, text=True, check=True).stdout
    return re.search(r"\d+\.\d[\w.]*", said)[0]


def tools(name):
    """{version: path}, of the tool in PATH and the system's own."""
    paths = filter(os.path.exists, (os.path.join("/usr/bin", name), shutil.which(name) or ""))
    found = {version_of(path): path for path in paths}
    if not found:
        sys.exit(f"there is no {name}; try: ci/setup test")
    return found


def with_tool(command, path):
    """A command with its tool replaced by this one."""
    return command and " ".join([path, *command.split()[1:]])


def least_samples(name):
    """How many decide whether enough are complete, or enough are not, without unwind information."""
    floor = PROGRAMS[name][2] or 99
    return max(MIN_SAMPLES, chance.enough(USUAL, 1 - floor / 100))


@functools.cache
def described(path):
    """[(start, end)] of the code that a file's .eh_frame describes, sorted."""
    return sorted(compare_oracle.described(path))


def is_described(sample):
    """Does the file of the last frame have unwind information for it, and no frame pointer, which
    may be wrong in such a program, led there?"""
    last = sample["user_stack"][-1]
    if not os.path.isfile(last["module"] or "") or "frame_pointer" in {f["method"] for f in sample["user_stack"]}:
        return False
    address = int(last["offset"], 16) - (last["method"] == "table")
    i = bisect.bisect_right(described(last["module"]), (address, sys.maxsize)) - 1
    return i >= 0 and address < described(last["module"])[i][1]


def is_good(name, user):
    _, _, wanted, roots, others = PROGRAMS[name]
    complete = [s for s in user if s["outcome"] == "complete"]
    wrong = collections.Counter(s["user_stack"][-1]["symbol"] for s in complete
                                if s["user_stack"][-1]["symbol"] not in roots)
    ends = {s["outcome"] for s in user} - {"complete"} - others
    if wrong:
        print(f"{name}: these are no roots: {dict(wrong)}")
    if ends:
        print(f"{name}: stacks end with {ends}")
    share, outcome = LOST.get(name, (0, None))
    n_lost = len(user) - len(complete)
    if 100 * n_lost < share * len(user):
        print(f"{name}: {n_lost} of {len(user)} stacks are not complete, less than {share} %: raise the floor")
        return False
    n_usual = sum(s["outcome"] == outcome for s in user)
    if outcome and n_usual < 0.95 * n_lost:
        print(f"{name}: {n_usual} of {n_lost} that are not complete end with {outcome}, less than 95 %")
        return False
    early = [s for s in user if outcome and s["outcome"] != "complete" and is_described(s)]
    if early:
        print(f"{name}: {len(early)} of {n_lost} stacks end in code with unwind information, as: "
              f"{early[0]['outcome']} {early[0]['user_stack'][-1]}")
        return False
    return len(user) >= least_samples(name) and 100 * len(complete) >= wanted * len(user) and \
        not wrong and not ends and user[-1]["lost"] == 0


def main():
    dwarfprof, source = map(os.path.abspath, sys.argv[1:3])
    names = sys.argv[3:] or PROGRAMS
    failed = False
    print("| program | version | samples | complete | frames (median) | not complete |")
    print("|---|---|--:|--:|--:|---|")
    for name, version, path in [(name, *tool) for name in names for tool in
                                tools((PROGRAMS[name][0] or PROGRAMS[name][1]).split()[0]).items()]:
        command, start, *_ = PROGRAMS[name]
        command, start = (with_tool(command, path), start) if command else (None, with_tool(start, path))
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, "busy")
            if command:
                build(command, source, directory, out)
            for seconds in SECONDS:
                samples = profile(dwarfprof, start.format(out=out, src=source).split(),
                                  os.path.join(directory, "samples.jsonl"), seconds)
                user = [s for s in samples if s["outcome"] != "no_user_stack"]
                if len(user) >= least_samples(name):
                    break
            outcomes = collections.Counter(s["outcome"] for s in user)
            share = 100 * outcomes["complete"] / max(len(user), 1)
            depth = sorted(len(s["user_stack"]) for s in user)[len(user) // 2] if user else 0
            others = ", ".join(f"{n} {word}" for word, n in outcomes.most_common() if word != "complete")
            print(f"| {name} | {version} | {len(user)} | {share:.2f} % | {depth} | {others} |", flush=True)
            failed |= not is_good(name, user)
    return int(failed)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    sys.exit(main())
