#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hours of a busy machine in minutes: does dwarfprof -a grow, leak, or lose samples?

usage: soak.py [--write] DWARFPROF [SECONDS] [HZ]
       soak.py --host [--own] [--event EVENT] [--series TSV] BUILD [SECONDS] [HZ]

Starts at least 50 processes per second, some of them programs that are copied, run and deleted, and
keeps redis-server busy on the loopback interface. Prints a row every 10 seconds. At the end, memory
must not have grown since it settled, after two and a half minutes; descriptors and BPF maps must be
those of the start; fewer than one sample in a thousand may be lost; nothing may have crashed. In
less than three and a half minutes, memory may grow by what is kept for each new program.

With --host, a program that uses libdwarfprof and takes a profile every 10 seconds, while processes of
2,000 different programs come and go: soak_host.py says what is judged. With --own it profiles these
alone, as on a machine that others use. TSV gets what was measured, for bench/soak.gp.
"""
import argparse
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../ci"))
import figures  # noqa: E402
import soak_host  # noqa: E402

ACCURACY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../docs/ACCURACY.md")
EVERY = 10
STARTS = 50  # per second, at least
COPIES = 5  # of these, of new programs
MIN_STACKS = 50  # per second, of what is started: one for each process
MAX_LOST = 0.1  # percent
OWN = ("redis-", "copy", "true", "ls", "sh", "awk", "mawk", "date", "wc")
SELF = ("dwarfprof", "python3", "soak.py", "bpftool")
# Share of all user stacks: with more from other programs, their tables and names would mask a leak.
MAX_FOREIGN = 0.1
MAX_GROWTH = 1024  # KiB per minute of PSS, after settling
SETTLE = 150  # seconds: unused objects are kept for a minute
SETTLED_ROWS = 6
# Before that, allowed per new program: descriptors, and KiB of PSS; and a fixed allowance.
OF_COPY = {"fds": 2, "PSS": 250}
BESIDES = {"fds": 64, "PSS": 32768}
COMMANDS = (["/bin/true"], ["/bin/ls", "/"], ["/bin/sh", "-c", "echo $(date) | wc -c"],
            ["/usr/bin/awk", "BEGIN { for (i = 0; i < 10000; i++) s += i }"])


def bpf_objects(pid):
    """The programs, maps and links for which a process has descriptors."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}") as file:
                found.update(re.findall(r"^(prog|map|link)_id:\s+(\d+)", file.read(), re.M))
        except OSError:
            pass  # closed meanwhile
    return found


def still_there(objects):
    """Those of them that still exist in the kernel."""
    found = set()
    for kind in ("prog", "map", "link"):
        out = subprocess.run(["bpftool", "-j", kind, "show"], capture_output=True, text=True).stdout
        found.update((kind, str(item["id"])) for item in json.loads(out or "[]"))
    return objects & found


class Churn(threading.Thread):
    """Starts processes, and waits for them."""

    def __init__(self, directory):
        super().__init__()
        self.directory = directory
        self.started = 0
        self.is_over = False

    def run(self):
        begin, copies = time.monotonic(), 0
        while not self.is_over:
            passed = time.monotonic() - begin
            running = []
            while self.started < STARTS * 1.2 * passed:
                if copies < COPIES * passed:
                    command = [os.path.join(self.directory, f"copy{copies}"), "/"]
                    shutil.copy("/bin/ls", command[0])
                    copies += 1
                else:
                    command = COMMANDS[self.started % len(COMMANDS)]
                running.append((subprocess.Popen(command, stdout=subprocess.DEVNULL), command[0]))
                self.started += 1
            for process, path in running:
                process.wait()
                if path.startswith(self.directory):
                    os.unlink(path)
            time.sleep(0.02)


