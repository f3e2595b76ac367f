# SPDX-License-Identifier: Apache-2.0
"""Profilers of one language beside dwarfprof, at the same moment: stacks of processes that are stopped or
wait, and the functions that profiles show most.
"""
import collections
import contextlib
import glob
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import zipfile

import language_programs as programs
import peers

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli/tests"))
import chance  # noqa: E402

verify, Missing = programs.verify, programs.Missing
HIDDEN = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames"]
# Otherwise both know inlined methods of calls only, and each has its own way to find the next call.
DESCRIBED = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]
# Samples follow each other in a program that repeats itself, so they are not quite independent: their shares
# vary by less than DEPENDENCE times of what those of independent samples do. With chance.SIGMAS, all functions
# of a run exceed what is allowed with a probability below 1e-6.
DEPENDENCE = 1.5
TOP = 10
RATE = "199"


def dump(dwarfprof, pid, path):
    """{TID: the frames of its language, leaf first}"""
    subprocess.run([dwarfprof, "dump", "-p", str(pid), "--format", "jsonl", "-o", path], check=True,
                   stderr=subprocess.DEVNULL)
    with open(path, encoding="utf-8") as file:
        samples = [json.loads(line) for line in file]
    return {s["tid"]: [f for f in s["user_stack"] if f["kind"] not in ("native", "kernel")] for s in samples}


@contextlib.contextmanager
def stopped(pid):
    """No thread of the process runs during the block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        end = time.monotonic() + 10
        while any(thread_state(path) not in "TZ" for path in glob.glob(f"/proc/{pid}/task/*/stat")):
            assert time.monotonic() < end, f"process {pid} does not stop"
            time.sleep(0.01)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def thread_state(path):
    """The state of a thread; Z if it has ended."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def compare(ours, theirs, show):
    """Counts threads with equal frames, and with different ones. Both: {TID: [frame]}, as text."""
    equal = different = 0
    for tid in sorted(set(ours) | set(theirs)):
        mine, other = ours.get(tid, []), theirs.get(tid, [])
        if mine == other:
            equal += 1
            continue
        different += 1
        if show:
            print(f"thread {tid}: ours, theirs:", *(f"    {line}" for line in mine), "    --",
                  *(f"    {line}" for line in other), sep="\n")
    return equal, different


def of_python(frames):
    return [f"{f['symbol']} {f['file']}:{f['line']}" for f in frames]


def read_py_spy(pid):
    said = subprocess.run([f"{programs.PYTHON}/py-spy", "dump", "--json", "--nonblocking", "-p", str(pid)], check=True,
                          capture_output=True, text=True).stdout
    return {thread["os_thread_id"]: [f"{f['name']} {f['filename']}:{f['line']}" for f in thread["frames"]]
            for thread in json.loads(said) if thread["frames"]}


def dump_python(dwarfprof, directory, times, show):
    """`py-spy dump` of a server under load, stopped at moments that it does not choose."""
    equal = different = 0
    with programs.flask(directory) as pid:
        for i in range(times):
            # Not in step with the requests.
            time.sleep(0.05 + i % 7 * 0.0137)
            with stopped(pid):
                theirs = read_py_spy(pid)
                ours = {tid: of_python(frames) for tid, frames in dump(dwarfprof, pid, f"{directory}/dump").items()}
            found = compare({tid: frames for tid, frames in ours.items() if frames}, theirs, show)
            equal, different = equal + found[0], different + found[1]
    return equal, different


def plain(name):
    """A function of Java without what the JVM makes up for a hidden class."""
    return re.sub(r"(\$\$Lambda)[^.]*(?=\.[^.]*$)", r"\1", re.sub(r"/0x[0-9a-f]+(?=\.)", "", name))


def of_java(frames):
    """Frames as jstack has them, without the lines, and the lines."""
    frames = [f for f in frames if not f["symbol"].startswith("[")]
    return [plain(f["symbol"]) for f in frames], [f["line"] for f in frames]


