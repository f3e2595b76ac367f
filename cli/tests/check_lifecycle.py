#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing stale, nothing late: processes that map, fork, exec and exit all the time.

Two libraries that alternate at one address; `make -j2`; storms of forks and execs; forked processes
that alternate on one CPU; reused process numbers; a profiler that is stopped, killed, or out of
memory. The stacks themselves show which names they must have.

usage: check_lifecycle.py DWARFPROF PROGRAM-DIR
"""
import collections
import json
import os
import random
import signal
import subprocess
import tempfile
import time
import unittest

import chance
import harness
from harness import program, unless_still


# Of a hundred stacks 99 must be complete; up to one in a thousand is not.
RARE = 0.001, 0.01
ENOUGH = chance.enough(*RARE)
NAMES_ONLY = "--no-inline", "--no-lines"  # which take time


def record(*args, command, prefix=()):
    """The samples of a run, and the messages."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "out.jsonl")
        result = subprocess.run([*prefix, harness.DWARFPROF, *NAMES_ONLY, *args, "-o", path, "--", *command],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=200)
        assert result.returncode == 0, result.stderr
        return read_samples(path), result.stderr


def start_on_all(rate, path):
    """A profiler that samples all processes until it is interrupted."""
    process = harness.start(*NAMES_ONLY, "-a", "-F", rate, "-o", path, stderr=subprocess.PIPE, text=True)
    while "sampling" not in process.stderr.readline():
        assert process.poll() is None
    return process


def end(process):
    """Returns its messages."""
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=200)[1]
    assert process.returncode == 0, said
    return said


