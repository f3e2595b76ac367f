#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Off-CPU time, wall time and bounded rates, compared with counts of the kernel and the programs.

usage: check_offcpu.py DWARFPROF PROGRAM-DIR
"""
import contextlib
import json
import math
import os
import re
import subprocess
import signal
import tempfile
import time
import unittest

import chance
import harness
from harness import (Target, busy, cpu_time, dwarfprof, program, read, seconds_sampled, start, stolen_time,
                     wait_for)


class Worker:
    """What a thread of `blocked` reports about itself (see there). Times in nanoseconds."""

    def __init__(self, line, samples, stolen):
        self.name, *numbers = line.split()
        (self.tid, self.begin, self.end, self.cpu, self.voluntary, self.involuntary,
         self.waited) = map(int, numbers)
        self.off_cpu = self.end - self.begin - self.cpu
        self.stolen = stolen + 1e7  # upper bound: the unit is 10 ms
        self.samples = [s for s in samples if s["tid"] == self.tid and self.begin <= s["time_ns"] < self.end]

    def of(self, states):
        return [s for s in self.samples if s["state"] in states]


def value(samples):
    return sum(s["value_ns"] * s["weight"] for s in samples)


def variance(samples):
    return sum((s["weight"] - 1) * s["weight"] for s in samples)


def on_cpu(samples):
    return sum(s["event"] != "off-cpu" for s in samples)


def may_miss(n, hz):
    """By how many seconds n samples of CPU time may miss it by chance."""
    least, most = chance.events(n)
    return max(most - n, n - least) / hz


def wait_until_sampling(process):
    while "sampling" not in process.stderr.readline():
        assert process.poll() is None


def functions(sample):
    return [frame["symbol"] for frame in sample["user_stack"]]


def blocks(pid):
    """How often its threads have blocked."""
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", read(f"/proc/{pid}/task/{tid}/status"), re.M)[1])
               for tid in os.listdir(f"/proc/{pid}/task"))


def streamed(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def run_blocked(*options, rounds=50):
    """Profiles the program. Returns its workers by name, all samples, and the result."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "workers")
        out = os.path.join(directory, "out.jsonl")
        stolen = stolen_time()
        result = dwarfprof(*options, "-o", out, "--", program("blocked"), str(rounds), path)
        stolen = (stolen_time() - stolen) * 1e9
        assert result.returncode == 0, result.stderr
        samples = [json.loads(line) for line in read(out).splitlines()]
        workers = [Worker(line, samples, stolen) for line in read(path).splitlines()]
    return {w.name: w for w in workers}, samples, result


