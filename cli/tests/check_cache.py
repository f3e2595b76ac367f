#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables and names kept on disk: they are reused, never trusted, and never in the way.

usage: check_cache.py DWARFPROF PROGRAM-DIR

Runs in a separate mount namespace with its own /var/cache.
"""
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

import harness
import slow_files
from harness import Target, busy, dwarfprof, program

CACHE = "/var/cache/dwarfprof"
NOBODY = 65534
KEPT = re.compile(r"[0-9a-f]+-[0-9a-f]+-v\d+\.image")


def use_new_cache(options="size=64m,mode=755"):
    """Mounts a new, empty /var/cache."""
    subprocess.run(["umount", "/var/cache"], stderr=subprocess.DEVNULL)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", "/var/cache"], check=True)


def images():
    return [name for name in os.listdir(CACHE) if name.endswith(".image")]


def build_id(path):
    """In hex, as in the names of the cache's files."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


def mark(name):
    """Changes a name in a file of the cache, with a matching checksum: names then tell where they come from."""
    with open(f"{CACHE}/{name}", "r+b") as file:
        data = bytearray(file.read().replace(b"mix_many", b"mix_kept"))
        data[12:16] = zlib.crc32(data[16:]).to_bytes(4, "little")
        file.seek(0)
        file.write(data)


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
    """A program with a separate debug file."""

    @classmethod
    def setUpClass(cls):
        """A program for each test, as nothing is kept for a file that has just changed."""
        cls.directories = [tempfile.mkdtemp() for _ in unittest.defaultTestLoader.getTestCaseNames(cls)]
        for directory in cls.directories:
            cls.addClassCleanup(shutil.rmtree, directory)
            shutil.copy(program("inlined"), directory)
            for options in (["--only-keep-debug", "inlined", "inlined.debug"],
                            ["--strip-debug", "--add-gnu-debuglink=inlined.debug", "inlined"]):
                subprocess.run(["objcopy", *options], cwd=directory, check=True)
        time.sleep(3.1)

    def setUp(self):
        use_new_cache()
        directory = self.directories.pop()
        self.path = lambda name: os.path.join(directory, name)
        result = dwarfprof("-F", "499", "-o", self.path("x.dwarfprof"), "--", self.path("inlined"), "1")
        self.assertEqual(result.returncode, 0, result.stderr)

    def report(self, *options, command=("convert", "-o", "out.jsonl")):
        result = dwarfprof(*command[:1], "x.dwarfprof", *command[1:], *options, cwd=self.path(""))
        self.assertEqual(result.returncode, 0, result.stderr)
        return harness.read(self.path("out.jsonl"))

    def kept(self):
        """Cache files of the program; the machine may have debug information of libraries too."""
        start = build_id(self.path("inlined"))
        return [name for name in os.listdir(CACHE) if name.startswith(f"{start}-") and name.endswith(".places")]

    def test_they_are_the_same_from_disk(self):
        cold = self.report()
        self.assertIn('"mix_many"', cold)
        self.assertIn("inlined.c", cold)
        (name,) = self.kept()
        self.assertEqual(os.stat(f"{CACHE}/{name}").st_mode & 0o7777, 0o600)
        written = os.stat(f"{CACHE}/{name}").st_ino
        self.assertEqual(self.report(), cold)
        # Nothing new was written.
        self.assertEqual(os.stat(f"{CACHE}/{name}").st_ino, written)
        mark(name)
        self.assertEqual(self.report(), cold.replace("mix_many", "mix_kept"))
        for options in ["--no-cache"], ["--demangle", "full"], ["--no-inline"], ["--no-lines"]:
            self.assertNotIn("mix_kept", self.report(*options), options)
        # They are those of its bytes, whenever it was changed.
        os.utime(self.path("inlined"))
        self.assertIn('"mix_kept"', self.report())
        # And of those of the debug file.
        with open(self.path("inlined.debug"), "ab") as file:
            file.write(b"more")
        self.assertNotIn('"mix_kept"', self.report())

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
        for wanted in "mix_many", "mix_kept":
            result = dwarfprof("-F", "499", "-o", self.path("out.jsonl"), "--", self.path("inlined"), "1")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("inlined.c", harness.read(self.path("out.jsonl")))
            self.assertIn(f'"{wanted}"', harness.read(self.path("out.jsonl")))
            name, = self.kept()
            mark(name)

    def test_parts_that_come_later_are_not_hidden(self):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test-programs/inlined.c")
        subprocess.run(["gcc", "-O2", "-gdwarf-5", "-gsplit-dwarf", "-Wl,--build-id", "-c", source], cwd=self.path(""), check=True)
        subprocess.run(["gcc", "inlined.o", "-Wl,--build-id", "-o", "inlined"], cwd=self.path(""), check=True)
        os.rename(self.path("inlined.dwo"), self.path("elsewhere"))
        time.sleep(3.1)
        result = dwarfprof("-F", "499", "-o", self.path("x.dwarfprof"), "--", self.path("inlined"), "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn('"mix_many"', self.report())
        self.assertEqual(self.kept(), [])
        os.rename(self.path("elsewhere"), self.path("inlined.dwo"))
        self.assertIn('"mix_many"', self.report())
        # Which bytes libdw has read of such a file, nobody knows.
        self.assertEqual(self.kept(), [])


class Cache(unittest.TestCase):
    """Each test starts with an empty cache."""

    def setUp(self):
        use_new_cache()

    def profile(self, pid, *options, run=dwarfprof):
        """A run that must be as good as any: returns its folded stacks and its messages."""
        result = run("-v", "-p", pid, "-F", "499", "-d", "300ms", *options)
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

    def test_its_names_have_the_build_ids(self):
        with busy() as pid:
            self.profile(pid)
        start = build_id("/lib/x86_64-linux-gnu/libc.so.6")
        self.assertTrue([name for name in images() if name.startswith(f"{start}-")])

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
            self.assertEqual([name for name in os.listdir(CACHE) if not name.endswith((".image", ".places"))], [])
            result = dwarfprof("-p", pid, "-d", "300ms")
            self.assertNotIn("keep", result.stderr)
            self.assertNotIn("cache", result.stderr)
            use_new_cache("ro")
            _, said = self.profile(pid)
            self.assertIn(f"no cache in {CACHE}", said)

    def test_files_with_the_same_unwind_information_share_tables(self):
        """A file that was just made, and one with other sections, which has another size and other times."""
        with tempfile.TemporaryDirectory() as directory:
            library = shutil.copy("/lib/x86_64-linux-gnu/libc.so.6", directory)
            os.chmod(library, 0o775)  # others than its owner may change it, so that its bytes alone count

            def profile():
                with Target(program("fibonacci"), "60", env={"LD_LIBRARY_PATH": directory}) as pid:
                    return [f"{library}: " in line and line.endswith(", from the cache")
                            for line in self.profile(pid)[1].splitlines()]

            time.sleep(3)  # nothing is kept for a file that has just changed
            self.assertNotIn(True, profile())
            self.assertIn(True, profile())
            subprocess.run(["objcopy", "--remove-section=.comment", library, f"{directory}/other"], check=True)
            shutil.copyfile(f"{directory}/other", library)
            self.assertIn(True, profile())

    def test_other_users_have_it_below_their_home(self):
        two = ["--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon", "--bounding-set=-all,+bpf,+perfmon"]
        nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        with tempfile.TemporaryDirectory() as home, Target(*nobody, program("fibonacci"), "60") as pid:
            os.chown(home, NOBODY, NOBODY)
            for env, place in (({"HOME": home}, f"{home}/.cache/dwarfprof"),
                               ({"HOME": home, "XDG_CACHE_HOME": f"{home}/x/y"}, f"{home}/x/y/dwarfprof"),
                               ({"HOME": home, "XDG_CACHE_HOME": "x"}, f"{home}/.cache/dwarfprof")):
                def run(*args):
                    return subprocess.run([*nobody, *two, harness.DWARFPROF, *args], capture_output=True,
                                          text=True, timeout=60, env=env)

                self.profile(pid, run=run)
                self.assertTrue(os.listdir(place))
                self.assertEqual({os.stat(f"{place}/{name}").st_uid for name in ["", *os.listdir(place)]}, {NOBODY})
                _, said = self.profile(pid, run=run)
                self.assertIn("libc.so.6", cached_files(said))
            # No possible directory, and one that belongs to somebody else.
            for env, said in (({}, "no cache in any directory"), ({"XDG_CACHE_HOME": "/var/cache"}, "no cache in /var/cache")):
                self.assertIn(said, self.profile(pid, run=run)[1])


class Forger(slow_files.Server):
    """Shows a file with the inode, owner and times of another one."""

    looks = None

    def attributes(self, inode):
        if inode == slow_files.ROOT:
            return super().attributes(inode)
        st = self.looks
        seconds = [t // 10**9 for t in (st.st_atime_ns, st.st_mtime_ns, st.st_ctime_ns)]
        rest = [t % 10**9 for t in (st.st_atime_ns, st.st_mtime_ns, st.st_ctime_ns)]
        return struct.pack("<6Q10I", st.st_ino, self.size, st.st_blocks, *seconds, *rest, st.st_mode, 1,
                           st.st_uid, st.st_gid, 0, 4096, 0)


class ForgedFiles(slow_files.SlowFiles):
    SERVER = Forger


class Forged(unittest.TestCase):
    """Someone serves a file system, below an overlay, with a program of another user's that has other names."""

    def setUp(self):
        use_new_cache()
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.real, self.served, self.empty = (os.path.join(self.directory, name) for name in ("real", "served", "empty"))
        for place in self.real, self.served, self.empty:
            os.mkdir(place)
        self.path = shutil.copy(program("inlined"), self.real)

    def names(self, pid):
        out = os.path.join(self.directory, "out.jsonl")
        result = dwarfprof("-F", "499", "-d", "1", "-p", pid, "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        return harness.read(out)

    def serve(self):
        """The file system, and a command that starts the forged program where the real one is."""
        forged = os.path.join(self.directory, "forged")
        with open(self.path, "rb") as source, open(forged, "wb") as file:
            file.write(source.read().replace(b"mix_many", b"mix_evil"))
        Forger.looks = os.stat(self.path)
        self.enterContext(ForgedFiles(self.served, forged, ["inlined"]))
        return ["unshare", "--mount", "sh", "-ec",
                f"mount -t overlay -o lowerdir={self.served}:{self.empty} overlay {self.real}; "
                f"exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups {self.path} 60"]

    def test_a_program_has_no_names_of_another_file(self):
        wait = os.stat(self.path).st_ctime + 3  # what has just changed might not be kept
        harness.wait_for(lambda: time.time() > wait)
        with Target(*self.serve()) as pid:
            harness.wait_for(lambda: os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "inlined")
            self.assertIn('"mix_evil"', self.names(pid))
        with Target(self.path, "60") as pid:
            real = self.names(pid)
        self.assertIn('"mix_many"', real)
        self.assertNotIn("mix_evil", real)


def main():
    if os.geteuid() == 0 and "DWARFPROF_TEST_NAMESPACE" not in os.environ:
        os.environ["DWARFPROF_TEST_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    harness.main()


if __name__ == "__main__":
    main()
