#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rule of each instruction of a program, from start to end, as if a sample was taken
there.

usage: check_steps.py DWARFPROF

Runs a program in single steps. At each step the rule for the address says where the return address
is, and what rbp was in the caller; the processor shows where the function finally returns. Code
without unwind information is included.
"""
import bisect
import collections
import ctypes
import errno
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import harness

DWARFPROF = None

PTRACE_TRACEME, PTRACE_SINGLESTEP, PTRACE_GETREGS = 0, 9, 12
# struct user_regs_struct, include/asm/user_64.h
REGISTERS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss "
             "fs_base gs_base ds es fs gs").split()
PAGE = os.sysconf("SC_PAGE_SIZE")

SOURCE = """
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void at_exit(void) {}

int main(void)
{
	char *argv[] = { "/bin/true", NULL };
	int numbers[] = { 4, 7, 1, 9 }, status = 1;
	pid_t child;

	atexit(at_exit);
	qsort(numbers, 4, sizeof(numbers[0]), compare);
	if (posix_spawn(&child, argv[0], NULL, NULL, argv, environ) != 0)
		return 1;
	waitpid(child, &status, 0);
	return status;
}
"""

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, data=None):
    if libc.ptrace(request, pid, None, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


class Rules:
    """What `dwarfprof tables` says about a file, and where that is mapped."""

    def __init__(self, path):
        out = subprocess.run([DWARFPROF, "tables", "--rows", path], capture_output=True, text=True, check=True)
        self.rows = []
        for line in out.stdout.splitlines():
            start, end, cfa, ra, fp = line.split()[:5]
            self.rows.append(Row(int(start, 16), int(end, 16), cfa, ra[3:], fp[3:]))
        self.starts = [row.start for row in self.rows]
        with open(path, "rb") as file:
            head = file.read(PAGE)
        first, size, n = (struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54))
        headers = [struct.unpack_from("<IIQQQQ", head, first + i * size) for i in range(n)]
        self.segments = [(offset // PAGE * PAGE, address // PAGE * PAGE)
                         for kind, flags, offset, address, _, _ in headers if kind == 1 and flags & 1]

    def bias(self, start, offset):
        """The load bias of the file, if its part from `offset` on is at `start`."""
        for segment, address in self.segments:
            if segment == offset:
                return start - address
        raise AssertionError("a mapping that is no segment")

    def find(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        return self.rows[i][2:] if i >= 0 and address < self.rows[i].end else None


class Process:
    """A program that runs in single steps."""

    def __init__(self, rules, command):
        self.pid = os.fork()
        if self.pid == 0:
            try:
                ptrace(PTRACE_TRACEME, 0)
                os.execve(command[0], command, {})
            except OSError as error:
                os._exit(error.errno)
        self.status = os.waitpid(self.pid, 0)[1]
        if not os.WIFSTOPPED(self.status):
            error = os.WEXITSTATUS(self.status)
            if error == errno.EPERM:
                raise unittest.SkipTest("this user cannot trace")
            raise OSError(error, os.strerror(error), command[0])
        self.memory = os.open(f"/proc/{self.pid}/mem", os.O_RDONLY)
        self.registers = (ctypes.c_ulonglong * len(REGISTERS))()
        self.rules = rules
        self.mappings = []

    def end(self):
        os.close(self.memory)
        if os.WIFSTOPPED(self.status):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def step(self):
        """Returns False when the program has ended."""
        ptrace(PTRACE_SINGLESTEP, self.pid)
        self.status = os.waitpid(self.pid, 0)[1]
        # The end of its child is reported before the next step.
        assert not os.WIFSTOPPED(self.status) or os.WSTOPSIG(self.status) in (signal.SIGTRAP, signal.SIGCHLD), \
            signal.Signals(os.WSTOPSIG(self.status)).name
        return os.WIFSTOPPED(self.status)

    def read_registers(self):
        ptrace(PTRACE_GETREGS, self.pid, self.registers)
        return dict(zip(REGISTERS, self.registers))

    def word(self, address):
        return struct.unpack("<Q", os.pread(self.memory, 8, address))[0]

    def read_mappings(self):
        self.mappings = []
        with open(f"/proc/{self.pid}/maps") as maps:
            for line in maps:
                addresses, flags, offset, _, _, path = [*line.rstrip("\n").split(maxsplit=5), ""][:6]
                start, end = (int(x, 16) for x in addresses.split("-"))
                if flags[2] != "x" or not path.startswith("/"):
                    continue
                if path not in self.rules:
                    self.rules[path] = Rules(path)
                self.mappings.append((start, end, self.rules[path].bias(start, int(offset, 16)), path))

    def mapping(self, address):
        return next((m for m in self.mappings if m[0] <= address < m[1]), None)

    def rule(self, address):
        """(file, address in it, rule); None if it is in no file."""
        mapping = self.mapping(address)
        if not mapping:
            self.read_mappings()
            mapping = self.mapping(address)
        if not mapping:
            return None
        _, _, bias, path = mapping
        return path, address - bias, self.rules[path].find(address - bias)


def cfa_of(cfa, regs, word):
    """The CFA's value, or None for kinds that are not computed here."""
    plt = re.fullmatch(r"plt\((\w+)\)", cfa)
    if plt:
        return regs["rsp"] + (16 if regs["rip"] & 15 >= int(plt[1], 16) else 8)
    clone = re.fullmatch(r"clone\((.*)\)", cfa)
    if clone:
        assert regs["rax"] != 0, "a child is not stepped"
        cfa = clone[1]
    direct = re.fullmatch(r"(r\w+)([+-]\w+)", cfa)
    if direct:
        return regs[direct[1]] + int(direct[2], 16)
    memory = re.fullmatch(r"\*\((r\w+)([+-]\w+)\)([+-]\w+)", cfa)
    if memory:
        return word(regs[memory[1]] + int(memory[2], 16)) + int(memory[3], 16)
    return None


