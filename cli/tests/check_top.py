#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`dwarfprof top`: its tables, in a file and on a terminal.

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


class Terminal(unittest.TestCase):
    def setUp(self):
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (12, 70))
        self.before = termios.tcgetattr(slave)
        self.target = busy()
        pid = self.target.__enter__()
        self.slave = slave
        self.top = harness.start("top", "-p", pid, "-i", "200ms", stdin=slave, stdout=slave,
                                 stderr=subprocess.DEVNULL)
        self.text = ""

    def tearDown(self):
        self.top.kill()
        self.top.wait()
        self.target.__exit__()
        os.close(self.master)
        os.close(self.slave)

    def read_until(self, condition):
        end = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), end, self.text)
            if select.select([self.master], [], [], 0.1)[0]:
                self.text += os.read(self.master, 65536).decode()

    def wait_for_tables(self):
        self.read_until(lambda: self.text.count("last 0.") >= 3)

    def ends(self):
        """Its exit code, and the terminal's state restored."""
        code = self.top.wait(20)
        self.assertEqual(termios.tcgetattr(self.slave), self.before)
        return code

    def test_is_drawn_over_and_ends_with_q(self):
        self.wait_for_tables()
        self.assertTrue(self.text.startswith("\033[H\033[J"), self.text)
        tables = self.text.split("\033[H")[1:-1]
        self.assertGreater(len(tables), 1)
        for table in tables:
            lines = table.replace("\033[J", "").replace("\033[K", "").split("\r\n")
            self.assertLess(len(lines), 13)  # a longer table would scroll
            self.assertTrue(all(len(line) <= 70 for line in lines), lines)
            if not any(": 0 samples" in line for line in lines):
                self.assertTrue(any(line.endswith("fibonacci") for line in lines), lines)
        self.assertIn("fibonacci\r\n", "".join(tables).replace("\033[K", ""))
        self.assertEqual(termios.tcgetattr(self.slave)[3] & termios.ECHO, 0)
        os.write(self.master, b"xq")
        self.assertEqual(self.ends(), 0)

    def test_ends_with_ctrl_c(self):
        self.wait_for_tables()
        self.top.send_signal(signal.SIGINT)
        self.assertEqual(self.ends(), 0)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    harness.main()
