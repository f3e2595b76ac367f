#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernel stacks: compared with perf, left out, hidden, and with functions that appear later.

usage: check_kernel.py DWARFPROF PROGRAM-DIR
"""
import collections
import json
import os
import signal
import subprocess
import tempfile
import unittest

import chance
import harness
from harness import Target, busy, dwarfprof, program, start

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
WITH_TWO = [*AS_NOBODY, "--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon"]

HIDDEN = "the kernel hides its addresses"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def copy_zeros():
    """Spends most time in read(), which ends in read_zero()."""
    return Target(*AS_NOBODY, "/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=64k")


def samples_of(text):
    return [json.loads(line) for line in text.splitlines()]


def symbols(stack):
    return tuple(frame["symbol"] for frame in stack)


class KernelStacks(unittest.TestCase):
    def samples(self, *args):
        result = dwarfprof("--format", "jsonl", *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        return samples_of(result.stdout)

    def perf(self, pid, seconds):
        """Kernel stacks with names and counts, as perf takes them."""
        stacks, stack = collections.Counter(), []
        with tempfile.TemporaryDirectory() as directory:
            data = os.path.join(directory, "perf.data")
            subprocess.run(["perf", "record", "-q", "-o", data, "-e", "cpu-clock:k", "-F", "997", "-g", "-p", pid,
                            "--", "sleep", str(seconds)], check=True, capture_output=True, timeout=60)
            text = run("perf", "script", "-i", data, "-F", "ip,sym").stdout
        for line in [*text.splitlines(), ""]:
            if line.strip():
                address, symbol = line.split(None, 1)
                if int(address, 16) >> 63:
                    stack.append(symbol.strip())
            elif stack:
                stacks[tuple(stack)] += 1
                stack = []
        return stacks

    def test_perf_sees_the_same(self):
        """At the same time. A stack of which one has more than 1 in 50 samples, the other one has too. As each sample is
        of one of them by chance, there must be enough that not all of these are of the same one."""
        ours, theirs = collections.Counter(), collections.Counter()

        def are_enough():
            both = ours.total() + theirs.total()
            return all(0 < n < both and (n / both) ** (n / 50) < chance.LIMIT for n in (ours.total(), theirs.total()))
        with copy_zeros() as pid, tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            for _ in range(20):
                profiler = start("-p", pid, "-F", "997", "-o", path, stderr=subprocess.PIPE, text=True)
                harness.wait_until_it_says(profiler, "sampling")
                theirs += self.perf(pid, 2)
                profiler.terminate()
                said = profiler.communicate(timeout=60)[1]
                self.assertEqual(profiler.returncode, 0, said)
                in_kernel = [s for s in samples_of(harness.read(path)) if s["kernel_stack"]]
                for sample in in_kernel:
                    self.assertIsNone(sample["kernel_stack_error"])
                    self.assertEqual(sample["outcome"], "complete")
                ours += collections.Counter(symbols(s["kernel_stack"]) for s in in_kernel)
                if are_enough():
                    break
        self.assertTrue(are_enough(), (ours.total(), theirs.total()))
        for some, others in ((ours, theirs), (theirs, ours)):
            for stack, n in some.items():
                if n > some.total() / 50:
                    self.assertIn(stack, others)
        self.assertEqual(ours.most_common(1)[0][0], theirs.most_common(1)[0][0])
        self.assertIn("read_zero", ours.most_common(1)[0][0])

    def test_every_frame_is_whole(self):
        with copy_zeros() as pid:
            samples = self.samples("-p", pid, "-d", "500ms")
        for frame in (f for s in samples for f in s["kernel_stack"]):
            self.assertEqual(list(frame), ["address", "symbol", "module"])
            self.assertGreater(int(frame["address"], 16), 1 << 63)
            self.assertIsNotNone(frame["symbol"])

    def test_without_the_kernel_s_side(self):
        with copy_zeros() as pid:
            samples = self.samples("-U", "-p", pid, "-d", "1")
            all_processes = self.samples("-U", "-a", "-d", "1")
        for sample in samples + all_processes:
            self.assertEqual(sample["kernel_stack"], [])
            self.assertIsNone(sample["kernel_stack_error"])
            self.assertNotEqual(sample["outcome"], "no_user_stack")
        # Time in the kernel counts for the caller of the system call.
        in_read = [s for s in samples if s["user_stack"][0]["symbol"] == "read"]
        self.assertGreater(len(in_read), len(samples) / 2)
        self.assertEqual({s["outcome"] for s in in_read}, {"complete"})

    def test_without_the_programs_side(self):
        with copy_zeros() as pid, busy() as other:
            samples = self.samples("-K", "-p", f"{pid},{other}", "-d", "1")
            folded = dwarfprof("-K", "-p", pid, "-d", "500ms")
        for sample in samples:
            self.assertEqual((sample["outcome"], sample["user_stack"]), ("kernel_only", []))
            self.assertTrue(sample["kernel_stack"])
        # A process that computes hardly ever enters the kernel itself; interrupts hit it all the
        # time.
        comms = collections.Counter(s["comm"] for s in samples
                                    if "do_syscall_64" in symbols(s["kernel_stack"]))
        self.assertGreater(comms["dd"], 10)
        self.assertGreater(comms["dd"], 10 * comms["fibonacci"])
        *lines, totals = folded.stdout.splitlines()
        for line in lines:
            self.assertRegex(line, r"^dd(;[^;]+_\[k\])+ \d+$")
        self.assertRegex(totals, r" 0 of 0 with a user stack .* \d+ kernel_only\] 0$")

    def check_hidden(self, *prefix):
        """No kernel address is shown, but the time spent there is."""
        command = [*prefix, harness.DWARFPROF, "-F", "499", "-d", "500ms"]
        with copy_zeros() as pid, tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            paths = [os.path.join(directory, f"x.{kind}") for kind in ("jsonl", "folded", "txt")]
            named = run(*command, "-p", pid, *(word for path in paths for word in ("-o", path)))
            stream, folded, text = map(harness.read, paths)
            raw = run(*command, "-p", pid, "--no-symbols", "--format", "jsonl")
            user = run(*command, "-p", pid, "-U")
        for result in (named, raw, user):
            self.assertEqual(result.returncode, 0, result.stderr)
        for shown in (stream, folded, text, raw.stdout, user.stdout):
            self.assertTrue(shown)
            self.assertNotIn("0xffff", shown)
        for shown, result in ((stream, named), (raw.stdout, raw)):
            self.assertEqual(result.stderr.count(HIDDEN), 1)
            samples = samples_of(shown)
            self.assertEqual({s["kernel_stack_error"] for s in samples} - {None}, {"addresses_hidden"})
            self.assertFalse([s for s in samples if s["kernel_stack"]])
        self.assertIn(";read;[kernel]_[k] ", folded)
        self.assertRegex(text, r"% +\[kernel\] +\[kernel\]\n")
        self.assertNotIn(HIDDEN, user.stderr)
        self.assertNotIn("[k]", user.stdout)
        return named.stderr

    def test_hidden_without_a_capability(self):
        said = self.check_hidden(*WITH_TWO)
        self.assertIn("missing: CAP_SYSLOG\n", said)
        self.assertIn("setcap cap_bpf,cap_perfmon,cap_syslog=ep ", said)
        # A uprobe is never in a kernel function.
        with Target(*AS_NOBODY, program("inefficient"), "60") as pid:
            result = run(*WITH_TWO, harness.DWARFPROF, "-p", pid, "-d", "1", "--format", "jsonl",
                         "-e", f"uprobe:{program('inefficient')}:report")
        self.assertNotIn(HIDDEN, result.stderr)
        self.assertEqual({(s["kernel_stack_error"], len(s["kernel_stack"])) for s in samples_of(result.stdout)},
                         {(None, 0)})

    def test_hidden_from_root(self):
        path = "/proc/sys/kernel/kptr_restrict"
        before = harness.read(path)
        self.addCleanup(lambda: open(path, "w").write(before))
        with open(path, "w") as file:
            file.write("2")
        self.assertIn("sysctl -w kernel.kptr_restrict=1", self.check_hidden())
        said = json.loads(run(harness.DWARFPROF, "doctor", "--json").stdout)
        fact = next(f for f in said["findings"] if f["what"] == "kernel.kptr_restrict")
        self.assertEqual((fact["state"], fact["value"], fact["try"]),
                         ("limited", "2", "sudo sysctl -w kernel.kptr_restrict=1"))
        self.assertFalse(said["kernel"])

    def test_a_program_that_comes_later(self):
        """A BPF program loaded during sampling has its name; here one of another dwarfprof."""
        with Target(program("inefficient"), "60") as pid, tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            first = start("-p", pid, "-F", "2999", "-o", path, stderr=subprocess.PIPE, text=True)
            harness.wait_until_it_says(first, "sampling")
            dwarfprof("-p", pid, "-d", "2", "-o", os.path.join(directory, "second.folded"),
                      "-e", f"uprobe:{program('inefficient')}:compare_letters")
            first.send_signal(signal.SIGINT)
            first.communicate(timeout=60)
            self.assertEqual(first.returncode, 0)
            with open(path) as file:
                frames = [f for s in samples_of(file.read()) for f in s["kernel_stack"]]
        programs = {f["symbol"] for f in frames if f["module"] == "bpf"}
        self.assertTrue([p for p in programs if p.endswith("_dp_sample_uprobe")], programs)
        self.assertFalse([f for f in frames if f["symbol"] is None and f["module"]])


if __name__ == "__main__":
    harness.main()
