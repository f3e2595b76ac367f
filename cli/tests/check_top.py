#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`dwarfprof top`: its tables, in a file and on a terminal without keys.

usage: check_top.py DWARFPROF PROGRAM-DIR
"""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
import unittest

import harness
from harness import busy, dwarfprof

ROW = re.compile(r"^ *([\d.]+) % +([\d.]+) %  (\S+) +(\S+)$", re.M)


def top(*args, code=0):
    done = dwarfprof("top", *args)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stdout


class Tables(unittest.TestCase):
    def test_one_for_each_interval(self):
        with busy() as pid:
            start = time.monotonic()
            text = top("-p", pid, "-n", "2", "-F", "499", "-U")
            self.assertGreater(time.monotonic() - start, 2)
        self.assertNotIn("\033", text)
        tables = text.split("\n\nfibonacci (PID")
        self.assertEqual(len(tables), 2, text)
        # If the first table is late, the second interval is shorter.
        lengths = [float(length) for length in re.findall(r"^last (\d\.\d) s: ", text, re.M)]
        self.assertGreaterEqual(lengths[0], 1, text)
        self.assertGreaterEqual(sum(lengths), 1.9, text)
        for number, table in enumerate(tables):
            rows = ROW.findall(table)
            self.assertEqual(rows[0][2:], ("fibonacci", "fibonacci"), table)
            # With -U, because on a busy machine the kernel takes more than a tenth.
            self.assertGreater(float(rows[0][0]), 90)
            count, in_all = map(int, re.search(r"last \d\.\d s: (\d+) samples.*in all: (\d+),", table).groups())
            self.assertGreater(count, 20 * lengths[number])
            # The second table starts from zero.
            self.assertTrue(in_all == count if number == 0 else in_all > count, table)

    def test_labels(self):
        with busy() as pid:
            self.assertNotIn("labels:", top("-p", pid, "-n", "1", "-F", "499"))
            text = top("-p", pid, "-n", "1", "-F", "499", "--by", "comm")
        self.assertRegex(text, r"(?m)^labels: comm=fibonacci 100.0 %$")
        self.assertRegex(text, r"(?m)^    self    total  function +comm +binary$")
        self.assertRegex(text, r"(?m)^ *[\d.]+ % +[\d.]+ %  fibonacci +100 % fibonacci +fibonacci$")

    def test_other_intervals(self):
        with busy() as pid:
            text = top("-p", pid, "-n", "2", "-i", "1500ms", "-F", "499")
        lengths = re.findall(r"^last (\d\.\d) s: \d+ samples", text, re.M)
        self.assertEqual(len(lengths), 2, text)
        self.assertGreater(float(lengths[0]), 1.4)

    def test_everything(self):
        with busy():
            text = top("-n", "1")
        self.assertTrue(text.startswith("all processes, "), text)
        self.assertIn("fibonacci", text)

    def test_a_command(self):
        text = top("-i", "200ms", "--", harness.program("fibonacci"), "1")
        tables = {int(re.match(r"\d\.\d s: (\d+) samples", table)[1]): table
                  for table in re.split(r"(?m)^last ", text)[1:]}
        self.assertGreater(text.count("samples"), 1)
        # In the first interval it may only have started, in the last only ended.
        self.assertEqual(ROW.findall(tables[max(tables)])[0][2], "fibonacci")

    def test_wrong_usage(self):
        for args in (["-i", "x"], ["-i", "1ms"], ["-n", "0"], ["-n", "x"], ["-o", "x.folded"], ["x"]):
            self.assertEqual(top(*args, code=2), "")
        top("-p", "999999999", code=4)


class Redrawn(unittest.TestCase):
    """A terminal that has no keyboard for it, or that curses does not know."""

    def watch(self, environment=None, **kwargs):
        """What is written to a terminal of 12 lines and 70 columns, until three tables have come."""
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (12, 70))
        before = termios.tcgetattr(slave)
        kwargs = {name: slave if stream is None else stream for name, stream in kwargs.items()}
        text = ""
        with busy() as pid, harness.start("top", "-p", pid, "-i", "200ms", stdout=slave, stderr=subprocess.DEVNULL,
                                          env=os.environ | (environment or {}), **kwargs) as process:
            end = time.monotonic() + 60
            while text.count("last 0.") < 3:
                self.assertLess(time.monotonic(), end, text)
                if select.select([master], [], [], 0.1)[0]:
                    text += os.read(master, 65536).decode()
            self.assertEqual(termios.tcgetattr(slave), before)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(60), 0)
        os.close(master)
        os.close(slave)
        return text

    def expect_tables(self, text):
        # A terminal that curses has begun with may have got something before.
        tables = text[text.index("\033[H\033[J"):].split("\033[H")[1:-1]
        self.assertGreater(len(tables), 1)
        for table in tables:
            lines = table.replace("\033[J", "").replace("\033[K", "").split("\r\n")
            self.assertLess(len(lines), 13)  # a longer table would scroll
            self.assertTrue(all(len(line) <= 70 for line in lines), lines)
            if not any(": 0 samples" in line for line in lines):
                self.assertTrue(any(line.endswith("fibonacci") for line in lines), lines)
        self.assertIn("fibonacci\r\n", "".join(tables).replace("\033[K", ""))

    def test_without_a_keyboard(self):
        self.expect_tables(self.watch(stdin=subprocess.DEVNULL))

    def test_unknown_terminals(self):
        for name in "dumb", "no-such-terminal":
            self.expect_tables(self.watch({"TERM": name}, stdin=None))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    harness.main()
