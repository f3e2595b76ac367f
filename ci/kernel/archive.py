# SPDX-License-Identifier: Apache-2.0
"""Files of this machine in an archive for a kernel to unpack into memory, at the same paths."""
import os
import re
import subprocess

PYTHON = os.path.realpath("/usr/bin/python3")
# Debian packages that init.py needs besides Python, and those that tests need besides the program.
OF_INIT = ("iproute2",)
PACKAGES = ("bash", "dash", "coreutils", "util-linux", "mount", "procps", "grep", "sed", "bpftool", "binutils",
            "binutils-x86-64-linux-gnu", "elfutils", "libcap2-bin", "openssl", "perl-base")
# Libraries that are loaded implicitly, or at run time.
LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
FILES = (PYTHON, "/usr/bin/python3", "/bin", "/sbin", "/lib", "/lib64", "/etc/passwd", "/etc/group",
         "/etc/ld.so.cache", "/lib/x86_64-linux-gnu/libgcc_s.so.1")
LEFT_OUT = re.compile(r"^/usr/share/(doc|man|locale|info|lintian|bash-completion)(/|$)"
                      r"|/python3\.\d+/(test|config-[^/]*|dist-packages)(/|$)|/__pycache__(/|$)|/\.git(/|$)")


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def debug_file(path):
    """The separate debug file of an installed library."""
    out = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: (\w+)", out)[1]
    return f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


class Archive:
    """A set of paths that becomes a cpio archive, including all libraries of the programs."""

    def __init__(self):
        self.paths = set()
        self.objects = set()

    def add(self, path):
        """Adds a file, a directory without its contents, or a link with its target."""
        at = "/"
        parts = path.split("/")
        while parts:
            at = os.path.normpath(os.path.join(at, parts.pop(0)))
            if os.path.islink(at):
                self.paths.add(at)
                parts = os.readlink(at).split("/") + parts
                at = "/" if parts[0] == "" else os.path.dirname(at)
            elif not os.path.exists(at):
                return
            else:
                self.paths.add(at)
        if os.path.isfile(at) and is_elf(at):
            self.objects.add(at)

    def add_tree(self, path):
        for directory, names, files in os.walk(path):
            names[:] = [name for name in names if not LEFT_OUT.search(os.path.join(directory, name))]
            for name in [".", *names, *files]:
                self.add(os.path.join(directory, name))

    def add_packages(self, packages):
        for package in packages:
            out = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True, check=True).stdout
            for path in out.splitlines():
                if os.path.isfile(path) and not LEFT_OUT.search(path):
                    self.add(path)

    def add_python(self):
        """Adds what init.py needs."""
        self.add_packages(OF_INIT)
        for path in FILES:
            self.add(path)
        self.add_tree(os.path.join("/usr/lib", os.path.basename(PYTHON)))

    def add_system(self):
        """Adds what the tests' programs need."""
        self.add_packages(PACKAGES)
        self.add(debug_file(LIBC))

    def write(self, file):
        out = subprocess.run(["ldd", *self.objects], capture_output=True, text=True).stdout
        for path in set(re.findall(r"(/\S+) \(0x", out)):
            self.add(path)
        names = "\0".join(sorted(os.path.relpath(path, "/") for path in self.paths))
        subprocess.run(["cpio", "--quiet", "--create", "--format=newc", "--null", "--owner=0:0"], cwd="/",
                       input=names.encode(), stdout=file, check=True)
