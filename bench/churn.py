# SPDX-License-Identifier: Apache-2.0
"""Processes that come and go, of programs that are many: what a host sees that profiles for months."""
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


class Starts(threading.Thread):
    """Starts so many of the programs per second, in turns; or less, but never more."""

    def __init__(self, programs, per_second):
        super().__init__()
        self.programs = programs
        self.per_second = per_second
        self.started = self.failed = 0
        self.is_over = False

    def run(self):
        due, running = time.monotonic(), []
        while not self.is_over:
            now = time.monotonic()
            while due <= now and len(running) < MAX_RUNNING:
                running.append(subprocess.Popen(self.programs[self.started % len(self.programs)]))
                self.started += 1
                due += 1 / self.per_second
            due = max(due, now - 1)
            self.failed += sum(process.poll() not in (None, 0) for process in running)
            running = [process for process in running if process.returncode is None]
            time.sleep(0.01)
        for process in running:
            process.wait()


def start_staying(programs):
    """A process that loads and unloads the libraries of all."""
    return subprocess.Popen([*programs[0], os.path.dirname(programs[0][1])])
