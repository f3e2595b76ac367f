#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The USDT probes of real programs: values equal to what the program itself has logged, in Debian's Python, OpenJDK
and libstdc++; and as many hits as bpftrace counts in the same run.

usage: check_static_probes.py DWARFPROF PROGRAM-DIR
"""
import collections
import contextlib
import glob
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import unittest

import bpftrace
import harness
from harness import dwarfprof, program, read, start, wait_for, wait_until_it_says

PYTHON = os.path.realpath("/usr/bin/python3")
JVM = next(iter(sorted(glob.glob("/usr/lib/jvm/java-17-openjdk-*/lib/server/libjvm.so"))), None)
STDCXX = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
N = 20000
NO_SAMPLES = 5  # the exit code
CUT = 255  # DP_TEXT_CUT in bpf/value_layout.h

# Maps a file's code, without running it.
MAPS = """
import mmap, sys
file = open(sys.argv[1], "rb")
mapped = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
print("mapped", flush=True)
sys.stdin.read()
"""
# Logs what returns, is imported, audited and collected, in order. Python 3.11 has function__entry only where the
# interpreter begins.
PYTHON_SCRIPT = """
import gc, json, os, sys
directory, n = sys.argv[1], int(sys.argv[2])
log = {name: [] for name in ("function__return", "gc__start", "gc__done", "import__find__load__start",
                             "import__find__load__done", "audit")}
returns = log["function__return"]

def leave():
    frame = sys._getframe(1)
    returns.append([frame.f_code.co_name, frame.f_lineno])

def descend(n):
    if n: descend(n - 1)
    leave(); return n

class Shape:
    def grow(self, by):
            leave(); return by + 1

def collected(phase, info):
    if phase == "start": log["gc__start"].append(info["generation"])
    else: log["gc__done"].append(info["collected"] + info["uncollectable"])

def raises():
    try: raise ValueError("x" * 40)
    except ValueError: pass
    leave(); return 1

def run():
    shape = Shape()
    while len(returns) < n:
        descend(len(returns) % 7)
        shape.grow(1)
        raises()

def imports():
    for i in range(200):
        if i % 10:
            with open(f"{directory}/module_number_{i}.py", "w") as file: file.write("x = 1")
    sys.path.insert(0, directory)
    for i in range(200):
        name = f"module_number_{i}"
        log["import__find__load__start"].append(name)
        try:
            __import__(name)
        except ImportError:
            pass
        log["import__find__load__done"].append([name, 1 if i % 10 else 0])

def audits():
    for i in range(1000):
        name = f"dwarfprof.audit.{i}." + i % 300 * "x"
        log["audit"].append(name)
        sys.audit(name, i)

def tangle():
    loop = []
    loop.append(loop)

def collects():
    gc.callbacks.append(collected)
    for i in range(300):
        for _ in range(i % 17): tangle()
        gc.collect(i % 3)
    gc.callbacks.clear()

