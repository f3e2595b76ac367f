#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One set of synthetic samples with hostile names in all formats, as other programs read them.

Usage: check_formats.py REPORT_FEED ARTEFACTS
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

import chromium
import harness
import otlp
import readers

FEED, ARTEFACTS = map(os.path.abspath, sys.argv[1:3])
SAMPLES = 600
PERIOD = 1000000000 // 99


def feed(directory, mode, *names, samples=SAMPLES):
    """Writes reports. Returns the samples' totals, and the peak memory in KiB."""
    # On one CPU: each CPU counts a process's pages locally, and only passes on larger changes.
    cpu = min(os.sched_getaffinity(0))
    result = subprocess.run([FEED, mode, str(samples), *names], cwd=directory, check=True,
                            capture_output=True, timeout=600,
                            preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    return json.loads(result.stdout)


def weigh(stacks):
    return sum(weight for stack, weight in stacks.items() if not stack[0].startswith("["))


def is_label(function):
    """Is it one of report_feed's labels: the plain one or the odd one?"""
    return function == "[size=4096 bytes]" or re.match(r"\[a.b <i>.*=a.b <i>.*\]$", function, re.DOTALL)


def labelled(stacks):
    """The weight of stacks with both labels at their root, below the process."""
    assert all(not is_label(name) for stack in stacks for name in stack[3:])
    return sum(weight for stack, weight in stacks.items() if len([*filter(is_label, stack[:3])]) == 2)


class Formats(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def feed(self, mode, *names, **kwargs):
        total = feed(self.directory.name, mode, *names, **kwargs)
        return total, *(os.path.join(self.directory.name, name) for name in names)

    def check_totals(self, mode, scale, unit):
        """scale: from the viewers' unit to that of the samples."""
        total, folded, perf, speedscope, firefox = self.feed(
            mode, "x.folded", "x.perf", "x.speedscope.json", "x.firefox.json")
        stacks = readers.folded(folded)
        in_us = 1000 if mode == "wall" else 1
        # Each line is rounded to microseconds.
        self.assertAlmostEqual(weigh(stacks) * in_us, total["value"],
                               delta=in_us / 2 * len(stacks))
        # Those that were lost weigh as much as the others, which are two events each.
        lost = 7000 if mode == "wall" else 14
        self.assertEqual(stacks[("[lost samples]",)] * in_us, lost)
        perf_stacks = readers.perf_script(perf)
        self.assertEqual(sum(perf_stacks.values()), total["value"] * scale)
        _, profiles = readers.speedscope(speedscope)
        self.assertEqual({p["unit"] for p in profiles}, {unit})
        everything, *threads = (p["stacks"] for p in profiles)
        self.assertEqual(everything.pop(("[lost samples]",)), lost * scale)
        self.assertEqual(sum(everything.values()), total["value"] * scale)
        self.assertEqual(sum(sum(t.values()) for t in threads), total["value"] * scale)
        self.assertGreater(total["labelled"], 0)
        self.assertAlmostEqual(labelled(stacks) * in_us, total["labelled"], delta=in_us / 2 * len(stacks))
        self.assertEqual(labelled(perf_stacks), total["labelled"] * scale)
        self.assertEqual(labelled(everything), total["labelled"] * scale)
        self.assertEqual(sum(map(labelled, threads)), total["labelled"] * scale)
        _, others = readers.firefox(firefox)
        self.assertEqual(len(others), len(threads))
        for other, thread in zip(others, threads):  # in ms, or as events
            self.assertEqual(other["unit"], "tracing-ms" if mode == "wall" else "samples")
            self.assertEqual({stack: round(weight * (1e6 if mode == "wall" else scale))
                              for stack, weight in other["stacks"].items()}, thread)
        return stacks, perf_stacks, everything, threads

    def test_samples_by_time(self):
        stacks, perf, everything, threads = self.check_totals("cpu", PERIOD, "nanoseconds")
        # Processes by number; their threads have the same stacks, without the name at the root.
        self.assertEqual(len(threads), 6)
        self.assertEqual({stack[1:] for stack in everything}, {s for t in threads for s in t})
        # No incomplete stack is shown as complete.
        for found in stacks, perf, everything:
            self.assertTrue(any("[truncated: no_rule]" == s[1] for s in found if len(s) > 1))
        self.assertTrue(any(s[-1] == "[kernel]" for s in everything))

    def test_time(self):
        _, perf, everything, _ = self.check_totals("wall", 1, "nanoseconds")
        for found in perf, everything:
            self.assertTrue(any("[off-cpu R]" == s[-1] for s in found))

    def test_calls(self):
        self.check_totals("calls", 1, "none")

    def test_a_collector_reads_requests(self):
        """Samples that weigh more than one have times only where receivers take these."""
        def count(weight, ns):
            return weight

        def time(weight, ns):
            return weight * ns

        for mode, types in {
            "cpu": {("samples", "count"): (None, count)},
            "calls": {("events", "count"): (None, count)},
            "before": {("samples", "count"): (None, count)},
            "wall": {("samples", "count"): ("cpu-clock", count), ("off_cpu", "nanoseconds"): ("off-cpu", time),
                     ("wall", "nanoseconds"): (None, time)},
        }.items():
            with self.subTest(mode):
                total, request, stream = self.feed(mode, "x.otlp", "x.jsonl")
                profiles = otlp.read(request)
                found = otlp.by_type(profiles)
                self.assertEqual(found.keys(), types.keys())
                for kind, (event, value) in types.items():
                    otlp.compare(self, found[kind], otlp.streamed(stream, event), value)
                main = found[[*types][-1]].values()
                self.assertEqual(sum(event[1] for several in main for event in several), total["value"])
                timed = {tuple(p["type"]) for p in profiles for s in p["samples"] if s["times"]}
                self.assertEqual(timed, {"cpu": set(), "calls": set(), "before": {("samples", "count")},
                                         "wall": {("off_cpu", "nanoseconds")}}[mode])

    def test_a_collector_reads_several_events(self):
        total, request, stream = self.feed("events", "x.otlp", "x.jsonl")
        found = otlp.by_type(otlp.read(request))
        for kind, event in ("page_faults", "page-faults"), ("r1c2", "r1c2"):
            otlp.compare(self, found.pop((kind, "count")), otlp.streamed(stream, event), lambda weight, ns: weight)
        self.assertEqual(found, {})

    def test_the_firefox_profiler_reads_text(self):
        _, perf, folded = self.feed("cpu", "x.perf", "x.folded")
        self.assertEqual(readers.profiler_total(perf), SAMPLES)
        # It takes the numbers for samples, including lost ones.
        self.assertEqual(readers.profiler_total(folded), sum(readers.folded(folded).values()))

    def test_the_firefox_profiler_reads_its_own_format(self):
        total, plain, packed = self.feed("cpu", "x.firefox.json", "x.firefox.json.gz")
        self.assertEqual(readers.firefox(plain), readers.firefox(packed))
        profile, threads = readers.firefox(plain)
        meta = profile["meta"]
        self.assertEqual(meta["extra"][0]["entries"][1], {"label": "lost", "format": "integer",
                                                          "value": 7})
        self.assertAlmostEqual(meta["interval"], 1000 / 99, places=4)
        self.assertEqual(meta["startTime"], 1700000000000)
        times = sorted(time for thread in threads for time in thread["times"])
        for i, found in enumerate(times):
            self.assertAlmostEqual(found, i * PERIOD / 1e6, delta=1e-5)
        self.assertIn(("67452301AB89EFCD01234567000000000", "0123456789abcdef01234567"),
                      [(lib["breakpadId"], lib["codeId"]) for lib in profile["libs"]])
        self.assertEqual(readers.profiler_total(packed), total["value"])
        categories = {c["name"] for thread in readers.profiler(plain).values()
                      for c in thread["categoryBreakdown"]["categories"]}
        self.assertEqual(categories, {"User", "Kernel"})  # of samples; marks are roots

    def test_a_picture(self):
        total, path, speedscope = self.feed("cpu", "x.svg", "x.speedscope.json")
        boxes, head = readers.svg(path)
        everything = readers.speedscope(speedscope)[1][0]["stacks"]
        seconds = (total["value"] + 14) * PERIOD / 1e9
        self.assertIn(f"600 samples, {seconds:.2f} s; 7 lost; complete: 540 of 590", head[1])
        self.assertTrue(head[0].startswith("prog <a;b <i>&amp;\"'\\ ]]>--></script>"), head[0])
        scale = 1180 / sum(everything.values())
        # No row is wider than the one below it, and the lowest has the total.
        rows = {}
        for _, x, y, width in boxes:
            rows.setdefault(y, []).append((x, width))
        lowest = max(rows)
        self.assertAlmostEqual(sum(w for _, w in rows[lowest]), 1180, delta=0.1)
        for y, row in rows.items():
            for x, width in row if y != lowest else ():
                self.assertTrue(any(below <= x + 0.02 and x + width <= below + w + 0.04
                                    for below, w in rows[y + 17]), (x, y))
        # Each function has the weight of its stacks, independently of the picture's order.
        nodes = {}
        for stack, weight in everything.items():
            stack = tuple(name for name in stack if not is_label(name))
            for depth in range(1, len(stack) + 1):
                nodes[stack[:depth]] = nodes.get(stack[:depth], 0) + weight
        wanted = sorted(round(w * scale, 2) for w in nodes.values() if w * scale >= 0.25)
        found = sorted(width for *_, width in boxes)
        self.assertEqual(len(found), len(wanted))
        for one, other in zip(found, wanted):
            self.assertAlmostEqual(one, other, delta=0.011)

    def test_memory(self):
        """Memory does not grow for samples that are not kept, and by at most 40 bytes for each that
        is."""
        little = self.feed("cpu", "x.perf", samples=1000)[0]["memory"]
        many = 1000000 if little else 1000  # sanitizers use extra memory
        much = self.feed("cpu", "x.perf", samples=many)[0]["memory"]
        # Two bytes per sample would show.
        self.assertLess(much, little + 1536)
        much = self.feed("cpu", "x.speedscope.json", samples=200000)[0]["memory"]
        self.assertLess(much, little + 200000 * 40 / 1024 + 1024)


class Svg(unittest.TestCase):
    """The picture in a browser, compared with its file and with the stacks of another format."""
    SOUGHT = "prog+0x1010"

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        feed(self.directory.name, "cpu", "x.svg", "x.speedscope.json")
        self.path = os.path.join(self.directory.name, "x.svg")
        self.boxes = [tuple(map(str, box)) for box in readers.svg(self.path)[0]]

    def shown(self, page):
        """As self.boxes, of those that are visible."""
        return [(title, *(str(float(n)) for n in numbers)) for title, *numbers in page.evaluate("""
            [...document.querySelectorAll("g")].filter(g => g.style.display !== "none").map(g =>
            [g.querySelector("title").textContent,
             ...["x", "y", "width"].map(name => g.querySelector("rect").getAttribute(name))])""")]

    def zoomed(self, to):
        """What is to be seen of the boxes of the file."""
        title, x, y, width = to[0], *map(float, to[1:])
        for other, *numbers in self.boxes:
            x1, y1, width1 = map(float, numbers)
            if y1 > y and x1 <= x + 0.02 and x + width <= x1 + width1 + 0.02:
                yield other, 10, y1, 1180
            elif y1 <= y and x <= x1 + 0.02 and x1 + width1 <= x + width + 0.02:
                yield other, 10 + (x1 - x) * 1180 / width, y1, width1 * 1180 / width

    def test_zoom_search_and_reset(self):
        stacks = readers.speedscope(os.path.join(self.directory.name, "x.speedscope.json"))[1][0]["stacks"]
        share = sum(weight for stack, weight in stacks.items() if any(self.SOUGHT in name for name in stack))
        share *= 100 / sum(stacks.values())
        self.assertTrue(1 < share < 99)
        with chromium.Page("file://" + self.path) as page:
            self.assertEqual(self.shown(page), self.boxes)
            # A narrow one, of those that are wide enough to be met.
            row = [box for box in self.boxes if self.SOUGHT in box[0] and 3 < float(box[3]) < 200]
            to = min(row, key=lambda box: float(box[3]))
            page.click(f"document.querySelectorAll('g')[{self.boxes.index(to)}].querySelector('rect')")
            page.wait_for(f"document.querySelectorAll('g')[{self.boxes.index(to)}]"
                          ".querySelector('rect').getAttribute('width') === '1180.00'")
            found, wanted = self.shown(page), list(self.zoomed(to))
            self.assertLess(len(found), len(self.boxes))
            self.assertEqual([box[0] for box in found], [box[0] for box in wanted])
            for one, other in zip(found, wanted):
                for a, b in zip(one[1:], other[1:]):
                    self.assertAlmostEqual(float(a), b, delta=0.02 * 1180 / float(to[3]))
            # There is room for its name now.
            self.assertEqual(page.evaluate(f"document.querySelectorAll('g')[{self.boxes.index(to)}]"
                                           ".querySelector('text').textContent"),
                             re.match(r"\S+", to[0])[0].rstrip(":"))
            page.screenshot(os.path.join(ARTEFACTS, "svg-zoom.png"))
            page.click("document.querySelector('button')")
            page.wait_for("document.querySelector('button').style.display === 'none'")
            self.assertEqual(self.shown(page), self.boxes)
            page.press("f", modifiers=2)
            page.wait_for("document.activeElement.tagName === 'input'")
            page.type(self.SOUGHT.replace("+", "[+"))  # not finished
            self.assertEqual(page.evaluate("document.querySelector('.matched').textContent"), "0.0 %")
            page.type("]")
            page.evaluate("document.querySelector('input').value = ''")
            page.type(self.SOUGHT.replace("+", "[+]"))
            page.wait_for("parseFloat(document.querySelector('.matched').textContent) > 0")
            self.assertAlmostEqual(page.evaluate("parseFloat(document.querySelector('.matched').textContent)"),
                                   share, delta=0.1)
            purple = page.evaluate("[...document.querySelectorAll('rect[fill=\"#e600e6\"]')]"
                                   ".map(rect => rect.parentNode.querySelector('title').textContent)")
            self.assertEqual(purple, [box[0] for box in self.boxes if self.SOUGHT in box[0]])
            page.screenshot(os.path.join(ARTEFACTS, "svg-search.png"))
            page.press("Escape")
            page.wait_for("document.querySelectorAll('rect[fill=\"#e600e6\"]').length === 0")
            self.assertEqual([m for m in page.messages if "exceptionDetails" in m], [])
            self.assertEqual(page.requests, ["file://" + self.path])


class Html(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        feed(self.directory.name, "cpu", "x.html", "x.speedscope.json")
        self.path = os.path.join(self.directory.name, "x.html")

    def test_it_opens_without_network(self):
        with chromium.Page("file://" + self.path) as page:
            page.wait_for("document.body.innerText.includes('all threads: 600 samples')")
            # Names are always text, whatever they contain.
            head = page.evaluate("document.querySelector('header').innerText")
            self.assertIn("prog <a;b <i>&amp;\"'\\ ]]>--></script>???(c) ä>", head)
            self.assertIn("600 samples, 7 lost", head)
            self.assertIn("cpu-clock at 99 Hz", head)
            page.evaluate("document.querySelector('summary').click()")
            details = page.evaluate("document.querySelector('header').innerText")
            self.assertIn("no_rule", details)
            self.assertIn("dwarfprof -- '", details)
            self.assertEqual(page.evaluate("document.querySelectorAll('header i').length"), 0)
            page.evaluate("document.querySelector('summary').click()")
            self.check_flame_graph(page)
            # A URL that begins with data: is the screenshot that was just examined.
            self.assertEqual([r for r in page.requests if not r.startswith("data:")],
                             ["file://" + self.path])
            errors = [m for m in page.messages if '"error"' in m or "exceptionDetails" in m]
            self.assertEqual(errors, [])

    @staticmethod
    def count_colours(page, image):
        """The number of colours with more than a few pixels."""
        return page.evaluate(f"""(async () => {{
            const image = new Image();
            image.src = 'data:image/png;base64,{chromium.base64.b64encode(image).decode()}';
            await image.decode();
            const canvas = document.createElement('canvas');
            canvas.width = image.width; canvas.height = image.height;
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            const data = context.getImageData(0, 180, image.width, 200).data;
            const colours = new Map();
            for (let i = 0; i < data.length; i += 4) {{
                const [r, g, b] = data.slice(i, i + 3);
                if (Math.max(r, g, b) - Math.min(r, g, b) > 20)
                    colours.set(r << 16 | g << 8 | b, 1 + (colours.get(r << 16 | g << 8 | b) || 0));
            }}
            return [...colours.values()].filter(n => n > 500).length;
        }})()""")

    def check_flame_graph(self, page):
        """It has boxes in many colours, names, and a search that finds them."""
        page.evaluate("[...document.querySelectorAll('div')]"
                      ".find(e => e.childElementCount < 2 && "
                      "e.innerText.endsWith('Left Heavy')).click()")
        # It is drawn some time after the request.
        end = time.monotonic() + chromium.SECONDS
        before = page.screenshot(os.path.join(ARTEFACTS, "html.png"))
        while self.count_colours(page, before) <= 3:
            self.assertLess(time.monotonic(), end, "nothing is drawn")
            before = page.screenshot(os.path.join(ARTEFACTS, "html.png"))
        page.press("f", modifiers=2)  # Ctrl
        # The field gets the focus some time after it appears; until then, keys go nowhere.
        page.wait_for("document.activeElement.tagName === 'INPUT'")
        sought = "prog+0x1010"
        everything = readers.speedscope(os.path.join(self.directory.name, "x.speedscope.json"))[1][0]
        places = {stack[:depth + 1] for stack in everything["stacks"]
                  for depth, name in enumerate(stack) if sought in name}
        page.type(sought)
        found = "document.body.innerText"
        page.wait_for(f"{found}.includes('?/{len(places)}')")
        page.press("Enter", text="\r")
        page.wait_for(f"{found}.includes('1/{len(places)}')")
        self.assertNotEqual(page.screenshot(os.path.join(ARTEFACTS, "html-search.png")), before)

    def test_it_shows_one_process_or_thread(self):
        profiles = readers.speedscope(os.path.join(self.directory.name, "x.speedscope.json"))[1]
        total = sum(profiles[0]["stacks"].values())
        weights = {profile["name"]: sum(profile["stacks"].values()) for profile in profiles[1:]}
        processes = {}
        for name, weight in weights.items():
            processes.setdefault(re.search(r"\(PID (\d+)", name)[1], []).append((name, weight))
        pid, threads = max(processes.items(), key=lambda item: len(item[1]))
        self.assertGreater(len(threads), 1)
        self.assertLess(len(threads), len(weights))
        with chromium.Page("file://" + self.path) as page:
            page.wait_for("document.body.innerText.includes('all threads: 600 samples')")
            page.wait_for("!document.getElementById('picker').hidden")
            self.assertIn("Show only", page.evaluate("document.getElementById('picker').innerText"))
            options = page.evaluate("[...document.querySelectorAll('#picker option')].map(o => o.textContent)")
            self.assertEqual(sorted(o[7:] for o in options if o.startswith("thread ")),
                             sorted(name for own in processes.values() if len(own) > 1 for name, _ in own))
            self.assertEqual(sum(o.startswith("process ") for o in options), len(processes))
            process, = (o for o in options if o.startswith("process ") and f"PID {pid}" in o)
            name, weight = threads[1]
            for option, shown, n in ((process, sum(weight for _, weight in threads), len(threads) + 1),
                                     ("thread " + name, weight, 1)):
                self.choose(page, options.index(option))
                page.wait_for(f"document.querySelector('#picker output').textContent === "
                              f"'{100 * shown / total:.1f} % of all'")
                page.wait_for(f"document.body.innerText.includes({json.dumps(option.removeprefix('thread '))})")
                page.wait_for("!document.body.innerText.includes('all threads: 600')")
                self.assertEqual("(1/%d)" % n in page.evaluate("document.body.innerText"), n > 1)
            page.screenshot(os.path.join(ARTEFACTS, "html-thread.png"))
            self.choose(page, 0)
            page.wait_for("document.body.innerText.includes('all threads: 600 samples')")
            self.assertEqual(page.evaluate("document.querySelector('#picker output').textContent"), "")
            self.assertEqual([m for m in page.messages if '"error"' in m or "exceptionDetails" in m], [])

    def test_it_shows_one_event_of_a_process_or_thread(self):
        feed(self.directory.name, "events", "x.html", "x.speedscope.json")
        path = os.path.join(self.directory.name, "profile")
        with open(path, "w") as file:
            file.write(re.search(r'id="profile">\s*(\S+)\s*</script>', readers.text(self.path))[1])
        script = os.path.join(os.path.dirname(__file__), "../../formats/html_filter.js")
        result = subprocess.run(["node", os.path.join(os.path.dirname(__file__), "filter_html.js"), script, path],
                                check=True, capture_output=True, text=True, timeout=600)
        everything, *chosen = json.loads(result.stdout)
        self.assertEqual(everything, {"option": "all threads of all processes", "output": "", "profiles": []})
        profiles = [(profile["name"], sum(profile["stacks"].values()))
                    for profile in readers.speedscope(os.path.join(self.directory.name, "x.speedscope.json"))[1]]
        totals = {event: next(weight for name, weight in profiles if name.startswith(f"{event}, all threads: "))
                  for event in ("page-faults", "r1c2")}
        self.assertNotEqual(*totals.values())
        shown = dict.fromkeys(totals, 0)
        for choice in chosen:
            kind, event, pid = re.match(r"(process|thread) (?:.*, )?(\S+)( \(PID \d+)", choice["option"], re.DOTALL).groups()
            total, threads = choice["profiles"][0][1], choice["profiles"][1:] or choice["profiles"]
            self.assertEqual(choice["output"], f"{100 * total / totals[event]:.1f} % of all")
            self.assertEqual(sum(weight for _, weight in threads), total)
            for name, weight in threads:
                self.assertIn(event + pid, name)
                self.assertIn((name, weight), profiles)
            shown[event] += total if kind == "process" else 0
        self.assertEqual(shown, totals)

    @staticmethod
    def choose(page, i):
        """Headless Chromium shows no list that could be clicked in."""
        page.click("document.querySelector('#picker select')")
        page.evaluate(f"document.querySelector('#picker select').selectedIndex = {i};"
                      "document.querySelector('#picker select').dispatchEvent(new Event('change'))")

    def test_speedscope_reads_text(self):
        """The page contains its importers too: for perf's text and folded stacks."""
        feed(self.directory.name, "cpu", "x.perf", "x.folded")
        with chromium.Page("file://" + self.path) as page:
            page.wait_for("document.body.innerText.includes('all threads: 600 samples')")
            # It makes a profile per thread from perf's text, and a single one from folded stacks.
            for name, shown in ("x.perf", "tid: 10"), ("x.folded", "x.folded"):
                with open(os.path.join(self.directory.name, name), "rb") as file:
                    data = chromium.base64.b64encode(file.read()).decode()
                page.evaluate(f"window.speedscope.loadFileFromBase64('{name}', '{data}')")
                page.wait_for(f"document.body.innerText.includes('{shown}')")

    def test_it_is_one_file(self):
        """The page loads nothing else; it only has links for its reader."""
        html = readers.text(self.path)
        head = html[:html.index("<script")]
        for mark in ("src=", "href=", "url(", "@import"):
            self.assertNotIn(mark, head)
        self.assertIn("Copyright (c) 2018 Jamie Wong", html)
        self.assertLess(len(html), 700000)


if __name__ == "__main__":
    if not os.path.exists(readers.PROFILER_CLI):
        sys.exit(77)  # skipped: `ci/setup viewers` installs the viewers
    harness.run_tests(sys.argv[3:])
