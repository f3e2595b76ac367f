# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the program: running it and its targets, and starting tests.

Their usage: check_NAME.py DWARFPROF PROGRAM-DIR
"""
import bisect
import collections
import contextlib
import ctypes
import fcntl
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2  # linux/prctl.h, linux/seccomp.h

DWARFPROF = None
PROGRAMS = None


# In a log, of a thread whose state is not certain.
CHANGING = -1


class Log:
    """What each thread did when, by its own clock."""

    def __init__(self, path):
        self.times, self.numbers = collections.defaultdict(list), collections.defaultdict(list)
        with open(path) as file:
            for tid, time, number in (map(int, line.split()) for line in file):
                self.times[tid].append(time)
                self.numbers[tid].append(number)

    def at(self, tid, time):
        i = bisect.bisect(self.times[tid], time) - 1
        return self.numbers[tid][i] if i >= 0 else CHANGING


def dwarfprof(*args, **kwargs):
    return subprocess.run([DWARFPROF, *args], capture_output=True, text=True, timeout=180, **kwargs)


def start(*args, prefix=(), **kwargs):
    return subprocess.Popen([*prefix, DWARFPROF, *args], **kwargs)


def program(name):
    return os.path.join(PROGRAMS, name)


def wait_for(condition, seconds=180):
    """Waits until condition() is true. The time is generous: tests check conditions, not speed. What takes long to look at,
    such as an agent's pages, is looked at less often: others need the CPU for it to happen."""
    end, looked = time.monotonic() + seconds, time.monotonic()
    while not condition():
        now = time.monotonic()
        assert now < end, "it did not happen"
        time.sleep(min(max(0.01, 3 * (now - looked)), 0.1))
        looked = time.monotonic()


class Lines:
    """Counts the lines of a file that grows, and may not be there yet."""
    def __init__(self, path):
        self.path, self.file, self.n = path, None, 0

    def count(self):
        if not self.file and os.path.exists(self.path):
            self.file = open(self.path, "rb")
        self.n += self.file.read().count(b"\n") if self.file else 0
        return self.n


def unmount(path):
    """A profiler's helpers, and what the kernel frees later, may hold files of it for a moment after its end."""
    wait_for(lambda: subprocess.run(["umount", path], stderr=subprocess.DEVNULL).returncode == 0)


def wait_until_it_says(process, *words):
    """Reads a profiler's stderr, a pipe, up to a line with these words; returns all lines so far."""
    said = ""
    while True:
        line = process.stderr.readline()
        assert line, said
        said += line
        if all(word in line for word in words):
            return said


def wait_for_samples(path, n, begin=None):
    """Waits until a profiler has written so many samples (jsonl) of that time (CLOCK_MONOTONIC, in ns) or later, or from now on."""
    begin, found = time.monotonic_ns() if begin is None else begin, 0

    def are_enough():
        nonlocal found
        found += sum(int(at) >= begin for at in re.findall(r'"time_ns":(\d+),', file.read()))
        return found >= n
    with open(path) as file:
        file.seek(0, os.SEEK_END)
        wait_for(are_enough, 300)


def whole_lines(file):
    """The further lines of a file that grows, but for one that is not whole yet."""
    at = file.tell()
    while (line := file.readline()).endswith("\n"):
        yield line
        at = file.tell()
    file.seek(at)


@contextlib.contextmanager
def bpf_stats(value="1"):
    """Whether the kernel measures the time in BPF programs, for one test at a time: each leaves the setting as it was.
    Gives a function that changes it."""
    with open("/proc/sys/kernel/bpf_stats_enabled", "r+") as setting:
        fcntl.flock(setting, fcntl.LOCK_EX)

        def set_to(value):
            setting.seek(0)
            setting.write(value)
            setting.flush()
        before = setting.read()
        set_to(value)
        try:
            yield set_to
        finally:
            set_to(before)


def profile_until_done(process, *options, code=0, **kwargs):
    """Profiles a program that waits for a line, from when it gets one until it says that it is done. Returns what the profiler has said."""
    with start("-p", str(process.pid), *options, stderr=subprocess.PIPE, text=True, **kwargs) as profiler:
        said = wait_until_it_says(profiler, "sampling")
        process.stdin.write("\n")
        process.stdin.flush()
        ended = process.stdout.readline()
        assert ended == "done\n", ended
        profiler.send_signal(signal.SIGINT)
        said += profiler.communicate(timeout=180)[1]
    assert profiler.returncode == code, said
    process.stdin.close()
    return said


