#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of code that programs compile while they run: perf maps and jitdumps, what they tell GDB, and stacks of
what has none.

A program that reports which function ran when, node and java; maps of other owners and roots; PHP's regular
expressions.

usage: check_jit.py DWARFPROF PROGRAM-DIR
"""
import collections
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import chance
import harness

JAVASCRIPT = """
function innermost(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i * 3) % 7; return s; }
function outermost() { let t = 0; for (let i = 0; i < 50; i++) t += innermost(20000); return t; }
let x = 0;
// Of CPU time: its start takes the same, however little others leave.
while (process.cpuUsage().user < 3e6) x += outermost();
"""

JAVA = """
public class Busy {
    static long collatz(long n) { long s = 0; while (n != 1) { n = n % 2 == 0 ? n / 2 : 3 * n + 1; s++; } return s; }
    public static void main(String[] a) {
        long end = System.nanoTime() + 4000000000L, sum = 0;
        while (System.nanoTime() < end) for (int i = 1; i < 10000; i++) sum += collatz(i);
        System.out.println(sum);
    }
}
"""

# Functions whose regular expressions search far, go back often, call themselves, and are called often. Which ran when.
PHP = r"""<?php
$text = str_repeat('no word of that kind, ', 20000);
$nested = str_repeat('(', 40) . str_repeat('(x)y', 20000) . str_repeat(')', 40);
function searches() { global $text; preg_match('/[aeiou]{3}q|z[^ ]+z/', $text); }
function goes_back() { preg_match('/(?:a+)+[bd]/', str_repeat('a', 40)); }
function calls_itself() { global $nested; preg_match('/^(\((?:[^()]|(?1))*\))$/', $nested); }
function is_called() { for ($i = 0; $i < 20000; $i++) preg_match('/^(\w+)-(\d+)$/i', 'number-17'); }
// CPU time, of which a sample is a share whatever else runs.
function used() { $u = getrusage(); return $u['ru_utime.tv_sec'] + $u['ru_utime.tv_usec'] / 1e6; }
$log = [];
$end = used() + 4;
do {
  foreach (['searches', 'goes_back', 'calls_itself', 'is_called'] as $function) {
    $began = hrtime(true);
    for ($until = used() + 0.05; used() < $until;) $function();
    $log[] = [$function, $began, hrtime(true)];
  }
} while (used() < $end);
file_put_contents($argv[1], json_encode($log));
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory, True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def map(self, path, text):
        with open(path, "w") as file:
            file.write(text)
        self.addCleanup(lambda: os.path.lexists(path) and os.remove(path))

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def profile(self, *args, **kwargs):
        """The samples."""
        result = harness.dwarfprof("-F", "499", "-o", self.path("samples.jsonl"), *args, **kwargs)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("samples.jsonl")) as file:
            return [json.loads(line) for line in file]

    # Nine in ten must be of what runs; up to one in a hundred is of the code around it.
    RARE = 0.01, 0.1
    ENOUGH = chance.enough(*RARE)

    def assert_most(self, counter, name):
        n = sum(counter.values())
        self.assertTrue(chance.is_rare(n - counter[name], n, *self.RARE), counter)

    def leaves(self, pid):
        """The innermost functions of enough samples."""
        samples = harness.sample_each([str(pid)], self.ENOUGH + 20, "-F", "499")[str(pid)]
        return collections.Counter(s["user_stack"][0]["symbol"] for s in samples if s["user_stack"])


