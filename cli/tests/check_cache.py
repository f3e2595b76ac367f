#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables and names kept on disk: they are reused, never trusted, and never in the way.

usage: check_cache.py DWARFPROF PROGRAM-DIR

Runs in a separate mount namespace with its own /var/cache.
"""
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from harness import Target, busy, dwarfprof, program

CACHE = "/var/cache/dwarfprof"
NOBODY = 65534
SETTLE_TIME = 2  # seconds: cache/stored_file.c
KEPT = re.compile(r"[0-9a-f]{32}(-[0-9a-f]+){3}-v\d+\.table|[0-9a-f]+-[0-9a-f]+-(image|names)\.sha256")


def use_new_cache(options="size=64m,mode=755"):
    """Mounts a new, empty /var/cache."""
    subprocess.run(["umount", "/var/cache"], stderr=subprocess.DEVNULL)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", "/var/cache"], check=True)


def wait_until_settled(*paths):
    """Nothing is kept for a file that has changed in the last seconds, by the clock of its times."""
    changed = max(int(os.stat(path).st_ctime) for path in paths)
    harness.wait_for(lambda: int(time.time()) > changed + SETTLE_TIME)


def digest(path):
    """As names in the cache begin."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:32]


def images():
    return [name for name in os.listdir(CACHE) if name.endswith(".table")]


def cached_files(said):
    """The files whose tables came from the cache, according to -v."""
    return {os.path.basename(path) for path in
            re.findall(r"^dwarfprof: (\S+): \d+ rows, .*, from the cache$", said, re.MULTILINE)}


def shape(folded):
    """User stacks without the depth of the recursion and the moments when the program reads the
    clock."""
    stacks = [line.rsplit(" ", 1)[0].split(";") for line in folded.splitlines()[:-1]]
    stacks = [stack for stack in stacks if "seconds_now" not in stack]
    return {tuple(dict.fromkeys(frame for frame in stack if not frame.endswith("_[k]"))) for stack in stacks}


