#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that functions have names though their program has ended before more than its first samples are reported.

usage: check_blocked.py [--show] DWARFPROF

Samples go to a pipe that nobody reads while the program runs, so that who reports them waits, as it does while the first
names in a large binary are looked up. The programs and what their samples have to be are those of check_scripts.py.
"""
import argparse
import fcntl
import json
import os
import random
import subprocess
import sys
import tempfile

import check_requests
import check_scripts
import perl_chains

# Of a pipe: the first samples of a program's start fill it.
PIPE_SIZE = 4096


def pid_of(results):
    """None: the program has not written all of them yet."""
    try:
        with open(results, encoding="utf-8") as file:
            return json.load(file)[0]["tid"]
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def has_ended(pid):
    """Its memory is gone then, even if nobody has waited for it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return True


def profile(dwarfprof, language, text, seconds, show):
    with tempfile.TemporaryDirectory() as folder:
        program, results, log = (os.path.join(folder, name) for name in ("p." + language.suffix, "results", "log"))
        with open(program, "w", encoding="utf-8") as to:
            to.write(text)
        command = [dwarfprof, "-F", check_scripts.HZ, "--format", "jsonl", "--", language.command, program, str(seconds), results]
        with open(log, "w", encoding="utf-8") as said, \
             subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as profiler:
            fcntl.fcntl(profiler.stdout, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
            check_requests.wait_for(lambda: (pid := pid_of(results)) and has_ended(pid), profiler, dwarfprof, log)
            samples = [json.loads(line) for line in profiler.stdout]
        with open(results, encoding="utf-8") as of:
            wanted = json.load(of)
        if language.name == "ruby":
            for result in wanted:
                result["frames"] = check_scripts.without_places_in_c(result["frames"])
        return check_scripts.count(language, samples, wanted, program, show)


def check(dwarfprof, language, show):
    text = language.make_program(random.Random(1))
    for seconds in check_scripts.SECONDS:
        whole, shorter, wrong, _, unloaded = profile(dwarfprof, language, text, seconds, 3 if show else 0)
        n = whole + shorter + wrong
        print(f"{language.name} {language.version()}: {n} samples, {whole} whole, {unloaded} with what has no name, {wrong} wrong")
        is_good = n >= check_scripts.MIN_SAMPLES and whole >= check_scripts.SHARE * n and wrong == 0
        if is_good or wrong:
            break
    return is_good


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    languages = [l for l in check_scripts.LANGUAGES if not l.variant and l.main != perl_chains.IN_THREAD]
    good = [check(args.dwarfprof, language, args.show) for language in languages]
    sys.exit(0 if all(good) else "some frames are missing or wrong")


if __name__ == "__main__":
    main()
