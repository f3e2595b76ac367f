#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the commands in ci/ count as a failure.

usage: check_rules.py
"""
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CI = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True  # next to commands
sys.path[:0] = [CI, os.path.join(CI, "kernel"), os.path.join(CI, "../cli/tests")]
import debian  # noqa: E402
import harness  # noqa: E402


def load(name):
    """A command as a module."""
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(CI, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class NewKernels(unittest.TestCase):
    PROVEN = ("6.1.192-2", "6.12.118-1", "7.2.13-1")

    def expect(self, new, *versions):
        for version in versions:
            with self.subTest(version=version):
                self.assertEqual(debian.is_new(version, self.PROVEN), new)

    def test_updates_of_each_series(self):
        self.expect(True, "6.1.192-3", "6.1.193-1", "6.1.1000-1", "6.12.119-1", "7.2.14-1")

    def test_series_without_a_proven_one(self):
        self.expect(True, "7.3.1-1", "8.0.1-1", "6.13.1-1")

    def test_proven_ones_and_older(self):
        self.expect(False, *self.PROVEN, "6.1.191-9", "6.12.9-1", "7.2.12-2")


class Lists(unittest.TestCase):
    """apt's, of kernels"""
    SOURCES = "deb one"

    def updates(self, debian_here):
        """How often two updates run apt."""
        ran = []
        debian_here.apt = lambda *command, **_: ran.append(command)
        debian_here.update()
        debian_here.update()
        return len(ran)

    def test_are_good_for_some_time(self):
        with tempfile.TemporaryDirectory() as directory:
            here = debian.Debian(directory)
            here.write("sources.list", self.SOURCES)
            os.utime(here.path("sources.list"), (1, 1))
            self.assertEqual(self.updates(here), 1)
            self.assertEqual(self.updates(here), 0)
            os.utime(here.path("updated"), (2, 2))
            self.assertEqual(self.updates(here), 1)

    def test_are_of_the_sources(self):
        with tempfile.TemporaryDirectory() as directory:
            here = debian.Debian(directory)
            here.write("sources.list", self.SOURCES)
            os.utime(here.path("sources.list"), (1, 1))
            self.updates(here)
            here.write("sources.list", self.SOURCES)
            self.assertTrue(here.is_updated())
            here.write("sources.list", "deb two")
            os.utime(here.path("updated"), (os.path.getmtime(here.path("sources.list")) - 60,) * 2)
            self.assertFalse(here.is_updated())


class Warnings(unittest.TestCase):
    """ci/check-warnings"""
    COMMAND = "ccache cc -Ia -I.. -Wall -Wno-tsan -std=gnu11 -O3 -g -D_FORTIFY_SOURCE=3 '-DNAME=\"a b\"' -fPIC -MD -MF a.d -o a.o -c ../a.c"

    def test_what_a_source_is_checked_with(self):
        with tempfile.TemporaryDirectory() as directory:
            one = {"directory": directory, "command": self.COMMAND, "file": "../a.c"}
            with open(os.path.join(directory, "compile_commands.json"), "w") as file:
                json.dump([one, one], file)
            self.assertEqual(load("check-warnings").sources(directory),
                             [(directory, ("-Ia", "-I..", "-Wall", "-std=gnu11", '-DNAME="a b"'), "../a.c")])

    def check(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "a.c")
            with open(path, "w") as file:
                file.write(text)
            checker = load("check-warnings")
            return checker.warnings(checker.load(), directory, ("-Wall",), "a.c")

    def test_what_it_finds(self):
        self.assertEqual(self.check("int f(int n) { return n; }\n"), "")
        self.assertIn("unused variable", self.check("int f(int n) { int m; return n; }\n"))
        self.assertIn("unused variable", self.check("#include <assert.h>\nint f(int n) { int m = n; assert(m); return n; }\n"))


class Age(unittest.TestCase):
    def test_a_failed_part_is_old_sooner(self):
        nightly = load("nightly")
        for result, age, old in ("OK", 59, False), ("OK", 60, True), ("OK", None, True), ("**FAIL**: a", 0, False), \
                ("**FAIL**: a", 24, False), ("**FAIL**: a", 25, True), (None, None, True):
            with self.subTest(result=result, age=age):
                self.assertEqual(nightly.is_old(result, age), old)


class Newest(unittest.TestCase):
    SAID = """| program | version | samples | complete | frames (median) | not complete |
|---|---|--:|--:|--:|---|
| C, static | 16.2.0 | 1990 | 100.00 % | 8 |  |
814 stacks compared, 0 different, 0 lost
stacks: 100 stacks compared, 2 different, 0 lost
"""

    def test_table(self):
        said = self.SAID + "| Java | 17 | 3326 | 0.48 % |\n| Go | 1.27 | 1000 | 99.90 % |\n"
        cells = [line.strip("|").split("|")[1].strip() for line in load("nightly").table_of_newest(said).splitlines()]
        self.assertEqual(cells[2:], ["2 of 3", "Java 0.48 %", "914", "2"])

    def test_nothing_compared(self):
        table = load("nightly").table_of_newest
        self.assertIsNone(table(""))
        self.assertIsNone(table(self.SAID.replace("814 stacks", "0 stacks").replace("100 stacks", "0 stacks")))