class Names(unittest.TestCase):
    """A program whose debug information disappears after the first report."""
    LINKED = (["objcopy", "--only-keep-debug", "inlined", "inlined.debug"],
              ["objcopy", "--strip-debug", "--add-gnu-debuglink=inlined.debug", "inlined"])
    SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test-programs/inlined.c")
    SPLIT = (["gcc", "-O2", "-gdwarf-5", "-gsplit-dwarf", "-Wl,--build-id", "-c", SOURCE],
             ["gcc", "inlined.o", "-Wl,--build-id", "-o", "inlined"], ["mv", "inlined.dwo", "elsewhere"])

    @classmethod
    def setUpClass(cls):
        """A program for each test, all of which settle at the same time."""
        cls.directories = {}
        for name in unittest.defaultTestLoader.getTestCaseNames(cls):
            directory = cls.directories[name] = cls.enterClassContext(tempfile.TemporaryDirectory())
            shutil.copy(program("inlined"), directory)
            for command in cls.SPLIT if name == "test_parts_that_come_later_are_not_hidden" else cls.LINKED:
                subprocess.run(command, cwd=directory, check=True)
        wait_until_settled(*(f"{directory}/inlined" for directory in cls.directories.values()))

    def setUp(self):
        use_new_cache()
        self.path = lambda name: os.path.join(self.directories[self._testMethodName], name)
        self.profile("x.dwarfprof")

    def profile(self, name):
        with Target(self.path("inlined"), "60") as pid:
            result, = harness.run_at_once([harness.DWARFPROF, "-p", pid, "-F", "499", "-o", self.path(name)], of=[pid])
        self.assertEqual(result.returncode, 0, result.stderr)

    def report(self, *options, command=("convert", "-o", "out.jsonl")):
        result = dwarfprof(*command[:1], "x.dwarfprof", *command[1:], *options, cwd=self.path(""))
        self.assertEqual(result.returncode, 0, result.stderr)
        return harness.read(self.path("out.jsonl"))

    def kept(self):
        """Cache files of the program; the machine may have debug information of libraries too."""
        return [name for name in os.listdir(CACHE)
                if name.startswith(f"{digest(self.path('inlined'))}-") and name.endswith(".names")]

    def test_they_are_the_same_from_disk(self):
        cold = self.report()
        self.assertIn('"mix_many"', cold)
        self.assertIn("inlined.c", cold)
        (name,) = self.kept()
        self.assertEqual(os.stat(f"{CACHE}/{name}").st_mode & 0o7777, 0o600)
        written = os.stat(f"{CACHE}/{name}").st_ino
        os.remove(self.path("inlined.debug"))
        self.assertEqual(self.report(), cold)
        # Nothing new was written.
        self.assertEqual(os.stat(f"{CACHE}/{name}").st_ino, written)
        for options in ["--no-cache"], ["--demangle", "full"], ["--no-inline"], ["--no-lines"]:
            self.assertNotIn("inlined.c", self.report(*options), options)
        self.assertEqual(self.kept(), [name])
        # The names do not belong to a file that has changed.
        os.utime(self.path("inlined"))
        wait_until_settled(self.path("inlined"))
        self.assertNotIn('"mix_many"', self.report())

    def test_damage_is_found(self):
        cold = self.report()
        (name,) = self.kept()
        with open(f"{CACHE}/{name}", "rb") as file:
            whole = file.read()
        random.seed(2)
        for _ in range(5):
            damaged = bytearray(whole)
            damaged[random.randrange(len(whole))] ^= 1 << random.randrange(8)
            for data in damaged, whole[:random.randrange(len(whole))]:
                with open(f"{CACHE}/{name}", "wb") as file:
                    file.write(data)
                self.assertEqual(self.report(), cold)
                with open(f"{CACHE}/{name}", "rb") as file:
                    self.assertEqual(len(file.read()), len(whole))

    def test_a_run_that_samples_keeps_them_too(self):
        for _ in range(2):
            self.profile("out.jsonl")
            self.assertIn("inlined.c", harness.read(self.path("out.jsonl")))
            self.assertEqual(len(self.kept()), 1)
            if os.path.exists(self.path("inlined.debug")):
                os.remove(self.path("inlined.debug"))

    def test_parts_that_come_later_are_not_hidden(self):
        self.assertNotIn('"mix_many"', self.report())
        self.assertEqual(self.kept(), [])
        os.rename(self.path("elsewhere"), self.path("inlined.dwo"))
        whole = self.report()
        self.assertIn('"mix_many"', whole)
        self.assertEqual(len(self.kept()), 1)
        os.remove(self.path("inlined.dwo"))
        self.assertEqual(self.report(), whole)


