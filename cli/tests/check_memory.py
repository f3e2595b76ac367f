#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables that do not fit into the memory limit.

usage: check_memory.py DWARFPROF PROGRAM-DIR

`phases` works in several libraries in turn, each with a table of more than 1 MiB; --table-memory
leaves room for one or a few. The program determines what a complete stack must look like.
"""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import chance
import harness
from harness import is_being_copied, run_tests

DWARFPROF = None
PROGRAMS = None

LIBRARY = "libphase.so"
DEPTH = 11  # frames of descend()
RARE = "[vdso]", "ld-linux-x86-64.so.2"
# Possible outcomes of samples in these runs: nothing is guessed.
OUTCOMES = {"complete", "table_evicted", "no_user_stack"}


def is_without_rule(sample):
    """Did the walk end in assembly of libgmp, which the compiler uses, and which has no unwind
    information?"""
    return sample["outcome"] == "no_rule" and "/libgmp.so" in (sample["user_stack"][-1]["module"] or "")


def is_rare(sample):
    """Is the table least recently used, as the clock is read now and then?"""
    return not sample["user_stack"] or os.path.basename(sample["user_stack"][-1]["module"]) in RARE


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
    return bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes.stdout).group(1))


class Memory(unittest.TestCase):
    LONG = "test_the_compiler_in_the_least_memory",

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        with open(os.path.join(PROGRAMS, LIBRARY), "rb") as file:
            cls.bytes = file.read()
        cls.id = build_id(os.path.join(PROGRAMS, LIBRARY))
        assert cls.bytes.count(cls.id) == 1
        table = subprocess.run([DWARFPROF, "tables", "--json", os.path.join(PROGRAMS, LIBRARY)],
                               capture_output=True, text=True, check=True)
        assert json.loads(table.stdout)[0]["image_bytes"] > 1 << 20, "no two fit a segment"

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def copies(self, n):
        """Copies of the library with other names and build ids, so that they are different
        binaries."""
        paths = []
        for i in range(n):
            path = os.path.join(self.directory.name, f"lib{i}.so")
            with open(path, "wb") as file:
                file.write(self.bytes.replace(self.id, bytes([i + 1]) + self.id[1:]))
            paths.append(path)
        return paths

    def go_on_when_complete(self, profiler, path, library):
        """Ends a phase of a profiled `phases`, once the last samples are complete stacks of this library."""
        def is_complete():
            with open(path, "rb") as file:
                file.seek(max(0, os.stat(path).st_size - (1 << 20)))
                lines = file.read().split(b"\n")[-101:-1]  # what follows may be being written
            return len(lines) == 100 and all(self.expected(library) in self.stacks([sample]) or is_rare(sample)
                                             for sample in map(json.loads, reversed(lines)))
        harness.wait_for(is_complete, 150)
        program, = harness.children(profiler.pid)
        os.kill(int(program), signal.SIGUSR1)

    def record(self, memory, *command, watch=None):
        """The samples and messages of a profiled command; it exits with 0.

        On a very busy machine records of mappings may be lost, which is reported; but not three
        times.
        """
        for _ in range(3):
            samples, said = self.record_once(memory, command, watch)
            if "records of mappings were lost" not in said:
                break
        else:
            self.fail("records of mappings were lost, again and again")
        self.assertGreater(len(samples), 100)
        # Up to three in a thousand.
        self.assertLessEqual(sum(map(is_being_copied, samples)), chance.most(len(samples), 0.003))
        self.assertLessEqual({s["outcome"] for s in samples
                              if not is_without_rule(s) and not is_being_copied(s)}, OUTCOMES)
        return samples, said

    def record_once(self, memory, command, watch):
        path = os.path.join(self.directory.name, "samples.jsonl")
        with open(path, "w"), tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                [DWARFPROF, "-v", "--no-cache", "-F", "199", "--table-memory", memory, "-o", path, "--", *command],
                stdout=subprocess.DEVNULL, stderr=said)
            try:
                if watch:
                    watch(process, path)
                code = process.wait(200)
            finally:
                if process.poll() is None:
                    for pid in harness.children(process.pid):
                        os.kill(int(pid), signal.SIGKILL)
                    process.kill()
                    process.wait()
            said.seek(0)
            said = said.read()
        self.assertEqual(code, 0, said)
        with open(path) as file:
            samples = [json.loads(line) for line in file]
        self.assertEqual(samples[-1]["lost"], 0)
        return samples, said

    def stacks(self, samples):
        """The complete stacks of the working thread, root first, as (binary, function)."""
        found = set()
        for s in samples:
            frames = [(os.path.basename(f["module"] or "?"), f["symbol"])
                      for f in reversed(s["user_stack"])]
            if s["outcome"] == "complete" and ("phases", "spin") in frames:
                found.add(tuple(frames[:frames.index(("phases", "spin")) + 1]))
        return found

    def expected(self, library):
        library = os.path.basename(library)
        return (("phases", "_start"), ("libc.so.6", "__libc_start_main"),
                ("libc.so.6", "__libc_start_call_main"), ("phases", "main"), (library, "work"),
                *[(library, "descend")] * DEPTH, ("phases", "spin"))

    def used(self, said):
        """MiB of memory used for tables, and numbers of tables built, freed and evicted."""
        pattern = (r"table memory: (\d+) of \d+ MiB in use; "
                   r"tables made (\d+) times, (\d+) freed, (\d+) evicted")
        return map(int, re.search(pattern, said).groups())

    def test_the_table_that_is_used_takes_the_place_of_the_one_that_is_not(self):
        libraries = self.copies(2)
        program = [os.path.join(PROGRAMS, "phases"), *libraries, "--"]
        wanted = {self.expected(library) for library in libraries}

        # The longer a table takes to be made, the later it is made again: each phase takes as long as that.
        def watch(profiler, path):
            for turn in turns:
                self.go_on_when_complete(profiler, path, libraries[turn])

        turns = 0, 1
        samples, said = self.record("64M", *program, *(f"{turn}:" for turn in turns), watch=watch)
        self.assertEqual(self.stacks(samples), wanted)
        self.assertNotIn("table_evicted", {s["outcome"] for s in samples})
        self.assertNotIn("--table-memory", said)

        turns = 0, 1, 0
        samples, said = self.record("4M", *program, *(f"{turn}:" for turn in turns), watch=watch)
        # The clock is read now and then, and the dynamic linker runs at the end of the program: their
        # tables are the least recently used.
        last = {s["outcome"] for s in samples[-50:] if not s["user_stack"] or not is_rare(s)} - {"no_user_stack"}
        self.assertEqual(self.stacks(samples), wanted, "all of them, and no others")
        evicted = [s for s in samples if s["outcome"] == "table_evicted"]
        self.assertRegex(said, rf"\n  {len(evicted)} table_evicted: .*--table-memory")
        memory, _, _, n_evicted = self.used(said)
        self.assertLessEqual(memory, 4)
        self.assertGreaterEqual(n_evicted, 2)
        # In time: complete, evicted, complete, evicted, complete.
        # Walks that end in a library do not use libc's table, either.
        for s in evicted:
            self.assertIn(os.path.basename(s["user_stack"][-1]["module"]), ("lib0.so", "lib1.so", "libc.so.6", *RARE))
        self.assertEqual(last, {"complete"})

    def test_what_is_used_all_the_time_stays(self):
        libraries = self.copies(2)
        turns = ["0:0.1", "1:0.1"] * 30
        for _ in range(3):
            samples, said = self.record("4M", os.path.join(PROGRAMS, "phases"), *libraries, "--", *turns)
            times = [s["time_ns"] for s in samples]
            # A table may be evicted when unused for a second, also because the machine stalled for
            # that long.
            if max(b - a for a, b in zip(times, times[1:])) < 5e8:
                break
        outcomes = collections.Counter(s["outcome"] for s in samples)
        _, n_made, _, n_evicted = self.used(said)
        self.assertEqual(self.stacks(samples), {self.expected(libraries[0])})
        # The phases have equal length; how much CPU time they get depends on the machine.
        self.assertGreater(len(samples), 200)
        self.assertGreater(outcomes["complete"], len(samples) / 4)
        self.assertGreater(outcomes["table_evicted"], len(samples) / 4)
        self.assertLess(n_made, 20, "no table comes and goes with each turn")

    def test_programs_that_come_and_go_leave_no_tables(self):
        libraries = self.copies(12)
        phases = os.path.join(PROGRAMS, "phases")
        script = "; ".join(f"{phases} {library} -- 0:1" for library in libraries)
        samples, said = self.record("12M", "sh", "-ec", script)
        memory, n_made, n_freed, _ = self.used(said)
        self.assertLessEqual(memory, 12)
        self.assertGreaterEqual(n_made, len(libraries))
        self.assertGreaterEqual(n_freed, len(libraries) // 3)
        stacks = self.stacks(samples)
        self.assertLessEqual(stacks, {self.expected(p) for p in libraries})
        self.assertGreaterEqual(len(stacks), len(libraries) - 2)
        user = [s for s in samples if s["outcome"] != "no_user_stack"]
        complete = [s for s in user if s["outcome"] == "complete"]
        # While a table is made, they are not. That depends on time, not chance: it takes a tenth of it.
        self.assertGreater(len(complete), 0.8 * len(user))

    def test_the_compiler_in_the_least_memory(self):
        source = os.path.join(self.directory.name, "x.c")
        with open(source, "w") as file:
            file.writelines(f"int f{i}(int a) {{ return a % {i + 2} ? a * {i} : a; }}\n"
                            for i in range(3000))
        samples, _ = self.record("4M", "sh", "-ec",
                                 f"for i in 1 2 3; do gcc -O2 -c {source} -o {source}.o; done")
        user = [s for s in samples if s["outcome"] != "no_user_stack"]
        others = sum(s["outcome"] != "complete" for s in user)
        print(f"the compiler in the least memory: {others} of {len(user)} are not complete", flush=True)
        # One in ten is usual.
        self.assertTrue(chance.is_rare(others, len(user), 0.1, 0.2))


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    DWARFPROF, PROGRAMS = map(os.path.abspath, sys.argv[1:3])
    run_tests(sys.argv[3:])
