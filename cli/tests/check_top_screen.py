#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`dwarfprof top` on a terminal, which tmux is: what keys and signals do, and how it leaves the terminal.

usage: check_top_screen.py DWARFPROF PROGRAM-DIR
"""
import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness
import tmux
from harness import busy, dwarfprof

HEAD = re.compile(r"^fibonacci \(PID \d+\), cpu-clock at \d+ Hz, (\d+\.\d) s$", re.M)
SELF = re.compile(r"^ *([\d.]+) % +([\d.]+) %  (\S+) +(\S+)$", re.M)
DETAIL = re.compile(r"^ +([\d.]+) %    (called by \S+|itself|calls \S+)", re.M)
WRITE = 1  # asm/unistd_64.h


class Interactive(unittest.TestCase):
    def setUp(self):
        self.target = busy()
        self.pid = self.target.__enter__()
        self.addCleanup(self.target.__exit__)
        self.terminal = self.open_terminal()
        self.n_started = 0

    def open_terminal(self, **kwargs):
        terminal = tmux.Terminal(**kwargs)
        self.addCleanup(terminal.__exit__)
        return terminal.__enter__()

    def start(self, *options, target=None, before="", after="", prefix=(), terminal=None):
        """top, on the terminal. The shell compares the terminal's settings around it."""
        # What the run before has left may still be on the terminal.
        self.n_started += 1
        command = shlex.join([*prefix, harness.DWARFPROF, "top", *(target or ("-p", self.pid)), *options])
        (terminal or self.terminal).run(f"clear; {before}a=$(stty -g); {command} {after}; code=$?; "
                                        f"[ \"$a\" = \"$(stty -g)\" ] && echo same, run {self.n_started}, code $code")

    def start_and_wait(self, *options, **kwargs):
        self.start("-i", "200ms", "-F", "499", "-U", *options, **kwargs)
        return self.terminal.wait_for("fibonacci (PID", "q quit", "main")

    def find(self):
        """The number of the process on the terminal."""
        found = subprocess.run(["pgrep", "-P", self.terminal.tmux("display-message", "-p", "#{pane_pid}").strip()],
                               capture_output=True, text=True).stdout.split()
        self.assertEqual(len(found), 1)
        return int(found[0])

    def expect_end(self, code=0):
        """It has ended, and the terminal is as it was before."""
        shown = self.terminal.wait_for(f"same, run {self.n_started}, code {code}")
        self.terminal.wait(self.terminal.is_ready)
        self.assertEqual(self.terminal.state(), "1 0")
        return shown

    def names(self):
        return [row[2] for row in SELF.findall(self.terminal.text())]

    def wait_until(self, condition):
        self.terminal.wait(condition)

    def test_shows_functions_and_ends_with_q(self):
        # The next interval may be empty.
        shown = self.start_and_wait()
        self.assertEqual(self.terminal.state(), "0 1")
        lines = shown.split("\n")
        self.assertRegex(lines[0], HEAD)
        self.assertRegex(lines[1], r"^last \d\.\d s: \d+ samples, ")
        self.assertEqual(lines[2], "functions by self")
        self.assertEqual(lines[3].split(), ["self", "total", "name", "binary"])
        self.assertEqual(SELF.findall(shown)[0][2:], ("fibonacci", "fibonacci"))
        self.assertTrue(all(len(line) <= 80 for line in lines))
        self.terminal.press("q")
        # What was on the screen before is there again, and nothing of the table.
        self.assertNotIn("q quit", self.expect_end())

    def test_ends_with_signals(self):
        for number, code in ((signal.SIGINT, 0), (signal.SIGTERM, 0),
                             *((number, 128 + number) for number in (signal.SIGQUIT, signal.SIGABRT, signal.SIGBUS,
                                                                     signal.SIGHUP))):
            self.start_and_wait("-v", before="ulimit -c 0; ")
            os.kill(self.find(), number)
            # However it ends, what was said is not lost.
            self.assertIn("dwarfprof: ", self.expect_end(code))
        for key, code in (("C-c", 0), ("C-\\", 128 + signal.SIGQUIT)):
            self.start_and_wait(before="ulimit -c 0; ")
            self.terminal.press(key)
            self.expect_end(code)

    def test_ends_with_its_target_and_after_its_tables(self):
        self.start_and_wait()
        self.target.process.kill()
        shown = self.expect_end()
        self.assertRegex(shown, HEAD)
        self.assertRegex(shown, r"(?m)^ +self +total  function +binary$")
        with busy() as pid:
            self.start("-n", "2", "-F", "499", target=("-p", pid))
            self.assertRegex(self.expect_end(), SELF)

    def test_a_last_table_that_cannot_be_printed(self):
        """The screen has a descriptor of its own."""
        code = (f"import os,sys; sys.path.insert(0, {os.path.dirname(harness.__file__)!r}); import harness; "
                f"harness.refuse({errno.EIO}, {WRITE}, 1); os.execv(sys.argv[1], sys.argv[1:])")
        self.start_and_wait(prefix=(sys.executable, "-c", code))
        self.target.process.kill()
        self.assertIn("dwarfprof: cannot print the last table: Input/output error", self.expect_end(1))

    def test_signals_do_not_disturb_the_start(self):
        """One that is pending ends the kernel's verification of a program."""
        self.start()
        shell = self.terminal.tmux("display-message", "-p", "#{pane_pid}").strip()

        def is_shown():
            # Before it catches this signal, it ignores it.
            found = subprocess.run(["pgrep", "-P", shell, "-x", "dwarfprof"], capture_output=True, text=True).stdout
            for pid in 20 * found.split():
                os.kill(int(pid), signal.SIGWINCH)
                time.sleep(0.01)
            return SELF.search(self.terminal.text())
        self.wait_until(is_shown)
        self.terminal.press("q")
        self.expect_end()

    def test_errors_are_left_on_the_terminal(self):
        self.start(target=("-p", "999999999"))
        self.assertIn("dwarfprof: ", self.expect_end(4))
        self.start(prefix=("setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set=-all"))
        self.assertIn("dwarfprof: ", self.expect_end(3))

    def test_messages_come_at_the_end(self):
        """The last of many lines, and not while the screen is up."""
        before = float(HEAD.search(self.start_and_wait("-v"))[1])
        self.wait_until(lambda: any(float(seconds) > before + 0.4 for seconds in HEAD.findall(self.terminal.text())))
        self.assertNotIn("dwarfprof: ", self.terminal.text())
        self.terminal.press("q")
        shown = self.expect_end()
        self.assertRegex(shown, r"(?m)^dwarfprof: .*\n(.*\n)*same, run \d+, code 0$")
        # Where they go elsewhere, they go there at once.
        with tempfile.NamedTemporaryFile("r") as file:
            self.start_and_wait("-v", after=f"2>{file.name}")
            harness.wait_for(lambda: "dwarfprof: tables: " in harness.read(file.name))
            self.terminal.press("q")
            self.assertNotIn("dwarfprof: ", self.expect_end())

    def test_messages_are_bounded(self):
        """The last ones are kept, however long an interval is."""
        self.start("-i", "1h")
        self.terminal.wait_for("Sampling; ")
        messages = f"/proc/{self.find()}/fd/2"
        with open(messages, "r+b", buffering=0) as file:
            file.seek(0, os.SEEK_END)
            for _ in range(2):
                file.write(b"".join(b"message %07d\n" % i for i in range(100000)))
                harness.wait_for(lambda: os.stat(messages).st_blocks * 512 < 256 * 1024)
        self.terminal.press("q")
        shown = self.expect_end()
        self.assertIn("message 0099999", shown)
        self.assertNotIn("message 0000001", shown)

    def test_stops_and_goes_on(self):
        self.start_and_wait()
        process = self.find()
        for _ in range(2):
            self.terminal.press("C-z")
            self.terminal.wait_for("Stopped")
            self.terminal.wait(self.terminal.is_ready)
            self.assertEqual(harness.read(f"/proc/{process}/stat").rpartition(")")[2].split()[0], "T")
            self.assertEqual(self.terminal.state(), "1 0")
            self.terminal.run("clear; fg")
            self.terminal.wait_for("fibonacci (PID", "q quit", "main")
            self.assertEqual(self.terminal.state(), "0 1")
        self.terminal.press("q")
        self.terminal.wait(self.terminal.is_ready)
        self.assertEqual(self.terminal.state(), "1 0")
        # The cursor is where it was.
        self.assertRegex(self.terminal.text(join=True).rstrip(), r"(?m)^\S*dwarfprof top .*\nready>\Z")

    def test_a_crash_while_it_is_stopped(self):
        """Then the terminal's settings are the shell's."""
        self.start_and_wait(before="ulimit -c 0; ")
        process = self.find()
        self.terminal.press("C-z")
        self.terminal.wait_for("Stopped")
        self.terminal.run("clear; stty noflsh -echoctl")
        self.terminal.wait(self.terminal.is_ready)
        os.kill(process, signal.SIGABRT)

        def is_gone():
            # It stops again when it draws, perhaps before the signal has come to its thread.
            subprocess.run(["kill", "-CONT", str(process)], stderr=subprocess.DEVNULL)
            return not os.path.exists(f"/proc/{process}")
        harness.wait_for(is_gone)
        self.terminal.run("clear; stty -a")
        self.terminal.wait_for(" noflsh ", "-echoctl ")

    def test_settings_that_change_while_it_is_stopped(self):
        """They are the shell's, after an end and after a crash. Unlike bash, this one leaves them alone."""
        self.terminal.run("exec dash -i")
        self.terminal.wait(self.terminal.is_ready)
        for way in "fg", "bg":
            for number in signal.SIGINT, signal.SIGABRT:
                self.terminal.run("stty -noflsh echoctl")
                self.start_and_wait(before="ulimit -c 0; ")
                process = self.find()
                self.terminal.press("C-z")
                self.terminal.wait_for("Stopped")
                self.terminal.run("clear; stty noflsh -echoctl")
                self.terminal.wait(self.terminal.is_ready)
                if way == "bg":
                    self.terminal.run("bg")
                    self.terminal.wait(lambda: self.stops_again("Stopped (tty output)"))
                self.terminal.run("clear; fg")
                self.terminal.wait_for("fibonacci (PID", "q quit", "main")
                os.kill(process, number)
                self.terminal.wait(self.terminal.is_ready)
                self.terminal.run("clear; stty -a")
                self.terminal.wait_for(" noflsh ", "-echoctl ")

    def test_stopped_by_others(self):
        """The shell changes the terminal while it is stopped."""
        self.start_and_wait()
        os.kill(self.find(), signal.SIGSTOP)
        self.terminal.wait_for("Stopped")
        self.terminal.run("clear; fg")
        self.terminal.wait_for("fibonacci (PID", "q quit", "main")
        self.assertEqual(self.terminal.state(), "0 1")
        self.terminal.press("P")
        self.terminal.wait_for("processes by self")

    def stops_again(self, said="Stopped"):
        self.terminal.run("clear; jobs")
        return said in self.terminal.text()

    def test_background(self):
        """In the background it stops, rather than draw on what others show."""
        self.start_and_wait()
        process = self.find()
        self.terminal.press("C-z")
        self.terminal.wait_for("Stopped")
        self.terminal.run("clear; bg")
        harness.wait_for(self.stops_again)
        self.assertEqual(harness.read(f"/proc/{process}/stat").rpartition(")")[2].split()[0], "T")
        self.assertNotIn("q quit", self.terminal.text())
        self.terminal.run("fg")
        self.terminal.wait_for("fibonacci (PID", "q quit", "main")

    def test_other_sizes(self):
        self.start_and_wait()
        for columns, lines in (60, 12), (132, 40), (40, 8), (20, 4), (80, 24):
            self.terminal.resize(columns, lines)
            self.terminal.wait(lambda: len(self.terminal.lines()) == lines and
                               self.terminal.lines()[0].startswith("fibonacci (PID") and
                               self.terminal.lines()[-1].startswith("q quit  ? help"[:columns]))
            shown = self.terminal.lines()
            self.assertTrue(all(len(line) <= columns for line in shown), shown)
            self.assertEqual(sum(line.startswith("q quit") for line in shown), 1)
        keys = self.terminal.lines()[-1]
        for lines in 2, 1:
            self.terminal.resize(80, lines)
            self.terminal.wait(lambda: [line.partition(" (PID")[0] for line in self.terminal.lines()] ==
                               [*["fibonacci"] * (lines - 1), keys])
        self.terminal.resize(80, 24)
        self.terminal.press("q")
        self.expect_end()

    def test_the_column_of_a_label(self):
        """Where there is room for it, and of functions alone."""
        self.terminal.resize(80, 24)
        self.start_and_wait("--by", "comm")
        self.terminal.wait(lambda: re.search(r"^ +self +total  name +comm +binary$", self.terminal.text(), re.M) and
                           re.search(r" %  fibonacci +100 % fibonacci +fibonacci$", self.terminal.text(), re.M))
        self.terminal.press("P")
        self.terminal.wait(lambda: re.search(r"^ +self +PID +name$", self.terminal.text(), re.M))
        self.terminal.press("F")
        self.terminal.resize(79, 24)
        self.terminal.wait(lambda: re.search(r"^ +self +total  name +binary$", self.terminal.text(), re.M))
        self.terminal.press("q")
        self.expect_end()

    def test_callers_and_callees(self):
        self.start_and_wait()
        self.terminal.press("Enter")
        shown = self.terminal.wait_for("called by main", "called by fibonacci", "itself", "calls fibonacci")
        shares = dict(reversed(detail) for detail in DETAIL.findall(shown))
        # Each stack has one call from main(). All but those of main() itself and its first call recurse.
        self.assertGreater(float(shares["called by main"]), 90)
        self.assertGreater(float(shares["itself"]), 90)
        # Of the whole function; -U counts what the kernel does for it.
        self.assertLessEqual(float(shares["called by main"]), 100)
        # On a caller, to that function. On a frozen screen, as rows may change places.
        self.terminal.press("Space")
        shown = self.terminal.wait_for("PAUSED", "called by main").split("\n")
        row = next(i for i, line in enumerate(shown[4:]) if "called by main" in line)
        self.terminal.press("Home", *["Down"] * row, "Enter")
        self.terminal.wait(lambda: self.terminal.text().count("calls fibonacci") == 2)
        self.terminal.press("Escape")
        self.terminal.wait(lambda: not DETAIL.findall(self.terminal.text()))

    def test_filter(self):
        self.start_and_wait()
        self.terminal.type("/MAIx")
        self.terminal.wait_for("/MAIx_", ": 0 of")
        self.terminal.press("BSpace")
        self.terminal.wait_for("/MAI_", 'filter "MAI": ', "main")
        self.assertTrue(all("main" in name for name in self.names()), self.names())
        # Letters are text, not keys, until Enter.
        self.terminal.type("q")
        self.terminal.wait_for("/MAIq_")
        self.terminal.press("C-u")
        self.terminal.type("_start")
        self.terminal.press("Enter")
        self.terminal.wait_for('filter "_start": ', "q quit")
        self.assertIn("_start", self.names())
        self.terminal.press("Escape")
        self.terminal.wait(lambda: "filter \"" not in self.terminal.text())
        self.terminal.type("/ma\N{LATIN SMALL LETTER I WITH DIAERESIS}")
        self.terminal.wait_for("/ma\N{LATIN SMALL LETTER I WITH DIAERESIS}_", ": 0 of")
        self.terminal.press("BSpace")
        self.terminal.wait_for("/ma_", "main")
        # What is no key is nothing, rather than its characters: here Ctrl-Up, a function key, and Alt with
        # a letter, with Up and with Ctrl-Up.
        for keys, text in (("\033[1;5A\033[27;6;9~\033Oxi", "/mai_"), ("\033q\033\033[A\033\033[1;5An", "/main_")):
            self.terminal.type(keys)
            self.terminal.wait_for(text)
        # Of a long one the end is seen, where more is typed.
        self.terminal.type(50 * "ab" + "c")
        self.terminal.wait(lambda: re.fullmatch("(ab)+c_", self.terminal.lines()[-1]) and
                           len(self.terminal.lines()[-1]) == 80)
        self.terminal.press("Escape")
        self.terminal.wait(lambda: "filter \"" not in self.terminal.text())
        self.terminal.press("q")
        self.expect_end()

    def waits_of_console(self):
        """How often the thread that draws has waited for something to do."""
        process = self.find()
        threads = subprocess.run(["ps", "-L", "-o", "comm=,tid=", "-p", str(process)], check=True, capture_output=True,
                                 text=True).stdout
        thread = re.search(r"(?m)^console +(\d+)$", threads)[1]
        status = harness.read(f"/proc/{process}/task/{thread}/status")
        return int(re.search(r"(?m)^voluntary_ctxt_switches:\s+(\d+)$", status)[1])

    def test_pause(self):
        self.start_and_wait("-i", "1s")
        self.terminal.press("Space")
        frozen = self.terminal.wait_for("PAUSED, sampling goes on; Space resumes: functions by self")
        before = self.waits_of_console()
        harness.wait_for(lambda: self.waits_of_console() > before + 3)  # it gets new tables
        self.assertEqual(self.terminal.text(), frozen)
        # It can be looked at from all sides.
        self.terminal.press("P")
        self.terminal.wait_for("Space resumes: processes by self")
        self.terminal.press("F", "Enter")
        self.terminal.wait_for("called by main")
        self.terminal.press("Space")
        shown = []

        def goes_on():
            shown[:] = [self.terminal.text()]
            return "PAUSED" not in shown[0]
        self.terminal.wait(goes_on)
        # It does not wait for the next interval, but has kept the latest.
        since = lambda text: float(HEAD.search(text)[1])
        self.assertGreater(since(shown[0]), since(frozen))

    def test_order(self):
        self.start_and_wait()
        for column in "total", "name", "binary", "self":
            self.terminal.press("s")
            shown = self.terminal.wait_for(f"functions by {column}", "main")
            rows = SELF.findall(shown)
            self.assertGreater(len(rows), 3)
            if column == "name":
                self.assertEqual([row[2] for row in rows], sorted(row[2] for row in rows))
            elif column == "binary":
                self.assertEqual([row[3] for row in rows], sorted(row[3] for row in rows))
            else:
                shares = [float(row[column == "total"]) for row in rows]
                self.assertEqual(shares, sorted(shares, reverse=True))
        self.terminal.press("<")
        self.terminal.wait_for("functions by binary")
        self.terminal.press(">")
        self.terminal.wait_for("functions by self")

    def test_processes_and_threads(self):
        with busy() as other:
            self.start("-i", "500ms", "-F", "499", target=("-p", f"{self.pid},{other}"))
            self.terminal.wait_for("q quit", "main")
            self.terminal.press("P")
            self.terminal.wait_for("processes by self")
            row = r"(?m)^ *[\d.]+ % +{} +(?:\d+ +)?fibonacci"
            self.terminal.wait(lambda: all(re.search(row.format(pid), self.terminal.text()) for pid in (self.pid, other)))
            self.terminal.press("s")
            shown = self.terminal.wait_for("processes by PID", self.pid, other)
            numbers = re.findall(r"(?m)^ *[\d.]+ % +(\d+) +fibonacci", shown)
            self.assertEqual(numbers, sorted((self.pid, other), key=int))
            self.terminal.press("Enter")
            self.terminal.wait(lambda: re.search(r"(?m)^ +[\d.]+ %    fibonacci +fibonacci$", self.terminal.text()))
            self.terminal.press("T")
            shown = self.terminal.wait_for("threads by self")
            self.assertRegex(shown, r"(?m)^ *[\d.]+ % +(\d+) +\1  fibonacci \(fibonacci\)$")
            self.terminal.type(f"/{other}")
            self.terminal.wait_for(": 1 of 2")

    def test_help(self):
        self.start_and_wait()
        self.terminal.resize(80, 40)
        listed = dwarfprof("top", "--help").stdout.partition("\nKeys:\n")[2].partition("\n\n")[0]
        words = " ".join(listed.split())
        for key in "?", "h", "F1":
            self.terminal.press(key)
            shown = self.terminal.wait_for("Any key goes back.")
            self.assertEqual(" ".join(shown.split()), words + " Any key goes back.")
            self.terminal.press("q")
            self.terminal.wait_for("q quit", "functions by self")
        # Where it has not enough room, it is scrolled.
        self.terminal.resize(80, 12)
        self.terminal.wait(lambda: len(self.terminal.lines()) == 12)
        self.terminal.press("?")
        first = self.terminal.wait_for("1 to 11 of ", "Down goes on.").split("\n")[:-1]
        self.terminal.press("Down")
        self.terminal.wait(lambda: self.terminal.lines()[:10] == first[1:])
        for keys in "G", "GkGGjj":  # the latter at once, before it draws
            self.terminal.type(keys)
            self.terminal.wait_for("redraw the screen")
            self.terminal.press("g")
            self.terminal.wait(lambda: self.terminal.lines()[:-1] == first)
        self.terminal.press("q")
        self.terminal.wait_for("q quit", "functions by self")

    def test_keys_for_moving(self):
        """The selected row is where the list is expanded."""
        self.start_and_wait()
        self.terminal.resize(80, 8)  # three rows
        self.terminal.wait(lambda: len(self.terminal.lines()) == 8)
        self.terminal.press("s", "s")
        self.terminal.wait_for("functions by name")
        # An interval may be empty.
        last = lambda: (self.names() or [None])[-1]
        first = lambda: (self.names() or [None])[0]
        self.terminal.wait(first)
        top = first()
        has_moved = lambda: first() not in (None, top)
        self.terminal.press("G")
        self.terminal.wait(lambda: last() == "main")
        for keys, condition in ((("Home",), lambda: first() == top), (("End",), lambda: last() == "main"),
                                (("g",), lambda: first() == top), (("NPage", "NPage"), has_moved),
                                (("PPage", "PPage"), lambda: first() == top), (("j", "j", "j"), has_moved),
                                (("k", "k", "k"), lambda: first() == top), (("C-f", "C-f"), has_moved),
                                (("C-b", "C-b"), lambda: first() == top)):
            self.terminal.press(*keys)
            self.terminal.wait(condition)

    def test_foreign_names_are_only_text(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            program = shutil.copy(harness.program("fibonacci"), f"{directory}/e\033]2;v\007\033[31m\u202e")
            with harness.Target(program, "300") as pid:
                self.start("-i", "200ms", "-F", "499", "-U", target=("-p", pid))
                shown = self.terminal.wait_for("q quit", "e?]2;v??[31m?", "main")
                self.assertNotIn("\u202e", shown)
                self.terminal.press("P")
                self.terminal.wait_for("processes by self", "e?]2;v??[31m?")
                self.assertNotEqual(self.terminal.tmux("display-message", "-p", "#{pane_title}").strip(), "v")
                # tmux gives colours back.
                self.assertNotIn("\033[31m", self.terminal.tmux("capture-pane", "-p", "-e"))
                self.terminal.press("q")
                self.expect_end()

    def test_ascii(self):
        """Where the locale has no other characters, none are written."""
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            terminal = self.open_terminal(locale="C")
            program = shutil.copy(harness.program("fibonacci"), f"{directory}/f\u00fcnf")
            with harness.Target(program, "300") as pid:
                self.start("-i", "200ms", "-F", "499", "-U", target=("-p", pid), terminal=terminal)
                terminal.wait_for("q quit", "f?nf", "main")

    def test_a_terminal_that_is_gone(self):
        """It ends, and not as if it had shown all."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "code")
            self.start_and_wait(before="trap '' HUP; ", after=f"; echo $? >{path}")
            process = self.find()
            self.terminal.tmux("kill-server")
            harness.wait_for(lambda: not os.path.exists(f"/proc/{process}"))
            harness.wait_for(lambda: os.path.exists(path) and harness.read(path) == "1\n")


if __name__ == "__main__":
    harness.main()