class OffCpu(unittest.TestCase):
    """--off-cpu, on a program whose threads know what they wait for."""

    @classmethod
    def setUpClass(cls):
        cls.workers, cls.samples, cls.result = run_blocked(
            "--off-cpu", "--min-block", "0", "--state", "R,S,D")

    def test_nothing_is_lost(self):
        self.assertIn(" 0 lost", self.result.stderr)

    def test_samples_are_as_many_as_the_kernel_s_context_switches(self):
        for w in self.workers.values():
            with self.subTest(w.name):
                # At either end, one of each kind may lie between the counts and the clocks.
                self.assertAlmostEqual(len(w.of("SD")), w.voluntary, delta=2)
                self.assertAlmostEqual(len(w.of("R")), w.involuntary, delta=2)

    def test_time_is_what_is_missing_from_cpu_time(self):
        for w in self.workers.values():
            with self.subTest(w.name):
                self.assertLess(value(w.samples), 1.02 * w.off_cpu)
                self.assertGreater(value(w.samples), 0.98 * w.off_cpu - w.stolen)

    def test_time_belongs_to_the_function_that_waits(self):
        for name, state in {"sleep": "S", "read": "S", "lock": "S", "vfork": "D"}.items():
            with self.subTest(name):
                w = self.workers[name]
                here = [s for s in w.samples if "wait_in_" + name in functions(s)]
                blocked = [s for s in here if s["state"] != "R"]
                if name == "lock":  # it also waits for the other thread before it takes its time
                    here = [s for s in here if "pthread_barrier_wait" not in functions(s)]
                # The program's times include the code it runs, and preemption in it.
                self.assertLess(value(here), 1.03 * w.waited)
                self.assertGreater(value(here), 0.97 * w.waited - w.stolen)
                self.assertEqual({s["state"] for s in blocked}, {state})
                for s in blocked:
                    self.assertEqual(s["outcome"], "complete")
                    self.assertEqual(functions(s)[-2:], ["start_thread", "clone3"])

    def test_threads_that_run_do_not_block(self):
        for name in "busy1", "busy2":
            w = self.workers[name]
            self.assertEqual(w.of("SD"), [])
            self.assertGreater(len(w.of("R")), 5)  # they share a CPU

    def test_samples_say_what_they_are(self):
        for s in self.samples:
            self.assertEqual((s["event"], s["weight"]), ("off-cpu", 1))
            self.assertIn(s["state"], "RSD")
            self.assertGreater(s["value_ns"], 0)
        for w in self.workers.values():
            self.assertEqual({s["thread_name"] for s in w.samples}, {w.name})
            self.assertEqual({s["comm"] for s in w.samples}, {"blocked"})

    def test_kernel_stacks_start_at_the_scheduler(self):
        stacks = [[f["symbol"] for f in s["kernel_stack"]] for s in self.workers["sleep"].of("S")]
        self.assertTrue(stacks)
        for stack in stacks:
            self.assertTrue(stack[0].startswith("__schedule"), stack)
            self.assertTrue(any("nanosleep" in (name or "") for name in stack), stack)