class RegularExpressions(Case):
    """PCRE2's code has neither names nor unwind information, nor a frame pointer."""

    def test_stacks_lead_to_what_has_called_them(self):
        samples = self.profile("--", "php", self.write("busy.php", PHP), self.path("log"))
        with open(self.path("log")) as file:
            log = json.load(file)[:-4]  # what is called in the last round may end before its names are read
        # Its code is made at the first call.
        first = {}
        for function, _, end in log:
            first.setdefault(function, end)
        found, wrong = collections.Counter(), []
        for function, began, end in log:
            for sample in samples if began >= first[function] else []:
                stack = sample["user_stack"]
                if not began < sample["time_ns"] < end or not stack or stack[0]["module"] is not None or \
                        stack[0]["kind"] != "native":
                    continue
                found[function] += 1
                caller = next((f for f in stack if f["module"]), None)
                names = [f["symbol"] for f in stack if f["kind"] == "php"]
                if sample["outcome"] != "complete" or names[:2] != ["preg_match", function] or \
                        not re.search("pcre|php", caller["module"]):
                    wrong.append((function, sample["outcome"], [f["symbol"] or f["address"] for f in stack]))
        self.assertEqual(wrong[:3], [], f"{len(wrong)} of {found}")
        for function in "searches", "goes_back", "calls_itself", "is_called":
            self.assertGreaterEqual(found[function], 40, found)


# Its beginning calls another function, without frame pointers, and that one uses the register for other things.
DESCRIBED = """
    .globl {0}_outer
    .type {0}_outer, @function
{0}_outer:
    .cfi_startproc
    sub ${1}, %rsp
    .cfi_adjust_cfa_offset {1}
    call {0}_inner
    add ${1}, %rsp
    .cfi_adjust_cfa_offset -{1}
    ret
    .cfi_endproc
    .size {0}_outer, . - {0}_outer
    .type {0}_inner, @function
{0}_inner:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    sub $64, %rsp
    .cfi_adjust_cfa_offset 64
    xor %ebp, %ebp
    mov $1000000, %ecx
1:  dec %ecx
    jnz 1b
    add $64, %rsp
    .cfi_adjust_cfa_offset -64
    pop %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    .size {0}_inner, . - {0}_inner
"""


class Assembled(Case):
    def object(self, name, size):
        """An object file with these functions, in source lines of their own, and frames of a size."""
        source = self.write(f"{name}.s", DESCRIBED.format(name, size))
        subprocess.run(["gcc", "-g", "-c", "-o", self.path(f"{name}.o"), source], check=True)
        return self.path(f"{name}.o")


class ToldToGdb(Assembled):
    """Code that a list in memory describes (__jit_debug_descriptor), with its own unwind information."""

    def stacks(self, samples):
        """The outcomes, functions and modules of those in generated code."""
        found = collections.Counter()
        for sample in samples:
            stack = [(f["symbol"] or "", f["module"]) for f in sample["user_stack"]]
            if stack and stack[0][1] in (None, "[jit]"):
                names = [name for name, _ in stack]
                found[sample["outcome"], *names[:names.index("main") + 1 if "main" in names else 9]] += 1
        return found

    def test_process_that_runs_already(self):
        with harness.Target(harness.program("described"), "60", self.object("first", 24)) as pid:
            samples = harness.sample_each([str(pid)], self.ENOUGH + 20, "-F", "499")[str(pid)]
        found = self.stacks(samples)
        # A few are between the two.
        self.assert_most(found, ("complete", "first_inner", "first_outer", "run", "main"))
        self.assertEqual({outcome for outcome, *_ in found}, {"complete"}, found)
        lines = {(os.path.basename(f["file"] or ""), f["line"]) for s in samples for f in s["user_stack"]
                 if f["symbol"] == "first_inner"}
        self.assertLessEqual(lines, {("first.s", line) for line in range(17, 35)}, lines)

    def test_code_that_comes_while_sampling_and_is_replaced(self):
        # What runs until it is known has no names: a moment, which is long on a busy machine.
        self.assertTrue(any(self.replaced(seconds) for seconds in ("1.5", "6", "24")))

    def replaced(self, seconds):
        """Is most of both known? From then on, all of it is."""
        samples = sorted(self.profile("--", harness.program("described"), seconds, self.object("first", 24), self.object("second", 1000)),
                         key=lambda s: s["time_ns"])
        stacks = [stack for s in samples for stack in self.stacks([s])]
        self.assertEqual([stack for stack in stacks if "first" in str(stack) and "second" in str(stack)], [])
        n_known = 0
        for name in "first", "second":
            whole = "complete", f"{name}_inner", f"{name}_outer", "run", "main"
            known = [i for i, stack in enumerate(stacks) if stack == whole]
            if len(known) < self.ENOUGH:
                return False
            self.assert_most(collections.Counter(stacks[known[0]:known[-1] + 1]), whole)
            n_known += len(known)
        return n_known > len(stacks) / 2


