#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings, which may be strangers', are read by a process that has given up its rights.

usage: check_confined.py DWARFPROF PROGRAM-DIR
"""
import contextlib
import ctypes
import errno
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import busy, dwarfprof, main, refuse, start, wait_for
from slow_files import SlowFiles

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../symbols/tests"))
import debug_files  # noqa: E402

NOBODY = 65534
CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 2, 24  # linux/capability.h, linux/prctl.h
LANDLOCK_CREATE_RULESET = 444  # x86-64's asm/unistd_64.h


def drop_dac_read_search():
    """What is executed has not got it, even as root."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH) < 0:
        raise OSError(ctypes.get_errno(), "prctl")


class Confined(unittest.TestCase):
    """What reads a recording, which may be a stranger's, has given up its rights."""

    @classmethod
    def setUpClass(cls):
        cls.made = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.recording = os.path.join(cls.made, "x.dwarfprof")
        with busy() as pid:
            result, = harness.run_at_once([harness.DWARFPROF, "-o", cls.recording, "-p", pid], of=[pid])
        assert result.returncode == 0, result.stderr
        cls.folded = dwarfprof("report", cls.recording, "--sandbox=off", "--format", "folded").stdout
        assert ";fibonacci" in cls.folded

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_on(self, command, *args, code=0, **kwargs):
        result = dwarfprof(command, *args, **kwargs)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    @contextlib.contextmanager
    def waiting(self, *args, **kwargs):
        """A command that reads half of the recording and waits for the rest, what reads it, and the rest."""
        whole = pathlib.Path(self.recording).read_bytes()
        with start(*args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs) as command:
            self.addCleanup(command.kill)
            command.stdin.write(whole[:len(whole) // 2])
            command.stdin.flush()
            children = f"/proc/{command.pid}/task/{command.pid}/children"
            wait_for(lambda: harness.read(children).split())
            reader, = harness.read(children).split()
            wait_for(lambda: "\nSeccomp:\t2" in harness.read(f"/proc/{reader}/status"))
            yield command, int(reader), whole[len(whole) // 2:]

    def test_has_nothing(self):
        for args, has in ((("report", "-", "-v", "--format", "folded"), self.folded),
                          (("diff", "-", self.recording, "-v"), "fibonacci"),
                          (("annotate", "fibonacci", "-", "-v"), "fibonacci: ")):
            with self.subTest(args[0]), self.waiting(*args) as (command, reader, rest):
                status = dict(line.split(":\t", 1) for line in harness.read(f"/proc/{reader}/status").splitlines())
                self.assertEqual((status["NoNewPrivs"], *(int(status[c], 16) for c in ("CapEff", "CapPrm", "CapBnd"))),
                                 ("1", 0, 0, 0))
                self.assertIsNone(command.poll())
                out, said = command.communicate(rest)
                self.assertEqual(command.returncode, 0, said)
                self.assertIn("recordings are read with no capabilities, no_new_privs, Landlock, seccomp", said.decode())
                self.assertIn(has, out.decode())

    def test_a_reader_that_ends(self):
        """A fault is told, and what was begun is removed. Other signals end the command as they would have without it."""
        for number, code in (signal.SIGSEGV, 1), (signal.SIGKILL, 1), (signal.SIGTERM, -signal.SIGTERM):
            with self.subTest(number), self.waiting("convert", "-", "-o", self.path("x.svg")) as (command, reader, _):
                os.kill(reader, number)
                _, said = command.communicate()
                self.assertEqual(command.returncode, code, said)
                self.assertEqual(b"the process that reads the recording has ended: " in said, code == 1, said)
                self.assertEqual(os.listdir(self.directory), [])

    def test_ignored_signals(self):
        """As some supervisors start their commands."""
        result = self.run_on("report", self.recording, "--format", "folded",
                             preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual((result.stdout, result.stderr), (self.folded, ""))

    def test_a_program_with_capabilities(self):
        """The kernel executes it, as for helpers, only where all of them can be had."""
        program = shutil.copy(harness.DWARFPROF, self.path("dwarfprof"))
        subprocess.run(["setcap", "cap_bpf,cap_perfmon=ep", program], check=True)
        result = subprocess.run([program, "report", self.recording, "--format", "folded", "--sandbox=require"], text=True,
                                capture_output=True)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, self.folded, ""))

    def test_what_must_be_and_cannot(self):
        """Without Landlock, a recording is read with what is left, or with --sandbox=require not at all."""
        def refuse_landlock():
            refuse(errno.ENOSYS, LANDLOCK_CREATE_RULESET)
        for args in (("report", self.recording), ("convert", self.recording, "-o", self.path("x.svg")),
                     ("diff", self.recording, self.recording), ("annotate", "fibonacci", self.recording)):
            for more in (), ("--no-symbols",):
                result = self.run_on(*args, *more, "--sandbox=require", code=1, preexec_fn=refuse_landlock)
                self.assertEqual(result.stdout, "")
                self.assertIn("they lack Landlock", result.stderr)
                self.assertEqual(os.listdir(self.directory), [])
        result = self.run_on("report", self.recording, "--format", "folded", preexec_fn=refuse_landlock)
        self.assertEqual((result.stdout, result.stderr), (self.folded, ""))

    def test_of_anybody_s_directory(self):
        """Root reads and writes where only another user may."""
        shutil.copy(self.recording, self.path("a.dwarfprof"))
        shutil.copy(self.recording, self.path("b.dwarfprof"))
        for name in "a.dwarfprof", "b.dwarfprof":
            os.chmod(self.path(name), 0o600)
            os.chown(self.path(name), NOBODY, NOBODY)
        os.chown(self.directory, NOBODY, NOBODY)
        self.run_on("convert", self.path("a.dwarfprof"), "-o", self.path("x.folded"), "-o", self.path("x.svg"))
        self.assertEqual(harness.read(self.path("x.folded")), self.folded)
        self.assertIn("</svg>", harness.read(self.path("x.svg")))
        # A file with two names is replaced.
        os.link(self.path("x.svg"), self.path("y.svg"))
        before = harness.read(self.path("x.svg"))
        self.run_on("convert", self.path("a.dwarfprof"), "-o", self.path("y.svg"))
        self.assertEqual(os.stat(self.path("x.svg")).st_nlink, 1)
        self.assertEqual(harness.read(self.path("x.svg")), before)
        samples = self.run_on("report", self.directory, "--format", "jsonl").stdout.splitlines()
        self.assertEqual(len(samples), 2 * len(self.run_on("report", self.recording, "--format", "jsonl").stdout.splitlines()))
        # Of one that cannot be read, nothing is left.
        with open(self.path("c.dwarfprof"), "w") as file:
            file.write("none")
        self.run_on("convert", self.path("c.dwarfprof"), "-o", self.path("z.svg"), code=1)
        self.assertEqual(sorted(os.listdir(self.directory)),
                         ["a.dwarfprof", "b.dwarfprof", "c.dwarfprof", "x.folded", "x.svg", "y.svg"])

    def make_theirs(self, *names):
        """Recordings where only another user may read."""
        for name in names:
            shutil.copy(self.recording, self.path(name))
            os.chmod(self.path(name), 0o600)
            os.chown(self.path(name), NOBODY, NOBODY)
        os.chown(self.directory, NOBODY, NOBODY)
        os.chmod(self.directory, 0o700)

    def test_another_user_s_directory_by_every_command(self):
        """Also by a root as that of Docker's containers, whose helpers cannot open what only others may."""
        self.make_theirs("a.dwarfprof", "b.dwarfprof")
        one = self.run_on("report", self.recording, "--format", "jsonl", "--no-symbols").stdout.splitlines()
        for how in {}, {"preexec_fn": drop_dac_read_search}:
            with self.subTest(how):
                both = self.run_on("report", self.directory, "--format", "jsonl", "--no-symbols", **how)
                self.assertEqual((len(both.stdout.splitlines()), both.stderr), (2 * len(one), ""))
                # The name has a reason behind it, as that of a function that waits: it is looked for again without.
                named = self.run_on("annotate", "fibonacci [reason]", self.directory, **how)
                self.assertEqual(named.stderr, "")
                self.assertTrue(named.stdout.startswith("fibonacci: "))
                compared = self.run_on("diff", self.directory, self.directory, **how)
                self.assertIn("fibonacci", compared.stdout)
                self.assertEqual(compared.stderr, "")

    def test_more_recordings_than_descriptors(self):
        """Where they can only be opened before rights are given up, a quarter of the descriptors is for them."""
        def bound():
            drop_dac_read_search()
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        self.make_theirs(*(f"{i:02}.dwarfprof" for i in range(18)))
        one = self.run_on("report", self.recording, "--format", "jsonl", "--no-symbols").stdout.splitlines()
        result = self.run_on("report", self.directory, "--format", "jsonl", "--no-symbols", preexec_fn=bound)
        self.assertEqual(len(result.stdout.splitlines()), 16 * len(one))
        self.assertEqual(result.stderr, f"dwarfprof: warning: 2 recordings of {self.directory} are left out: more "
                         "than can be opened before rights are given up; use --from and --to\n")

    def test_no_output_takes_the_place_of_what_is_read(self):
        self.make_theirs("a.dwarfprof", "b.dwarfprof")
        for args in ("convert", self.directory), ("diff", self.recording, self.directory, "--format", "json"):
            result = self.run_on(*args, "-o", self.path("b.dwarfprof"), code=1)
            self.assertIn(f"cannot overwrite {self.path('b.dwarfprof')}, which is being read", result.stderr)
            self.assertEqual(pathlib.Path(self.path("b.dwarfprof")).read_bytes(), pathlib.Path(self.recording).read_bytes())

    def test_a_file_system_that_may_not_answer(self):
        """What only those with rights can open there is not waited for."""
        os.mkdir(self.path("theirs"))
        shutil.copy(self.recording, self.path("a.dwarfprof"))
        os.symlink("theirs/x", self.path("b.dwarfprof"))
        with SlowFiles(self.path("theirs"), self.recording, ["x"], is_private=True):
            result = self.run_on("report", self.directory, "--format", "folded")
        self.assertEqual(result.stdout, self.folded)
        self.assertIn("b.dwarfprof is left out: its file system may not answer", result.stderr)

    def test_a_recording_that_is_missing(self):
        """That is said at once, though nobody reads the output."""
        os.mkfifo(self.path("x.svg"))
        os.mkdir(self.path("none"))
        for name, why in ("missing", "No such file or directory"), ("none", "it has no recordings"):
            for args in ("report", self.path(name)), ("diff", self.recording, self.path(name)):
                result = self.run_on(*args, "-o", self.path("x.svg"), code=1)
                self.assertEqual(result.stderr, f"dwarfprof: cannot read {self.path(name)}: {why}\n")

    def test_by_anybody(self):
        os.chmod(self.directory, 0o777)
        recording = shutil.copy(self.recording, self.path("x.dwarfprof"))
        os.chmod(recording, 0o644)
        for mode in "off", "auto", "require":
            result = self.run_on("report", recording, f"--sandbox={mode}", "--format", "folded", "--no-cache", user=NOBODY)
            self.assertEqual((result.stdout, result.stderr), (self.folded, ""))

    def test_that_asks_a_server(self):
        """It may use sockets of the Internet then, and write what it gets."""
        program, debug = self.path("inlined"), self.path("debug")
        shutil.copy(harness.program("inlined"), program)
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["strip", "--strip-all", program], check=True)
        recording = self.path("x.dwarfprof")
        dwarfprof("-d", "1", "--kill", "-o", recording, "--", program, "3")
        with debug_files.Server({debug_files.build_id(program): debug}) as server:
            result = self.run_on("report", recording, "-v", "--sandbox=require", "--format", "folded", "--no-cache",
                                 env=server.environment(self.directory))
            self.assertIn(f"/buildid/{debug_files.build_id(program)}/debuginfo", server.asked)
        self.assertIn("recordings are read with no capabilities", result.stderr)
        self.assertIn("_[i]", result.stdout)

    def test_a_pipe_that_is_closed(self):
        report = start("report", self.recording, "--format", "jsonl", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        report.stdout.close()
        said = report.stderr.read()
        report.stderr.close()
        self.assertNotEqual(report.wait(), 0)
        self.assertNotIn(b"has ended", said)


class DebugFiles(unittest.TestCase):
    """A process that has given up its rights gets debug files from servers, and keeps them."""

    @classmethod
    def setUpClass(cls):
        cls.made = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.path, cls.debug = os.path.join(cls.made, "inlined"), os.path.join(cls.made, "debug")
        cls.recording = os.path.join(cls.made, "x.dwarfprof")
        shutil.copy(harness.program("inlined"), cls.path)
        subprocess.run(["objcopy", "--only-keep-debug", cls.path, cls.debug], check=True)
        subprocess.run(["strip", "--strip-all", cls.path], check=True)
        cls.id = debug_files.build_id(cls.path)
        with harness.Target(cls.path, "3600") as pid:
            result, = harness.run_at_once([harness.DWARFPROF, "-o", cls.recording, "-p", pid], of=[pid])
        assert result.returncode == 0, result.stderr

    def setUp(self):
        self.home = self.enterContext(tempfile.TemporaryDirectory())

    def kept(self, *directory):
        return os.path.exists(os.path.join(*directory, self.id, "debuginfo"))

    def report(self, **more):
        with debug_files.Server({self.id: self.debug}) as server:
            environment = {**server.environment(self.home), "HOME": self.home, **more}
            for variable in "XDG_CACHE_HOME", "DEBUGINFOD_CACHE_PATH":
                if variable not in more:
                    environment.pop(variable, None)
            result = dwarfprof("report", self.recording, "--no-cache", "--format", "folded", env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(";work;mix_", result.stdout, result.stderr)

    def test_in_a_cache_of_its_own(self):
        self.report()
        self.assertTrue(self.kept(self.home, ".cache", "debuginfod_client"))
        self.report(XDG_CACHE_HOME=os.path.join(self.home, "xdg"))
        self.assertTrue(self.kept(self.home, "xdg", "debuginfod_client"))
        self.report(DEBUGINFOD_CACHE_PATH=os.path.join(self.home, "given"))
        self.assertTrue(self.kept(self.home, "given"))

    def test_in_the_cache_of_older_versions(self):
        old = os.path.join(self.home, ".debuginfod_client_cache")
        os.mkdir(old)
        self.report(XDG_CACHE_HOME=os.path.join(self.home, "xdg"))
        self.assertTrue(self.kept(old))
        self.assertEqual(os.listdir(self.home), [".debuginfod_client_cache"])

    def test_of_root_with_another_user_s_environment(self):
        os.chmod(self.home, 0o700)
        os.chown(self.home, NOBODY, NOBODY)
        caches = pathlib.Path("/var/cache/dwarfprof/debuginfod")
        before = set(caches.glob("*"))
        self.addCleanup(lambda: [shutil.rmtree(made, True) for made in set(caches.glob("*")) - before])
        self.report()
        self.assertTrue(self.kept(caches))
        self.assertEqual(os.listdir(self.home), [])

    def test_if_they_can_be_kept_nowhere(self):
        os.chmod(self.made, 0o755)
        os.chmod(self.recording, 0o644)
        with debug_files.Server({}) as server:
            result = dwarfprof("report", self.recording, "--no-cache", user=NOBODY, cwd="/",
                               env={**server.environment(self.home), "DEBUGINFOD_CACHE_PATH": "/proc/none"})
        self.assertIn("no debug files are fetched: /proc/none cannot be used for them", result.stderr)


if __name__ == "__main__":
    main()
