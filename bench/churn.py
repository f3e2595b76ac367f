# SPDX-License-Identifier: Apache-2.0
"""Processes that come and go, of programs that are many: what a host sees that profiles for months."""
import hashlib
import mmap
import os
import re
import struct
import subprocess
import tempfile

ZEROS = b"000000"
# What the number is written over, wherever it stands: contents, and names of functions.
PLACES = (b"churn-contents-", b"churn_function_")
# A note's head, of name "GNU" and type NT_GNU_BUILD_ID, with 20 bytes behind it: the gABI, "Note Section".
BUILD_ID = re.compile(rb"\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00")
# What churn_starter.c counts.
COUNTS = struct.Struct("@QQ")


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


class Starts:
    """Starts so many of the programs per second, in turns; or fewer, but never more (churn_starter.c). With `containers`,
    each in a cgroup that is made for it, of so many names as a container's."""

    def __init__(self, build, programs, per_second, containers=0, mount=""):
        self.file = tempfile.NamedTemporaryFile()
        self.file.truncate(COUNTS.size)
        self.counts = mmap.mmap(self.file.fileno(), COUNTS.size)
        name = f"docker-{hashlib.sha256(str(os.getpid()).encode()).hexdigest()[:60]}"
        commands = [[program] if isinstance(program, str) else program for program in programs]
        self.process = subprocess.Popen([f"{build}/bench/bench_churn_starter", self.file.name, str(per_second), str(containers),
                                         os.path.join(mount, name), str(len(commands[0])), *sum(map(list, commands), [])],
                                        stdin=subprocess.PIPE)

    @property
    def started(self):
        return COUNTS.unpack(self.counts[:])[0]

    @property
    def failed(self):
        return COUNTS.unpack(self.counts[:])[1]

    def end(self):
        """Starts no more, and waits for those that run."""
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise RuntimeError("bench_churn_starter failed")
        self.file.close()


def start_staying(programs):
    """A process that loads and unloads the libraries of all."""
    return subprocess.Popen([*programs[0], os.path.dirname(programs[0][1])])
