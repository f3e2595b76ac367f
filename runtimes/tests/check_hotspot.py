#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that stacks have Java's functions, all of them and in order, down to the thread's root.

usage: check_hotspot.py [--seconds S] [--seed N] [--mode MODE] [--show] [--fetched] DWARFPROF SOURCE [JAVA_HOME...]

SOURCE is Chain.java: chains of calls of ten kinds in random order. Before its innermost function computes,
each thread writes down the JVM's own list of its frames (Thread.getStackTrace(), with hidden ones), and
between which times it holds. In each sample from in between, the Java frames have to be that list; or at
its leaf, the functions of a ring that call each other without end, in the order of the ring. Some of these
samples are in the middle of making or leaving a frame.

SHARE of the callers in whole stacks must have their lines, and all that have one must have the JVM's; all
must have its files, also in a run of a class that has no lines.

With each collector of objects, a thread allocates so that they are moved all the time.
Virtual threads have one carrier, so that it is known which of them it runs; what runs them there is left out on both
sides. When one has waited (PARKED), most of its frames remain in the heap until they are returned to. A stack without
these (with ZGC) must not be complete, and has to have the innermost ones of the list.

Each JVM runs interpreted, compiled by C1, by C2, and with both, without inlining: SHARE of samples have
to be whole and complete. With its default flags, and with descriptions between safepoints, functions that
are inlined may be missing: what is there must be in order, and COMPLETE of the stacks complete. Code without
a name is neither whole nor wrong. Never may a stack have something else, or be complete without the
thread's root. But with descriptions between safepoints, the innermost function may be another one that is
inlined in the same method: OpenJDK 17 describes parts of a loop so, as its own listing shows
(-XX:CompileCommand=print,Chain.go). Its callers have to be right.

Samples that a JVM's start precedes are not complete, up to 0.3 s of a run on a busy machine, so too small
shares are measured again for longer. Of 20,000 samples none was wrong, and of those after the start, one in
1000 was not whole. If one in a hundred is not, MIN_SAMPLES fail for it with a probability of 2e-4.

