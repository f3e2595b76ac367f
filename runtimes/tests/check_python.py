#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that stacks have Python's functions, all of them, in order and with their lines.

usage: check_python.py [--seconds S] [--seed N] [--show] [--fetched | --made] DWARFPROF [PYTHON...]

Runs programs of chains of calls in all ways, in random order: functions, methods, constructors, properties, recursion, lambdas,
callbacks of sorting and of map(), generators, coroutines, comprehensions, decorators, exceptions and their
handlers, in two threads, one of which starts more. Before its innermost function computes, each of the two
writes down CPython's own list of its frames (sys._getframe()), and between which times it holds. In each
sample from in between, the Python frames have to be that list, below those that the innermost function calls
(INNER).

PYTHON: interpreters; else Debian's, and those of pyenv from 3.8 on that do not need a flag. --fetched: those
of `ci/setup runtimes`. --made: virtual environments, and a program that embeds Python in a thread.

A thread that is just entering or leaving a native function may lack a frame; nothing else may be missing.
Shown share: of samples with the whole chain, SHARE at least; none may be different, only shorter. At least
MIN_SAMPLES count. On a busy machine the first samples may have no names: then a longer run decides. If one
sample in 200 is not whole, which is more than was ever seen, a run of 400 fails for it with a probability below
1e-3, and three runs below 1e-9.
"""
import argparse
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import fetched

HZ = "997"
SHARE = 0.98
# From 3.10 on, CPython says of a jump back to a loop's begin that it is in no line: that of so few samples.
LINELESS_SHARE = 0.02
UNLOADED = "[python, unloaded]"
MIN_SAMPLES = 400
# Seconds that the innermost functions compute; the longer ones are for busy machines.
SECONDS = (2, 6, 20)

# What the innermost function calls: a function, a generator, a constructor.
INNER = {"step", "pairs", "__init__", "Made.__init__"}
# The file of a frame that is the interpreter's own, between a class and its constructor.
OWN = "__init__"
FETCHED = ("python3.14", "python3.15")
# Where headers and the library are.
PLACES = ("INCLUDEPY", "LIBDIR", "MULTIARCH", "LDLIBRARY")

HEAD = '''\
import _thread, json, sys, threading, time

def chain(first):
    """The callers of a function, from it on."""
    f, found = sys._getframe(1), []
    while f:
        code = f.f_code
        found.append([getattr(code, "co_qualname", code.co_name), code.co_filename, f.f_lineno])
        f = f.f_back
    return found

def has_code_in_no_line(code):
    return any(line is None for _, _, line in getattr(code, "co_lines", list)())

results = []
done = _thread.allocate_lock()
done.acquire()

def step(x):
    return x + 1

def pairs(n):
    for i in range(n):
        yield step(i)

class Made:
    def __init__(self, x):
        self.x = step(x)

def through(function):
    def wrapper(*args, **names):
        return function(*args, **names)
    return wrapper
'''

LEAF = '''
def leaf_{n}(seconds):
    frames = chain(0)
    began, total = time.clock_gettime_ns(time.CLOCK_MONOTONIC), 0
    end = began + int(seconds * 1e9)
    while True:
        for i in range(500):
            total += i * i % 7 + sorted([i, 3, 1], key=step)[0] + Made(i).x + sum(pairs(3))
            if {n} and i % 10 == 0:
                _thread.start_new_thread(done.release, ()) and done.acquire()
        if total and time.clock_gettime_ns(time.CLOCK_MONOTONIC) > end:
            break
    frames[0][2] = [frames[0][2] + 1, frames[0][2] + 9]
    results.append({{"tid": threading.get_native_id(), "began": began, "end": end, "frames": frames,
                    "may_lack_line": has_code_in_no_line(leaf_{n}.__code__)}})
    return total
'''

# Ways for NAME to call NEXT. {n}: the name's, {next}: what is called.
WAYS = {
    "function": '''
def {n}(s):
    a = 1
    return {next}(s)
''',
    "spread": '''
def {n}(s, *args, **names):
    values = [
        1,
        {next}(s),
    ]
    return values
''',
    "recursion": '''
def {n}(s, left=5):
    if left == 0:
        return {next}(s)
    return {n}(s, left - 1)
''',
    "method": '''
class C_{n}:
    def run(self, s):
        return {next}(s)
def {n}(s):
    return C_{n}().run(s)
''',
    "constructor": '''
class K_{n}:
    def __init__(self, s):
        self.value = {next}(s)
def {n}(s):
    return K_{n}(s).value
''',
    "property": '''
class P_{n}:
    @property
    def value(self):
        return {next}(self.s)
def {n}(s):
    p = P_{n}()
    p.s = s
    return p.value
''',
    "lambda": '''
{n} = lambda s: {next}(s)
''',
    "lineless": '''
def y_{n}(s): return {next}(s)
def z_{n}(s):
    return y_{n}(s)
for made in y_{n}, z_{n}:
    made.__code__ = made.__code__.replace(co_firstlineno=0)
def {n}(s):
    return z_{n}(s)
''',
    "sorting": '''
def {n}(s):
    done = []
    def key(x):
        if x == 1:
            done.append({next}(s))
        return x
    sorted([3, 1, 2], key=key)
    return done
''',
    "map": '''
def {n}(s):
    return list(map(lambda t: {next}(t), [s]))
''',
    "generator": '''
def g_{n}(s):
    yield 1
    yield {next}(s)
def {n}(s):
    for value in g_{n}(s):
        pass
''',
    "generators": '''
def h_{n}(s):
    yield from (x for x in [{next}(s)])
def {n}(s):
    return sum(1 for x in h_{n}(s))
''',
    "coroutine": '''
async def a_{n}(s):
    return {next}(s)
async def b_{n}(s):
    return await a_{n}(s)
def {n}(s):
    try:
        b_{n}(s).send(None)
    except StopIteration as end:
        return end.value
''',
    "comprehension": '''
def {n}(s):
    return [{next}(x) for x in [s]]
''',
    "decorated": '''
@through
def {n}(s):
    return {next}(s)
''',
    "handler": '''
def fail_{n}():
    raise ValueError
def {n}(s):
    try:
        fail_{n}()
    except ValueError:
        return {next}(s)
    finally:
        a = 1
''',
    "compared": '''
class L_{n}:
    def __lt__(self, other):
        {next}(self.s)
        return True
def {n}(s):
    x = L_{n}()
    x.s = s
    return x < 1
''',
    "ünïcode": '''
def ü_{n}(s):
    return {next}(s)
def {n}(s):
    return ü_{n}(s)
''',
}

# Runs a program as an interpreter does, but in another thread.
EMBEDDING = '''
#include <Python.h>
#include <pthread.h>

static int argc;
static char **argv;

static void *run(void *arg)
{
	return (void *)(intptr_t)Py_BytesMain(argc, argv);
}

int main(int n, char **arguments)
{
	void *code;
	pthread_t thread;

	argc = n;
	argv = arguments;
	if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, &code))
		return 1;
	return (int)(intptr_t)code;
}
'''

MAIN = '''
thread = threading.Thread(target=start_0, args=(float(sys.argv[1]),))
thread.start()
start_1(float(sys.argv[1]))
thread.join()
with open(sys.argv[2], "w") as to:
    json.dump(results, to)
'''


def make_program(draw):
    text = HEAD
    for n in range(2):
        names = [f"leaf_{n}"]
        text += LEAF.format(n=n)
        for i, way in enumerate(draw.sample(sorted(WAYS), len(WAYS)), 1):
            name = f"start_{n}" if i == len(WAYS) else f"f{n}_{i}"
            text += WAYS[way].format(n=name, next=names[-1])
            names.append(name)
    return text + MAIN


def python_frames(sample):
    return [[f["symbol"], f["file"], f["line"]] for f in sample["user_stack"] if f["kind"] == "python"]


def is_same_frame(frame, wanted):
    name, file, line = wanted
    # CPython has 0 for code that is in no line.
    if not line:
        return frame == [name, file, None]
    at = line if isinstance(line, list) else [line, line]
    return frame[0] == name and frame[1] == file and frame[2] is not None and at[0] <= frame[2] <= at[1]


def without_inner(frames):
    """Without those of what the innermost function has called, three at most."""
    n = 0
    while n < min(3, len(frames)) and frames[n][0] in INNER and frames[n][1] != OWN:
        n += 1
    return frames[n:]


def is_whole(frames, wanted):
    return len(frames) == len(wanted) and all(map(is_same_frame, frames, wanted))


def is_part(frames, wanted):
    """Whether only frames, or their names, are missing."""
    rest = iter(wanted)
    return all(any(is_same_frame(f, w) for w in rest) for f in frames if f[0] != UNLOADED)


def give_line(frames, leaf):
    """If the innermost function is in no line: a copy with its first one."""
    name, file, lines = leaf
    return [[name, file, lines[0]], *frames[1:]] if frames[:1] == [[name, file, None]] else frames


def count(samples, results, show):
    """Whole, shorter and wrong ones, those whose innermost function is in no line, complete ones, and those with
    functions that have no name any more."""
    counts = [0, 0, 0, 0, 0, 0]
    for sample in samples:
        for result in results:
            if sample["tid"] != result["tid"] or not result["began"] < sample["time_ns"] < result["end"]:
                continue
            frames = without_inner(python_frames(sample))
            if result["may_lack_line"]:
                given = give_line(frames, result["frames"][0])
                counts[3] += given != frames
                frames = given
            kind = 0 if is_whole(frames, result["frames"]) else 1 if is_part(frames, result["frames"]) else 2
            counts[kind] += 1
            counts[4] += sample["outcome"] == "complete"
            counts[5] += any(f[0] == UNLOADED for f in frames)
            if kind and show:
                print("got", *frames, "wanted", *result["frames"], "native",
                      *[(f["symbol"], f["offset"]) for f in sample["user_stack"]], sep="\n    ")
                show -= 1
    return counts


def profile(dwarfprof, python, text, seconds, show):
    with tempfile.TemporaryDirectory() as folder:
        program, results, output = (os.path.join(folder, name) for name in ("p.py", "results", "samples"))
        with open(program, "w", encoding="utf-8") as to:
            to.write(text)
        subprocess.run([dwarfprof, "-F", HZ, "--format", "jsonl", "-o", output, "--", python, program,
                        str(seconds), results], check=True, timeout=600, stderr=subprocess.DEVNULL)
        with open(output, encoding="utf-8") as samples, open(results, encoding="utf-8") as of:
            return count(map(json.loads, samples), json.load(of), show)


def version_of(python):
    return subprocess.run([python, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=True).stdout.strip()


def check(dwarfprof, python, args):
    """Whether it is as it has to be."""
    text = make_program(random.Random(args.seed))
    for seconds in [args.seconds] if args.seconds else SECONDS:
        whole, shorter, wrong, lineless, *_ = profile(dwarfprof, python, text, seconds, 3 if args.show else 0)
        n = whole + shorter + wrong
        is_good = n >= MIN_SAMPLES and whole >= SHARE * n and lineless <= LINELESS_SHARE * n
        if is_good or wrong > 0:
            break
    print(f"{version_of(python)} ({python}): {n} samples, {100 * whole / max(n, 1):.2f} % whole, {shorter} shorter, "
          f"{wrong} wrong, {lineless} without a line", flush=True)
    return is_good and wrong == 0


def measure(dwarfprof, python, seed, seconds):
    """One run, for check_chains.py."""
    text = make_program(random.Random(seed))
    whole, shorter, wrong, _, complete, unloaded = profile(dwarfprof, python, text, seconds, 0)
    return {"samples": whole + shorter + wrong, "complete": complete, "whole": whole, "wrong": wrong, "unloaded": unloaded}


def find_pythons():
    found = glob.glob("/usr/bin/python3.[0-9]*") + glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    known = re.compile(r"Python 3\.(8|9|1[0-5])\.")
    return sorted(p for p in found if not p.endswith("-config") and known.match(version_of(p)))


def embed(python, folder):
    """A list of the program that embeds this version, if its library and headers are there."""
    ask = f"import sysconfig as s; print(*[s.get_config_var(k) or '' for k in {PLACES}], sep='\\n')"
    headers, place, below, library = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.split("\n")[:4]
    if not os.path.exists(headers + "/Python.h") or not any(os.path.exists(os.path.join(place, p, library)) for p in ("", below)):
        print(f"{python} cannot be embedded: there is no {headers}/Python.h or {library}")
        return []
    source, program = os.path.join(folder, "embedding.c"), os.path.join(folder, "embedding")
    with open(source, "w", encoding="utf-8") as to:
        to.write(EMBEDDING)
    name = re.search(r"^lib(.*?)\.(so|a)", library)[1]
    subprocess.run(["gcc", "-w", "-I" + headers, source, "-o", program, "-L" + place, "-Wl,-rpath," + place, "-l" + name, "-lpthread"],
                   check=True)
    return [program]


def make_pythons(folder):
    """Virtual environments by links and by copies, and programs that embed a library."""
    made = []
    for way in ("--symlinks", "--copies"):
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", way, os.path.join(folder, way)], check=True)
        made.append(os.path.join(folder, way, "bin/python3"))
    return made + [program for python in find_pythons() for program in embed(python, tempfile.mkdtemp(dir=folder))]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof")
    parser.add_argument("pythons", nargs="*")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--fetched", action="store_true")
    parser.add_argument("--made", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.fetched:
            pythons = [fetched.find("bin", name) for name in FETCHED]
        else:
            pythons = make_pythons(folder) if args.made else args.pythons or find_pythons()
        if not pythons:
            sys.exit("no interpreter")
        good = [check(args.dwarfprof, python, args) for python in pythons]
    sys.exit(0 if all(good) else "some frames are missing or wrong")


if __name__ == "__main__":
    main()
