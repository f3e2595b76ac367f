# SPDX-License-Identifier: Apache-2.0
"""A file system whose reads take their time, as that of another machine: one file, over FUSE.

The protocol is that of <linux/fuse.h>, spoken with the kernel directly: nothing needs to be
installed. Mounting takes root.
"""
import ctypes
import errno
import multiprocessing
import os
import stat
import struct
import threading
import time

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 17, 18, 25, 26
INTERRUPT, BATCH_FORGET = 36, 42
ROOT, FILE = 1, 2  # inodes
HEADER = struct.Struct("<IIQQIIIHH")  # struct fuse_in_header
MS_RDONLY, MNT_DETACH = 1, 2


class Server:
    """Answers what the kernel asks until the file system is unmounted."""

    def __init__(self, fd, name, path, seconds):
        self.fd, self.name, self.seconds = fd, name.encode(), seconds
        self.file = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.file).st_size

    def attributes(self, inode):
        """struct fuse_attr"""
        mode, size = (stat.S_IFDIR | 0o755, 0) if inode == ROOT else (stat.S_IFREG | 0o755, self.size)
        return struct.pack("<6Q10I", inode, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, number, error=0, data=b""):
        try:
            os.write(self.fd, struct.pack("<IiQ", 16 + len(data), -error, number) + data)
        except OSError:
            pass  # nobody waits for it any more

    def read(self, number, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        time.sleep(self.seconds)
        self.answer(number, data=os.pread(self.file, size, offset))

    def handle(self, opcode, number, inode, body):
        if opcode == INIT:
            readahead, = struct.unpack_from("<I", body, 8)
            self.answer(number, data=struct.pack("<IIIIHHIIHHI28x", 7, 31, readahead, 0, 16, 12, 4096, 1, 0, 0, 0))
        elif opcode == LOOKUP and inode == ROOT and body.rstrip(b"\0") == self.name:
            self.answer(number, data=struct.pack("<4Q2I", FILE, 0, 3600, 3600, 0, 0) + self.attributes(FILE))
        elif opcode == LOOKUP:
            self.answer(number, errno.ENOENT)
        elif opcode == GETATTR:
            self.answer(number, data=struct.pack("<QII", 3600, 0, 0) + self.attributes(inode))
        elif opcode == OPEN:
            self.answer(number, data=struct.pack("<QII", 0, 0, 0))
        elif opcode == READ:
            threading.Thread(target=self.read, args=(number, body), daemon=True).start()
        elif opcode == STATFS:
            self.answer(number, data=struct.pack("<5Q10I", *[0] * 5, 4096, 255, 4096, *[0] * 7))
        elif opcode in (RELEASE, FLUSH):
            self.answer(number)
        elif opcode not in (FORGET, BATCH_FORGET, INTERRUPT):
            self.answer(number, errno.ENOSYS)

    def run(self):
        while True:
            try:
                message = os.read(self.fd, 1 << 20)
            except OSError:  # it was unmounted
                return
            _, opcode, number, inode, *_ = HEADER.unpack_from(message)
            self.handle(opcode, number, inode, message[HEADER.size:])


class SlowFile:
    """The file at `path`, as one of the same name in a directory, each read of which takes so long."""

    def __init__(self, directory, path, seconds):
        self.directory, self.path, self.seconds = directory, path, seconds

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        fd = os.open("/dev/fuse", os.O_RDWR)
        name = os.path.basename(self.path)
        options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"slow", self.directory.encode(), b"fuse", MS_RDONLY, options.encode()) < 0:
            raise OSError(ctypes.get_errno(), "mount")
        server = Server(fd, name, self.path, self.seconds)
        self.process = multiprocessing.get_context("fork").Process(target=server.run, daemon=True)
        self.process.start()
        os.close(server.file)
        os.close(fd)
        return os.path.join(self.directory, name)

    def __exit__(self, *_):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.umount2(self.directory.encode(), MNT_DETACH)
        self.process.terminate()
        self.process.join()