class Registered(Assembled):
    """Code whose unwind information is registered in libgcc (__register_frame()), by what that makes of it."""

    def test_stacks_are_those_of_libgcc(self):
        # As above: until it is known, stacks end in it.
        self.assertTrue(any(self.equal(seconds) for seconds in ("1.5", "6", "24")))

    def equal(self, seconds):
        """Is most of both objects known? From then on, all of each is. Stacks are those that libgcc has seen, too."""
        result = harness.dwarfprof("-F", "499", "-o", self.path("samples.jsonl"), "--", harness.program("registered"), seconds,
                                   self.object("first", 24), self.object("second", 1000))
        self.assertEqual(result.returncode, 0, result.stderr)
        oracle = {"0": {}, "1": {}}
        for number, pc, *callers in map(str.split, result.stdout.splitlines()[1:]):
            oracle[number][int(pc, 16)] = [int(word, 16) for word in callers if word != "0"]
        self.assertTrue(all(oracle.values()), oracle)
        with open(self.path("samples.jsonl")) as file:
            samples = sorted(map(json.loads, file), key=lambda s: s["time_ns"])
        return all([self.is_known(samples, stacks, oracle[other]) for stacks, other in ((oracle["0"], "1"), (oracle["1"], "0"))])

    def is_known(self, samples, stacks, others):
        """Is most of an object known? Where only its code has been seen."""
        outcomes = []
        for sample in samples:
            pc, *callers = [int(f["address"], 16) for f in sample["user_stack"]] or [0]
            if pc in stacks and pc not in others:
                outcomes.append(sample["outcome"])
                if sample["outcome"] == "complete":
                    self.assertEqual(callers, stacks[pc], sample)
        first = outcomes.index("complete") if "complete" in outcomes else len(outcomes)
        if len(outcomes) - first < max(self.ENOUGH, 0.7 * len(outcomes)):
            return False
        self.assert_most(collections.Counter(outcomes[first:]), "complete")
        return True

    def test_process_that_runs_already(self):
        """Once it is known, all of it is; names are from a perf map, for lack of others."""
        with subprocess.Popen([harness.program("registered"), "60", self.object("first", 24)], stdout=subprocess.PIPE,
                              text=True) as process:
            self.addCleanup(process.kill)
            address, size = (int(word, 16) for word in process.stdout.readline().split())
            self.map(f"/tmp/perf-{process.pid}.map", f"{address:x} {size:x} mapped\n")
            samples = harness.sample_each([str(process.pid)], 3 * self.ENOUGH, "-F", "499")[str(process.pid)]
            process.kill()
        found = []
        for sample in sorted(samples, key=lambda s: s["time_ns"]):
            stack = [f["symbol"] for f in sample["user_stack"]]
            if stack and stack[0] == "mapped":
                found.append((sample["outcome"], *stack[:stack.index("main") + 1 if "main" in stack else 9]))
        whole = "complete", "mapped", "mapped", "run", "run_registered", "main"
        self.assertIn(whole, found)
        self.assert_most(collections.Counter(found[found.index(whole):]), whole)


