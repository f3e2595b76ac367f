#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that stacks have the functions of Ruby, PHP and Perl, all of them, in order and with their lines.

usage: check_scripts.py [--seconds S] [--seed N] [--show] [--fetched] DWARFPROF [LANGUAGE...]

Runs programs of chains of calls in all ways, in random order: functions, methods, constructors, recursion, closures, callbacks of
sorting and of mapping, generators, exceptions and their handlers. Before its innermost function computes, each
program writes down its language's own list of its frames (caller_locations, debug_backtrace, caller), and between which
times it holds. In each sample from in between, the language's frames have to be that list, below those that the
innermost function calls (INNER).

At least MIN_SAMPLES count; SHARE of them have the whole chain, and none may be different, only shorter: a
thread that is just entering or leaving a native function may lack a frame, and on a busy machine the first
samples may have no names: then a longer run decides. What Perl has freed by the time that it is named has no
line. If one sample in 100 is not whole, which is
more than was ever seen, a run of 400 fails for it with a probability of 2 %, and three runs below 1e-5.

--fetched: with the versions of `ci/setup runtimes`. JITs only by their names, such as "ruby, YJIT": not all of
their stacks are whole.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import fetched
import perl_chains

HZ = "997"
SHARE = 0.98
MIN_SAMPLES = 400
# Seconds that the innermost functions compute; the longer ones are for busy machines.
SECONDS = (2, 6, 20)

RUBY_HEAD = '''\
require "json"
def now() = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def step(x)
  x + 1
end
class Made
  def initialize(x)
    @x = step(x)
  end
  attr_reader :x
end
'''

RUBY_LEAF = '''
def leaf(seconds)
  frames = caller_locations(0).map { |l| [l.label, l.path && File.expand_path(l.path), l.lineno] }
  began, total = now, 0
  ending = began + (seconds * 1e9).to_i
  while now < ending
    i = 0
    while i < 300
      total += i * i % 7 + [i, 3, 1].sort_by { |x| step(x) }[0] + Made.new(i).x
      i += 1
    end
  end
  frames[0][2] = [frames[0][2] + 1, frames[0][2] + 9]
  File.write(ARGV[1], JSON.dump([{tid: Process.pid, began: began, end: ending, frames: frames}]))
  total
end
'''

RUBY_WAYS = {
    "function": '''
def {n}(s)
  a = 1
  {next}(s)
end
''',
    "spread": '''
def {n}(s, *rest, **names)
  [
    1,
    {next}(s),
  ]
end
''',
    "long": "\ndef {n}(s)\n" + "".join(f"  a = [s, {i}].size\n" for i in range(100)) + "  {next}(s)\nend\n",
    "recursion": '''
def {n}(s, left = 5)
  return {next}(s) if left == 0
  {n}(s, left - 1)
end
''',
    "method": '''
class C_{n}
  def run(s)
    TOP.send(:{next}, s)
  end
end
def {n}(s)
  C_{n}.new.run(s)
end
''',
    "constructor": '''
class K_{n}
  def initialize(s)
    TOP.send(:{next}, s)
  end
end
def {n}(s)
  K_{n}.new(s)
end
''',
    "lambda": '''
L_{n} = lambda {{ |s| {next}(s) }}
def {n}(s)
  L_{n}.call(s)
end
''',
    "defined": '''
define_method(:{n}) do |s|
  {next}(s)
end
''',
    "missing": '''
class M_{n}
  def method_missing(name, s)
    TOP.send(:{next}, s)
  end
  def respond_to_missing?(*) = true
end
def {n}(s)
  M_{n}.new.anything(s)
end
''',
    "sorting": '''
def {n}(s)
  done = nil
  [3, 1, 2].sort do |a, b|
    done ||= {next}(s)
    a <=> b
  end
  done
end
''',
    "each": '''
def {n}(s)
  [s].each do |t|
    {next}(t)
  end
end
''',
    "map": '''
def {n}(s)
  {{ a: s }}.map {{ |_, v| {next}(v) }}
end
''',
    "blocks": '''
def y_{n}
  yield
end
def {n}(s)
  y_{n} {{ y_{n} {{ {next}(s) }} }}
end
''',
    "lazy": '''
def {n}(s)
  (1..2).lazy.map {{ |x| {next}(s) }}.first(1)
end
''',
    "fiber": '''
def {n}(s)
  {next}(s)
end
''',
    "handler": '''
def {n}(s)
  begin
    raise ArgumentError
  rescue ArgumentError
    {next}(s)
  ensure
    a = 1
  end
end
''',
    "ensured": '''
def {n}(s)
  begin
    a = 1
  ensure
    {next}(s)
  end
end
''',
    "evaluated": '''
def {n}(s)
  instance_eval do
    {next}(s)
  end
end
''',
    "compared": '''
class E_{n}
  attr_accessor :s
  def ==(other)
    TOP.send(:{next}, @s)
    true
  end
end
def {n}(s)
  e = E_{n}.new
  e.s = s
  [e].include?(1)
end
''',
    "ünïcode": '''
def ü_{n}(s)
  {next}(s)
end
def {n}(s)
  ü_{n}(s)
end
''',
}

