#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings: a report from one equals a direct report, or a message says why not.

usage: check_recording.py DWARFPROF PROGRAM-DIR
"""
import glob
import json
import os
import re
import shutil
import signal
import stat
import statistics
import subprocess
import tempfile
import time
import unittest

import harness
from harness import Target, busy, dwarfprof, program, start, wait_for

NOBODY = 65534
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test-programs/fibonacci.c")


def functions(text):
    """The rows of a text report."""
    return text.partition(" function ")[2].splitlines()[1:]


def stacks(folded):
    """Folded stacks with their counts, without totals."""
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()[:-1]}


def samples_said(stderr):
    return int(re.search(r"(\d+) samples in", stderr).group(1))


def record_enough(least, *args, tries=(0.4, 2, 8, 30)):
    """A process to which others leave little CPU time has few samples in each try's seconds."""
    for seconds in tries:
        result = dwarfprof("-d", str(seconds), *args)
        assert result.returncode in (0, 5), result.stderr
        if samples_said(result.stderr) >= least:
            return
    raise AssertionError(result.stderr)


class Recording(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def record(self, *args, name="x.dwarfprof"):
        """Makes a recording; returns it with the messages."""
        result = dwarfprof("-o", self.path(name), *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.path(name), result.stderr

    def record_process(self, pid, *args):
        """Makes a recording of a process that is busy."""
        result, = harness.run_at_once([harness.DWARFPROF, "-o", self.path("x.dwarfprof"), "-p", pid, *args], of=[pid])
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.path("x.dwarfprof"), result.stderr

    def run_on(self, command, *args, code=0, **kwargs):
        result = dwarfprof(command, *args, **kwargs)
        self.assertEqual(result.returncode, code, result.stderr)
        return result


class SameAsAtOnce(Recording):
    """A program that does the same in each run, sampled at each call of a function."""

    @classmethod
    def setUpClass(cls):
        directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.recording, *outs = (os.path.join(directory, name) for name in ("x.dwarfprof", "x.folded", "x.txt", "x.jsonl"))
        for options in ["-o", cls.recording], [word for path in outs for word in ("-o", path)]:
            result = dwarfprof(*options, "-e", "uprobe:libc.so.6:malloc", "--", "/bin/ls", "-l", "/usr")
            assert result.returncode == 0, result.stderr
        cls.folded, cls.text, cls.jsonl = map(harness.read, outs)

    def test_folded(self):
        self.assertGreater(len(stacks(self.folded)), 0)
        self.assertEqual(self.run_on("report", self.recording, "--format", "folded").stdout, self.folded)

    def test_text(self):
        expected = functions(self.text)
        self.assertGreater(len(expected), 3)
        report = self.run_on("report", self.recording)
        self.assertEqual(functions(report.stdout), expected)
        self.assertEqual(report.stderr, "")

    def test_jsonl(self):
        expected = self.samples(self.jsonl)
        self.assertGreater(len(expected), 0)
        out = self.path("x.jsonl")
        self.run_on("convert", self.recording, "-o", out)
        self.assertEqual(self.samples(harness.read(out)), expected)

    @staticmethod
    def samples(text):
        """Without what differs between runs: times, numbers, addresses."""
        samples = [json.loads(line) for line in text.splitlines()]
        for sample in samples:
            for field in "time_ns", "cpu", "pid", "tid", "late":
                del sample[field]
            for frame in sample["user_stack"]:
                # The load bias is a multiple of a page.
                frame["address"] = frame["address"][-3:]
        return samples


class SameRun(Recording):
    """One run writes all formats; reports made later from its recording are identical."""

    FORMATS = "folded", "jsonl", "txt", "pb.gz", "perf", "speedscope.json"

    def assert_same(self, *args, formats=FORMATS):
        """Also if the files are not read by confined processes."""
        outputs = [arg for form in formats for arg in ("-o", self.path(f"at-once.{form}"))]
        recording, _ = self.record(*outputs, *args)
        for options in (), ("--sandbox=require", "--no-cache"), ("--sandbox=off", "--no-cache"):
            result = self.run_on("convert", recording, *options,
                                 *(arg for form in formats for arg in ("-o", self.path(f"later.{form}"))))
            self.assertEqual(result.stderr, "")
            for form in formats:
                with open(self.path(f"at-once.{form}"), "rb") as file, open(self.path(f"later.{form}"), "rb") as later:
                    self.assertEqual(file.read(), later.read(), (form, options))
        return harness.read(self.path("later.folded"))

    def test_of_a_program_in_the_kernel_and_outside(self):
        folded = self.assert_same("-F", "499", "--", "python3", "-c",
                                  "import os\nfor i in range(300000): os.stat('/'); str(i)")
        self.assertIn("_[k]", folded)

    def test_of_threads_that_wait(self):
        folded = self.assert_same("--wall", "-F", "99", "--", "python3", "-c",
                                  "import time\nfor i in range(50): time.sleep(.01); sum(range(20000))")
        self.assertIn("[off-cpu S]", folded)

    def test_of_code_that_is_loaded_twice(self):
        """Functions of the same name, file and line are one."""
        folded = self.assert_same("-F", "499", "--", "python3", "-c",
                                  "same = [compile('for i in range(6000000): pass', 'same.py', 'exec') for _ in range(5)]\n"
                                  "for code in same: exec(code)")
        self.assertRegex(folded, ";<module>;.*;<module>[ ;]")

    def test_of_compiled_code(self):
        if not shutil.which("node"):
            self.skipTest("node is missing")
        script = self.path("busy.js")
        with open(script, "w", encoding="utf-8") as file:
            file.write("function busy(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) % 7; return s; }\n"
                       "let x = 0;\nwhile (process.cpuUsage().user < 1500000) x += busy(50000);\n")
        # For JIT code a recording has functions and lines; pprof distinguishes addresses within
        # them.
        folded = self.assert_same("-F", "199", "--", "node", "--perf-basic-prof", script,
                                  formats=("folded", "jsonl", "txt"))
        self.assertRegex(folded, r";[^;]*busy[^;]* \d+\n")


class Recorded(Recording):
    """Programs sampled by time."""

    def test_all_samples_are_there(self):
        with busy() as pid:
            recording, said = self.record_process(pid, "-F", "499")
        n = samples_said(said)
        result = self.run_on("convert", recording, "-o", self.path("x.folded"), "-o", self.path("x.jsonl"),
                             "-o", self.path("again.dwarfprof"), "-o", self.path("x.txt"))
        self.assertEqual((result.stdout, result.stderr), ("", ""))
        folded = harness.read(self.path("x.folded"))
        self.assertEqual(sum(stacks(folded).values()), n)
        self.assertIn(";main;fibonacci;fibonacci", folded)
        lines = harness.read(self.path("x.jsonl")).splitlines()
        self.assertEqual(len(lines), n)
        self.assertTrue(all(json.loads(line)["pid"] == int(pid) for line in lines))
        self.assertRegex(harness.read(self.path("x.txt")),
                         rf"^fibonacci \(PID {pid}\), (cycles|cpu-clock) at 499 Hz, \d+\.\d s\n(.*\n)*?Samples: {n}, lost: 0")
        # A recording made from a recording is identical.
        again = self.run_on("report", self.path("again.dwarfprof"), "--format", "folded").stdout
        self.assertEqual(again, folded)

    def test_from_standard_input(self):
        with busy() as pid:
            recording, _ = self.record_process(pid)
        with open(recording, "rb") as file:
            piped = self.run_on("report", "-", stdin=file).stdout
        self.assertEqual(piped, self.run_on("report", recording).stdout)

    def test_times_of_blocked_threads(self):
        recording, said = self.record("--wall", "-F", "199", "--", "python3", "-c",
                                      "import time\nfor i in range(60): time.sleep(.01); sum(range(20000))")
        text = self.run_on("report", recording).stdout
        lines = self.run_on("report", recording, "--format", "jsonl").stdout.splitlines()
        samples = [json.loads(line) for line in lines]
        ms = sum(sample["weight"] * (sample["value_ns"] or 0) for sample in samples) / 1e6
        self.assertGreater(ms, 500)
        self.assertIn(f"Time: {ms:.3f} ms", text)
        self.assertEqual(len(lines), samples_said(said))
        self.assertLessEqual({"S"}, {sample["state"] for sample in samples})
        self.assertIn(";[off-cpu S] ", self.run_on("report", recording, "--format", "folded").stdout)

    def test_names_of_the_kernel_are_recorded(self):
        recording, _ = self.record("-K", "-F", "999", "--", "python3", "-c",
                                   "import os\nfor i in range(100000): os.stat('/')")
        folded = self.run_on("report", recording, "--format", "folded").stdout
        self.assertRegex(folded, r"do_syscall_64_\[k\]")
        # A user who may not see the kernel's addresses here gets the same names.
        os.chmod(self.directory, 0o755)
        os.chmod(recording, 0o644)
        self.assertEqual(self.run_on("report", recording, "--format", "folded", user=NOBODY).stdout, folded)

    def test_vdso(self):
        recording, _ = self.record("-U", "-F", "999", "--", "python3", "-c",
                                   "import time\nfor i in range(3000000): time.time()")
        self.assertIn(";__vdso_", self.run_on("report", recording, "--format", "folded").stdout)

    def test_without_samples(self):
        with Target("sleep", "60") as pid:
            wait_for(lambda: "nanosleep" in harness.read(f"/proc/{pid}/stack"))
            result = dwarfprof("-o", self.path("x.dwarfprof"), "-p", pid, "-d", "100ms")
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("Samples: 0", self.run_on("report", self.path("x.dwarfprof"), code=5).stdout)
        self.run_on("diff", self.path("x.dwarfprof"), self.path("x.dwarfprof"), code=5)

    def test_names_are_as_they_are_asked_for(self):
        if not os.path.exists(program("fibonacci_rs")):
            self.skipTest("built without rustc")
        with Target(program("fibonacci_rs"), "60") as pid:
            recording, _ = self.record_process(pid, "-F", "499")
        folded = ("report", recording, "--format", "folded")
        self.assertIn("<fibonacci_rs::numbers::Fibonacci as", self.run_on(*folded).stdout)
        self.assertIn(";_ZN", self.run_on(*folded, "--demangle", "none").stdout)
        self.assertRegex(self.run_on(*folded, "--no-symbols").stdout, r";\[fibonacci_rs\+0x[0-9a-f]+\]")


class Elsewhere(Recording):
    """The process is gone, and its binary was moved."""

    def setUp(self):
        super().setUp()
        self.binary = self.path("bin/fib")
        os.mkdir(self.path("bin"))
        shutil.copy2(program("fibonacci"), self.binary)

    def record_binary(self):
        with Target(self.binary, "60") as pid:
            return self.record_process(pid, "-F", "499")[0]

    def folded(self, recording, *options):
        result = self.run_on("report", recording, "--format", "folded", *options)
        return result.stdout, result.stderr

    def assert_no_names(self, recording, reason):
        folded, said = self.folded(recording)
        self.assertRegex(folded, r"_start;.*;\[fib\+0x[0-9a-f]+\]|^fib;\[fib\+0x")
        self.assertNotIn(";main", folded)
        self.assertEqual(said.count("no names for " + self.binary), 1)
        self.assertIn(reason, said)
        self.assertIn("--symfs DIR", said)

    def test_that_is_gone(self):
        recording = self.record_binary()
        expected, said = self.folded(recording)
        self.assertEqual(said, "")
        os.mkdir(self.path("root"))
        shutil.move(self.binary, self.path("root/fib"))
        self.assert_no_names(recording, "it is not there")
        # Below another root, by its name and by its path.
        self.assertEqual(self.folded(recording, "--symfs", self.path("root")), (expected, ""))
        below = self.path("root") + os.path.dirname(self.binary)
        os.makedirs(below)
        shutil.move(self.path("root/fib"), below)
        self.assertEqual(self.folded(recording, "--symfs", self.path("root")), (expected, ""))
        self.assertEqual(self.folded(recording, "--symfs", self.path("bin"))[0],
                         self.folded(recording)[0])

    def test_that_was_replaced(self):
        recording = self.record_binary()
        expected, _ = self.folded(recording)
        shutil.move(self.binary, self.path("kept"))
        shutil.copy2(program("inefficient"), self.binary)
        self.assert_no_names(recording, "not the one that was recorded")
        # A different build would give wrong names; a copy gives the right ones.
        shutil.copy(self.path("kept"), self.binary)
        self.assertEqual(self.folded(recording), (expected, ""))

    def test_that_has_no_build_id(self):
        subprocess.run(["objcopy", "--remove-section", ".note.gnu.build-id", self.binary], check=True)
        recording = self.record_binary()
        self.assertIn(";main;fibonacci", self.folded(recording)[0])
        os.utime(self.binary, (1, 1))
        self.assert_no_names(recording, "not the one that was recorded")

    def test_of_which_only_the_debug_information_is_left(self):
        notes = subprocess.run(["readelf", "-n", self.binary], capture_output=True, text=True).stdout
        build_id = re.search(r"Build ID: (\w+)", notes).group(1)
        directory = self.path(f"usr/lib/debug/.build-id/{build_id[:2]}")
        os.makedirs(directory)
        recording = self.record_binary()
        expected, _ = self.folded(recording)
        subprocess.run(["objcopy", "--only-keep-debug", self.binary, f"{directory}/{build_id[2:]}.debug"], check=True)
        os.unlink(self.binary)
        self.assert_no_names(recording, "it is not there")
        self.assertEqual(self.folded(recording, "--symfs", self.directory), (expected, ""))

    def test_whose_debug_information_is_a_pipe(self):
        """libdw would wait for somebody to write to it."""
        debug = self.path("bin/fib.debug")
        subprocess.run(["objcopy", "--only-keep-debug", self.binary, debug], check=True)
        subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", self.binary], check=True)
        os.unlink(debug)
        os.mkfifo(debug)
        recording = self.record_binary()
        folded, said = self.folded(recording, "--no-cache")
        self.assertIn(";main;fibonacci", folded)
        self.assertEqual(said, "")

    def split(self):
        """Has its information in a .dwo file."""
        subprocess.run(["gcc", "-O2", "-g", "-gsplit-dwarf", "-Wl,--build-id", "-o", self.binary, SOURCE], check=True)
        debug, = glob.glob(self.path("bin/*.dwo"))
        return debug

    def share(self):
        """Shares a part of it with another, by .gnu_debugaltlink."""
        subprocess.run(["gcc", "-O2", "-g", "-gdwarf-4", "-Wl,--build-id", "-o", self.binary, SOURCE], check=True)
        debug, other = self.path("bin/shared"), shutil.copy2(self.binary, self.path("other"))
        subprocess.run(["dwz", "-m", debug, "-M", debug, self.binary, other], check=True)
        return debug

    def test_whose_debug_information_is_no_file(self):
        """libdw would wait for somebody to write to a pipe, and read an endless device."""
        for separate in self.split, self.share:
            debug = separate()
            recording = self.record_binary()
            whole, said = self.lines(recording)
            self.assertEqual(said, "")
            self.assertRegex(whole, r"fibonacci\.c")
            for make in os.mkfifo, lambda path: os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5)):
                os.unlink(debug)
                make(debug)
                found, said = self.lines(recording)
                self.assertRegex(found, r"\bfibonacci\b")
                self.assertEqual(said, "")
            os.unlink(debug)

    def lines(self, recording):
        result = self.run_on("report", recording, "--no-cache", "--format", "jsonl")
        return result.stdout, result.stderr

    def test_that_is_a_pipe_now(self):
        recording = self.record_binary()
        os.unlink(self.binary)
        os.mkfifo(self.binary)
        self.assert_no_names(recording, "not the one that was recorded")


