#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel's type information: members that other kernels lack or define differently, and BTF
files.

usage: check_btf.py DWARFPROF PROGRAM-DIR BEND-BTF FIELDS-HEADER OBJECT...
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import Target, busy, dwarfprof, program, wait_for

BEND = HEADER = OBJECTS = None
USUAL = "/sys/kernel/btf/vmlinux"
# Some thread always blocks.
OFF_CPU = ["-a", "-d", "1", "--off-cpu"]
CONTAINED = ["unshare", "--pid", "--fork", "--mount-proc"]
PROGRAMS = {"CPU": "dp_sample_cpu", "UPROBE": "dp_sample_uprobe", "TRACE": "dp_sample_trace", "OFF_CPU": "dp_switch",
            "CRASH": "dp_crash", "DUMP": "dp_dump"}


def read_fields():
    """Reads the list: the uses that need each member, and what is lost without it."""
    of_architecture = os.path.join(os.path.dirname(HEADER), os.uname().machine, os.path.basename(HEADER))
    text = "".join(harness.read(path) for path in (HEADER, of_architecture)).replace("\\\n", " ")
    sets = {name: {name} for name in re.findall(r"X\((\w+), \"", text)}
    for name, value in re.findall(r"DP_FOR_(\w+) =\s+([^,}]*)", text):
        if name != "##name":
            sets.setdefault(name, set().union(*(sets[n] for n in re.findall(r"DP_FOR_(\w+)", value))))
    body = "".join(re.search(rf"#define {name}\(X\)(.*?)\n", text)[1] for name in ("DP_KERNEL_FIELDS", "DP_ARCH_FIELDS"))
    fields = {(t, m): (set().union(*(sets[n] for n in re.findall(r"DP_FOR_(\w+)", uses))), lost.strip() != "NULL")
              for t, m, uses, lost in re.findall(r"X\((\w+), (\w+), ([\w |]+), ([^)]*)\)", body)}
    assert len(fields) == body.count("X(") > 50
    return fields


def bend(file, *words):
    """Writes the kernel's types to a file, with one change."""
    with open(file, "wb") as to:
        subprocess.run([BEND, *words], stdout=to, check=True)
    return file


def run(*command, **kwargs):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **kwargs)


def hidden(*prepare):
    """The beginning of a command that sees an empty /sys/kernel/btf, after some preparations."""
    return ["unshare", "--mount", "sh", "-ec", "\n".join(["mount -t tmpfs none /sys/kernel/btf", *prepare, 'exec "$@"']), "sh"]


