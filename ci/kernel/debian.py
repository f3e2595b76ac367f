# SPDX-License-Identifier: Apache-2.0
"""Debian's kernels, fetched by apt from this machine's package mirror.

apt has separate sources and lists in a directory that is kept, with the kernels: the next time only
the lists are fetched, if they have changed. This machine's own apt is not touched.
"""
import fcntl
import os
import re
import subprocess
import tarfile
import time

# Cloud kernels are smaller, and have everything needed built in.
META = "linux-image-cloud-amd64"
SUITES = {"Debian": ("bookworm", "trixie", "sid"), "Debian-Security": ("bookworm-security", "trixie-security")}
# For so long lists are good, in seconds: ci/test fetches a kernel before it needs it.
FRESH = 1800
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

CONFIG = """\
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "{directory}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{directory}/state";
Dir::State::lists "{directory}/lists";
Dir::State::status "{directory}/status";
Dir::Cache "{directory}/cache";
APT::Architecture "amd64";
APT::Sandbox::User "";
Acquire::Languages "none";
"""


class Failure(Exception):
    pass


def output(*command, **kwargs):
    result = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if result.returncode:
        raise Failure(f"{' '.join(command)}: {result.stderr.strip()[-1000:]}")
    return result.stdout


def numbers(version):
    """Makes versions of kernels comparable: 6.1.192-2 is (6, 1, 192, 2)."""
    return tuple(map(int, re.findall(r"\d+", version)))


def is_of(version, series):
    return numbers(version)[:len(numbers(series))] == numbers(series)


def series(version):
    return numbers(version)[:2]


def is_new(version, proven):
    """Whether a kernel is newer than the proven ones of its series. Those of other series tell
    nothing: each of Debian's suites has one, with updates of its own."""
    return numbers(version) > max((numbers(one) for one in proven if series(one) == series(version)), default=())


class Debian:
    """Used by one process at a time: others wait until the end of its `with` block."""

    def __init__(self, directory, suites=None):
        self.directory = directory
        self.suites = suites or SUITES
        os.makedirs(directory, exist_ok=True)

    def __enter__(self):
        self.lock = open(os.path.join(self.directory, "lock"), "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.prepare()
        return self

    def __exit__(self, *_):
        self.lock.close()

    def prepare(self):
        for name in ("state", "lists/partial", "cache/archives/partial", "kernels"):
            os.makedirs(os.path.join(self.directory, name), exist_ok=True)
        self.write("status", "")
        self.write("sources.list", self.sources())
        # This machine's settings tell how to reach its mirrors.
        acquire = [line for line in output("apt-config", "dump").splitlines()
                   if re.match(r"Acquire::(https?|Retries|Check-)", line)]
        self.write("apt.conf", CONFIG.format(directory=self.directory) + "\n".join(acquire) + "\n")
        self.environment = {**os.environ, "APT_CONFIG": os.path.join(self.directory, "apt.conf"), "LC_ALL": "C"}

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        """Leaves a file as it is that has this text already: apt reads all lists again if one is newer."""
        if os.path.exists(self.path(name)):
            with open(self.path(name)) as file:
                if file.read() == text:
                    return
        with open(self.path(name), "w") as file:
            file.write(text)

    def sources(self):
        out = output("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages",
                     "Origin: Debian")
        sites = dict(line.split() for line in out.splitlines())
        if "Debian" not in sites:
            raise Failure("apt has no lists of Debian's; try: apt-get update")
        return "".join(f"deb [arch=amd64 signed-by={KEYRING}] {sites[label]} {suite} main\n"
                       for label, suites in self.suites.items() if label in sites for suite in suites)

    def apt(self, *command, **kwargs):
        return output(*command, env=self.environment, **kwargs)

    def is_updated(self):
        """Of these sources, and not long ago?"""
        updated, sources = (os.path.getmtime(self.path(name)) if os.path.exists(self.path(name)) else 0
                            for name in ("updated", "sources.list"))
        return updated > sources and time.time() - updated < FRESH

    def update(self):
        if self.is_updated():
            return
        self.apt("apt-get", "update", "--error-on=any", "-qq")
        with open(self.path("updated"), "w"):
            pass

    def versions(self):
        """All available kernels, oldest first."""
        out = self.apt("apt-cache", "madison", META)
        return sorted({line.split("|")[1].strip() for line in out.splitlines()}, key=numbers)

    def choose(self, series):
        """The newest kernel of a series such as "6.1", or of all if that is None."""
        found = [version for version in self.versions() if series is None or is_of(version, series)]
        if not found:
            raise Failure(f"there is no kernel {series or ''}")
        return found[-1]

    def depends(self, package, version, pattern):
        """Packages of that name that a package depends on, with the same version."""
        text = self.apt("apt-cache", "show", f"{package}={version}")
        lines = re.search(r"^Depends: (.*)$", text, re.M)
        return re.findall(rf"({pattern}) \(= {re.escape(version)}\)", lines[1] if lines else "")

    def fetch(self, version):
        """The file of a kernel. Since 7.2 it is in a separate package."""
        kernel = os.path.join(self.directory, "kernels", version)
        if os.path.exists(kernel):
            return kernel
        image = self.depends(META, version, r"linux-image-\S+")
        if not image:
            raise Failure(f"{META} {version} does not say which kernel it stands for")
        package = (self.depends(image[0], version, r"linux-binary-\S+") or image)[0]
        self.apt("apt-get", "download", "-qq", f"{package}={version}",
                 cwd=os.path.join(self.directory, "cache/archives"))
        self.unpack(package, version, kernel)
        return kernel

    def unpack(self, package, version, kernel):
        archive = os.path.join(self.directory, "cache/archives",
                               f"{package}_{version.replace(':', '%3a')}_amd64.deb")
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as dpkg, \
                tarfile.open(fileobj=dpkg.stdout, mode="r|") as tar:
            for member in tar:
                if re.search(r"/vmlinuz(-[^/]*)?$", member.name) and member.isfile():
                    with open(kernel + ".new", "wb") as file:
                        file.write(tar.extractfile(member).read())
                    os.rename(kernel + ".new", kernel)
        os.unlink(archive)
        if not os.path.exists(kernel):
            raise Failure(f"{package} {version} has no kernel in it")