class Samples(threading.Thread):
    """Reads samples as they arrive, and counts them."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.all = self.user = self.complete = self.lost = 0
        self.own = self.own_complete = 0  # of processes started here
        self.foreign = 0  # of other programs
        self.others = collections.Counter()

    def run(self):
        outcome = re.compile(rb'"outcome":"([a-z_]+)"')
        comm = re.compile(rb'"comm":"([^"]*)"')
        lost = re.compile(rb'"lost":(\d+)')
        for line in self.file:
            word = outcome.search(line).group(1)
            self.all += 1
            self.user += word != b"no_user_stack"
            self.complete += word == b"complete"
            if word != b"no_user_stack":
                name = comm.search(line).group(1).decode(errors="replace")
                is_own = name.startswith(OWN)
                self.own += is_own
                self.foreign += not is_own and not name.startswith(SELF)
                self.own_complete += is_own and word == b"complete"
                if word != b"complete":
                    self.others[f"{word.decode()} in {name}"] += 1
            self.lost = int(lost.findall(line)[-1])


def memory(pid):
    """RSS and PSS in KiB."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        text = file.read()
    return [int(re.search(rf"^{what}:\s+(\d+)", text, re.M).group(1)) for what in ("Rss", "Pss")]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def slope(rows):
    """Growth of PSS in KiB per minute, by least squares."""
    n = len(rows)
    mean_x, mean_y = (sum(row[i] for row in rows) / n for i in (0, 1))
    square = sum((row[0] - mean_x) ** 2 for row in rows)
    return 60 * sum((row[0] - mean_x) * (row[1] - mean_y) for row in rows) / square if square else 0


def watch(process, samples, churn, seconds):
    """A row every EVERY seconds. Returns a list of (time, PSS, descriptors, objects, % of a CPU),
    and all objects seen."""
    rows, all_objects, begin, cpu_before = [], set(), time.monotonic(), 0
    print("    s   RSS KiB   PSS KiB   fds  objects   starts  samples  complete    lost   CPU", flush=True)
    while time.monotonic() - begin < seconds and process.poll() is None:
        time.sleep(EVERY)
        if process.poll() is not None:
            break
        passed = time.monotonic() - begin
        rss, pss = memory(process.pid)
        fds = len(os.listdir(f"/proc/{process.pid}/fd"))
        cpu = cpu_seconds(process.pid)
        objects = bpf_objects(process.pid)
        all_objects |= objects
        rows.append((passed, pss, fds, len(objects), 100 * (cpu - cpu_before) / EVERY))
        print(f"{passed:5.0f} {rss:9} {pss:9} {fds:5} {len(objects):8} {churn.started:8} {samples.all:8} "
              f"{100 * samples.complete / max(samples.user, 1):7.2f} % {100 * samples.lost / max(samples.all, 1):5.2f} % "
              f"{100 * (cpu - cpu_before) / EVERY:4.1f} %", flush=True)
        cpu_before = cpu
    return rows, all_objects


def judge_growth(rows, samples):
    """What is wrong with the growth: after settling, or by the limits before that if nothing else
    runs."""
    settled = [row for row in rows if row[0] >= SETTLE]
    if len(settled) >= SETTLED_ROWS:
        growth = slope(settled)
        print(f"PSS grows by {growth:.0f} KiB per minute")
        yield from ["memory grows"] * (growth > MAX_GROWTH)
        yield from ["descriptors grow"] * (settled[-1][2] > settled[0][2] + BESIDES["fds"])
        yield from ["BPF objects grow"] * (settled[-1][3] > settled[0][3])
        return
    if len(rows) < 3:
        yield "too short to say whether it grows"
        return
    is_alone = samples.foreign <= MAX_FOREIGN * samples.user
    if not is_alone:
        yield f"PSS and descriptors cannot be judged: {samples.foreign} of {samples.user} stacks are of others' programs"
    copies = COPIES * (rows[-1][0] - rows[0][0]) * 1.2
    for what, column in ("PSS", 1), ("fds", 2):
        grown, allowed = rows[-1][column] - rows[0][column], OF_COPY[what] * copies + BESIDES[what]
        print(f"{what}: {grown} more at the end than in the first row, {allowed:.0f} may be; "
              f"whether it settles is judged from {SETTLE + SETTLED_ROWS * EVERY} s on")
        if grown > allowed:
            yield f"{what} grow by more than each new program may take"
    yield from ["BPF objects grow"] * (rows[-1][3] > rows[0][3])


