#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which processes, threads and CPUs are sampled: exactly those that were asked for.

usage: check_filters.py DWARFPROF PROGRAM-DIR
"""
import contextlib
import ctypes
import json
import os
import signal
import subprocess
import tempfile
import unittest

import harness
from harness import (Target, busy, children, cpu_time, dwarfprof, program, read, start, stopped, wait_for,
                     wait_until_it_says)

NOBODY = 65534
CLONE_NEWCGROUP = 0x02000000  # linux/sched.h
CPUS = sorted(os.sched_getaffinity(0))

# A process that waits for its stdin to end before it continues; the rest of the script follows.
WAITS = ("import ctypes,os,sys,threading,time\n"
         "libc = ctypes.CDLL(None)\n"
         "sys.stdin.readline()\n")
WORKS = "while True: sum(range(1000))\n"


def inefficient():
    return Target(program("inefficient"), "300")


def on_cpu(cpu):
    return {"preexec_fn": lambda: os.sched_setaffinity(0, [cpu])}


def python(code, **kwargs):
    """A python that waits for go() and then runs the code."""
    return Target("/usr/bin/python3", "-c", WAITS + code, stdin=subprocess.PIPE, **kwargs)


def go(target):
    target.process.stdin.write(b"\n")
    target.process.stdin.close()


def thread_named(pid, name):
    def find():
        return [tid for tid in os.listdir(f"/proc/{pid}/task") if read(f"/proc/{pid}/task/{tid}/comm") == name + "\n"]
    wait_for(find)
    return find()[0]


class Run:
    """A dwarfprof that samples during the `with` block; samples are read at its end."""

    def __init__(self, *args, wait=True, **kwargs):
        self.args, self.wait, self.kwargs = args, wait, kwargs

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, "out.jsonl")
        self.process = start("-o", self.path, *self.args, stderr=subprocess.PIPE, text=True, **self.kwargs)
        self.said, self.is_ended = "", False
        if self.wait:
            self.wait_until_it_samples()
        return self

    def wait_until_it_samples(self):
        self.said += wait_until_it_says(self.process, "sampling")

    def stop(self):
        os.kill(self.process.pid, signal.SIGSTOP)
        wait_for(lambda: ") T " in read(f"/proc/{self.process.pid}/stat"))

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def wait_for_tables(self):
        """Waits until a stack was walked in the kernel."""
        wait_for(lambda: any(not json.loads(line)["late"] for line in read(self.path).split("\n")[:-1]))

    def end(self):
        """Once: a second signal would cut off what it writes."""
        if not self.is_ended:
            self.process.terminate()
        self.is_ended = True

    def __exit__(self, *error):
        try:
            self.end()
            self.said += self.process.communicate(timeout=30)[1]
            with open(self.path) as file:
                self.samples = [json.loads(line) for line in file]
        finally:
            self.process.kill()
            self.directory.cleanup()


def while_it_works(pid, seconds=0.3):
    """Waits until a process, or PID/task/TID, has used that much CPU time."""
    before = cpu_time(pid)
    wait_for(lambda: cpu_time(pid) >= before + seconds)


class Filters(unittest.TestCase):
    def samples_of_each(self, *runs, of, **kwargs):
        """Samples with each of these sets of options, all at the same time, until each of these processes and
        threads has worked for a while. Returns the samples of each run; its messages are in self.said."""
        with contextlib.ExitStack() as stack:
            pids = {one.partition("/")[0] for one in of}
            with stopped(pids):
                # Calls have no rate. Where the CPU is emulated, one rate is as much as it can do.
                rate = ["-F", "999" if len(runs) == 1 else "299"]
                started = [stack.enter_context(Run(*([] if "-e" in args else rate), *args, wait=False, **kwargs))
                           for args in runs]
                for run in started:
                    run.wait_until_it_samples()
            for one in of:
                while_it_works(one, 0.1 if len(runs) == 1 else 0.2)
            stack.enter_context(stopped(pids))
            for run in started:
                run.end()
                run.process.wait()
        for run in started:
            self.assertIn(run.process.returncode, (0, 5), run.said)
        self.said = [run.said for run in started]
        return [run.samples for run in started]

    def samples(self, *args, of, **kwargs):
        """The same of one run."""
        samples, = self.samples_of_each(args, of=of, **kwargs)
        self.said, = self.said
        return samples

    def pids_of_each(self, *runs, of):
        return [{str(sample["pid"]) for sample in samples} for samples in self.samples_of_each(*runs, of=of)]

    def pids(self, *args, of):
        return {str(sample["pid"]) for sample in self.samples(*args, of=of)}

    def assert_complete(self, samples):
        self.assertGreater(len(samples), 10)
        self.assertLessEqual({s["outcome"] for s in samples}, {"complete", "no_user_stack"})

    def assert_refused(self, code, words, *args, lines=1):
        result = dwarfprof(*args, "-d", "300ms", "-o", "/dev/null", "--format", "folded")
        self.assertEqual(result.returncode, code, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(result.stderr.count("\n"), lines, result.stderr)


class All(Filters):
    def test_processes_that_start_later(self):
        with Run("-a") as run:
            with Target(program("fibonacci"), "300", start_new_session=True) as pid:
                while_it_works(pid)
        own = [s for s in run.samples if s["pid"] == int(pid) and s["comm"] == "fibonacci"]
        self.assert_complete(own)

    def test_a_process_that_no_record_has_told_of(self):
        """The rings for perf records overflow while nobody reads them."""
        with Run("-v", "-a") as run:
            run.stop()
            forks = "for ((i = 0; i < 4000; i++)); do ( : ); done"
            storms = [subprocess.Popen(["/bin/bash", "-c", forks], **on_cpu(cpu)) for cpu in CPUS]
            for storm in storms:
                storm.wait()
            with busy() as pid:
                run.resume()
                while_it_works(pid, 6 if harness.is_emulated() else 1.5)
        self.assertIn("records of mappings were lost", run.said)
        # Samples taken while the profiler was stopped had little room.
        own = [s for s in run.samples if s["pid"] == int(pid) and s["comm"] == "fibonacci"]
        self.assert_complete(own[len(own) // 2:])


class Inherit(Filters):
    def test_children_are_left_out(self):
        shell = f"{program('fibonacci')} 60 & trap '{program('inefficient')} 60 & trap : USR1' USR1; while :; do :; done"
        with Target("/bin/bash", "-c", shell, start_new_session=True) as pid:
            wait_for(lambda: read(f"/proc/{(children(pid) or [0])[0]}/comm") == "fibonacci\n")
            with Run("-p", pid, "--no-inherit") as run:
                os.kill(int(pid), signal.SIGUSR1)
                wait_for(lambda: len(children(pid)) == 2)
                while_it_works(children(pid)[1])
            found = set(children(pid))
            with_children = self.pids("-p", pid, of=found)
            os.killpg(int(pid), signal.SIGKILL)
        self.assertEqual({str(s["pid"]) for s in run.samples}, {pid})
        self.assert_complete(run.samples)
        self.assertLessEqual(found, with_children)

    def test_a_command_without_its_children(self):
        shell = f"{program('fibonacci')} 1; for ((i = 0; i < 400000; i++)); do :; done"
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            result = dwarfprof("--no-inherit", "-o", path, "--", "/bin/bash", "-c", shell)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path) as file:
                samples = [json.loads(line) for line in file]
        self.assertEqual(len({s["pid"] for s in samples}), 1)
        self.assertEqual({s["comm"] for s in samples}, {"bash"})
        self.assert_complete(samples)

    def test_a_process_that_executes_another_program(self):
        with (target := python(f"os.execv('{program('fibonacci')}', ['fibonacci', '60'])\n")) as pid:
            with Run("-p", pid) as one, Run("-p", pid, "--no-inherit") as two, Run("-p", pid, "-u", "root") as three:
                go(target)
                wait_for(lambda: read(f"/proc/{pid}/comm") == "fibonacci\n")
                while_it_works(pid)
        for run in one, two, three:
            self.assert_complete([s for s in run.samples if s["comm"] == "fibonacci"])

    def test_it_goes_with_processes_and_commands_alone(self):
        self.assert_refused(2, ["--no-inherit needs -p PID or -- CMD"], "-a", "--no-inherit", lines=2)


class Threads(Filters):
    CODE = ("def work(name):\n"
            "  libc.prctl(15, name, 0, 0, 0)\n"
            "  while True: sum(range(1000))\n"
            "for name in (b'one', b'two', b'three'):\n"
            "  threading.Thread(target=work, args=(name,), daemon=True).start()\n")

    def test_only_these_threads(self):
        with (target := python(self.CODE + WORKS)) as pid:
            go(target)
            one, two, _ = [thread_named(pid, name) for name in ("one", "two", "three")]
            lists = [one], [one, two], [pid]
            found = self.samples_of_each(*(["-t", ",".join(asked)] for asked in lists),
                                         of=[f"{pid}/task/{tid}" for tid in (one, two, pid)])
        for asked, samples in zip(lists, found):
            self.assertEqual({str(s["tid"]) for s in samples}, set(asked))
            self.assertEqual({s["pid"] for s in samples}, {int(pid)})
            self.assert_complete(samples)
        self.assertIn(f"sampling python3 (TID {pid}) at", self.said[-1])

    def test_not_their_children(self):
        code = (f"child = os.posix_spawn('{program('fibonacci')}', ['fibonacci', '60'], {{}})\n"
                ) + WORKS
        with (target := python(code, start_new_session=True)) as pid:
            go(target)
            wait_for(lambda: read(f"/proc/{(children(pid) or [0])[0]}/comm") == "fibonacci\n")
            self.assertEqual(self.pids("-t", pid, of=[pid, *children(pid)]), {pid})
            os.kill(int(children(pid)[0]), signal.SIGKILL)

    def test_it_ends_with_the_last_of_them(self):
        code = ("import signal\n"
                "over = set()\n"
                "signal.signal(signal.SIGUSR1, lambda *_: over.add(b'short'))\n"
                "signal.signal(signal.SIGUSR2, lambda *_: over.add(b'long'))\n"
                "def work(name):\n"
                "  libc.prctl(15, name, 0, 0, 0)\n"
                "  while name not in over: sum(range(1000))\n"
                "for name in (b'short', b'long'):\n"
                "  threading.Thread(target=work, args=(name,), daemon=True).start()\n") + WORKS
        with (target := python(code)) as pid:
            go(target)
            short, long = thread_named(pid, "short"), thread_named(pid, "long")
            with Run("-F", "999", "-t", f"{short},{long}") as run:
                while_it_works(f"{pid}/task/{short}", 0.1)
                os.kill(int(pid), signal.SIGUSR1)
                wait_for(lambda: not os.path.exists(f"/proc/{pid}/task/{short}"))
                while_it_works(f"{pid}/task/{long}", 0.1)
                self.assertIsNone(run.process.poll())
                os.kill(int(pid), signal.SIGUSR2)
                wait_for(lambda: run.process.poll() is not None)
        self.assertEqual(run.process.returncode, 0, run.said)
        self.assertEqual({str(s["tid"]) for s in run.samples}, {short, long})

    def test_a_first_thread_lives_on_when_another_one_executes(self):
        code = (f"t = threading.Thread(target=os.execv, args=('{program('fibonacci')}', ['fibonacci', '60']))\n"
                "t.start()\n") + WORKS
        with (target := python(code)) as pid:
            with Run("-t", pid) as run:
                go(target)
                wait_for(lambda: read(f"/proc/{pid}/comm") == "fibonacci\n")
                while_it_works(pid)
                self.assertIsNone(run.process.poll())
        self.assert_complete([s for s in run.samples if s["comm"] == "fibonacci"])

    def test_no_such_thread(self):
        self.assert_refused(4, ["there is no thread 999999999"], "-t", "999999999")

    def test_p_of_a_thread_names_both_ways(self):
        with (target := python(self.CODE + WORKS)) as pid:
            go(target)
            tid = thread_named(pid, "one")
            result = dwarfprof("-p", tid, "-d", "1")
        self.assertEqual(result.returncode, 4)
        self.assertIn(f"try:  -p {pid} for all of the process, -t {tid} for this thread", result.stderr)


class Cpus(Filters):
    def setUp(self):
        if len(CPUS) < 2:
            self.skipTest("one CPU")

    def test_only_these(self):
        with Target(program("fibonacci"), "300", **on_cpu(CPUS[0])) as one, \
             Target(program("inefficient"), "300", **on_cpu(CPUS[1])) as two:
            runs = ((["-C", str(CPUS[0])], one, two), (["-C", str(CPUS[1])], two, one),
                    (["-C", f"{CPUS[0]}", "-p", f"{one},{two}"], one, two))
            *found, both = self.samples_of_each(*(args for args, *_ in runs), ["-C", f"{CPUS[0]}-{CPUS[1]},{CPUS[0]}"],
                                                of=(one, two))
        for (args, here, there), samples in zip(runs, found):
            self.assertEqual({s["cpu"] for s in samples}, {int(args[1])})
            pids = {str(s["pid"]) for s in samples}
            self.assertIn(here, pids)
            self.assertNotIn(there, pids)
        self.assertIn(f"sampling 2 processes on CPUs {CPUS[0]} at", self.said[2])
        self.assertEqual({s["cpu"] for s in both}, set(CPUS[:2]))

    def test_calls_on_these(self):
        event = ["-e", f"uprobe:{program('inefficient')}:report"]
        with Target(program("inefficient"), "300", **on_cpu(CPUS[0])) as one, \
             Target(program("inefficient"), "300", **on_cpu(CPUS[1])) as two:
            self.assertEqual(self.pids_of_each(["-a", *event], ["-C", str(CPUS[1]), *event], of=(one, two)),
                             [{one, two}, {two}])

    def test_what_is_no_cpu(self):
        with open("/sys/devices/system/cpu/online") as file:
            online = file.read().strip()
        self.assert_refused(2, [f"CPU 8191 is not there or offline; online are {online}\n"], "-C", "0,8191")
        self.assert_refused(2, ["CPU 99999999 is not there"], "-C", "99999999")
        for wrong in ("", "x", "0-", "1-0", "0,", ",0", "0 1", "-1"):
            self.assert_refused(2, ["-C takes a list of CPUs such as 0-3,7"], f"-C{wrong}" if wrong else "--cpu=")


class Users(Filters):
    def test_only_theirs(self):
        with Target(program("fibonacci"), "300", user=NOBODY) as theirs, inefficient() as ours:
            runs = ["-u", "nobody"], ["-u", str(NOBODY)], ["-p", f"{theirs},{ours}", "-u", "nobody"], ["-u", "root"]
            *found, of_root = self.samples_of_each(*runs, of=(theirs, ours))
        for samples in found:
            self.assertEqual({str(s["pid"]) for s in samples}, {theirs})
            self.assert_complete(samples)
        for (_, name), said in zip(runs[:2], self.said):
            self.assertIn(f"sampling processes of user {name} at", said)
        pids = {str(s["pid"]) for s in of_root}
        self.assertIn(ours, pids)
        self.assertNotIn(theirs, pids)

    def test_tables_are_made_for_theirs_alone(self):
        with Target(program("fibonacci"), "300", user=NOBODY), Target(program("inefficient"), "300"):
            result = dwarfprof("-v", "-u", "nobody", "-d", "300ms", "-o", "/dev/null", "--format", "folded")
        self.assertIn(program("fibonacci") + ": ", result.stderr)
        self.assertNotIn(program("inefficient") + ": ", result.stderr)

    def test_one_that_changes_its_user(self):
        with (target := python("os.setuid(65534)\n" + WORKS)) as pid:
            with Run("-u", "nobody") as run:
                go(target)
                while_it_works(pid)
                run.wait_for_tables()
        self.assertEqual({str(s["pid"]) for s in run.samples}, {pid})
        self.assert_complete(run.samples)
        self.assertTrue(run.samples[0]["late"])
        self.assertFalse(run.samples[-1]["late"])

    def test_the_effective_one_counts(self):
        with (target := python("os.seteuid(65534)\n" + WORKS)) as pid:
            go(target)
            wait_for(lambda: "Uid:\t0\t65534\t" in read(f"/proc/{pid}/status"))
            theirs, ours = self.pids_of_each(["-u", "nobody"], ["-u", "root"], of=[pid])
        self.assertEqual(theirs, {pid})
        self.assertNotIn(pid, ours)

    def test_in_a_user_namespace_it_is_the_number_outside(self):
        command = ["unshare", "--user", "--map-root-user", program("fibonacci"), "300"]
        with Target(*command, user=NOBODY) as pid:
            wait_for(lambda: read(f"/proc/{pid}/comm") == "fibonacci\n")
            self.assertEqual(read(f"/proc/{pid}/uid_map").split(), ["0", str(NOBODY), "1"])
            theirs, ours = self.pids_of_each(["-u", "nobody"], ["-u", "root"], of=[pid])
        self.assertEqual(theirs, {pid})
        self.assertNotIn(pid, ours)

    def test_no_such_user(self):
        self.assert_refused(2, ["there is no user 'nosuchuser'"], "-u", "nosuchuser")
        self.assert_refused(2, ["there is no user '12x'"], "-u", "12x")


class Cgroups(Filters):
    def setUp(self):
        with open("/proc/self/mounts") as mounts:
            found = [line.split()[1] for line in mounts if line.split()[2] == "cgroup2"]
        self.assertTrue(found, "no cgroup v2 is mounted")
        self.mount = found[0]
        self.name = f"dwarfprof-test-{os.getpid()}"
        self.outer = os.path.join(self.mount, self.name)
        self.inner = os.path.join(self.outer, "inner")
        for path in (self.outer, self.inner, self.outer + "x"):
            os.mkdir(path)
            self.addCleanup(self.remove, path)

    def remove(self, path):
        def done():
            try:
                os.rmdir(path)
            except OSError:
                return False
            return True
        wait_for(done)  # programs in the cgroup may still be exiting

    def move(self, pid, path):
        with open(os.path.join(path, "cgroup.procs"), "w") as file:
            file.write(str(pid))

    def inside(self, path, *command):
        return Target(*command, preexec_fn=lambda: self.move(os.getpid(), path))

    def test_only_what_is_inside(self):
        fibonacci = [program("fibonacci"), "300"]
        with self.inside(self.outer, *fibonacci) as outer, self.inside(self.inner, *fibonacci) as inner, \
             self.inside(self.outer + "x", program("inefficient"), "300") as beside, busy() as other:
            paths = self.outer, self.name, "/" + self.name
            found = self.samples_of_each(*(["-v", "-G", path] for path in paths), ["-G", self.name + "/inner"],
                                         ["-G", self.name, "-p", f"{inner},{other}"], of=(outer, inner, beside, other))
        for path, samples, said in zip(paths, found, self.said):
            self.assertEqual({str(s["pid"]) for s in samples}, {outer, inner})
            self.assert_complete(samples)
            self.assertIn(f"sampling processes in cgroup {path} at", said)
            self.assertIn(program("fibonacci") + ": ", said)
            self.assertNotIn(program("inefficient") + ": ", said, "a table is made of what runs beside it")
        for samples in found[3:]:
            self.assertEqual({str(s["pid"]) for s in samples}, {inner})

    def test_in_a_cgroup_namespace(self):
        def enter():
            self.move(os.getpid(), self.outer)
            assert ctypes.CDLL(None).unshare(CLONE_NEWCGROUP) == 0

        with self.inside(self.inner, program("fibonacci"), "300") as pid, busy() as other:
            samples = self.samples("-G", self.inner, of=(pid, other), preexec_fn=enter)
        self.assertEqual({str(s["pid"]) for s in samples}, {pid})
        self.assert_complete(samples)

    def test_one_that_moves_in(self):
        with busy() as pid:
            with Run("-G", self.name) as run:
                while_it_works(pid, 0.2)
                self.move(pid, self.inner)
                while_it_works(pid)
                run.wait_for_tables()
        self.assertEqual({str(s["pid"]) for s in run.samples}, {pid})
        self.assert_complete(run.samples)
        self.assertTrue(run.samples[0]["late"])
        self.assertFalse(run.samples[-1]["late"])

    def test_one_that_starts_inside_later(self):
        with Run("-G", self.name) as run:
            with self.inside(self.inner, program("fibonacci"), "300") as pid:
                while_it_works(pid)
        own = [s for s in run.samples if s["comm"] == "fibonacci"]
        self.assertEqual({str(s["pid"]) for s in run.samples}, {pid})
        self.assert_complete(own)

    def test_what_is_no_cgroup(self):
        self.assert_refused(2, ["there is no cgroup nosuch in " + self.mount], "-G", "nosuch")
        self.assert_refused(2, ["/etc is no cgroup v2; those are in " + self.mount], "-G", "/etc")
        self.assert_refused(2, ["there is no cgroup /nosuch in " + self.mount], "-G", "/nosuch")
        self.assert_refused(2, ["there is no cgroup"], "-G", os.path.join(self.name, "cgroup.procs"))

    def test_no_cgroup_file_system(self):
        script = f"umount -l {self.mount} && exec {harness.DWARFPROF} -G / -d 1"
        result = subprocess.run(["unshare", "--mount", "/bin/sh", "-c", script], capture_output=True, text=True,
                                timeout=60)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("needs a cgroup v2 file system", result.stderr)


class Names(Filters):
    def test_only_those_that_match(self):
        with busy() as pid, inefficient() as other:
            # The name of a kernel thread may contain any letter.
            names = "^fibo", "ac{2}i$", "^x$|bonac"
            *found, of_other, none = self.samples_of_each(*(["--comm", regex] for regex in names),
                                                          ["-p", f"{pid},{other}", "--comm", "^ineff"],
                                                          ["-p", other, "--comm", "^fib"], of=(pid, other))
        for regex, samples, said in zip(names, found, self.said):
            self.assertEqual({str(s["pid"]) for s in samples}, {pid})
            self.assert_complete(samples)
            self.assertIn(f"sampling processes named {regex} at", said)
        self.assertEqual({str(s["pid"]) for s in of_other}, {other})
        self.assertEqual(none, [])

    def test_names_are_told_to_the_kernel(self):
        with busy(), inefficient() as other:
            with Run("--comm", "^fib") as run:
                while_it_works(other, 0.3)
                dump = subprocess.run(["bpftool", "-j", "map", "dump", "name", "dp_other_comms"],
                                      capture_output=True, text=True, check=True).stdout
        names = {bytes(int(byte, 16) for byte in entry["key"]).split(b"\0")[0] for entry in json.loads(dump)}
        self.assertIn(b"inefficient", names)
        self.assertNotIn(b"fibonacci", names)
        self.assertEqual({s["comm"] for s in run.samples}, {"fibonacci"})

    def test_one_that_changes_its_name(self):
        with (target := python("libc.prctl(15, b'changeling', 0, 0, 0)\n" + WORKS)) as pid:
            with Run("--comm", "^change") as run:
                # The profiler had time to learn the name and build tables before the first sample.
                run.stop()
                go(target)
                while_it_works(pid, 0.2)
                run.resume()
                while_it_works(pid)
                run.wait_for_tables()
        self.assertEqual({str(s["pid"]) for s in run.samples}, {pid})
        self.assertEqual({s["comm"] for s in run.samples}, {"changeling"})
        self.assert_complete(run.samples)
        self.assertTrue(run.samples[0]["late"])
        self.assertFalse(run.samples[-1]["late"])

    def test_one_that_executes_a_program_of_that_name_and_another(self):
        inner = f"import os,time; end=time.time()+0.3\nwhile time.time() < end: pass\n" \
                f"os.execv('{program('fibonacci')}', ['fibonacci', '60'])"
        with (target := python(f"os.execv('/usr/bin/python3', ['python3', '-c', '''{inner}'''])\n")) as pid:
            with Run("--comm", "^fib") as run:
                go(target)
                wait_for(lambda: read(f"/proc/{pid}/comm") == "fibonacci\n")
                while_it_works(pid)
        self.assertEqual({s["comm"] for s in run.samples}, {"fibonacci"})
        self.assert_complete(run.samples)

    def test_the_process_counts_not_its_threads(self):
        with (target := python(Threads.CODE + WORKS)) as pid:
            go(target)
            threads = [f"{pid}/task/{thread_named(pid, name)}" for name in ("one", "two", "three")]
            none, samples = self.samples_of_each(["-p", pid, "--comm", "one"], ["-p", pid, "--comm", "python3"], of=threads)
        self.assertEqual(none, [])
        self.assertLess({"one", "two", "three"}, {s["thread_name"] for s in samples})

    def test_a_bad_expression(self):
        self.assert_refused(2, ["--comm takes a regular expression, not 'a(b': ", "Unmatched ("], "--comm", "a(b")


class Combinations(Filters):
    def test_all_must_hold(self):
        last = str(CPUS[-1])
        with Target(program("fibonacci"), "300", user=NOBODY) as pid, busy() as ours, \
             Target(program("inefficient"), "300", user=NOBODY) as other:
            for one in (pid, ours, other):
                os.sched_setaffinity(int(one), [CPUS[-1]])
            *found, elsewhere = self.samples_of_each(
                ["-u", "nobody", "--comm", "^fib"], ["-a", "-C", last, "-u", "nobody", "--comm", "^fib"],
                ["-p", f"{pid},{ours},{other}", "-u", "nobody", "--comm", "^fib", "-C", last],
                ["-C", str(CPUS[0]), "-u", "nobody", "--comm", "^fib"], of=(pid, ours, other))
        for samples in found:
            self.assertEqual({str(s["pid"]) for s in samples}, {pid})
            self.assert_complete(samples)
        self.assertIn(f"sampling 3 processes of user nobody named ^fib on CPUs {last} at", self.said[2])
        if len(CPUS) > 1:
            self.assertEqual(elsewhere, [])

    def test_a_command(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            shell = f"{program('inefficient')} 1; {program('fibonacci')} 1"
            dwarfprof("--comm", "^fib", "-o", path, "--", "/bin/sh", "-c", shell)
            with open(path) as file:
                samples = [json.loads(line) for line in file]
        self.assertEqual({s["comm"] for s in samples}, {"fibonacci"})
        self.assert_complete(samples)

    def test_targets_exclude_each_other(self):
        for args in (["-p", "1", "-t", "1"], ["-t", "1", "-a"], ["-t", "1", "--", "ls"]):
            result = dwarfprof(*args)
            self.assertEqual(result.returncode, 2)
            self.assertIn("-p, -t, -a and -- CMD exclude each other", result.stderr)


if __name__ == "__main__":
    harness.main()
