#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real run in each format, as other programs read it.

usage: check_viewers.py DWARFPROF PROGRAM-DIR
"""
import os
import re
import tempfile
import unittest

import chromium
import harness
import readers
from harness import dwarfprof, program

PERIOD = 1000000000 // 499
# The call chain in `inlined`, root first, and what the kernel adds for an interrupt.
CALLS = ("_start", "__libc_start_main", "__libc_start_call_main", "main", "work")
INLINED = ("mix_many", "mix")


class Viewers(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def profile(self, name, *options):
        """Profiles a program: returns the report's path and its number of samples."""
        path = os.path.join(self.directory.name, name)
        result = dwarfprof("-F", "499", *options, "-o", path, "--", program("inlined"), "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        samples, lost = map(int, re.search(r"(\d+) samples in [\d.]+ s, (\d+) lost",
                                           result.stderr).groups())
        self.assertEqual(lost, 0)
        self.assertGreater(samples, 50)
        return path, samples

    def check_stacks(self, stacks, total, root=(), mark=""):
        self.assertEqual(sum(stacks.values()), total)
        wanted = root + CALLS + tuple(name + mark for name in INLINED)
        # An interrupt adds kernel frames above these.
        share = sum(weight for stack, weight in stacks.items() if stack[:len(wanted)] == wanted)
        self.assertGreater(share, 0.5 * total)

    def test_folded(self):
        path, samples = self.profile("x.folded")
        stacks = readers.folded(path)
        self.check_stacks(stacks, samples, ("inlined",), "_[i]")

    def test_perf_script(self):
        path, samples = self.profile("x.perf")
        stacks = readers.perf_script(path)
        # A frame has inlined functions, and the function into which they were inlined.
        self.check_stacks(stacks, samples * PERIOD, ("inlined",), "_[i]")
        self.assertEqual(readers.profiler_total(path), samples)
        text = readers.text(path)
        self.assertRegex(text, r"\n\t +[\da-f]+ work\+0x[\da-f]+ \(/.*/inlined\)\n")

    def test_speedscope(self):
        path, samples = self.profile("x.speedscope.json")
        name, (everything, thread) = readers.speedscope(path)
        self.assertIn("inlined", name)
        self.check_stacks(everything["stacks"], samples * PERIOD, ("inlined",))
        self.check_stacks(thread["stacks"], samples * PERIOD)
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
        # About a second, from the program's start.
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
        path, _ = self.profile("x.firefox.json", "--wall")
        stolen = 1000 * (harness.stolen_time() - stolen) + 10
        profile, (thread,) = readers.firefox(path)
        self.assertEqual(thread["unit"], "tracing-ms")
        span = thread["times"][-1] - thread["times"][0]
        self.assertLess(sum(thread["stacks"].values()), 1.3 * span)
        self.assertGreater(sum(thread["stacks"].values()), 0.7 * span - stolen)

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


if __name__ == "__main__":
    harness.main()
