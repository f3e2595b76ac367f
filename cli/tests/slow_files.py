# SPDX-License-Identifier: Apache-2.0
"""A file system whose answers take their time, as those of another machine, or never come: over FUSE.

The protocol is that of <linux/fuse.h>, spoken with the kernel directly: nothing needs to be
installed. Mounting takes root, which does it as fusermount3 would for a user, who serves it.
"""
import ctypes
import errno
import multiprocessing
import os
import re
import stat
import struct
import threading
import time

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 17, 18, 25, 26
INTERRUPT, BATCH_FORGET = 36, 42
ROOT, FILE = 1, 2  # inodes; those of further names follow
HEADER = struct.Struct("<IIQQIIIHH")  # struct fuse_in_header
FOPEN_DIRECT_IO = 1
MS_RDONLY, MNT_DETACH = 1, 2
NOBODY = 65534


def ancestry(thread):
    """The processes that a thread belongs to: its own, and those that this descends from."""
    pids = []
    try:
        with open(f"/proc/{thread}/status") as file:
            pids.append(int(re.search(r"^Tgid:\s+(\d+)", file.read(), re.M)[1]))
        while pids[-1] > 1:
            with open(f"/proc/{pids[-1]}/stat") as file:
                pids.append(int(file.read().rpartition(")")[2].split()[1]))
    except OSError:
        pass  # one has ended
    return pids


class Server:
    """Answers what the kernel asks until the file system is unmounted."""

    def __init__(self, fd, names, path, seconds, hangs, whose, is_deaf, n_errors, is_private):
        self.fd, self.names, self.seconds, self.hangs = fd, [name.encode() for name in names], seconds, hangs
        self.is_deaf, self.n_errors, self.is_private = is_deaf, n_errors, is_private
        self.whose = whose  # the process whose requests hang, and those of its descendants
        self.file = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.file).st_size
        self.hanging = set()  # numbers of requests
        self.known_for = 0 if GETATTR in hangs else 3600  # seconds

    def is_to_hang(self, opcode, thread):
        return opcode in self.hangs and self.whose.value in ancestry(thread)

    def attributes(self, inode):
        """struct fuse_attr"""
        mode, size = (stat.S_IFDIR | 0o755, 0) if inode == ROOT else (stat.S_IFREG | 0o755, self.size)
        owner = NOBODY if self.is_private else 0
        mode &= ~0o077 if self.is_private else ~0
        return struct.pack("<6Q10I", inode, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, owner, owner, 0, 4096, 0)

    def answer(self, number, error=0, data=b""):
        try:
            os.write(self.fd, struct.pack("<IiQ", 16 + len(data), -error, number) + data)
        except OSError:
            pass  # nobody waits for it any more

    def read(self, number, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        time.sleep(self.seconds)
        self.answer(number, data=os.pread(self.file, size, offset))

    def interrupt(self, body):
        """Who waits was killed: the kernel lets nobody end whose request is not answered."""
        number, = struct.unpack_from("<Q", body)
        if number in self.hanging:
            self.hanging.remove(number)
            self.answer(number, errno.EINTR)

    def handle(self, opcode, number, inode, thread, body):
        if opcode == READ and self.n_errors > 0:
            self.n_errors -= 1
            self.answer(number, errno.EIO)
        elif self.is_to_hang(opcode, thread):
            self.hanging.add(number)
        elif opcode == INIT:
            readahead, = struct.unpack_from("<I", body, 8)
            self.answer(number, data=struct.pack("<IIIIHHIIHHI28x", 7, 31, readahead, 0, 16, 12, 4096, 1, 0, 0, 0))
        elif opcode == LOOKUP and inode == ROOT and body.rstrip(b"\0") in self.names:
            found = FILE + self.names.index(body.rstrip(b"\0"))
            self.answer(number, data=struct.pack("<4Q2I", found, 0, 3600, self.known_for, 0, 0) + self.attributes(found))
        elif opcode == LOOKUP:
            self.answer(number, errno.ENOENT)
        elif opcode == GETATTR:
            self.answer(number, data=struct.pack("<QII", self.known_for, 0, 0) + self.attributes(inode))
        elif opcode == OPEN:
            flags, = struct.unpack_from("<I", body)
            self.answer(number, data=struct.pack("<QII", 0, FOPEN_DIRECT_IO if flags & os.O_DIRECT else 0, 0))
        elif opcode == INTERRUPT and not self.is_deaf:
            self.interrupt(body)
        elif opcode == READ:
            threading.Thread(target=self.read, args=(number, body), daemon=True).start()
        elif opcode == STATFS:
            self.answer(number, data=struct.pack("<5Q10I", *[0] * 5, 4096, 255, 4096, *[0] * 7))
        elif opcode in (RELEASE, FLUSH):
            self.answer(number)
        elif opcode not in (FORGET, BATCH_FORGET, INTERRUPT):
            self.answer(number, errno.ENOSYS)

    def run(self):
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        while True:
            try:
                message = os.read(self.fd, 1 << 20)
            except OSError:  # it was unmounted
                return
            _, opcode, number, inode, _, _, thread, *_ = HEADER.unpack_from(message)
            self.handle(opcode, number, inode, thread, message[HEADER.size:])


class SlowFiles:
    """The file at `path`, under some names in a directory.

    Each read takes so long, and some kinds of requests for ever: those of a process that is told later, and of its descendants.
    If it is deaf, not even SIGKILL ends who waits for it. So many reads fail before any other thing is done.
    What is private only its owner may open, or who has rights.
    """

    def __init__(self, directory, path, names, seconds=0, hangs=(), is_deaf=False, n_errors=0, is_private=False):
        self.directory, self.names = directory, names
        self.whose = multiprocessing.Value("i", 0)
        self.server = path, seconds, hangs, self.whose, is_deaf, n_errors, is_private
        self.options = ",default_permissions" if is_private else ""

    def hang_for(self, pid):
        self.whose.value = pid

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        fd = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={fd},rootmode=40000,user_id={NOBODY},group_id={NOBODY},allow_other" + self.options
        if libc.mount(b"slow", self.directory.encode(), b"fuse", MS_RDONLY, options.encode()) < 0:
            raise OSError(ctypes.get_errno(), "mount")
        server = Server(fd, self.names, *self.server)
        self.process = multiprocessing.get_context("fork").Process(target=server.run, daemon=True)
        self.process.start()
        os.close(server.file)
        os.close(fd)
        return self

    def paths(self):
        return [os.path.join(self.directory, name) for name in self.names]

    def __exit__(self, *_):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.umount2(self.directory.encode(), MNT_DETACH)
        self.process.terminate()
        self.process.join()