sys.stdin.readline()
gc.disable()
run(); imports(); audits(); collects()
with open(directory + "/log", "w") as file: json.dump(log, file)
print("done", flush=True)
sys.stdin.read()
"""

JAVA_SOURCE = """
import java.util.*;
public class Probed {
    static volatile long sum;
    static long half(int n) { sum += n; return n / 2; }
    static class Inner { long third(int n, String text) { sum += text.length(); return n / 3; } }
    public static void main(String[] args) throws Exception {
        System.in.read();
        int n = Integer.parseInt(args[0]);
        Inner inner = new Inner();
        for (int i = 0; i < n; i++) { half(i); if (i % 4 == 0) inner.third(i, "x"); }
        for (int i = 0; i < 20; i++) {
            Thread thread = new Thread(() -> {}, "probed-" + i);
            thread.setDaemon(i % 2 == 1);
            thread.start();
            thread.join();
            Thread.sleep(i);
        }
        for (int i = 0; i < 10; i++) System.gc();
        Object lock = new Object();
        synchronized (lock) { for (int i = 1; i <= 10; i++) lock.wait(i); }
        System.out.println("done");
        System.out.flush();
        System.in.read();
        System.in.read();
    }
}
"""


class Notes(unittest.TestCase):
    def test_all_of_them_are_listed(self):
        for path in filter(None, (PYTHON, JVM, STDCXX, shutil.which("node"))):
            path = os.path.realpath(path)
            result = dwarfprof("probes", "--json", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            listed = json.loads(result.stdout)["usdt"]
            self.assertEqual([p for p in listed if None in p["arguments"]], [], "arguments that cannot be read")
            found = collections.Counter((p["provider"], p["name"]) for p in listed)
            notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True).stdout
            self.assertEqual(found, collections.Counter(re.findall(r"Provider: (\S+)\n +Name: (\S+)", notes)))
            print(f"{path}: {found.total()} notes of {len(found)} probes", flush=True)

    def test_all_of_some_can_be_attached(self):
        """With each argument, at all places: the kernel sets them in a process that maps the file."""
        for path in PYTHON, STDCXX:
            listed = json.loads(dwarfprof("probes", "--json", path).stdout)["usdt"]
            arguments = {}
            for p in listed:
                arguments.setdefault(f'{p["provider"]}:{p["name"]}', []).append(p["arguments"])
            with self.subTest(path=path), tempfile.TemporaryDirectory() as directory, \
                    subprocess.Popen([PYTHON, "-c", MAPS, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
                self.assertEqual(target.stdout.readline(), "mapped\n")
                socket = os.path.join(directory, "socket")
                # A pipe that nobody reads would be full some time.
                with open(os.path.join(directory, "said"), "w+") as said, \
                        start("-p", str(target.pid), "--probe-socket", socket, "--format", "folded", stdout=subprocess.DEVNULL,
                              stderr=said) as profiler:
                    wait_for(lambda: "sampling" in read(said.name))
                    for name, places in arguments.items():
                        values = ",".join(f"arg{i + 1}" for i in range(min(map(len, places))))
                        probe = f"usdt:{path}:{name}" + (f"({values})" if values else "")
                        added = dwarfprof("probe", "-s", socket, "add", probe)
                        self.assertEqual((added.returncode, added.stderr), (0, ""), probe)
                        removed = dwarfprof("probe", "-s", socket, "remove", added.stdout.strip())
                        self.assertEqual((removed.returncode, removed.stderr), (0, ""), probe)
                    profiler.send_signal(signal.SIGINT)
                    self.assertIn(profiler.wait(timeout=180), (0, NO_SAMPLES), read(said.name))
                target.stdin.close()
            print(f"{path}: {len(arguments)} probes with {sum(len(places[0]) for places in arguments.values())} arguments", flush=True)

    def test_all_of_openjdk_at_once(self):
        """In a process that maps it: some hundred, which the kernel sets one after the other."""
        if not JVM:
            self.skipTest("there is no OpenJDK 17")
        listed = json.loads(dwarfprof("probes", "--json", JVM).stdout)["usdt"]
        with subprocess.Popen([PYTHON, "-c", MAPS, JVM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
            self.assertEqual(target.stdout.readline(), "mapped\n")
            with start("-p", str(target.pid), "-e", f"usdt:{JVM}:*:*", "--format", "folded", stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True) as profiler:
                said = wait_until_it_says(profiler, "sampling")
                profiler.send_signal(signal.SIGINT)
                said += profiler.communicate(timeout=180)[1]
            target.stdin.close()
        self.assertIn(f" at each hit of {len({p['offset'] for p in listed})} places *:* in {JVM}\n", said)
        self.assertEqual(profiler.returncode, NO_SAMPLES, said)


def waits_for_input(pid):
    """By the number and arguments of a thread's system call."""
    return any(read(path).startswith("0 0x0 ") for path in glob.glob(f"/proc/{pid}/task/*/syscall"))


def stop(process):
    """Returns when all threads have stopped."""
    process.send_signal(signal.SIGSTOP)
    wait_for(lambda: all(read(path).rpartition(")")[2].startswith(" T") for path in glob.glob(f"/proc/{process.pid}/task/*/stat")))


