#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real run in each format, as other programs read it.

usage: check_viewers.py DWARFPROF PROGRAM-DIR
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import chance
import chromium
import harness
import readers
from harness import dwarfprof, program

PERIOD = 1000000000 // 499
# The call chain in `inlined`, root first, and what the kernel adds for an interrupt.
CALLS = ("_start", "__libc_start_main", "__libc_start_call_main", "main", "work")
INLINED = ("mix_many", "mix")

# The hue of a colour such as rgb(1, 2, 3).
HUE = """(text => {
    const [r, g, b] = text.match(/\\d+/g).map(Number), most = Math.max(r, g, b), range = most - Math.min(r, g, b) || 1;
    const sixth = most === r ? (g - b) / range + 6 : most === g ? (b - r) / range + 2 : (r - g) / range + 4;
    return 60 * (sixth % 6);
})"""


class Viewers(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def profile(self, name, *options):
        """Profiles a program: returns the report's path and its number of samples."""
        path = os.path.join(self.directory.name, name)
        result = dwarfprof("-F", "499", *options, "-o", path, "--", program("inlined"), "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        samples, lost = map(int, re.search(r"(\d+) samples in [\d.]+ s, (\d+) lost",
                                           result.stderr).groups())
        self.assertEqual(lost, 0)
        return path, samples

    def check_stacks(self, stacks, samples, root=(), mark="", weight=1):
        """weight: of each sample."""
        self.assertEqual(sum(stacks.values()), samples * weight)
        wanted = root + CALLS + tuple(name + mark for name in INLINED)
        # An interrupt adds kernel frames above these.
        others = sum(n for stack, n in stacks.items() if stack[:len(wanted)] != wanted)
        # Half of them must be of these calls alone; up to a fifth are not.
        self.assertTrue(chance.is_rare(others / weight, samples, 0.2, 0.5), stacks)

    def test_folded(self):
        path, samples = self.profile("x.folded")
        stacks = readers.folded(path)
        self.check_stacks(stacks, samples, ("inlined",), "_[i]")

    def test_perf_script(self):
        path, samples = self.profile("x.perf")
        stacks = readers.perf_script(path)
        # A frame has inlined functions, and the function into which they were inlined.
        self.check_stacks(stacks, samples, ("inlined",), "_[i]", PERIOD)
        self.assertEqual(readers.profiler_total(path), samples)
        text = readers.text(path)
        self.assertRegex(text, r"\n\t +[\da-f]+ work\+0x[\da-f]+ \(/.*/inlined\)\n")

    def test_speedscope(self):
        path, samples = self.profile("x.speedscope.json")
        name, (everything, thread) = readers.speedscope(path)
        self.assertIn("inlined", name)
        self.check_stacks(everything["stacks"], samples, ("inlined",), weight=PERIOD)
        self.check_stacks(thread["stacks"], samples, weight=PERIOD)
        self.assertRegex(thread["name"], r"inlined \(PID \d+\)")
        self.assertIn(f"{samples} samples, 0 lost", everything["name"])
        functions = {f["name"]: f for f in readers.load(path)["shared"]["frames"]}
        source = readers.text(os.path.join(os.path.dirname(__file__),
                                           "../../test-programs/inlined.c")).splitlines()
        self.assertTrue(functions["mix"]["file"].endswith("/inlined.c"))
        self.assertIn("/* here */", source[functions["mix"]["line"] - 1])
        self.assertIn("/* mix_many */", source[functions["work"]["line"] - 1])

    def test_firefox(self):
        path, samples = self.profile("x.firefox.json.gz")
        profile, (thread,) = readers.firefox(path)
        self.check_stacks(thread["stacks"], samples)
        self.assertEqual(readers.profiler_total(path), samples)
        # From the program's start.
        self.assertGreaterEqual(thread["times"][0], 0)
        self.assertLess(thread["times"][-1], profile["meta"]["profilingEndTime"])
        libs = {lib["name"]: lib for lib in profile["libs"]}
        self.assertRegex(libs["libc.so.6"]["codeId"], r"^[\da-f]{40}$")
        # Other functions belong to the dynamic linker and the kernel, and may be inlined.
        depths = readers.firefox_depths(profile["threads"][0], profile["shared"]["stringArray"])
        wanted = {"work": {0}, "mix_many": {1}, "mix": {2}}
        self.assertEqual({name: depths[name] for name in wanted}, wanted)

    def test_time_apart(self):
        """Threads that wait have their own category."""
        stolen = harness.stolen_time()
        path, samples = self.profile("x.firefox.json", "--wall")
        stolen = 1000 * (harness.stolen_time() - stolen) + 10
        profile, (thread,) = readers.firefox(path)
        self.assertEqual(thread["unit"], "tracing-ms")
        span = thread["times"][-1] - thread["times"][0]
        # CPU time is sampled; a tenth of a second is for the begin and the end of what is not.
        least, most = (n - samples for n in chance.events(samples))
        self.assertLess(sum(thread["stacks"].values()), span + most * PERIOD / 1e6 + 100)
        self.assertGreater(sum(thread["stacks"].values()), span + least * PERIOD / 1e6 - 100 - stolen)

    def test_svg(self):
        path, samples = self.profile("x.svg")
        boxes, head = readers.svg(path)
        self.assertIn(f"{samples} samples, ", head[1])
        titles = [re.sub(r"( \(.*\))?(, inlined)?: .*", r"\2", title) for title, *_ in boxes]
        for name in ("inlined", *CALLS, *(name + ", inlined" for name in INLINED)):
            self.assertEqual(titles.count(name), 1, name)

    def test_html(self):
        path, samples = self.profile("x.html")
        with chromium.Page("file://" + path) as page:
            page.wait_for(f"document.body.innerText.includes('all threads: {samples} samples')")
            self.assertEqual(page.requests, ["file://" + path])
            self.assertIn(f"{samples} samples, 0 lost",
                          page.evaluate("document.querySelector('header').innerText"))

    def test_kinds_in_html(self):
        """Functions of each kind have hues of their own, which the page's head explains."""
        path = os.path.join(self.directory.name, "x.html")
        code = "import os\nzeros = os.open('/dev/zero', 0)\ndef work():\n os.read(zeros, 65536)\n return sum(range(1000))\nwhile True: work()"
        with harness.Target("/usr/bin/python3", "-c", code) as pid:
            result, = harness.run_at_once([harness.DWARFPROF, "-F", "499", "-o", path, "-p", pid], of=[pid], seconds=1)
        self.assertEqual(result.returncode, 0, result.stderr)
        with chromium.Page("file://" + path + "#view=sandwich") as page:
            page.wait_for("[...document.querySelectorAll('tr')].some(row => /\\bwork$/.test(row.innerText.trim()))")
            kinds = page.evaluate(f"[...document.querySelectorAll('#kinds span')].map(s => [s.innerText, {HUE}("
                                  "getComputedStyle(s.firstChild).backgroundColor)])")
            found = page.evaluate("[...document.querySelectorAll('tr')].map(row => [row.innerText, {HUE}("
                                  "[...row.querySelectorAll('td:last-child *')].map(e => getComputedStyle(e).backgroundColor)"
                                  ".find(c => /^rgb\\(/.test(c)) || 'rgb(0, 0, 0)')])".replace("{HUE}", HUE))
        kinds = dict(kinds)
        self.assertEqual(list(kinds), ["kernel", "native", "python"])
        half = 0.75 * 324 / 3 / 2
        # As far as the list is in sight.
        for name, kind in {r"\bwork$": "python", r"\[python3[\d.]*\+": "native"}.items():
            hues = [hue for text, hue in found if re.search(name, text.strip())]
            self.assertTrue(hues, found)
            for hue in hues:
                self.assertLess(abs(hue - kinds[kind]), half + 3, (name, kinds))

    def test_events_in_html(self):
        """Each is one of speedscope's profiles, which are a key apart."""
        path = os.path.join(self.directory.name, "x.html")
        result = dwarfprof("-e", "page-faults,context-switches", "-o", path, "--", program("fibonacci"), "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        with chromium.Page("file://" + path) as page:
            page.wait_for("document.body.innerText.includes('page-faults, all threads: ')")
            page.press("n", text="n")
            page.wait_for("document.body.innerText.includes('context-switches, all threads: ')")
            page.press("p", text="p")
            page.wait_for("document.body.innerText.includes('page-faults, all threads: ')")


class Nameless(unittest.TestCase):
    """A program without symbols: the linker's, of the same program, say where its functions begin."""

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        self.binary = self.path("bare")
        subprocess.run(["strip", "-o", self.binary, program("inefficient")], check=True)
        self.recording = self.path("x.dwarfprof")
        with harness.Target(self.binary, "60") as pid:
            # The kernel's functions would push those without time of their own out of the first rows.
            result = dwarfprof("-F", "499", "-U", "-p", pid, "-d", "1", "-o", self.recording)
            top = dwarfprof("top", "-p", pid, "-n", "1", "-F", "499", "-U")
        self.assertEqual(top.returncode, 0, top.stderr)
        self.top = top.stdout
        self.assertEqual(result.returncode, 0, result.stderr)
        symbols = subprocess.run(["nm", program("inefficient")], capture_output=True, text=True, check=True).stdout
        self.functions = {int(address, 16): name
                          for address, name in re.findall(r"(?m)^([0-9a-f]+) [tT] (\w+)$", symbols)}

    def path(self, name):
        return os.path.join(self.directory, name)

    def report(self, name, *options):
        path = self.path(name)
        result = dwarfprof("convert", self.recording, "-o", path, *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return path

    def named(self, text):
        """With the names of the functions that begin there."""
        return re.sub(r"\[bare\+0x([0-9a-f]+)\]", lambda m: self.functions.get(int(m[1], 16), m[0]), text)

    def test_is_called_by_where_its_functions_begin(self):
        found = {"folded": readers.folded(self.report("x.folded")),
                 "perf": readers.perf_script(self.report("x.perf")),
                 "speedscope": readers.speedscope(self.report("x.speedscope.json"))[1][0]["stacks"]}
        _, (thread,) = readers.firefox(self.report("x.firefox.json"))
        found["firefox"] = thread["stacks"]
        boxes, _ = readers.svg(self.report("x.svg"))
        found["svg"] = [(re.sub(r" \(.*|: .*", "", title),) for title, *_ in boxes]
        for form, stacks in found.items():
            names = {self.named(name) for stack in stacks for name in stack}
            self.assertLessEqual({"main", "report", "sort_words", "_start"}, names, form)
        for form in ("text", "json", "jsonl"):
            with open(self.report("x." + form, "--format", form)) as file:
                found[form] = file.read()
        for name in ("sort_words", "main"):
            self.assertRegex(self.named(found["text"]), rf" {name} +bare\n")
            self.assertRegex(self.named(self.top), rf" {name} +bare\n")
        samples = [json.loads(line)["user_stack"] for line in found["jsonl"].splitlines()]
        stacks = [stack["user_stack"] for stack in json.loads(found["json"])["stacks"]]
        for form in samples, stacks:
            starts = {int(f["function_start"], 16) for stack in form for f in stack
                      if f["module"] == self.binary and f["function_start"]}
            self.assertLessEqual({"main", "report", "sort_words"}, {self.functions.get(start) for start in starts})
        result = dwarfprof("diff", self.recording, self.recording, "--format", "folded")
        self.assertIn(";sort_words ", self.named(result.stdout))

    def test_has_the_boxes_that_it_has_with_names(self):
        bare = readers.text(self.report("x.folded", "--no-inline"))
        # It has the same build id.
        shutil.copy2(program("inefficient"), self.binary)
        named = readers.text(self.report("y.folded", "--no-inline"))
        self.assertIn(";sort_words", named)
        self.assertNotIn(";sort_words", bare)
        self.assertEqual(sorted(self.named(bare).splitlines()), sorted(named.splitlines()))


if __name__ == "__main__":
    harness.main()