JAVA_HOME: else those of this machine, or with --fetched those of `ci/setup runtimes`.
"""
import argparse
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import fetched

HZ = "997"
# A hundred frames in the heap, read one by one, take about as much of a CPU at that rate as a process may (bpf/share.h).
HEAP_HZ = "199"
SHARE = 0.95
COMPLETE = 0.95
MIN_SAMPLES = 150
# Of a class file; JDK 8 gives what has no line one from 1000000 on.
MAX_LINE = 0xffff
SECONDS = (1.5, 5, 15)
HIDDEN = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames"]
MODES = {
    "interpreted": ["-Xint"],
    "C1": ["-XX:TieredStopAtLevel=1", "-XX:-Inline"],
    "C2": ["-XX:-TieredCompilation", "-XX:-Inline"],
    "tiered": ["-XX:-Inline"],
    "default": [],
    "described": ["-XX:+DebugNonSafepoints"],
}
# Each collector of objects that a JVM has, while it moves them.
COLLECTORS = ("Serial", "Parallel", "G1", "Z", "Shenandoah")
PARKED = {
    "parked": ["-XX:-Inline"],
    "parked, interpreted": ["-Xint"],
    "parked, whole references": ["-XX:-Inline", "-XX:-UseCompressedOops"],
    "parked, ZGC": ["-XX:-Inline", "-XX:+UseZGC"],
}
# Virtual threads on one carrier.
ONE_CARRIER = ["-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1"]
FIRST_VIRTUAL = 21
# The first whose tables say where a stack goes on behind frames in the heap.
FIRST_THAWED = 22
Mode = collections.namedtuple("Mode", "name flags arguments")
ALL = [*(Mode(name, flags, ()) for name, flags in MODES.items()),
       *(Mode(name + "GC", ["-XX:-Inline", "-XX:+UnlockExperimentalVMOptions", f"-XX:+Use{name}GC", "-Xmx96m"], ("litter",))
         for name in COLLECTORS),
       Mode("virtual", ["-XX:-Inline", *ONE_CARRIER], ("virtual",)),
       *(Mode(name, flags + ONE_CARRIER, ("virtual", "parks")) for name, flags in PARKED.items())]
# How stacks end without those frames, and what stands in front of them.
IN_HEAP = "frames_in_heap"
BARRIER = "[StubRoutines (continuation"
# What a carrier runs a virtual thread by, and what that begins with; and the name of the carrier.
CARRIER = re.compile(r"java\.util\.concurrent\.|java\.lang\.(Virtual)?Thread|jdk\.internal\.|java\.lang\.invoke\.|java\.lang\.Base")
CARRIER_NAME = "ForkJoinPool-1-"
# Those in which functions are inlined.
INLINING = ("default", "described", "without lines")
# javac's option for it leaves out the lines.
UNLINED = "-g:source,vars"
# Who calls whom in the ring.
RING = {"Chain.ringA": {"Chain.storm", "Chain.ringC", "Chain.ringD"}, "Chain.ringB": {"Chain.ringA"},
        "Chain.ringC": {"Chain.ringB"}, "Chain.ringD": {"Chain.ringC"}}
# What computing calls, or the JVM on its behalf.
LEAVES = {"java.lang.System.nanoTime"}
# Compiled code that the JVM has thrown away, or a JVM that has ended, before its name was read.
UNLOADED = "[java, unloaded]"
ROOTS = {"clone3", "__clone3", "__clone", "clone"}


FETCHED = ("8", "11", "17", "21", "25")


def homes():
    found = {os.path.realpath(p) for p in glob.glob("/usr/lib/jvm/*")}
    return sorted(p for p in found if os.path.exists(p + "/lib/server/libjvm.so"))


def version_of(home):
    said = subprocess.run([home + "/bin/java", "-version"], capture_output=True, text=True, check=True).stderr
    return said.splitlines()[0].replace('"', "")


def plain(name):
    """A function's name without what the JVM makes up for a hidden class."""
    return re.sub(r"(\$\$Lambda)[^.]*(?=\.)", r"\1", name)


def parse(text, is_virtual):
    for line in text.splitlines():
        mark, thread, began, end, *frames = line.split("\t")
        # Without getStackTrace() itself.
        names, files, lines = zip(*(f.rsplit(":", 2) for f in frames[1:]))
        if is_virtual:
            n = len(without_carrier(names))
            names, files, lines, thread = names[:n], files[:n], lines[:n], CARRIER_NAME
        yield {"mark": mark, "thread": thread, "began": int(began), "end": int(end), "is_virtual": is_virtual,
               "frames": [plain(n) for n in names], "lines": [int(n) for n in lines],
               "files": [None if f in ("null", "<Unknown>") else f for f in files]}


def n_carried(names):
    """How many of a virtual thread's functions are not its program's."""
    n = 0
    while n < len(names) and CARRIER.match(names[-1 - n]):
        n += 1
    return n


def without_carrier(names):
    return names[:len(names) - n_carried(names)]


def java_frames(sample, is_virtual=False):
    """The functions of Java, leaf first; without stubs, whose names are in brackets."""
    frames = [f["symbol"] or "?" for f in sample["user_stack"] if f["kind"] == "java"]
    frames = [plain(f) for f in frames if not f.startswith("[") or f == UNLOADED]
    while frames and frames[0] in LEAVES:
        frames.pop(0)
    return without_carrier(frames) if is_virtual else frames


def callers_places(sample, window):
    """Pairs of a function's line and the JVM's, and of its file, of all of a whole stack but the innermost function."""
    frames = [f for f in sample["user_stack"] if f["kind"] == "java" and not f["symbol"].startswith("[")]
    if window["is_virtual"]:
        frames = frames[:len(frames) - n_carried([f["symbol"] for f in frames])]
    names = [plain(f["symbol"]) for f in frames]
    first = next(i for i in range(len(names) + 1) if names[i:] == window["frames"][:len(names) - i])
    callers = frames[first + 1:]
    lines = [(f["line"], line) for f, line in zip(callers, window["lines"][1:]) if 0 < line <= MAX_LINE]
    return lines, [(f["file"], file) for f, file in zip(callers, window["files"][1:])]