def record_logged(target, seconds, *options, more=(), env=None):
    """The same of a program in PROGRAM-DIR. Returns its samples, and its log."""
    with tempfile.TemporaryDirectory() as directory:
        log, out = os.path.join(directory, "log"), os.path.join(directory, "out")
        with subprocess.Popen([program(target), str(seconds), log, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, env=env) as process:
            profile_until_done(process, "--no-symbols", "--format", "jsonl", "-o", out, *options)
        with open(out) as file:
            return [json.loads(line) for line in file], Log(log)


def executing(directory, rounds):
    """The program that a run of test-programs/execs.c begins with, in a directory, its log, and the command. The other one is a copy
    with the same addresses but not its build ID: of those, calls would be unknown."""
    path, other, log = (os.path.join(directory, name) for name in ("one", "two", "log"))
    shutil.copy(program("execs"), path)
    subprocess.run(["objcopy", "--remove-section", ".note.gnu.build-id", path, other], check=True)
    return path, log, ["setarch", "-R", path, f"{rounds:04}", log, other]


def wait_until_it_runs(pid, seconds=0.1):
    """Waits until a process has used that much CPU time from now on."""
    enough = cpu_time(pid) + seconds
    wait_for(lambda: cpu_time(pid) >= enough, 300)


@contextlib.contextmanager
def stopped(pids):
    """Stops processes during the `with` block, so that busy ones leave the CPUs to a profiler that starts or ends."""
    try:
        for pid in pids:
            os.kill(int(pid), signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            os.kill(int(pid), signal.SIGCONT)


def run_at_once(*commands, of, seconds=0.2, **kwargs):
    """Runs profilers at the same time, until each of these processes has used that much CPU time; those that
    will not sample end before. Returns their results; what they write while they sample needs a file."""
    said = []
    with contextlib.ExitStack() as stack:
        with stopped(of):
            started = [stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                            text=True, **kwargs)) for command in commands]
            for process in started:
                stack.callback(process.kill)
                lines = ""
                while "sampling" not in lines and (line := process.stderr.readline()):
                    lines += line
                said.append(lines)
        for pid in of if any("sampling" in lines for lines in said) else ():
            wait_until_it_runs(pid, seconds)
        with stopped(of):
            for process in started:
                process.terminate()
            rest = [process.communicate(timeout=180) for process in started]
    return [subprocess.CompletedProcess(process.args, process.returncode, out, before + err)
            for process, before, (out, err) in zip(started, said, rest)]


