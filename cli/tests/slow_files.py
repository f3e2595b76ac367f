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
FOPEN_DIRECT_IO, FOPEN_KEEP_CACHE = 1, 2
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


def become_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def mount(kind, place, flags, options):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", place.encode(), kind.encode(), flags, options.encode()) < 0:
        raise OSError(ctypes.get_errno(), f"mount {kind} {options}")


class Server:
    """Answers what the kernel asks until the file system is unmounted."""

    def __init__(self, fd, names, path, seconds, hangs, whose, is_deaf, n_errors, is_private, like=None):
        self.fd, self.names, self.seconds, self.hangs = fd, [name.encode() for name in names], seconds, hangs
        self.is_deaf, self.n_errors, self.is_private = is_deaf, n_errors, is_private
        self.whose = whose  # the process whose requests hang, and those of its descendants
        self.file = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.file).st_size
        self.hanging = set()  # numbers of requests
        self.known_for = 0 if GETATTR in hangs else 3600  # seconds
        self.like = like and os.stat(like)  # what it is said to be

    def is_to_hang(self, opcode, thread):
        return opcode in self.hangs and self.whose.value in ancestry(thread)

    def attributes(self, inode):
        """struct fuse_attr"""
        mode, size = (stat.S_IFDIR | 0o755, 0) if inode == ROOT else (stat.S_IFREG | 0o755, self.size)
        owner = NOBODY if self.is_private else 0
        mode &= ~0o077 if self.is_private else ~0
        if self.like and inode != ROOT:
            s, ns = self.like, 10**9
            return struct.pack("<6Q10I", s.st_ino, s.st_size, s.st_blocks, s.st_atime_ns // ns, s.st_mtime_ns // ns,
                               s.st_ctime_ns // ns, s.st_atime_ns % ns, s.st_mtime_ns % ns, s.st_ctime_ns % ns, s.st_mode, 1,
                               0, 0, 0, 4096, 0)
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
            how = FOPEN_DIRECT_IO if flags & os.O_DIRECT else FOPEN_KEEP_CACHE if self.like else 0
            self.answer(number, data=struct.pack("<QII", 0, how, 0))
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
        become_nobody()
        self.serve()

    def serve(self):
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
        fd = os.open("/dev/fuse", os.O_RDWR)
        mount("fuse", self.directory, MS_RDONLY,
              f"fd={fd},rootmode=40000,user_id={NOBODY},group_id={NOBODY},allow_other" + self.options)
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


class UserFiles:
    """The same, and programs, of a user without any rights, who has mounted it in a namespace of their own.

    `overlay`: below one. `like`: every file has the inode, size and times of this one.
    """
    NEWNS, NEWUSER, SET_PDEATHSIG, SET_DUMPABLE = 0x20000, 0x10000000, 1, 4  # linux/sched.h, linux/prctl.h

    def __init__(self, directory, path, names, hangs=(), is_deaf=False, like=None, overlay=False):
        self.place, self.device, self.merged, self.empty = (os.path.join(directory, name)
                                                            for name in ("served", "fuse", "merged", "empty"))
        self.whose = multiprocessing.Value("i", 0)
        self.is_overlay, self.names = overlay, names
        self.server = names, path, 0, hangs, self.whose, is_deaf, 0, False, like
        for made in self.place, self.merged, self.empty:
            os.mkdir(made)
        # As on most machines.
        os.mknod(self.device, 0o666 | stat.S_IFCHR, os.makedev(10, 229))
        os.chmod(self.device, 0o666)

    def hang_for(self, pid):
        self.whose.value = pid

    def enter_namespaces(self, libc):
        become_nobody()
        libc.prctl(self.SET_DUMPABLE, 1)  # else its files in /proc are root's
        if libc.unshare(self.NEWUSER | self.NEWNS) < 0:
            raise OSError(ctypes.get_errno(), "unshare")
        for name, text in ("setgroups", "deny"), ("uid_map", f"0 {NOBODY} 1"), ("gid_map", f"0 {NOBODY} 1"):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)

    def live(self, commands):
        libc = ctypes.CDLL(None, use_errno=True)
        self.enter_namespaces(libc)
        fd = os.open(self.device, os.O_RDWR)
        mount("fuse", self.place, MS_RDONLY, f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other")
        if os.fork() == 0:
            libc.prctl(self.SET_PDEATHSIG, 9)
            Server(fd, *self.server).serve()
            os._exit(0)
        os.close(fd)
        if self.is_overlay:
            mount("overlay", self.merged, MS_RDONLY, f"lowerdir={self.place}:{self.empty}")
        if self.server[-1]:  # for processes that cannot ask for it
            for path in self.paths():
                with open(path, "rb") as file:
                    file.read()
        while command := commands.recv():
            pid = os.fork()
            if pid == 0:
                libc.prctl(self.SET_PDEATHSIG, 9)
                null = os.open("/dev/null", os.O_RDWR)
                for fd in range(3):
                    os.dup2(null, fd)
                os.execv(command[0], command)
            commands.send(pid)

    def __enter__(self):
        self.commands, other = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=self.live, args=(other,), daemon=True)
        self.process.start()
        other.close()
        return self

    def paths(self):
        """There, and nowhere else."""
        return [os.path.join(self.merged if self.is_overlay else self.place, name) for name in self.names]

    def run(self, *command):
        """It ends with the namespace."""
        self.commands.send(command)
        return self.commands.recv()

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()
        os.remove(self.device)