class StaticProbes(unittest.TestCase):
    def setUp(self):
        if not shutil.which("bpftrace"):
            self.skipTest("`ci/setup bench` installs bpftrace")
        self.directory = self.enterContext(tempfile.TemporaryDirectory())

    @contextlib.contextmanager
    def run_until_done(self, command):
        """A program that waits for input. If what is done with it fails, also while it is stopped, it is killed: it is waited for."""
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as target:
            try:
                wait_for(lambda: waits_for_input(target.pid))
                yield target
            except BaseException:
                target.kill()
                raise

    def record(self, command, path, provider, values):
        """Returns the samples of each probe, in the order of their times, of one run of the command; as many as bpftrace counts."""
        found = []
        with self.run_until_done(command) as target:
            profilers = []
            stop(target)  # all begin and end with the same hit
            for name, values_of in values.items():
                profilers.append(start("-p", str(target.pid), "-e", f"usdt:{path}:{provider}:{name}{values_of}", "--no-symbols", "--max-stack", "1",
                                       "-o", os.path.join(self.directory, f"{name}.jsonl"), stderr=subprocess.PIPE, text=True))
                wait_until_it_says(profilers[-1], "sampling")
            # Its language has no word for "+".
            os.symlink(path, plain := os.path.join(self.directory, "plain"))
            with bpftrace.Bpftrace("".join(f"usdt:{plain}:{provider}:{name} /pid == {target.pid}/ {{ @{name} = count(); }}\n"
                                           for name in values)) as peer:
                target.send_signal(signal.SIGCONT)
                target.stdin.write("\n")
                target.stdin.flush()
                wait_for(lambda: select.select([target.stdout], [], [], 0)[0])
                self.assertEqual(target.stdout.readline(), "done\n")
                stop(target)
                for name, profiler in zip(values, profilers):
                    profiler.send_signal(signal.SIGINT)
                    said = profiler.communicate(timeout=180)[1]
                    self.assertEqual(profiler.returncode, 0, said)
                    self.assertIn(" 0 lost", said)
                    with open(os.path.join(self.directory, f"{name}.jsonl")) as file:
                        found.append(sorted((json.loads(line) for line in file), key=lambda s: s["time_ns"]))
            target.send_signal(signal.SIGCONT)
            target.stdin.close()
        counts = {name: len(samples) for name, samples in zip(values, found)}
        print(counts, flush=True)
        self.assertEqual({match[1]: int(match[2]) for line in peer.lines if (match := re.match(r"@(\w+): (\d+)$", line))}, counts)
        return dict(zip(values, found))


