#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The course of a run: commands, signals, namespaces, new CPUs, and nothing left behind.

usage: check_command.py DWARFPROF PROGRAM-DIR
"""
import collections
import ctypes
import errno
import fcntl
import glob
import json
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import harness
from harness import (Target, busy, children, dwarfprof, is_being_copied, program, read, refuse, start, unless_still,
                     wait_for, wait_until_it_runs, wait_until_it_says)

SOCKET = 41  # socket(2), asm/unistd_64.h
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def wait_until_it_samples(process, target=None):
    """Waits until a dwarfprof with its stderr in a pipe says that it samples, and its target has
    run for some samples."""
    wait_until_it_says(process, "sampling")
    wait_for(lambda: target or children(process.pid))
    wait_until_it_runs(target or children(process.pid)[0], 0.2)


def interrupt(process):
    """Sends SIGINT, and waits until it was noticed, and longer than two signals count as one."""
    def is_taken():
        pending = re.search(r"^ShdPnd:\s+(\w+)", read(f"/proc/{process.pid}/status"), re.M)
        return not pending or not int(pending[1], 16) >> (signal.SIGINT - 1) & 1
    process.send_signal(signal.SIGINT)
    wait_for(is_taken)
    time.sleep(0.2)


def wait_until_it_writes(process, size):
    """Waits until there are `size` bytes in the pipe, which nobody reads."""
    wait_for(lambda: struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)))[0] >= size)


def objects_of(pid):
    """The programs, maps and links that a process holds: (kind, ID)."""
    return {found for path in glob.glob(f"/proc/{pid}/fdinfo/*")
            for found in re.findall(r"^(prog|map|link)_id:\t(\d+)$", read(path), re.M)}


def objects_in_the_kernel():
    """Those of all processes."""
    found = set()
    for kind in ("prog", "map", "link"):
        out = subprocess.run(["bpftool", "-j", kind, "show"], capture_output=True, text=True, check=True).stdout
        found |= {(kind, str(item["id"])) for item in json.loads(out)}
    return found


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
        """With SIGCHLD ignored, as some shells and daemons pass it on to children."""
        def ignore():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        quiet = ["-o", "/dev/null", "--format", "folded", "--"]
        result = dwarfprof(*quiet, "/bin/sh", "-c", "exit 7", preexec_fn=ignore)
        self.assertEqual(result.returncode, 7, result.stderr)
        # The command itself inherits the setting.
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

            def attempt():
                dwarfprof("-F", "4999", "-o", path, "--", "/bin/sh", "-c", script)
                with open(path) as file:
                    samples = [json.loads(line) for line in file]
                user = [s for s in samples if s["outcome"] != "no_user_stack" and not is_being_copied(s)]
                self.assertGreater(len(user), 50)
                others = [s for s in user if s["outcome"] != "complete"]
                print(f"{len(user)} samples, {samples[-1]['lost']} lost", *others, sep="\n")
                return not others and samples[-1]["lost"] == 0
            self.assertTrue(unless_still(attempt))

    def test_a_stack_that_vfork_has_given_back_is_not_walked(self):
        """A parent goes on a little before its child has left its memory."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out.jsonl")
            result = dwarfprof("-F", "9999", "-o", path, "--", program("vforks"), "3")
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path) as file:
                samples = [json.loads(line) for line in file]
        leaving = [s for s in samples if s["user_stack"] and s["user_stack"][0]["symbol"] in ("execve", "_exit")]
        outcomes = collections.Counter(s["outcome"] for s in leaving)
        print(f"{len(samples)} samples; leaving a stack that the parent has lent: {dict(outcomes)}",
              *(s for s in samples if s["outcome"] not in ("complete", "no_user_stack")), sep="\n")
        self.assertGreater(len(leaving), 100)
        self.assertEqual(set(outcomes), {"complete"})

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
            process = start("-o", path, "--", program("fibonacci"), "60",
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            wait_until_it_samples(process)
            process.send_signal(signal.SIGINT)
            # The command was not interrupted: dwarfprof waits for it and returns its code.
            wait_until_it_says(process, "waiting for")
            os.kill(int(children(process.pid)[0]), signal.SIGKILL)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 137)
            with open(path) as file:
                self.assertIn(";main;", file.read())