class DumpedFrames(Assembled):
    """Unwind information in jitdumps."""

    def test_code_that_comes_while_sampling_and_is_replaced(self):
        self.assertTrue(any(self.is_known(seconds) for seconds in ("1.5", "6", "24")))

    def is_known(self, seconds):
        samples = self.profile("--", harness.program("registered"), f"--dump={self.directory}", seconds, self.object("first", 24),
                               self.object("second", 1000))
        stacks = {"object 0": [], "object 1": []}
        for sample in sorted(samples, key=lambda s: s["time_ns"]):
            stack = [f["symbol"] for f in sample["user_stack"]]
            if stack and stack[0] in stacks:
                stacks[stack[0]].append((sample["outcome"], *stack[:stack.index("main") + 1 if "main" in stack else 9]))
        for name, found in stacks.items():
            whole = "complete", name, name, "run", "main"
            first = found.index(whole) if whole in found else len(found)
            if len(found) - first < max(self.ENOUGH, 0.7 * len(found)):
                return False
            self.assert_most(collections.Counter(found[first:]), whole)
        return True


NOBODY = "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"
N_PIECES = 1_000_000


def load(address, size, time_ns):
    """A record of a jitdump: a piece of code that is called x."""
    return struct.pack("<IIQIIQQQQ2s", 0, 58, time_ns, 1, 1, address, address, size, 0, b"x")


def move(address, time_ns):
    """One of a piece that moves to where it is: it replaces itself."""
    return struct.pack("<IIQIIQQQQQ", 1, 64, time_ns, 1, 1, address, address, address, 16, 0)


# Of the loop in the code of test-programs/jitted.c: where it starts, and where what is behind it does.
LOOP_AT, LOOP_END = 9, 13