# Functions in C that these call.
RUBY_IN_C = {"each", "map", "sort", "new", "include?", "instance_eval", "first"}

RUBY_MAIN = '''
TOP = self
start(ARGV[0].to_f)
'''

# With a stack of its own, in which functions in C come first.
RUBY_IN_FIBER = '''
TOP = self
Enumerator.new { |y| y << start(ARGV[0].to_f) }.next
'''

PHP_HEAD = '''\
<?php
function step($x) { return $x + 1; }
function pairs($n) {
  for ($i = 0; $i < $n; $i++)
    yield step($i);
}
class Made {
  public $x;
  function __construct($x) { $this->x = step($x); }
}
function frames($trace, $file) {
  $found = [];
  foreach ($trace as $i => $f) {
    $line = $i > 0 ? ($trace[$i - 1]["line"] ?? null) : null;
    $found[] = [(isset($f["class"]) ? $f["class"] . "::" : "") . $f["function"], $line];
  }
  $found[] = ["<main>", end($trace)["line"]];
  return $found;
}
'''

PHP_LEAF = '''
function leaf($seconds) {
  global $argv;
  $trace = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
  $here = __LINE__;
  $began = hrtime(true);
  $ending = $began + (int)($seconds * 1e9);
  $total = 0;
  while (hrtime(true) < $ending) {
    for ($i = 0; $i < 300; $i++) {
      $a = [$i, 3, 1];
      usort($a, fn($x, $y) => step($x) <=> step($y));
      foreach (pairs(3) as $p)
        $total += $p;
      $total += $i * $i % 7 + $a[0] + (new Made($i))->x;
    }
  }
  $frames = frames($trace, __FILE__);
  $frames[0][1] = [$here + 1, $here + 13];
  file_put_contents($argv[2], json_encode([["tid" => getmypid(), "began" => $began, "end" => $ending, "frames" => $frames]]));
  return $total;
}
'''

PHP_WAYS = {
    "function": '''
function {n}($s) {{
  $a = 1;
  return {next}($s);
}}
''',
    "spread": '''
function {n}($s, ...$rest) {{
  return [
    1,
    {next}($s),
  ];
}}
''',
    "recursion": '''
function {n}($s, $left = 5) {{
  if ($left == 0)
    return {next}($s);
  return {n}($s, $left - 1);
}}
''',
    "method": '''
class C_{n} {{
  function run($s) {{
    return {next}($s);
  }}
}}
function {n}($s) {{
  return (new C_{n})->run($s);
}}
''',
    "static": '''
class S_{n} {{
  static function run($s) {{
    return {next}($s);
  }}
}}
function {n}($s) {{
  return call_user_func(["S_{n}", "run"], $s);
}}
''',
    "constructor": '''
class K_{n} {{
  function __construct($s) {{
    {next}($s);
  }}
}}
function {n}($s) {{
  return new K_{n}($s);
}}
''',
    "magic": '''
class M_{n} {{
  function __get($name) {{
    return {next}($this->s);
  }}
  function __call($name, $args) {{
    return $this->anything;
  }}
}}
function {n}($s) {{
  $m = new M_{n};
  $m->s = $s;
  return $m->called(1);
}}
''',
    "closure": '''
function {n}($s) {{
  $f = function () use ($s) {{
    return {next}($s);
  }};
  return $f();
}}
''',
    "arrow": '''
function {n}($s) {{
  return (fn($t) => {next}($t))($s);
}}
''',
    "sorting": '''
function {n}($s) {{
  $a = [3, 1];
  usort($a, function ($x, $y) use ($s) {{
    {next}($s);
    return 0;
  }});
}}
''',
    "map": '''
function {n}($s) {{
  return array_map(fn($t) => {next}($t), [$s]);
}}
''',
    "generator": '''
function g_{n}($s) {{
  yield 1;
  yield {next}($s);
}}
function {n}($s) {{
  foreach (g_{n}($s) as $x)
    $last = $x;
  return $last;
}}
''',
    "handler": '''
function {n}($s) {{
  try {{
    throw new Exception("x");
  }} catch (Exception $e) {{
    return {next}($s);
  }} finally {{
    $a = 1;
  }}
}}
''',
    "counted": '''
class N_{n} implements Countable {{
  public $s;
  function count(): int {{
    {next}($this->s);
    return 1;
  }}
}}
function {n}($s) {{
  $c = new N_{n};
  $c->s = $s;
  return count($c);
}}
''',
    "ünïcode": '''
function ü_{n}($s) {{
  return {next}($s);
}}
function {n}($s) {{
  return ü_{n}($s);
}}
''',
}