def is_part(frames, chain):
    """Are the frames in the chain, in its order?"""
    rest = iter(chain)
    return all(f in rest for f in frames)


def judge(frames, window, inlines, is_cut=False):
    """whole (if it is cut: as far as it goes), part, unloaded (what there is of it is a part) or wrong"""
    ring = 0
    if UNLOADED in frames:
        known = [f for f in frames if f != UNLOADED]
        return "wrong" if judge(known, window, True) == "wrong" else "unloaded"
    if window["mark"] == "storm":
        while ring < len(frames) and frames[ring] in RING:
            ring += 1
        callers = frames[1:ring + 1]
        if any(caller not in RING[f] for f, caller in zip(frames, callers)) and not inlines:
            return "part" if set(callers) <= set(RING) | {"Chain.storm"} else "wrong"
    rest = frames[ring:]
    if rest == (window["frames"][:len(rest)] if is_cut else window["frames"]):
        return "whole"
    return "part" if is_part(rest, window["frames"]) else "wrong"


def is_in_its_caller(sample):
    """Is the innermost function of Java inlined in its caller, so that both have one address?"""
    java = [f["address"] for f in sample["user_stack"] if f["kind"] == "java"]
    return len(java) > 1 and java[0] == java[1]


def is_rooted(sample):
    return sample["outcome"] != "complete" or sample["user_stack"][-1]["symbol"] in ROOTS