def sample_each(pids, least, *args):
    """Samples processes until there are that many samples of each; returns the samples of each."""
    found, counts = {pid: [] for pid in pids}, dict.fromkeys(pids, 0)
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        path = os.path.join(directory, "samples.jsonl")
        with stopped(pids):
            process = stack.enter_context(start("-p", ",".join(pids), "-o", path, *args, stderr=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            said = wait_until_it_says(process, "sampling")
        file = stack.enter_context(open(path))

        def are_enough():
            more = file.read()
            for pid in pids:
                counts[pid] += more.count(f'"pid":{pid},')
            return min(counts.values()) >= least
        wait_for(are_enough, 300)
        with stopped(pids):
            process.terminate()
            said += process.communicate(timeout=180)[1]
        assert process.returncode == 0, said
        file.seek(0)
        for sample in map(json.loads, file):
            found[str(sample["pid"])].append(sample)
    return found


# Start a process that runs before all others of this machine, one before even that, and one of its own that does not.
FIRST = "chrt", "--fifo", "1"
BEFORE_FIRST = "chrt", "--fifo", "2"
AS_USUAL = "chrt", "--other", "0"


def descendants(pid):
    found = read(f"/proc/{pid}/task/{pid}/children").split()
    return [other for child in found for other in (child, *descendants(child))]


@contextlib.contextmanager
def going_first(*pids):
    """Lets this process, others and those that these have started run before all others of this machine."""
    own, priority = os.sched_getscheduler(0), os.sched_getparam(0)
    first = os.sched_param(1)
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, first)
    try:
        for pid in {str(pid) for one in pids for pid in (one, *descendants(one))}:
            for status in glob.glob(f"/proc/{pid}/task/*/status"):  # helpers and threads come and go
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setscheduler(int(status.split("/")[4]), os.SCHED_RR, first)
        yield
    finally:
        os.sched_setscheduler(0, own, priority)


class Stillness:
    """The times, in seconds and from 3 ms on, in which a process of the profiler's priority, or
    started by `prefix`, did not run on one of the CPUs."""
    LONG = 0.05  # a ring holds a fraction of a second
    # Separate processes, until their input ends, because the one that waits may be busy.
    CODE = ("import os, select, sys, time\n"
            "os.setpriority(os.PRIO_PROCESS, 0, -10)\n"
            "os.sched_setaffinity(0, {int(sys.argv[1])})\n"
            "times = []\n"
            "while True:\n"
            "    before = time.monotonic()\n"
            "    if select.select([sys.stdin], [], [], 0.002)[0]: break\n"
            "    passed = time.monotonic() - before\n"
            "    if passed >= 0.003: times.append(passed)\n"
            "print(*times)\n")

    def __init__(self, prefix=()):
        self.prefix = prefix

    def __enter__(self):
        self.processes = [subprocess.Popen([*self.prefix, sys.executable, "-c", self.CODE, str(cpu)], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, text=True)
                          for cpu in os.sched_getaffinity(0)]
        return self

    def __exit__(self, *_):
        times = [[float(word) for word in process.communicate()[0].split()] for process in self.processes]
        assert not any(process.returncode for process in self.processes)
        self.longest = max(map(max, filter(None, times)), default=0)
        self.total = max(map(sum, times))  # of one CPU


def unless_still(attempt, tries=3):
    """Does attempt() return True? If it does not, and the machine stalled meanwhile, tries
    again."""
    for _ in range(tries):
        with Stillness() as stillness:
            if attempt():
                return True
        print(f"in vain; nothing ran for {1000 * stillness.longest:.0f} ms", flush=True)
        if stillness.longest < Stillness.LONG:
            return False
    return False


def end_in_time(process, seconds=5):
    """Ends one that is to end by then, whatever else the machine does; returns what it has said last."""
    with going_first(process.pid), Stillness(BEFORE_FIRST) as stillness:
        before = time.monotonic()
        process.terminate()
        said = process.communicate(timeout=60)[1]
        took = time.monotonic() - before
    print(f"it ended after {took:.1f} s", flush=True)
    assert took - stillness.total < seconds, f"it took {took:.1f} s: {said}"
    return said


def has_in_memory(pid, text):
    """Whether these bytes are in a process's heaps or stacks."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            # Of its heaps and stacks; others are reserved, or the kernel's.
            if line.split()[1] == "rw-p" and len(line.split()) == 5 + ("[" in line) and end - begin <= 16 << 20:
                memory.seek(begin)
                with contextlib.suppress(OSError):
                    if text in memory.read(end - begin):
                        return True
    return False


def read(path):
    """The contents of a file; "" if it is gone."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def is_emulated():
    """Is the CPU emulated by QEMU without KVM? Then the kernel takes a larger share of the time."""
    return "QEMU TCG CPU" in read("/proc/cpuinfo")


def children(pid):
    """Without a profiler's helper, which parses files."""
    found = read(f"/proc/{pid}/task/{pid}/children").split()
    return [child for child in found if "dwarfprof-helper" not in read(f"/proc/{child}/cmdline")]


def cpu_time(pid):
    """CPU time of all threads, in seconds."""
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else 0


def cpu_time_of_children(pid):
    """CPU time of those that have ended, in seconds."""
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK") if fields else 0


def seconds_sampled(said):
    """How long a profiler says that it has sampled."""
    return float(re.search(r"samples in (\d+\.\d+) s", said)[1])


def stolen_time():
    """Time that the machine's host took from all CPUs, in seconds. It counts as no time of any
    thread."""
    fields = read("/proc/stat").split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def values_beside(sample, keys=None):
    """The values of calls beside their frames, innermost first; keys: these alone."""
    frames = [f["values"] for f in sample["user_stack"] if "values" in f]
    found = [{key: value for key, value in values.items() if keys is None or key in keys} for values in frames]
    return [values for values in found if values]


def is_being_copied(sample):
    """Is the kernel copying its stack page after fork()? The page cannot be read then."""
    kernel = {frame["symbol"] for frame in sample["kernel_stack"]}
    # The compiler may merge both functions.
    return sample["outcome"] == "read_fault" and bool(kernel & {"do_wp_page", "wp_page_copy"})


def refuse(error, call, first=None):
    """Makes a system call (with this first argument, if given) fail with the error from now on:
    seccomp(2)."""
    load, equal, ret = 0x20, 0x15, 0x06  # linux/bpf_common.h
    of_argument = () if first is None else ((load, 0, 0, 16), (equal, 0, 1, first))  # seccomp_data.args[0]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in (
        (load, 0, 0, 0), (equal, 0, 1 + len(of_argument), call),  # seccomp_data.nr
        *of_argument, (ret, 0, 0, 0x00050000 | error), (ret, 0, 0, 0x7fff0000)))
    text = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program):
        raise OSError(ctypes.get_errno(), "seccomp")