Row = collections.namedtuple("Row", "start, end, cfa, ra, fp")
Return = collections.namedtuple("Return", "slot, address, rbp")


class Run:
    """The results of a run."""

    def __init__(self, rules, *command):
        self.expected = []  # according to the rules, for the active functions
        self.checked = collections.defaultdict(set)  # {file: addresses with such a rule}
        self.kinds = set()  # of CFAs at these addresses
        self.unknown = set()  # addresses without a rule, or with one of another kind
        self.wrong = []
        self.n_steps = 0
        self.last = None  # the stack pointer at the previous step
        self.process = Process(rules, command)
        try:
            self.expect(self.process.read_registers())
            while self.process.step():
                self.arrive(self.process.read_registers())
        finally:
            self.process.end()

    def arrive(self, regs):
        self.n_steps += 1
        while self.expected and self.expected[-1][0].slot < regs["rsp"]:
            said, where = self.expected.pop()
            if (self.last, regs["rsp"]) != (said.slot, said.slot + 8) or \
                    (said.address, said.rbp) != (regs["rip"], regs["rbp"]):
                self.wrong.append((where, said, {name: hex(regs[name]) for name in ("rip", "rsp", "rbp")}))
        self.expect(regs)

    def say(self, regs, rule):
        """What a rule says about the frame; None for kinds that are not computed here."""
        cfa, ra, fp = rule
        value = cfa_of(cfa, regs, self.process.word)
        if value is None or ra != "c-8" or not (fp == "s" or fp[0] == "c"):
            return None
        rbp = regs["rbp"] if fp == "s" else self.process.word(value + int(fp[1:], 16))
        return Return(value - 8, self.process.word(value - 8), rbp)

    def expect(self, regs):
        self.last = regs["rsp"]
        path, address, rule = self.process.rule(regs["rip"]) or (None, None, None)
        if not path or (rule and rule[1] == "u"):
            return
        where = path, address
        try:
            said = self.say(regs, rule or ("none", None, None))
        except OSError as error:
            self.wrong.append((where, rule, error))
            return
        if not said:
            self.unknown.add(where)
            return
        self.checked[path].add(address)
        self.kinds.add(re.match(r"\w*", rule[0])[0])
        # A frame below this one is gone and did not return where it should have.
        while self.expected and self.expected[-1][0].slot < said.slot:
            gone, there = self.expected.pop()
            self.wrong.append((there, gone, said))
        # Once per frame, unless its rules disagree.
        if not self.expected or self.expected[-1][0] != said:
            self.expected.append((said, where))


