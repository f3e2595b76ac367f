#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles Go programs whose stacks are known, compiled by several versions of Go in many ways.

usage: check_go.py DWARFPROF SOURCE-DIR [-v] [--seconds N] [--keep DIR] [--write-floors] [ROW...]

SOURCE-DIR is test-programs/languages/go. A row is a version and a way to build, such as 1.26/pie.
1.26 stands for all ways of a version, pie for that way in all versions. go_floors.txt has each
row's minimum share of complete stacks, and its maximum share of wrong ones: complete stacks that
the program cannot have (go_chains.py), or with a call that does not go to the function shown
(go_calls.py). -v prints where incomplete stacks end. --keep keeps programs and samples in a
directory. --write-floors writes the measured shares to go_floors.txt, with a margin for chance,
leaving out rows that reach the goal.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import chance
import go_calls
import go_chains
import go_frames
import go_toolchains
import harness

HZ = "997"
SECONDS = 2
# Of the rows that reach the goal, up to one stack in 2,000 is not complete.
MIN_SAMPLES = chance.enough(0.0005, 0.005)
MIN_SAMPLES_IN_ALL = 20000
FLOORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "go_floors.txt")
# Limits of rows that are not in go_floors.txt: minimum of complete and maximum of wrong stacks, in
# percent.
GOAL = (99.5, 0)
# Maximum share, in percent, of stacks in a signal handler that Go runs without a goroutine, because
# the signal came while C's thread entered Go. Go deliberately forgets the thread's origin until
# that is over (sigtrampgo(): setg(nil), then badsignal()); how often that happens depends on the
# load.
MOST_FORGOTTEN = 2
# A row with at least this share of complete stacks must show the starts of all its chains.
ALL_SEEN = 99

# way: (program, flags of `go build`, how a C program includes it)
WAYS = {
    "default": ("chains", [], None),
    "stripped": ("chains", ["-ldflags=-s -w"], None),
    "pie": ("chains", ["-buildmode=pie"], None),
    "pie-stripped": ("chains", ["-buildmode=pie", "-ldflags=-s -w"], None),
    "trimpath": ("chains", ["-trimpath"], None),
    "noinline": ("chains", ["-gcflags=all=-l"], None),
    "cgo": ("chains_cgo", [], None),
    "cgo-stripped": ("chains_cgo", ["-ldflags=-s -w"], None),
    "cgo-pie": ("chains_cgo", ["-buildmode=pie"], None),
    "race": ("chains_cgo", ["-race"], None),
    "c-shared": ("chains_cgo", ["-buildmode=c-shared"], "opened"),
    "c-shared-linked": ("chains_cgo", ["-buildmode=c-shared"], "linked"),
    "c-archive": ("chains_cgo", ["-buildmode=c-archive"], "linked"),
}


def run(command, **kwargs):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kwargs)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout}")


def build(source, row, directory, is_twin=False):
    """Builds a row's program; returns the command that runs it. A twin is the same program with
    symbols."""
    version, way = row.split("/")
    program, flags, taken = WAYS[way]
    if is_twin:
        flags = [flag for flag in flags if not flag.startswith("-ldflags")]
    os.makedirs(directory, exist_ok=True)
    out = os.path.join(directory, {"c-archive": "libchains.a"}.get(way, "libchains.so") if taken else program)
    run([go_toolchains.fetch(version), "build", *flags, "-o", out, "."], cwd=os.path.join(source, program),
        env=go_toolchains.environment(GO111MODULE="off"))
    if not taken:
        return [out]
    host = os.path.join(directory, "host")
    command = ["gcc", "-O2", "-fomit-frame-pointer", "-pthread", "-o", host,
               os.path.join(source, program, "host", "host.c")]
    if taken == "opened":
        run(command)
        return [host, out]
    run(command + ["-DLINKED", out, f"-Wl,-rpath,{directory}"])
    return [host]


def catches(pid, number):
    """Has a process installed a handler for the signal?"""
    with open(f"/proc/{pid}/status") as file:
        mask = next(line for line in file if line.startswith("SigCgt:"))
    return int(mask.split()[1], 16) >> number - 1 & 1


