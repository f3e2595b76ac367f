# SPDX-License-Identifier: Apache-2.0
"""Other profilers that bench/rate.py compares with: how each is started, and what it has found.

samples() are [(frames of the user, of the kernel, address of the user's outermost one, times)].
"""
import os
import re
import shutil

import machine
import profilers
import workloads

# `ci/chroot --kept sid apt-get install -y bpftrace` makes it.
SID = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dwarfprof-ci/chroots/sid")

# Runs a command in there, as ci/chroot does: what is mounted disappears with it.
INSIDE = ("unshare", "--mount", "--propagation", "slave", "sh", "-c",
          'for name in proc sys; do mount --rbind "/$name" "$0/$name"; done; exec chroot "$0" "$@"', SID)


def read_bpftrace(text):
    """Counted stacks, innermost frame first: of the user, then of the kernel."""
    samples, addresses = [], []
    for line in text.splitlines():
        if end := re.match(r"(?:, )?\]: (\d+)", line):
            user = [a for a in addresses if not a.startswith(profilers.KERNEL)]
            samples.append((len(user), len(addresses) - len(user), int(user[-1], 16) if user else 0, int(end[1])))
            addresses = []
        elif address := re.match(r"\s+(?:0x)?([0-9a-f]+)(?: |$)", line):
            addresses.append(address[1])
    return samples


class Bpftrace(profilers.Profiler):
    """Without names of the user's functions, for which it would read each binary at the end."""
    follows_processes = True
    prefix, stacks = ("env", "BPFTRACE_NO_USER_SYMBOLS=1"), "ustack(perf), kstack(perf)"

    @staticmethod
    def is_there():
        return bool(shutil.which("bpftrace"))

    @classmethod
    def version(cls):
        return machine.first_line(*cls.prefix, "bpftrace", "--version")

    def options(self):
        return []

    def command(self):
        return [*self.prefix, "bpftrace", *self.options(), "-e",
                f"profile:hz:{self.hz} /cpu == {workloads.TARGET_CPU} && pid != 0/ {{ @[{self.stacks}] = count(); }}"]

    def wait_until_ready(self):
        pass  # the time when its program runs for the first time tells

    def samples(self):
        return read_bpftrace(profilers.read(self.log))


def on_target():
    """The processes that only the workload's CPU may run, without the kernel's."""
    pids = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if os.sched_getaffinity(int(name)) == {workloads.TARGET_CPU} and os.readlink(f"/proc/{name}/exe"):
                pids.append(int(name))
        except OSError:
            pass  # it has ended, or is a thread of the kernel
    return pids


class DwarfBpftrace(Bpftrace):
    """The newest one, whose dw_ustack() unwinds by tables of the processes that it is told at its start."""
    follows_processes = False
    prefix, stacks = INSIDE, "dw_ustack(raw), kstack(raw)"

    @staticmethod
    def is_there():
        return os.access(os.path.join(SID, "usr/bin/bpftrace"), os.X_OK)

    def options(self):
        return [f"--dwarf-pid={pid}" for pid in on_target()]


ALL = {"bpftrace": Bpftrace, "bpftrace, dw_ustack": DwarfBpftrace}