class Verify(unittest.TestCase):
    """ci/check-verify: what was not compared says nothing."""

    def expect(self, good, n_equal, n_others=0, word="no_information"):
        samples = [{"outcome": "complete", "verified": "equal"}] * n_equal + \
            [{"outcome": "complete", "verified": word}] * n_others
        self.assertEqual(load("check-verify").show("a program", samples, "verified by libdwfl: 9 of 9 frames\n"), good)

    def test_stacks_that_were_compared(self):
        self.expect(True, 10000)
        self.expect(True, 10000, 10, "differs")
        self.expect(False, 10000, 11, "differs")

    def test_stacks_that_were_not(self):
        self.expect(True, 850, 150)
        self.expect(False, 849, 151)
        self.expect(False, 100, 9900)

    def test_too_few(self):
        self.expect(True, 100)
        self.expect(False, 99)
        self.expect(False, 0)


class Guard(unittest.TestCase):
    """ci/check-guard"""
    KEPT = {"gcc 12": {"a": 100}, "clang 14, Linux 6.1": {"b": 200}}

    def expect(self, n_failed, **changes):
        measured = {"gcc 12": {"a": 100}, "clang 14, Linux 6.1": {"b": 200}, **changes.pop("more", {})}
        measured["gcc 12"].update(changes)
        self.assertEqual(load("check-guard").compare(measured, self.KEPT), n_failed)

    def test_figures(self):
        self.expect(0)
        self.expect(0, a=103)
        self.expect(1, a=104)
        self.expect(1, a=96)
        self.expect(1, c=1)

    def test_a_compiler_and_a_kernel_that_are_not_known(self):
        self.expect(1, more={"gcc 99": {"a": 100}})
        self.expect(1, more={"clang 14, Linux 9.9": {"b": 200}})


class Limits(unittest.TestCase):
    """ci/check-limits"""
    TABLE = '#define FILES 2\nLIMIT(FILES, "files", "open", MESSAGE("too many files"), "none")\nLIMIT(FRAMES, "", "", SEEN(""), "")\n'
    CODE = {"bpf/a.h": "#define FRAMES 3\n", "elf/b.c": 'if (n > FILES || m > FRAMES) say("%" PRIu64 " is too "\n "many files");\n'}

    def setUp(self):
        self.limits = load("check-limits")

    def expect(self, fault, table=TABLE, **changes):
        code = {**self.CODE, **{path.replace("_", "/", 1) + ".c": text for path, text in changes.items()}}
        faults = list(self.limits.check_table(table, code))
        self.assertEqual(faults, [fault] if fault else [])

    def test_table(self):
        self.expect(None)
        self.expect("FILES has two rows", self.TABLE + 'LIMIT(FILES, "", "", SEEN(""), "")\n')
        self.expect("MORE has no row", self.TABLE + "#define MORE 1\n")
        self.expect("FRAMES is also defined in bpf/", self.TABLE + "#define FRAMES 3\n")
        self.expect("DEPTH has no number, here or in bpf/", self.TABLE + 'LIMIT(DEPTH, "", "", SEEN(""), "")\n', elf_c="DEPTH")
        self.expect("DEPTH has no user", self.TABLE + '#define DEPTH 1\nLIMIT(DEPTH, "", "", SEEN(""), "")\n')
        self.expect('"many files" may stand anywhere: give 3 words', self.TABLE.replace("too many", "many"))
        self.expect('no text has the words "too few files"', self.TABLE.replace("too many", "too few"))
        self.expect('no text has the words "so many apples"', self.TABLE.replace("too many files", "so many apples"), elf_c='f("so many", "apples")')

    def test_what_leaves_out_names(self):
        table = self.TABLE + '#define DEPTH 1\nLIMIT(DEPTH, "levels", "of it",\n      NAMES,\n      "")\n'
        self.expect(None, table, elf_c="DEPTH LIMIT_HIT(DEPTH)")
        self.expect("DEPTH leaves out names that nobody notes", table, elf_c="DEPTH")
        self.expect("FRAMES is noted, and its row does not say NAMES", elf_c="LIMIT_HIT(FRAMES)")

    def test_times_elsewhere(self):
        names = "READER_PATIENCE_NS", "ATTEMPTS", "HELPER_START_NS", "HELPER_STARTS_NS", "FILE_CPU_NS", "END_NS", "LOOK_NS", "PAUSE_MS"
        code = {"runtimes/a/b.c": "".join(f"#define {name} 4\n" for name in names)}
        self.assertEqual([fault.split()[1] for fault in self.limits.check_others(code, {})], sorted(names[:6]))

    def test_limits_elsewhere(self):
        code = {"elf/a.c": "#define ELF_MAX_SIZE 4\n", "cli/b.c": "#define MAX_ROWS 4\n", "go/c.h": "enum {\n\tMAX_TREES = 1,\n};"}
        self.assertEqual(len(list(self.limits.check_others(code, {}))), 2)
        known = {("elf/a.c", "ELF_MAX_SIZE"): "", ("go/c.h", "MAX_TREES"): ""}
        self.assertEqual(list(self.limits.check_others(code, known)), [])
        self.assertEqual(list(self.limits.check_others({}, {("elf/a.c", "MAX"): ""})), ["elf/a.c: MAX is not there any more"])


