#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The first process of a virtual machine: runs what /request.json says, and powers the machine off.

Each line of the second serial port is a JSON object: the kernel's release, the result of each test,
or the end. The first port is the kernel's console.
"""
import ctypes
import glob
import json
import os
import platform
import signal
import socket
import subprocess
import time
import traceback

MOUNTS = (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp"), ("tmpfs", "/run"),
          ("tmpfs", "/dev/shm"), ("devpts", "/dev/pts"), ("tracefs", "/sys/kernel/tracing"),
          ("debugfs", "/sys/kernel/debug"), ("bpf", "/sys/fs/bpf"), ("cgroup2", "/sys/fs/cgroup"))
# Tests choose their rate of samples, however slow interrupts are in this machine. Debian's kernels
# have an additional level 3, at which CAP_PERFMON is not enough to sample anything.
SYSCTLS = {"perf_cpu_time_max_percent": "0", "perf_event_paranoid": "2"}
# linux/reboot.h
MAGIC, MAGIC2, POWER_OFF = 0xfee1dead, 672274793, 0x4321fedc
# How much of a test's output is reported.
MAX_OUTPUT = 6000


def system_call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def prepare():
    """Does what an installed system does at start-up."""
    libc = ctypes.CDLL(None, use_errno=True)
    for kind, path in MOUNTS:
        os.makedirs(path, exist_ok=True)
        options = b"mode=1777" if kind == "tmpfs" else None
        system_call(libc.mount(kind.encode(), path.encode(), kind.encode(), 0, options))
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        if not os.path.lexists(f"/dev/{name}"):
            os.symlink(target, f"/dev/{name}")
    for path in ("/boot", "/root", "/var/tmp", "/var/cache", "/var/lib", "/home"):
        os.makedirs(path, exist_ok=True)
    os.chmod("/var/tmp", 0o1777)
    socket.sethostname("guest")
    for name, value in SYSCTLS.items():
        with open("/proc/sys/kernel/" + name, "w") as file:
            file.write(value)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", LANG="C.UTF-8")


def run(test, log):
    """Runs a test. Returns its result and its output."""
    start = time.monotonic()
    with open(log, "w+b") as output:
        process = subprocess.Popen(test["command"], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True, cwd=test["directory"])
        try:
            result = "OK" if process.wait(test["timeout"]) == 0 else "FAIL"
        except subprocess.TimeoutExpired:
            result = "TIMEOUT"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    return {"test": test["name"], "result": result, "status": process.returncode,
            "seconds": round(time.monotonic() - start, 1), "output": text[-MAX_OUTPUT:]}


def work():
    with open("/request.json") as file:
        request = json.load(file)
    with open("/dev/ttyS1", "w") as port:
        def tell(**what):
            port.write(json.dumps(what) + "\n")
            port.flush()

        tell(kernel=platform.release(), version=platform.version(),
             cpus=len(glob.glob("/sys/devices/system/cpu/cpu[0-9]*")))
        for number, test in enumerate(request["tests"]):
            tell(started=test["name"])
            tell(**run(test, f"/run/{number}"))
        tell(done=True)


def main():
    prepare()
    worker = os.fork()
    if worker == 0:
        try:
            work()
        except Exception:
            with open("/dev/console", "w") as console:  # of which the last lines are reported
                traceback.print_exc(file=console)
        finally:
            os._exit(0)
    # Orphans become children of this process.
    while os.wait()[0] != worker:
        pass
    os.sync()
    ctypes.CDLL(None).syscall(169, MAGIC, MAGIC2, POWER_OFF, None)


main()
