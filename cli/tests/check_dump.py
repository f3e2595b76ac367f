#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`dwarfprof dump`: stacks of running processes, compared with eu-stack, which stops them.

usage: check_dump.py DWARFPROF PROGRAM-DIR
"""
import glob
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import harness
from harness import cpu_time, dwarfprof, program, read

THREAD = re.compile(r"TID (\d+) (.*): ([\w ]+) \((\w)\)")
# Lines of eu-stack have the same form.
FRAME = re.compile(r"#\d+ +0x([0-9a-f]{16})(?: +(.*))?")


class Crowd:
    """The program `crowd`, once all of its threads have reached their places."""

    def __init__(self, *args):
        self.args = [str(arg) for arg in args]

    def __enter__(self):
        self.process = subprocess.Popen([program("crowd"), *self.args], stdout=subprocess.PIPE,
                                        text=True)
        assert self.process.stdout.readline() == "ready\n"
        return str(self.process.pid)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def parse(text):
    """Maps each thread to its frames: (address, rest of the line)."""
    threads, frames = {}, None
    for line in text.splitlines():
        head = re.match(r"TID (\d+)", line)
        frame = FRAME.match(line)
        if head:
            frames = threads[head.group(1)] = []
        elif frame:
            frames.append((frame.group(1), frame.group(2) or ""))
    return threads


def addresses(text):
    return {tid: [address for address, _ in frames] for tid, frames in parse(text).items()}


def eu_stack(pid, *options):
    return subprocess.run(["eu-stack", "-p", pid, "-n", "0", *options], capture_output=True,
                          text=True, timeout=60, check=False).stdout


def dump(*args, code=0):
    done = dwarfprof("dump", *args)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stdout


def dump_all(*args):
    """A thread that never sleeps is sampled. If it was not on a CPU for that long, a message says
    so."""
    for _ in range(50):
        done = dwarfprof("dump", *args)
        if "no stack of thread" not in done.stderr:
            break
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


def cpu_time_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Watch(threading.Thread):
    """Was a process ever stopped or traced while the `with` block ran?"""

    def __init__(self, pid):
        super().__init__()
        self.pid, self.bad, self.looks, self.over = pid, [], 0, False

    def look(self):
        for task in glob.glob(f"/proc/{self.pid}/task/*"):
            status = read(f"{task}/status")
            state = re.search(r"^State:\s+(\w)", status, re.M)
            tracer = re.search(r"^TracerPid:\s+(\d+)", status, re.M)
            if state and (state.group(1) in "Tt" or tracer.group(1) != "0"):
                self.bad.append(status)
        self.looks += 1

    def run(self):
        while not self.over:
            self.look()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()


class Stacks(unittest.TestCase):
    LONG = "test_of_threads_that_come_and_go_are_whole",

    def test_are_those_that_eu_stack_finds(self):
        with Crowd(12, 0) as pid:
            ours, theirs = dump("-p", pid, "-U"), eu_stack(pid, "-i")
        self.assertEqual(len(addresses(theirs)), 14)
        self.assertEqual(addresses(ours), addresses(theirs))

    def test_are_those_of_programs_that_people_run(self):
        for call, command in (("nanosleep", ["python3", "-c", "import time; time.sleep(100)"]),
                              ("epoll", ["node", "-e", "setTimeout(() => {}, 100000)"]),
                              ("nanosleep", ["perl", "-e", "sub f { sleep 100 } f()"])):
            with self.subTest(command=command[0]), harness.Target(*command) as pid:
                # The program needs some time to start.
                harness.wait_for(lambda: call in read(f"/proc/{pid}/stack") and self.is_idle(pid), 300)
                ours, theirs = dump("-p", pid, "-U", "--no-inline", "--native-frames=only"), eu_stack(pid)
                self.assertGreater(len(addresses(theirs)), 0)
                self.assertEqual(addresses(ours), addresses(theirs))

    @staticmethod
    def is_idle(pid):
        """Do all threads sleep at one moment? Then none of them is left to wake another."""
        def threads():
            paths = glob.glob(f"/proc/{pid}/task/*/status")
            return {path: re.findall(r"^State:\t(\w)|ctxt_switches:\t(\d+)", read(path), re.M) for path in paths}
        before = threads()
        return threads() == before and {state for facts in before.values() for state, _ in facts} == {"S", ""}

    def test_have_the_functions_that_the_threads_are_in(self):
        with Crowd(3, 1, "vfork") as pid:
            text = dump_all("-p", pid)
        heads = {name: (tid, word, state) for tid, name, word, state in THREAD.findall(text)}
        threads = parse(text)
        self.assertEqual(set(heads), {"crowd", "deep 1", "deep 2", "deep 3", "handler", "vfork", "spinner"})
        self.assertEqual(heads["deep 3"][1:], ("sleeping", "S"))
        self.assertEqual(heads["vfork"][1:], ("blocked", "D"))
        self.assertIn(heads["spinner"][1:], [("running", "R"), ("waiting for a CPU", "R")])

        deep = [rest for _, rest in threads[heads["deep 3"][0]]]
        self.assertTrue(any("[kernel]" in rest for rest in deep))
        self.assertEqual(sum(rest.startswith("descend at ") for rest in deep), 3)
        inlined = [rest for rest in deep if rest.startswith("stay_inlined (inlined) at ")]
        self.assertEqual(len(inlined), 1)
        self.assertRegex(inlined[0], r"crowd\.c:\d+ \[crowd\]$")

        names = [rest.split()[0] for _, rest in threads[heads["handler"][0]]]
        self.assertIn("sleep_in_handler", names)
        names = [rest.split()[0] for _, rest in threads[heads["vfork"][0]]]
        self.assertIn("wait_for_child", names)
        names = [rest.split()[0] for _, rest in threads[heads["spinner"][0]]]
        self.assertEqual([name for name in names if name.startswith("spin")], ["spin", "spin_for_ever"])
        self.assertEqual(names[-1], "clone3")

    def test_of_a_thousand_threads_are_taken_at_once(self):
        with Crowd(1000, 0) as pid:
            dump("-p", pid)  # from now on, tables and names are cached on disk
            taken = []
            for _ in range(3):
                before = cpu_time_of_children()
                text = dump("-p", pid, "-U")
                taken.append(cpu_time_of_children() - before)
        # The minimum of its own CPU time, which other load on the machine does not affect.
        self.assertLess(min(taken), 4 if harness.is_emulated() else 1)
        threads = parse(text)
        self.assertEqual(len(threads), 1002)
        for tid, name, _, _ in THREAD.findall(text):
            if name.startswith("deep "):
                calls = sum(rest.startswith("descend at ") for _, rest in threads[tid])
                self.assertEqual(calls, int(name.split()[1]), (tid, name))

    def test_do_not_stop_the_process(self):
        with Crowd(50, 1) as pid:
            before = cpu_time(pid)
            with Watch(pid) as watch:
                for _ in range(5):
                    dump("-p", pid)
            after = cpu_time(pid)
        self.assertGreater(watch.looks, 20)
        self.assertEqual(watch.bad, [])
        self.assertGreater(after, before)

    def test_of_a_stopped_process_are_taken_too(self):
        with Crowd(2, 0) as pid:
            os.kill(int(pid), signal.SIGSTOP)
            # Each thread stops by itself.
            harness.wait_for(lambda: all("State:\tT" in read(f"/proc/{pid}/task/{tid}/status")
                                         for tid in os.listdir(f"/proc/{pid}/task")))
            text = dump("-p", pid, "-U")
        self.assertEqual({head[2:] for head in THREAD.findall(text)}, {("stopped", "T")})
        self.assertEqual(sum("descend at " in line for line in text.splitlines()), 3)

    def test_that_are_damaged_end_with_the_outcome_that_tells(self):
        for scenario, outcome in (("code", "no_call"), ("heap", "no_mapping"), ("null", "null_return")):
            # It never sleeps: its stack is taken on the CPU, or while it waits for the CPU.
            with self.subTest(scenario), harness.Target(program("damaged"), scenario) as pid:
                harness.wait_until_it_runs(pid)
                record = json.loads(dump_all("-p", pid, "-U", "--format", "jsonl"))
                self.assertEqual((record["outcome"], [frame["symbol"] for frame in record["user_stack"]]),
                                 (outcome, ["victim_return"]))

    def test_of_threads_that_come_and_go_are_whole(self):
        with harness.Target(program("pingpong"), "1000000000") as pid:
            for _ in range(5):
                records = [json.loads(line) for line in
                           dump("-p", pid, "--format", "jsonl").splitlines()]
                self.assertGreater(len(records), 0)
                for record in records:
                    self.assertEqual(record["outcome"], "complete", record)


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.crowd = Crowd(2, 0)
        cls.pid = cls.crowd.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.crowd.__exit__()

    def threads(self):
        return sorted(os.listdir(f"/proc/{self.pid}/task"), key=int)

    def test_one_thread_alone(self):
        for tid in self.threads()[1:3]:
            self.assertEqual(list(parse(dump("-t", tid))), [tid])
        both = ",".join(self.threads()[1:3])
        self.assertEqual(list(parse(dump("-t", both))), self.threads()[1:3])

    def test_several_processes(self):
        with Crowd(1, 0) as other:
            text = dump("-p", f"{self.pid},{other}")
        self.assertEqual(re.findall(r"^PID (\d+) crowd$", text, re.M), [self.pid, other])

    def test_less_of_names(self):
        self.assertIn("(inlined)", dump("-p", self.pid))
        self.assertNotIn("(inlined)", dump("-p", self.pid, "--no-inline"))
        self.assertNotIn("crowd.c:", dump("-p", self.pid, "--no-lines"))
        bare = dump("-p", self.pid, "--no-symbols", "-U")
        self.assertNotIn("descend", bare)
        self.assertRegex(bare, r"\[crowd\+0x[0-9a-f]+\]")

    def test_one_side_alone(self):
        self.assertNotIn("[kernel]", dump("-p", self.pid, "-U"))
        kernel = dump("-p", self.pid, "-K")
        self.assertIn("[kernel]", kernel)
        self.assertNotIn("descend", kernel)

    def test_formats(self):
        text = dump("-p", self.pid)
        records = [json.loads(line) for line in dump("-p", self.pid, "--format", "jsonl").splitlines()]
        self.assertEqual([str(record["tid"]) for record in records], list(parse(text)))
        for record in records:
            self.assertEqual((record["outcome"], record["state"]), ("complete", "S"))
            frames = record["kernel_stack"] + record["user_stack"]
            self.assertEqual([int(frame["address"], 16) for frame in frames],
                             [int(address, 16) for address, _ in parse(text)[str(record["tid"])]])
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/%p.txt"
            self.assertEqual(dump("-p", self.pid, "-o", path), "")
            self.assertEqual(read(f"{directory}/{self.pid}.txt"), text)


class Errors(unittest.TestCase):
    def refuse(self, code, *args, user=None):
        done = dwarfprof("dump", *args, user=user)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        return done.stderr

    def test_wrong_usage(self):
        self.assertIn("give -p PID or -t TID", self.refuse(2))
        self.assertIn("exclude each other", self.refuse(2, "-p", "1", "-t", "1"))
        self.assertIn("unexpected argument 'x'", self.refuse(2, "-p", "1", "x"))

    def test_no_such_process(self):
        self.assertIn("there is no process 999999999", self.refuse(4, "-p", "999999999"))
        self.assertIn("there is no thread 999999999", self.refuse(4, "-t", "999999999"))
        self.assertIn("no user memory", self.refuse(4, "-p", "2"))

    def test_not_permitted(self):
        with Crowd(1, 0) as pid:
            said = self.refuse(3, "-p", pid, user="nobody")
        self.assertIn("need: CAP_BPF CAP_PERFMON", said)
        self.assertIn("sudo dwarfprof", said)

    def capable(self, capabilities, *args, user):
        names = ",".join("+" + name for name in capabilities)
        return subprocess.run(["setpriv", "--reuid", user, "--regid", "nogroup", "--clear-groups",
                               "--inh-caps", names, "--ambient-caps", names,
                               harness.DWARFPROF, "dump", *args], capture_output=True, text=True,
                              timeout=60, check=False)

    def test_others_with_capabilities(self):
        with Crowd(2, 0) as pid:
            done = self.capable(["bpf", "perfmon"], "-p", pid, "--no-cache", user="nobody")
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertIn("CAP_SYS_PTRACE", done.stderr)
            done = self.capable(["bpf", "perfmon", "sys_ptrace"], "-p", pid, "--no-cache", "-U",
                                user="nobody")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(addresses(done.stdout), addresses(dump("-p", pid, "-U")))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    harness.main()
