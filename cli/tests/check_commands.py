#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Help, the manual page's synopsis, README's list of commands and the completion files have the
same commands and options; the shells themselves complete them. Wrong names are answered with the
right ones.

usage: check_commands.py DWARFPROF COMPLETE LIST-COMMANDS MANUAL-PAGE README BASH ZSH FISH
"""
import re
import subprocess
import sys
import unittest

import harness

DWARFPROF, COMPLETE, LIST, PAGE, README, BASH, ZSH, FISH = sys.argv[1:9]
OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z?][a-z-]*)")
COMMANDS = ("record", "top", "dump", "agent", "report", "convert", "diff", "annotate", "tables", "probes", "probe", "doctor", "help", "version")


def run(*command, **kwargs):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **kwargs)


def made(kind):
    return run(sys.executable, COMPLETE, LIST, kind, check=True).stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def helped(command):
    """The options in the help of a command."""
    lines = run(DWARFPROF, command, "--help", check=True).stdout.splitlines()
    return {option for line in lines if re.match(r" {2,6}-", line) for option in OPTION.findall(line[:29].split("  [")[0])}


def bash_completes(*words):
    """What bash offers for the last word; = is a word, as there."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dwarfprof; printf "%s\\n" "${COMPREPLY[@]}"'
    result = run("bash", "--norc", "-c", script, "bash", BASH, "dwarfprof", *words)
    assert result.stderr == "", result.stderr
    return set(result.stdout.split())


def bash_state(*words):
    """How many completions bash has for the last word, and the options that it sets for them."""
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { shift; set="$*"; }; '
              '_dwarfprof; echo "${#COMPREPLY[@]} $set"')
    return run("bash", "--norc", "-c", script, "bash", BASH, "dwarfprof", *words, check=True).stdout.strip()


def fish_completes(line):
    result = run("fish", "--no-config", "-c", f"source {FISH}; complete -C {line!r}")
    assert result.stderr == "", result.stderr
    return {found.split("\t")[0] for found in result.stdout.splitlines()}


def zsh_completes(line):
    """What zsh has on the screen when tab is pressed twice, in a pseudo-terminal of its own."""
    script = f"""
        zmodload zsh/zpty; zpty z 'zsh -f -i'
        zpty -w z 'PS1=; stty -echo; autoload -U compinit; compinit -D -u; autoload -U +X {ZSH.rpartition("/")[2]}'
        zpty -w z 'compdef _dwarfprof dwarfprof; LISTMAX=1000; zstyle ":completion:*" verbose no; setopt list_rows_first'
        zpty -w z 'bindkey "^I" list-choices; bindkey -s "^X" "^U^Mecho fin\\"\\"ished^M"; print rea""dy'
        zpty -r z seen '*ready*'
        zpty -w -n z {line!r}$'\\t\\C-x'
        zpty -r z seen '*finished*'; print -r -- $seen
    """
    result = run("zsh", "-f", "-c", script, env={"FPATH": f"{ZSH.rpartition('/')[0]}:" + run(
        "zsh", "-f", "-c", "print -n $FPATH").stdout, "TERM": "dumb", "PATH": "/usr/bin:/bin", "COLUMNS": "200"})
    return set(OPTION.findall(result.stdout)) if line.rstrip().endswith("-") else set(result.stdout.split())