PHP_MAIN = '''
start((float)$argv[1]);
'''


class Language:
    """How a language's programs are written, run and compared."""

    def __init__(self, name, suffix, parts, inner, variant="", options=()):
        self.name, self.command, self.suffix, self.inner = name, name, suffix, inner
        self.head, self.leaf, self.ways, self.main = parts
        self.variant, self.options = variant, options

    def title(self):
        return f"{self.name}, {self.variant}" if self.variant else self.name

    def version(self):
        """None: there is none with these options."""
        run = subprocess.run([self.command, *self.options, "--version"], capture_output=True, text=True, check=False)
        found = re.search(r"[0-9]+[.][0-9]+[.][0-9]+", run.stdout)
        is_there = run.returncode == 0 and (self.variant != "YJIT" or "+YJIT" in run.stdout)
        return found[0] if found and is_there else None

    def make_program(self, draw):
        text, names = self.head + self.leaf, ["leaf"]
        for i, way in enumerate(draw.sample(sorted(self.ways), len(self.ways)), 1):
            name = "start" if i == len(self.ways) else f"f{i}"
            text += self.ways[way].format(n=name, next=names[-1])
            names.append(name)
        return text + self.main

    def is_inner(self, name):
        # Since PHP 8.4, a closure's name says where it is.
        return name in self.inner or name.startswith("{closure:leaf():")


RUBY_INNER = {"step", "initialize", "block in leaf", "now", "new", "sort_by", "each", "clock_gettime"}
PHP_INNER = {"step", "pairs", "Made::__construct", "{closure}", "usort", "hrtime"}
# Compiled from the first call on; what is not older than opcache's protection would not be.
PHP_JIT = ("-d", "opcache.enable_cli=1", "-d", "opcache.file_update_protection=0", "-d", "opcache.jit_buffer_size=64M", "-d")
LANGUAGES = [
    *(Language("ruby", "rb", (RUBY_HEAD, RUBY_LEAF, RUBY_WAYS, main), RUBY_INNER, *variant)
      for main, *variant in ((RUBY_MAIN,), (RUBY_IN_FIBER, "in fibers"), (RUBY_MAIN, "YJIT", ("--yjit",)))),
    *(Language("php", "php", (PHP_HEAD, PHP_LEAF, PHP_WAYS, PHP_MAIN), PHP_INNER, *variant)
      for variant in ((), ("tracing JIT", (*PHP_JIT, "opcache.jit=tracing")), ("function JIT", (*PHP_JIT, "opcache.jit=function")))),
    *(Language("perl", "pl", (perl_chains.HEAD, perl_chains.LEAF, *parts),
               {"main::step", "Made::new", "Made::x", "main::__ANON__"})
      for parts in ((perl_chains.WAYS, perl_chains.MAIN), (perl_chains.IN_THREADS, perl_chains.IN_THREAD))),
]


def is_same_frame(frame, wanted, file):
    name, line = wanted[0], wanted[-1]
    at = line if isinstance(line, list) else [line, line]
    file = wanted[1] if len(wanted) == 3 else file
    return frame[0] == name and (line is None or (frame[2] is not None and at[0] <= frame[2] <= at[1])) and (
        frame[1] == file or line is None)