class Cache(unittest.TestCase):
    """Each test starts with an empty cache."""

    def setUp(self):
        use_new_cache()

    def profile(self, pid, *options, prefix=(), **kwargs):
        """A run that must be as good as any: returns its folded stacks and its messages."""
        result, = harness.run_at_once([*prefix, harness.DWARFPROF, "-v", "-p", pid, "-F", "499", *options], of=[pid],
                                      seconds=0.1, **kwargs)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"(\d+) of \1 with a user stack complete \(100\.0 %\)")
        self.assertIn(";main;", result.stdout)
        return result.stdout, result.stderr

    def test_a_second_run_reads_what_the_first_one_made(self):
        with busy() as pid:
            cold, said = self.profile(pid)
            self.assertEqual(cached_files(said), set())
            self.assertIn(f"tables and names are kept in {CACHE}", said)
            kept = images()
            warm, said = self.profile(pid)
        self.assertIn("libc.so.6", cached_files(said))
        self.assertIn("ld-linux-x86-64.so.2", cached_files(said))
        self.assertEqual(len(cached_files(said)), len(kept))
        self.assertEqual(shape(warm), shape(cold))
        self.assertEqual(sorted(images()), sorted(kept))
        for name in kept:
            self.assertRegex(name, KEPT)
            self.assertEqual(os.stat(f"{CACHE}/{name}").st_mode & 0o7777, 0o600)
        self.assertEqual(os.stat(CACHE).st_mode & 0o7777, 0o700)

    def test_others_of_the_same_bytes_are_those_of_the_same_user(self):
        """Whatever build id, inode and times they have."""
        with tempfile.TemporaryDirectory() as directory:
            library = shutil.copy("/lib/x86_64-linux-gnu/libc.so.6", directory)
            if os.major(os.stat(library).st_dev) == 0:
                self.skipTest("its file system has no disk")

            def is_kept():
                wait_until_settled(library)
                with Target(program("fibonacci"), "60", env={"LD_LIBRARY_PATH": directory}) as pid:
                    said = self.profile(pid)[1]
                return any(f"{library}: " in line and line.endswith(", from the cache") for line in said.splitlines())

            self.assertFalse(is_kept())
            self.assertTrue(is_kept())
            os.rename(library, f"{directory}/other")
            shutil.copyfile(f"{directory}/other", library)
            self.assertTrue(is_kept())
            os.chmod(library, 0o666)
            self.assertFalse(is_kept())
            self.assertTrue(is_kept())
            os.chmod(library, 0o644)
            os.chown(library, 1000, 1000)
            self.assertFalse(is_kept())
            self.assertTrue(is_kept())

    def test_it_can_be_switched_off(self):
        with busy() as pid:
            _, said = self.profile(pid, "--no-cache")
            self.assertFalse(os.path.exists(CACHE))
            self.profile(pid)
            _, said = self.profile(pid, "--no-cache")
        self.assertEqual(cached_files(said), set())
        self.assertNotIn("kept", said)

    def test_damaged_files_are_made_anew(self):
        def flip(data):
            for _ in range(random.randrange(1, 8)):
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
            return data

        damages = [flip] * 4 + [lambda data: data[:len(data) // 2], lambda data: b"", lambda data: bytes(len(data)),
                                lambda data: data + bytes(1 << 20), lambda data: data[:8] + b"\xff" * 8 + data[16:]]
        random.seed(1)
        with busy() as pid:
            self.profile(pid)
            for damage in damages:
                for name in os.listdir(CACHE):
                    with open(f"{CACHE}/{name}", "r+b") as file:
                        data = damage(bytearray(file.read()))
                        file.seek(0)
                        file.truncate()
                        file.write(data)
                _, said = self.profile(pid)
                self.assertEqual(cached_files(said), set())
                self.assertIn("cache: cannot use", said)
            _, said = self.profile(pid)
        self.assertIn("libc.so.6", cached_files(said))

    def test_what_others_may_write_is_not_used(self):
        with busy() as pid:
            self.profile(pid)
            for change in (lambda: os.chown(CACHE, NOBODY, NOBODY), lambda: os.chmod(CACHE, 0o777),
                           lambda: (shutil.move(CACHE, CACHE + "2"), os.symlink(CACHE + "2", CACHE))):
                change()
                _, said = self.profile(pid)
                self.assertEqual(cached_files(said), set())
                self.assertIn(f"no cache in {CACHE}", said)
                if os.path.islink(CACHE):
                    break
                os.chown(CACHE, 0, 0)
                os.chmod(CACHE, 0o700)
            os.unlink(CACHE)
            shutil.move(CACHE + "2", CACHE)
            for name in os.listdir(CACHE):
                os.chown(f"{CACHE}/{name}", NOBODY, NOBODY)
            _, said = self.profile(pid)
            self.assertEqual(cached_files(said), set())
            self.assertEqual({os.stat(f"{CACHE}/{name}").st_uid for name in os.listdir(CACHE)}, {0})

    def test_a_full_or_read_only_disk_is_no_error(self):
        with busy() as pid:
            use_new_cache("size=8k")
            _, said = self.profile(pid)
            self.assertIn("cannot keep", said)
            self.assertEqual([name for name in os.listdir(CACHE) if not KEPT.fullmatch(name)], [])
            result = dwarfprof("-p", pid, "-d", "300ms")
            self.assertNotIn("keep", result.stderr)
            self.assertNotIn("cache", result.stderr)
            use_new_cache("ro")
            _, said = self.profile(pid)
            self.assertIn(f"no cache in {CACHE}", said)

    def test_a_file_that_was_changed_gets_new_tables(self):
        """It has the same build id and other unwind information, or only other sections."""
        with tempfile.TemporaryDirectory() as directory:
            library = f"{directory}/library.so"

            def build(size):
                functions = (f"int f{i}(int x) {{ volatile char a[{8 * i + size}]; return a[x]; }}" for i in range(400))
                subprocess.run(["gcc", "-O1", "-shared", "-Wl,--build-id=0x0123456789abcdef", "-xc", "-", "-o",
                                f"{directory}/other"], input="\n".join(functions), text=True, check=True)
                change()

            def change():
                """In place."""
                shutil.copyfile(f"{directory}/other", library)
                wait_until_settled(library)

            def is_kept():
                with Target(program("fibonacci"), "60", env={"LD_PRELOAD": library}) as pid:
                    said = self.profile(pid)[1]
                self.assertIn(f"{library}: ", said)
                return any(f"{library}: " in line and line.endswith(", from the cache") for line in said.splitlines())

            build(64)
            self.assertEqual([is_kept(), is_kept()], [False, True])
            inode = os.stat(library).st_ino
            build(4096)
            self.assertEqual(os.stat(library).st_ino, inode)
            self.assertEqual([is_kept(), is_kept()], [False, True])
            subprocess.run(["objcopy", "--add-section=.other=/bin/true", f"{directory}/other"], check=True)
            change()
            self.assertTrue(is_kept())

    def test_of_overlays_only_those_that_are_mounted_here(self):
        """A user can mount one in a namespace of their own, above files with inodes and times that they choose."""
        with tempfile.TemporaryDirectory() as directory:
            parts = [f"{directory}/{name}" for name in ("lower", "upper", "work", "merged")]
            lower, upper, work, merged = parts
            for part in parts:
                os.mkdir(part)
            library = shutil.copy("/lib/x86_64-linux-gnu/libc.so.6", lower)
            wait_until_settled(library)
            mount = ["mount", "-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", "none", merged]
            run = ["env", f"LD_LIBRARY_PATH={merged}", program("fibonacci"), "60"]

            def is_kept(*command):
                with Target(*command) as pid:
                    harness.wait_for(lambda: f"{merged}/libc.so.6" in harness.read(f"/proc/{pid}/maps"))
                    found = ["libc.so.6" in cached_files(self.profile(pid)[1]) for _ in range(2)]
                self.assertFalse(found[0])
                return found[1]

            self.assertFalse(is_kept("unshare", "--mount", "sh", "-ec", '"$@" && exec $0', " ".join(run), *mount))
            subprocess.run(mount, check=True)
            try:
                self.assertTrue(is_kept(*run))
            finally:
                harness.unmount(merged)

    def test_other_users_have_it_below_their_home(self):
        two = ["--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon", "--bounding-set=-all,+bpf,+perfmon"]
        nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        as_nobody = [*nobody, *two]
        with tempfile.TemporaryDirectory() as home, Target(*nobody, program("fibonacci"), "60") as pid:
            os.chown(home, NOBODY, NOBODY)
            for env, place in (({"HOME": home}, f"{home}/.cache/dwarfprof"),
                               ({"HOME": home, "XDG_CACHE_HOME": f"{home}/x/y"}, f"{home}/x/y/dwarfprof"),
                               ({"HOME": home, "XDG_CACHE_HOME": "x"}, f"{home}/.cache/dwarfprof")):
                self.profile(pid, prefix=as_nobody, env=env)
                self.assertTrue(os.listdir(place))
                self.assertEqual({os.stat(f"{place}/{name}").st_uid for name in ["", *os.listdir(place)]}, {NOBODY})
                _, said = self.profile(pid, prefix=as_nobody, env=env)
                self.assertIn("libc.so.6", cached_files(said))
            # No possible directory, and one that belongs to somebody else.
            for env, said in (({}, "no cache in any directory"), ({"XDG_CACHE_HOME": "/var/cache"}, "no cache in /var/cache")):
                self.assertIn(said, self.profile(pid, prefix=as_nobody, env=env)[1])


def main():
    if os.geteuid() == 0 and "DWARFPROF_TEST_NAMESPACE" not in os.environ:
        os.environ["DWARFPROF_TEST_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    harness.main()


if __name__ == "__main__":
    main()
