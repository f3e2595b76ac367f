#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Messages and exit codes when something is wrong.

usage: check_errors.py DWARFPROF PROGRAM-DIR
"""
import errno
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
from harness import Target, busy, dwarfprof, program, refuse, start, wait_for, wait_until_it_says

NOBODY = 65534

CLOSE, PERF_EVENT_OPEN, BPF = 3, 298, 321  # asm/unistd_64.h
BPF_PROG_LOAD, BPF_LINK_CREATE = 5, 28     # linux/bpf.h


class Errors(unittest.TestCase):
    """Every error says what failed, what it needs, and what to type."""

    def test_reports_that_get_in_each_others_way(self):
        for wrong, said in ((("-o", "-", "-o", "-"), "two reports cannot go to stdout"),
                            (("-o", "x.txt", "-o", "x.txt"), "two reports cannot go to 'x.txt'"),
                            (("-o", "x.txt", "-o", "y.txt", "--format", "text"), "--format goes with one -o")):
            with self.subTest(wrong=wrong):
                result = dwarfprof("-a", "-d", "1", *wrong)
                self.assertEqual(result.returncode, 2)
                self.assertIn(said, result.stderr)

    def test_one_report_that_cannot_be_written_leaves_no_other(self):
        with tempfile.TemporaryDirectory() as directory:
            result = dwarfprof("-a", "-d", "1", "-o", f"{directory}/x.folded", "-o", f"{directory}/no/x.jsonl")
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"cannot write {directory}/no/x.jsonl: No such file or directory", result.stderr)
            self.assertEqual(os.listdir(directory), [])

    def test_no_such_process(self):
        result = dwarfprof("-p", "999999999", "-d", "1")
        self.assertEqual(result.returncode, 4)
        self.assertIn("there is no process 999999999", result.stderr)

    def test_a_thread_is_not_a_process(self):
        code = "import threading,time; threading.Thread(target=time.sleep, args=(60,)).start()"
        with Target("/usr/bin/python3", "-c", code) as pid:
            wait_for(lambda: len(os.listdir(f"/proc/{pid}/task")) > 1)
            tid = next(t for t in os.listdir(f"/proc/{pid}/task") if t != pid)
            result = dwarfprof("-p", tid, "-d", "1")
        self.assertEqual(result.returncode, 4)
        self.assertIn(f"{tid} is a thread of process {pid}", result.stderr)
        self.assertIn(f"-p {pid}", result.stderr)

    def test_a_kernel_thread_has_no_stack(self):
        result = dwarfprof("-p", "2", "-d", "1")
        self.assertEqual(result.returncode, 4)
        self.assertIn("has no user memory", result.stderr)

    def test_no_samples(self):
        with Target("/bin/sleep", "60") as pid:
            result = dwarfprof("-p", pid, "-d", "300ms")
        self.assertEqual(result.returncode, 5)
        self.assertIn("no samples", result.stderr)

    def test_usage(self):
        result = dwarfprof("-d", "1")
        self.assertEqual(result.returncode, 2)
        self.assertIn("give -p PID, -a, or -- CMD", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_an_unknown_extension_lists_the_known_ones(self):
        result = dwarfprof("-p", "1", "-o", "x.png")
        self.assertEqual(result.returncode, 2)
        for extension in (".folded", ".jsonl", ".txt", ".pb.gz", ".pprof", ".json"):
            self.assertIn(extension, result.stderr)

    def test_output_that_cannot_be_written(self):
        with busy() as pid:
            result = dwarfprof("-p", pid, "-d", "1", "-o", "/nonexistent/x.folded")
            self.assertEqual(result.returncode, 1)
            self.assertIn("cannot write /nonexistent/x.folded", result.stderr)
            briefly = "-F", "999", "-d", "500ms"
            for form in ("folded", "jsonl", "text", "pprof", "json"):
                said = "cannot write /dev/full: No space left on device\n"
                result = dwarfprof("-p", pid, *briefly, "-o", "/dev/full", "--format", form)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(result.stderr.partition("dwarfprof: cannot")[1:], ("dwarfprof: cannot", said[6:]))
                with open("/dev/full", "w") as full:
                    result = subprocess.run([harness.DWARFPROF, "-p", pid, *briefly, "--format", form],
                                            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(result.returncode, 1)
                self.assertIn("cannot write the standard output: No space left on device\n", result.stderr)

    def test_a_full_disk_in_the_middle_of_a_report(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "x.dwarfprof")
            # In most formats, more than one write().
            result = dwarfprof("-F", "4999", "-o", path, "--", "/usr/bin/python3", "-c", "import json, unittest, ctypes")
            self.assertEqual(result.returncode, 0, result.stderr)
            for extension in (".folded", ".jsonl", ".dwarfprof", ".txt", ".pb.gz", ".perf", ".speedscope.json",
                              ".html", ".json", ".svg", ".firefox.json", ".firefox.json.gz"):
                with self.subTest(extension):
                    full = os.path.join(directory, "full" + extension)
                    os.symlink("/dev/full", full)
                    result = dwarfprof("convert", path, "-o", full)
                    self.assertEqual(result.returncode, 1)
                    self.assertIn(f"cannot write {full}: No space left on device\n", result.stderr)

    @staticmethod
    def descriptor_of(pid, path):
        directory = f"/proc/{pid}/fd"
        for number in os.listdir(directory):
            try:
                if os.readlink(f"{directory}/{number}") == path:
                    return int(number)
            except FileNotFoundError:  # closed meanwhile
                pass
        raise LookupError(path)

    def test_output_that_cannot_be_closed(self):
        """A network file system may report a write error only at close()."""
        with tempfile.TemporaryDirectory() as directory, busy() as pid:
            path = os.path.join(directory, "out.folded")
            # Both runs find a file, so that both give it the same descriptor, unless a thread has others open.
            with open(path, "w"):
                pass
            for _ in range(10):
                process = start("-p", pid, "-o", path, stderr=subprocess.PIPE, text=True)
                wait_until_it_says(process, "sampling")
                number = self.descriptor_of(process.pid, path)
                process.terminate()
                process.communicate(timeout=60)
                result = dwarfprof("-p", pid, "-d", "1", "-o", path,
                                   preexec_fn=lambda: refuse(errno.EIO, CLOSE, number))
                if result.returncode != 0:
                    break
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"cannot write {path}: Input/output error", result.stderr)

    def test_a_run_that_fails_leaves_files_alone(self):
        with tempfile.TemporaryDirectory() as directory, busy() as pid:
            old, new = os.path.join(directory, "old.folded"), os.path.join(directory, "new.folded")
            with open(old, "w") as file:
                file.write("precious\n" * 10000)
            for target in (["-p", "999999999"], ["--", "/nonexistent/command"],
                           ["-p", pid, "-e", f"uprobe:{program('fibonacci')}:nonesuch"]):
                for path in (old, new):
                    self.assertIn(dwarfprof("-o", path, "-d", "1", *target).returncode, (1, 4, 127))
            self.assertEqual(os.path.getsize(old), 90000)
            self.assertFalse(os.path.exists(new))
            # A successful run replaces the whole file, also behind a link.
            os.symlink(old, new)
            self.assertEqual(dwarfprof("-p", pid, "-d", "1", "-o", new).returncode, 0)
            self.assertTrue(os.path.islink(new))
            with open(old) as file:
                self.assertNotIn("precious", file.read())

    def test_output_that_is_no_file(self):
        with tempfile.TemporaryDirectory() as directory, busy() as pid:
            path = os.path.join(directory, "pipe.folded")
            os.mkfifo(path)
            with subprocess.Popen(["cat", path], stdout=subprocess.PIPE, text=True) as cat:
                self.assertEqual(dwarfprof("-p", pid, "-d", "1", "-o", path).returncode, 0)
                self.assertIn(";main;", cat.communicate(timeout=60)[0])
            result = dwarfprof("-p", pid, "-d", "1", "-o", "/dev/stdout", "--format", "folded")
            self.assertIn(";main;", result.stdout)

    def test_an_unknown_function(self):
        with busy() as pid:
            result = dwarfprof("-p", pid, "-d", "1", "-e", f"uprobe:{program('fibonacci')}:nonesuch")
        self.assertEqual(result.returncode, 1)
        self.assertIn("has no function nonesuch", result.stderr)

    def test_a_uprobe_in_what_is_no_binary(self):
        with busy() as pid:
            for file, error in (("nosuch.so", "cannot read nosuch.so: No such file"),
                                ("/nosuch/file", "cannot read /nosuch/file: No such file"),
                                ("/etc/passwd", "/etc/passwd is not an ELF file"),
                                ("libc.so.6", "libc.so.6 has no function malloc_")):
                result = dwarfprof("-p", pid, "-d", "1", "-e", f"uprobe:{file}:malloc_")
                self.assertEqual(result.returncode, 1)
                self.assertIn(error, result.stderr)

    def test_too_high_a_rate(self):
        with busy() as pid:
            result = dwarfprof("-p", pid, "-d", "1", "-F", "1000000")
        self.assertEqual(result.returncode, 1)
        self.assertIn("kernel.perf_event_max_sample_rate", result.stderr)

    def test_missing_permissions_are_named(self):
        with busy() as pid:
            result = dwarfprof("-p", pid, "-d", "1", user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertEqual(result.returncode, 3, result.stderr)
        for word in ("CAP_BPF", "CAP_PERFMON", "sudo", "setcap"):
            self.assertIn(word, result.stderr)

    def test_a_kernel_that_wants_more_than_linux_does(self):
        """Debian's kernels have a level 3, from which CAP_PERFMON does not exempt."""
        for level, told in ("3", "sudo sysctl -w kernel.perf_event_paranoid=2"), ("2", "need: CAP_PERFMON"):
            with busy() as pid, tempfile.NamedTemporaryFile("w") as file:
                file.write(level)
                file.flush()
                script = f"mount --bind {file.name} /proc/sys/kernel/perf_event_paranoid; exec \"$@\""
                result = subprocess.run(["unshare", "--mount", "/bin/sh", "-c", script, "sh", harness.DWARFPROF,
                                         "-p", pid, "-d", "1"], capture_output=True, text=True, timeout=60,
                                        preexec_fn=lambda: refuse(errno.EACCES, PERF_EVENT_OPEN))
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn(f"kernel.perf_event_paranoid is {level}\n", result.stderr)
            self.assertIn(told, result.stderr)

    def test_a_program_that_is_refused_is_no_missing_permission(self):
        with busy() as pid:
            for error, code in ((errno.EACCES, 1), (errno.EINVAL, 1), (errno.ESRCH, 1), (errno.EPERM, 3)):
                result = dwarfprof("-p", pid, "-d", "1", preexec_fn=lambda: refuse(error, BPF, BPF_PROG_LOAD))
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn("cannot load the BPF programs: ", result.stderr)
                self.assertEqual("verifier" in result.stderr, error == errno.EACCES)
                self.assertNotIn("missing", result.stderr)

    def test_two_capabilities_are_enough_for_own_processes(self):
        as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        two = ["--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon",
               "--bounding-set=-all,+bpf,+perfmon"]
        with Target(*as_nobody, program("fibonacci"), "300") as pid:
            result = subprocess.run([*as_nobody, *two, harness.DWARFPROF, "-p", pid, "-d", "500ms"],
                                    capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(";main;", result.stdout)
            self.assertIn("(100.0 %)", result.stderr)
            # It may not use /proc/PID/map_files, but still finds a deleted program.
            with tempfile.TemporaryDirectory() as directory:
                os.chmod(directory, 0o755)
                copy = shutil.copy(program("fibonacci"), directory)
                with Target(*as_nobody, copy, "60") as deleted:
                    os.unlink(copy)
                    result = subprocess.run([*as_nobody, *two, harness.DWARFPROF, "-p", deleted,
                                             "-d", "500ms"], capture_output=True, text=True, timeout=60)
            self.assertIn(";main;", result.stdout)
            self.assertIn("(100.0 %)", result.stderr)
            # With a uprobe link. With perf, as on kernels before 6.6, it needs more capabilities.
            uprobe = ["-e", f"uprobe:{program('fibonacci')}:fibonacci"]
            if tuple(map(int, re.findall(r"\d+", platform.release())[:2])) >= (6, 6):
                result = subprocess.run([*as_nobody, *two, harness.DWARFPROF, "-p", pid, "-d", "1", *uprobe],
                                        capture_output=True, text=True, timeout=60)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(";fibonacci", result.stdout)
            result = subprocess.run([*as_nobody, *two, harness.DWARFPROF, "-p", pid, "-d", "1", *uprobe],
                                    capture_output=True, text=True, timeout=60,
                                    preexec_fn=lambda: refuse(errno.EINVAL, BPF, BPF_LINK_CREATE))
            self.assertEqual(result.returncode, 3)
            self.assertIn("need: CAP_SYS_ADMIN; missing: CAP_SYS_ADMIN", result.stderr)
        result = subprocess.run([*as_nobody, *two, harness.DWARFPROF, "-p", "1", "-d", "1"],
                                capture_output=True, text=True, timeout=60)
        # Some kernel between 6.18 and 7.2 began to show others' mappings to holders of CAP_PERFMON.
        if result.returncode != 0 or tuple(map(int, re.findall(r"\d+", platform.release())[:2])) <= (6, 18):
            self.assertEqual(result.returncode, 3)
            self.assertIn("missing: CAP_SYS_PTRACE", result.stderr)

    def test_a_uprobe_by_either_way(self):
        """Where the kernel has no uprobe links, perf sets uprobes."""
        for way in (None, lambda: refuse(errno.EINVAL, BPF, BPF_LINK_CREATE)):
            # To the end of a program that calls it: a machine that stands still for a second takes no hit away.
            result = dwarfprof("-e", f"uprobe:{program('inefficient')}:report", "--", program("inefficient"), "1",
                               preexec_fn=way)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, r"(?m)^inefficient;_start;.*;main;report \d+$")

    def test_a_target_that_ends_before_sampling_begins(self):
        with busy() as pid:
            os.kill(int(pid), signal.SIGSTOP)  # so that there is no sample, however long this takes
            # Rarely, as the end of the target could be sampled.
            process = start("-v", "-F", "1", "-p", pid, "-o", "/dev/null", "--format", "folded",
                            stderr=subprocess.PIPE, text=True)
            # The remaining step, reading the kernel's names, takes a while.
            wait_until_it_says(process, "tables: ")
            process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)
        try:
            process.communicate(timeout=60)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 5)

    def test_help(self):
        result = dwarfprof("--help")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr, "")
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)
        for option in ("-p", "-a", "-d", "-F", "-o", "-e", "--unwind", "--max-stack", "--format"):
            self.assertIn(option, result.stdout)


if __name__ == "__main__":
    harness.main()
