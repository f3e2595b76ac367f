#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files as processes see them: in other roots and mounts, deleted, replaced, modified, without a
directory.

usage: check_files.py DWARFPROF PROGRAM-DIR
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import chance
import harness
from harness import program, start, wait_for

SOURCE = """
volatile unsigned long n;
__attribute__((noinline)) void spin(void) { for (int i = 0; i < 1000000; i++) n++; }
__attribute__((noinline)) void WORK(void) { for (;;) { spin(); } }
int main(void) { WORK(); return n; }
"""


def compile_worker(path, name, *flags):
    """Compiles a program that works in a function of this name."""
    subprocess.run(["gcc", *flags, "-O2", "-fno-inline", "-fomit-frame-pointer", f"-DWORK={name}", "-x", "c", "-",
                    "-o", path], input=SOURCE, text=True, check=True)


def samples_of(pid, *args):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "out.jsonl")
        result = harness.dwarfprof("-p", str(pid), "-F", "999", "-d", "500ms", "-o", path, *args)
        assert result.returncode == 0, result.stderr
        with open(path) as file:
            return [json.loads(line) for line in file]


def names(sample):
    return [frame["symbol"] for frame in sample["user_stack"]]


class Files(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = temporary.name
        self.one, self.two = (os.path.join(self.directory, name) for name in ("one", "two"))
        compile_worker(self.one, "work_one")
        compile_worker(self.two, "work_two")

    def run_worker(self, *command, comm="one", **kwargs):
        """Starts a command that becomes the worker. Returns its PID, or that of its child."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **kwargs)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for(lambda: harness.read(f"/proc/{process.pid}/comm") == comm + "\n")
        return process.pid

    def expect(self, pid, name, path):
        """Names and stacks must be those of the file that runs. Returns the samples."""
        samples = []
        for _ in range(10):  # on a busy machine the worker has a small share of a CPU
            samples += [s for s in samples_of(pid) if s["outcome"] != "no_user_stack"]
            if len(samples) > 50:
                break
        self.assertGreater(len(samples), 50)
        for s in samples:
            self.assertEqual(s["outcome"], "complete", s)
            self.assertIn(names(s)[names(s).index("main") - 1], (name,), s)
        self.assertEqual({frame["module"] for s in samples for frame in s["user_stack"]
                          if frame["symbol"] == name}, {path})
        return samples

    def test_debug_files_in_another_root(self):
        root = os.path.join(self.directory, "root")
        library = "/lib/x86_64-linux-gnu/libc.so.6"
        for path in os.path.dirname(library), "/lib64", "/usr/lib/debug", "/elsewhere":
            os.makedirs(root + path)
        for path in library, "/lib64/ld-linux-x86-64.so.2":
            shutil.copy(os.path.realpath(path), root + path)
        debug = os.path.join(self.directory, "one.debug")
        for build_id, place in (("-Wl,--build-id", "/usr/lib/debug/.build-id/{0:.2}/{1}.debug"),
                                ("-Wl,--build-id", "/elsewhere/.debug/one.debug"),
                                ("-Wl,--build-id=none", "/usr/lib/debug/elsewhere/one.debug")):
            with self.subTest(place):
                compile_worker(self.one, "work_one", "-g", build_id)
                subprocess.run(["objcopy", "--only-keep-debug", self.one, debug], check=True)
                subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, self.one,
                                root + "/elsewhere/one"], check=True)
                found = re.search(r"Build ID: (\w+)", subprocess.run(
                    ["readelf", "-n", self.one], capture_output=True, text=True, check=True).stdout)
                build_id = found[1] if found else ""
                place = root + place.format(build_id, build_id[2:])
                os.makedirs(os.path.dirname(place), exist_ok=True)
                # A link inside the root must be resolved there, not to the file of that name
                # outside.
                os.symlink("/kept.debug", place)
                shutil.copy(debug, root + "/kept.debug")
                pid = self.run_worker("chroot", root, "/elsewhere/one")
                samples = self.expect(pid, "work_one", root + "/elsewhere/one")
                lines = {f["line"] for s in samples for f in s["user_stack"] if f["symbol"] == "work_one"}
                self.assertEqual(lines, {SOURCE.splitlines().index(next(
                    line for line in SOURCE.splitlines() if "WORK(void)" in line)) + 1})
                os.kill(pid, signal.SIGKILL)
                os.remove(place)
                # The debug file of another program must not be used.
                shutil.copy(self.two, root + "/kept.debug")
                os.symlink("/kept.debug", place)
                pid = self.run_worker("chroot", root, "/elsewhere/one")
                self.assertNotIn("work_one", {n for s in samples_of(pid, "--no-cache") for n in names(s)})
                os.kill(pid, signal.SIGKILL)
                os.remove(place)

    def test_deleted(self):
        pid = self.run_worker(self.one)
        os.unlink(self.one)
        self.expect(pid, "work_one", self.one)

    def test_replaced_by_another_build(self):
        first = self.run_worker(self.one)
        os.rename(self.two, self.one)
        second = self.run_worker(self.one)
        self.expect(first, "work_one", self.one)
        self.expect(second, "work_two", self.one)

    def test_names_after_the_end(self):
        """The process has ended and its file was deleted before names are looked up."""
        out = os.path.join(self.directory, "out.folded")
        process = start("-F", "499", "-o", out, "--", "/bin/sh", "-c", f"timeout 1 {self.one}; rm {self.one}; sleep 1",
                        stderr=subprocess.DEVNULL)
        process.wait()
        with open(out) as file:
            lines = [line for line in file if line.startswith("one;") and "main" in line]
        self.assertTrue([line for line in lines if "main;work_one;spin" in line], lines)
        self.assertFalse([line for line in lines if "truncated" in line], lines)

    def test_without_the_right_to_open_what_is_mapped(self):
        """A deleted library: a message says what would help."""
        own = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        two = ["--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon",
               "--bounding-set=-all,+bpf,+perfmon"]
        os.chmod(self.directory, 0o755)
        library = shutil.copy(program("libthrough_a.so"), self.directory)
        caller = subprocess.Popen([*own, program("caller"), library], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  text=True, bufsize=1)
        self.addCleanup(caller.communicate)
        self.addCleanup(caller.kill)
        wait_for(lambda: library in harness.read(f"/proc/{caller.pid}/maps"))
        os.unlink(library)
        caller.stdin.write("20000\n")
        result = subprocess.run([*own, *two, harness.DWARFPROF, "-p", str(caller.pid), "-d", "1"],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"cannot open {library}, which was deleted", result.stderr)
        self.assertIn("CAP_CHECKPOINT_RESTORE", result.stderr)
        self.assertIn("[truncated: ", result.stdout)

    def test_memfd(self):
        code = ("import os,sys\n"
                "fd = os.memfd_create('worker')\n"
                "os.write(fd, open(sys.argv[1], 'rb').read())\n"
                "os.execve(fd, ['worker'], {})\n")
        process = subprocess.Popen([sys.executable, "-c", code, self.one])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for(lambda: "memfd:worker" in os.readlink(f"/proc/{process.pid}/exe"))
        harness.wait_until_it_runs(process.pid)
        self.expect(process.pid, "work_one", "/memfd:worker")

    def in_namespace(self, script):
        """Runs a script in its own mount namespace; it ends by executing the worker."""
        return self.run_worker("unshare", "--mount", "/bin/sh", "-ec", script)

    def test_chroot(self):
        """/one exists only in the process's root, below a mount that nobody else sees."""
        root = os.path.join(self.directory, "root")
        pid = self.in_namespace(
            f"mkdir {root}; mount -t tmpfs none {root}; mkdir {root}/lib {root}/lib64 {root}/usr; "
            f"for d in lib lib64 usr; do mount --bind /$d {root}/$d; done; cp {self.one} {root}/one; "
            f"exec chroot {root} /one")
        # As /proc/PID/maps shows the path to processes outside.
        self.expect(pid, "work_one", f"{root}/one")

    def test_bind_mount_over_a_file(self):
        """By this path, all other processes see another build."""
        place = os.path.join(self.directory, "place", "one")
        os.mkdir(os.path.dirname(place))
        shutil.copy(self.two, place)
        self.expect(self.in_namespace(f"mount --bind {self.one} {place}; exec {place}"), "work_one", place)

    @staticmethod
    def let_children_use(pid, seconds):
        """Waits until children of a process have used that much CPU time, and have ended."""
        enough = harness.cpu_time_of_children(pid) + seconds
        wait_for(lambda: harness.cpu_time_of_children(pid) >= enough, 300)

    def test_processes_that_are_gone(self):
        """The file can no longer be opened by others, but it was opened in time."""
        place, out = os.path.join(self.directory, "place"), os.path.join(self.directory, "out.jsonl")
        script = (f"mkdir {place}; mount -t tmpfs none {place}; cp {self.one} {place}/gone; sleep 1; "
                  f"while true; do timeout 0.1 {place}/gone; done")
        # While it is stopped, its rings have to hold the samples and their stacks: only of these processes.
        process = start("--comm=^gone$", "-F", "999", "-o", out, stderr=subprocess.PIPE, text=True)
        harness.wait_until_it_says(process, "sampling")
        target = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", script])
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        wait_for(lambda: harness.children(target.pid))
        shell, = harness.children(target.pid)
        self.let_children_use(shell, 2)
        process.send_signal(signal.SIGSTOP)
        self.let_children_use(shell, 0.25)  # for more, there would be no room on a busy machine
        process.send_signal(signal.SIGCONT)
        self.let_children_use(shell, 0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        with open(out) as file:
            samples = [s for s in map(json.loads, file) if s["outcome"] != "no_user_stack"]
        self.assertEqual(samples[-1]["lost"], 0)
        self.assertGreater(len(samples), 1000)
        late = [s for s in samples if s["late"]]
        self.assertGreaterEqual(len(late), chance.enough(0.25, 0.5))
        for s in samples:
            self.assertEqual(s["outcome"], "complete", s)
        # About one in fifty is in the dynamic linker, before main(), and never one in four.
        working = [names(s) for s in late if "main" in names(s)[1:]]
        self.assertGreater(len(working), len(late) / 2)
        self.assertEqual({stack[stack.index("main") - 1] for stack in working}, {"work_one"})

    def test_overlay(self):
        """From the lower layer, from the upper layer, and replaced while it runs."""
        layers = os.path.join(self.directory, "layers")
        merged = f"{layers}/merged"
        prepare = (f"mkdir -p {layers}; mount -t tmpfs none {layers}; "
                   f"mkdir {layers}/lower {layers}/upper {layers}/work {merged}; cp {self.one} {layers}/lower/one; "
                   f"mount -t overlay none -o lowerdir={layers}/lower,upperdir={layers}/upper,workdir={layers}/work "
                   f"{merged}; ")
        for change in ("", f"touch {merged}/one; ", f"cp {self.one} {merged}/x; mv {merged}/x {merged}/one; "):
            with self.subTest(change):
                self.expect(self.in_namespace(f"{prepare}{change}exec {merged}/one"), "work_one", f"{merged}/one")
        pid = self.in_namespace(f"{prepare}(sleep 0.3; cp {self.two} {merged}/x; mv {merged}/x {merged}/one) & "
                                f"exec {merged}/one")
        wait_for(lambda: os.readlink(f"/proc/{pid}/exe").endswith(" (deleted)"))
        self.expect(pid, "work_one", f"{merged}/one")

    def test_a_library_that_is_written_to(self):
        """As by cp: the process's mapped pages change."""
        library, out = os.path.join(self.directory, "lib.so"), os.path.join(self.directory, "out.jsonl")
        shutil.copy(program("libthrough_a.so"), library)
        caller = subprocess.Popen([program("caller"), library], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, bufsize=1)
        self.addCleanup(caller.communicate)
        self.addCleanup(caller.kill)

        def work(seconds):
            caller.stdin.write(f"{int(1000 * seconds)}\n")
            self.assertEqual(caller.stdout.readline(), "done\n")

        process = start("-p", str(caller.pid), "-F", "499", "-o", out, stderr=subprocess.PIPE, text=True)
        while "sampling" not in process.stderr.readline():
            pass
        work(1)
        with open(program("libthrough_b.so"), "rb") as other, open(library, "r+b") as file:
            file.write(other.read())
        written = time.monotonic_ns()
        work(4)
        process.send_signal(signal.SIGINT)
        process.communicate()
        with open(out) as file:
            samples = [s for s in map(json.loads, file) if "spin" in names(s)]
        before = [s for s in samples if s["time_ns"] < written]
        after = [s for s in samples if s["time_ns"] > written]
        self.assertEqual({s["outcome"] for s in before}, {"complete"})
        self.assertEqual({s["outcome"] for s in after}, {"complete", "code_changed"})
        # The old file's names are gone, and the new file's names must not be used.
        self.assertFalse([s for s in before if "through_b" in names(s)])
        self.assertFalse([s for s in after if "through_a" in names(s)])
        whole = [s for s in after if s["outcome"] == "complete"]
        self.assertTrue(all("through_b" in names(s) for s in whole))
        # The mappings are read again after a second.
        self.assertEqual({s["outcome"] for s in after[2 * len(after) // 3:]}, {"complete"})


if __name__ == "__main__":
    harness.main()
