#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that stacks have node's functions of JavaScript, all of them and in order.

usage: check_node.py [--seconds S] [--seed N] [--mode MODE] [--pinned] DWARFPROF [NODE...]

Generates programs whose chain of calls is known: functions of ten kinds, which call each other in random
order, once each or recursively, and at the end spin(), which computes, calls a small function and makes
garbage. In the samples of spin(), what is above it must be the chain, from main() on. It is called often
before that, so that its code is what the mode says; then below go(), whose samples count. Both take a time of
the CPU: on a machine that is busy there are as many samples.

NODE is that in PATH, or with --pinned all of `ci/setup nodes`, of which 24 maps its builtins a second time.
Each runs interpreted, with its baseline compiler, optimised without inlining, with its default
flags, and as a program of which all is inlined: SHARE of samples must have the whole chain, at the lines and columns of
the stack of a `new Error()` that spin() makes instead, in another run. Never may a stack have something else. Where
nothing is compiled, the builtins that call functions have to be between them (CALLING).
In few of them has the collector moved a function before it was named; these do not count.
"""
import argparse
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HZ = "997"
SHARE = 0.98
MIN_SAMPLES = 150
# Of the CPU: in a program, and before that.
SECONDS = (1, 3, 8)
WARM_UP = 0.4
# The share of samples with functions that have moved.
MAX_MOVED = 0.25
# The compiler between those of "baseline" and "optimised", of node 22 and later: only with --mode.
MAGLEV = "Maglev"
MODES = {
    "interpreted": ["--no-opt", "--no-maglev", "--no-sparkplug"],
    "baseline": ["--no-opt", "--no-maglev", "--always-sparkplug"],
    "optimised": ["--no-turbo-inlining", "--no-maglev-inlining"],
    MAGLEV: ["--maglev", "--no-turbofan"],
    "default": [],
    "inlined": [],
}
# What {0} is called, and {1} calls.
KINDS = [
    ("function {0}() {{\n  const k = 1;\n  return {1} + k;\n}}", ["{0}"]),
    ("const {0} = () => {1};", ["{0}"]),
    ("const {0} = (function (k) {{ return function {0}() {{ return {1} + k; }}; }})(7);", ["{0}"]),
    ("class C{0} {{ {0}() {{ return {1}; }} }}\nconst c{0} = new C{0}();", ["{0}"]),
    ("function {0}(n = 3) {{ return n > 0 ? {0}(n - 1) : {1}; }}", ["{0}"] * 4),
    ("const l{0} = (x) => x + {1};\nfunction {0}() {{ return [1].map(l{0})[0]; }}", ["{0}", "l{0}"]),
    ("function {0}() {{ let t = 0; [1].forEach(function e{0}(x) {{ t += {1}; }}); return t; }}",
     ["{0}", "e{0}"]),
    ("function {0}() {{ return [2, 1].sort(function s{0}(a, b) {{ return {1}; }})[0]; }}",
     ["{0}", "s{0}"]),
    ("function* g{0}() {{ yield {1}; }}\nfunction {0}() {{ for (const x of g{0}()) return x; }}",
     ["{0}", "g{0}"]),
    ("function {0}() {{ try {{ throw 1; }} catch (e) {{ return a{0}.apply(null, [e]); }} }}\n"
     "function a{0}(e) {{ return {1} + e; }}", ["{0}", "a{0}"]),
]
# Times are of the CPU, in microseconds. What is inlined into new code cannot be read any more after the end, so
# that waits.
MAIN = """
function main() {{ for (let i = 0; i < {turns}; i++) {call}; }}
function used() {{ const u = process.cpuUsage(); return u.user + u.system; }}
function run(time) {{ for (const end = used() + time; used() < end;) main(); }}
function go() {{ run({time}); }}
run({warm_up});
go();
setTimeout(() => 0, 500);
"""
SPIN = """
let garbage = [];
function small(n) { return n < 2 ? n : small(n - 1) + small(n - 2); }
function spin() {
  const end = Date.now() + 4;
  let t = 0;
  while (Date.now() < end) {
    t += small(8);
    garbage.push({ a: t, b: [t] });
    if (garbage.length > 5000) garbage = [];
  }
  return t;
}
"""
# So short that what calls it is hot, too, and is inlined.
SHORT_SPIN = """
function small(n) { return n < 2 ? n : small(n - 1) + small(n - 2); }
function spin() {
  let t = 0;
  for (let i = 0; i < 3; i++) t += small(4 + i);
  return t;
}
"""
# Tells where each function is; as many lines as another one.
STACK_SPIN = "function spin() { Error.stackTraceLimit = Infinity; console.log(new Error().stack); process.exit(); }"
# Exceptions would take most of the time, and some versions do not say where in code a generator is called.
INLINED_KINDS = KINDS[:8]
# Builtins that call functions, and functions that spin() calls.
BUILTINS = {"map", "forEach", "sort", "apply", "next", "return"}
BELOW = {"small", "now", "push"}
# What calls functions with names that begin so.
CALLING = {"l": "map", "e": "forEach", "s": "sort", "g": "next"}
# Of other versions, as `ci/setup nodes` installs them.
PINNED = sorted(glob.glob(os.path.join(os.path.dirname(__file__), "../../ci/nodes/node_modules/*/bin/node")))
# Its name, or where it was, has changed since the sample.
MOVED = "[javascript, moved]"


def generate(rng, seconds, is_short):
    """A program, that with STACK_SPIN, and their chain from the root on."""
    count = 12
    spin = SHORT_SPIN if is_short else SPIN
    text, chain = [spin], ["main"]
    kinds = INLINED_KINDS if is_short else KINDS
    calls = ["spin()"]
    for i in reversed(range(count)):
        form, names = kinds[rng.randrange(len(kinds))] if i >= len(kinds) else kinds[i]
        name = f"f{i}"
        text.append(form.format(name, calls[-1]))
        calls.append(f"c{name}.{name}()" if form.startswith("class") else f"{name}()")
        chain[1:1] = [n.format(name) for n in names]
    text.append(MAIN.format(call=calls[-1], turns=1000 if is_short else 20, warm_up=WARM_UP * 1e6, time=seconds * 1e6))
    program = "\n".join(text)
    padded = STACK_SPIN + "\n" * spin.count("\n")
    return program, program.replace(spin, padded), chain + ["spin"]


def is_part(part, whole):
    rest = iter(whole)
    return all(name in rest for name in part)


def judge(chain, stack):
    """None: not of spin(), as it is about to be called, or has returned. Else whether it is whole, and what is wrong."""
    names = [f["symbol"] for f in reversed(stack) if f["kind"] == "javascript"]
    if "go" not in names or "main" not in names:
        return None
    names = names[names.index("main"):]
    if names[-1] == "main":
        return None
    above, below = names, []
    if "spin" in names:
        above, below = names[:names.index("spin") + 1], names[names.index("spin") + 1:]
    functions = [n for n in above if n not in BUILTINS | BELOW | {MOVED}]
    if not is_part(functions, chain) or set(below) & set(chain):
        return False, names
    if "spin" not in names and functions == chain[:len(functions)]:
        return None
    return functions == chain, None


def with_builtins(chain):
    for name in chain:
        found = re.match(r"(\w)f\d+$", name)
        if found and found[1] in CALLING:
            yield CALLING[found[1]]
        yield name


def has_builtins(chain, stack):
    """Of a whole one. apply() leaves its frame to what it calls."""
    names = [f["symbol"] for f in reversed(stack) if f["kind"] == "javascript"]
    names = names[names.index("main"):names.index("spin") + 1]
    return [name for name in names if name != "apply"] == list(with_builtins(chain))


def own_places(node, flags, program, chain):
    """Line and column of each function of the chain but spin(), as the program knows them."""
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/chain.js"
        with open(path, "w", encoding="utf-8") as f:
            f.write(program)
        stack = subprocess.run([node, *flags, path], check=True, capture_output=True, text=True, timeout=60).stdout
    frames = re.findall(r"^ *at (?:\w+\.)?(\w+)(?: \[as \w+\])? \(" + re.escape(path) + r":(\d+):(\d+)\)$", stack, re.M)
    frames = [f for f in reversed(frames)]
    frames = frames[[f[0] for f in frames].index("main"):]
    assert [f[0] for f in frames] == chain, (stack, chain)
    return [(int(line), int(column)) for _, line, column in frames[:-1]]


def version_of(node):
    version = subprocess.run([node, "-p", "process.versions.node"], check=True, capture_output=True, text=True)
    return int(version.stdout.split(".")[0])


def usual_modes():
    return [mode for mode in MODES if mode != MAGLEV]


def blurs_loops(node):
    """Whether optimised code has the place of main()'s loop for the call in it, as that of Node 24."""
    return version_of(node) >= 24


