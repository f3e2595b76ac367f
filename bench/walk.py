#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What walks of the same stacks cost the kernel, by frame pointers and by tables.

usage: bench/walk.py [-n TIMES] [-s SECONDS] [-r HZ] DWARFPROF BENCH_WALK [COMMAND...]

The command, or a program that spins 60 calls deep, each a call of another function,
compiled with frame pointers and unwind information, runs on one CPU, before all other
programs. dwarfprof makes its tables and samples it; at the same time `bench_walk` walks
the stack of each moment in all ways, whose order changes from moment to moment. Of each
way: the median in nanoseconds, the frames found, nanoseconds per frame, the median over
all moments of its ratio to bpf_get_stack() at the same moment (only where both found the
same frames does it say something), and how many stacks were complete. Then the programs
as wholes: dwarfprof's, against one that does nothing but send what bpf_get_stack() finds.
Medians of all times. As root.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

STATS = "/proc/sys/kernel/bpf_stats_enabled"
DEPTH = 58  # and main(), and what the C library has below it
COMPLETE = 1  # DP_COMPLETE, bpf/abi.h


def build_chain(directory):
    """A program whose functions call each other in a row; their frames differ in size."""
    source = ["static volatile unsigned long sink;",
              "__attribute__((noinline)) void f0(long *p) { for (;;) sink++; }"]
    for i in range(1, DEPTH):
        source.append(f"__attribute__((noinline)) void f{i}(volatile long *p) {{ "
                      f"volatile long s[{1 + i % 7}]; s[0] = *p + {i}; f{i - 1}((long *)s); *p = s[0]; }}")
    source.append(f"int main(void) {{ volatile long x = 0; f{DEPTH - 1}(&x); }}")
    path = os.path.join(directory, "chain")
    with open(path + ".c", "w") as file:
        file.write("\n".join(source))
    subprocess.run(["gcc", "-O2", "-w", "-fno-ipa-icf", "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer",
                    "-o", path, path + ".c"], check=True)
    return [path]


def wait_for(condition, process):
    for _ in range(300):
        if condition():
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    sys.exit("bench/walk.py: dwarfprof does not sample; does the command still run?")


def program_cost(pid):
    """Nanoseconds per run of the sampling program of a dwarfprof."""
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{name}") as file:
            found = re.search(r"^prog_id:\s*(\d+)", file.read(), re.M)
        if not found:
            continue
        out = subprocess.run(["bpftool", "-j", "prog", "show", "id", found[1]], capture_output=True, text=True).stdout
        info = json.loads(out)
        if info.get("name") == "dp_sample_cpu" and info.get("run_cnt"):
            return info["run_time_ns"] / info["run_cnt"]
    return None


def run(options, command):
    """The moments, and nanoseconds per run of the whole programs."""
    cpu = str(max(os.sched_getaffinity(0)))
    target = subprocess.Popen(["taskset", "-c", cpu, "chrt", "-f", "1", *command],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    with tempfile.TemporaryFile("w+") as messages:
        profiler = subprocess.Popen([options.dwarfprof, "-p", str(target.pid), "-C", cpu, "-F", str(options.hz),
                                     "--unwind", "dwarf", "-o", "/dev/null", "--format", "folded"], stderr=messages)
        try:
            wait_for(lambda: program_cost(profiler.pid), profiler)
            out = subprocess.run([options.bench_walk, str(profiler.pid), cpu, str(options.seconds), str(options.hz)],
                                 capture_output=True, text=True)
            if out.returncode != 0:
                sys.exit(out.stderr[:2000])
            lines = [json.loads(line) for line in out.stdout.splitlines()]
            whole = {line["program"]: line["ns"] / max(line["runs"], 1) for line in lines if "program" in line}
            whole["dwarfprof"] = program_cost(profiler.pid)
        finally:
            profiler.terminate()
            target.terminate()
            profiler.wait()
            target.wait()
    moments = [line for line in lines if "program" not in line]
    # The first ones have to fill the cache.
    return moments[len(moments) // 10:], whole


def summarize(moments):
    """By way: ns, frames, ratio to the kernel's walk, share of complete stacks."""
    clock = statistics.median(m["nothing"][0] for m in moments)
    result = {}
    for way in moments[0]:
        if way == "nothing":
            continue
        result[way] = (statistics.median(m[way][0] - clock for m in moments),
                       statistics.mean(m[way][1] for m in moments),
                       statistics.median((m[way][0] - clock) / max(m["kernel_fp"][0] - clock, 1) for m in moments),
                       sum(m[way][2] == COMPLETE for m in moments) / len(moments))
    return result


def main():
    parser = argparse.ArgumentParser(description="what walks cost the kernel")
    parser.add_argument("-n", dest="times", type=int, default=3)
    parser.add_argument("-s", dest="seconds", type=int, default=2)
    parser.add_argument("-r", dest="hz", type=int, default=4999)
    parser.add_argument("dwarfprof")
    parser.add_argument("bench_walk")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    summaries, wholes = [], []
    with open(STATS) as file:
        before = file.read()
    with tempfile.TemporaryDirectory() as directory:
        command = options.command or build_chain(directory)
        try:
            with open(STATS, "w") as file:
                file.write("1")
            for _ in range(options.times):
                moments, whole = run(options, command)
                if not moments:
                    sys.exit("bench/walk.py: no moment was measured")
                summaries.append(summarize(moments))
                wholes.append(whole)
        finally:
            with open(STATS, "w") as file:
                file.write(before)
    print("way\tns\tframes\tns_per_frame\tratio\tcomplete")
    for way in summaries[0]:
        ns, frames, ratio, complete = (statistics.median(s[way][i] for s in summaries) for i in range(4))
        share = "-" if way == "kernel_fp" else f"{complete:.2f}"  # bpf_get_stack() does not say
        print(f"{way}\t{ns:.0f}\t{frames:.1f}\t{ns / max(frames, 1):.1f}\t{ratio:.2f}\t{share}")
    for name in ("minimal", "dwarfprof"):
        ns = statistics.median(w[name] - w["empty"] for w in wholes)
        ratio = statistics.median((w[name] - w["empty"]) / (w["minimal"] - w["empty"]) for w in wholes)
        print(f"program {name}\t{ns:.0f}\t\t\t{ratio:.2f}\t")


if __name__ == "__main__":
    main()