def functions_of(path):
    """{name: address}"""
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return {name: int(address, 16) for address, kind, name in
            (line.split() for line in symbols.splitlines() if line[0] != " ") if kind in "tT"}


class Steps(unittest.TestCase):
    LONG = "test_gcc_at_a_fixed_address", "test_gcc_static"

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.libraries = {}

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def build(self, compiler):
        path = os.path.join(self.directory.name, "program")
        subprocess.run([*compiler.split(), "-O2", "-x", "c", "-", "-o", path], input=SOURCE, text=True, check=True)
        return path

    def run_through(self, path):
        """Libraries have the same tables in all runs."""
        self.libraries.pop(path, None)
        run = Run(self.libraries, path)
        self.assertTrue(os.WIFEXITED(run.process.status) and os.WEXITSTATUS(run.process.status) == 0,
                        run.process.status)
        print(f"{run.n_steps} steps, {sum(map(len, run.checked.values()))} addresses with a rule, "
              f"{len(run.unknown)} without one, {len(run.wrong)} wrong", flush=True)
        return run

    def check(self, compiler):
        path = self.build(compiler)
        run = self.run_through(path)
        self.assertEqual(run.wrong, [])
        self.assertEqual(run.unknown, set())
        self.assertLessEqual({"rsp", "rbp", "clone"}, run.kinds)
        functions = functions_of(path)
        for name in ("register_tm_clones", "deregister_tm_clones", "frame_dummy", "__do_global_dtors_aux"):
            self.assertIn(functions[name], run.checked[path], name)

    def test_gcc(self):
        self.check("gcc")

    def test_gcc_at_a_fixed_address(self):
        self.check("gcc -no-pie")

    def test_gcc_static(self):
        self.check("gcc -static")

    def test_gcc_static_at_any_address(self):
        self.check("gcc -static-pie")

    def test_clang(self):
        clang = shutil.which("clang-14") or shutil.which("clang")
        if not clang:
            self.skipTest("there is no clang")
        self.check(clang)

    def wrong_with(self, path, function, **changes):
        """(a changed row of the function, the first with those values; addresses with an error)"""
        rules = self.libraries[path] = Rules(path)
        i = bisect.bisect_right(rules.starts, functions_of(path)[function]) - 1
        while any(getattr(rules.rows[i], name) != old for name, (old, _) in changes.items()):
            i += 1
        rules.rows[i] = rules.rows[i]._replace(**{name: new for name, (_, new) in changes.items()})
        return rules.rows[i], {where[1] for where, *_ in Run(self.libraries, path).wrong}

    def test_what_is_wrong_is_found(self):
        path = self.build("gcc -static")
        for function, changes in (("register_tm_clones", {"cfa": ("rsp+8", "rsp+10")}),
                                  ("__do_global_dtors_aux", {"fp": ("c-10", "c-18")}),
                                  ("main", {"cfa": ("rsp+8", "rax+8")})):
            with self.subTest(function=function, changes=changes):
                row, wrong = self.wrong_with(path, function, **changes)
                self.assertTrue(any(row.start <= address < row.end for address in wrong), (row, wrong))


if __name__ == "__main__":
    DWARFPROF = os.path.abspath(sys.argv[1])
    harness.run_tests(sys.argv[2:])