class Dumps(Case):
    LONG = "test_many_pieces_and_more_with_each_sample",

    def test_names_lines_moves_and_addresses_that_are_used_again(self):
        command = [harness.program("jitted"), "dump", "1", self.directory]
        result = harness.dwarfprof("-F", "1999", "-o", self.path("samples.jsonl"), "--", *command)
        self.assertEqual(result.returncode, 0, result.stderr)
        phases = [line.split() for line in result.stdout.splitlines()]
        self.assertEqual([phase[0] for phase in phases], ["first", "second", "second"])
        self.assertEqual(phases[0][1], phases[1][1])
        self.assertNotEqual(phases[1][1], phases[2][1])
        with open(self.path("samples.jsonl")) as file:
            samples = [json.loads(line) for line in file]
        for name, address, start, end in phases:
            found, outside = collections.Counter(), 0
            for sample in samples:
                leaf = sample["user_stack"][0] if sample["user_stack"] else {"address": "0x0"}
                at = int(leaf["address"], 16) - int(address, 16)
                if not int(start) + 10 ** 7 < sample["time_ns"] < int(end) or at not in range(4096):
                    continue
                # Before the loop and behind it, a frame pointer is being made, or is gone.
                if at not in range(LOOP_AT, LOOP_END):
                    outside += 1
                    continue
                found[leaf["symbol"], leaf["module"], leaf["file"], leaf["line"]] += 1
                self.assertEqual([f["symbol"] for f in sample["user_stack"][1:2]], ["run"], sample)
            line = ("made.script", 20) if name == "first" else (None, None)
            self.assertEqual(list(found), [(name, "[jit]", *line)], found)
            # Up to one in 300 is outside.
            n = sum(found.values()) + outside
            self.assertTrue(chance.is_rare(outside, n, 1 / 300, 0.02), (outside, n))

    def test_totals_tell_reused_addresses_apart(self):
        result = harness.dwarfprof("-F", "1999", "--format", "folded", "--",
                                   harness.program("jitted"), "dump", "1", self.directory)
        found = collections.Counter()
        for line in result.stdout.splitlines():
            stack, _, count = line.rpartition(" ")
            if stack.startswith("jitted;"):
                found[stack.rpartition(";")[2]] += int(count)
        # The second one takes two thirds of the CPU time.
        n = found["first"] + found["second"]
        self.assertGreater(n, 2000, found)
        self.assertGreaterEqual(found["second"], chance.least(n, 2 / 3), found)
        self.assertLessEqual(found["second"], chance.most(n, 2 / 3), found)

    def test_process_that_runs_already(self):
        with harness.Target(harness.program("jitted"), "dump", "30", self.directory) as pid:
            leaves = self.leaves(pid)
        self.assert_most(leaves, "first")

    def test_what_is_none_is_refused(self):
        """Other versions, byte orders and ends that are missing; stacks are as good as before."""
        with open(harness.program("jitted"), "rb") as file:
            program = file.read()
        for old, new in ((b"\x44\x54\x69\x4a\x01\0\0\0", b"\x44\x54\x69\x4a\x02\0\0\0"),
                         (b"\x44\x54\x69\x4a", b"\x4a\x69\x54\x44")):
            self.assertIn(old, program)
            with open(self.path("other"), "wb") as file:
                file.write(program.replace(old, new))
            os.chmod(self.path("other"), 0o755)
            samples = self.profile("--", self.path("other"), "dump", "0.3", self.directory)
            names = {f["symbol"] for s in samples for f in s["user_stack"]}
            self.assertIn("run", names)
            self.assertFalse(names & {"first", "second"}, names)
            self.assertIn(None, names)


    def test_many_pieces_and_more_with_each_sample(self):
        """Another user's: what a sample costs may not grow with the pieces of code that there were before."""
        os.chmod(self.directory, 0o777)
        command = [*NOBODY, harness.program("jitted"), "dump", "600", self.directory]
        with harness.Target(*command) as pid:
            path = self.path(f"jit-{pid}.dump")
            harness.wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 190)  # the first load is there
            with open(path, "rb") as file:
                lines, = struct.unpack("<I", file.read(48)[44:])
                file.seek(40 + lines + 16 + 16)  # behind the header, the lines, and the load's first fields
                address, = struct.unpack("<Q", file.read(8))
            with open(path, "ab", buffering=0) as file:
                places = [address + 4096 + 16 * i for i in range(1000)]
                file.write(b"".join(load(place, 16, 1) for place in places))
                for time_ns in range(2, 2 + N_PIECES // len(places)):
                    file.write(b"".join(move(place, time_ns) for place in places))
                # Code of the future: each sample asks for what was there before.
                file.write(load(address, 4096, 2 ** 62))
                profiler = harness.start("-F", "999", "-p", pid, "-o", self.path("out.folded"), stderr=subprocess.PIPE,
                                         text=True)
                self.addCleanup(profiler.kill)
                harness.wait_until_it_says(profiler, "sampling")
                harness.wait_until_it_runs(pid, 1)
                n, used = 0, []
                # Other work may delay what is done once into one of these seconds.
                for _ in range(3):
                    before, enough = harness.cpu_time(profiler.pid), harness.cpu_time(pid) + 1
                    while harness.cpu_time(pid) < enough:
                        file.write(move(places[n % len(places)], 10 ** 6 + n))
                        n += 1
                        time.sleep(0.001)
                    used.append(harness.cpu_time(profiler.pid) - before)
                profiler.terminate()
                said = profiler.communicate(timeout=300)[1]
        self.assertEqual(profiler.returncode, 0, said)
        self.assertGreater(n, 500)
        self.assertIn(";first ", harness.read(self.path("out.folded")))
        # It was 0.9 when all pieces were sorted for each sample, and is 0.02.
        self.assertLess(min(used), 0.2, said)


class Maps(Case):
    def start(self, *prefix, **kwargs):
        """`jitted plain`: the process, its number here, and where its code is."""
        process = subprocess.Popen([*prefix, harness.program("jitted"), "plain", "60"],
                                   stdout=subprocess.PIPE, text=True, **kwargs)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        address, size = (int(word, 16) for word in process.stdout.readline().split())
        pid = process.pid
        while harness.children(pid):
            pid = int(harness.children(pid)[0])
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        return pid, address, size

    def test_last_line_wins_and_numbers_may_have_a_prefix(self):
        pid, address, size = self.start()
        path = f"/tmp/perf-{pid}.map"
        lines = [f"{address:x} {size:x} before", f"{address - 16:x} 1000 around",
                 f"0x{address:016x} 0x{size:x} name with spaces; and more", "no line", "-1 -1 x",
                 f"{address:x} 0 empty", f"{address:x} ffffffffffffffff large", "",
                 f"{address:x} {size:x} not whole"]
        self.map(path, "\n".join(lines))
        self.assert_most(self.leaves(pid), "name with spaces; and more")
        # It goes on.
        with open(path, "a") as file:
            file.write(f" yet\n{address:x} 9 beginning\n")
        self.assert_most(self.leaves(pid), "not whole yet")

    def test_map_that_comes_while_sampling(self):
        pid, address, size = self.start()
        with harness.start("-F", "499", "-p", str(pid), "-o", self.path("out.folded"), stderr=subprocess.PIPE,
                           text=True) as profiler:
            harness.wait_until_it_says(profiler, "sampling")
            harness.wait_until_it_runs(pid, 0.5)
            self.map(f"/tmp/perf-{pid}.map", f"{address:x} {size:x} latecomer\n")
            harness.wait_until_it_runs(pid, 0.5)
            profiler.terminate()
            said = profiler.communicate(timeout=60)[1]
        self.assertEqual(profiler.returncode, 0, said)
        # Totals are named at the end, and so what was sampled before.
        counts = collections.Counter()
        for line in harness.read(self.path("out.folded")).splitlines():
            counts[line.rpartition(" ")[0].rpartition(";")[2]] += int(line.rpartition(" ")[2])
        self.assert_most(counts, "latecomer")

    def test_without_a_map_or_symbols_it_is_an_address(self):
        pid, address, size = self.start()
        for args in [], ["--no-symbols"]:
            samples = self.profile("-p", str(pid), "-d", "1", *args)
            leaves = [s["user_stack"][0] for s in samples if s["user_stack"]
                      if int(s["user_stack"][0]["address"], 16) - address in range(size)]
            self.assertGreater(len(leaves), 30)
            self.assertEqual({(f["symbol"], f["module"], f["offset"]) for f in leaves},
                             {(None, None, None)})
            self.map(f"/tmp/perf-{pid}.map", f"{address:x} {size:x} named\n")

    def test_owner(self):
        pid, address, size = self.start(*NOBODY)
        path = f"/tmp/perf-{pid}.map"
        self.map(path, f"{address:x} {size:x} named\n")
        for owner, name in (1, None), (65534, "named"), (0, "named"):
            os.chown(path, owner, owner)
            self.assert_most(self.leaves(pid), name)
        # A user can make the path lead to a file that only root may read, by a link or a mount.
        os.chmod(path, 0o600)
        self.assert_most(self.leaves(pid), None)
        secret = self.path("secret")
        self.map(secret, f"{address:x} {size:x} secret\n")
        os.remove(path)
        os.symlink(secret, path)
        self.assert_most(self.leaves(pid), None)
        os.chown(secret, 65534, 65534)
        self.assert_most(self.leaves(pid), "secret")

    def test_own_pid_namespace_and_root(self):
        root = self.path("root")
        os.makedirs(f"{root}/tmp")
        shutil.copy(harness.program("jitted"), f"{root}/jitted")
        # Only what the program is linked with.
        for library in "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2":
            os.makedirs(root + os.path.dirname(library), exist_ok=True)
            shutil.copy(os.path.realpath(library), root + library)
        script = f"mount -t tmpfs none {root}/tmp && exec chroot {root} /jitted plain 60"
        process = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "sh", "-c", script],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        address, size = (int(word, 16) for word in process.stdout.readline().split())
        pid = int(harness.children(process.pid)[0])
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        tmp = os.path.join("/proc", str(pid), "root", "tmp")
        line = f"{address:x} {size:x} "
        # One of the profiler's root, and links that would leave the target's.
        self.map("/tmp/perf-1.map", line + "of the host\n")
        os.symlink("/../../../../../../../../tmp/perf-1.map", f"{tmp}/other")
        os.symlink("other", f"{tmp}/perf-1.map")
        self.assert_most(self.leaves(pid), None)
        os.remove(f"{tmp}/perf-1.map")
        os.symlink(os.path.join("/proc/self", "root", "tmp", "perf-1.map"), f"{tmp}/perf-1.map")
        self.assert_most(self.leaves(pid), None)
        os.remove(f"{tmp}/perf-1.map")
        os.mkfifo(f"{tmp}/perf-1.map")
        self.assert_most(self.leaves(pid), None)
        os.remove(f"{tmp}/perf-1.map")
        # A link inside is one like any other.
        with open(f"{tmp}/real.map", "w") as file:
            file.write(line + "of the target\n")
        os.symlink("/tmp/real.map", f"{tmp}/perf-1.map")
        self.assert_most(self.leaves(pid), "of the target")

    def about(self, result):
        """What to know of a run whose names are missing."""
        leaves = collections.Counter()
        for line in harness.read(self.path("out.folded")).splitlines():
            leaves[line.rpartition(" ")[0].rpartition(";")[2]] += int(line.rpartition(" ")[2])
        return (result.stderr, leaves.most_common(8),
                [(name, os.path.getsize(self.path(name))) for name in os.listdir(self.directory)],
                [(name, os.path.getsize(f"/tmp/{name}")) for name in os.listdir("/tmp")
                 if name.startswith("perf-")])

    def test_node(self):
        """By what it writes; not by what V8 keeps, which names its functions otherwise."""
        script = self.write("busy.js", JAVASCRIPT)
        for option in "--perf-basic-prof", "--perf-prof":
            result = harness.dwarfprof("-F", "499", "--format", "folded", "-o",
                                       self.path("out.folded"), "--native-frames=only", "--", "node", option, script,
                                       cwd=self.directory)
            self.assertEqual(result.returncode, 0, result.stderr)
            total = named = 0
            for line in harness.read(self.path("out.folded")).splitlines():
                total += int(line.rpartition(" ")[2])
                named += int(line.rpartition(" ")[2]) if "busy.js:" in line and \
                    ("outermost" in line or "innermost" in line) else 0
            # Up to one in ten is of node's own.
            self.assertTrue(chance.is_rare(total - named, total, 0.1, 0.2), (option, self.about(result)))
        for name in os.listdir("/tmp"):
            if name.startswith("perf-") and name.endswith(".map") and \
                    "busy.js" in harness.read(f"/tmp/{name}"):
                os.remove(f"/tmp/{name}")

    def test_java_writes_its_map_when_it_exits(self):
        source = self.write("Busy.java", JAVA)
        result = harness.dwarfprof("-F", "1999", "-o", self.path("out.folded"), "--", "java",
                                   "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions",
                                   "-XX:+DumpPerfMapAtExit", source)
        self.assertEqual(result.returncode, 0, result.stderr)
        named = sum(int(line.rpartition(" ")[2])
                    for line in harness.read(self.path("out.folded")).splitlines()
                    if "Busy.collatz" in line or "Busy::collatz" in line or "Busy.main" in line)
        self.assertGreater(named, 200, self.about(result))
        for name in os.listdir("/tmp"):
            if name.startswith("perf-") and name.endswith(".map") and \
                    "Busy" in harness.read(f"/tmp/{name}"):
                os.remove(f"/tmp/{name}")


harness.main()
