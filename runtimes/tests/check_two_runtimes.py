#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks stacks of a process with two runtimes: Python, which has loaded Ruby's library, called in turn; or with three.

usage: check_two_runtimes.py [--show] DWARFPROF

The program's innermost function writes down Python's and Ruby's own lists of their frames. What calls what is known by
construction: each language's frames have to be its list, and the order of both the one in ORDER. At least
SHARE of MIN_SAMPLES samples have all that, and none has anything else but less of it.

With Perl's library loaded last, and called by the innermost function, Python's and Perl's frames are read, which are
in the first mappings. Ruby's remain native, which has to be said.
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

PERL = "/usr/lib/*/libperl.so.5.??"
THIRD = "its runtime (ruby) is the third of process "

PROGRAM = '''\
import ctypes, json, sys, time, traceback
ruby = ctypes.PyDLL(sys.argv[3])
ruby.rb_eval_string.restype = ctypes.c_ulong
ruby.ruby_init()
if len(sys.argv) > 4:
    perl = ctypes.PyDLL(sys.argv[4])
    perl.perl_alloc.restype = ctypes.c_void_p
    perl.Perl_sys_init3(ctypes.byref(ctypes.c_int(0)), None, None)
    interpreter = ctypes.c_void_p(perl.perl_alloc())
    perl.perl_construct(interpreter)
    perl.perl_parse(interpreter, None, 3, (ctypes.c_char_p * 4)(b"", b"-e", b"0", None), None)
VALUE = ctypes.PYFUNCTYPE(ctypes.c_ulong, ctypes.c_ulong)
found = {}
def spin():
    ruby.rb_eval_string(b"$frames = caller_locations(0).map(&:label)")
    ruby.rb_eval_string(b"File.write($place, $frames.join(\\"\\n\\"))")
    found["python"] = [f.name for f in reversed(traceback.extract_stack())]
    found["began"] = time.monotonic_ns()
    if len(sys.argv) > 4:
        perl.Perl_eval_pv(interpreter, b"sub inner { my $end = (times)[0] + 1.5; my $n = 0; "
                          b"while ((times)[0] < $end) { $n += $_ for 1 .. 100 } } sub outer { inner(); 1 } outer();", 1)
    total, end = 0, time.process_time() + (1.5 if len(sys.argv) <= 4 else 0)
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


def profile(dwarfprof, libraries, directory):
    """What the languages say, the samples, and what was said."""
    program, ruby, python, output = (os.path.join(directory, name) for name in ("p.py", "ruby", "python", "samples"))
    with open(program, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    said = subprocess.run([dwarfprof, "-F", "499", "--format", "jsonl", "-o", output, "--", PYTHON, program, ruby, python,
                           *libraries], check=True, timeout=120, stderr=subprocess.PIPE, text=True).stderr
    with open(python, encoding="utf-8") as file:
        wanted = json.load(file)
    with open(ruby, encoding="utf-8") as file:
        # Its first frames are of what lists them.
        wanted["ruby"] = file.read().splitlines()[1:]
    with open(output, encoding="utf-8") as file:
        samples = [json.loads(line) for line in file]
    return wanted, [s for s in samples if wanted["began"] < s["time_ns"] < wanted["end"]], said


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


def check_two(dwarfprof, ruby, show):
    with tempfile.TemporaryDirectory() as directory:
        wanted, samples, said = profile(dwarfprof, [ruby], directory)
    whole = sum(is_whole(s, wanted) for s in samples)
    wrong = [s for s in samples if not is_part(s, wanted)]
    print(f"python and ruby: {len(samples)} samples, {whole} whole, {len(wrong)} wrong; ruby says", *wanted["ruby"])
    for sample in [s for s in samples if not is_whole(s, wanted)][:3] if show else []:
        print(*[(f["kind"], f["symbol"]) for f in sample["user_stack"]], sep="\n    ")
    return len(samples) >= MIN_SAMPLES and whole >= SHARE * len(samples) and not wrong and THIRD not in said


def has_native_ruby(sample):
    return any((f["symbol"] or "").startswith(("rb_", "vm_", "ruby_")) for f in sample["user_stack"] if f["kind"] == "native")


def check_three(dwarfprof, libraries, show):
    with tempfile.TemporaryDirectory() as directory:
        wanted, samples, said = profile(dwarfprof, libraries, directory)
    perl = ["main::inner", "main::outer"]
    whole = [s for s in samples if s["outcome"] == "complete" and names_of(s, "python") == wanted["python"] and
             [name for name in names_of(s, "perl") if name in perl] == perl and has_native_ruby(s)]
    # Until Perl's library has been read, Ruby is one of two.
    wrong = [s for s in samples if not is_part(s, wanted)]
    print(f"and perl: {len(samples)} samples, {len(whole)} whole, {len(wrong)} wrong; said: {said.strip()}")
    for sample in [s for s in samples if s not in whole][:3] if show else []:
        print(*[(f["kind"], f["symbol"]) for f in sample["user_stack"]], sep="\n    ")
    return len(samples) >= MIN_SAMPLES and len(whole) >= SHARE * len(samples) and not wrong and said.count(THIRD) == 1


def main():
    ruby, perl = glob.glob(RUBY), glob.glob(PERL)
    if os.geteuid() != 0 or not ruby:
        return 77
    show = "--show" in sys.argv
    good = check_two(sys.argv[-1], ruby[0], show)
    if perl:
        good &= check_three(sys.argv[-1], [ruby[0], perl[0]], show)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
