#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `dwarfprof dump` shows of Perl with Carp's list of the same calls.

usage: check_perl.py [--programs N] [--seed N] [--show] DWARFPROF

Runs programs of random chains of calls (perl_chains.py), whose innermost function writes down Carp::longmess()
and then stops its process. The functions have to be the same, in order, with their files and lines. Blocks of eval,
which Carp has, are no functions.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import check_scripts
import perl_chains

LEAF = '''
use Carp ();
sub mess { return Carp::longmess("x") }
sub leaf {
  open my $to, ">:utf8", $ARGV[1] or die;
  print $to mess(); close $to; kill STOP => $$;
  return 1;
}
'''

# The text of an eval may have several lines.
CALL = re.compile(r"\t(eval \{\.\.\.\}|eval '.*?'|require .*?|([^\s(]+)(?:\(.*?\))?) called at ([^\n]*) line (\d+)\n", re.S)


def carp_frames(text):
    """[name, file, line] of each function, from where it calls the next one."""
    first = re.match(r"x at (.*) line (\d+)\.\n", text)
    calls = CALL.findall(text)
    if not first or len(calls) != text.count("\t"):
        sys.exit(f"what Carp says is not understood:\n{text}")
    place, frames = [first[1], int(first[2])], []
    for what, name, file, line in calls:
        if what != "eval {...}":
            frames.append([name or "(eval)", *place])
            place = [file, int(line)]
    return [*frames, ["<main>", *place]]


def dump(dwarfprof, pid):
    said = subprocess.run([dwarfprof, "dump", "-p", str(pid), "-U", "--format", "jsonl"], check=True,
                          capture_output=True, text=True, timeout=180).stdout
    record = json.loads(said)
    return record["outcome"], [[f["symbol"], f["file"], f["line"]] for f in record["user_stack"] if f["kind"] == "perl"]


def check(dwarfprof, text, show):
    with tempfile.TemporaryDirectory() as folder:
        program, result = os.path.join(folder, "p.pl"), os.path.join(folder, "result")
        with open(program, "w", encoding="utf-8") as to:
            to.write(text)
        with subprocess.Popen(["perl", program, "0", result]) as process:
            try:
                if not os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]):
                    sys.exit("the program has ended")
                outcome, got = dump(dwarfprof, process.pid)
            finally:
                process.kill()
        with open(result, encoding="utf-8") as file:
            wanted = carp_frames(file.read())
    if show and got != wanted:
        print("got", *got, "wanted", *wanted, sep="\n    ")
    return outcome == "complete" and got == wanted


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof")
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    parts = (perl_chains.HEAD, LEAF, perl_chains.WAYS, perl_chains.MAIN)
    language = check_scripts.Language("perl", "perl", "pl", parts, set())
    draw = random.Random(args.seed)
    n_equal = sum(check(args.dwarfprof, language.make_program(draw), args.show) for _ in range(args.programs))
    print(f"{n_equal} of {args.programs} programs are as Carp says")
    return 0 if n_equal == args.programs else 1


if __name__ == "__main__":
    sys.exit(main())
