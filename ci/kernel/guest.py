# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that runs tests: the contents of its memory, and QEMU.

It has no disk, no network and no kernel modules. It reports on two serial ports: the kernel's
console, and the results of the tests (init.py).
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from archive import Archive

HERE = os.path.dirname(os.path.abspath(__file__))
INIT = os.path.join(HERE, "init.py")
MEMORY = "4G"
BOOT_SECONDS = 600
# init.py ends a test after its time limit; after this, the machine is ended.
GRACE_SECONDS = 120
CONSOLE_LINES = 40
# Messages of a kernel that something is wrong with it.
COMPLAINT = re.compile(r"\bBUG\b|WARNING: |Oops|general protection|Kernel panic|detected stall|blocked for more than")
# The kernel changes its own code by means of breakpoints; an emulated CPU may hit one that is gone
# (QEMU before 8.1; bugzilla.redhat.com 2216496). Our tests set none in the kernel's code.
EMULATORS_FAULT = re.compile(r"\bint3: 0000\b")


def pack(path, files, trees):
    """Writes an archive of the tested files and what they need: of the system, too, if there are trees, as scripts are in them."""
    archive = Archive()
    archive.add_python()
    if trees:
        archive.add_system()
    for name in [INIT, *files]:
        archive.add(name)
    for name in trees:
        archive.add_tree(name)
    with open(path, "wb") as file:
        archive.write(file)


def pack_request(directory, tests):
    """An archive with the request to init.py."""
    with open(os.path.join(directory, "request.json"), "w") as file:
        json.dump({"tests": tests}, file)
    out = subprocess.run(["cpio", "--quiet", "--create", "--format=newc"], cwd=directory, input=b"request.json",
                         capture_output=True, check=True)
    return out.stdout


class Guest:
    """One run of a machine; options are QEMU's."""

    def __init__(self, kernel, archive, tests, options):
        self.tests = {test["name"]: test for test in tests}
        self.directory = tempfile.TemporaryDirectory(prefix="dwarfprof-kernel-")
        self.console = os.path.join(self.directory.name, "console")
        self.port = os.path.join(self.directory.name, "port")
        image = os.path.join(self.directory.name, "image")
        with open(image, "wb") as file:
            with open(archive, "rb") as base:
                shutil.copyfileobj(base, file)
            file.write(pack_request(self.directory.name, tests))
        self.command = [
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-m", MEMORY, "-nodefaults", "-display", "none",
            "-no-reboot", "-kernel", kernel, "-initrd", image, "-serial", f"file:{self.console}",
            "-serial", f"file:{self.port}", *options,
            # no_timer_check: the emulated timer is late on a busy host, and the kernel ends for it.
            "-append", f"console=ttyS0 rdinit={INIT} panic=-1 loglevel=5 no_timer_check"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.directory.cleanup()

    def read(self, path):
        try:
            with open(path, errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def lines(self):
        """What init.py has reported so far."""
        return [json.loads(line) for line in self.read(self.port).split("\n")[:-1]]

    def run(self, tell):
        """Returns {test: result}; calls tell() with each one when it arrives."""
        results, read, running = {}, 0, None
        deadline = time.monotonic() + BOOT_SECONDS
        ended = False
        while not ended and time.monotonic() < deadline:
            time.sleep(0.2)
            ended = self.process.poll() is not None
            for line in self.lines()[read:]:
                read += 1
                running = line.get("started")
                deadline = time.monotonic() + self.tests.get(running, {"timeout": 0})["timeout"] + GRACE_SECONDS
                if "test" in line:
                    name = line.pop("test")
                    results[name] = line
                    tell(name, line)
        how = "the machine ended" if ended else "the machine hangs"
        for name in self.tests.keys() - results.keys():
            output = f"{how}\n{self.tail()}" if name == running else f"not begun: {how}\n"
            results[name] = {"result": "FAIL", "seconds": 0, "output": output}
        results["log"] = self.log(ended)
        return results

    def tail(self):
        return "".join(self.read(self.console).splitlines(keepends=True)[-CONSOLE_LINES:])

    def was_let_down(self):
        """Did the kernel end because of a bug in QEMU?"""
        return EMULATORS_FAULT.search(self.read(self.console)) is not None

    def log(self, ended):
        """The log as a test: did the kernel complain, or not shut down?"""
        complaints = [line for line in self.read(self.console).splitlines() if COMPLAINT.search(line)]
        if not ended:
            complaints.append("it hangs")
        return {"result": "FAIL" if complaints else "OK", "seconds": 0,
                "output": "\n".join(complaints) + "\n" + self.tail() if complaints else ""}