class Tables(unittest.TestCase):
    """ci/check-all-tables: each file has a line, and each line counts."""

    def expect(self, good, second):
        lines = ["/usr/a: 10 rows compared, 0 refused, 0 different", second, "2 files: 2 compared, "]
        self.assertEqual(load("check-all-tables").is_same("a reader", ["/usr/a", "/usr/b"], lines), good)

    def test_files_that_were_compared(self):
        self.expect(True, "/usr/b: 10 rows compared, 0 refused, 0 different")
        self.expect(False, "/usr/b: 10 rows compared, 1 refused, 0 different")
        self.expect(False, "/usr/b: 10 rows compared, 0 refused, 1 different")

    def test_files_that_were_not(self):
        self.expect(True, "/usr/b: nothing to compare: it has no unwind information, 0 different")
        self.expect(False, "/usr/b: 0 rows compared, 0 refused, 0 different")
        self.expect(False, "/usr/b: not compared: it cannot be read")
        self.expect(False, "")


class Package(unittest.TestCase):
    """debian/control"""

    def test_it_is_built_with_what_setup_installs(self):
        said = re.search(r"^Build-Depends: (.*(?:\n .*)*)", harness.read(os.path.join(CI, "../debian/control")), re.M)[1]
        setup = re.search(r'^build="([^"]*)"', harness.read(os.path.join(CI, "setup")), re.M)[1]
        essential = {"gcc", "libc6-dev"}  # build-essential's
        own = {"debhelper-compat (= 13)", "python3:any"}
        self.assertEqual({name.strip() for name in said.split(",")} - own, set(setup.split()) - essential)


class LastLine(unittest.TestCase):
    """ci/meson-test and ci/long: the page of ci/nightly has the last line alone."""
    # Programs in place of others. The log of meson's tests is in the environment.
    MESON = '#!/bin/sh\nmkdir -p build/meson-logs && echo "$LOG" >build/meson-logs/testlog.json\nexit $RC\n'
    CHECK = '#!/bin/sh\necho before\necho "failed: $1"\nexit 1\n'
    PARTS = ("check-valgrind", "check-threads", "check-races")

    def run_in(self, uid, programs, command, **environment):
        """What a command says last, in a copy of ci/ where it has these programs."""
        with tempfile.TemporaryDirectory() as directory:
            for path in ("bin", "ci"):
                os.mkdir(os.path.join(directory, path))
            for name in ("long", "meson-test"):
                shutil.copy(os.path.join(CI, name), os.path.join(directory, "ci"))
            for path, text in {"bin/id": f"#!/bin/sh\necho {uid}\n", "bin/ninja": "#!/bin/sh\n", **programs}.items():
                with open(os.path.join(directory, path), "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(file.name, 0o755)
            path = os.path.join(directory, "bin") + ":" + os.environ["PATH"]
            done = subprocess.run(command, cwd=directory, env={**os.environ, **environment, "PATH": path},
                                  capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()[-1]

    def meson_test(self, uid, code, *results):
        log = "\n".join(json.dumps({"name": f"base / {name}", "result": result}) for name, result in results)
        return self.run_in(uid, {"bin/meson": self.MESON}, ["ci/meson-test", "build"], LOG=log, RC=str(code))

    def test_names_what_failed(self):
        results = ("good", "OK"), ("bad", "FAIL"), ("left", "SKIP"), ("slow", "TIMEOUT")
        self.assertEqual(self.meson_test(0, 1, *results), (1, "failed: bad left slow"))
        self.assertEqual(self.meson_test(1000, 1, *results), (1, "failed: bad slow"))

    def test_names_what_root_left_out(self):
        self.assertEqual(self.meson_test(0, 0, ("good", "OK"), ("left", "SKIP")), (1, "failed: left"))

    def test_of_several_parts(self):
        programs = {f"ci/{name}": self.CHECK for name in self.PARTS}
        programs["ci/check-all-tables"] = "#!/bin/sh\necho good\n"
        programs["ci/meson-test"] = '#!/bin/sh\necho "failed: $3 of $1"\n[ $3 != long ]\n'
        self.assertEqual(self.run_in(0, programs, ["ci/long", "one", "two"]),
                         (1, "failed: meson-test: long of one; check-valgrind: one; check-threads: one; check-races: build-tsan"))
        programs = {path: "#!/bin/sh\necho good\n" for path in programs}
        self.assertEqual(self.run_in(0, programs, ["ci/long", "one", "two"]), (0, "good"))


if __name__ == "__main__":
    harness.run_tests()
