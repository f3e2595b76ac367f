#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user without any rights does to root's profiler costs that user's own stacks and names, and nobody else's.

usage: check_attacks.py DWARFPROF PROGRAM-DIR

All files and programs are theirs; what they mount, they have mounted themselves, in a user namespace. Runs in a mount namespace
with its own /var/cache.
"""
import collections
import contextlib
import ctypes
import errno
import glob
import json
import lzma
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import check_cache
import harness
from check_sandbox import command, helpers
from check_slow_files import SENTENCE
from ending import BOUND, Ending
from harness import wait_for
from slow_files import NOBODY, OPEN, READ, SlowFiles, UserFiles

AS_NOBODY = "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"
GIB = 1 << 30
INFLATED = 3 * GIB
# MiB: of the profiler, and of any helper (CONFINE_MEMORY, and what else it has).
OWN_MOST, HELPER_MOST = 300, 1024 + 200
# A symbol table of zeros, which takes long enough to read.
N_CUT_SYMBOLS = 4 << 20
# Seconds.
DURATION = 1
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test-programs/fibonacci.c")
LOOP = "int main(void) { for (volatile int i = 0;; i++) continue; }\n"


def deflated(n_bytes, wrap):
    """Zeros, of which each MiB is compressed on its own. wrap: as for zlib.compressobj()."""
    packer = zlib.compressobj(6, zlib.DEFLATED, wrap)
    first = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * ((n_bytes >> 20) - 1) + packer.flush()


def xz(n_bytes):
    """Likewise: chunks that each begin anew."""
    size = 1 << 21
    whole = lzma.compress(bytes(size), format=lzma.FORMAT_XZ, check=lzma.CHECK_NONE)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
    chunk = lzma.compress(bytes(size), format=lzma.FORMAT_RAW, filters=filters)
    assert chunk[0] >= 0xe0 and chunk in whole
    before, after = whole.split(chunk)
    return before + chunk[:-1] * (n_bytes // size) + chunk[-1:] + after


class Memory(threading.Thread):
    """The peaks of a profiler's memory, and of any helper's, in MiB."""
    def __init__(self, profiler):
        super().__init__(daemon=True)
        self.profiler, self.own, self.of_helpers = profiler, 0, 0
        self.start()

    def peak(self, pid):
        found = re.search(r"^VmHWM:\s+(\d+)", harness.read(f"/proc/{pid}/status"), re.M)
        return int(found[1]) >> 10 if found else 0

    def run(self):
        while command(self.profiler):
            self.own = max(self.own, self.peak(self.profiler))
            self.of_helpers = max([self.of_helpers, *map(self.peak, helpers(self.profiler)[1])])
            time.sleep(0.02)


class Opens:
    """Was a file opened, or does anybody wait for that? O_PATH does not count, nor what is refused."""
    IN_OPEN = 0x20  # linux/inotify.h

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.path, self.events, self.had = path, libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), False
        if libc.inotify_add_watch(self.events, path.encode(), self.IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.events)

    def happened(self):
        with contextlib.suppress(BlockingIOError):
            self.had |= bool(os.read(self.events, 4096))
        self.had = self.had or stat.S_ISFIFO(os.stat(self.path).st_mode) and self.has_reader()
        return self.had

    def has_reader(self):
        """One that waits for a writer has the pipe, too."""
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return False
        return True


class Attacks(Ending):
    LONG = "test_a_debug_file_larger_than_any_disk", "test_gzip", "test_programs_that_never_come"

    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)

    def as_nobody(self, *args):
        """They run in a directory of theirs."""
        os.chown(self.directory, NOBODY, NOBODY)
        subprocess.run([*AS_NOBODY, *args], check=True, cwd=self.directory)

    def make(self, source, *options, name="program"):
        with open(self.path("source.c"), "w") as file:
            file.write(source)
        self.as_nobody("gcc", "-O1", "-Wl,--build-id", *options, "-o", name, "source.c")
        return self.path(name)

    def put(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        os.chown(self.path(name), NOBODY, NOBODY)

    def run_theirs(self, *args):
        process = subprocess.Popen([*AS_NOBODY, *args])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        harness.wait_until_it_runs(process.pid, 0.05)
        return process.pid

    def profile(self, *pids, args=(), seconds=0.1, meanwhile=contextlib.nullcontext):
        """Besides a program of root's, which is sampled as ever; returns the samples of the others."""
        path = self.path("out.jsonl")
        with harness.busy() as busy:
            profiler = self.start("-F", "499", "-p", ",".join(map(str, (*pids, busy))), *args, "-o", path)
            memory = Memory(profiler.pid)
            self.began(profiler)
            self.is_said("sampling ")
            harness.wait_until_it_runs(int(busy), seconds)
            with meanwhile():
                self.interrupt(profiler, seconds=12)
        memory.join()
        print(f"MiB: {memory.own}, and of a helper {memory.of_helpers}", flush=True)
        if "--sandbox=off" not in args:
            self.assertLess(memory.own, OWN_MOST, self.said())
        self.assertLess(memory.of_helpers, HELPER_MOST, self.said())
        with open(path) as file:
            *samples, totals = map(json.loads, file)
        self.assertEqual(totals["lost"], 0)
        of = [s for s in samples if s["pid"] == int(busy)]
        self.assertGreater(len(of), 20)
        self.assertEqual({s["outcome"] for s in of} - {"no_user_stack"}, {"complete"})
        self.assertIn("fibonacci", {frame["symbol"] for s in of for frame in s["user_stack"]})
        return [s for s in samples if s["pid"] in pids]

    def began(self, profiler):
        """What the attacker does when there is a profiler."""

    def symbols(self, samples):
        return collections.Counter(frame["symbol"] for s in samples for frame in s["user_stack"])

    # File systems that they serve. The kernel itself refuses what others' processes would have to ask these (fuse_get_req(),
    # fs/fuse/dev.c), but for what is in memory; check_slow_files.py has those that are mounted for all users.

    def test_programs_that_never_come(self):
        files = self.enterContext(UserFiles(self.directory, harness.program("fibonacci"), ["fibonacci"], hangs=(OPEN, READ),
                                            is_deaf=True))
        pid = files.run(*files.paths(), "3600")
        harness.wait_until_it_runs(pid, 0.05)
        self.began = lambda profiler: files.hang_for(profiler.pid)
        self.assertIn("file_not_readable", {s["outcome"] for s in self.profile(pid)})
        self.assertIn(SENTENCE, harness.read(self.path("out.jsonl")))

    def test_programs_that_never_come_to_any_user(self):
        """As fusermount3 mounts them where its configuration has user_allow_other: the kernel refuses nobody."""
        os.mkdir(self.path("mounted"))
        files = SlowFiles(self.path("mounted"), harness.program("fibonacci"), ["fibonacci"], hangs=(OPEN, READ), is_deaf=True)
        files.__enter__()
        self.addCleanup(files.__exit__)
        pid = self.run_theirs(*files.paths(), "3600")

        def begin(profiler):
            self.addCleanup(files.__exit__)  # before anybody waits for the profiler
            files.hang_for(profiler.pid)
        self.began = begin
        self.assertIn("file_not_readable", {s["outcome"] for s in self.profile(pid)})

    def test_false_names(self):
        """Below an overlay, with the build id, inode, size and times of root's program; and both are in a cache before."""
        theirs = tempfile.TemporaryDirectory()
        self.addCleanup(theirs.cleanup)
        os.chmod(theirs.name, 0o755)
        program = shutil.copy(harness.program("fibonacci"), self.path("program"))
        with open(program, "rb") as file:
            content = file.read()
        false = os.path.join(theirs.name, "false")
        with open(false, "wb") as file:
            file.write(content.replace(b"fibonacci", b"fakenames"))
        check_cache.wait_until_settled(program)
        files = self.enterContext(UserFiles(theirs.name, false, ["program"], like=program, overlay=True))
        pid = files.run(*files.paths(), "3600")
        harness.wait_until_it_runs(pid, 0.05)
        self.assertEqual([getattr(os.stat(f"/proc/{pid}/exe"), name) for name in ("st_ino", "st_size", "st_mtime_ns")],
                         [getattr(os.stat(program), name) for name in ("st_ino", "st_size", "st_mtime_ns")])
        check_cache.use_new_cache()

        def names(*pids):
            result, = harness.run_at_once([harness.DWARFPROF, "-F", "499", "-p", ",".join(pids)], of=pids, seconds=0.1)
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout
        with harness.Target(program, "3600") as ours:
            self.assertIn("fakenames", names(str(pid)))
            for pids in (ours,), (ours, str(pid)), (ours,):
                found = names(*pids)
                self.assertIn(";main;fibonacci", found)
                if len(pids) == 1:
                    self.assertNotIn("fakenames", found)

    # Files that are cut off while they are read.

    @contextlib.contextmanager
    def cut(self, path, keep):
        """Again and again, with holes in place of what was there."""
        size, ends = os.path.getsize(path), threading.Event()

        def run():
            while not ends.wait(0.002):
                os.truncate(path, keep)
                os.truncate(path, size)
        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            ends.set()
            thread.join()

    def make_library(self):
        """Its symbol table is one of holes behind all that was there, of which the size is returned, too."""
        path = self.make(LOOP.replace("main", "work"), "-shared", "-fPIC", name="library.so")
        with open(path, "r+b") as file:
            content = bytearray(file.read())
            headers, = struct.unpack_from("<Q", content, 0x28)
            size, n = struct.unpack_from("<HH", content, 0x3a)
            for at in range(headers, headers + n * size, size):
                if struct.unpack_from("<I", content, at + 4)[0] == 2:  # SHT_SYMTAB
                    struct.pack_into("<QQ", content, at + 24, len(content) + 4095 & ~4095, 24 * N_CUT_SYMBOLS)
            file.seek(0)
            file.write(content)
            file.truncate((len(content) + 4095 & ~4095) + 24 * N_CUT_SYMBOLS)
            return path, len(content)

    def test_symbols_that_are_cut_off(self):
        path, keep = self.make_library()
        program = self.make("int work(void); int main(void) { return work(); }\n", "-Wl,--no-as-needed", path)
        for args in (), ("--sandbox=off",):
            with self.subTest(args):
                pid = self.run_theirs(program)
                self.assertTrue(self.profile(pid, args=args, meanwhile=lambda: self.cut(path, keep)))

    def test_tables_of_what_is_cut_off(self):
        """Code of which every byte has a row: reading the unwind information takes a while."""
        n = 8 << 20
        rows = bytes(0x41 if i % 3 == 0 else 0x0e if i % 3 == 1 else 8 * (1 + i // 3 % 13) for i in range(3 * 13)) * (n // 13)
        self.put("rows", rows)
        with open(self.path("source.c"), "w") as file:
            file.write('__asm__(".text\\n.globl _start\\n_start: .skip ' + str(n) + ', 0x90\\n.cfi_sections .eh_frame\\n'
                       '.section .eh_frame,\\"a\\",@unwind\\n.Lcie: .long 20, 0\\n.byte 1\\n.asciz \\"zR\\"\\n'
                       '.byte 1, 0x78, 16, 1, 0x1b, 12, 7, 8, 0x90, 1, 0, 0\\n'
                       f'.Lfde: .long .Lend - . - 4, . - .Lcie\\n.long _start - ., {n}\\n.byte 0\\n'
                       f'.incbin \\"{self.path("rows")}\\"\\n.balign 4\\n.Lend:\\n.text");\n')
        self.as_nobody("gcc", "-nostdlib", "-static", "-Wl,--build-id", "-o", "program", "source.c")
        path = self.path("program")
        for args in (), ("--sandbox=off",):
            with self.subTest(args):
                for _ in range(5):
                    copy = shutil.copy(path, self.path("copy"))
                    process = harness.start("tables", *args, copy, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                    self.addCleanup(process.kill)
                    harness.wait_for(lambda: process.poll() is not None or sum(
                        map(harness.cpu_time, [process.pid, *sum(helpers(process.pid), [])])) > 0.1)
                    if process.poll() is None:
                        break
                    process.communicate()
                else:
                    self.fail("it is too fast")
                os.truncate(copy, 4096)
                said = process.communicate(timeout=60)[1]
                self.assertIn(process.returncode, (0, 1), said)
                self.assertNotIn("crashed", said)

    # Debug files that are none.

    def make_separate(self):
        """{program: the file with its debug information}, by each way to name that."""
        source = harness.read(SOURCE).replace('#include "seconds.h"', harness.read(os.path.join(os.path.dirname(SOURCE), "seconds.h")))
        linked = self.make(source, "-g", name="linked")
        self.as_nobody("objcopy", "--only-keep-debug", "linked", "linked.debug")
        self.as_nobody("objcopy", "--strip-debug", "--add-gnu-debuglink=linked.debug", "linked")
        split = self.make(source, "-g", "-gsplit-dwarf", name="split")
        dwo, = glob.glob(self.path("*.dwo"))
        shared = self.make(source, "-g", "-gdwarf-4", name="shared")
        self.as_nobody("cp", "shared", "other")
        self.as_nobody("dwz", "-m", self.path("shared.debug"), "-M", self.path("shared.debug"), "shared", "other")
        return {linked: self.path("linked.debug"), split: dwo, shared: self.path("shared.debug")}

    def watch(self, files):
        return [self.enterContext(Opens(path)) for path in files]

    def check_no_debug_files(self, pids, *args, seconds=BOUND):
        """Root's profile of these ends in time, with names. Returns what was opened of their debug files."""
        opens, path = self.watch(self.debug_files), self.path("out.jsonl")
        with harness.busy() as busy:
            for_pids = "-p", ",".join([*pids, busy])
            profiler = self.start(*(args or for_pids), "-d", str(DURATION), "-o", path, rate=("-F", "499"))
            self.is_said("sampling ")
            with self.in_time(profiler, DURATION + seconds):
                wait_for(lambda: profiler.poll() is not None or any(o.happened() for o in opens))
        self.assertNotIn("has no names", self.said())
        with open(path) as file:
            samples = [s for s in map(json.loads, file) if s.get("user_stack")]
        names = {pid: self.symbols(s for s in samples if s["pid"] == int(pid)) for pid in (*pids, busy)}
        # With -a, those that the machine runs besides may leave no time for one of them.
        self.assertEqual({pid for pid in names if names[pid]}, {pid for pid in names if "fibonacci" in names[pid]}, self.said())
        self.assertTrue(any(names.values()) if args else all(names.values()), self.said())
        return [o.path for o in opens if o.happened()]

    def test_debug_files_that_are_none(self):
        """A pipe that nobody writes to, and a device, of which opening may have effects. What is one is opened."""
        separate = self.make_separate()
        self.debug_files = list(separate.values())
        pids = [str(self.run_theirs(program, "3600")) for program in separate]
        for pid in pids:
            os.setpriority(os.PRIO_PROCESS, int(pid), -5)
        opens = self.watch(self.debug_files)
        self.profile(*map(int, pids))
        self.assertEqual([o.path for o in opens if o.happened()], self.debug_files)
        for make in os.mkfifo, lambda path: os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5)):
            for path in self.debug_files:
                os.unlink(path)
                make(path)
                os.chown(path, NOBODY, NOBODY)
            # With -a, names of what else runs are looked up as well.
            for args, seconds in ((), BOUND), (("-a",), 60):
                with self.subTest(args):
                    self.assertEqual(self.check_no_debug_files(pids, *args, seconds=seconds), [])

    # Debug files that inflate, or are larger than any disk.

    def link_debug_file(self, content):
        """A program whose debug file is that."""
        self.make(LOOP, "-g")
        self.put("program.debug", content)
        self.as_nobody("objcopy", "--strip-debug", "--add-gnu-debuglink=program.debug", "program")
        return self.run_theirs(self.path("program"))

    def check_names(self, pid):
        """Those that it has without."""
        self.assertIn("main", self.symbols(self.profile(pid)))

    def test_xz(self):
        content = xz(INFLATED)
        self.assertLess(len(content), 1 << 20)
        self.check_names(self.link_debug_file(content))

    def test_gzip(self):
        self.check_names(self.link_debug_file(deflated(INFLATED, 31)))

    def test_a_part_that_inflates(self):
        """A .dwo file with strings that inflate."""
        self.make(LOOP, "-g", "-gsplit-dwarf", "-gdwarf-5")
        dwo, = (name for name in os.listdir(self.directory) if name.endswith(".dwo"))
        self.put("strings", b"ZLIB" + INFLATED.to_bytes(8, "big") + deflated(INFLATED, 15))
        self.as_nobody("objcopy", "--remove-section=.debug_str.dwo", "--add-section",
                       f".zdebug_str.dwo={self.path('strings')}", dwo)
        self.assertLess(os.path.getsize(self.path(dwo)), 4 << 20)
        self.check_names(self.run_theirs(self.path("program")))

    def test_a_debug_file_larger_than_any_disk(self):
        """It is needed for its unwind information, and Ctrl-C ends that."""
        self.make("void _start(void) { for (;;) ; }\n", "-g", "-fno-asynchronous-unwind-tables", "-nostdlib", "-static",
                  "-Wl,--build-id=none")  # else its checksum would not be compared
        self.as_nobody("objcopy", "--only-keep-debug", "program", "program.debug")
        self.as_nobody("objcopy", "--strip-debug", "--add-gnu-debuglink=program.debug", "program")
        os.truncate(self.path("program.debug"), 30 * GIB)
        pid = self.run_theirs(self.path("program"))
        profiler = self.start("-p", str(pid), "-o", self.path("x.folded"))
        memory = Memory(profiler.pid)
        harness.wait_for(lambda: any(harness.cpu_time(helper) > 0.3 for helper in helpers(profiler.pid)[1]), 60)
        self.interrupt(profiler, codes=(0, 5))
        memory.join()
        self.assertLess(memory.own, OWN_MOST)
        self.assertLess(memory.of_helpers, HELPER_MOST)
        began = time.monotonic()
        self.began = lambda profiler: (self.is_said("sampling "), print(f"{time.monotonic() - began:.1f} s", flush=True))
        self.profile(pid)


def main():
    if os.geteuid() == 0 and "DWARFPROF_TEST_NAMESPACE" not in os.environ:
        os.environ["DWARFPROF_TEST_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    harness.main()


if __name__ == "__main__":
    main()