class Btf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.bent = os.path.join(cls.directory, "bent.btf")
        cls.fields = read_fields()
        cls.missing_here = {field for field in cls.fields
                            if subprocess.run([BEND, *field], capture_output=True).returncode}

    def doctor(self, *prefix, btf=None):
        """The state of each finding, and what it is needed for."""
        result = run(*prefix, harness.DWARFPROF, "doctor", "--json", *(["--btf", btf] if btf else []))
        self.assertEqual(result.stderr, "")
        findings = json.loads(result.stdout)["findings"]
        return {f["what"]: f["state"] for f in findings}, {f["what"]: f["needed_for"] for f in findings}, findings

    def command(self, use, pid):
        """A command that exercises one use and none of the others. In 2 s every busy process is
        sampled."""
        uprobe = f"uprobe:{program('inefficient')}:report"
        return {"CPU": ["-p", pid, "-d", "2"], "UPROBE": ["-p", pid, "-d", "1", "-e", uprobe],
                "TRACE": ["-p", pid, "-d", "1", "-e", "raw_tracepoint:sched_switch"],
                "OFF_CPU": ["-p", pid, "-d", "200ms", "--off-cpu"], "DUMP": ["dump", "-p", pid],
                "CRASH": ["-p", pid, "-d", "200ms", "--crashes"],
                "PEER": ["-p", pid, "-d", "200ms", "--probe-socket", os.path.join(self.directory, "probes")],
                "USER": ["-p", pid, "-u", "root", "-d", "200ms"], "CONTAINER": ["-a", "-d", "200ms"]}[use]

    def test_the_list_is_what_the_programs_look_up(self):
        """By libbpf's rules, with which bpftool finds the types that objects use."""
        file = os.path.join(self.directory, "min.btf")
        subprocess.run(["bpftool", "gen", "min_core_btf", USUAL, file, *OBJECTS], check=True)
        types = {t["id"]: t for t in json.loads(run("bpftool", "-j", "btf", "dump", "file", file).stdout)["types"]}
        used = set()

        def add(name, of):
            for member in types[of].get("members", ()):
                if member["name"] == "(anon)":
                    add(name, member["type_id"])
                else:
                    used.add((name, member["name"]))

        for number, t in types.items():
            if t["kind"] in ("STRUCT", "UNION") and t["name"] != "(anon)":
                add(t["name"], number)
            elif t["kind"] == "TYPEDEF" and types[t["type_id"]]["name"] == "(anon)":
                add(t["name"], t["type_id"])
        self.assertGreater(len(used), 50)
        self.assertEqual(used, set(self.fields) - self.missing_here)

    def examine(self, t, m, expected, all_lost, *prefix):
        states, needs, _ = self.doctor(*prefix, btf=self.bent)
        self.assertEqual({use for use, name in PROGRAMS.items() if states[f"program {name}"] != "ok"}, expected)
        self.assertEqual(states[f"{t}.{m}"], "missing" if all_lost else "limited")
        self.assertEqual(needs[f"{t}.{m}"].startswith("all: "), all_lost)

    def test_without_each_member(self):
        """Exactly the uses that the list names for a member fail without it."""
        for (t, m), (uses, lost) in self.fields.items():
            if (t, m) in self.missing_here:
                continue
            with self.subTest(member=f"{t}.{m}"):
                bend(self.bent, t, m)
                self.assertEqual(lost, not uses)
                self.examine(t, m, uses & set(PROGRAMS), "CPU" in uses)
                if "CONTAINER" in uses:
                    self.examine(t, m, set(PROGRAMS), True, *CONTAINED)
                if "USER" in uses:
                    with busy() as pid:
                        self.assertEqual(dwarfprof(*self.command("CPU", pid), "--btf", self.bent).returncode, 0)

    def test_the_error_names_the_member(self):
        with Target(program("inefficient"), "600") as pid:
            for (t, m), (uses, _) in self.fields.items():
                if not uses:
                    continue
                with self.subTest(member=f"{t}.{m}"):
                    bend(self.bent, t, m)
                    use = min(uses)
                    prefix = CONTAINED if use == "CONTAINER" else []
                    result = run(*prefix, harness.DWARFPROF, *self.command(use, pid), "--btf", self.bent)
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assertIn("cannot load the BPF programs: the kernel's verifier refuses dp_", result.stderr)
                    self.assertIn(f"  need: {t}.{m}, which this kernel does not have, for ", result.stderr)

    def test_what_goes_on_without_a_member(self):
        with Target(program("inefficient"), "600") as pid:
            for (t, m), (uses, _) in self.fields.items():
                if uses or (t, m) in self.missing_here:
                    continue
                bend(self.bent, t, m)
                result = dwarfprof(*self.command("CPU", pid), "--btf", self.bent)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("(100.0 %)", result.stderr)
                result = dwarfprof(*self.command("DUMP", pid), "--btf", self.bent)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(" main", result.stdout)

    def dumped(self, pid, *options):
        result = dwarfprof("dump", "-p", pid, "--format", "jsonl", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [s for s in map(json.loads, result.stdout.splitlines()) if "tid" in s]

    def test_dump_where_nobody_says_who_is_on_a_cpu(self):
        bend(self.bent, "task_struct", "on_cpu")
        out = os.path.join(self.directory, "out.jsonl")
        with busy() as runs, Target("sleep", "600") as sleeps:
            usual, = self.dumped(sleeps)
            bent, = self.dumped(sleeps, "--btf", self.bent)
            self.assertEqual(bent["user_stack"], usual["user_stack"])
            self.assertTrue(usual["kernel_stack"])
            self.assertEqual((bent["kernel_stack"], bent["kernel_stack_error"]), ([], "EOPNOTSUPP"))
            # Its registers are those of an interrupt, as the ones at kernel entry are stale. A busy
            # machine may not run it while we wait.
            wait_for(lambda: dwarfprof("dump", "-p", runs, "-o", out, "--btf", self.bent).returncode == 0)
            with open(out, encoding="utf-8") as file:
                bent, = [s for s in map(json.loads, file) if "tid" in s]
            self.assertEqual((bent["event"], bent["outcome"]), ("dump", "complete"))
            self.assertIn("fibonacci", {f["symbol"] for f in bent["user_stack"]})

    def test_members_in_fewer_bytes(self):
        """As on_cpu in Linux 7.2: the kernel's integer may be smaller than ours, signed or not."""
        with busy() as runs, Target("sleep", "600") as sleeps:
            bend(self.bent, "task_struct", "on_cpu", "as", "unsigned char")
            usual, = self.dumped(sleeps)
            bent, = self.dumped(sleeps, "--btf", self.bent)
            self.assertEqual(bent["user_stack"], usual["user_stack"])
            self.assertEqual([f["address"] for f in bent["kernel_stack"]], [f["address"] for f in usual["kernel_stack"]])
            bent, = self.dumped(runs, "--btf", self.bent)
            self.assertEqual(bent["outcome"], "complete")
        for t, m in ("task_struct", "pid"), ("task_struct", "tgid"), ("task_struct", "exit_state"), \
                ("task_struct", "flags"), ("pid", "level"), ("upid", "nr"), ("ns_common", "inum"):
            with self.subTest(member=f"{t}.{m}"):
                bend(self.bent, t, m, "as", "unsigned char")
                for prefix in [], CONTAINED:
                    states = self.doctor(*prefix, btf=self.bent)[0]
                    self.assertEqual({states[f"program {name}"] for name in PROGRAMS.values()}, {"ok"})

    def test_numbers_of_a_container_in_fewer_bytes(self):
        """A helper reads it with the size it is given: two bytes of a number still identify the
        process."""
        # Of the namespace's number all bytes are needed: half of it matches no process.
        for t, m, found in ("pid", "level", True), ("upid", "nr", True), ("ns_common", "inum", False):
            with self.subTest(member=f"{t}.{m}"):
                bend(self.bent, t, m, "as", "short unsigned int")
                result = run(*CONTAINED, harness.DWARFPROF, "--btf", self.bent, "-o", "-", "--", program("fibonacci"), "1")
                self.assertEqual(";fibonacci" in result.stdout, found, result.stderr)

    def test_what_the_verifier_refuses_is_told(self):
        """An offset of a number where there is a pointer: an error of a kernel, or ours."""
        with busy() as pid:
            bend(self.bent, "task_struct", "flags", "at", "mm")
            result = dwarfprof(*self.command("CPU", pid), "--btf", self.bent)
            self.assertEqual(result.returncode, 1)
            said = result.stderr
            self.assertIn("cannot load the BPF programs: the kernel's verifier refuses dp_sample_cpu\n", said)
            self.assertRegex(said, r"\n  the verifier says: .*cannot access ptr member mm with moff \d+ in struct task_struct")
            self.assertIn(f"\n  kernel: Linux {os.uname().release} {os.uname().machine}, {os.uname().version}\n", said)
            self.assertRegex(said, r"\n  please report this to .+, with what `dwarfprof doctor` says\n")
            self.assertIn(f"try:  without --btf: {self.bent} may be of another kernel\n", said)
            self.assertNotIn("Invalid argument", said)
            self.assertNotIn("need:", said)
            self.assertLess(len(said.splitlines()), 10)
            self.assertIn("verifier refuses dp_dump\n", dwarfprof(*self.command("DUMP", pid), "--btf", self.bent).stderr)
        advice = {f["what"]: f["try"] for f in self.doctor(btf=self.bent)[2]}
        self.assertIn("cannot access ptr member mm", advice["program dp_sample_cpu"])

    def test_files_that_are_none(self):
        empty = os.path.join(self.directory, "empty")
        with open(empty, "w"):
            pass
        for file, error in ("/nosuch", "cannot read /nosuch: No such file or directory"), \
                (self.directory, f"{self.directory} has no type"), (empty, f"{empty} has no type"), \
                ("/etc/passwd", "/etc/passwd has no type information of a kernel"), \
                (harness.DWARFPROF, f"{harness.DWARFPROF} has no type information of a kernel"):
            for command in ["-a", "-d", "1"], ["top", "-n", "1"], ["dump", "-p", "1"], ["doctor"]:
                result = dwarfprof(*command, "--btf", file)
                self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
                self.assertIn(error, result.stderr)
                self.assertIn("try:  without --btf", result.stderr)

    def test_files_that_are_some(self):
        """The bytes of the running kernel's BTF, or a vmlinux file that contains it."""
        raw, elf = (os.path.join(self.directory, name) for name in ("raw.btf", "vmlinux"))
        shutil.copy(USUAL, raw)
        subprocess.run(["objcopy", "--add-section", f".BTF={raw}", "/bin/true", elf], check=True)
        with busy() as pid:
            for file in raw, elf:
                for command in self.command("CPU", pid), OFF_CPU, self.command("DUMP", pid), ["top", "-n", "1", "-p", pid]:
                    result = dwarfprof(*command, "--btf", file)
                    self.assertEqual(result.returncode, 0, result.stderr)
                states = self.doctor(btf=file)[0]
                self.assertEqual(states[file], "ok")
                self.assertEqual({states[f"program {name}"] for name in PROGRAMS.values()}, {"ok"})

    def test_where_sys_is_hidden(self):
        """In its own mount namespace: a file given by --btf works, or one where libbpf looks."""
        copy = os.path.join(self.directory, "copy.btf")
        shutil.copy(USUAL, copy)
        boot = f'mount -t tmpfs none /boot\ncp {copy} "/boot/vmlinux-$(uname -r)"'
        if not os.path.isdir("/lib/modules"):
            os.mkdir("/lib/modules")
            self.addCleanup(os.rmdir, "/lib/modules")
        modules = f'mount -t tmpfs none /lib/modules\nmkdir "/lib/modules/$(uname -r)"\ncp {copy} "/lib/modules/$(uname -r)/vmlinux"'
        need = "--off-cpu, --wall and dump need it there even with --btf\n"
        with busy() as pid:
            cpu, off_cpu, dump = self.command("CPU", pid), OFF_CPU, self.command("DUMP", pid)
            for command, options, prepare, said in (
                    (cpu, [], [], "try:  --btf FILE"), (off_cpu, [], [], "try:  --btf FILE"),
                    (cpu, ["--btf", copy], [], None), (cpu, [], [boot], None), (off_cpu, [], [boot], None),
                    (dump, [], [boot], None),
                    (off_cpu, ["--btf", copy], [], need),
                    (dump, ["--btf", copy], [], need),
                    (cpu, [], [modules], None), (dump, [], [modules], need)):
                with self.subTest(command=command, options=options, prepare=prepare):
                    result = run(*hidden(*prepare), harness.DWARFPROF, *command, *options)
                    self.assertEqual(result.returncode, 1 if said else 0, result.stderr)
                    if said:
                        self.assertIn(said, result.stderr)
                        self.assertIn("need: type information of the running kernel (BTF)", result.stderr)
        states, _, findings = self.doctor(*hidden())
        self.assertEqual(states[USUAL], "missing")
        states, _, findings = self.doctor(*hidden(), btf=copy)
        self.assertEqual((states[copy], states["program dp_sample_cpu"], states["program dp_dump"]), ("ok", "ok", "limited"))
        states, _, findings = self.doctor(*hidden(boot))
        self.assertEqual((states[USUAL], states["program dp_dump"]), ("ok", "ok"))
        self.assertEqual([f["value"] for f in findings if f["what"] == USUAL], ["(vmlinux found elsewhere)"])
        states, _, findings = self.doctor(*hidden(modules))
        self.assertEqual((states[USUAL], states["program dp_sample_cpu"]), ("ok", "ok"))
        self.assertEqual([f["value"] for f in findings if f["what"] == USUAL], ["(vmlinux found elsewhere)"])


if __name__ == "__main__":
    BEND, HEADER, *OBJECTS = map(os.path.abspath, sys.argv[3:7])
    del sys.argv[3:7]
    harness.main()