def judge(rows, process, samples, churn, seconds, left):
    """What is wrong."""
    print(f"{churn.started / seconds:.0f} starts per second, "
          f"{samples.lost} of {samples.all} samples lost, {left} objects left in the kernel")
    print(f"of the {samples.own} stacks of what was started here, {samples.own_complete} are complete; not complete:",
          ", ".join(f"{n} {what}" for what, n in samples.others.most_common(5)) or "none")
    wrong = list(judge_growth(rows, samples))
    if left or not rows or rows[0][3] == 0:
        wrong.append("objects are left in the kernel")
    if process.returncode != 0:
        wrong.append(f"it ended with {process.returncode}")
    if samples.lost * 100 > MAX_LOST * samples.all:
        wrong.append("samples are lost")
    if churn.started < STARTS * seconds:
        wrong.append("too few processes were started, the machine is too busy")
    if samples.own < MIN_STACKS * seconds:
        wrong.append("too few stacks are of what was started")
    if samples.own_complete < 0.99 * samples.own:
        wrong.append("too few stacks are complete")
    return wrong


def tell(rows, samples, hz, left):
    """Prints the figures as a table."""
    chosen = [rows[0], rows[len(rows) // 2], rows[-1]]
    times, columns = ", ".join(f"{row[0]:.0f}" for row in chosen), list(zip(*chosen))
    shares = [row[4] for row in rows]
    return figures.table(["", f"{rows[-1][0]:.0f} s, {hz} Hz"], [
        ["samples", f"{samples.all:,}"],
        ["lost", f"{samples.lost:,}"],
        [f"complete, of what was started here: {samples.own:,} stacks",
         # Rounded down: 100 % is all of them.
         f"{10000 * samples.own_complete // max(samples.own, 1) / 100:.2f} %"],
        ["CPU time of dwarfprof itself, with `jsonl`", f"{min(shares):.0f} to {max(shares):.0f} % of one CPU"],
        [f"memory (PSS) after {times} s", ", ".join(f"{pss / 1024:.0f}" for pss in columns[1]) + " MiB"],
        [f"descriptors after {times} s", ", ".join(map(str, columns[2]))],
        ["BPF programs, maps and links, from the first row to the last; left afterwards",
         f"{rows[0][3]} to {rows[-1][3]}; {left}"],
    ])


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--event", default="cpu")
    parser.add_argument("--series", metavar="TSV")
    parser.add_argument("dwarfprof", type=os.path.abspath)
    parser.add_argument("seconds", type=int, nargs="?", default=600)
    parser.add_argument("hz", nargs="?", default="999")
    return parser.parse_args()


def main():
    args = arguments()
    seconds = args.seconds
    if args.host:
        return soak_host.soak(args)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as directory:
        socket = os.path.join(directory, "redis")
        server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                                   "--dir", directory], **quiet)
        while not os.path.exists(socket):
            time.sleep(0.1)
        client = subprocess.Popen(["redis-benchmark", "-s", socket, "-l", "-q", "-c", "4", "-t", "set,get,lpush,lpop"],
                                  **quiet)
        process = subprocess.Popen([args.dwarfprof, "-a", "-F", args.hz, "--format", "jsonl"], stdout=subprocess.PIPE)
        churn, samples = Churn(directory), Samples(process.stdout)
        churn.start()
        samples.start()
        try:
            rows, objects = watch(process, samples, churn, seconds)
        finally:
            churn.is_over = True
            churn.join()
            for one in (client, server):
                one.kill()
                one.wait()
            process.send_signal(signal.SIGINT)
            process.wait()
            samples.join()
    for _ in range(100):
        if not still_there(objects):
            break
        time.sleep(0.1)
    left = len(still_there(objects))
    wrong = judge(rows, process, samples, churn, seconds, left)
    if args.write and not wrong:
        figures.write(ACCURACY, "bench/soak.py", "\n" + tell(rows, samples, args.hz, left) + "\n" + figures.origin())
    for line in wrong:
        print("wrong:", line)
    return int(bool(wrong))


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)  # skipped: the kernel lets only root do this
    sys.exit(main())
