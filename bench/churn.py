# SPDX-License-Identifier: Apache-2.0
"""Processes that come and go, of programs that are many: what a host sees that profiles for months."""
import hashlib
import os
import re
import subprocess
import threading
import time

ZEROS = b"000000"
# What the number is written over, wherever it stands: contents, and names of functions.
PLACES = (b"churn-contents-", b"churn_function_")
# A note's head, of name "GNU" and type NT_GNU_BUILD_ID, with 20 bytes behind it: the gABI, "Note Section".
BUILD_ID = re.compile(rb"\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00")
# On a machine that cannot do what is asked for, no more run at a time, and what is late is left out.
MAX_RUNNING = 200


def numbered(image, number):
    """The file's bytes, as those of another program."""
    for place in PLACES:
        assert place + ZEROS in image, place
        image = image.replace(place + ZEROS, place + b"%06d" % number)
    note = BUILD_ID.search(image)
    assert note, "no build id"
    return image[:note.end()] + number.to_bytes(20, "little") + image[note.end() + 20:]


def make(build, directory, n):
    """n programs, and in a directory of their own a library for each of them. Their paths, in pairs."""
    made, libraries = [], os.path.join(directory, "libraries")
    os.mkdir(libraries)
    with open(f"{build}/bench/bench_churn", "rb") as program, \
            open(f"{build}/bench/libbench_churn.so", "rb") as library:
        images = (directory, "", 0, program.read()), (libraries, ".so", 500_000, library.read())
    for i in range(1, n + 1):
        paths = []
        for where, ending, first, image in images:
            path = os.path.join(where, f"churn{i:06}{ending}")
            with open(path, "wb") as file:
                file.write(numbered(image, first + i))
            os.chmod(path, 0o755)
            paths.append(path)
        made.append(tuple(paths))
    return made


class Containers:
    """A cgroup, named as a container's, is made for each program started, and removed after it: n names, in turns."""

    def __init__(self, mount, n):
        self.paths = [os.path.join(mount, f"docker-{hashlib.sha256(b'%d' % i).hexdigest()}.scope") for i in range(n)]

    def make(self, number):
        path = self.paths[number % len(self.paths)]
        os.mkdir(path)
        return path

    @staticmethod
    def enter(path):
        with open(os.path.join(path, "cgroup.procs"), "w") as file:
            file.write("0")


class Starts(threading.Thread):
    """Starts so many of the programs per second, in turns; or less, but never more. In containers, if there are any."""

    def __init__(self, programs, per_second, containers=None):
        super().__init__()
        self.programs = programs
        self.per_second = per_second
        self.containers = containers
        self.started = self.failed = 0
        self.is_over = False

    def start_next(self):
        program = self.programs[self.started % len(self.programs)]
        if self.containers:
            path = self.containers.make(self.started)
            process = subprocess.Popen(program, preexec_fn=lambda: self.containers.enter(path))
        else:
            path, process = None, subprocess.Popen(program)
        self.started += 1
        return process, path

    def is_running(self, process, path):
        if process.poll() is None:
            return True
        self.failed += process.returncode != 0
        if path:
            os.rmdir(path)
        return False

    def run(self):
        due, running = time.monotonic(), []
        while not self.is_over:
            now = time.monotonic()
            while due <= now and len(running) < MAX_RUNNING:
                running.append(self.start_next())
                due += 1 / self.per_second
            due = max(due, now - 1)
            running = [one for one in running if self.is_running(*one)]
            time.sleep(0.01)
        for process, path in running:
            process.wait()
            self.is_running(process, path)


def start_staying(programs):
    """A process that loads and unloads the libraries of all."""
    return subprocess.Popen([*programs[0], os.path.dirname(programs[0][1])])
