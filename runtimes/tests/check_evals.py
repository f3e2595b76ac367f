#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what PHP frees soon has its own class, file and line, or no name.

usage: check_evals.py [--show] DWARFPROF

In N_SITES lines, in a random order, again and again, a script (KINDS) calls eval() for what is in one of
N_VARIANTS of its own lines; or makes there a closure, in a namespace of its own, which may be long, of a file
whose name has a hash or none; or takes a closure that one of N_VARIANTS classes has by a trait, or is bound to.
PHP frees all that after less than a millisecond, before its name is read, and has the memory for the next one,
often at the same addresses. Each calls a function whose name says by what it is called: in each sample that has
that, the frame that calls it has to be of this class, file and line, or without a name. Then one of each kind
executes for long: at least SHARE of its samples have to have its name.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

HZ = "997"
SHARE = 0.9
# In all, and of each kind that executes for long.
MIN_SAMPLES, MIN_LAST = 300, 60
# Seconds of each part; the longer ones are for busy machines.
SECONDS = (2, 6, 20)
KINDS = ("eval", "closure", "hashed", "trait", "bound", "long")
N_SITES, N_VARIANTS = 3 * len(KINDS), 4
# The first line with a site.
FIRST_SITE = 11
# Bytes of a namespace: only the first 255 of a closure's name are shown.
LONG = 300
UNLOADED = "[php, unloaded]"

# __FILE__ gives the name of the file a hash.
CALLS = {
    "eval": 'eval("$space {called}();");',
    "closure": '($f = eval("namespace N$v; $space return function() {{ \\\\{called}(); }};"))();',
    "hashed": '($f = eval("namespace N$v; $space return function() {{ \\\\{called}(__FILE__); }};"))();',
    "trait": '($f = "K$v"::make("{called}"))();',
    "bound": '$name = "{called}"; ($f = Closure::bind(function() use ($name) {{ $name(); }}, null, "K$v"))();',
    "long": '($f = eval("namespace N$v\\\\" . str_repeat("n", %d) . "; $space return function() {{ \\\\{called}(); }};"))();' % LONG,
}
TRAIT_LINE = 2

# Of a function that is called: its kind, and the line and variant of what calls it.
Site = collections.namedtuple("Site", "kind line variant is_last")


def kind_of(number):
    return KINDS[number % len(KINDS)]


def sites():
    ret = {f"{kind_of(i)}{i}_{v}": Site(kind_of(i), FIRST_SITE + i, v, False)
           for i in range(N_SITES) for v in range(N_VARIANTS)}
    first = FIRST_SITE + N_SITES + 4
    ret.update((f"last_{kind}", Site(kind, first + i, i % N_VARIANTS, True)) for i, kind in enumerate(KINDS))
    return ret


SITES = sites()


def make_program():
    text = """<?php
require __DIR__ . "/functions.php";
mt_srand(1);
$seconds = (float)$argv[1];
$end = hrtime(true) + (int)($seconds * 1e9);
do {
  $v = mt_rand(0, %d);
  $space = str_repeat("\\n", $v);
  $f = null;
  switch (mt_rand(0, %d)) {
""" % (N_VARIANTS - 1, N_SITES - 1)
    for i in range(N_SITES):
        text += f"  case {i}: " + CALLS[kind_of(i)].format(called=f"{kind_of(i)}{i}_$v") + " break;\n"
    text += """  }
} while (hrtime(true) < $end);
$part = (int)($seconds * 1e9);

"""
    for i, kind in enumerate(KINDS):
        text += f'$v = {i % N_VARIANTS}; $space = str_repeat("\\n", $v); ' + CALLS[kind].format(called=f"last_{kind}") + "\n"
    return text


def write(folder):
    with open(f"{folder}/main.php", "w", encoding="utf-8") as file:
        file.write(make_program())
    work = "$sum = 0; for ($n = 0; $n < 10000; $n++) $sum += $n * $n % 7;"
    text = "<?php\ntrait Maker { static function make($name) { return function() use ($name) { $name(); }; } }\n"
    text += "".join(f"class K{v} {{ use Maker; }}\n" for v in range(N_VARIANTS))
    for name, site in SITES.items():
        if site.is_last:
            text += f"function {name}() {{ $end = hrtime(true) + $GLOBALS['part']; do {{ {work} }} while (hrtime(true) < $end); }}\n"
        else:
            text += f"function {name}() {{ {work} return $sum; }}\n"
    with open(f"{folder}/functions.php", "w", encoding="utf-8") as file:
        file.write(text)


def wanted(site, folder):
    """How its name begins, its file and line. Since PHP 8.4, a closure's name says where it is."""
    main = f"{folder}/main.php"
    if site.kind == "trait":
        return f"K{site.variant}::{{closure", f"{folder}/functions.php", TRAIT_LINE
    if site.kind == "bound":
        return f"K{site.variant}::{{closure", main, site.line
    if site.kind == "eval":
        symbol = "<main>"
    else:
        symbol = f"N{site.variant}\\" + ("n" * 252 if site.kind == "long" else "{closure")
    return symbol, f"{main}({site.line}) : eval()'d code", site.variant + 1


def judge(frame, site, folder):
    if frame["symbol"] == UNLOADED:
        return "unloaded"
    symbol, file, line = wanted(site, folder)
    is_named = frame["symbol"].startswith(symbol) and frame["file"] == file and frame["line"] == line
    return "named" if is_named else "wrong"


def run(dwarfprof, seconds, folder, show):
    """How many samples have each verdict, by kind: of those that are freed soon, and of the last ones."""
    output, soon, last = f"{folder}/samples", collections.Counter(), collections.Counter()
    subprocess.run([dwarfprof, "-F", HZ, "--format", "jsonl", "-o", output, "--", "php", f"{folder}/main.php",
                    str(seconds)], check=True, timeout=600, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with open(output, encoding="utf-8") as file:
        for sample in map(json.loads, file):
            frames = [f for f in sample["user_stack"] if f["kind"] == "php"]
            site = SITES.get(frames[0]["symbol"]) if len(frames) > 1 else None
            if not site:
                continue
            verdict = judge(frames[1], site, folder)
            (last if site.is_last else soon)[site.kind, verdict] += 1
            if verdict == "wrong" and show:
                print(verdict, *[(f["symbol"], f["file"], f["line"]) for f in frames])
    return soon, last


def has_share(last, kind):
    n = sum(last[kind, verdict] for verdict in ("named", "unloaded", "wrong"))
    return n >= MIN_LAST and last[kind, "named"] >= SHARE * n


def show_counts(what, counts):
    print(f"php, {what}:", ", ".join(f"{n} {kind} {verdict}" for (kind, verdict), n in sorted(counts.items())), flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        write(folder)
        for seconds in SECONDS:
            soon, last = run(args.dwarfprof, seconds, folder, args.show)
            is_wrong = any(verdict == "wrong" for _, verdict in [*soon, *last])
            is_good = sum(soon.values()) >= MIN_SAMPLES and all(has_share(last, kind) for kind in KINDS)
            if is_good or is_wrong:
                break
    show_counts("freed soon", soon)
    show_counts("that stays", last)
    sys.exit(0 if is_good and not is_wrong else "some have no names, or others'")


if __name__ == "__main__":
    main()