class Kill(unittest.TestCase):
    """--kill."""
    QUIET = "--kill", "-o", "/dev/null", "--format", "text"

    def start_shell(self, trap):
        """Returns when the shell has set the trap, and worked for some samples."""
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = os.path.join(directory.name, "pid")
        process = start(*self.QUIET, "-F", "999", "--", "sh", "-c",
                        f"{trap}; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo $$ >{path}; while :; do sleep 0.1; done",
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        harness.wait_for(lambda: os.path.exists(path) and harness.read(path).endswith("\n"))
        self.command_pid = int(harness.read(path))
        return process

    def test_ends_the_command_when_the_time_is_over(self):
        result = dwarfprof("-d", "1", "-F", "999", *self.QUIET, "--", program("fibonacci"), "300")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("waiting", result.stderr)

    def test_and_also_on_a_signal(self):
        process = start(*self.QUIET, "--", program("fibonacci"), "300", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                        text=True)
        wait_until_it_samples(process)
        process.terminate()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)

    def test_a_command_may_end_in_its_own_way(self):
        """It prints while the report is written, and its exit code counts."""
        process = self.start_shell("trap 'echo told; exit 3' TERM")
        process.terminate()
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (3, "told\n"), err)

    def test_ctrl_c_kills_it_at_once(self):
        process = self.start_shell("trap '' TERM INT")
        process.terminate()
        err = ""
        while "has not ended yet" not in err:
            line = process.stderr.readline()
            self.assertTrue(line, err)
            err += line
        process.send_signal(signal.SIGINT)
        err += process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, err)
        self.assertFalse(os.path.exists(f"/proc/{self.command_pid}"))
        self.assertIn("did not end when told to, and was killed", err)

    def test_a_stopped_one_goes_on_to_end(self):
        process = self.start_shell("trap 'exit 3' TERM")
        os.kill(self.command_pid, signal.SIGSTOP)
        process.terminate()
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, err)

    def test_one_that_does_not_end_is_killed(self):
        begin = time.monotonic()
        process = self.start_shell("trap '' TERM")
        process.terminate()
        _, err = process.communicate(timeout=60)
        self.assertGreater(time.monotonic() - begin, 5)
        self.assertEqual(process.returncode, 0, err)
        self.assertRegex(err, r"(?m)^dwarfprof: warning: sh \(PID \d+\) did not end when told to, and was killed$")

    def test_one_that_ends_first_is_left_alone(self):
        result = dwarfprof("-d", "60", *self.QUIET, "--", "sh", "-c", "exit 7")
        self.assertEqual(result.returncode, 7, result.stderr)
        result = dwarfprof("-d", "60", *self.QUIET, "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(result.returncode, 137, result.stderr)
        self.assertEqual(dwarfprof(*self.QUIET, "--", "/nonexistent/command").returncode, 127)

    def test_one_that_is_not_sampled(self):
        """Its start might be, so it has another name."""
        result = dwarfprof("--comm", "^nobody$", "-d", "100ms", *self.QUIET, "--", "sleep", "60")
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("no samples", result.stderr)

    def test_wrong_usage(self):
        result = dwarfprof("--kill", "-a", "-d", "1")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--kill needs -- CMD", result.stderr)


class Interrupt(unittest.TestCase):
    def start(self, pid, path):
        process = start("-p", pid, "-o", path, stderr=subprocess.PIPE, text=True)
        wait_until_it_samples(process, pid)
        return process

    def test_ctrl_c_ends_sampling_and_writes(self):
        with tempfile.TemporaryDirectory() as directory, busy() as pid:
            path = os.path.join(directory, "out.folded")
            process = self.start(pid, path)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, err)
            with open(path) as file:
                self.assertIn(";main;", file.read())
            self.assertIn("samples in", err)

    def test_ctrl_c_before_sampling_ends_it_too(self):
        def interrupted():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            os.kill(os.getpid(), signal.SIGINT)  # delivered at the next check
        for what in (["-a"], ["--", "/bin/sleep", "60"]):
            result = dwarfprof("-o", "/dev/null", "--format", "folded", *what, preexec_fn=interrupted)
            self.assertEqual(result.returncode, 5, result.stderr)
            self.assertEqual(result.stderr, "dwarfprof: interrupted before sampling began\n")

    def test_sigterm_does_the_same(self):
        with tempfile.TemporaryDirectory() as directory, busy() as pid:
            path = os.path.join(directory, "out.folded")
            process = self.start(pid, path)
            process.terminate()
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)
            self.assertGreater(os.path.getsize(path), 0)

    def test_a_second_ctrl_c_leaves_names_out(self):
        """However busy the program is: an unread pipe blocks it before it has seen the first
        signal."""
        with Target("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1k") as pid:
            process = start("-p", pid, "-F", "4999", "--format", "jsonl",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            while b"sampling" not in process.stderr.readline():
                self.assertIsNone(process.poll())
            wait_until_it_writes(process, 32768)
            wait_until_it_runs(pid)
            interrupt(process)
            interrupt(process)
            output, err = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 0, err)
        samples = [json.loads(line) for line in output.splitlines()]
        self.assertTrue(any(frame["symbol"] for frame in samples[0]["user_stack"]))
        kernel = [s["kernel_stack"] for s in samples if s["kernel_stack"]]
        self.assertTrue(any(frame["symbol"] for frame in kernel[0]))
        self.assertFalse([frame for stack in (samples[-1]["user_stack"], kernel[-1])
                          for frame in stack if frame["symbol"]])

    def test_a_third_ctrl_c_ends_it(self):
        with Target("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1k") as pid:
            process = start("-p", pid, "-F", "4999", "--format", "jsonl",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            while b"sampling" not in process.stderr.readline():
                self.assertIsNone(process.poll())
            wait_until_it_writes(process, 32768)
            wait_until_it_runs(pid)
            for _ in range(3):
                self.assertIsNone(process.poll())
                interrupt(process)
            process.communicate(timeout=180)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_signals_that_come_together_are_one(self):
        """timeout sends its signal to the program and to the process group."""
        with busy() as pid:
            process = start("-p", pid, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
            wait_until_it_samples(process, pid)
            process.terminate()
            os.killpg(process.pid, signal.SIGTERM)
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn(";main;", out)

    def test_kill_leaves_nothing_in_the_kernel(self):
        with busy() as pid:
            process = start("-p", pid, "-o", "/dev/null", "--format", "folded",
                            stderr=subprocess.PIPE, text=True)
            wait_until_it_samples(process, pid)
            held = objects_of(process.pid)
            self.assertEqual({kind for kind, _ in held}, {"prog", "map", "link"})
            self.assertLessEqual(held, objects_in_the_kernel())
            process.kill()
            process.communicate()
        # The kernel frees them some grace periods after the last reference.
        wait_for(lambda: not held & objects_in_the_kernel(), 60)

    def test_kill_before_exec_leaves_no_child(self):
        # This process becomes the parent of orphans, to see how they end.
        self.assertEqual(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)
        with tempfile.TemporaryDirectory() as directory:
            fifo = os.path.join(directory, "fifo")
            os.mkfifo(fifo)  # nobody reads: it waits there, with the command prepared
            process = start("-o", fifo, "--format", "folded", "--", "/bin/true", stderr=subprocess.DEVNULL)
            wait_for(lambda: children(process.pid))
            child, = children(process.pid)
            process.kill()
            process.wait()
        done, status = 0, 0
        end = time.monotonic() + 60
        while not done and time.monotonic() < end:
            time.sleep(0.1)
            done, status = os.waitpid(int(child), os.WNOHANG)
        if not done:
            os.kill(int(child), signal.SIGKILL)
        self.assertTrue(done)
        self.assertEqual(os.waitstatus_to_exitcode(status), 126, "it was not executed")


class Cpus(unittest.TestCase):
    """Where the kernel sends no events about CPUs; check_cpus.py tests where it does."""

    def run_with(self, before, after):
        """The messages when the kernel's list of CPUs changes; a file is mounted over it."""
        with tempfile.NamedTemporaryFile("w") as cpus, busy() as pid:
            cpus.write(before)
            cpus.flush()
            script = f"mount --bind {cpus.name} /sys/devices/system/cpu/online; exec \"$@\""
            process = subprocess.Popen(["unshare", "--mount", "/bin/sh", "-c", script, "sh", harness.DWARFPROF,
                                        "-p", pid, "-o", "/dev/null", "--format", "folded"],
                                       stderr=subprocess.PIPE, text=True,
                                       preexec_fn=lambda: refuse(errno.EAFNOSUPPORT, SOCKET, socket.AF_NETLINK))
            wait_until_it_samples(process, pid)
            cpus.seek(0)
            cpus.write(after)
            cpus.flush()
            process.send_signal(signal.SIGINT)
            return process.communicate(timeout=60)[1]

    def test_one_that_comes_online_is_told(self):
        self.assertIn("CPU 1 came online", self.run_with("0\n", "0-1\n"))
        self.assertNotIn("online", self.run_with("0-1\n", "0\n\n"))


class Namespace(unittest.TestCase):
    def test_numbers_are_those_of_the_own_pid_namespace(self):
        script = (f"nice -n -5 {program('fibonacci')} 60 & "
                  f"until grep -q fibonacci /proc/$!/comm; do sleep 0.02; done; "
                  f"{harness.DWARFPROF} -p $! -d 3 -F 999 --format jsonl; code=$?; kill $!; exit $code")
        result = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "/bin/sh", "-c", script],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        samples = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertGreater(len(samples), 20)
        self.assertTrue(all(s["pid"] < 100 and s["outcome"] == "complete" for s in samples))

    def test_a_namespace_inside_the_own_one_is_looked_into(self):
        script = (f"(exec nice -n -5 unshare --pid --fork {program('fibonacci')} 60) & "
                  f"until grep -q fibonacci /proc/$(tr -d ' ' </proc/$!/task/$!/children)/comm; do sleep 0.02; done 2>/dev/null; "
                  f"{harness.DWARFPROF} -p $! -d 500ms -F 999 --format jsonl; code=$?; kill %1; exit $code")
        result = subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                                 "/bin/bash", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        samples = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertTrue(samples)
        self.assertTrue(all(1 < s["pid"] < 100 and s["outcome"] == "complete" for s in samples))


if __name__ == "__main__":
    harness.main()