def read_samples(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def outcomes(samples):
    return collections.Counter(s["outcome"] for s in samples)


def are_complete(samples):
    """But for what is rare?"""
    return chance.is_rare(len(samples) - outcomes(samples)["complete"], len(samples), *RARE)


def user(samples):
    return [s for s in samples if s["outcome"] != "no_user_stack"]


def names(sample):
    return [frame["symbol"] for frame in sample["user_stack"]]


class Swap(unittest.TestCase):
    """Two libraries alternate at one address; the function called through it shows which one is
    mapped."""
    LONG = "test_without_a_mark_it_is_complete_or_cut",
    WANTED = 3000
    LONGEST_S = 150  # enough even where the machine gives a tenth of its CPU time
    RATE = 3999
    N_THREADS = 2
    ROOTS = (["main", "__libc_start_call_main", "__libc_start_main", "_start"], ["start_thread", "clone3"])

    def swap(self, how, library):
        """The relevant samples; each is right, or says that it is incomplete."""
        told, n_runs, n_lost = [], 0, 0
        end = time.monotonic() + self.LONGEST_S
        while len(told) < self.WANTED and time.monotonic() < end:
            # Other work here may delay the program, but not the profiler.
            samples, err = record("-F", str(self.RATE), prefix=harness.FIRST, command=[
                *harness.AS_USUAL, program("swap"), how,
                program(f"lib{library}_a.so"), program(f"lib{library}_b.so"), "1"])
            # A machine that stalls loses some samples, and says so.
            n_runs += 1
            n_lost += samples[-1]["lost"] > 0
            self.assertLessEqual(n_lost, max(2, n_runs / 5), err)
            for s in samples:
                self.assertNotIn("decoy", names(s), s)
                under = [name for name in names(s) if name in ("under_a", "under_b")]
                if not under or harness.is_being_copied(s):
                    continue
                stack = names(s)[names(s).index(under[0]):]
                right = [under[0], under[0].replace("under", "through"), "call", "turn", "swap"]
                if s["outcome"] == "complete":
                    self.assertIn(stack, [right + root for root in self.ROOTS])
                else:
                    named = [name for name in stack if name]
                    self.assertEqual(named[:len(right)], right[:len(named)], s["outcome"])
                told.append(s)
        print(f"{how}, {library}: {len(told)} samples, {dict(outcomes(told))}, "
              f"{sum(s['late'] for s in told)} walked in user space", flush=True)
        self.assertGreaterEqual(len(told), self.WANTED)
        return told

    def test_what_the_kernel_tells_is_complete(self):
        """Except a cookie that could not be read, of a mapping that was replaced before anyone
        looked again.

        A profiler that gets no CPU time for 3 ms, as long as a library is mapped, hears of that one
        when it is gone. Then all samples of this time may be incomplete, and those of as much time
        again, in which it catches up; but rarely: after a run with such samples, four of five must be
        without. If half of all runs had some, one in eight tests would pass.
        """
        for how in ("overmap", "munmap", "dlopen", "fork"):
            with self.subTest(how=how):
                self.assertTrue(self.is_complete(how) or sum(self.is_complete(how) for _ in range(5)) >= 4)

    def is_complete(self, how):
        with harness.Stillness(harness.FIRST) as stillness:
            found = outcomes(self.swap(how, "through"))
        late = 2 * stillness.total * self.N_THREADS * self.RATE
        print(f"the machine was still for up to {1000 * stillness.longest:.0f} ms: {late:.0f} may be late", flush=True)
        self.assertLessEqual(set(found), {"complete", "tables_changed", "code_changed"})
        self.assertLessEqual(found["code_changed"] + found["tables_changed"], found["complete"] / 1000 + late)
        return not found["code_changed"] and found["tables_changed"] <= found["complete"] / 1000

    def test_without_a_mark_it_is_complete_or_cut(self):
        """A stack that was walked before the change was known cannot be finished, but is known to
        be wrong."""
        for how in ("overmap", "munmap", "dlopen", "fork"):
            with self.subTest(how=how):
                found = outcomes(self.swap(how, "plain"))
                self.assertLessEqual(set(found), {"complete", "tables_changed"})
                self.assertGreater(found["complete"], found["tables_changed"])

    def test_what_the_kernel_does_not_tell_is_noticed(self):
        found = outcomes(self.swap("mremap", "through"))
        self.assertLessEqual(set(found), {"complete", "code_changed", "tables_changed"})
        self.assertGreater(found["complete"], self.WANTED / 10)
        self.assertGreater(found["code_changed"], self.WANTED / 10)


class ManySwaps(Swap):
    LONG = "test_what_the_kernel_tells_is_complete", "test_without_a_mark_it_is_complete_or_cut", "test_what_the_kernel_does_not_tell_is_noticed"
    WANTED = 10000


def make_sources(directory, n):
    """A C project of n files."""
    function = ("int f{f}_{i}(int a, int b) {{ int s = 0; for (int i = 0; i < a; i++) {{ s += i * b ^ {i};"
                " if (s % {m}) s -= b; switch (s & 7) {{ case 1: s += 3; break; case 2: s *= 5; break; }} }}"
                " return s; }}\n")
    for f in range(n):
        with open(os.path.join(directory, f"f{f}.c"), "w") as file:
            file.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
            file.writelines(function.format(f=f, i=i, m=i % 7 + 2) for i in range(20))
    with open(os.path.join(directory, "Makefile"), "w") as file:
        file.write("all: " + " ".join(f"f{f}.o" for f in range(n)) +
                   "\n%.o: %.c\n\tgcc -c -O1 -g -o $@ $<\n")


class Build(unittest.TestCase):
    """Hundreds of short-lived compilers."""
    LONG = "test_of_a_command",
    FILES = 50

    def check(self, what, samples):
        """Are enough samples complete, and not too many lost?"""
        samples = user(samples)
        share = 100 * outcomes(samples)["complete"] / len(samples)
        lost = 100 * samples[-1]["lost"] / len(samples)
        print(f"make -j2, {what}: {len(samples)} samples, {share:.2f} % complete, {lost:.2f} % lost, "
              f"{dict(outcomes(samples))}, {sum(s['late'] for s in samples)} walked in user space", flush=True)
        return are_complete(samples) and lost < 0.1

    def check_some(self, attempt):
        """On a machine that stalls, samples are lost or late, and say so."""
        with tempfile.TemporaryDirectory() as directory:
            make_sources(directory, self.FILES)
            self.assertTrue(unless_still(lambda: attempt(directory)))

    def test_of_a_command(self):
        self.check_some(lambda directory: self.check(
            "-- make", record("-F", "999", command=["make", "-B", "-C", directory, "-j2"])[0]))

    def of_all_processes(self, directory):
        path = os.path.join(directory, "out.jsonl")
        profiler = start_on_all("999", path)
        subprocess.run(["make", "-B", "-C", directory, "-j2"], stdout=subprocess.DEVNULL, check=True)
        end(profiler)
        samples = read_samples(path)
        compilers = [s for s in samples if s["comm"] in ("make", "sh", "gcc", "cc1", "as", "collect2")]
        # What else runs is not known: JIT code, and code without unwind information.
        return self.check("-a", compilers)

    def test_of_all_processes(self):
        self.check_some(self.of_all_processes)


def shell(script):
    return ["/bin/bash", "-c", script]


class Storm(unittest.TestCase):
    """Short-lived children of all kinds, started as fast as possible."""
    LONG = "test_vforks_and_execs",

    def attempt(self, command, comm, look):
        """Are enough samples complete, and not too many lost? Calls look() for those of each run."""
        found, n, n_lost = [], 0, 0
        for _ in range(10):
            samples, err = record("-F", "4999", command=command)
            some = [s for s in user(samples) if s["comm"] in comm]
            look(some)
            found, n, n_lost = found + some, n + len(samples), n_lost + samples[-1]["lost"]
            if len(found) >= ENOUGH:
                break
        complete = 100 * outcomes(found)["complete"] / max(len(found), 1)
        print(f"{command[-1][:40]!r}: {len(found)} samples, {complete:.2f} % complete, {dict(outcomes(found))}, "
              f"{sum(s['late'] for s in found)} walked in user space", flush=True)
        self.assertGreaterEqual(len(found), ENOUGH, err)
        return are_complete(found) and n_lost < n / 1000

    def check(self, command, comm, look=lambda found: None):
        self.assertTrue(unless_still(lambda: self.attempt(command, comm, look)))

    def test_forks(self):
        """A child has its parent's mappings."""
        self.check(["/usr/bin/python3", "-c", "import os\n"
                    "for i in range(400):\n"
                    "    if os.fork() == 0: sum(range(20000)); os._exit(0)\n"
                    "    os.wait()\n"], ["python3"])

    def test_forks_and_execs(self):
        def look(found):
            # After an exec nothing of the old program is left.
            self.assertFalse([s for s in found if s["comm"] != "bash" and any(
                (frame["module"] or "").endswith("bash") for frame in s["user_stack"])])
        self.check(shell("for i in {1..200}; do /bin/ls /usr/lib; (/bin/true); done"), ["ls", "true", "bash"], look)

    def test_vforks_and_execs(self):
        self.check(["/usr/bin/python3", "-c", "import subprocess\n"
                    "for i in range(100):\n"
                    "    subprocess.run(['/bin/ls', '/usr/lib'], stdout=-3, close_fds=False)\n"], ["ls", "python3"])

    def test_execs_by_threads(self):
        code = ("import os,sys,threading,time\n"
                "n = int(sys.argv[1])\n"
                "sum(range(100000))\n"
                "if n: threading.Thread(target=os.execv, args=('/usr/bin/python3', "
                "['python3', '-c', sys.argv[2], str(n - 1), sys.argv[2]])).start()\n"
                "while n: pass\n")
        self.check(["/usr/bin/python3", "-c", code, "20", code], ["python3"],
                   lambda found: self.assertEqual(len({s["pid"] for s in found}), 1))


class Siblings(unittest.TestCase):
    """Processes with identical mappings alternate on a CPU; what the walker remembers is shared by
    all."""

    def test_each_has_its_own_stack(self):
        found = []
        for _ in range(10):  # enough on a CPU that others use too
            samples, err = record("-F", "4999",
                                  command=["taskset", "-c", "0", program("siblings"), "2"])
            found += [s for s in user(samples)
                      if s["comm"].startswith("way ") and "spin" in names(s)]
            if len(found) > 5000:
                break
        print(f"siblings: {len(found)} samples, {dict(outcomes(found))}, "
              f"{sum(s['late'] for s in found)} walked in user space", flush=True)
        self.assertGreater(len(found), 5000, err)
        self.assertEqual(len({s["comm"] for s in found}), 16)
        self.assertTrue(are_complete(found), outcomes(found))
        for s in found:
            turns = [{"L": "left", "R": "right"}[letter] for letter in reversed(s["comm"][4:])]
            way = ["spin", "go", *(name for turn in turns for name in (turn, "go")), "main"]
            known = len(way) if s["outcome"] == "complete" else len(names(s))
            self.assertEqual(names(s)[:len(way)], way[:known], s)


class Numbers(unittest.TestCase):
    """A process number is reused."""
    SCRIPT = """
        {program} 300 & first=$!
        {other} 300 & keep=$!
        {dwarfprof} {what} -F 499 -o {out} & profiler=$!
        for i in $(seq 600); do [ "$(grep -c '"pid":'$first, {out})" -ge 100 ] && break; sleep 0.1; done
        kill $first; wait $first
        for i in $(seq 500); do
            echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
            (exec {other} 300) & second=$!
            [ $second = $first ] && break
            kill $second
        done
        [ $second = $first ] || exit 99
        before=$(stat -c %s {out})
        for i in $(seq 600); do [ "$(tail -c +$((before + 1)) {out} | grep -c '"pid":'{then},)" -ge 200 ] && break; sleep 0.1; done
        kill -INT $profiler; wait $profiler; code=$?; kill $second $keep; echo $first; exit $code
    """

    def reuse(self, what, then):
        """What was sampled of the process number; `then`: whose samples say that the second one ran for a while."""
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, "out.jsonl")
            script = self.SCRIPT.format(program=program("fibonacci"), other=program("inefficient"),
                                        dwarfprof=harness.DWARFPROF, what=what, then=then, out=out)
            result = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", *shell(script)],
                                    capture_output=True, text=True, timeout=200)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(out) as file:
                samples = user([json.loads(line) for line in file])
        return [s for s in samples if s["pid"] == int(result.stdout.split()[-1])]

    def test_it_is_not_taken_for_the_first(self):
        found = self.reuse("-p $first,$keep", "$keep")
        self.assertGreater(len(found), 50)
        self.assertEqual({s["comm"] for s in found}, {"fibonacci"})
        self.assertEqual(set(outcomes(found)), {"complete"})

    def test_both_are_themselves(self):
        found = self.reuse("-a", "$second")
        self.assertEqual({s["comm"] for s in found} - {"bash"}, {"fibonacci", "inefficient"})
        roots = set()
        for s in found:
            if harness.is_being_copied(s):
                continue
            self.assertEqual(s["outcome"], "complete", s)
            root = s["user_stack"][-1]["module"]
            roots.add(os.path.basename(root))
            # It starts in the dynamic linker, which jumps to it.
            if s["comm"] != "bash" and "/ld-linux" not in root:
                self.assertTrue(root.endswith(s["comm"]), s)
        self.assertLessEqual({"fibonacci", "inefficient"}, roots)