def is_in_place(chain, stack, places, n_left_out):
    frames = [f for f in reversed(stack) if f["kind"] == "javascript" and f["symbol"] in chain]
    frames = frames[[f["symbol"] for f in frames].index("main"):]
    return [(f["line"], f["column"]) for f in frames[:len(places)]][n_left_out:] == places[n_left_out:]


def flags_of(node, mode):
    """Without those that this version does not know."""
    known = subprocess.run([node, "--v8-options"], check=True, capture_output=True, text=True).stdout.split()
    return [f for f in MODES[mode] if f in known or f.replace("--no-", "--") in known]


def record(dwarfprof, node, flags, program):
    with tempfile.TemporaryDirectory() as directory:
        path, out = directory + "/chain.js", directory + "/out"
        with open(path, "w", encoding="utf-8") as f:
            f.write(program)
        subprocess.run([dwarfprof, "record", "-F", HZ, "--format", "jsonl", "-o", out, "--", node,
                        *flags, path], check=True, stderr=subprocess.DEVNULL, timeout=120)
        with open(out, encoding="utf-8") as f:
            return [json.loads(line) for line in f]


def count(dwarfprof, node, mode, seconds, rng, show=False):
    """Samples by what they have."""
    program, telling, chain = generate(rng, seconds, mode == "inlined")
    flags = flags_of(node, mode)
    places = own_places(node, flags, telling, chain)
    n_left_out = int(mode in ("optimised", "default", "inlined") and blurs_loops(node))
    counts = dict.fromkeys(("samples", "complete", "whole", "in place", "builtins", "moved", "wrong"), 0)
    for sample in record(dwarfprof, node, flags, program):
        if "user_stack" not in sample or sample.get("comm") not in ("node", "MainThread"):
            continue
        judged = judge(chain, sample["user_stack"])
        if judged is None:
            continue
        if judged[1]:
            print(f"{node} {mode}: wrong: {judged[1]}\nchain: {chain}")
            counts["wrong"] += 1
            continue
        if any(f["symbol"] == MOVED for f in sample["user_stack"]):
            counts["moved"] += 1
            continue
        is_here = judged[0] and is_in_place(chain, sample["user_stack"], places, n_left_out)
        counts["samples"] += 1
        counts["complete"] += sample["outcome"] == "complete"
        counts["whole"] += judged[0]
        counts["in place"] += is_here
        counts["builtins"] += judged[0] and has_builtins(chain, sample["user_stack"])
        if show and not is_here:
            print([f'{f["symbol"]}:{f["line"]}:{f["column"]}' for f in reversed(sample["user_stack"])][15:], places)
    return counts