class Python(StaticProbes):
    VALUES = {"function__return": "(file=arg1:str, name=arg2:str, line=arg3)",
              "gc__start": "(generation=arg1)", "gc__done": "(collected=arg1)", "import__find__load__start": "(name=arg1:str)",
              "import__find__load__done": "(name=arg1:str, found=arg2)", "audit": "(name=arg1:str)"}

    def setUp(self):
        super().setUp()
        self.script = os.path.join(self.directory, "script.py")
        with open(self.script, "w") as file:
            file.write(PYTHON_SCRIPT)

    def test_all(self):
        """Those that fire without a tracer of the language, in one run."""
        found = self.record([PYTHON, self.script, self.directory, str(N // 4)], PYTHON, "python", self.VALUES)
        with open(os.path.join(self.directory, "log")) as file:
            logged = json.load(file)
        own = [s["labels"] for s in found["function__return"] if s["labels"]["file"] == self.script]
        self.assertEqual([[s["name"], s["line"]] for s in own if s["name"] in ("descend", "grow", "raises")],
                         logged["function__return"])
        self.assertGreaterEqual(len(logged["function__return"]), N // 4)
        self.assertEqual([s["labels"]["generation"] for s in found["gc__start"]], logged["gc__start"])
        self.assertEqual([s["labels"]["collected"] for s in found["gc__done"]], logged["gc__done"])
        for name, keys in ("import__find__load__start", ["name"]), ("import__find__load__done", ["name", "found"]):
            seen = [[s["labels"][key] for key in keys] for s in found[name] if s["labels"]["name"].startswith("module_number_")]
            self.assertEqual([one if len(keys) > 1 else one[0] for one in seen], logged[name])
        own = [s["labels"]["name"] for s in found["audit"] if s["labels"]["name"].startswith("dwarfprof.audit.")]
        self.assertEqual(own, [name if len(name) < CUT else name[:CUT] + "…" for name in logged["audit"]])


class Java(StaticProbes):
    def test_all(self):
        """Strings of the virtual machine have no zero byte behind them."""
        with open(os.path.join(self.directory, "Probed.java"), "w") as file:
            file.write(JAVA_SOURCE)
        subprocess.run(["javac", "-d", self.directory, os.path.join(self.directory, "Probed.java")], check=True, stdout=subprocess.DEVNULL)
        loaded, collections_log = os.path.join(self.directory, "loaded"), os.path.join(self.directory, "gc")
        names = {"method__entry": "(class=arg2:bytes[arg3], name=arg4:bytes[arg5], type=arg6:bytes[arg7])",
                 "method__return": "(class=arg2:bytes[arg3], name=arg4:bytes[arg5], type=arg6:bytes[arg7])",
                 "thread__start": "(name=arg1:bytes[arg2], daemon=arg5)", "thread__stop": "(name=arg1:bytes[arg2], daemon=arg5)",
                 "thread__sleep__begin": "(time=arg1)", "gc__begin": "(full=arg1)", "gc__end": "",
                 "class__loaded": "(class=arg1:bytes[arg2])", "monitor__wait": "(class=arg3:bytes[arg4], time=arg5)"}
        command = ["java", "-XX:+ExtendedDTraceProbes", "-XX:+UseSerialGC", "-Xshare:auto", f"-Xlog:class+load:file={loaded}",
                   f"-Xlog:gc:file={collections_log}", "-cp", self.directory, "Probed", str(N)]
        found = self.record(command, JVM, "hotspot", names)

        for name in "method__entry", "method__return":
            self.assertEqual(collections.Counter((s["labels"]["class"], s["labels"]["name"], s["labels"]["type"]) for s in found[name]
                                                 if s["labels"]["name"] in ("half", "third")),
                             {("Probed", "half", "(I)J"): N, ("Probed$Inner", "third", "(ILjava/lang/String;)J"): N // 4})
        for name in "thread__start", "thread__stop":
            self.assertEqual([(s["labels"]["name"], s["labels"]["daemon"]) for s in found[name] if s["labels"]["name"].startswith("probed-")],
                             [(f"probed-{i}", i % 2) for i in range(20)])
        self.assertEqual([s["labels"]["time"] for s in found["thread__sleep__begin"]], list(range(20)))
        self.assertEqual([(s["labels"]["class"], s["labels"]["time"]) for s in found["monitor__wait"] if s["labels"]["time"] in range(1, 11)],
                         [("java/lang/Object", i) for i in range(1, 11)])
        full = len(re.findall(r"Pause Full \(System.gc\(\)\)", read(collections_log)))
        self.assertEqual((full, [s["labels"]["full"] for s in found["gc__begin"]].count(1), len(found["gc__begin"])),
                         (10, 10, len(found["gc__end"])))
        # What was loaded before the profiler came, and at the end, is only in the log.
        logged = re.findall(r"\] (\S+) source:", read(loaded))
        classes = [s["labels"]["class"].replace("/", ".").replace("+", "/") for s in found["class__loaded"]]
        first = logged.index(classes[0])
        self.assertEqual(collections.Counter(logged[first:first + len(classes)]), collections.Counter(classes))
        self.assertIn("Probed$Inner", classes)


class Cplusplus(StaticProbes):
    def test_throw(self):
        """The names of types are mangled."""
        log = os.path.join(self.directory, "log")
        found = self.record([program("thrown-O2"), "2000", log], STDCXX, "libstdcxx",
                            dict.fromkeys(("throw", "rethrow"), "(type=arg2->8:str)"))
        with open(log) as file:
            logged = [json.loads(line) for line in file]
        first = [one for one in logged if not one["again"]]
        again = [one for one in logged if one["function"] in ("throw_again", "throw_twice")]
        self.assertEqual([len(found[name]) for name in ("throw", "rethrow")], [len(first), len(again)])
        # Of what std::rethrow_exception() has thrown, the library passes the exception itself in place of its type.
        pairs = [*zip(found["throw"], first), *(pair for pair in zip(found["rethrow"], again) if pair[1]["function"] == "throw_again")]
        types = subprocess.run(["c++filt", "-t"], input="\n".join(s["labels"]["type"].lstrip("*") for s, _ in pairs), check=True,
                               capture_output=True, text=True).stdout.splitlines()
        different = [found_type for found_type, (_, one) in zip(types, pairs, strict=True) if found_type != one["type"]]
        # The name is in a page of the library that nothing has read before.
        self.assertLessEqual(set(different), {"<unread>"})
        self.assertLess(len(different), 10)
        print(f"{len(pairs)} types, {len(different)} unread", flush=True)


if __name__ == "__main__":
    harness.main()
