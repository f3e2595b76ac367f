#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stack of each BPF program, with the deepest chain of its calls, as Linux 6.1 allows it.

usage: check_stack.py CLANG-AND-ARGS... SOURCE SOURCE

Newer kernels round the frames up to 16 bytes in place of 32, so that they load what 6.1 refuses. Compiles each source to
assembly, with the clang that is given and with those of CLANGS that are installed. Dead code counts, though the verifier
drops what constants exclude.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

# MAX_BPF_STACK and MAX_CALL_FRAMES (include/linux/bpf_verifier.h), and what frames are rounded up to (check_max_stack_depth(),
# kernel/bpf/verifier.c).
MOST, MOST_FRAMES, ROUND = 512, 8, 32
CLANGS = "clang-14", "clang-19"
NAME = r"[A-Za-z_][\w.$]*"
FUNCTION = re.compile(rf"({NAME}):\s+# @{NAME}$")
TYPE = re.compile(rf"\.type\s+({NAME}),@function")
AT = re.compile(r"r10 - (\d+)")
COPY = re.compile(r"(r\d) = r10$")
MOVE = re.compile(r"(r\d) \+= -(\d+)$")
SET = re.compile(r"(r\d) = ")
# With the addresses of what a loop calls, or of data.
CALL = re.compile(rf"(?:call|r\d =) ({NAME})(?: ll)?$")


def parse(assembly):
    """{function: (bytes of its frame, functions that it calls)}"""
    found, copies = {}, set()
    for line in assembly.splitlines():
        assert not re.match(r"\s*callx", line), line
        if function := FUNCTION.match(line):
            name, copies = function[1], set()
            found[name] = [0, set()]
        line = line.split("#")[0].strip()
        if not found or line.startswith((".", "#")):
            continue
        frame = found[name]
        for at in AT.findall(line):
            frame[0] = max(frame[0], int(at))
        if copy := COPY.match(line):
            copies.add(copy[1])
            continue
        if move := MOVE.match(line):
            if move[1] in copies:
                frame[0] = max(frame[0], int(move[2]))
            copies.discard(move[1])
        elif changed := SET.match(line):
            copies.discard(changed[1])
        if call := CALL.match(line):
            frame[1].add(call[1])
    return found


def deepest(functions, name):
    """The chain of calls from a function on with the most bytes: these, its functions, and the most in any chain."""
    size, calls = functions[name]
    below = [deepest(functions, call) for call in calls if call in functions]
    bytes_below, chain, _ = max(below, default=(0, [], 0))
    return -(-max(size, 1) // ROUND) * ROUND + bytes_below, [f"{name} {size}", *chain], 1 + max((n for *_, n in below), default=0)


class Stack(unittest.TestCase):
    def test_reads_assembly(self):
        found = parse("one:    # @one\n\t*(u64 *)(r10 - 40) = r1\n\tr2 = r10\n\tr2 += -56\n\tr3 = two ll\n\tcall three\n"
                      "two:    # @two\n\tr1 = r10\n\tr1 = 5\n\tr1 += -400\n\tcall 12\nthree: # @three\n\tr1 = three_data ll\n\tcall two\n")
        self.assertEqual(found, {"one": [56, {"two", "three"}], "two": [0, set()], "three": [0, {"three_data", "two"}]})
        self.assertEqual(deepest(found, "one"), (64 + 32 + 32, ["one 56", "three 0", "two 0"], 3))
        found["four"] = [120, set()]
        found["one"][1].add("four")
        self.assertEqual(deepest(found, "one"), (64 + 128, ["one 56", "four 120"], 3))

    def check(self, clang, source):
        command = [clang, *OPTIONS, "-w", "-S", "-o", "-", source]
        assembly = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
        functions = parse(assembly)
        self.assertEqual(set(functions), set(TYPE.findall(assembly)))
        programs = [name for name in functions if name.startswith("dp_")]
        self.assertTrue(programs)
        for size, chain, n in sorted((deepest(functions, name) for name in programs), reverse=True):
            print(size, " > ".join(chain), flush=True)
            self.assertLessEqual(size, MOST)
            self.assertLessEqual(n, MOST_FRAMES)

    def test_programs_have_room(self):
        for clang in sorted({os.path.realpath(path) for path in map(shutil.which, (CLANG, *CLANGS)) if path}):
            for source in SOURCES:
                with self.subTest(clang=clang, source=source):
                    self.check(clang, source)


CLANG, *OPTIONS = sys.argv[1:-2]
# Each clang knows others.
OPTIONS = [option for option in OPTIONS if not option.startswith("-W")]
SOURCES = sys.argv[-2:]
unittest.main(argv=sys.argv[:1])
