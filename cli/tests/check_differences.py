#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of differences, compared with the stacks that speedscope has of both recordings, and in
a browser; folded differences with what difffolded.pl does.

usage: check_differences.py REPORT_FEED DWARFPROF ARTEFACTS
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

import chromium
import harness
import readers

FEED, DWARFPROF, ARTEFACTS = map(os.path.abspath, sys.argv[1:4])
WIDTH = 1180
PERIOD = 1000000000 // 99  # of report_feed's events, in speedscope's unit
SVG = "{http://www.w3.org/2000/svg}"


def colour_word(colour):
    red, green, blue = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return "grey" if red == green == blue else "red" if red > blue else "blue"


def saturation(colour):
    parts = [int(colour[i:i + 2], 16) for i in (1, 3, 5)]
    return max(parts) - min(parts)


class Differences(unittest.TestCase):
    SAMPLES = {"before": 3600, "after": 2400}

    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.feed("before", cls.SAMPLES["before"], "a")
        cls.feed("after", cls.SAMPLES["after"], "b")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory, name)

    @classmethod
    def feed(cls, mode, samples, name):
        subprocess.run([FEED, mode, str(samples), name + ".dwarfprof"], cwd=cls.directory, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([DWARFPROF, "convert", name + ".dwarfprof", "-o", name + ".speedscope.json", "-o", name + ".folded"],
                       cwd=cls.directory, check=True, stderr=subprocess.DEVNULL)

    def run_diff(self, *args, code=0):
        result = subprocess.run([DWARFPROF, "diff", *args], cwd=self.directory, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def diff(self, name, *args, files=("a.dwarfprof", "b.dwarfprof")):
        self.assertRegex(self.run_diff(*files, "-o", name, *args).stderr, rf"\ndwarfprof: wrote {name} |^dwarfprof: wrote {name} ")
        return self.path(name)

    @classmethod
    def nodes(cls, *names, unit=PERIOD):
        """Each place in the stacks, with its value in each file."""
        nodes = {}
        for side, name in enumerate(names):
            for stack, weight in readers.speedscope(cls.path(name + ".speedscope.json"))[1][0]["stacks"].items():
                if stack == ("[lost samples]",):
                    continue
                stack = tuple(part for part in stack if not re.match(r"\[(size|a.b <i>.*)=", part, re.DOTALL))
                for depth in range(1, len(stack) + 1):
                    nodes.setdefault(stack[:depth], [0, 0])[side] += weight // unit
        return nodes

    def boxes(self, root):
        """Title without the name, width, colour."""
        for g in root.iter(SVG + "g"):
            rect = g.find(SVG + "rect")
            title = re.search(r": (A \d+\.\d\d %, B .*)$", g.find(SVG + "title").text)[1]
            yield title, float(rect.get("width")), rect.get("fill")

    def wanted(self, nodes, tested=True):
        """The same, by the test of two proportions with the normal distribution; colours as words, with
        the change that they show."""
        n_a, n_b = (sum(values[side] for stack, values in nodes.items() if len(stack) == 1) for side in (0, 1))
        for a, b in nodes.values():
            if b * WIDTH / n_b < 0.25:
                continue
            change = 100 * b / n_b - 100 * a / n_a
            title = f"A {100 * a / n_a:.2f} %, B {100 * b / n_b:.2f} %, change {change:+.2f}"
            share = (a + b) / (n_a + n_b)
            deviation = (share * (1 - share) * (1 / n_a + 1 / n_b)) ** 0.5
            p = 2 * (1 - statistics.NormalDist().cdf(abs(change / 100) / deviation)) if deviation else 1
            noise = p > 0.01 or min(share, 1 - share) * min(n_a, n_b) < 5
            grey = noise if tested else change == 0
            yield (title + (", within chance" if noise and tested else ""), b * WIDTH / n_b,
                   "grey" if grey else "red" if change > 0 else "blue", change)

    def check(self, root, nodes, tested=True):
        found, wanted = sorted(self.boxes(root)), sorted(self.wanted(nodes, tested))
        self.assertEqual(len(found), len(wanted))
        for (shown, width, colour), (title, w, word, _) in zip(found, wanted):
            self.assertEqual(shown, title)
            self.assertAlmostEqual(width, w, delta=0.011)
            self.assertEqual(colour_word(colour), word, title)
        words = {word for *_, word, _ in wanted}
        for word in words - {"grey"}:  # the larger the change, the stronger the colour
            shown = sorted((abs(change), saturation(colour)) for (_, _, colour), (*_, w, change) in zip(found, wanted)
                           if w == word)
            self.assertEqual([s for _, s in shown], sorted(s for _, s in shown))
        self.assertEqual(max(saturation(colour) for *_, colour in found) > 150, words != {"grey"})
        return words

    def test_widths_are_those_of_b_and_colours_tell_what_has_changed(self):
        path = self.diff("x.svg")
        root = readers.xml.etree.ElementTree.parse(path).getroot()
        nodes = self.nodes("a", "b")
        self.assertEqual(self.check(root, nodes), {"grey", "red", "blue"})
        texts = [text.text for text in root.findall(SVG + "text")]
        self.assertIn("red", texts[0])
        self.assertTrue(texts[1].startswith("A: a.dwarfprof: prog <") and "3600 samples" in texts[1])
        self.assertTrue(texts[2].startswith("B: b.dwarfprof: prog <") and "2400 samples" in texts[2])
        keys = dict(zip(texts[-3:], (rect.get("fill") for rect in root.findall(SVG + "rect")[1:])))
        self.assertEqual({word: colour_word(colour) for word, colour in keys.items()},
                         {"larger share in B": "red", "smaller share in B": "blue", "within chance": "grey"})

    def test_the_other_way_round_it_has_the_other_colours(self):
        path = self.diff("y.svg", files=("b.dwarfprof", "a.dwarfprof"))
        root = readers.xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(self.check(root, self.nodes("b", "a")), {"grey", "red", "blue"})

    def test_a_recording_does_not_differ_from_itself(self):
        path = self.diff("same.svg", files=("a.dwarfprof", "a.dwarfprof"))
        self.assertEqual(self.check(readers.xml.etree.ElementTree.parse(path).getroot(), self.nodes("a", "a")), {"grey"})

    def test_what_only_a_has_is_counted(self):
        self.feed("before", 30, "few")  # of 60 stacks
        self.feed("rare", 60000, "rare")  # most are too narrow
        for name in "few", "rare":
            path = self.diff(name + ".svg", files=("a.dwarfprof", name + ".dwarfprof"))
            nodes = self.nodes("a", name)
            least = 0.25 * sum(b for stack, (_, b) in nodes.items() if len(stack) == 1) / WIDTH
            missing = sum(a for stack, (a, b) in nodes.items()
                          if b < least and (len(stack) == 1 or nodes[stack[:-1]][1] >= least))
            self.assertGreater(missing, 100)
            self.assertIn(f"In A, too narrow or absent in B, and not shown: {100 * missing / self.SAMPLES['before']:.1f} % of A.",
                          readers.svg(path)[1][3])

    def test_a_full_disk(self):
        result = self.run_diff("a.dwarfprof", "b.dwarfprof", "-o", "/dev/full", "--format", "svg", code=1)
        self.assertIn("No space left on device", result.stderr)

    def test_times_are_not_tested(self):
        for name, samples in ("wall-a", 600), ("wall-b", 417):
            self.feed("wall", samples, name)
        path = self.diff("wall.svg", files=("wall-a.dwarfprof", "wall-b.dwarfprof"))
        words = self.check(readers.xml.etree.ElementTree.parse(path).getroot(), self.nodes("wall-a", "wall-b", unit=1), False)
        self.assertLessEqual({"red", "blue"}, words)
        self.assertNotIn("within chance", readers.text(path))

    def folded(self, name):
        """As difffolded.pl of FlameGraph reads it."""
        counts = {}
        for line in readers.text(self.path(name)).splitlines():
            stack, count = re.match(r"(.*)\s+?(\d+(?:\.\d*)?)$", line).groups()
            if not stack.startswith(("[totals:", "[lost samples]")):
                counts[stack] = counts.get(stack, 0) + int(count)
        return counts

    def test_folded(self):
        a, b = self.folded("a.folded"), self.folded("b.folded")
        lines = readers.text(self.diff("x.folded")).splitlines()
        wanted = sorted(f"{stack} {a.get(stack, 0)} {b.get(stack, 0)}" for stack in a | b)
        self.assertEqual(len(lines), len(wanted))
        for line, other in zip(sorted(lines), wanted):
            self.assertEqual(line, other)
        # flamegraph.pl takes both numbers from the line's end.
        for line in lines:
            self.assertRegex(line, r"^\S.* \d+ \d+$")

    def test_the_file_or_the_option_selects_the_format(self):
        self.assertTrue(readers.text(self.diff("x.txt")).startswith("A: a.dwarfprof"))
        self.assertEqual(readers.load(self.diff("x.json"))["a"]["samples"], 3600)
        self.assertTrue(readers.text(self.diff("odd", "--format", "svg")).startswith("<?xml"))
        self.assertTrue(self.run_diff("a.dwarfprof", "b.dwarfprof", "-o", "-").stdout.startswith("A: "))

    def test_the_recordings_are_not_overwritten(self):
        before = os.path.getsize(self.path("b.dwarfprof"))
        result = self.run_diff("a.dwarfprof", "b.dwarfprof", "-o", "b.dwarfprof", "--format", "svg", code=1)
        self.assertIn("cannot overwrite b.dwarfprof, which is being read: give another file to -o", result.stderr)
        self.assertEqual(os.path.getsize(self.path("b.dwarfprof")), before)
        self.run_diff("a.dwarfprof", "no.dwarfprof", "-o", "none.svg", code=1)
        self.assertFalse(os.path.exists(self.path("none.svg")))

    def use(self, page, picture):
        """Zooms, searches and goes back, as a reader does."""
        boxes = "[...document.querySelectorAll('g')]"
        widths = f"{boxes}.map(g => g.querySelector('rect').getAttribute('width')).join()"
        shown = f"{boxes}.filter(g => g.style.display !== 'none').length"
        before, n = page.evaluate(widths), page.evaluate(shown)
        i = page.evaluate(f"{boxes}.findIndex(g => {{ const w = Number(g.querySelector('rect').getAttribute('width'));"
                          "return w > 20 && w < 300; })")
        page.click(f"{boxes}[{i}].querySelector('rect')")
        page.wait_for(f"{boxes}[{i}].querySelector('rect').getAttribute('width') === '1180.00'")
        self.assertLess(page.evaluate(shown), n)
        page.screenshot(os.path.join(ARTEFACTS, f"{picture}-zoom.png"))
        page.click("document.querySelector('button')")
        page.wait_for("document.querySelector('button').style.display === 'none'")
        self.assertEqual(page.evaluate(widths), before)
        page.press("f", modifiers=2)
        page.wait_for("document.activeElement.localName === 'input'")
        page.type("prog[+]0x1010")
        nodes = self.nodes("a", "b")
        sought = sum(b for stack, (_, b) in nodes.items() if "prog+0x1010" in stack[-1] and
                     not any("prog+0x1010" in part for part in stack[:-1]))
        page.wait_for(f"document.querySelector('.matched').textContent === '{sought / 24:.1f} %'")
        page.press("Escape")
        page.wait_for("document.querySelectorAll('rect[fill=\"#e600e6\"]').length === 0")
        self.assertEqual([m for m in page.messages if "exceptionDetails" in m or '"error"' in m], [])

    def test_a_browser_shows_the_picture(self):
        path = self.diff("x.svg")
        with chromium.Page("file://" + path) as page:
            page.screenshot(os.path.join(ARTEFACTS, "diff.png"))
            self.use(page, "diff-svg")
            self.assertEqual(page.requests, ["file://" + path])

    def test_a_browser_shows_the_page(self):
        path = self.diff("x.html", "-n", "3")
        with chromium.Page("file://" + path) as page:
            page.screenshot(os.path.join(ARTEFACTS, "diff-html.png"))
            self.use(page, "diff-html")
            self.assertEqual(page.requests, ["file://" + path])
            rows = page.evaluate("[...document.querySelectorAll('tr')].map(row => [...row.cells].map("
                                 "cell => [cell.textContent.trim(), cell.className]))")
        picture = readers.text(self.diff("x.svg"))
        self.assertIn(picture[picture.index("<svg"):], readers.text(path))
        # The rows of the text, which is another form of the same.
        text = self.run_diff("a.dwarfprof", "b.dwarfprof", "-n", "3").stdout.splitlines()[4:8]
        self.assertEqual([cell for cell, _ in rows[0]],
                         ["self A", "self B", "change", "total A", "total B", "change", "function", "binary"])
        self.assertEqual(len(rows), 5)
        for row, line in zip(rows[1:4], text):
            numbers = re.findall(r"[+-]?\d+\.\d(?: %)?~?", line)[:6]
            self.assertEqual([cell for cell, _ in row[:6]], [number.rstrip("~") for number in numbers])
            for i in 2, 5:
                kind = "noise" if numbers[i].endswith("~") else "more" if numbers[i][0] == "+" else "less"
                self.assertEqual(row[i][1], "n " + kind)
            self.assertEqual(line.split()[-1], row[7][0].split()[-1])
        self.assertEqual(rows[4][0][0], text[3])


if __name__ == "__main__":
    harness.run_tests(sys.argv[4:])