class Limits(unittest.TestCase):
    """What is left out, and the messages about it."""

    def test_preempted_threads_are_not_blocked(self):
        workers, samples, _ = run_blocked("--off-cpu", rounds=20)
        self.assertEqual({s["state"] for s in samples}, {"S", "D"})
        for name in "busy1", "busy2":
            self.assertEqual(workers[name].samples, [])

    def test_states(self):
        workers, samples, _ = run_blocked("--off-cpu", "--min-block", "0", "--state", "D", rounds=20)
        self.assertEqual({s["state"] for s in samples}, {"D"})
        # A parent that loses the CPU as the child starts may find it gone, and does not block then.
        vfork = workers["vfork"]
        self.assertAlmostEqual(len(vfork.samples), vfork.voluntary, delta=2)
        self.assertGreater(vfork.voluntary, 10)
        self.assertEqual(workers["sleep"].samples, [])

    def test_short_and_long_blocks(self):
        # sleep: 10 ms, lock: 12 ms less almost nothing, read: 8 ms, each plus the time to wake up.
        workers, samples, _ = run_blocked("--off-cpu", "--min-block", "9500us", "--max-block", "1s",
                                          rounds=20)
        self.assertGreaterEqual(min(s["value_ns"] for s in samples), 9500000)
        # If the host takes the CPU before the thread leaves it, the block is shorter than the
        # sleep.
        sleep = workers["sleep"]
        self.assertGreaterEqual(len(sleep.samples), max(20 - sleep.stolen // 500000, 10))
        workers, samples, _ = run_blocked("--off-cpu", "--max-block", "9ms", rounds=20)
        self.assertLessEqual(max(s["value_ns"] for s in samples), 9000000)
        sleep = workers["sleep"]
        self.assertLessEqual(len(sleep.samples), min(sleep.stolen // 1000000, 10))
        self.assertTrue(workers["read"].samples)

    def test_stopped_threads(self):
        with busy() as pid:
            process = start("-p", pid, "--off-cpu", "--state", "T", "--format", "jsonl",
                            stdout=-1, stderr=-1, text=True)
            wait_until_sampling(process)
            before = time.monotonic_ns()
            os.kill(int(pid), signal.SIGSTOP)
            wait_for(lambda: ") T " in read(f"/proc/{pid}/stat"))
            stopped, cpu = time.monotonic_ns(), cpu_time(pid)
            time.sleep(0.1)
            continued = time.monotonic_ns()
            os.kill(int(pid), signal.SIGCONT)
            wait_for(lambda: cpu_time(pid) > cpu)
            ran = time.monotonic_ns()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        samples = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([s["state"] for s in samples], ["T"], err)
        # Where it was stopped: not in a call that waits, as it was running.
        self.assertIn("fibonacci", functions(samples[0])[0])
        # The stop signal is sent a moment before it leaves its CPU.
        self.assertGreater(samples[0]["value_ns"], 0.9 * (continued - stopped))
        self.assertLess(samples[0]["value_ns"], ran - before)

    def test_threads_that_are_blocked_at_the_end(self):
        with Target("/usr/bin/python3", "-c", "import time\nwhile True: time.sleep(0.7)") as pid:
            # Waiting for a CPU is one more state.
            stolen, cpu = stolen_time(), cpu_time(pid)
            result = dwarfprof("-p", pid, "--off-cpu", "--state", "R,S,D", "--min-block", "0", "-d", "1500ms",
                               "--format", "jsonl")
            stolen, cpu = stolen_time() - stolen, cpu_time(pid) - cpu
        samples = streamed(result)
        self.assertIn("threads still blocked at the end: 1; their time so far counts", result.stderr)
        for s in samples[1:-1]:  # the first one began before
            if s["state"] == "S":
                self.assertGreater(s["value_ns"], 699e6)
        # Nothing is missing.
        total = samples[-1]["time_ns"] + samples[-1]["value_ns"] - samples[0]["time_ns"]
        self.assertAlmostEqual(total / 1e9, seconds_sampled(result.stderr), delta=0.051)
        self.assertAlmostEqual(value(samples) / 1e9, total / 1e9, delta=0.02 + cpu + stolen)

    def test_lost_samples_are_counted_with_their_time(self):
        with tempfile.TemporaryFile("w+") as out, Target(program("pingpong"), "1000000000") as pid:
            process = start("-p", pid, "--off-cpu", "--min-block", "0", "--state", "R,S,D",
                            "--format", "folded", stdout=out, stderr=-1, text=True)
            wait_until_sampling(process)
            began = time.monotonic()
            cpu = cpu_time(pid)
            stolen = stolen_time()

            def wait_until_they_block(times):
                enough = blocks(pid) + times
                wait_for(lambda: blocks(pid) >= enough, 300)
            wait_until_they_block(30000)
            process.send_signal(signal.SIGSTOP)
            # They share a CPU, whose ring has up to 16 MiB; a sample has more than 128 bytes.
            wait_until_they_block((16 << 20) // 128 + 20000)
            process.send_signal(signal.SIGCONT)
            wait_until_they_block(30000)
            process.send_signal(signal.SIGINT)
            on_cpu = (cpu_time(pid) - cpu) / (time.monotonic() - began)
            stolen = (stolen_time() - stolen) / (time.monotonic() - began)
            err = process.communicate(timeout=60)[1]
            out.seek(0)
            *lines, totals = out.read().splitlines()
        lost, taken = (int(re.search(p, err)[1]) for p in (r"(\d+) lost", r"(\d+) samples in"))
        self.assertGreater(lost, 10000, err)
        self.assertGreater(taken, 10000)
        lost_us = next(int(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("[lost samples]"))
        seen_us = sum(int(line.rsplit(" ", 1)[1]) for line in lines) - lost_us
        self.assertAlmostEqual(lost_us / 1000, float(re.search(r"samples were lost: (\d+\.\d+) ms", err)[1]), delta=0.01)
        self.assertGreater(lost_us, 100000)
        # For two threads: everything but CPU time.
        blocked = (seen_us + lost_us) / 1e6 / seconds_sampled(err)
        self.assertLess(blocked, 2 - on_cpu + 0.07)
        self.assertGreater(blocked, 2 - on_cpu - 0.07 - stolen)

    def test_its_own_waiting_is_left_out(self):
        waits = ["sh", "-c", "while :; do sleep 0.05; done"]
        with Target(*waits) as first, Target(*waits) as second:
            process = start("-a", "--off-cpu", "-d", "1", "--format", "jsonl",
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        samples = [json.loads(line) for line in out.splitlines()]
        self.assertNotIn(process.pid, {s["pid"] for s in samples})
        self.assertNotIn(0, {s["pid"] for s in samples})
        self.assertLessEqual({int(first), int(second)}, {s["pid"] for s in samples})


class Wall(unittest.TestCase):
    """--wall: both kinds of time add up to the whole."""

    def test_sum_is_elapsed_time(self):
        workers, samples, result = run_blocked("--wall", "-F", "999")
        for w in workers.values():
            with self.subTest(w.name):
                off = [s for s in w.samples if s["event"] == "off-cpu"]
                on = [s for s in w.samples if s["event"] != "off-cpu"]
                self.assertTrue(all(s["value_ns"] == 1001001 and s["state"] is None for s in on))
                self.assertLess(value(off), 1.02 * w.off_cpu + 1e6)
                self.assertGreater(value(off), 0.98 * w.off_cpu - 1e6 - w.stolen)
                least, most = chance.events(w.cpu / 1001001)
                self.assertGreaterEqual(len(on), least - 3)
                self.assertLessEqual(len(on), most + 3)

    def test_all_threads_add_up(self):
        """Also those that never run. The bound is what sampling of CPU time may miss."""
        code = ("import hashlib,threading,time\n"
                "def busy():\n"
                "  while True: hashlib.pbkdf2_hmac('sha256', b'a', b'b', 10**6)\n"
                "for i in range(5): threading.Thread(target=time.sleep, args=(600,)).start()\n"
                "threading.Thread(target=busy).start()\n"
                "while True: time.sleep(0.01)")
        with Target("/usr/bin/python3", "-c", code) as pid:
            wait_for(lambda: len(os.listdir(f"/proc/{pid}/task")) == 7)
            wait_for(lambda: sum("nanosleep" in read(f"/proc/{pid}/task/{tid}/stack")
                                 for tid in os.listdir(f"/proc/{pid}/task")) == 6)
            stolen = stolen_time()
            result = dwarfprof("-p", pid, "--wall", "-F", "999", "-d", "2", "--format", "jsonl")
            stolen = stolen_time() - stolen
        seconds = seconds_sampled(result.stderr)
        samples = streamed(result)
        threads = {tid: [s for s in samples if s["tid"] == tid] for tid in {s["tid"] for s in samples}}
        self.assertEqual(len(threads), 7)
        for mine in threads.values():
            self.assertAlmostEqual(value(mine) / 1e9, seconds, delta=0.06 + stolen + may_miss(on_cpu(mine), 999))
        still = [mine for mine in threads.values() if len(mine) == 1]
        self.assertEqual(len(still), 5)
        for (sample,) in still:
            self.assertAlmostEqual(sample["value_ns"] / 1e9, seconds, delta=0.051)
        self.assertAlmostEqual(value(samples) / 1e9, 7 * seconds, delta=7 * 0.06 + stolen + may_miss(on_cpu(samples), 999))

    def test_a_command_with_its_children_and_threads(self):
        """From their beginning, of which they tell, to the end of each, in the clock of the samples."""
        code = ("import subprocess,threading,time\n"
                "def sleep(seconds):\n"
                "  began = time.monotonic_ns(); time.sleep(seconds); ended = time.monotonic_ns()\n"
                "  print(threading.get_native_id(), began, ended)\n"
                "began = time.monotonic_ns(); child = subprocess.Popen(['/bin/sleep', '1.4'])\n"
                "threads = [threading.Thread(target=sleep, args=(s,)) for s in (1.2, 0.9, 0.6)]\n"
                "for thread in threads: thread.start()\n"
                "time.sleep(0.3)\n"
                "late = threading.Thread(target=sleep, args=(0.8,)); late.start()\n"
                "for thread in (*threads, late): thread.join()\n"
                "child.wait(); print(child.pid, began, time.monotonic_ns())")
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, "out.jsonl")
            result = dwarfprof("--wall", "-F", "99", "-o", out, "--", "/usr/bin/python3", "-c", code)
            samples = [json.loads(line) for line in read(out).splitlines()]
        *lines, child = result.stdout.splitlines()
        self.assertEqual(len(lines), 4)
        for tid, began, ended in (map(int, line.split()) for line in lines):
            slept = [s for s in samples if s["tid"] == tid and s["event"] == "off-cpu" and began <= s["time_ns"] < ended]
            self.assertAlmostEqual(value(slept) / 1e9, (ended - began) / 1e9, delta=0.051)
        child, began, ended = map(int, child.split())
        slept = value(s for s in samples if s["pid"] == child and s["event"] == "off-cpu")
        self.assertGreater(slept / 1e9, 1.4 - 0.051)
        self.assertLess(slept, ended - began)  # it may wait for a CPU, too

    @contextlib.contextmanager
    def profiled_from_its_input_on(self, code):
        """Python that waits for its input, which ends once the profiler samples. Yields its PID, and the profiler."""
        with (target := Target("/usr/bin/python3", "-c", code, stdin=subprocess.PIPE)) as pid:
            wait_for(lambda: "pipe_read" in read(f"/proc/{pid}/stack"))
            process = start("-p", pid, "--off-cpu", "--format", "jsonl", stdout=-1, stderr=-1, text=True)
            wait_until_sampling(process)
            target.process.stdin.close()
            yield pid, process

    def test_functions_of_a_program_that_ends_when_it_wakes_up(self):
        """Their names are in its memory."""
        code = ("import os,sys,time\n"
                "def rest(): time.sleep(2)\n"
                "def outer(): rest()\n"
                "sys.stdin.readline()\n"
                "outer()\n"
                "os._exit(0)")
        with self.profiled_from_its_input_on(code) as (_, process):
            out, err = process.communicate(timeout=60)
        slept = [s for s in map(json.loads, out.splitlines()) if s.get("value_ns", 0) > 1.9e9]
        self.assertEqual(len(slept), 1, err)
        names = [frame["symbol"] for frame in slept[0]["user_stack"] if frame["kind"] == "python"]
        self.assertEqual(names, ["rest", "outer", "<module>"])

    def test_a_thread_that_comes_during_the_profile_and_stays(self):
        code = ("import sys,threading,time\n"
                "sys.stdin.readline()\n"
                "threading.Thread(target=time.sleep, args=(600,)).start()\n"
                "time.sleep(600)")
        with self.profiled_from_its_input_on(code) as (pid, process):
            wait_for(lambda: len(os.listdir(f"/proc/{pid}/task")) == 2)
            time.sleep(0.7)  # the time that is measured
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        samples = [json.loads(line) for line in out.splitlines()]
        end = min(s["time_ns"] for s in samples) / 1e9 + seconds_sampled(err)
        late = [s for s in samples if s["tid"] != int(pid)]
        self.assertAlmostEqual(value(late) / 1e9, end - min(s["time_ns"] for s in late) / 1e9, delta=0.051)
        self.assertAlmostEqual(value(s for s in samples if s["tid"] == int(pid)) / 1e9, seconds_sampled(err),
                               delta=0.1)

    def test_folded_stacks_tell_them_apart(self):
        with Target("/usr/bin/python3", "-c", "import time\nwhile True:\n time.sleep(0.01)\n sum(range(100000))") as pid:
            stolen = stolen_time()
            result = dwarfprof("-p", pid, "--wall", "-d", "2")
            stolen = stolen_time() - stolen
        *lines, totals = result.stdout.splitlines()
        self.assertRegex(totals, r"^\[totals: .*, in microseconds\] 0$")
        total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
        sleeping = [line for line in lines if re.search(r";\[off-cpu S\] \d+$", line)]
        running = [line for line in lines if "[off-cpu" not in line]
        n = round(sum(int(line.rsplit(" ", 1)[1]) for line in running) * 99 / 1e6)
        self.assertAlmostEqual(total / 1e6, seconds_sampled(result.stderr), delta=0.06 + stolen + may_miss(n, 99))
        self.assertTrue(sleeping)
        self.assertTrue(running)
        self.assertGreater(sum(int(line.rsplit(" ", 1)[1]) for line in sleeping), 300000)

    def test_text_has_times(self):
        with Target("/usr/bin/python3", "-c", "import time\nwhile True: time.sleep(0.01)") as pid:
            result = dwarfprof("-p", pid, "--off-cpu", "-d", "1", "--format", "text")
        time_ms = float(re.search(r"^Time: (\d+\.\d+) ms, lost: 0\.000 ms$", result.stdout, re.M)[1])
        self.assertAlmostEqual(time_ms / 1000, seconds_sampled(result.stderr), delta=0.2)
        row = re.search(r"^ *(\d+\.\d) % +100\.0 % +(\d+\.\d+) ms  \S*nanosleep\S* \[sleep\] +libc", result.stdout, re.M)
        self.assertAlmostEqual(float(row[2]), time_ms, delta=0.01)


class MaxRate(unittest.TestCase):
    """--max-rate: few samples, correct sums."""
    LONG = "test_what_is_rare_is_taken_whole",

    def storm(self, *options, seconds=4):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "calls")
            out = os.path.join(directory, "out.jsonl")
            result = dwarfprof("-e", f"uprobe:{program('storm')}:hot", *options, "-o", out,
                               "--", program("storm"), str(seconds), path)
            self.assertEqual(result.returncode, 0, result.stderr)
            samples = [json.loads(line) for line in read(out).splitlines()]
            calls = dict(zip(("often", "rarely", "first"), map(int, read(path).split())))
        return samples, calls, result

    def test_counts_of_a_storm(self):
        rate = 2000
        samples, calls, result = self.storm("--max-rate", str(rate))
        all_calls = sum(calls.values())
        self.assertIn(" 0 lost", result.stderr)
        # Upper bound: N in a second, plus N/2 each time the rate doubles from the previous one. It
        # grows from the slow half's rate to the fast one's only once.
        doublings = math.log2(all_calls / rate)
        seconds = seconds_sampled(result.stderr) + 2
        self.assertLess(len(samples), seconds * rate * 1.2 + rate * doublings)
        self.assertRegex(result.stderr, r"the samples stand for \d+ events \(--max-rate 2000\); counts and times are scaled")
        usual = sum(s["weight"] ** 2 for s in samples) / sum(s["weight"] for s in samples)
        for name, n in calls.items():
            with self.subTest(name):
                mine = [s for s in samples if functions(s)[1] == name]
                estimate = sum(s["weight"] for s in mine)
                # Each event is chosen independently: the variance is the sum of (weight - 1) *
                # weight over the samples. For few samples that is an estimate; for all of them the
                # expected value is known.
                error = math.sqrt(max(variance(mine), n * (usual - 1)))
                self.assertLess(abs(estimate - n), chance.SIGMAS * error + 3, (n, estimate, error))
        estimate = sum(s["weight"] for s in samples)
        self.assertLess(abs(estimate - all_calls), chance.SIGMAS * math.sqrt(variance(samples)))

    def test_what_is_rare_is_taken_whole(self):
        samples, calls, result = self.storm("--max-rate", "1000000", seconds=2)
        # In the slow half some 10,000 calls per second; the fast half depends on the machine.
        slow = [s["weight"] for s in samples if s["time_ns"] - samples[0]["time_ns"] < 0.7e9]
        self.assertGreater(len(slow), 1000)
        self.assertEqual(set(slow), {1})
        is_whole = {s["weight"] for s in samples} == {1}
        self.assertEqual("--max-rate" in result.stderr, not is_whole)
        if is_whole:
            self.assertEqual(len(samples) + samples[-1]["lost"], sum(calls.values()))

    def test_off_cpu_times_are_scaled(self):
        code = ("import os,threading,time\n"
                "r,w=os.pipe()\n"
                "threading.Thread(target=lambda: [os.read(r, 1) for _ in range(10**9)]).start()\n"
                "while True: time.sleep(0.0002); os.write(w, b'x')\n")
        with Target("/usr/bin/python3", "-c", code) as pid:
            for _ in range(5):
                everything, some = self.wait_at_a_tenth_of_the_rate(pid)
                if len(everything) > 4 * len(some):  # other load has not slowed it down meanwhile
                    break
        self.assertEqual(everything[-1]["lost"], 0)
        self.assertGreater(len(everything), 4 * len(some))
        begin = max(samples[0]["time_ns"] for samples in (everything, some))
        end = min(samples[-1]["time_ns"] for samples in (everything, some))
        # The same blocks, without those when the machine stalls: a single sample of these weighs a
        # lot.
        everything, some = ([s for s in samples
                             if begin <= s["time_ns"] <= end and s["value_ns"] < 5e6]
                            for samples in (everything, some))
        error = math.sqrt(sum((s["weight"] - 1) * s["weight"] * s["value_ns"] ** 2 for s in some))
        self.assertLess(error, 0.05 * value(everything))
        self.assertAlmostEqual(value(some), value(everything), delta=chance.SIGMAS * error)

    def wait_at_a_tenth_of_the_rate(self, pid):
        """All blocks of a process, and some of the same time."""
        before, began = blocks(pid), time.monotonic()
        wait_for(lambda: blocks(pid) > before + 2000)
        rate = int((blocks(pid) - before) / (time.monotonic() - began) / 10)
        with tempfile.TemporaryDirectory() as directory:
            paths = [os.path.join(directory, name) for name in ("all.jsonl", "few.jsonl")]
            # At the same time, because how long they wait also depends on other load.
            runs = [start("-p", pid, "--off-cpu", "-o", path, *options, stderr=-1, text=True)
                    for path, options in zip(paths, ([], ["--max-rate", str(rate)]))]
            for run in runs:
                wait_until_sampling(run)
            before = blocks(pid)
            wait_for(lambda: blocks(pid) > before + 20000, 300)
            for run in runs:
                run.send_signal(signal.SIGINT)
            said = [run.communicate(timeout=60)[1] for run in runs]
            everything, some = ([json.loads(line) for line in read(path).splitlines()] for path in paths)
        self.assertEqual([run.returncode for run in runs], [0, 0], said)
        self.assertLess(len(some), 4 * rate * (seconds_sampled(said[1]) + 1))
        return everything, some

    def test_samples_of_cpus(self):
        with busy() as pid, tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            process = start("-p", pid, "-F", "999", "--max-rate", "50", "-o", path, stderr=-1, text=True)
            wait_until_sampling(process)
            cpu = cpu_time(pid)
            wait_for(lambda: cpu_time(pid) >= cpu + 3, 300)
            cpu = cpu_time(pid) - cpu
            process.send_signal(signal.SIGINT)
            err = process.communicate(timeout=60)[1]
            samples = [json.loads(line) for line in read(path).splitlines()]
        self.assertLess(len(samples), 150 * seconds_sampled(err))
        estimate = sum(s["weight"] for s in samples)
        error = math.sqrt(sum((s["weight"] - 1) * s["weight"] for s in samples))
        self.assertAlmostEqual(estimate, cpu * 999, delta=chance.SIGMAS * error + 0.03 * cpu * 999)


class Usage(unittest.TestCase):
    def test_what_makes_no_sense(self):
        for options in (["--off-cpu", "--wall"], ["--off-cpu", "-F", "99"],
                        ["--off-cpu", "-e", "uprobe:libc.so.6:malloc"], ["--wall", "-e", "uprobe:libc.so.6:malloc"],
                        ["--min-block", "5ms"], ["--max-block", "5ms"], ["--state", "D"],
                        ["--off-cpu", "--state", "Q"], ["--off-cpu", "--state", ""], ["--off-cpu", "--state", "SD"],
                        ["--off-cpu", "--min-block", "x"], ["--off-cpu", "--min-block", "-1"],
                        ["--off-cpu", "--min-block", "2s", "--max-block", "1s"], ["--max-rate", "0"]):
            with self.subTest(options):
                result = dwarfprof("-a", "-d", "1", *options)
                self.assertEqual(result.returncode, 2)
                self.assertRegex(result.stderr, "-e|-F|-rate|-block|-state|-off-cpu")


if __name__ == "__main__":
    harness.main()