def profile(dwarfprof, command, path, seconds, enough):
    """The samples of a program, which receives signals meanwhile: as many as are enough, or those of that time."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
    # As many threads as on small machines, to bound the time.
    target = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=dict(os.environ, GOMAXPROCS="2"))
    try:
        while target.poll() is None and not catches(target.pid, signal.SIGUSR1):
            time.sleep(0.01)
        time.sleep(0.2)
        profiler = subprocess.Popen([dwarfprof, "-F", HZ, "-d", str(seconds), "-p", str(target.pid), "-o", path],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        written, looked = harness.Lines(path), time.monotonic()
        while profiler.poll() is None:
            target.send_signal(signal.SIGUSR1)
            time.sleep(0.002)
            if time.monotonic() > looked + 0.1:
                looked = time.monotonic()
                if written.count() >= enough:
                    profiler.send_signal(signal.SIGINT)
                    profiler.wait()
        if target.poll() is not None:
            sys.exit(f"{' '.join(command)} ended with {target.returncode}")
        if profiler.returncode != 0:
            sys.exit(profiler.stderr.read())
    finally:
        target.kill()
        target.wait()
    with open(path) as file:
        return [sample for line in file if (sample := json.loads(line))["outcome"] != "no_user_stack"]


class Row:
    """Evaluates the samples of a row."""

    def __init__(self, chains, calls, samples):
        self.chains, self.frames = chains, go_frames.Frames(calls)
        self.n, self.outcomes = len(samples), collections.Counter(s["outcome"] for s in samples)
        self.lost = samples[-1]["lost"] if samples else 0
        self.wrong, self.ends = collections.Counter(), collections.Counter()
        self.n_checked, self.n_without_c, self.n_forgotten, self.seen = 0, 0, 0, set()
        for sample in samples:
            self.add(sample)

    def add(self, sample):
        stack = [frame for frame in sample["user_stack"] if not frame["inlined"]]
        why = self.frames.wrong(stack)
        names = [self.frames.name(stack, i) for i in range(len(stack))]
        if sample["outcome"] != "complete":
            self.ends[sample["outcome"], names[-1] if names else None] += 1
            self.n_forgotten += sample["outcome"] == "register_lost" and names[-1] == "runtime.cgocallback" and \
                "runtime.badsignal" in names
        elif names[-1]:
            names = [go_chains.plain(name) for name in names]
            wrong_chain, is_without_c = self.chains.verdict(names)
            why = why or wrong_chain
            # Only frames that a panic has dropped may be missing.
            if is_without_c and "runtime.gopanic" not in names:
                why = why or "C is left out"
            self.n_checked += 1
            self.n_without_c += is_without_c
            self.seen.update(self.chains.of(names)[:1])
        if why:
            self.wrong[why + "\n    " + " < ".join(map(str, names))] += 1

    def share(self):
        return 100 * self.outcomes["complete"] / max(self.n, 1)

    def share_of_possible(self):
        return 100 * self.outcomes["complete"] / max(self.n - self.n_forgotten, 1)

    def wrong_share(self):
        return 100 * self.wrong.total() / max(self.n, 1)

    def line(self, row):
        others = ", ".join(f"{n} {word}" for word, n in self.outcomes.most_common() if word != "complete")
        version, way = row.split("/")
        return f"| {WAYS[way][0]} | {go_toolchains.VERSIONS[version]} | {way} | {self.n} | {self.share():.2f} % " \
            f"| {self.n_checked} | {self.wrong.total()} | {self.n_without_c} | {others} |"

    def unseen(self):
        """Chain starts that no sample shows, except those that always wait."""
        busy = {chain[0] for chain in self.chains.whole if chain[-1] in ("main.spin", "c_spin")}
        return busy - self.seen if self.n_checked and self.share() >= ALL_SEEN else set()

    def faults(self, floor, wrong):
        """What is wrong with the row, given its limits."""
        if self.n < MIN_SAMPLES:
            yield f"{self.n} samples, fewer than {MIN_SAMPLES}"
        if self.lost:
            yield f"{self.lost} samples lost"
        if self.n_checked < self.outcomes["complete"]:
            yield f"{self.outcomes['complete'] - self.n_checked} complete stacks could not be checked"
        if self.share_of_possible() < floor:
            yield f"{self.share_of_possible():.2f} % are complete, less than {floor} %"
        if 100 * self.n_forgotten > MOST_FORGOTTEN * self.n:
            yield f"{self.n_forgotten} of {self.n} are in handlers without a goroutine, more than {MOST_FORGOTTEN} %"
        if self.wrong_share() > wrong:
            yield f"{self.wrong_share():.2f} % are wrong, more than {wrong} %"
            for why, n in self.wrong.most_common(5):
                yield f"{n} wrong: {why}"
        if self.unseen():
            yield f"never seen: {' '.join(sorted(self.unseen()))}"


def read_floors():
    with open(FLOORS) as file:
        return {row: (float(floor), float(wrong)) for row, floor, wrong in
                (line.split() for line in file if line.strip() and not line.startswith("#"))}


def write_floors(floors):
    with open(FLOORS) as file:
        head = [line for line in file if line.startswith("#")]
    with open(FLOORS, "w") as file:
        file.writelines(head)
        file.writelines(f"{row:24}{floors[row][0]:5.1f} {floors[row][1]:5.1f}\n" for row in all_rows() if row in floors)


def limits_of(share, wrong):
    """Half more than was missing, and twice what was wrong: chance and load decide which goroutines
    run."""
    return max(0, int(10 * (share - 1 - (100 - share) / 2)) / 10), int(20 * wrong + 5) / 10


def all_rows():
    return [f"{version}/{way}" for version in go_toolchains.VERSIONS for way in WAYS]


def check_row(options, row, command, directory):
    """Profiles a row and prints its line. Returns whether it is good."""
    program, flags, taken = WAYS[row.split("/")[1]]
    chains = go_chains.Chains(os.path.join(options.source, program), bool(taken))
    twin = None
    if "-ldflags=-s -w" in flags:
        twin = build(options.source, row, os.path.join(directory, "twin"), is_twin=True)[0]
    library = os.path.join(directory, "libchains.so")
    calls = go_calls.Calls(library if os.path.exists(library) else command[0], twin)
    # A few may be of no user stack. Two CPUs take less than that time for them, a busy machine longer.
    enough = MIN_SAMPLES * 5 // 4 * options.seconds // SECONDS
    for factor in 1, 1, 10:
        samples = profile(options.dwarfprof, command, os.path.join(directory, "samples.jsonl"), 10 * options.seconds, factor * enough)
        result = Row(chains, calls, samples)
        if result.n >= MIN_SAMPLES and not result.lost and not result.unseen():
            break
    print(result.line(row), flush=True)
    if options.verbose:
        for (outcome, name), n in result.ends.most_common(12):
            print(f"  {n:5} {outcome} at {name}")
    if options.write_floors:
        options.floors.pop(row, None)
        if result.share() < GOAL[0] or result.wrong:
            options.floors[row] = limits_of(result.share(), result.wrong_share())
    faults = list(result.faults(*options.floors.get(row, GOAL)))
    for fault in faults:
        print(f"{row}: {fault}", flush=True)
    return not faults, result.n


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof", type=os.path.abspath)
    parser.add_argument("source", type=os.path.abspath)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("-v", dest="verbose", action="store_true")
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--keep")
    parser.add_argument("--write-floors", action="store_true")
    options = parser.parse_intermixed_args()
    options.floors = read_floors()
    options.all = [row for row in all_rows()
                   if not options.rows or any(word in (row, *row.split("/")) for word in options.rows)]
    if not options.all:
        parser.error("no such row")
    return options


def main():
    options = arguments()
    good, n_samples = True, 0
    print("| program | Go | built | samples | complete | checked | wrong | C left out | not complete |")
    print("|---|---|---|--:|--:|--:|--:|--:|---|")
    with tempfile.TemporaryDirectory() as temporary:
        top = os.path.abspath(options.keep or temporary)
        places = {row: os.path.join(top, row.replace("/", "-")) for row in options.all}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            commands = list(pool.map(lambda row: build(options.source, row, places[row]), options.all))
        for row, command in zip(options.all, commands):
            is_good, n = check_row(options, row, command, places[row])
            good, n_samples = good and is_good, n_samples + n
    if options.all == all_rows() and n_samples < MIN_SAMPLES_IN_ALL:
        print(f"{n_samples} samples, fewer than {MIN_SAMPLES_IN_ALL}")
        good = False
    if options.write_floors:
        write_floors(options.floors)
    return int(not good)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    sys.exit(main())