class Run:
    def __init__(self, options, home, mode, folder):
        self.options, self.mode, self.folder = options, mode.name, folder
        self.name = f"{version_of(home)}, {mode.name}"
        self.version = int(re.search(r"version (\d+)", self.name)[1])
        self.is_virtual, self.parks = "virtual" in mode.arguments, "parks" in mode.arguments
        self.java = [home + "/bin/java", *HIDDEN, *mode.flags]
        self.program = ["-cp", folder, "Chain", str(options.seed)]
        self.arguments = mode.arguments

    def is_possible(self):
        """Does the JVM have that collector, and virtual threads?"""
        if self.is_virtual and self.version < FIRST_VIRTUAL:
            return False
        return subprocess.run([*self.java, "-version"], capture_output=True, check=False).returncode == 0

    def samples(self, seconds):
        out = os.path.join(self.folder, "out.jsonl")
        command = [self.options.dwarfprof, "record", "-F", HEAP_HZ if self.parks else HZ, "-o", out, "--", *self.java, *self.program,
                   str(seconds), *self.arguments]
        printed = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=600).stdout
        windows = list(parse(printed.decode(), self.is_virtual))
        with open(out) as file:
            for line in file:
                sample = json.loads(line)
                for w in windows:
                    if (sample.get("thread_name") == w["thread"] and sample["user_stack"] and
                            w["began"] < sample["time_ns"] < w["end"]):
                        yield sample, w

    def show(self, sample, window):
        print(f"  {window['mark']}, {sample['outcome']}:")
        print("    found   ", " ".join(reversed([f["symbol"] or "?" for f in sample["user_stack"]])))
        print("    expected", " ".join(reversed(window["frames"])))

    def count(self, seconds):
        """Samples by what they have, and their callers' lines."""
        counts = collections.Counter()
        for sample, window in self.samples(seconds):
            frames = java_frames(sample, self.is_virtual)
            is_cut = self.parks and sample["outcome"] == IN_HEAP
            verdict = judge(frames, window, self.mode in INLINING, is_cut)
            # Without any, the JVM is not known yet.
            if self.parks and sample["outcome"] == "complete" and frames and frames[-1] not in (window["frames"][-1], UNLOADED):
                verdict = "wrong"
            if (verdict == "wrong" and self.mode == "described" and is_in_its_caller(sample) and
                    judge(frames[1:], window, True) != "wrong"):
                verdict = "misdescribed"
            pairs, files = callers_places(sample, window) if verdict == "whole" else ([], [])
            counts["lines"] += sum(found is not None for found, line in pairs)
            counts["no lines"] += sum(found is None for found, line in pairs)
            if any(found not in (line, None) for found, line in pairs):
                verdict = "wrong"
                print("  lines", pairs)
            if any(found != file for found, file in files):
                verdict = "wrong"
                print("  files", files)
            counts[verdict] += 1
            counts["samples"] += 1
            counts["complete"] += sample["outcome"] == "complete"
            counts["cut"] += is_cut
            counts["in heap"] += any((f["symbol"] or "").startswith(BARRIER) for f in sample["user_stack"])
            counts["rootless"] += not is_rooted(sample)
            if verdict == "wrong" or (self.options.show and verdict == "part"):
                self.show(sample, window)
        return counts

    def check(self):
        for seconds in self.options.seconds or SECONDS:
            counts = self.count(seconds)
            n, complete, rootless = counts["samples"], counts["complete"], counts["rootless"]
            wanted = 0 if self.mode in INLINING else SHARE
            right = counts["wrong"] == 0 and rootless == 0
            may_be_cut = self.mode == "parked, ZGC" or (self.parks and self.version < FIRST_THAWED)
            n_lines = counts["lines"] + counts["no lines"]
            lines = counts["lines"] / n_lines if n_lines > 0 else float(may_be_cut)
            good = (right and n >= MIN_SAMPLES and lines >= SHARE and counts["whole"] >= wanted * n and
                    counts["unloaded"] <= (1 - SHARE) * n and complete + may_be_cut * counts["cut"] >= COMPLETE * n and
                    counts["in heap"] >= self.parks * MIN_SAMPLES)
            if good or not right:
                break
        print(f"{self.name}: {n} samples, {100 * complete / max(n, 1):.1f} % complete, "
              f"{100 * counts['whole'] / max(n, 1):.1f} % whole, "
              f"{100 * lines:.1f} % of lines, {counts['unloaded']} unloaded, {counts['misdescribed']} misdescribed, "
              f"{counts['in heap']} with frames in the heap, {counts['cut']} without, {counts['wrong']} wrong, "
              f"{rootless} without a root{'' if good else ': FAILED'}", flush=True)
        return good


def measure(dwarfprof, target, seed, seconds):
    """One run, for check_chains.py."""
    home, mode, source = target
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([home + "/bin/javac", "-d", folder, shutil.copy(source, folder)], check=True)
        options = argparse.Namespace(dwarfprof=dwarfprof, seed=seed, show=False)
        run = Run(options, home, mode, folder)
        counts = run.count(seconds) if run.is_possible() else collections.Counter()
    return {**counts, "wrong": counts["wrong"] + counts["rootless"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", action="append", choices=[mode.name for mode in ALL])
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--fetched", action="store_true")
    parser.add_argument("dwarfprof")
    parser.add_argument("source")
    parser.add_argument("java", nargs="*")
    options = parser.parse_args()
    found = options.java or ([fetched.find("jvm", v) for v in FETCHED] if options.fetched else homes())
    if not found:
        sys.exit("no JVM: install openjdk-17-jdk")
    good = True
    for home in found:
        with tempfile.TemporaryDirectory() as folder:
            # Where a JVM with a root of its own finds it.
            source = shutil.copy(options.source, folder)
            subprocess.run([home + "/bin/javac", "-d", folder, source], check=True)
            for mode in ALL:
                run = Run(options, home, mode, folder)
                if (not options.mode or mode.name in options.mode) and run.is_possible():
                    good &= run.check()
            if not options.mode:
                subprocess.run([home + "/bin/javac", UNLINED, "-d", folder, source], check=True)
                good &= Run(options, home, Mode("without lines", [], ()), folder).check()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