def read_jstack(jstack, pid):
    """{TID: [(function, line or None)]}"""
    said = subprocess.run([jstack, str(pid)], check=True, capture_output=True, text=True).stdout
    threads, frames = {}, None
    for line in said.splitlines():
        if head := re.match(r'".*\bnid=(0x[0-9a-f]+|\d+) ', line):
            frames = threads[int(head[1], 0)] = []
        elif frame := re.match(r"\s+at (.*)\(.*?(?::(\d+))?\)$", line):
            frames.append((plain(frame[1]), int(frame[2]) if frame[2] else None))
    return {tid: frames for tid, frames in threads.items() if frames}


def dump_java(dwarfprof, directory, home, show):
    """`jstack` of threads that wait. Returns counts of threads, and of lines that only jstack knows: those of
    interpreted methods that wait in the JVM, which does not store always where it was called."""
    lines = 0
    subprocess.run([f"{home}/bin/javac", "-d", directory, f"{programs.SOURCES}/Waits.java"], check=True)
    with subprocess.Popen([f"{home}/bin/java", *HIDDEN, "-cp", directory, "Waits"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            theirs = read_jstack(f"{home}/bin/jstack", process.pid)
            found = {tid: of_java(frames) for tid, frames in dump(dwarfprof, process.pid, f"{directory}/dump").items()}
        finally:
            process.kill()
    ours = {}
    for tid, (names, numbers) in found.items():
        known = theirs.get(tid, [])
        for i, (name, number) in enumerate(zip(names, numbers)):
            line = known[i][1] if i < len(known) else None
            lines += number is None and line is not None
            ours.setdefault(tid, []).append(f"{name} {line if number is None else number}")
    return *compare(ours, {tid: [f"{name} {line}" for name, line in frames] for tid, frames in theirs.items()}, show), lines


def read_rbspy(rbspy, pid):
    """The stack of the thread that has the lock, or had it last, leaf first: [(function, file)], without functions
    in C, of which it has no file. None: it finds none. Since Ruby 2.6, its line is the last one of the method,
    whichever runs (get_lineno() of rbspy 0.55)."""
    found = subprocess.run([rbspy, "snapshot", "--nonblocking", "--pid", str(pid)], check=False, capture_output=True, text=True)
    if found.returncode:
        return None
    frames = [re.match(r"(.*) - (.*?)(?::\d+)?$", line) for line in found.stdout.splitlines() if " - " in line]
    return [(f[1], f[2]) for f in reversed(frames) if "[c function]" not in f[1]]


def is_ruby_stack(ours, theirs):
    """rbspy has no file of what is compiled from a string with a path that is not there, as templates are."""
    return len(ours) == len(theirs) and all(mine[0] == other[0] and other[1] in (mine[1], "unknown")
                                            for mine, other in zip(ours, theirs))


def dump_ruby(dwarfprof, directory, times, show):
    """`rbspy snapshot` of a server under load: one of our stacks has to be the one that it has."""
    rbspy = programs.installed(os.path.join(peers.CARGO, "rbspy"))
    equal = different = 0
    with programs.sinatra(directory) as pid:
        for i in range(times):
            time.sleep(0.05 + i % 7 * 0.0137)
            with stopped(pid):
                if (theirs := read_rbspy(rbspy, pid)) is None:
                    continue
                ours = [of_ruby(frames) for frames in dump(dwarfprof, pid, f"{directory}/dump").values()]
            is_there = any(is_ruby_stack(frames, theirs) for frames in ours)
            equal, different = equal + is_there, different + (not is_there)
            if show and not is_there:
                print("rbspy:", *theirs, "ours:", *(line for frames in ours for line in [*frames, "--"]), sep="\n    ")
    return equal, different


def of_ruby(frames):
    return [(f["symbol"], f["file"]) for f in frames if f["line"]]


def leaves(path, kind):
    """Of a profile: {function of the language: samples in which it is the innermost one}."""
    counts = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for sample in map(json.loads, file):
            frames = [f for f in sample["user_stack"] if f["kind"] == kind and not f["symbol"].startswith("[")]
            if frames and kind == "python":
                counts[f"{frames[0]['symbol']} {os.path.basename(frames[0]['file'] or '')}"] += 1
            elif frames:
                counts[plain(frames[0]["symbol"])] += 1
    return counts


def read_folded(path, function):
    counts = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, _, times = line.rpartition(" ")
            counts[function(stack.split(";"))] += int(times)
    counts.pop(None, None)
    return counts


def of_py_spy(stack):
    found = re.match(r"(.*) \((.*?)(?::\d+)?\)$", stack[-1])
    return f"{found[1]} {os.path.basename(found[2])}" if found else None


def of_async_profiler(stack):
    """Its stubs and functions of the JVM have no class."""
    methods = [f for f in stack if re.match(r"[^ :\[]+\.[^.: ]+$", f)]
    return plain(methods[-1].replace("/", ".")) if methods else None


def most(ours, theirs):
    """[(function, our share, theirs, whether they differ by chance only)] of the ten first ones of each."""
    n, m = sum(ours.values()), sum(theirs.values())
    rows = []
    for name in dict.fromkeys([name for counts in (ours, theirs) for name, _ in counts.most_common(TOP)]):
        share = (ours[name] + theirs[name]) / (n + m)
        allowed = chance.SIGMAS * DEPENDENCE * math.sqrt(share * (1 - share) * (1 / n + 1 / m))
        rows.append((name, ours[name] / n, theirs[name] / m, abs(ours[name] / n - theirs[name] / m) <= allowed))
    return sorted(rows, key=lambda row: -row[1])


def profile(dwarfprof, pid, seconds, path):
    return subprocess.Popen([dwarfprof, "-p", str(pid), "-F", RATE, "-d", str(seconds), "--format", "jsonl", "-o", path],
                            stderr=subprocess.DEVNULL)


def profile_python(dwarfprof, directory, seconds):
    """py-spy's counts beside ours, of a site without a server, whose thread is always busy."""
    spy = programs.installed(f"{programs.PYTHON}/py-spy")
    with verify.running(f"{programs.PYTHON}/python", f"{programs.SOURCES}/flask_app.py", "--visit") as pid:
        time.sleep(3)
        ours = profile(dwarfprof, pid, seconds, f"{directory}/ours")
        subprocess.run([spy, "record", "-p", str(pid), "-d", str(seconds), "-r", RATE, "-f", "raw", "-o", f"{directory}/theirs"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert ours.wait() == 0
    return leaves(f"{directory}/ours", "python"), read_folded(f"{directory}/theirs", of_py_spy)


def agent(home, pid, library, options):
    """jcmd takes what is before a = for the name of an option, and leaves out what is behind it, unless it is
    quoted. It succeeds whatever the agent returns."""
    said = subprocess.run([f"{home}/bin/jcmd", str(pid), "JVMTI.agent_load", library, f'"{options}"'], check=True,
                          capture_output=True, text=True).stdout
    assert re.search(r"return code: 0$", said, re.M), said


def unpack_async_profiler(directory):
    jars = glob.glob(f"{programs.CACHE}/java/async-profiler-*.jar")
    if not jars:
        raise Missing("async-profiler")
    machine = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
    with zipfile.ZipFile(jars[0]) as jar:
        return jar.extract(f"linux-{machine}/libasyncProfiler.so", directory)


def profile_java(dwarfprof, directory, home, seconds):
    """async-profiler's counts beside ours, of javac in a JVM that has compiled it."""
    library = unpack_async_profiler(directory)
    paths = programs.write_classes(f"{directory}/sources")
    subprocess.run([f"{home}/bin/javac", "-d", directory, f"{programs.SOURCES}/Compiling.java"], check=True)
    with verify.running(f"{home}/bin/java", *DESCRIBED, "-XX:+EnableDynamicAgentLoading", "-cp", directory, "Compiling",
                        "-nowarn", "-d", f"{directory}/classes", *paths) as pid:
        time.sleep(20)
        agent(home, pid, library, f"start,event=ctimer,interval={10 ** 9 // int(RATE)}ns,cstack=no")
        assert profile(dwarfprof, pid, seconds, f"{directory}/ours").wait() == 0
        agent(home, pid, library, f"stop,collapsed,file={directory}/theirs")
        verify.wait_for(f"{directory}/theirs")
    return leaves(f"{directory}/ours", "java"), read_folded(f"{directory}/theirs", of_async_profiler)
