#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks Java's functions in samples that met a library before the kernel had its table.

usage: check_late_java.py [--show] DWARFPROF

A program loads N_LIBRARIES libraries, each of which calls Java at once. The kernel stops at the library then, behind
the functions that it has called; user space, which walks again, has the library's table, but no memory of the
JVM. In each sample, Java's functions have to be some of those that the JVM itself lists, in their order. SHARE of
at least MIN_SAMPLES that met new code, in as many as MAX_RUNS programs, must have all that the library has called;
what has called it may have no names.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import check_hotspot

HZ = "1999"
N_LIBRARIES = 40
MIN_SAMPLES = 40
# A fast machine may have a table before the second sample of its code.
MAX_RUNS = 8
SHARE = 0.95
# Innermost first.
CALLED = ["Late.spin", *["Late.recursion"] * 4, "Late.called"]
HERE = os.path.dirname(os.path.realpath(__file__))


def build(home, directory):
    """Libraries of different build ids: the profiler has the tables of none."""
    source, library, build_id = shutil.copy(f"{HERE}/Late.java", directory), f"{directory}/liblate.so", os.urandom(20)
    subprocess.run([f"{home}/bin/javac", "-d", directory, source], check=True)
    subprocess.run(["gcc", "-O1", "-fPIC", "-shared", f"-Wl,--build-id=0x{build_id.hex()}", f"-I{home}/include",
                    f"-I{home}/include/linux", f"{HERE}/late_java.c", "-o", library], check=True)
    with open(library, "rb") as file:
        code = file.read()
    libraries = [f"{directory}/liblate{i}.so" for i in range(N_LIBRARIES)]
    for library in libraries:
        with open(library, "wb") as file:
            file.write(code.replace(build_id, os.urandom(20)))
    return libraries


def profile(dwarfprof, home, directory):
    """Pairs of a sample and the functions that it has to have, leaf first."""
    libraries, output = build(home, directory), f"{directory}/samples"
    # Between safepoints, what is inlined next to a place may stand in for it.
    java = [f"{home}/bin/java", "-XX:-Inline", "-cp", directory, "Late", *libraries]
    said = []
    # Names are looked up while it is there.
    with subprocess.Popen(java, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        command = [dwarfprof, "record", "-F", HZ, "--format", "jsonl", "-o", output, "-p", str(program.pid)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as profiler:
            while not profiler.stderr.readline().startswith("dwarfprof: sampling"):
                if profiler.poll() is not None:
                    sys.exit("dwarfprof has ended")
            program.stdin.write("\n")
            program.stdin.flush()
            while line := program.stdout.readline().strip():
                said.append(line)
            profiler.send_signal(signal.SIGINT)
            profiler.communicate(timeout=100)
        program.stdin.close()
    windows = [(int(began), int(end), frames) for began, end, *frames in (line.split("\t") for line in said)]
    with open(output, encoding="utf-8") as file:
        for sample in map(json.loads, file):
            for began, end, frames in windows:
                if began < sample["time_ns"] < end and sample["thread_name"] == "java" and sample["user_stack"]:
                    yield sample, frames


def count(dwarfprof, home, show):
    """Samples, wrong ones, those that met new code, and those of them with what it has called."""
    n = new = kept = wrong = 0
    with tempfile.TemporaryDirectory() as directory:
        for sample, wanted in profile(dwarfprof, home, os.path.realpath(directory)):
            frames = check_hotspot.java_frames(sample)
            is_wrong = not check_hotspot.is_part([f for f in frames if f != check_hotspot.UNLOADED], wanted)
            is_new = sample["late"] or sample["outcome"] != "complete"
            n += 1
            wrong += is_wrong
            new += is_new
            kept += is_new and frames[:len(CALLED)] == CALLED
            if show and (is_wrong or (is_new and frames != CALLED)):
                print(sample["late"], sample["outcome"], frames)
    return n, wrong, new, kept


def check(dwarfprof, home, show):
    n = wrong = new = kept = 0
    for _ in range(MAX_RUNS):
        n, wrong, new, kept = map(sum, zip((n, wrong, new, kept), count(dwarfprof, home, show)))
        if new >= MIN_SAMPLES:
            break
    print(f"{check_hotspot.version_of(home)}: {n} samples, {wrong} wrong; {new} met new code, {kept} of them with what it has "
          "called", flush=True)
    return new >= MIN_SAMPLES and kept >= SHARE * new and not wrong


def main():
    homes = [home for home in check_hotspot.homes() if os.path.exists(f"{home}/include/jni.h")]
    if os.geteuid() != 0 or not homes:
        return 77
    good = [check(sys.argv[-1], home, "--show" in sys.argv) for home in homes]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
