#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of languages in each way to sample, and their kind in each format.

usage: check_language_frames.py DWARFPROF PROGRAM-DIR

A program in Python, and one in JavaScript: main() calls spin(), which computes, pause(), which waits, and tell(), which
writes, again and again until SECONDS of CPU time are used. At HZ, hundreds of samples are of spin(): that a
format or a mode has none by chance is out of the question.
"""
import base64
import collections
import gzip
import importlib.util
import json
import os
import re
import shutil
import tempfile
import unittest
import xml.etree.ElementTree

import harness
import otlp
import readers
from harness import dwarfprof

HZ = "499"
SECONDS = 1
FUNCTIONS = {"spin", "pause", "tell", "main"}
PYTHON = """
import os, sys, time
null = os.open("/dev/null", os.O_WRONLY)
def spin():
    end, n = time.process_time() + 0.02, 0
    while time.process_time() < end:
        for i in range(1000):
            n += i * i
def pause():
    time.sleep(0.01)
def tell():
    os.write(null, b"x")
def main(seconds):
    while time.process_time() < seconds:
        spin(); pause(); tell()
main(float(sys.argv[1]))
"""
JAVASCRIPT = """
const fs = require("fs"), cell = new Int32Array(new SharedArrayBuffer(4)), bytes = Buffer.from("x");
const file = fs.openSync("/dev/null", "w");
function used() { return process.cpuUsage().user / 1e6; }
function spin() {
  const end = used() + 0.02;
  let n = 0;
  while (used() < end) for (let i = 0; i < 100000; i++) n += i * i % 7;
  return n;
}
function pause() { Atomics.wait(cell, 0, 0, 10); }
function tell() { fs.writeSync(file, bytes); }
function main(seconds) { while (used() < seconds) { spin(); pause(); tell(); } }
main(Number(process.argv[2]));
"""


def pprof_readers():
    """A module that has the same name as another one."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../formats/tests/readers.py")
    spec = importlib.util.spec_from_file_location("pprof_readers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_kind(pairs):
    """Names by kind, of pairs of a kind and a name."""
    found = collections.defaultdict(set)
    for kind, name in pairs:
        found[kind].add(name)
    return found


def kinds_of_firefox(path):
    profile = readers.load(path)
    names, categories = profile["shared"]["stringArray"], [c["name"] for c in profile["meta"]["categories"]]
    return by_kind((categories[category], names[thread["funcTable"]["name"][function]]) for thread in profile["threads"]
                   for function, category in zip(thread["frameTable"]["func"], thread["frameTable"]["category"]))


def kinds_of_speedscope(path):
    return by_kind((frame.get("kind"), frame["name"]) for frame in readers.load(path)["shared"]["frames"])


def kinds_of_html(path):
    """What the page's script makes colours of: test viewers looks at these."""
    packed = re.search(r'id="profile">\s*(.*?)\s*</script>', readers.text(path), re.DOTALL)[1]
    profile = json.loads(gzip.decompress(base64.b64decode(packed)))
    return by_kind((frame.get("kind"), frame["name"]) for frame in profile["shared"]["frames"])


def is_shade(colour, lightest):
    less = lightest[1] - colour[1]
    return 0 <= less <= 40 and list(colour) == [lightest[0] - less // 3, lightest[1] - less, lightest[2] - less]


def kinds_of_svg(path):
    """By the colours of the picture's key."""
    root, space = xml.etree.ElementTree.parse(path).getroot(), "{http://www.w3.org/2000/svg}"
    elements = list(root)
    keys = [(bytes.fromhex(rect.get("fill")[1:]), text.text) for rect, text in zip(elements, elements[1:])
            if rect.tag == space + "rect" and rect.get("height") == "11" and text.tag == space + "text"]
    boxes = [(bytes.fromhex(g.find(space + "rect").get("fill")[1:]), re.sub(r"( \(.*\))?(, inlined)?: .*", "", g.find(space + "title").text))
             for g in root.iter(space + "g")]
    return by_kind((word, name) for colour, name in boxes for lightest, word in keys if is_shade(colour, lightest))


def kinds_of_pprof(path):
    """Of the leaf, as a label: functions have no place for it."""
    module = pprof_readers()
    with tempfile.TemporaryDirectory() as directory:
        profile = module.read_go(module.go_pprof(directory, "-symbolize=none", "-raw", path))
    return by_kind((sample["labels"].get("language"), sample["frames"][0]["lines"][0]) for sample in profile["samples"]
                   if sample["frames"] and sample["frames"][0]["lines"])


def kinds_of_otlp(path):
    return by_kind((frame["attributes"].get("profile.frame.type"), line["function"]) for profile in otlp.read(path)
                   for sample in profile["samples"] for frame in sample["stack"] for line in frame["lines"])


def kinds_of_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return by_kind((frame["kind"], frame["symbol"]) for line in file for frame in json.loads(line)["user_stack"])


# Of a language with these words, and of OpenTelemetry.
FORMATS = {
    "x.firefox.json": (kinds_of_firefox, "{word}"),
    "x.speedscope.json": (kinds_of_speedscope, "{word}"),
    "x.html": (kinds_of_html, "{word}"),
    "x.svg": (kinds_of_svg, "{word}"),
    "x.pb.gz": (kinds_of_pprof, "{word}"),
    "x.otlp": (kinds_of_otlp, "{otel}"),
    "x.jsonl": (kinds_of_jsonl, "{word}"),
}


class Frames:
    """Of one language."""

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        self.program = self.path("program")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(self.text)

    def path(self, name):
        return os.path.join(self.directory, name)

    def record(self, *options):
        out = self.path("recording.dwarfprof")
        result = dwarfprof(*options, "-o", out, "--", self.command, self.program, str(SECONDS))
        self.assertEqual(result.returncode, 0, result.stderr)
        return out

    def convert(self, recording, name, *options):
        result = dwarfprof("convert", recording, *options, "-o", self.path(name))
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.path(name)

    def samples(self, *options):
        with open(self.convert(self.record(*options), "x.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def names(self, sample):
        """The program's own functions, leaf first."""
        return [f["symbol"] for f in sample["user_stack"] if f["kind"] == self.word and f["symbol"] in FUNCTIONS]

    def of(self, function, samples):
        """The samples of a function, which main() has called."""
        return [s for s in samples if self.names(s) == [function, "main"]]

    def test_each_format_has_their_kind(self):
        recording = self.record("-F", HZ, "--wall")
        for name, (read, word) in FORMATS.items():
            if name == "x.html" and not readers.html_is_there(dwarfprof):
                continue
            with self.subTest(name):
                found = read(self.convert(recording, name))
                own = word.format(word=self.word, otel=self.otel)
                wanted = {"spin"} if name == "x.pb.gz" else {"spin", "pause", "main"}
                self.assertLessEqual(wanted, found[own], found.keys())
                for kind, names in found.items():
                    self.assertTrue(kind == own or not FUNCTIONS & names, (kind, FUNCTIONS & names))
                self.assertGreater(len(found), 1)
        stacks = readers.folded(self.convert(recording, "x.folded"))
        self.assertTrue(any("spin" in stack and stack.index("spin") == stack.index("main") + 1 for stack in stacks))
        perf = readers.perf_script(self.convert(recording, "x.perf"))
        self.assertTrue(any("spin" in stack and stack.index("spin") == stack.index("main") + 1 for stack in perf))
        text = readers.text(self.convert(recording, "x.txt", "--format", "text"))
        self.assertRegex(text, rf"(?m)^ .* spin +\[{self.word}\]$")

    def test_wall(self):
        samples = self.samples("-F", HZ, "--wall")
        for function, is_off in {"spin": False, "pause": True}.items():
            found = [s for s in self.of(function, samples) if (s["event"] == "off-cpu") == is_off]
            self.assertGreater(len(found), 20, function)
        waits = [s for s in self.of("pause", samples) if s["event"] == "off-cpu" and s["state"] == "S"]
        # Each takes 10 ms.
        self.assertGreater(sum(s["value_ns"] * s["weight"] for s in waits), 9e6 * len(waits))

    def test_uprobes(self):
        samples = self.samples("-e", "uprobe:lib:c:write")
        # One for each 20 ms; the interpreter writes, too.
        self.assertGreater(len(self.of("tell", samples)), 20)
        self.assertFalse([s for s in self.of("pause", samples)])

    def test_by_language(self):
        recording = self.record("-F", HZ)
        stacks = readers.folded(self.convert(recording, "x.folded", "--by", "language"))
        mark = f"[language={self.word}]"
        labelled = {stack: n for stack, n in stacks.items() if mark in stack}
        self.assertGreater(sum(labelled.values()), 100 * SECONDS, stacks)
        for stack in labelled:
            # Its leaf is of the language, so no file's.
            self.assertFalse(re.search(r"\+0x|_\[k\]$", stack[-1]), stack)
        self.assertFalse([stack for stack in stacks if stack[-1] == "spin" and mark not in stack])

    def test_native_frames(self):
        found = {mode: self.samples("-F", HZ, f"--native-frames={mode}") for mode in ("fold", "all", "only")}
        n_native = {}
        for mode, samples in found.items():
            own = samples if mode == "only" else self.of("spin", samples)
            self.assertGreater(len(own), 100 * SECONDS, mode)
            n_native[mode] = min(sum(f["kind"] == "native" for f in s["user_stack"]) for s in own)
        self.assertLess(n_native["fold"], n_native["all"])
        self.assertEqual({f["kind"] for s in found["only"] for f in s["user_stack"]}, {"native"})

    def test_top(self):
        with harness.Target(self.command, self.program, "3600") as pid:
            harness.wait_until_it_runs(pid)
            said = dwarfprof("top", "-p", pid, "-n", "3", "-F", HZ, "--by", "language")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout, rf"(?m)^ *[\d.]+ % +([\d.]+) %  spin +.*\[{self.word}\]$")
        self.assertRegex(said.stdout, rf"(?m)^labels: .*language={self.word} [\d.]+ %")


class Python(Frames, unittest.TestCase):
    command, text, word, otel = "/usr/bin/python3", PYTHON, "python", "cpython"


@unittest.skipUnless(shutil.which("node"), "no node")
class JavaScript(Frames, unittest.TestCase):
    command, text, word, otel = os.path.realpath(shutil.which("node") or ""), JAVASCRIPT, "javascript", "v8js"


if __name__ == "__main__":
    harness.main()