def is_known(language, frame):
    """Not of code that has been freed."""
    return "unloaded" not in frame[0] and (language.name != "perl" or frame[1] is not None)


def without_inner(language, frames):
    """Without those of what the innermost function has called, four at most."""
    n = 0
    while n < min(4, len(frames)) and language.is_inner(frames[n][0]):
        n += 1
    return frames[n:]


def count(language, samples, results, program, show):
    """Whole, shorter and wrong ones, complete ones, and those with functions that have no name any more."""
    counts = [0, 0, 0, 0, 0]
    for sample in samples:
        for result in results:
            if sample["tid"] != result["tid"] or not result["began"] < sample["time_ns"] < result["end"]:
                continue
            sent = [[f["symbol"], f["file"], f["line"]] for f in sample["user_stack"] if f["kind"] == language.name]
            frames = without_inner(language, sent)
            known = without_inner(language, [f for f in sent if is_known(language, f)])
            wanted, rest = result["frames"], iter(result["frames"])
            if len(frames) == len(wanted) and all(is_same_frame(f, w, program) for f, w in zip(frames, wanted)):
                kind = 0
            elif all(any(is_same_frame(f, w, program) for w in rest) for f in known):
                kind = 1
            else:
                kind = 2
            counts[kind] += 1
            counts[3] += sample["outcome"] == "complete"
            counts[4] += any("unloaded" in frame[0] for frame in sent)
            if kind and show:
                print("got", *frames, "wanted", *wanted, "native",
                      *[(f["symbol"], f["offset"]) for f in sample["user_stack"]], sep="\n    ")
                show -= 1
    return counts


def profile(dwarfprof, language, text, seconds, show):
    with tempfile.TemporaryDirectory() as folder:
        program, results, output = (os.path.join(folder, name) for name in ("p." + language.suffix, "results", "samples"))
        with open(program, "w", encoding="utf-8") as to:
            to.write(text)
        subprocess.run([dwarfprof, "-F", HZ, "--format", "jsonl", "-o", output, "--", language.command,
                        *language.options, program, str(seconds), results], check=True, timeout=600,
                       stderr=None if show else subprocess.DEVNULL)
        with open(output, encoding="utf-8") as samples, open(results, encoding="utf-8") as of:
            wanted = json.load(of)
            if language.name == "ruby":
                for result in wanted:
                    result["frames"] = without_places_in_c(result["frames"])
            return count(language, map(json.loads, samples), wanted, program, show)


def without_places_in_c(frames):
    """Ruby gives its functions in C the lines of their callers, but they have none."""
    return [[f[0]] + ([None] if f[0] in RUBY_IN_C else f[1:]) for f in frames]


def check(dwarfprof, language, args):
    """Whether it is as it has to be."""
    text = language.make_program(random.Random(args.seed))
    for seconds in [args.seconds] if args.seconds else SECONDS:
        whole, shorter, wrong, *_ = profile(dwarfprof, language, text, seconds, 3 if args.show else 0)
        n = whole + shorter + wrong
        is_good = n >= MIN_SAMPLES and whole >= SHARE * n
        if is_good or wrong > 0:
            break
    print(f"{language.title()} {language.version()}: {n} samples, {100 * whole / max(n, 1):.2f} % whole, {shorter} shorter, {wrong} wrong",
          flush=True)
    return is_good and wrong == 0


def measure(dwarfprof, language, seed, seconds):
    """One run, for check_chains.py."""
    text = language.make_program(random.Random(seed))
    whole, shorter, wrong, complete, unloaded = profile(dwarfprof, language, text, seconds, 0)
    return {"samples": whole + shorter + wrong, "complete": complete, "whole": whole, "wrong": wrong, "unloaded": unloaded}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof")
    parser.add_argument("languages", nargs="*")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--fetched", action="store_true")
    args = parser.parse_args()
    languages = [language for language in LANGUAGES if language.title() in args.languages or
                 (not language.options and (not args.languages or language.name in args.languages))]
    for language in languages if args.fetched else []:
        language.command = fetched.find("bin", language.command)
    good = [check(args.dwarfprof, language, args) for language in languages if not language.variant or language.version()]
    if not good:
        sys.exit("none of these is here")
    sys.exit(0 if all(good) else "some frames are missing or wrong")


if __name__ == "__main__":
    main()
