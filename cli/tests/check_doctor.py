#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dwarfprof doctor, and what each capability permits.

usage: check_doctor.py DWARFPROF PROGRAM-DIR
"""
import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import harness
from check_errors import BPF, BPF_LINK_CREATE, BPF_PROG_LOAD, NOBODY, refuse
from harness import Target, program

LANDLOCK_CREATE_RULESET = 444  # x86-64's asm/unistd_64.h
NO_SAMPLES = 5

AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
GRANT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../ci/grant-capabilities")

LINE = re.compile(r"^  (\S.*?)  +(ok|limited|missing|unknown)  +(\S.*)$")


def with_only(*capabilities):
    """The beginning of a command that runs as nobody, with exactly these capabilities."""
    caps = ",".join(["-all", *(f"+{c}" for c in capabilities)])
    return [*AS_NOBODY, f"--inh-caps={caps}", f"--ambient-caps={caps}"]


def run(*command, **kwargs):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **kwargs)


def read_text(text):
    """The findings of a report: a line, and the `try:` line that may follow it."""
    facts, group = [], None
    for line in text.splitlines()[:-1]:
        match = LINE.match(line)
        if line and line[0] != " ":
            group = line
        elif line.startswith("    try: "):
            facts[-1]["try"] = line[9:]
        elif line:
            assert match, line
            facts.append({"group": group, "label": match[1], "state": match[2], "needed_for": match[3], "try": None})
    return facts


# Other processes, which other tests start, may be locked.
LOCKED = re.compile(r"^dwarfprof: warning: mappings of process \d+ cannot be read: .*\n", re.M)


class Doctor(unittest.TestCase):
    LONG = "test_what_it_says_is_what_a_run_can",

    def doctor(self, *prefix, code=None, **kwargs):
        """The JSON report, after a comparison with the text."""
        text = run(*prefix, harness.DWARFPROF, "doctor", **kwargs)
        result = run(*prefix, harness.DWARFPROF, "doctor", "--json", **kwargs)
        for r in (text, result):
            self.assertEqual(LOCKED.sub("", r.stderr), "")
            if code is not None:
                self.assertEqual(r.returncode, code, r.stdout)
        said = json.loads(result.stdout)
        facts = read_text(text.stdout)
        # The number of processes may change.
        expected = [{"group": f["group"], "label": " ".join(filter(None, (f["what"], f["value"]))), "state": f["state"],
                     "needed_for": f["needed_for"], "try": f["try"]} for f in said["findings"] if f["what"] != "processes"]
        self.assertEqual([f for f in facts if not f["label"].startswith("processes ")], expected)
        for line in text.stdout.splitlines():
            if not line.startswith("    try: "):
                self.assertLessEqual(len(line), 100)
        for fact in said["findings"]:
            if fact["state"] in ("ok", "unknown"):
                self.assertIsNone(fact["try"])
        self.assertEqual(result.returncode, int(any(f["state"] == "missing" for f in said["findings"])))
        said["summary"] = text.stdout.splitlines()[-1]
        said["states"] = {f["what"]: f["state"] for f in said["findings"]}
        said["try"] = {f["what"]: f["try"] for f in said["findings"]}
        return said

    def test_root_can_do_all(self):
        said = self.doctor(code=0)
        self.assertLessEqual(set(said["states"].values()), {"ok", "limited"})
        self.assertEqual(said["summary"], "This process can profile processes of its own user, all of others, "
                                          "the kernel, uprobes.")
        for what in ("CAP_BPF", "kernel.kptr_restrict", "/sys/kernel/btf/vmlinux", "bpf_loop()", "cpu-clock",
                     "program dp_sample_cpu", "program dp_sample_uprobe", "ring buffer", "open files", "PID namespace"):
            self.assertIn(what, said["states"])

    def test_nobody_can_do_nothing(self):
        said = self.doctor(*AS_NOBODY, "--inh-caps=-all", code=1)
        self.assertEqual(said["summary"], "This process can profile nothing.")
        self.assertEqual([said[key] for key in ("own_processes", "all_processes", "kernel", "uprobes")], [False] * 4)
        for what in ("CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE"):
            self.assertEqual(said["states"][what], "missing")
            self.assertIn(what.lower(), said["try"][what])
        for what in ("bpf_loop()", "ring buffer", "program dp_sample_cpu", "cpu-clock"):
            self.assertEqual(said["states"][what], "unknown")

    def test_what_it_says_is_what_a_run_can(self):
        """For each capability, with an own process and one of root, which is not dumpable."""
        code = "import ctypes; ctypes.CDLL(None).prctl(4, 0)\nwhile True: sum(range(1000))"
        with Target(*AS_NOBODY, program("inefficient"), "600") as own, \
                Target("/usr/bin/python3", "-c", code) as other:
            for caps in ((), ("bpf",), ("perfmon",), ("bpf", "perfmon"), ("bpf", "perfmon", "sys_ptrace"),
                         ("bpf", "perfmon", "syslog"), ("sys_admin",)):
                with self.subTest(caps=caps):
                    with harness.stopped([own, other]):
                        said = self.doctor(*with_only(*caps))
                    command = [*with_only(*caps), harness.DWARFPROF, "-p"]
                    of_own, calls, of_other = harness.run_at_once(
                        [*command, own], [*command, own, "-e", f"uprobe:{program('inefficient')}:report"], [*command, other],
                        of=[own, other], seconds=0.5)
                    self.assertEqual(of_own.returncode, 0 if said["own_processes"] else 3, of_own.stderr)
                    self.assertEqual("(100.0 %)" in of_own.stderr, said["own_processes"])
                    if not said["own_processes"]:
                        continue
                    self.assertEqual("kernel hides its addresses" in of_own.stderr, not said["kernel"])
                    self.assertEqual(calls.returncode, 0 if said["uprobes"] else 3, calls.stderr)
                    if said["all_processes"]:
                        self.assertEqual(of_other.returncode, 0, of_other.stderr)

    def test_what_it_tells_to_type_helps(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            copy = shutil.copy(harness.DWARFPROF, directory)
            said = json.loads(run(*AS_NOBODY, "--inh-caps=-all", copy, "doctor", "--json").stdout)
            # In this order, no command undoes an earlier one.
            for fact in said["findings"]:
                if fact["group"] == "capabilities" and fact["try"]:
                    sudo, *command = shlex.split(fact["try"])
                    self.assertEqual((sudo, command[0], command[-1]), ("sudo", "setcap", copy))
                    self.assertEqual(run(*command).returncode, 0)
            result = run(*AS_NOBODY, "--inh-caps=-all", copy, "doctor", "--json")
            said = json.loads(result.stdout)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual({f["state"] for f in said["findings"] if f["group"] == "capabilities"}, {"ok"})

    def test_what_a_container_may_not_have(self):
        said = self.doctor(*with_only("bpf", "perfmon"), "--bounding-set=-all,+bpf,+perfmon")
        self.assertIn("--cap-add=SYS_PTRACE", said["try"]["CAP_SYS_PTRACE"])

    def test_namespaces_and_mounts(self):
        said = self.doctor("unshare", "--pid", "--fork", "--mount-proc")
        self.assertEqual(said["states"]["PID namespace"], "limited")
        said = self.doctor("unshare", "--user", "--map-root-user", code=1)
        self.assertEqual(said["states"]["user namespace"], "missing")
        self.assertEqual(said["states"]["CAP_BPF"], "missing")
        self.assertEqual(said["states"]["bpf_loop()"], "unknown")
        hide = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'
        said = self.doctor("unshare", "--mount", "sh", "-c", hide, "sh", *with_only("bpf", "perfmon"), code=1)
        self.assertEqual(said["states"]["/proc"], "missing")
        self.assertEqual(self.doctor("unshare", "--mount", "sh", "-c", hide, "sh", code=0)["states"]["/proc"], "ok")
        no_btf = 'mount -t tmpfs none /sys/kernel/btf && exec "$@"'
        said = self.doctor("unshare", "--mount", "sh", "-c", no_btf, "sh", code=1)
        self.assertEqual(said["states"]["/sys/kernel/btf/vmlinux"], "missing")

    def test_what_the_kernel_refuses(self):
        """Like seccomp profiles of containers, and kernels that lack a feature."""
        said = self.doctor(code=1, preexec_fn=lambda: refuse(errno.EPERM, BPF, BPF_PROG_LOAD))
        self.assertEqual(said["states"]["program dp_sample_cpu"], "missing")
        self.assertIn("seccomp", said["try"]["program dp_sample_cpu"])
        self.assertEqual(said["states"]["ring buffer"], "ok")
        said = self.doctor(code=1, preexec_fn=lambda: refuse(errno.EINVAL, BPF, BPF_PROG_LOAD))
        self.assertEqual(said["states"]["program dp_sample_cpu"], "missing")
        self.assertIn("-v", said["try"]["program dp_sample_cpu"])
        with_two = with_only("bpf", "perfmon")
        said = self.doctor(*with_two, preexec_fn=lambda: refuse(errno.EINVAL, BPF, BPF_LINK_CREATE))
        self.assertEqual((said["states"]["uprobe link"], said["uprobes"]), ("limited", False))
        self.assertIn("cap_sys_admin", said["try"]["uprobe link"])

    def test_without_a_layer_of_the_sandbox(self):
        """Without Landlock parsers are confined by what is left, or with --sandbox=require not at all."""
        def refuse_landlock():
            refuse(errno.ENOSYS, LANDLOCK_CREATE_RULESET)
        said = self.doctor(code=0)
        layers = [f["what"] for f in said["findings"] if f["group"] == "parsers of binaries"]
        self.assertEqual(len(layers), 6)
        self.assertEqual({said["states"][layer] for layer in layers}, {"ok"})
        said = self.doctor(code=0, preexec_fn=refuse_landlock)
        self.assertEqual([layer for layer in layers if said["states"][layer] != "ok"], ["Landlock"])
        for mode, code in ("auto", 0), ("require", 1):
            result = run(harness.DWARFPROF, f"--sandbox={mode}", "--no-symbols", "--format", "folded", "--", "true",
                         preexec_fn=refuse_landlock)
            self.assertEqual(result.returncode in (0, NO_SAMPLES), code == 0, result.stderr)
            self.assertEqual("cannot be confined as --sandbox=require demands\n" in result.stderr, code == 1)
            self.assertEqual("they lack Landlock" in result.stderr, code == 1, result.stderr)

    def test_limits(self):
        said = self.doctor("prlimit", "--nofile=1024:1024")
        self.assertEqual(said["states"]["open files"], "limited")
        self.assertIn("prlimit", said["try"]["open files"])

    def test_usage(self):
        for arguments in (["what"], ["--frobnicate"]):
            result = run(harness.DWARFPROF, "doctor", *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
        with open("/dev/full", "w") as full:
            result = subprocess.run([harness.DWARFPROF, "doctor"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("No space left on device", result.stderr)


class Grant(unittest.TestCase):
    """ci/grant-capabilities, and a program with file capabilities."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        os.chmod(self.directory.name, 0o755)
        self.copy = shutil.copy(harness.DWARFPROF, self.directory.name)
        home = os.path.join(self.directory.name, "home")
        os.mkdir(home)
        os.chown(home, NOBODY, NOBODY)
        self.nobody = [*AS_NOBODY, "--inh-caps=-all", "env", "-u", "XDG_CACHE_HOME", f"HOME={home}", self.copy]

    def grant(self, *options):
        result = run(GRANT, *options, self.copy)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        got = run("getcap", self.copy).stdout.strip().rpartition(" ")[2]
        return set(got.removesuffix("=ep").split(",")) if got else set()

    def profile(self, pid, *options):
        """The results of runs at the same time, each with some options."""
        return harness.run_at_once(*([*self.nobody, "-p", pid, *some] for some in options or [["-F", "499"]]),
                                   of=[pid], seconds=0.5)

    def test_the_smallest_set(self):
        self.assertEqual(self.grant(), {"cap_bpf", "cap_perfmon"})
        with Target(*AS_NOBODY, program("inefficient"), "60") as pid:
            result, calls = self.profile(pid, ["-v", "-F", "499"], ["-e", f"uprobe:{program('inefficient')}:report"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(";main;", result.stdout)
        self.assertIn("(100.0 %)", result.stderr)
        self.assertIn(f"tables and names are kept in {self.directory.name}/home/.cache/dwarfprof", result.stderr)
        self.assertIn(";main;report ", calls.stdout)
        # The profiled command does not inherit them.
        result = run(*self.nobody, "--", "/bin/grep", "CapEff", "/proc/self/status")
        self.assertIn("CapEff:\t0000000000000000\n", result.stdout)
        self.assertEqual(self.grant("--none"), set())
        self.assertEqual(self.grant("--none"), set())
        self.assertEqual(run(*self.nobody, "-p", pid, "-d", "300ms").returncode, 3)

    def test_what_each_option_adds(self):
        two = {"cap_bpf", "cap_perfmon"}
        self.assertEqual(self.grant("--kernel-names"), two | {"cap_syslog"})
        with Target(*AS_NOBODY, "/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1M") as pid:
            result, = self.profile(pid)
        self.assertIn("ksys_read_[k];", result.stdout)
        self.assertNotIn("warning", result.stderr)
        self.assertEqual(self.grant("--other-users"), two | {"cap_sys_ptrace"})
        with tempfile.TemporaryDirectory() as directory:
            # Its path does not exist in our mount namespace.
            hidden = f"mount -t tmpfs none {directory} && cp {program('fibonacci')} {directory}/other && " \
                     f"exec {directory}/other 60"
            with Target("unshare", "--mount", "sh", "-c", f"umask 022; {hidden}") as pid:
                harness.wait_for(lambda: harness.read(f"/proc/{pid}/comm") == "other\n")
                result, = self.profile(pid)
        self.assertIn(";main;fibonacci", result.stdout, result.stderr)
        self.assertEqual(self.grant("--files"), two | {"cap_checkpoint_restore", "cap_dac_read_search"})
        self.assertEqual(self.grant("--other-users", "--old-uprobes"), two | {"cap_sys_ptrace", "cap_sys_admin"})

    def test_a_library_that_was_deleted(self):
        """Works only with --files; a message says so otherwise."""
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            shutil.copy(program("libphase.so"), directory)
            library = os.path.join(directory, "libphase.so")
            with Target(*AS_NOBODY, program("phases"), library, "--", "0:60") as pid:
                harness.wait_for(lambda: harness.cpu_time(pid) > 0.1)
                os.unlink(library)
                self.grant()
                result, = self.profile(pid)
                self.assertNotIn(";main;", result.stdout)
                self.assertIn(f"{library} may not be read", result.stderr)
                self.assertIn("missing: CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_CHECKPOINT_RESTORE\n", result.stderr)
                self.grant("--files")
                result, = self.profile(pid)
                self.assertIn(";main;work;descend;", result.stdout)
                self.assertIn("(100.0 %)", result.stderr)

    def test_a_group(self):
        self.grant("--group", str(NOBODY))
        stat = os.stat(self.copy)
        self.assertEqual((stat.st_gid, stat.st_mode & 0o777), (NOBODY, 0o750))
        self.assertEqual(run(*self.nobody, "doctor", "--json").returncode, 1)  # CAP_SYS_PTRACE
        with self.assertRaises(PermissionError):
            run(self.copy, "doctor", user=1, group=1, extra_groups=[])

    def test_usage(self):
        self.assertEqual(run(GRANT, "--frobnicate").returncode, 2)
        self.assertEqual(run(GRANT, self.copy, self.copy).returncode, 2)
        self.assertIn("there is no file /nonexistent", run(GRANT, "/nonexistent").stderr)
        result = run(*AS_NOBODY, GRANT, self.copy)
        self.assertEqual(result.returncode, 1)
        self.assertIn("--kernel-names", run(GRANT, "--help").stdout)


if __name__ == "__main__":
    harness.main()
