#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a trait's methods have their own class, or no name.

usage: check_requests.py [--show] DWARFPROF

PHP's web server answers requests one by one in a process, as a worker of php-fpm does. Each has one of N_CLASSES
classes with the same trait, from a file or by eval(), and calls a method of it, which calls a function whose
name says of which class it is. PHP frees the class at the request's end, and with the next one another class's
method is at the same address, with the same instructions. In each sample that has such a function, the frame
that calls it has to be of this class, file and line, or without a name. In the last request of each kind the
function executes for long: SHARE of its samples have to have the name with the class.
"""
import argparse
import collections
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import check_includes

HZ = "997"
SHARE = 0.9
N_CLASSES = 4
# In all, and of what executes for long.
MIN_SAMPLES, MIN_LAST = 150, 60
# How many times as many are awaited: the first ones may have no names on a busy machine.
ROUNDS = (1, 8)
# Seconds of what takes so long only if something hangs: of a request, and until there are enough samples.
TIMEOUT = 60
UNLOADED = "[php, unloaded]"

KINDS = {"file": 'require __DIR__ . "/class$v.php";', "eval": 'eval("class K$v { use Maker; }");'}
MAIN = """<?php
$v = (int)$_GET["v"];
$end = hrtime(true) + (int)((float)$_GET["seconds"] * 1e9);
require __DIR__ . "/functions.php";
require __DIR__ . "/maker.php";
%s
("K$v")::run("work_$v", $end);
"""
MAKER = """<?php
trait Maker {
  static function run($work, $end) {
    $work($end);
  }
}
"""
CALL_LINE = 4
WORK = "do { for ($n = $sum = 0; $n < 20000; $n++) $sum += $n * $n % 7; } while (hrtime(true) < $end);"


def write(folder):
    files = {f"{kind}.php": MAIN % text for kind, text in KINDS.items()}
    files["maker.php"] = MAKER
    files["functions.php"] = "<?php\n" + "".join(f"function work_{v}($end) {{ {WORK} }}\n" for v in range(N_CLASSES))
    files.update((f"class{v}.php", f"<?php\nclass K{v} {{ use Maker; }}\n") for v in range(N_CLASSES))
    for name, text in files.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def wait_for(is_done, process, what, log):
    """Ends the test if the process ends meanwhile, or if it takes too long."""
    end = time.monotonic() + TIMEOUT
    while not is_done():
        if process.poll() is not None or time.monotonic() > end:
            state = "hangs" if process.returncode is None else f"has ended with {process.returncode}"
            process.kill()
            sys.exit(f"{what} {state}:\n{read(log)[-2000:]}")
        time.sleep(0.02)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


class Server:
    def __init__(self, options, folder, log):
        self.log = log
        # It says which port it has: "... Development Server (http://127.0.0.1:43210) started".
        with open(log, "w", encoding="utf-8") as file:
            self.process = subprocess.Popen(["php", *options, "-S", "127.0.0.1:0", "-t", folder],
                                            stdout=subprocess.DEVNULL, stderr=file)

    def __enter__(self):
        wait_for(lambda: "started" in read(self.log), self.process, "PHP's server", self.log)
        self.port = int(re.search(r"http://127.0.0.1:(\d+)", read(self.log))[1])
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def request(self, kind, variant, seconds):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        try:
            connection.request("GET", f"/{kind}.php?v={variant}&seconds={seconds}")
            said = connection.getresponse().read()
        except OSError as error:
            sys.exit(f"PHP's server: {error}:\n{read(self.log)[-2000:]}")
        connection.close()
        if said:
            sys.exit(said.decode())


def judge(frame, variant, folder):
    name = frame["symbol"]
    if name == UNLOADED:
        return "unloaded"
    if frame["file"] == f"{folder}/maker.php" and frame["line"] == CALL_LINE:
        if name == f"K{variant}::run":
            return "named"
        if name == "run":
            return "without class"
    return "wrong"


def count(output, folder, show):
    """The verdicts of the samples so far. The last line may not be whole yet."""
    counts = collections.Counter()
    for line in read(output).split("\n")[:-1]:
        frames = [f for f in json.loads(line)["user_stack"] if f["kind"] == "php"]
        for called, caller in zip(frames, frames[1:]):
            if called["symbol"].startswith("work_"):
                verdict = judge(caller, called["symbol"][-1], folder)
                counts[verdict] += 1
                if verdict == "wrong" and show:
                    print(verdict, *[(f["symbol"], f["file"], f["line"]) for f in frames])
    return counts


def sample(dwarfprof, server, request, n, folder, show):
    """The verdicts of samples while requests are sent, until there are so many."""
    output, log = f"{folder}/samples", f"{folder}/log"
    command = [dwarfprof, "-F", HZ, "--format", "jsonl", "-o", output, "-p", str(server.process.pid)]
    with open(log, "w", encoding="utf-8") as file:
        profiler = subprocess.Popen(command, stderr=file)

    def has_enough():
        end = time.monotonic() + 0.5  # all samples are read again
        while time.monotonic() < end:
            request()
        return sum(count(output, folder, False).values()) >= n

    wait_for(lambda: "dwarfprof: sampling" in read(log), profiler, "dwarfprof", log)
    wait_for(has_enough, profiler, f"dwarfprof, which should have {n} samples,", log)
    profiler.send_signal(signal.SIGINT)
    try:
        if profiler.wait(TIMEOUT):
            sys.exit(f"dwarfprof: {profiler.returncode}:\n{read(log)[-2000:]}")
    finally:
        profiler.kill()
    return count(output, folder, show)


def check(dwarfprof, kind, options, show):
    with tempfile.TemporaryDirectory() as folder, Server(options, os.path.realpath(folder), f"{folder}/php") as server:
        folder = os.path.realpath(folder)
        write(folder)
        for factor in ROUNDS:
            soon = sample(dwarfprof, server, lambda: server.request(kind, random.randrange(N_CLASSES), 0),
                          MIN_SAMPLES * factor, folder, show)
            last = sample(dwarfprof, server, lambda: server.request(kind, 1, 1), MIN_LAST * factor, folder, show)
            is_wrong = soon["wrong"] or last["wrong"]
            is_good = last["named"] >= SHARE * sum(last.values())
            if is_good or is_wrong:
                break
    for what, counts in (("freed soon", soon), ("that stay", last)):
        print(f"php {' '.join(options)}, {kind}, {what}:", ", ".join(f"{n} {v}" for v, n in sorted(counts.items())), flush=True)
    return is_good and not is_wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    random.seed(1)
    settings = [["-d", "opcache.enable=0"]]
    if check_includes.has_opcache():
        settings.append(["-d", "opcache.enable=1", "-d", "opcache.file_update_protection=0"])
    good = [check(args.dwarfprof, kind, options, args.show) for options in settings for kind in KINDS]
    sys.exit(0 if all(good) else "some have no names, or others'")


if __name__ == "__main__":
    main()
