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
# Seconds of each part; the longer ones are for busy machines.
SECONDS = (2, 6, 20)
LONG = 60  # a request's timeout
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


class Server:
    def __init__(self, options, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(["php", *options, "-S", f"127.0.0.1:{self.port}", "-t", folder],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        for _ in range(1000):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.02)
        sys.exit("PHP's server does not answer")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def request(self, kind, variant, seconds):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        connection.request("GET", f"/{kind}.php?v={variant}&seconds={seconds}")
        said = connection.getresponse().read()
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
    counts = collections.Counter()
    with open(output, encoding="utf-8") as file:
        for sample in map(json.loads, file):
            frames = [f for f in sample["user_stack"] if f["kind"] == "php"]
            for called, caller in zip(frames, frames[1:]):
                if called["symbol"].startswith("work_"):
                    verdict = judge(caller, called["symbol"][-1], folder)
                    counts[verdict] += 1
                    if verdict == "wrong" and show:
                        print(verdict, *[(f["symbol"], f["file"], f["line"]) for f in frames])
    return counts


def sample(dwarfprof, server, seconds, requests, folder, show):
    """The verdicts of samples while requests are sent."""
    output = f"{folder}/samples"
    command = [dwarfprof, "-F", HZ, "--format", "jsonl", "-o", output, "-d", str(seconds), "-p", str(server.process.pid)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as profiler:
        while profiler.poll() is None:
            requests()
    if profiler.returncode:
        sys.exit(f"dwarfprof: {profiler.returncode}")
    return count(output, folder, show)


def check(dwarfprof, kind, options, show):
    soon, last = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder, Server(options, os.path.realpath(folder)) as server:
        folder = os.path.realpath(folder)
        write(folder)
        for seconds in SECONDS:
            soon = sample(dwarfprof, server, seconds, lambda: server.request(kind, random.randrange(N_CLASSES), 0), folder, show)
            last = sample(dwarfprof, server, seconds, lambda: server.request(kind, 1, 1), folder, show)
            n, n_last = sum(soon.values()), sum(last.values())
            is_wrong = soon["wrong"] or last["wrong"]
            is_good = n >= MIN_SAMPLES and n_last >= MIN_LAST and last["named"] >= SHARE * n_last
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
