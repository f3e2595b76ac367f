# SPDX-License-Identifier: Apache-2.0
"""Figures that commands write into pages, between marks with their name and commit."""
import datetime
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Files that figures depend on: everything but documents and results; and the program, without tests
# and benchmarks.
CODE = (":/", ":(exclude,top)docs", ":(exclude,top)README.md", ":(exclude,top)bench/results", ":(exclude,top)ci/kernel/proven",
        ":(exclude,top)ci/kernel/results")
PROGRAM = (*CODE, *(f":(exclude,top){name}" for name in ("bench", "ci", "test-programs")), ":(exclude,top,glob)**/tests/**")
UNKNOWN = "a tree without history"
CHANGED = " and changes that are not committed"


def git(*command, tree=ROOT):
    return subprocess.run(["git", "-C", tree, *command], capture_output=True, text=True, check=True).stdout.strip()


def commit(tree=ROOT):
    """The commit of the tree's code."""
    try:
        changed = git("status", "--porcelain", "--", *CODE, tree=tree)
        return git("rev-parse", "--short=12", "HEAD", tree=tree) + (CHANGED if changed else "")
    except (OSError, subprocess.CalledProcessError):  # no reason to fail after an hour of measuring
        return UNKNOWN


def origin(tree=ROOT):
    """A line for a page: the commit and date of its figures."""
    return f"Of commit {commit(tree)}, {datetime.date.today().isoformat()}.\n"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def marks(command):
    return f"<!-- {command} -->", f"<!-- end of {command} -->"


def parts(path, command):
    """The parts of a page before, between and behind the marks."""
    begin, end = marks(command)
    with open(path) as file:
        before, _, rest = file.read().partition(begin)
    between, mark, after = rest.partition(end)
    if not mark:
        raise ValueError(f"{path} has no {begin} and {end}")
    return before, between, after


def read(path, command):
    return parts(path, command)[1]


def write(path, command, text):
    """Replaces the text between the marks."""
    before, _, after = parts(path, command)
    begin, end = marks(command)
    # In place, to keep the file's owner.
    with open(path, "w") as file:
        file.write(f"{before}{begin}{text}{end}{after}")