def measure(dwarfprof, target, seed, seconds):
    """One run, for check_chains.py."""
    counts = count(dwarfprof, *target, seconds, random.Random(seed))
    return {**counts, "samples": counts["samples"] + counts["wrong"], "whole": counts["in place"]}


def check_once(args, node, mode, seconds, rng):
    counts = count(args.dwarfprof, node, mode, seconds, rng, args.show)
    n, moved, in_place, builtins = (counts[what] for what in ("samples", "moved", "in place", "builtins"))
    if counts["wrong"]:
        return False, True
    share = counts["whole"] / n if n else 0
    print(f"{node} {mode}: {n} samples, and {moved} moved, {100 * share:.2f} % with the whole chain,",
          f"{100 * in_place / max(n, 1):.2f} % in place, {100 * builtins / max(n, 1):.2f} % with builtins")
    if n < MIN_SAMPLES or moved > (n + moved) * MAX_MOVED:
        return False, False
    if mode == "interpreted" and builtins < n * SHARE:
        return False, False
    return share >= SHARE and in_place >= n * SHARE, False


def check(args, node, mode, rng):
    for seconds in [args.seconds] if args.seconds else SECONDS:
        is_good, is_wrong = check_once(args, node, mode, seconds, rng)
        if is_good or is_wrong:
            return is_good
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--pinned", action="store_true")
    parser.add_argument("dwarfprof")
    parser.add_argument("nodes", nargs="*")
    args = parser.parse_args()
    nodes = args.nodes or (PINNED if args.pinned else [n for n in [shutil.which("node")] if n])
    if os.geteuid() != 0 or not nodes:
        return 77
    rng = random.Random(args.seed)
    results = [check(args, os.path.realpath(node), mode, rng) for node in nodes
               for mode in ([args.mode] if args.mode else usual_modes())]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
