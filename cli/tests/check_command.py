#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user meets: exit codes, errors, formats, signals, and nothing left behind.

usage: check_command.py DWARFPROF PROGRAM-DIR
"""
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

DWARFPROF = None
PROGRAMS = None
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def dwarfprof(*args, **kwargs):
    return subprocess.run([DWARFPROF, *args], capture_output=True, text=True, timeout=60, **kwargs)


def program(name):
    return os.path.join(PROGRAMS, name)


def wait_until_it_samples(process):
    """Of a dwarfprof whose stderr is a pipe: until it says so, and some samples are taken."""
    said = ""
    while "sampling" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    time.sleep(0.5)
    return said


def section_of(frame):
    """The section of code that a frame of a sample is in."""
    table, = json.loads(dwarfprof("tables", "--json", frame["module"]).stdout)
    offset = int(frame["offset"], 16)
    return next((s["name"] for s in table["sections"]
                 if int(s["address"], 16) <= offset < int(s["address"], 16) + s["size"]), None)


class Target:
    """A program that runs while the `with` block does."""

    def __init__(self, *command, **kwargs):
        self.command = command
        self.kwargs = kwargs

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, **self.kwargs)
        # Until it has executed the program, it is still a copy of this one.
        while os.readlink(f"/proc/{self.process.pid}/exe") == os.readlink("/proc/self/exe") \
                and "python" not in self.command[0]:
            time.sleep(0.01)
        time.sleep(0.1)
        return str(self.process.pid)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def busy():
    return Target(program("fibonacci"), "60")


def kernel_objects():
    """Our programs, maps and links that the kernel holds."""
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
    """The kernel frees them some grace periods after the last reference is gone."""
    for _ in range(100):
        if not kernel_objects():
            return []
        time.sleep(0.1)
    return kernel_objects()


class Folded(unittest.TestCase):
    """dwarfprof -p PID -d N, the main job."""

    def test_stdout_gets_folded_stacks_and_stderr_the_chatter(self):
        with busy() as pid:
            result = dwarfprof("-p", pid, "-d", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        *lines, totals = result.stdout.splitlines()
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, r"^fibonacci(;[^;]+)+ \d+$")
        total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
        self.assertGreater(total, 20)  # of 99, on however busy a machine
        recursive = [line for line in lines if line.count(";fibonacci") > 10]
        self.assertTrue(recursive)
        self.assertIn(";_start;", recursive[0])
        self.assertIn(";main;", recursive[0])
        self.assertRegex(result.stderr, r"sampling fibonacci \(PID \d+\) at 99 Hz by (cycles|cpu-clock)")
        self.assertRegex(totals, rf"^\[totals: {total} samples, 0 lost, .*100\.0 %\)\] 0$")
        self.assertRegex(result.stderr, rf"{total} samples in 1\.\d s, 0 lost, {total} of {total} with a user stack complete")

    def test_duration_is_kept(self):
        with busy() as pid:
            start = time.monotonic()
            dwarfprof("-p", pid, "-d", "500ms")
            took = time.monotonic() - start
        self.assertGreater(took, 0.5)
        self.assertLess(took, 3)

    def test_file_by_extension(self):
        with tempfile.TemporaryDirectory() as directory, busy() as pid:
            path = os.path.join(directory, "out.folded")
            result = dwarfprof("-p", pid, "-d", "300ms", "-o", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, "")
            with open(path) as file:
                self.assertIn(";main;", file.read())

    def test_text_report(self):
        with busy() as pid:
            result = dwarfprof("-p", pid, "-d", "1", "--format", "text")
        self.assertRegex(result.stdout, r"fibonacci \(PID \d+\), (cycles|cpu-clock) at 99 Hz, 1\.\d s")
        self.assertRegex(result.stdout, r"lost: 0, complete: (\d+) of \1 with a user stack \(100\.0 %\)")
        self.assertRegex(result.stdout, r"(\d+\.\d) % +100\.0 %  fibonacci +fibonacci\n")

    def test_rust_names(self):
        if not os.path.exists(program("fibonacci_rs")):
            self.skipTest("built without rustc")
        with Target(program("fibonacci_rs"), "60") as pid:
            result = dwarfprof("-p", pid, "-d", "500ms")
        first = result.stdout.partition("\n")[0]
        self.assertIn("<fibonacci_rs::numbers::Fibonacci as fibonacci_rs::numbers::Series>::term", first)
        self.assertIn("fibonacci_rs::main;", first)
        self.assertNotRegex(first, r"17h[0-9a-f]{16}E")

    def test_two_processes(self):
        with busy() as one, Target(program("inefficient"), "60") as two:
            result = dwarfprof("-p", f"{one},{two}", "-d", "1")
        self.assertIn("fibonacci;", result.stdout)
        self.assertIn("inefficient;", result.stdout)

    def test_children_that_run_already(self):
        shell = f"(exec {program('fibonacci')} 60) & (exec {program('inefficient')} 60 & wait) & wait"
        with Target("/bin/bash", "-c", shell, start_new_session=True) as pid:
            time.sleep(0.3)
            result = dwarfprof("-p", pid, "-d", "1", "--format", "jsonl")
            os.killpg(int(pid), signal.SIGKILL)
        samples = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual({s["comm"] for s in samples}, {"fibonacci", "inefficient"})
        self.assertLessEqual({s["outcome"] for s in samples}, {"complete", "no_user_stack"})

    def test_a_process_whose_first_thread_has_exited(self):
        code = ("import ctypes,threading\n"
                "def f():\n"
                "  while True: sum(range(1000))\n"
                "threading.Thread(target=f).start()\n"
                "ctypes.CDLL(None).syscall(60, 0)\n")
        with Target("/usr/bin/python3", "-c", code) as pid:
            time.sleep(0.3)
            with open(f"/proc/{pid}/stat") as stat:
                self.assertIn(") Z ", stat.read())
            result = dwarfprof("-p", pid, "-d", "2500ms", "--format", "jsonl")
        self.assertEqual(result.returncode, 0, result.stderr)
        samples = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertGreater(len(samples), 20)
        self.assertEqual({s["outcome"] for s in samples}, {"complete"})

    def test_all_processes(self):
        with busy():
            result = dwarfprof("-a", "-d", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("fibonacci;", result.stdout)

    def test_a_target_that_ends_ends_sampling(self):
        target = subprocess.Popen([program("fibonacci"), "3"], stdout=subprocess.DEVNULL)
        time.sleep(0.1)
        start = time.monotonic()
        result = dwarfprof("-p", str(target.pid), "-d", "30")
        self.assertLess(time.monotonic() - start, 10)
        target.wait()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(";main;", result.stdout)


class Stream(unittest.TestCase):
    """--format jsonl, the interface for machines."""

    FIELDS = ["time_ns", "cpu", "pid", "tid", "comm", "thread_name", "event", "outcome",
              "user_stack", "kernel_stack", "user_stack_error", "kernel_stack_error", "late", "lost"]

    def samples(self, *args):
        result = dwarfprof("--format", "jsonl", *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_fields(self):
        with busy() as pid:
            samples = self.samples("-p", pid, "-d", "500ms")
        self.assertTrue(samples)
        for sample in samples:
            self.assertEqual(list(sample), self.FIELDS)
            self.assertEqual(sample["pid"], int(pid))
            self.assertEqual(sample["comm"], "fibonacci")
            self.assertEqual(sample["outcome"], "complete")
            self.assertIsNone(sample["user_stack_error"])
            leaf, *callers = sample["user_stack"]
            self.assertEqual(leaf["method"], "leaf")
            for frame in callers:
                self.assertEqual(list(frame), ["address", "module", "offset", "symbol", "method"])
                self.assertEqual(frame["method"], "table")
                self.assertRegex(frame["address"], "^0x[0-9a-f]+$")
            self.assertEqual(callers[-1]["symbol"], "_start")

    def test_times_ascend(self):
        with busy() as pid, busy() as other:
            samples = self.samples("-p", f"{pid},{other}", "-d", "1", "-F", "499")
        times = [sample["time_ns"] for sample in samples]
        self.assertEqual(times, sorted(times))
        self.assertEqual(len({sample["pid"] for sample in samples}), 2)

    def test_rate_is_kept(self):
        with busy() as pid:
            samples = self.samples("-p", pid, "-d", "2", "-F", "499")
        # While the target runs: how much of the time it gets is the machine's affair.
        gaps = sorted(after["time_ns"] - before["time_ns"]
                      for before, after in zip(samples, samples[1:]) if before["cpu"] == after["cpu"])
        self.assertGreater(len(gaps), 100)
        self.assertAlmostEqual(gaps[len(gaps) // 2] * 499e-9, 1, delta=0.2)

    def test_no_symbols(self):
        with busy() as pid:
            samples = self.samples("-p", pid, "-d", "300ms", "--no-symbols")
        self.assertTrue(all(frame["symbol"] is None and frame["offset"] is not None
                            for sample in samples for frame in sample["user_stack"]))

    def test_depth_limit_is_reported(self):
        with busy() as pid:
            samples = self.samples("-p", pid, "-d", "500ms", "--max-stack", "5")
        deep = [s for s in samples if s["outcome"] == "depth_limit"]
        self.assertTrue(deep)
        self.assertTrue(all(len(s["user_stack"]) == 5 and s["user_stack_error"] for s in deep))

    def test_thread_names(self):
        code = ("import threading,ctypes,sys\n"
                "def f():\n"
                "  ctypes.CDLL(None).prctl(15, b'my worker', 0, 0, 0)\n"
                "  while True: sum(range(1000))\n"
                "threading.Thread(target=f, daemon=True).start()\n"
                "while True: sum(range(1000))\n")
        with Target("/usr/bin/python3", "-c", code) as pid:
            time.sleep(0.3)
            samples = self.samples("-p", pid, "-d", "1")
        names = {(s["comm"], s["thread_name"], s["tid"] == s["pid"]) for s in samples}
        self.assertIn(("python3", "python3", True), names)
        self.assertIn(("python3", "my worker", False), names)

    def test_uprobe(self):
        with Target(program("inefficient"), "60") as pid:
            samples = self.samples("-p", pid, "-d", "500ms",
                                   "-e", f"uprobe:{program('inefficient')}:report")
        self.assertTrue(samples)
        for sample in samples:
            self.assertEqual([f["symbol"] for f in sample["user_stack"][:2]], ["report", "main"])
            self.assertTrue(sample["event"].startswith("uprobe:"))
            self.assertEqual(sample["outcome"], "complete")

    def test_kernel_stacks(self):
        with Target("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1M") as pid:
            samples = self.samples("-p", pid, "-d", "1")
        in_kernel = [s for s in samples if s["kernel_stack"]]
        self.assertTrue(in_kernel)
        for sample in in_kernel:
            self.assertIsNone(sample["kernel_stack_error"])
            self.assertEqual(sample["outcome"], "complete")
        self.assertTrue(any("read" in (f["symbol"] or "") for s in in_kernel for f in s["kernel_stack"]))


class Names(unittest.TestCase):
    """A target may call itself anything, and its file may be gone."""

    def test_a_hostile_name(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "e\x1b[2J\n\\101 f")
            shutil.copy(program("fibonacci"), path)
            with Target(path, "60") as pid:
                os.unlink(path)
                text = dwarfprof("-v", "-p", pid, "-d", "500ms", "--format", "text")
                folded = dwarfprof("-p", pid, "-d", "500ms", "--no-symbols")
                stream = dwarfprof("-p", pid, "-d", "500ms", "--format", "jsonl")
        for result in (text, folded, stream):
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertFalse([c for c in result.stdout + result.stderr if c < " " and c not in "\n\t"])
        self.assertIn("sampling e?[2J?\\101 f (PID ", text.stderr)
        self.assertIn(" e?[2J?\\101 f\n", text.stdout)
        self.assertIn(";[e?[2J?\\101 f+0x", folded.stdout)
        leaf = json.loads(stream.stdout.splitlines()[0])["user_stack"][0]
        self.assertEqual(leaf["module"], path)
        self.assertEqual(leaf["symbol"], "fibonacci")


class Command(unittest.TestCase):
    """dwarfprof -- CMD."""

    def test_its_exit_code_wins(self):
        for code in (0, 3, 42):
            result = dwarfprof("-o", "/dev/null", "--format", "folded", "--", "/bin/sh", "-c", f"exit {code}")
            self.assertEqual(result.returncode, code, result.stderr)

    def test_a_signal_is_128_plus_its_number(self):
        result = dwarfprof("-o", "/dev/null", "--format", "folded", "--", "/bin/sh", "-c", "kill -9 $$")
        self.assertEqual(result.returncode, 137)

    def test_children_that_nobody_waits_for(self):
        """With SIGCHLD ignored, as some shells and daemons leave it to their children."""
        def ignore():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        quiet = ["-o", "/dev/null", "--format", "folded", "--"]
        result = dwarfprof(*quiet, "/bin/sh", "-c", "exit 7", preexec_fn=ignore)
        self.assertEqual(result.returncode, 7, result.stderr)
        # The command itself gets what was inherited.
        result = dwarfprof(*quiet, "/bin/grep", "SigIgn", "/proc/self/status", preexec_fn=ignore)
        self.assertTrue(int(result.stdout.split()[1], 16) >> (signal.SIGCHLD - 1) & 1)

    def test_what_cannot_be_executed(self):
        result = dwarfprof("--", "/nonexistent/command")
        self.assertEqual(result.returncode, 127)
        self.assertIn("cannot execute /nonexistent/command: No such file or directory", result.stderr)
        result = dwarfprof("--", "/etc/passwd")
        self.assertEqual(result.returncode, 126)
        self.assertIn("cannot execute /etc/passwd: Permission denied", result.stderr)

    def test_samples_are_of_the_command_alone(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            result = dwarfprof("-F", "999", "-o", path, "--", program("fibonacci"), "2")
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path) as file:
                samples = [json.loads(line) for line in file]
        self.assertGreater(len(samples), 100)
        self.assertEqual({s["comm"] for s in samples}, {"fibonacci"})
        self.assertFalse([s for s in samples
                          if s["outcome"] not in ("complete", "no_user_stack")])

    def test_it_inherits_its_limits(self):
        result = dwarfprof("-o", "/dev/null", "--format", "folded", "--", "/bin/sh", "-c", "ulimit -Sn",
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (321, 4321)))
        self.assertEqual(result.stdout, "321\n", result.stderr)

    def test_children_are_followed(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.folded")
            dwarfprof("-o", path, "--", "/bin/sh", "-c", f"{program('fibonacci')} 1; true")
            with open(path) as file:
                self.assertIn("fibonacci;", file.read())

    def test_short_lived_children_miss_no_table(self):
        script = f"for i in 1 2 3 4 5 6 7 8 9 10; do {program('inefficient')} 0; /bin/ls /usr/bin >/dev/null; done"
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            dwarfprof("-F", "4999", "-o", path, "--", "/bin/sh", "-c", script)
            with open(path) as file:
                samples = [json.loads(line) for line in file]
        user = [s for s in samples if s["outcome"] != "no_user_stack"]
        self.assertGreater(len(user), 50)
        # A few instructions of the compiler's crtbegin.o, in .text, have no unwind
        # information, and are all there is to excuse.
        self.assertLessEqual({s["outcome"] for s in user}, {"complete", "no_rule"})
        cut = [s["user_stack"][-1] for s in user if s["outcome"] != "complete"]
        self.assertLess(len(cut), 0.02 * len(user))
        self.assertEqual({section_of(frame) for frame in cut} - {".text"}, set(), cut)
        self.assertEqual(samples[-1]["lost"], 0)

    def test_an_exec_by_any_thread_is_followed(self):
        code = ("import os,sys,threading,time\n"
                "t = threading.Thread(target=os.execv, args=(sys.argv[1], sys.argv[1:]))\n"
                "t.start()\n"
                "while True: sum(range(1000))\n")
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            result = dwarfprof("-o", path, "--", "/usr/bin/python3", "-c", code, program("fibonacci"), "4")
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path) as file:
                samples = [json.loads(line) for line in file]
        after = [s for s in samples if s["comm"] == "fibonacci"]
        self.assertGreater(after[-1]["time_ns"] - after[0]["time_ns"], 2e9)
        self.assertLessEqual({s["outcome"] for s in after}, {"complete", "no_user_stack"})

    def test_ctrl_c_ends_sampling_and_writes(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.folded")
            process = subprocess.Popen([DWARFPROF, "-o", path, "--", program("fibonacci"), "3"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       text=True)
            wait_until_it_samples(process)
            process.send_signal(signal.SIGINT)
            # The command was not interrupted: it is waited for, and its code returned.
            process.communicate(timeout=20)
            self.assertEqual(process.returncode, 0)
            with open(path) as file:
                self.assertIn(";main;", file.read())


class Interrupt(unittest.TestCase):
    def start(self, pid, path):
        process = subprocess.Popen([DWARFPROF, "-p", pid, "-o", path], stderr=subprocess.PIPE,
                                   text=True)
        wait_until_it_samples(process)
        return process

    def test_ctrl_c_ends_sampling_and_writes(self):
        with tempfile.TemporaryDirectory() as directory, busy() as pid:
            path = os.path.join(directory, "out.folded")
            process = self.start(pid, path)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 0, err)
            with open(path) as file:
                self.assertIn(";main;", file.read())
            self.assertIn("samples in", err)

    def test_ctrl_c_before_sampling_ends_it_too(self):
        def interrupted():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            os.kill(os.getpid(), signal.SIGINT)  # delivered as soon as somebody looks
        for what in (["-a"], ["--", "/bin/sleep", "60"]):
            result = dwarfprof("-o", "/dev/null", "--format", "folded", *what, preexec_fn=interrupted)
            self.assertEqual(result.returncode, 5, result.stderr)
            self.assertEqual(result.stderr, "dwarfprof: interrupted before sampling began\n")

    def test_sigterm_does_the_same(self):
        with tempfile.TemporaryDirectory() as directory, busy() as pid:
            path = os.path.join(directory, "out.folded")
            process = self.start(pid, path)
            process.terminate()
            process.communicate(timeout=20)
            self.assertEqual(process.returncode, 0)
            self.assertGreater(os.path.getsize(path), 0)

    def test_a_second_ctrl_c_leaves_names_out(self):
        """A pipe that nobody reads holds the writing up, so that there is time for a second one."""
        def catches_sigint(pid):
            with open(f"/proc/{pid}/status") as file:
                caught = re.search(r"SigCgt:\s+(\w+)", file.read()).group(1)
            return int(caught, 16) >> (signal.SIGINT - 1) & 1

        with Target("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1k") as pid:
            process = subprocess.Popen([DWARFPROF, "-p", pid, "-F", "4999", "--format", "jsonl"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while b"sampling" not in process.stderr.readline():
                pass
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            output = b""
            while not catches_sigint(process.pid):
                output += os.read(process.stdout.fileno(), 65536)
            process.send_signal(signal.SIGINT)
            rest, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0, err)
        samples = [json.loads(line) for line in (output + rest).splitlines()]
        self.assertTrue(any(frame["symbol"] for frame in samples[0]["user_stack"]))
        kernel = [s["kernel_stack"] for s in samples if s["kernel_stack"]]
        self.assertTrue(any(frame["symbol"] for frame in kernel[0]))
        self.assertFalse([frame for stack in (samples[-1]["user_stack"], kernel[-1])
                          for frame in stack if frame["symbol"]])

    def test_kill_leaves_nothing_in_the_kernel(self):
        self.assertEqual(wait_for_no_objects(), [])
        with busy() as pid:
            process = subprocess.Popen([DWARFPROF, "-p", pid, "-o", "/dev/null", "--format", "folded"],
                                       stderr=subprocess.PIPE, text=True)
            wait_until_it_samples(process)
            self.assertTrue(kernel_objects(), "something is loaded while it runs")
            process.kill()
            process.communicate()
        self.assertEqual(wait_for_no_objects(), [])

    def test_kill_before_exec_leaves_no_child(self):
        # Orphans come to this process, so that it sees how they end.
        self.assertEqual(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)
        process = subprocess.Popen([DWARFPROF, "-o", "/dev/null", "--format", "folded", "--", "/bin/true"],
                                   stderr=subprocess.DEVNULL)
        child = ""
        while not child:
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
                child = file.read()
        process.kill()
        process.wait()
        done, status = 0, 0
        for _ in range(100):
            done, status = os.waitpid(int(child), os.WNOHANG)
            if done:
                break
            time.sleep(0.1)
        else:
            os.kill(int(child), signal.SIGKILL)
        self.assertTrue(done)
        self.assertEqual(os.waitstatus_to_exitcode(status), 126, "it was not executed")


class Namespace(unittest.TestCase):
    def test_numbers_are_those_of_the_own_pid_namespace(self):
        script = (f"{program('fibonacci')} 60 & "
                  f"sleep 0.3; {DWARFPROF} -p $! -d 500ms --format jsonl; code=$?; kill $!; exit $code")
        result = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "/bin/sh", "-c", script],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        samples = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertGreater(len(samples), 20)
        self.assertTrue(all(s["pid"] < 100 and s["outcome"] == "complete" for s in samples))

    def test_a_namespace_inside_the_own_one_is_looked_into(self):
        script = (f"(exec unshare --pid --fork {program('fibonacci')} 60) & "
                  f"sleep 0.3; {DWARFPROF} -p $! -d 500ms --format jsonl; code=$?; kill %1; exit $code")
        result = subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                                 "/bin/bash", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        samples = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertTrue(samples)
        self.assertTrue(all(1 < s["pid"] < 100 and s["outcome"] == "complete" for s in samples))


def main():
    """Run the tests of the file that was started."""
    global DWARFPROF, PROGRAMS
    DWARFPROF, PROGRAMS = map(os.path.abspath, sys.argv[1:3])
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    outcome = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False).result
    # What this machine cannot do is installed by ci/setup.
    sys.exit(0 if outcome.wasSuccessful() and not outcome.skipped else 1)


if __name__ == "__main__":
    main()
