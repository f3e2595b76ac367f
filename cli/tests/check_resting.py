#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads that are blocked when sampling begins: they are in the profile, with all of their time.

usage: check_resting.py DWARFPROF PROGRAM-DIR
"""
import json
import os
import re
import select
import signal
import subprocess
import time
import unittest

import harness
from check_offcpu import functions, streamed, value, wait_until_sampling
from harness import Target, cpu_time, dwarfprof, read, seconds_sampled, start, wait_for

# Time to look again at threads that have moved (RESTING_BEGIN_NS).
LOOK_MS = 50


class Resting(unittest.TestCase):
    def test_one_process_that_may_not_be_read(self):
        """The threads of the other one that sleep all the time are there. Older kernels do not even let
        CAP_PERFMON read mappings."""
        caps = ["--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon"]
        as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        with Target(*as_nobody, "--inh-caps=-all", "sleep", "600") as own, Target("sleep", "600") as other:
            wait_for(lambda: all(" (sleep) S " in read(f"/proc/{pid}/stat") for pid in (own, other)))
            readable = subprocess.run([*as_nobody, *caps, "cat", f"/proc/{other}/maps"], capture_output=True).returncode == 0
            for pids in (own, other), (other, own):
                result = subprocess.run([*as_nobody, *caps, harness.DWARFPROF, "--off-cpu", "-p", ",".join(pids), "-d",
                                         "300ms", "--format", "jsonl"], capture_output=True, text=True, timeout=60)
                if not readable:
                    self.assertIn(f"cannot read the mappings of process {other}: Permission denied", result.stderr)
                    continue
                self.assertEqual({str(sample["pid"]) for sample in streamed(result)}, {own})
                self.assertIn(f"threads of PID {other} that were already blocked are left out", result.stderr)

    def test_threads_that_are_blocked_all_the_time(self):
        with Target("/bin/sleep", "60") as pid:
            wait_for(lambda: "nanosleep" in read(f"/proc/{pid}/stack"))
            result = dwarfprof("-p", pid, "--off-cpu", "-d", "300ms", "--format", "jsonl")
            dump = dwarfprof("dump", "-p", pid, "--format", "jsonl")
        sample, = streamed(result)
        self.assertAlmostEqual(sample["value_ns"] / 1e9, seconds_sampled(result.stderr), delta=0.051)
        self.assertEqual(functions(sample), functions(streamed(dump)[0]))

    def still(self, name, pids, *options):
        """Profiles sleeping processes: each is in the profile, and blocked for all of its time."""
        result = dwarfprof(*options, "--off-cpu", "-d", "500ms", "--format", "jsonl")
        samples = streamed(result)
        for pid in pids:
            mine = [s for s in samples if s["pid"] == int(pid)]
            self.assertEqual([s["outcome"] for s in mine], ["complete"] * len(mine))
            self.assertAlmostEqual(value(mine) / 1e9, seconds_sampled(result.stderr), delta=0.051, msg=name)
        return samples

    def test_all_processes_and_those_that_pass_a_filter(self):
        groups = [line.split()[1] for line in read("/proc/self/mounts").splitlines() if line.split()[2] == "cgroup2"]
        group = os.path.join(groups[0], f"dwarfprof-offcpu-{os.getpid()}")
        os.mkdir(group)
        try:
            with Target("/bin/sleep", "60") as ours, \
                    Target("/bin/sleep", "60", user="nobody") as theirs, \
                    Target("/bin/sleep", "60", preexec_fn=lambda: self.enter(group)) as inside:
                for pid in ours, theirs, inside:
                    wait_for(lambda: "nanosleep" in read(f"/proc/{pid}/stack"))
                every = {int(ours), int(theirs), int(inside)}
                for options, wanted in ((["-a"], every), (["-u", "nobody"], {int(theirs)}),
                                        (["-G", group], {int(inside)}), (["--comm", "^sleep$"], every)):
                    samples = self.still(options, wanted, *options)
                    self.assertEqual({s["pid"] for s in samples} & every, wanted)
        finally:
            wait_for(lambda: not read(os.path.join(group, "cgroup.procs")))
            os.rmdir(group)

    @staticmethod
    def enter(group):
        with open(os.path.join(group, "cgroup.procs"), "w") as file:
            file.write(str(os.getpid()))

    def test_threads_of_the_kernel(self):
        """Those that do not run meanwhile, as their counts of switches tell."""
        def sleeping():
            found = {}
            for pid in filter(str.isdigit, os.listdir("/proc")):
                status = read(f"/proc/{pid}/status")
                if "\nState:\tS" in status and "VmSize" not in status and os.stat(f"/proc/{pid}").st_uid == 0:
                    found[int(pid)] = re.findall(r"ctxt_switches:\s*(\d+)", status)
            return {pid: switches for pid, switches in found.items()
                    if switches and not os.path.exists(f"/proc/{pid}/exe")}
        before = sleeping()
        if not before:
            self.skipTest("no kernel threads are visible here")
        result = dwarfprof("-a", "--off-cpu", "-d", "500ms", "--format", "jsonl")
        samples, after = streamed(result), sleeping()
        still = [pid for pid in before if after.get(pid) == before[pid]]
        self.assertTrue(still)
        for pid in still:
            sample, = (s for s in samples if s["pid"] == pid)
            self.assertEqual((sample["outcome"], sample["tid"]), ("no_user_stack", pid))
            self.assertAlmostEqual(sample["value_ns"] / 1e9, seconds_sampled(result.stderr), delta=0.051)
        users = dwarfprof("-a", "-U", "--off-cpu", "-d", "100ms", "--format", "jsonl")
        self.assertFalse({s["pid"] for s in streamed(users)} & set(before))

    def test_those_that_fork_and_execute(self):
        """One of a process's threads, which all rest, wakes up and does it: for the others that is the end, and
        it gets the first one's number."""
        code = ("import os,sys,threading,time\n"
                "def act():\n"
                "  sys.stdin.readline()\n"
                "  if os.fork() == 0: time.sleep(600)\n"
                "  sys.stdin.readline()\n"
                "  os.execv('/bin/sleep', ['sleep', '600'])\n"
                "for i in range(3): threading.Thread(target=time.sleep, args=(600,)).start()\n"
                "threading.Thread(target=act).start()")
        with (target := Target("/usr/bin/python3", "-c", code, stdin=subprocess.PIPE, text=True, bufsize=1)) as pid:
            stacks = lambda: {tid: read(f"/proc/{pid}/task/{tid}/stack") for tid in os.listdir(f"/proc/{pid}/task")}
            threads = lambda what: {int(tid) for tid, stack in stacks().items() if what in stack}
            wait_for(lambda: (len(threads("pipe_read")), len(threads("nanosleep")), len(threads("futex"))) == (1, 3, 1))
            (actor,), resting = threads("pipe_read"), threads("nanosleep") | threads("futex")
            self.assertEqual(threads("futex"), {int(pid)})
            process = start("-p", pid, "--off-cpu", "--format", "jsonl", stdout=-1, stderr=-1, text=True)
            wait_until_sampling(process)
            forked = time.monotonic_ns()
            target.process.stdin.write("\n")
            wait_for(lambda: harness.children(actor) and threads("pipe_read") == {actor})
            child, = map(int, harness.children(actor))
            self.addCleanup(os.kill, child, signal.SIGKILL)
            wait_for(lambda: "nanosleep" in read(f"/proc/{child}/stack"))
            executed = time.monotonic_ns()
            target.process.stdin.write("\n")
            wait_for(lambda: " (sleep) S " in read(f"/proc/{pid}/stat") and "nanosleep" in read(f"/proc/{pid}/stack"))
            ended = time.monotonic_ns()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        # Who exits or executes may block on the way.
        samples = [s for s in map(json.loads, out.splitlines()) if s["outcome"] != "no_user_stack"]
        self.assertEqual({s["outcome"] for s in samples}, {"complete"}, err)
        self.assertNotIn("left out", err)
        self.assertIn("threads still blocked at the end: 2;", err)
        end = lambda sample: sample["time_ns"] + sample["value_ns"]
        begin = min(s["time_ns"] for s in samples)
        first, last = ({tid: choose((s for s in samples if s["tid"] == tid), key=lambda s: s["time_ns"])
                        for tid in {actor, child, *resting}} for choose in (min, max))
        for tid in (actor, *resting):
            self.assertEqual(first[tid]["time_ns"], begin)
            self.assertEqual(functions(first[tid])[-1], "_start" if tid == int(pid) else "clone3")
        for tid in resting:
            self.assertGreater(end(first[tid]), executed)
            self.assertLess(end(first[tid]), ended)
        self.assertGreater(end(first[actor]), forked)
        self.assertLess(end(first[actor]), executed)
        for tid in child, int(pid):
            self.assertAlmostEqual((end(last[tid]) - begin) / 1e9, seconds_sampled(err), delta=0.051)
        self.assertEqual(last[int(pid)]["comm"], "sleep")
        self.assertEqual(os.path.basename(last[int(pid)]["user_stack"][-1]["module"]), "sleep")
        self.assertGreater(last[int(pid)]["time_ns"], executed)
        self.assertLess(last[int(pid)]["time_ns"], ended)
        self.assertLess(forked, first[child]["time_ns"])

    def start_and_stop(self, *args):
        """A profiler that is stopped when it has looked at threads, and has not begun their intervals: another one, if it
        was faster. What it says next is still to be read."""
        for _ in range(50):
            process = start("-v", *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
            self.addCleanup(process.kill)
            said = iter(process.stderr.readline, b"")
            self.assertTrue(any(b"looked at" in line and b"threads of" in line for line in said))
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if not select.select([process.stderr], [], [], 0)[0]:
                return process
            process.kill()
            process.communicate()
        self.fail("it is never stopped in time")

    def test_those_that_change_while_they_are_taken(self):
        """Between that and the beginning of their intervals, for which the profiler is stopped: some of a process's
        threads end, others rest elsewhere, and one forks. Where the time for a second look is over, the rest is counted."""
        n = 40
        code = ("import os,threading,time\n"
                "def rest(ends):\n"
                "  os.read(0, 1)\n"
                "  if not ends: time.sleep(600)\n"
                f"for i in range({n}): threading.Thread(target=rest, args=(i % 2 == 0,)).start()\n"
                "os.read(0, 1)\n"
                "os.fork()\n"
                "time.sleep(600)")
        with (target := Target("/usr/bin/python3", "-c", code, stdin=subprocess.PIPE)) as pid:
            threads = lambda what: {int(tid) for tid in os.listdir(f"/proc/{pid}/task")
                                    if what in read(f"/proc/{pid}/task/{tid}/stack")}
            wait_for(lambda: len(threads("pipe_read")) == n + 1)
            process = self.start_and_stop("-p", pid, "--off-cpu", "-d", "500ms", "--format", "jsonl")
            target.process.stdin.close()
            wait_for(lambda: len(os.listdir(f"/proc/{pid}/task")) == len(threads("nanosleep")) == n // 2 + 1)
            alive = threads("nanosleep")
            child, = map(int, harness.children(pid))
            self.addCleanup(os.kill, child, signal.SIGKILL)
            wait_for(lambda: "nanosleep" in read(f"/proc/{child}/stack"))
            changed = time.monotonic_ns()
            process.send_signal(signal.SIGCONT)
            out, err = (text.decode() for text in process.communicate(timeout=60))
        samples = [json.loads(line) for line in out.splitlines()]
        alive.add(child)
        found_ms = float(re.search(r"blocked already, found in ([\d.]+) ms", err)[1])
        left_out = re.search(r"blocked all the time: (\d+); they are not in the profile", err)
        n_left_out = int(left_out[1]) if left_out else 0
        if n_left_out > 0:
            self.assertGreaterEqual(found_ms, LOOK_MS)
        self.assertIn(f"threads still blocked at the end: {len(alive) - n_left_out};", err)
        end = lambda sample: sample["time_ns"] + sample["value_ns"]
        for sample in samples:
            if sample["tid"] not in alive:
                self.assertLess(end(sample), changed)
        last = {sample["tid"]: sample for sample in sorted(samples, key=lambda s: s["time_ns"])}
        over = max(map(end, samples))
        still = [tid for tid in alive if tid in last and end(last[tid]) == over]
        self.assertEqual(len(still), len(alive) - n_left_out)
        for tid in still:
            self.assertLess(last[tid]["time_ns"], over - 0.4e9)
            self.assertTrue([f for f in functions(last[tid]) if f and "nanosleep" in f])

    def test_thousands(self):
        """In one process; it takes 50 us for each."""
        n = 2000
        code = ("import threading,time\n"
                "threading.stack_size(65536)\n"
                f"for i in range({n}): threading.Thread(target=time.sleep, args=(600,)).start()")
        with Target("/usr/bin/python3", "-c", code) as pid:
            wait_for(lambda: len(os.listdir(f"/proc/{pid}/task")) == n + 1)
            wait_for(lambda: sum("nanosleep" in read(f"/proc/{pid}/task/{tid}/stack")
                                 for tid in os.listdir(f"/proc/{pid}/task")) == n)
            for options in (["-p", pid], ["-a"]):
                result = dwarfprof(*options, "--off-cpu", "-d", "500ms", "--format", "jsonl")
                mine = [s for s in streamed(result) if s["pid"] == int(pid)]
                self.assertEqual(len({s["tid"] for s in mine}), n + 1)
                self.assertAlmostEqual(value(mine) / 1e9 / (n + 1), seconds_sampled(result.stderr), delta=0.051)

    def test_those_that_wake_up_have_their_time_until_then(self):
        code = "import sys\nsys.stdin.readline()\nwhile True: pass"
        with (target := Target("/usr/bin/python3", "-c", code, stdin=subprocess.PIPE)) as pid:
            wait_for(lambda: "pipe_read" in read(f"/proc/{pid}/stack"))
            process = start("-p", pid, "--wall", "--format", "jsonl", stdout=-1, stderr=-1, text=True)
            wait_until_sampling(process)
            time.sleep(1)  # what its first sample must have, at least
            woken, cpu = time.monotonic_ns(), cpu_time(pid)
            target.process.stdin.write(b"\n")
            target.process.stdin.close()
            wait_for(lambda: cpu_time(pid) > cpu + 0.5)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        samples = [json.loads(line) for line in out.splitlines()]
        first = min(samples, key=lambda sample: sample["time_ns"])
        self.assertEqual((first["event"], first["state"]), ("off-cpu", "S"))
        self.assertGreater(first["value_ns"], 1e9)
        self.assertGreater(first["time_ns"] + first["value_ns"], woken)
        ran = min(s["time_ns"] for s in samples if s["event"] != "off-cpu")
        self.assertLess(first["time_ns"] + first["value_ns"], ran)


if __name__ == "__main__":
    harness.main()
