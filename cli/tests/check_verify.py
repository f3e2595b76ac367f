#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--verify: libdwfl's opinion of the same stacks, in every format; and that it can disagree.

usage: check_verify.py DWARFPROF PROGRAM-DIR
"""
import collections
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

import chance
import check_programs
import check_sandbox
import harness
from harness import Target, busy, dwarfprof, program, read

SOURCES = os.path.join(os.path.dirname(__file__), "../../test-programs")
# Percentage of agreement, of stacks that libdwfl can unwind to the end.
WANTED = 99.9
# Of the verified stacks, 95 in 100 must be compared; up to one in a thousand cannot be.
ENOUGH = chance.enough(0.001, 0.05)
COMPARED = ("equal", "further", "shorter", "differs")
# Where libdwfl ends early: it takes a register for undefined that these functions of ld.so have saved.
ENDS_EARLY = "_dl_runtime_resolve_"


def are_few_left_out(results):
    """At most one in twenty: how many are depends on what else the machine does, and then more are sampled."""
    return results.count("left_out") <= len(results) / 20


def results_of(samples):
    return [s["verified"] for s in samples if "verified" in s]


class Verify(unittest.TestCase):
    LONG = "test_openssl", "test_perl"

    def profile(self, *args, code=0):
        """The samples, and the message about their verification."""
        result = dwarfprof("--format", "jsonl", *args)
        self.assertEqual(result.returncode, code, result.stderr)
        return self.parse(result.stdout, result.stderr)

    @staticmethod
    def parse(out, err):
        # The profiled command's output goes to stdout too.
        lines = [line for line in out.splitlines() if line.startswith('{"time_ns"')]
        return [json.loads(line) for line in lines], err.partition("verified by libdwfl: ")[2]

    def profile_while_it_works(self, pid, seconds, *args):
        """The same of a process, until it has used that much CPU time."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            result, = harness.run_at_once([harness.DWARFPROF, "-o", path, "-p", pid, *args], of=[pid], seconds=seconds)
            self.assertEqual(result.returncode, 0, result.stderr)
            return self.parse(read(path), result.stderr)

    def profile_in_bursts(self, pid, *args):
        """The same of a program that waits until libdwfl has seen what there is: while a ring is half full,
        stacks are not copied. Ten times, and as long as these are not ENOUGH, or too many were left out, as on a machine
        that does much else."""
        def sleeps():
            """The profiler's threads, and its helpers, which may have ended meanwhile."""
            tasks = [f"/proc/{process.pid}/task/{tid}" for tid in os.listdir(f"/proc/{process.pid}/task")]
            helpers = [f"/proc/{helper}" for helper in check_sandbox.helpers(process.pid)[1]]
            return all(") S " in (read(f"{path}/stat") or ") S ") for path in tasks + helpers)
        def are_enough():
            results = re.findall(r'"verified":"(\w+)"', read(out.name))
            return results.count("equal") >= ENOUGH and are_few_left_out(results)
        with tempfile.NamedTemporaryFile("w+") as out:
            process = harness.start("--format", "jsonl", "-p", pid, *args, stdout=out, stderr=subprocess.PIPE, text=True)
            harness.wait_until_it_says(process, "sampling")
            for i in range(100):
                if i >= 10 and are_enough():
                    break
                harness.wait_until_it_runs(pid)
                os.kill(int(pid), signal.SIGSTOP)
                harness.wait_for(lambda: all(sleeps() for _ in range(20)))
                os.kill(int(pid), signal.SIGCONT)
            process.send_signal(signal.SIGINT)
            err = process.communicate(timeout=180)[1]
            self.assertEqual(process.returncode, 0, err)
            out.seek(0)
            return self.parse(out.read(), err)

    def ends_early(self, sample):
        if sample.get("verified") != "further":
            return False
        theirs = sample["verified_stack"]
        self.assertEqual([f["address"] for f in sample["user_stack"]][:len(theirs)], [f["address"] for f in theirs])
        return (theirs[-1]["symbol"] or "").startswith(ENDS_EARLY)

    def expect_agreement(self, samples, said, at_least, share=0.95, has_early_ends=False):
        """at_least: the minimum number compared; share: the minimum share of these among the
        verified ones."""
        results = results_of(samples)
        self.assertTrue(are_few_left_out(results), said)
        counts = collections.Counter(results)
        del counts["left_out"]
        compared = sum(counts[word] for word in COMPARED)
        self.assertGreaterEqual(compared, at_least, said)
        self.assertGreaterEqual(compared, share * counts.total(), counts)
        n_early = sum(map(self.ends_early, samples)) if has_early_ends else 0
        self.assertLessEqual(n_early, compared / 100, said)
        self.assertGreaterEqual(100 * counts["equal"] / (compared - n_early), WANTED, said)
        self.assertIn(f"{counts['equal']} of {compared} stacks equal", said)

    def expect_program(self, *command):
        with Target(*command) as pid:
            samples, said = self.profile_in_bursts(pid, "--verify=1", "-F", "499")
        self.assertTrue(all("verified" in s for s in samples if s["user_stack"]))
        self.expect_agreement(samples, said, ENOUGH)

    def test_inefficient(self):
        self.expect_program(program("inefficient"), "300")

    def test_python(self):
        self.expect_program("/usr/bin/python3", "-c", check_programs.PYTHON)

    def test_perl(self):
        self.expect_program("perl", "-e", check_programs.PERL)

    def test_openssl(self):
        self.expect_program("openssl", "speed", "-seconds", "20", "rsa2048")

    def test_compressed_debug_information(self):
        """libelf writes to the headers of sections that libdw decompresses."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "without_eh_frame")
            subprocess.run(["gcc", "-O1", "-g", "-gz", "-fno-asynchronous-unwind-tables", "-o", path,
                            f"{SOURCES}/fibonacci.c"], check=True)
            sections = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
            self.assertRegex(sections, r"\.debug_frame .* C ")
            self.expect_program(path, "300")

    def test_a_hole_in_the_stack(self):
        """Pages that were never touched do not end the copy."""
        self.expect_program(program("hole"), "60")

    def test_hard_stacks_and_late_samples(self):
        """Signals, alternate stacks, libraries that have just been mapped: at each marked
        moment."""
        stacks = program("stacks-gcc-O2-nofp-pie")
        # The program does not wait for a profiler that gets no CPU: then there is no room for copies.
        for _ in range(10):
            samples, said = self.profile("--verify=1", "-e", f"uprobe:{stacks}:oracle_mark",
                                         "--", stacks, "/dev/null")
            copied = [s for s in samples if s.get("verified") != "no_copy"]
            if len(copied) >= 1000 and are_few_left_out(results_of(copied)):
                break
        # libdwfl has no rules for .init and the like, where many of the moments are.
        self.expect_agreement(copied, said, 500, 0.8, has_early_ends=True)
        self.assertTrue(any(s["late"] and s["verified"] == "equal" for s in samples))
        self.assertTrue(any(f["method"] == "signal" for s in samples for f in s["user_stack"]))

    def test_wrong_stacks_are_found(self):
        """Frame pointers, in a program without them."""
        with Target(program("inefficient"), "300") as pid:
            samples, said = self.profile_while_it_works(pid, 0.6, "--verify=1", "--unwind", "fp", "-F", "499")
        verified = [s for s in samples if "verified" in s]
        different = [s for s in verified if s["verified"] in ("shorter", "differs")]
        # Up to one in fifty is right by chance.
        self.assertGreaterEqual(len(verified), chance.enough(0.02, 0.1))
        self.assertGreater(len(different), 0.9 * len(verified), said)
        for sample in different:
            ours = [f["address"] for f in sample["user_stack"]]
            theirs = [f["address"] for f in sample["verified_stack"]]
            self.assertNotEqual(ours, theirs)
            self.assertEqual(theirs[0], ours[0])
            self.assertEqual(sample["verified_stack"][-1]["symbol"], "_start")
        self.assertRegex(said, r"\n  \d+ (shorter|differs): .* in inefficient \(PID \d+, \w+\), frame 1, "
                               r"the caller of .* by unwind information")

    def test_every_tenth(self):
        with busy() as pid:
            for _ in range(5):
                samples, said = self.profile_while_it_works(pid, 2, "--verify", "-F", "999")
                if are_few_left_out(results_of(samples)):
                    break
        n = sum("verified" in s for s in samples)
        self.assertGreaterEqual(n, ENOUGH)
        # Each CPU counts separately, and its first one comes after nine others.
        self.assertAlmostEqual(n, len(samples) / 10, delta=3 + len(samples) / 100)
        self.expect_agreement(samples, said, ENOUGH, 1)

    def test_not_asked_for(self):
        with busy() as pid:
            samples, said = self.profile("-d", "500ms", "-p", pid)
        self.assertTrue(samples)
        self.assertFalse(any("verified" in s for s in samples))
        self.assertEqual(said, "")

    def test_totals_of_all_formats(self):
        words = r"(\d+) samples, \1 of \1 stacks equal \(100\.0 %\), (\d+) of \2 frames"
        with busy() as pid:
            text = dwarfprof("--verify=1", "-d", "1", "-p", pid, "--format", "text")
            folded = dwarfprof("--verify=1", "-d", "1", "-p", pid, "--format", "folded")
        self.assertRegex(text.stdout, rf"\nVerified by libdwfl: {words}\n\n")
        self.assertRegex(folded.stdout.splitlines()[-1], rf"^\[totals: .*, verified by libdwfl: {words}\] 0$")
        self.assertRegex(folded.stderr, rf"dwarfprof: verified by libdwfl: {words}\n")

    def test_all_processes_and_children(self):
        with Target("/bin/sh", "-c", f"while :; do {program('fibonacci')} 1 >/dev/null; done"):
            samples, said = self.profile("-a", "--verify=2", "-F", "499", "-d", "3")
        self.assertIn("fibonacci", {s["comm"] for s in samples if "verified" in s})
        counts = collections.Counter(s["verified"] for s in samples
                                     if "verified" in s and s["comm"] == "fibonacci")
        self.assertGreater(counts["equal"], 20)
        self.assertEqual(sum(counts[word] for word in COMPARED), counts["equal"], said)

    def test_a_command_s_exit_code_is_kept(self):
        samples, said = self.profile("--verify=1", "--unwind", "fp", "-F", "999", "--",
                                     "/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 7",
                                     code=7)
        self.assertTrue(samples)
        self.assertTrue(said)

    def test_another_process_reads_the_files(self):
        """One that has no rights."""
        with busy() as pid, tempfile.NamedTemporaryFile("w+") as out:
            process = harness.start("--verify=1", "-F", "999", "--format", "jsonl", "-p", pid, stdout=out,
                                    stderr=subprocess.DEVNULL)
            def verifiers():
                return [other for other in check_sandbox.helpers(process.pid)[1] if "\0verifier\0" in check_sandbox.command(other)]
            harness.wait_for(lambda: '"verified":"equal"' in read(out.name))
            verifier, = verifiers()
            has = check_sandbox.status(verifier)
            process.send_signal(signal.SIGINT)
            process.wait(60)
        self.assertEqual((has["Seccomp"], has["NoNewPrivs"], has["CapEff"]), ("2", "1", "0" * 16))
        self.assertEqual(has["Uid"].split(), [str(check_sandbox.NOBODY)] * 4)

    def test_usage(self):
        for number in ("0", "-1", "x", "1.5", ""):
            result = dwarfprof(f"--verify={number}", "-p", "1")
            self.assertEqual(result.returncode, 2, number)
            self.assertIn("--verify takes a whole number from 1 to 1000000", result.stderr)


if __name__ == "__main__":
    harness.main()