def kernel_objects():
    """The kernel's list of our programs, maps and links."""
    found = []
    for kind in ("prog", "map", "link"):
        out = subprocess.run(["bpftool", "-j", kind, "show"], capture_output=True, text=True)
        if out.returncode == 0 and out.stdout.strip():
            for item in json.loads(out.stdout):
                name = item.get("name", "")
                if name.startswith("dp_") or name.startswith("dwarfpro"):
                    found.append((kind, item["id"], name))
    return found


def wait_for_no_objects():
    """The kernel frees them some grace periods after the last reference."""
    end = time.monotonic() + 60
    while kernel_objects() and time.monotonic() < end:
        time.sleep(0.1)
    return kernel_objects()


class Trouble(unittest.TestCase):
    """The profiler itself is stopped, killed, or out of memory."""
    LONG = "test_more_processes_than_there_is_room_for", "test_stopped_for_a_while"
    STOPPED = 4  # seconds, of which the rings hold a fraction
    CATCHES_UP = 2  # seconds

    def test_stopped_for_a_while(self):
        """Losses are counted, and processes started meanwhile are known afterwards."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            target = subprocess.Popen(shell(
                f"read; for i in {{1..400}}; do /bin/true; done; exec {program('inefficient')} 300"), stdin=subprocess.PIPE)
            process = start_on_all("4999", path)
            busy = [subprocess.Popen([program("fibonacci"), "300"]) for _ in range(2)]
            harness.wait_for(lambda: '"comm":"fibonacci"' in harness.read(path))
            process.send_signal(signal.SIGSTOP)
            stopped = time.monotonic()
            target.stdin.close()
            harness.wait_for(lambda: harness.read(f"/proc/{target.pid}/comm") == "inefficient\n")
            time.sleep(max(0, stopped + self.STOPPED - time.monotonic()))
            process.send_signal(signal.SIGCONT)
            continued = time.monotonic_ns()
            harness.wait_for_samples(path, 8 * ENOUGH, continued + self.CATCHES_UP * 10 ** 9)
            err = end(process)
            for one in (target, *busy):
                one.kill()
                one.wait()
            samples = read_samples(path)
        lost = samples[-1]["lost"]
        taken = len(samples) + lost
        print(f"stopped for {self.STOPPED} s: {len(samples)} samples, {lost} lost", flush=True)
        self.assertGreater(lost, 0)
        # Two or more CPUs are always busy.
        seconds = (samples[-1]["time_ns"] - samples[0]["time_ns"]) / 1e9
        self.assertGreater(taken, 0.8 * 4999 * seconds, err)
        # Other processes are unknown: JIT code, and code without unwind information.
        after = [s for s in user(samples) if s["time_ns"] > continued + self.CATCHES_UP * 10 ** 9 and
                 s["comm"] in ("bash", "true", "fibonacci", "inefficient")]
        self.assertTrue(are_complete(after), outcomes(after))
        self.assertIn("inefficient", {s["comm"] for s in after})

    def test_killed_at_any_moment(self):
        self.assertEqual(wait_for_no_objects(), [])
        with harness.busy() as pid, tempfile.TemporaryDirectory() as cache:
            environment = dict(os.environ, XDG_CACHE_HOME=cache, HOME=cache)
            for i in range(18):
                process = harness.start("-a" if i % 2 else "-p", *([] if i % 2 else [pid]), "-o", "/dev/null",
                                        "--format", "folded", stderr=subprocess.DEVNULL, env=environment)
                time.sleep(random.random() * (0.1 if i % 3 else 1))
                process.kill()
                process.wait()
        self.assertEqual(wait_for_no_objects(), [])

    def crowd(self):
        """Fills the map of processes from outside, then samples a new one. Returns its samples, and
        whether it found room: each process that ends meanwhile leaves some."""
        process = harness.start("-a", "-F", "999", "--format", "jsonl", stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        said = process.stderr.readline()
        while "sampling" not in said:
            said = process.stderr.readline()
        maps = json.loads(subprocess.run(["bpftool", "-j", "map", "show", "name", "dp_processes"],
                                         capture_output=True, text=True).stdout)
        maps = maps if isinstance(maps, list) else [maps]
        number = str(maps[-1]["id"])

        def key(pid):
            return [str(byte) for byte in pid.to_bytes(4, "little")]

        with tempfile.NamedTemporaryFile("w") as batch:
            for i in range(maps[-1]["max_entries"]):
                batch.write(f"map update id {number} key {' '.join(key(0x70000000 + i))} value 2 0 0 0\n")
            batch.flush()
            subprocess.run(["bpftool", "batch", "file", batch.name], capture_output=True)
        with harness.busy() as pid:
            harness.wait_for(lambda: harness.cpu_time(pid) >= 3)
            found_room = subprocess.run(["bpftool", "map", "lookup", "id", number, "key", *key(int(pid))],
                                        capture_output=True).returncode == 0
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        return [s for s in map(json.loads, out.splitlines()) if s["pid"] == int(pid)], err, found_room

    def test_more_processes_than_there_is_room_for(self):
        """New processes are walked in user space, and nothing else is lost."""
        for _ in range(10):
            found, err, found_room = self.crowd()
            self.assertLessEqual(set(outcomes(user(found))), {"complete", "no_process"})
            self.assertTrue(are_complete(user(found)), outcomes(found))
            if not found_room:
                break
        self.assertFalse(found_room)
        self.assertIn("more than", err)
        self.assertTrue(all(s["late"] for s in user(found)))


if __name__ == "__main__":
    harness.main()