class NotWhole(Recording):
    @classmethod
    def setUpClass(cls):
        """A recording of some seconds: each is written by itself. A program that has no CPU in the last of them has
        no samples there to be cut off."""
        cls.whole = os.path.join(cls.enterClassContext(tempfile.TemporaryDirectory()), "x.dwarfprof")
        with busy() as pid:
            for seconds in 2.5, 2.5, 4.5, 4.5, 8.5, 8.5:
                result = dwarfprof("-o", cls.whole, "-p", pid, "-d", str(seconds), "-F", "199")
                assert result.returncode == 0, result.stderr
                cls.n = samples_said(result.stderr)
                times = [json.loads(line)["time_ns"]
                         for line in dwarfprof("report", cls.whole, "--format", "jsonl").stdout.splitlines()]
                if max(times) - min(times) > (seconds - 0.3) * 1e9:
                    return
        raise AssertionError("the program never ran in the last part of a recording")

    def recorded(self):
        """A copy of it."""
        return shutil.copy(self.whole, self.path("x.dwarfprof"))

    def test_cut_off(self):
        recording = self.recorded()
        os.truncate(recording, os.path.getsize(recording) - 1)
        result = self.run_on("report", recording, "--format", "jsonl")
        lines = result.stdout.splitlines()
        self.assertTrue(0 < len(lines) < self.n)
        self.assertRegex(result.stderr, rf"warning: {recording} is cut off, at byte \d+: "
                                        rf"reporting the {len(lines)} samples before that")
        text = self.run_on("report", recording).stdout
        self.assertRegex(text, rf"Samples: {len(lines)}, lost: 0, complete: {len(lines)} of {len(lines)} ")
        # The converted recording is complete.
        self.run_on("convert", recording, "-o", self.path("whole.dwarfprof"))
        again = self.run_on("report", self.path("whole.dwarfprof"), "--format", "jsonl")
        self.assertEqual((again.stdout, again.stderr), (result.stdout, ""))

    def test_damaged(self):
        recording = self.recorded()
        with open(recording, "r+b") as file:
            file.seek(-20, os.SEEK_END)
            byte = file.read(1)[0]
            file.seek(-20, os.SEEK_END)
            file.write(bytes([byte ^ 0x10]))
        result = self.run_on("report", recording, "--format", "jsonl")
        self.assertTrue(0 < len(result.stdout.splitlines()) < self.n)
        self.assertRegex(result.stderr, rf"warning: {recording} is (damaged, before|cut off, at) byte \d+")

    def test_of_a_profiler_that_was_killed(self):
        path = self.path("x.dwarfprof")
        with busy() as pid:
            profiler = start("-p", pid, "-F", "99", "-o", path, stderr=subprocess.DEVNULL)
            wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 0)
            # Each second is written by itself; a thread that waits for the CPU has no samples to be written.
            for _ in range(3):
                size = os.path.getsize(path)
                wait_for(lambda: os.path.getsize(path) > size, 3)
            killed = time.monotonic_ns()
            profiler.send_signal(signal.SIGKILL)
            profiler.wait()
        result = self.run_on("report", path, "--format", "jsonl")
        self.assertIn("cut off", result.stderr)
        # Everything but the last second; on a busy machine, the target waits for the CPU.
        last = json.loads(result.stdout.splitlines()[-1])["time_ns"]
        self.assertGreater(last, killed - 3e9)

    def refused(self, path, reason):
        for command in ("report", path), ("convert", path, "-o", self.path("x.folded")), ("diff", path, path):
            result = self.run_on(*command, code=1)
            self.assertEqual(result.stdout, "")
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertRegex(result.stderr, f"^dwarfprof: cannot read {path}: {reason}")
            self.assertFalse(os.path.exists(self.path("x.folded")))

    def test_what_is_none_is_refused(self):
        self.refused("/usr/bin/python3", "it is not a recording of dwarfprof .*-o FILE.dwarfprof")
        self.refused(self.directory, "it has no recordings")
        self.refused("/nowhere/x.dwarfprof", "No such file")
        empty = self.path("empty")
        with open(empty, "wb"):
            pass
        self.refused(empty, "it is empty: sampling had not begun")

    def test_another_version_is_refused(self):
        recording = self.recorded()
        with open(recording, "r+b") as file:
            file.seek(8)
            file.write(b"\x07")
        self.refused(recording, "it is a recording of version 7, and this program reads versions up to 2")

    def test_the_recording_itself_is_not_written_over(self):
        recording = self.recorded()
        with open(recording, "rb") as file:
            before = file.read()
        os.link(recording, self.path("link.dwarfprof"))
        for out in recording, self.path("link.dwarfprof"):
            result = self.run_on("convert", recording, "-o", out, code=1)
            self.assertIn("which is being read", result.stderr)
        with open(recording, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_wrong_usage(self):
        for command, reason in {
            ("report",): "a recording is missing",
            ("report", "a", "b"): "unexpected argument 'b'",
            ("convert", "a"): "-o is missing",
            ("convert", "a", "-o", "x.nothing"): "stands for no format",
            ("diff", "a"): "a recording is missing",
            ("diff", "a", "b", "c"): "unexpected argument 'c'",
            ("diff", "a", "b", "--format", "jsonl"): "known are text (.txt), json (.json), folded",
            ("diff", "a", "b", "-o", "x.pb.gz"): "the extension of 'x.pb.gz' stands for no format: name one with "
                                              "--format; known are text",
            ("diff", "a", "b", "-o", "x.svg", "-o", "y.svg"): "give -o once",
            ("diff", "a", "b", "-n", "0"): "a whole number from 1 on",
        }.items():
            result = self.run_on(*command, code=2)
            self.assertIn(reason, result.stderr)


class Diff(Recording):
    @classmethod
    def setUpClass(cls):
        directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.a, cls.b = (os.path.join(directory, name) for name in ("a.dwarfprof", "b.dwarfprof"))
        with busy() as pid:
            record_enough(80, "-p", pid, "-F", "299", "-o", cls.a)
        with Target(program("inefficient"), "600") as pid:
            record_enough(80, "-p", pid, "-F", "299", "-o", cls.b)

    def diff(self, *args):
        result = self.run_on("diff", *args)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def test_text(self):
        lines = self.diff(self.a, self.b).splitlines()
        self.assertRegex(lines[0], r"^A: .*a\.dwarfprof: fibonacci \(PID \d+\), .*, \d+ samples, 0 lost, 100\.0 % complete$")
        self.assertRegex(lines[1], r"^B: .*b\.dwarfprof: inefficient \(PID \d+\), ")
        self.assertRegex(lines[4], r"^ +(\d+\.\d) % +0\.0 % +-\1 +(100\.0|9\d\.\d) % +0\.0 % +-\2 +fibonacci +fibonacci$")
        self.assertRegex("\n".join(lines), r"\n +0\.0 % +(\d+\.\d) % +\+\1[~ ] .* msort_with_tmp +libc\.so\.6")
        changes = [abs(float(line.split()[4].rstrip("~"))) for line in lines[4:] if line.startswith(" ")]
        self.assertEqual(changes, sorted(changes, reverse=True))
        few = self.diff(self.a, self.b, "-n", "3").splitlines()
        self.assertEqual(len([line for line in few if not line.startswith("~")]), 4 + 3 + 1)

    def test_with_itself(self):
        *rows, last = self.diff(self.a, self.a).splitlines()[4:]
        self.assertTrue(last.startswith("~ "), last)
        self.assertTrue(rows)
        for row in rows:
            if not row.startswith("..."):
                self.assertEqual([row.split()[i] for i in (4, 9)], ["+0.0~", "+0.0~"])

    def test_noise(self):
        """The test of two proportions, with the normal distribution: the same as Pearson's."""
        for other in self.a, self.b:
            diff = json.loads(self.diff(self.a, other, "--format", "json"))
            n_a, n_b = diff["a"]["samples"], diff["b"]["samples"]
            values = [f[kind] for f in diff["functions"] for kind in ("self", "total")]
            for value in values:
                share = (value["a"] + value["b"]) / (n_a + n_b)
                deviation = (share * (1 - share) * (1 / n_a + 1 / n_b)) ** 0.5
                z = abs(value["a"] / n_a - value["b"] / n_b) / deviation if deviation else 0
                p = 2 * (1 - statistics.NormalDist().cdf(z))
                expected = min(share, 1 - share) * min(n_a, n_b)
                if abs(p - 0.01) > 0.0001:
                    self.assertEqual(value["noise"], p > 0.01 or expected < 5, (value, p, expected))
            self.assertEqual(all(value["noise"] for value in values), other == self.a)

    def test_few_samples_are_noise(self):
        """Of which 5 are expected of no function in B."""
        few = self.path("few.dwarfprof")
        with Target(program("inefficient"), "60") as pid:
            record_enough(1, "-p", pid, "-F", "20", "-o", few, tries=[0.4] * 20)
        diff = json.loads(self.diff(self.a, few, "--format", "json"))
        self.assertTrue(0 < diff["b"]["samples"] < 15 < 60 < diff["a"]["samples"], diff["b"])
        self.assertEqual({f[kind]["noise"] for f in diff["functions"] for kind in ("self", "total")}, {True})

    def test_json(self):
        diff = json.loads(self.diff(self.a, self.b, "--format", "json"))
        for side, path in ("a", self.a), ("b", self.b):
            text = self.run_on("report", path).stdout
            self.assertIn(f"Samples: {diff[side]['samples']}, ", text)
            self.assertEqual(sum(f["self"][side] for f in diff["functions"]), diff[side]["value"])
            for f in diff["functions"]:
                if f["total"][side] == 0:
                    continue
                percent = f"{f['self'][side + '_percent']:.1f} % +{f['total'][side + '_percent']:.1f} % "
                if f["self"][side]:
                    self.assertRegex(text + "... and more functions",
                                     rf"{percent} +{re.escape(f['function'])} |and .* more functions")
        main = [f for f in diff["functions"] if f["function"] == "main"]
        self.assertEqual(sorted(f["binary"] for f in main), ["fibonacci", "inefficient"])

    def test_folded(self):
        a, b = (stacks(self.run_on("report", path, "--format", "folded").stdout) for path in (self.a, self.b))
        lines = self.diff(self.a, self.b, "--format", "folded").splitlines()
        found = {line.rsplit(" ", 2)[0]: tuple(map(int, line.rsplit(" ", 2)[1:])) for line in lines}
        self.assertEqual(found, {stack: (a.get(stack, 0), b.get(stack, 0)) for stack in {**a, **b}})
        itself = self.diff(self.b, self.b, "--format", "folded").splitlines()
        self.assertEqual(itself, [f"{stack} {n} {n}" for stack, n in b.items()])

    def test_times_are_no_numbers(self):
        with Target("python3", "-c", "import time\nwhile True: time.sleep(.01)") as pid:
            time_of, _ = self.record("--off-cpu", "-p", pid, "-d", "300ms", name="off.dwarfprof")
        result = self.run_on("diff", self.a, time_of, code=1)
        self.assertIn(f"{time_of} measures time, and {self.a} counts events", result.stderr)
        functions = json.loads(self.diff(time_of, time_of, "--format", "json"))["functions"]
        self.assertEqual({f["self"]["noise"] for f in functions}, {None})
        self.assertNotIn("~", self.diff(time_of, time_of))


if __name__ == "__main__":
    harness.main()