class Lists(unittest.TestCase):
    maxDiff = None

    def test_help_lists_every_command(self):
        shown = run(DWARFPROF, "help", check=True).stdout
        self.assertEqual(tuple(re.findall(r"^  (\w+) {2,}", shown.partition("Commands")[2].partition("Examples")[0], re.M)),
                         COMMANDS)
        self.assertEqual(re.findall(r"^  (\w+) {2,}\w", run(DWARFPROF, "--help", check=True).stdout, re.M), list(COMMANDS))

    def test_without_arguments_shows_the_same_as_an_error(self):
        result = run(DWARFPROF)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, run(DWARFPROF, "help").stdout)

    def test_every_command_has_help(self):
        for command in COMMANDS:
            with self.subTest(command):
                result = run(DWARFPROF, command, "--help", check=True)
                self.assertEqual(result.stderr, "")
                for same in (command, "-h"), (command, "-?"), ("help", command):
                    self.assertEqual(run(DWARFPROF, *same, check=True).stdout, result.stdout)
                self.assertLess(max(map(len, result.stdout.splitlines())), 80)
                self.assertRegex(result.stdout, r"\n\nReport bugs to .+\.\n$")
        self.assertEqual(run(DWARFPROF, "-h", check=True).stdout, run(DWARFPROF, "--help").stdout)
        self.assertLess(max(map(len, run(DWARFPROF, "help").stdout.splitlines())), 80)

    def test_says_its_version(self):
        said = run(DWARFPROF, "version", check=True).stdout
        self.assertRegex(said, r"^dwarfprof \d+\.\d+\.\d+\n$")
        for same in ("-V",), ("--version",), ("top", "--version"):
            self.assertEqual(run(DWARFPROF, *same, check=True).stdout, said)

    def test_synopsis_of_the_manual_page(self):
        self.assertEqual(re.search(r"^\.SH SYNOPSIS\n(.*?)^\.SH", read(PAGE), re.S | re.M)[1], made("synopsis"),
                         f"run: {COMPLETE} {LIST} synopsis")

    def test_list_of_readme(self):
        self.assertIn(made("readme"), read(README), f"run: {COMPLETE} {LIST} readme")

    def test_bash_completes_the_same_options(self):
        self.assertEqual(bash_completes(""), set(COMMANDS))
        for command in COMMANDS:
            with self.subTest(command):
                self.assertEqual(bash_completes(command, "-"), helped(command))
        self.assertEqual(bash_completes("-"), helped("record"))
        self.assertEqual(bash_completes("-p", "1", "--verb"), {"--verbose"})
        self.assertEqual(bash_completes("help", "do"), {"doctor"})

    def test_bash_completes_values(self):
        self.assertEqual(bash_completes("report", "--format", "=", "fi"), {"firefox", "firefox-gz"})
        self.assertEqual(bash_completes("diff", "--format", "js"), {"json"})
        self.assertEqual(bash_completes("--unwind", "="), {"auto", "dwarf", "fp", "copy"})
        self.assertEqual(bash_completes("--native-frames", "="), {"fold", "all", "only"})
        self.assertEqual(bash_completes("probes", "--sandbox", "r"), {"require"})
        self.assertEqual(bash_completes("--by", "t"), {"tid", "thread_name"})
        self.assertEqual(bash_completes("-e", "up"), {"uprobe:"})
        self.assertIn("1", bash_completes("top", "-p", ""))
        self.assertIn("root", bash_completes("-u", "roo"))
        self.assertEqual(bash_completes("report", "/etc/os-relea"), {"/etc/os-release"})
        self.assertEqual(bash_completes("report", "-o", "/etc/os-relea"), {"/etc/os-release"})
        self.assertIn("true", bash_completes("-F", "99", "--", "tru"))

    def test_bash_leaves_what_it_does_not_know(self):
        """One empty completion, or a number taken for a path, would get a slash."""
        for words in (["-d", "10"], ["--unwind", "10"], ["-p", "x"]):
            self.assertEqual(bash_state(*words), "0")
        self.assertEqual(bash_state("--unwind", "d"), "1")
        for words in (["report", "-o"], ["report", "--symfs"], ["-G"], ["report"]):
            self.assertEqual(bash_state(*words, "/nowhere/file.sv"), "0 filenames")
        self.assertEqual(bash_state("-o", "/etc/os-relea"), "1 filenames")

    def test_fish_completes_the_same(self):
        self.assertEqual(fish_completes("dwarfprof "), set(COMMANDS))
        for command in COMMANDS:
            with self.subTest(command):
                # After one dash, fish offers both kinds.
                self.assertEqual(fish_completes(f"dwarfprof {command} -"), helped(command))
        self.assertEqual(fish_completes("dwarfprof report --format fi"), {"firefox", "firefox-gz"})
        self.assertEqual(fish_completes("dwarfprof diff --format js"), {"json"})
        self.assertEqual(fish_completes("dwarfprof help do"), {"doctor"})
        self.assertEqual(fish_completes("dwarfprof report /etc/os-relea"), {"/etc/os-release"})

    def test_zsh_completes_the_same(self):
        self.assertLessEqual(set(COMMANDS), zsh_completes("dwarfprof "))
        for command in COMMANDS:
            with self.subTest(command):
                self.assertEqual(zsh_completes(f"dwarfprof {command} -"), helped(command))
        self.assertLessEqual({"firefox", "firefox-gz"}, zsh_completes("dwarfprof report --format=fi"))


class WrongNames(unittest.TestCase):
    def expect(self, words, said):
        result = run(DWARFPROF, *words)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn(said, result.stderr)
        return result.stderr

    def test_of_commands(self):
        for wrong, right in (("tabels", "tables"), ("tpo", "top"), ("docter", "doctor"), ("Report", "report")):
            self.expect([wrong], f"there is no command '{wrong}'; did you mean '{right}'?")
            self.expect(["help", wrong], f"there is no command '{wrong}'; did you mean '{right}'?")
        for wrong in "./program", "ls", "x" * 100:
            self.assertNotIn("did you mean", self.expect([wrong], "A program to profile follows after --"))

    def test_of_options(self):
        for words, right in ((("-a", "--druation", "3"), "--duration"), (("top", "--off-cup"), "--off-cpu"),
                             (("report", "--symfz=x", "y"), "--symfs"), (("diff", "a", "--formt", "b"), "--format"),
                             (("doctor", "--jsom"), "--json"), (("-Fd", "--durations", "3"), "--duration")):
            with self.subTest(words):
                self.expect(words, f"did you mean {right}?")

    def test_not_of_values_and_programs_options(self):
        for words, said in ((("-a", "-d", "--druation"), "-d takes a time"), (("-a", "--by", "--outptu"), "--by"),
                            (("--zzzz",), "unrecognized option"), (("report", "--format", "--symfz", "x"), "there is no format"),
                            (("-a", "-d", "x", "--", "ls", "--outptu"), "-d takes a time")):
            with self.subTest(words):
                self.assertNotIn("did you mean", self.expect(words, said))


if __name__ == "__main__":
    harness.run_tests()