# Programs that execute another program.
WRAPPERS = "env", "setpriv", "taskset"


class Target:
    """A program that runs during the `with` block."""

    def __init__(self, *command, **kwargs):
        self.command = command
        self.kwargs = kwargs

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, **self.kwargs)
        # For enough samples on a busy machine; the profiler still goes first.
        os.setpriority(os.PRIO_PROCESS, self.process.pid, -5)
        # Before the exec, it is a copy of this process.
        while os.readlink(f"/proc/{self.process.pid}/exe") == os.readlink("/proc/self/exe") \
                and "python" not in self.command[0]:
            time.sleep(0.01)
        while os.path.basename(os.readlink(f"/proc/{self.process.pid}/exe")) in WRAPPERS:
            time.sleep(0.01)
        time.sleep(0.1)
        return str(self.process.pid)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def busy():
    return Target(program("fibonacci"), "3600")


def chosen(is_long):
    """The tests of the main file that a class names in LONG, or the others. LONG are variants of other tests, which
    take long together: ci/test leaves them out, and ci/long runs them."""
    main_file, names = sys.modules["__main__"], []
    for name in dir(main_file):
        one = getattr(main_file, name)
        if isinstance(one, type) and issubclass(one, unittest.TestCase):
            tests, long = unittest.defaultTestLoader.getTestCaseNames(one), getattr(one, "LONG", ())
            if missing := set(long) - set(tests):
                sys.exit(f"{name}.LONG: there is no {', '.join(sorted(missing))}")
            names += [f"{name}.{test}" for test in tests if (test in long) == is_long]
    return names


class TimedResult(unittest.TextTestResult):
    """Also says which tests took long, and the CPU time of their processes that have ended."""
    LONG = 5

    def startTest(self, test):
        super().startTest(test)
        self.start, self.cpu = time.monotonic(), sum(os.times()[:4])

    def stopTest(self, test):
        super().stopTest(test)
        if (took := time.monotonic() - self.start) >= self.LONG:
            name = unittest.TestCase.id(test)  # a test may have an id of its own
            print(f"{name} took {took:.0f} s, and {sum(os.times()[:4]) - self.cpu:.0f} s of CPU", flush=True)


class TimedRunner(unittest.TextTestRunner):
    resultclass = TimedResult


def run_tests(names=()):
    """Runs these tests of the main file, or all but LONG, or only LONG ("--long"); tells meson if one was skipped.
    Running none is a failure."""
    names = list(names)
    if names in ([], ["--long"]):
        names = chosen(bool(names)) or sys.exit("there are no such tests")
    outcome = unittest.main(argv=[sys.argv[0], *names], exit=False, testRunner=TimedRunner).result
    if not outcome.wasSuccessful() or outcome.testsRun == 0:
        sys.exit(1)
    sys.exit(77 if outcome.skipped else 0)


def is_for_all(path):
    """May other users reach the path? Not inside root's home, where the tree may be."""
    parents = pathlib.Path(path).resolve().parents
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in parents)


def tell_what_is_missing():
    """Bare chroots and containers may lack namespaces, which many tests need."""
    for what, options in (("PID namespaces and mounts", ("--pid", "--fork", "--mount-proc")),
                          ("user namespaces", ("--user", "--map-root-user"))):
        tried = subprocess.run(["unshare", *options, "true"], capture_output=True, text=True)
        if tried.returncode != 0:
            print(f"there are no {what} here, which tests need: {tried.stderr.strip()}\n"
                  "  try: a machine, a privileged container, or ci/chroot", file=sys.stderr, flush=True)


def main():
    """The same for tests that need root, and run programs as other users."""
    global DWARFPROF, PROGRAMS
    DWARFPROF, PROGRAMS = map(os.path.abspath, sys.argv[1:3])
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    tell_what_is_missing()
    with tempfile.TemporaryDirectory() as directory:
        if not is_for_all(DWARFPROF):
            os.chmod(directory, 0o755)
            DWARFPROF = shutil.copy(DWARFPROF, os.path.join(directory, "dwarfprof"))
            PROGRAMS = shutil.copytree(PROGRAMS, os.path.join(directory, "programs"), symlinks=True)
        run_tests(sys.argv[3:])
