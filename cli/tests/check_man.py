#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page matches the program: the same options, outcomes and methods.

usage: check_man.py DWARFPROF LIST-COMMANDS MANUAL-PAGE ABI-HEADER VERIFIED-HEADER
"""
import json
import re
import subprocess
import sys
import unittest

import harness

DWARFPROF, LIST_COMMANDS, PAGE, HEADER, VERIFIED = sys.argv[1:6]

# The page also has the options that all commands have.
OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z?][a-z-]*)")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True,
                          env={"LC_ALL": "C.UTF-8", "MANWIDTH": "400", "PATH": "/usr/bin:/bin"})


def list_of(text, name):
    """Word and sentence of each line of an X-macro."""
    body = re.search(rf"#define {name}\(X\)(.*?[^\\])\n", text, re.S).group(1)
    items = re.findall(r"X\(\w+, \"(\w+)\",\s*\"([^\"]+)\"\)", body.replace("\\\n", " "))
    assert len(items) == body.count("X("), name
    return items


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rendered = run("man", "--warnings", "-l", PAGE)
        cls.warnings = rendered.stderr
        cls.text = re.sub(r"\s+", " ", re.sub(r".\x08", "", rendered.stdout))
        with open(PAGE, encoding="utf-8") as page:
            cls.source = page.read()
        with open(HEADER, encoding="utf-8") as header:
            cls.header = header.read()
        with open(VERIFIED, encoding="utf-8") as header:
            cls.verified = header.read()

    def test_formats_without_warnings(self):
        self.assertEqual(self.warnings, "")

    def helped(self, *command):
        options = set()
        for line in run(DWARFPROF, *command, "--help").stdout.splitlines():
            if re.match(r" {2,6}-", line):
                options.update(OPTION.findall(line[:29].split("  [")[0]))
        return options

    def described(self, heading):
        section = re.search(rf"^\.SH {heading}$(.*?)^\.SH", self.source, re.S | re.M).group(1)
        options = set()
        for line in re.findall(r"^\.TP\n\.BR? (.*)$", section, re.M):
            options.update(OPTION.findall(line.replace("\\-", "-")))
        return options

    def test_lists_the_options_of_help(self):
        self.assertGreater(len(self.helped()), 20)
        self.assertEqual(self.described("OPTIONS"), self.helped())

    def test_lists_the_options_of_tables(self):
        self.assertEqual(len(self.helped("tables")), 11)
        self.assertEqual(self.described("TABLES"), self.helped("tables"))

    def test_lists_the_options_of_doctor(self):
        self.assertEqual(len(self.helped("doctor")), 10)
        self.assertEqual(self.described("DOCTOR"), self.helped("doctor"))

    def test_lists_the_options_of_probe(self):
        own = self.helped("probe") - self.helped("help")
        self.assertEqual(len(own), 7)
        self.assertEqual(self.described("PROBE"), own)

    def test_lists_the_options_of_report_and_convert(self):
        for command in "report", "convert":
            self.assertEqual(len(self.helped(command)), 24)
            self.assertEqual(self.described("RECORDINGS"), self.helped(command))

    def test_lists_the_options_of_diff(self):
        self.assertEqual(len(self.helped("diff")), 25)
        self.assertEqual(self.described("DIFFERENCES"), self.helped("diff"))

    def test_lists_the_options_of_annotate(self):
        self.assertEqual(len(self.helped("annotate")), 18)
        self.assertEqual(self.described("ANNOTATION"), self.helped("annotate"))

    def section(self, heading):
        section = re.search(rf"^\.SH {heading}$(.*?)^\.SH", self.source, re.S | re.M).group(1)
        return section.replace("\\-", "-")

    def test_names_the_options_of_dump(self):
        self.assertGreater(len(self.helped("dump")), 20)
        self.assertEqual(set(OPTION.findall(self.section("DUMP"))), self.helped("dump"))

    def test_lists_the_options_of_top(self):
        own = self.helped("top") - self.helped()
        self.assertEqual(len(own), 4)
        self.assertEqual(self.described("TOP"), own)
        left_out = re.search(r"options above but(.*?)^and$", self.section("TOP"), re.S | re.M).group(1)
        self.assertEqual(set(OPTION.findall(left_out)), self.helped() - self.helped("top"))

    def test_lists_the_options_of_agent(self):
        own = {"-c", "-F", "-e"} | self.helped("agent") - self.helped()
        self.assertGreater(len(own), 10)
        self.assertLessEqual(own, self.described("AGENT"))
        self.assertLessEqual(self.described("AGENT"), self.helped("agent"))
        self.assertIn("-o", self.helped() - self.helped("agent"))

    def words(self, argument):
        """The rows of a table, as listed for an option's argument: `text (.txt)`, `rHEX`."""
        record = next(c for c in json.loads(run(LIST_COMMANDS).stdout) if c["name"] == "record")
        return next(o["words"] for o in record["options"] if o["argument"] == argument).split(", ")

    def test_explains_every_format(self):
        formats = self.words("FORMAT")
        self.assertGreater(len(formats), 10)
        for row in formats:
            name, extensions = re.fullmatch(r"(\S+) \((.*)\)", row).groups()
            self.assertIn(f"{name} ({', '.join(extensions.split())})", self.text)
            self.assertRegex(self.shown("record", "--format"), rf"[ ,]{name}[ ,]")

    def test_explains_every_event(self):
        events = self.words("EVENT")
        self.assertGreater(len(events), 10)
        headings = re.findall(r"^\.TP\n\.BI?R? (.*)$", self.section("OPTIONS"), re.M)
        headings = {name for line in headings for name in re.sub(r'\\f.|[ "]', "", line).split(",")}
        for event in events:
            self.assertIn(event, headings)
            if event not in ("cpu", "off-cpu", "wall", "exceptions", "alloc"):  # these have options
                self.assertRegex(self.shown("record", "--event"), rf"[ ,]{re.escape(event)}[ ,]")

    def shown(self, command, option):
        """What the help says about an option."""
        text = run(DWARFPROF, command, "--help").stdout
        return " ".join(re.search(rf"{option}=.*(?:\n {{20,}}.*)*", text).group().split())

    def test_explains_every_outcome(self):
        outcomes = list_of(self.header, "DP_OUTCOMES")
        self.assertGreater(len(outcomes), 10)
        for word, sentence in outcomes:
            self.assertIn(f"{word} {sentence[0].upper()}{sentence[1:]}.", self.text)

    def test_explains_every_method(self):
        for word, sentence in list_of(self.header, "DP_METHODS"):
            self.assertIn(f"{word} {sentence[0].upper()}{sentence[1:]}.", self.text)

    def test_explains_every_result_of_a_verification(self):
        results = list_of(self.verified, "VERIFIED_RESULTS")
        self.assertGreater(len(results), 5)
        for word, sentence in results:
            self.assertIn(f"{word} {sentence[0].upper()}{sentence[1:]}.", self.text)


if __name__ == "__main__":
    harness.run_tests()
