#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On a terminal of 80 columns, a pseudo-terminal, no line of text is wider; long names of C++ are
shortened in the middle. -w and files have whole lines. What goes to standard error keeps
out of a command's way.

usage: check_terminal.py DWARFPROF PROGRAM-DIR
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
import unittest

import harness

SOURCE = """
#include <ctime>
template <int N> struct a_rather_long_name_of_a_template_that_somebody_has_chosen {
	static volatile unsigned long sum;
	[[gnu::noinline]] static void and_a_method_whose_name_does_not_end_so_soon_either()
	{
		// Of CPU time, so that each has samples.
		auto end = std::clock() + CLOCKS_PER_SEC / 20;
		while (std::clock() < end)
			for (int i = 0; i < 100000; i++)
				sum += i;
		a_rather_long_name_of_a_template_that_somebody_has_chosen<N - 1>::and_a_method_whose_name_does_not_end_so_soon_either();
	}
};
template <int N> volatile unsigned long a_rather_long_name_of_a_template_that_somebody_has_chosen<N>::sum;
template <> struct a_rather_long_name_of_a_template_that_somebody_has_chosen<0> {
	static void and_a_method_whose_name_does_not_end_so_soon_either() {}
};
int main() { a_rather_long_name_of_a_template_that_somebody_has_chosen<12>::and_a_method_whose_name_does_not_end_so_soon_either(); }
"""
METHOD = "::and_a_method_whose_name_does_not_end_so_soon_either"
NAME = "a_rather_long_name_of_a_template_that_somebody_has_chosen"


def on_terminal(*args, columns=80, stderr=subprocess.DEVNULL):
    """What dwarfprof writes to a terminal, in lines, without colours."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    text = b""
    with subprocess.Popen([harness.DWARFPROF, *args], stdout=slave, stdin=slave, stderr=stderr or slave) as process:
        os.close(slave)
        try:
            while part := os.read(master, 65536):
                text += part
        except OSError:  # closed by all who write
            pass
    os.close(master)
    assert process.returncode in (0, 1), process.returncode
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text.decode()).replace("\r\n", "\n").splitlines()


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.program = f"{cls.directory.name}/a_program_with_a_name_of_some_length_too"
        subprocess.run(["g++", "-O1", "-g", "-x", "c++", "-", "-o", cls.program], input=SOURCE, text=True, check=True)
        cls.files = [f"{cls.directory.name}/{name}.dwarfprof" for name in "ab"]
        for file in cls.files:
            result = harness.dwarfprof("-F", "499", "-o", file, "--", cls.program)
            assert result.returncode == 0, result.stderr

    def expect_narrow(self, lines, columns=80):
        self.assertGreater(len(lines), 5)
        self.assertEqual([line for line in lines if len(line) > columns], [])

    def test_report(self):
        for columns in 80, 70, 132:
            for options in ((), ("--demangle", "full")):
                lines = on_terminal("report", *options, self.files[0], columns=columns)
                self.expect_narrow(lines, columns)
                row = next(line for line in lines if re.match(r" +[\d.]+ % +[\d.]+ %  a_rather.*\.\.\.", line))
                # Both ends of the function's name, and of the binary's.
                self.assertRegex(row, r"  a_rather[^ ]*\.\.\.[^ ]*either(\(\))? +a_prog[^ ]*\.\.\.[^ ]*too$")
                self.assertTrue(any(re.match(r" +[\d.]+ %  a_rather[^ ]*\.\.\.[^ ]*either(\(\))?$", line) for line in lines))
        self.assertTrue(any(line.startswith("Command: ") for line in lines))

    def test_diff(self):
        lines = on_terminal("diff", *self.files)
        self.expect_narrow(lines)
        self.assertTrue(any(re.search(r" a_r[^ ]*\.\.\.[^ ]*either$", line) for line in lines), lines)

    def test_doctor_and_help(self):
        self.expect_narrow(on_terminal("doctor"))
        for command in ("help",), ("top", "--help"), ("diff", "--help"), ("help", "record"):
            self.expect_narrow(on_terminal(*command))
        # Nothing is lost.
        self.assertEqual(" ".join(" ".join(on_terminal("doctor")[:-1]).split()).count("tables and names kept for the next run"), 1)

    def test_top(self):
        lines = on_terminal("top", "-F", "499", "-i", "200ms", "--", self.program)
        self.expect_narrow(lines)
        self.assertTrue(any(re.search(r" a_rather[^ ]*\.\.\.[^ ]*either +a_prog", line) for line in lines), lines)

    def test_progress_leaves_a_commands_terminal_alone(self):
        self.assertTrue(any("Ctrl-C to end" in line for line in on_terminal("-a", "-d", "3", "-o", "/dev/null",
                                                                            "--format", "text", stderr=None)))
        lines = on_terminal("-o", "/dev/null", "--format", "text", "--", "sh", "-c", "echo before; sleep 1.5; echo after",
                            stderr=None)
        # Then the terminal is dwarfprof's again, which may say that names are waited for.
        meanwhile = lines[:lines.index("after") + 1]
        self.assertEqual([line for line in meanwhile if not line.startswith(("dwarfprof: ", "  "))], ["before", "after"])

    def test_waits_for_the_command_and_says_so(self):
        script = "read line; exit 7"
        with harness.start("-d", "300ms", "-o", "/dev/null", "--format", "text", "--", "sh", "-c", script,
                           stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            said = harness.wait_until_it_says(process, "waiting for")
            process.stdin.write("\n")
        self.assertEqual(process.returncode, 7)
        self.assertRegex(said, r"(?m)^dwarfprof: sampling has ended; waiting for sh \(PID \d+\) to end \(--kill ends it\)$")
        result = harness.dwarfprof("-o", "/dev/null", "--format", "text", "--", self.program)
        self.assertNotIn("waiting", result.stderr)

    def test_says_what_it_wrote(self):
        paths = [f"{self.directory.name}/x{extension}" for extension in (".svg", ".dwarfprof", ".folded", ".html")]
        result = harness.dwarfprof("-F", "499", *(word for path in paths for word in ("-o", path)), "--", self.program)
        self.assertEqual(result.returncode, 0, result.stderr)
        uses = (": open it in a browser", ": `dwarfprof report' shows it", "", ": open it in a browser")
        for path, use in zip(paths, uses):
            number, unit = re.search(rf"(?m)^dwarfprof: wrote {re.escape(path)} \(([\d.]+) (bytes|kB|MB)\){re.escape(use)}$",
                                     result.stderr).groups()
            scale = {"bytes": 1, "kB": 1000, "MB": 1000000}[unit]
            self.assertAlmostEqual(float(number), os.path.getsize(path) / scale, delta=0.0501)
        self.assertNotIn("wrote", harness.dwarfprof("-o", "/dev/null", "--format", "text", "--", self.program).stderr)

    def test_wide_and_files_are_whole(self):
        for args in (("report", self.files[0]), ("diff", *self.files)):
            wide = on_terminal(*args, "-w")
            self.assertEqual(wide, harness.dwarfprof(*args).stdout.splitlines() if args[0] == "diff" else
                             harness.dwarfprof(*args, "-o", "-").stdout.splitlines())
            # Which ones are among the first is for the samples to say.
            self.assertTrue(any(re.search(rf"{NAME}(<\d+>)?{METHOD}", line) for line in wide), wide)
        self.assertEqual(on_terminal("doctor", "--wide")[-1], harness.dwarfprof("doctor").stdout.splitlines()[-1])


if __name__ == "__main__":
    harness.main()
