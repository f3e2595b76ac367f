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

# `ci/setup peers` makes both.
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dwarfprof-ci")
SID, CARGO = os.path.join(CACHE, "chroots/sid"), os.path.join(CACHE, "peers/bin")

# Run a command with a tracefs, here, and in sid, as ci/chroot does: what is mounted disappears with it.
UNSHARE = ("unshare", "--mount", "--propagation", "slave", "sh", "-c")
HERE = (*UNSHARE, 'mount -t tracefs tracefs /sys/kernel/tracing && mount -t debugfs debugfs /sys/kernel/debug && exec "$@"', "sh")
INSIDE = (*UNSHARE, 'mount --rbind /proc "$0/proc" && mount --rbind /sys "$0/sys" && '
          'mount -t tracefs tracefs "$0/sys/kernel/tracing" && exec chroot "$0" "$@"', SID)


def read_bpftrace(text):
    """Counted stacks, innermost frame first: of the user, then of the kernel."""
    samples, addresses = [], []
    for line in text.splitlines():
        if line == "@[":
            addresses = []
        elif end := re.match(r"(?:, )?\]: (\d+)", line):
            user = [a for a in addresses if not a.startswith(profilers.KERNEL)]
            samples.append((len(user), len(addresses) - len(user), int(user[-1], 16) if user else 0, int(end[1])))
        elif address := re.match(r"\s*([0-9a-f]+)(?: |$)", line):
            addresses.append(address[1])
    return samples


class Bpftrace(profilers.Profiler):
    """The installed one, without names of the user's functions, for which it would read each binary at the end."""
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

    def samples(self):
        """It takes one off the addresses of callers."""
        return [(user, kernel, root + (user > 1), times) for user, kernel, root, times in super().samples()]


def read_raw(text):
    """What profile-bee writes: COMMAND;ADDRESS;... TIMES, outermost frames first, those of the kernel before the user's."""
    samples = []
    for line in text.decode(errors="replace").splitlines():
        if line and not line.startswith("#"):
            stack, _, times = line.rpartition(" ")
            addresses = stack.split(";")[1:]
            user = [int(a, 16) for a in addresses if not a.endswith("_k")]
            samples.append((len(user), len(addresses) - len(user), user[0] if user else 0, int(times)))
    return samples


class OfCargo(profilers.Profiler):
    """Built by cargo. Their tracepoints need a tracefs, some at its old place in debugfs."""
    follows_processes = True

    @classmethod
    def path(cls):
        return os.path.join(CARGO, cls.name)

    @classmethod
    def is_there(cls):
        return os.access(cls.path(), os.X_OK)

    @classmethod
    def version(cls):
        return machine.first_line(cls.path(), "--version")

    def wait_until_ready(self):
        pass

    def samples(self):
        if not os.path.exists(self.output):
            return []
        with open(self.output, "rb") as file:
            return self.reader(file.read())


class ProfileBee(OfCargo):
    name, reader = "probee", staticmethod(read_raw)

    def __init__(self, directory, hz):
        super().__init__(directory, hz)
        self.output += ".raw"

    def command(self):
        return [*HERE, self.path(), "--dwarf", "true", "--skip-idle", "--cpu", str(workloads.TARGET_CPU), "-f", self.hz, "-t", "0", "-o", self.output]


def varint(data, at):
    """A number of the protobuf encoding, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """Number and value of each field of a protobuf message: an integer, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)  # pprof's messages have no fixed-size fields
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def numbers(value):
    """Of a repeated field, which may be packed."""
    if isinstance(value, int):
        yield value
        return
    at = 0
    while at < len(value):
        number, at = varint(value, at)
        yield number


def read_pprof(data):
    """The format is github.com/google/pprof, proto/profile.proto. Frames are innermost first."""
    messages = list(fields(data))
    mappings = [dict(fields(message)) for number, message in messages if number == 3]
    kernel = {mapping[1] for mapping in mappings if mapping.get(2, 0) >= 1 << 63}
    locations = {of[1]: of for of in (dict(fields(message)) for number, message in messages if number == 4)}
    samples = []
    for of in (list(fields(message)) for number, message in messages if number == 2):
        frames = [locations[i] for number, value in of if number == 1 for i in numbers(value)]
        times = next(i for number, value in of if number == 2 for i in numbers(value))
        user = [f for f in frames if f.get(2) not in kernel]
        samples.append((len(user), len(frames) - len(user), user[-1].get(3, 0) if user else 0, times))
    return samples


def prime(limit):
    """The largest one up to a limit."""
    return next(n for n in range(limit, 1, -1) if all(n % i for i in range(2, int(n ** 0.5) + 1)))


class Lightswitch(OfCargo):
    """It samples all CPUs, at prime rates only."""
    name, reader = "lightswitch", staticmethod(read_pprof)

    def command(self):
        directory, name = os.path.split(self.output)
        return [*HERE, self.path(), "--sample-freq", str(prime(int(self.hz))), "--exclude-self", "--symbolizer", "none",
                "--profile-format", "pprof", "--profile-path", directory, "--profile-name", name, "--cache-dir-base", directory]


ALL = {"bpftrace": Bpftrace, "bpftrace, dw_ustack": DwarfBpftrace, "profile-bee": ProfileBee, "lightswitch": Lightswitch}
