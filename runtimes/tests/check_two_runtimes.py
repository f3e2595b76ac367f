#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks stacks of a process with two runtimes: Python, which has loaded Ruby's library, called in turn.

usage: check_two_runtimes.py [--show] DWARFPROF

The program's innermost function writes down Python's and Ruby's own lists of their frames. What calls what is known by
construction: each language's frames have to be its list, and the order of both the one in ORDER. At least
SHARE of MIN_SAMPLES samples have all that, and none has anything else but less of it.
"""
import glob
import itertools
import json
import os
import subprocess
import sys
import tempfile

# Called by the innermost function.
INNER = "spin.<locals>.<genexpr>"
SHARE = 0.95
MIN_SAMPLES = 200
PYTHON = "/usr/bin/python3"
# Debian's: its name has the version.
RUBY = "/usr/lib/*/libruby-3.*.so.3.?"

PROGRAM = '''\
import ctypes, json, sys, time, traceback
ruby = ctypes.PyDLL(sys.argv[3])
ruby.rb_eval_string.restype = ctypes.c_ulong
ruby.ruby_init()
VALUE = ctypes.PYFUNCTYPE(ctypes.c_ulong, ctypes.c_ulong)
found = {}
def spin():
    ruby.rb_eval_string(b"$frames = caller_locations(0).map(&:label)")
    ruby.rb_eval_string(b"File.write($place, $frames.join(\\"\\n\\"))")
    found["python"] = [f.name for f in reversed(traceback.extract_stack())]
    found["began"] = time.monotonic_ns()
    total, end = 0, time.process_time() + 1.5
    while time.process_time() < end:
        total += sum(i * i % 7 for i in range(100))
    found["end"] = time.monotonic_ns()
@VALUE
def called_back(_):
    spin()
    return 8
def main():
    ruby.rb_define_global_function(b"call_python", called_back, 0)
    ruby.rb_eval_string(b"$place = %r" % sys.argv[1])
    ruby.rb_eval_string(b"def inner(x) = call_python\\ndef outer() = [1].each { |x| inner(x) }\\nouter")
main()
with open(sys.argv[2], "w") as file:
    json.dump(found, file)
'''

# From the root; of Python, what ctypes has of its own is native.
ORDER = ["python", "ruby", "python"]


def profile(dwarfprof, library, directory):
    program, ruby, python, output = (os.path.join(directory, name) for name in ("p.py", "ruby", "python", "samples"))
    with open(program, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run([dwarfprof, "-F", "499", "--format", "jsonl", "-o", output, "--", PYTHON, program, ruby, python, library],
                   check=True, timeout=120, stderr=subprocess.DEVNULL)
    with open(python, encoding="utf-8") as file:
        wanted = json.load(file)
    with open(ruby, encoding="utf-8") as file:
        # Its first frames are of what lists them.
        wanted["ruby"] = file.read().splitlines()[1:]
    with open(output, encoding="utf-8") as file:
        return wanted, [json.loads(line) for line in file]


def names_of(sample, kind):
    return [f["symbol"] for f in sample["user_stack"] if f["kind"] == kind]


def is_whole(sample, wanted):
    """All that it has to be; what the innermost function has called aside."""
    python = [name for name in names_of(sample, "python") if name != INNER]
    order = [kind for kind, _ in itertools.groupby(f["kind"] for f in reversed(sample["user_stack"]) if f["kind"] != "native")]
    return python == wanted["python"] and names_of(sample, "ruby") == wanted["ruby"] and order == ORDER


def is_part(sample, wanted):
    """Nothing else, in no other order."""
    for kind in ("python", "ruby"):
        rest = iter(wanted[kind])
        if not all(name in rest for name in names_of(sample, kind) if name not in (INNER, f"[{kind}, unloaded]")):
            return False
    return True


def main():
    libraries = glob.glob(RUBY)
    if os.geteuid() != 0 or not libraries:
        return 77
    with tempfile.TemporaryDirectory() as directory:
        wanted, samples = profile(sys.argv[-1], libraries[0], directory)
    samples = [s for s in samples if wanted["began"] < s["time_ns"] < wanted["end"]]
    whole = sum(is_whole(s, wanted) for s in samples)
    wrong = [s for s in samples if not is_part(s, wanted)]
    print(f"python and ruby: {len(samples)} samples, {whole} whole, {len(wrong)} wrong; ruby says", *wanted["ruby"])
    if "--show" in sys.argv:
        for sample in [s for s in samples if not is_whole(s, wanted)][:3]:
            print(*[(f["kind"], f["symbol"]) for f in sample["user_stack"]], sep="\n    ")
    return 0 if len(samples) >= MIN_SAMPLES and whole >= SHARE * len(samples) and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
