# SPDX-License-Identifier: Apache-2.0
"""Figures that commands write into pages: between marks with the command's name, and of which code they are."""
import datetime
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What figures are of: all but what is written about them; and the program alone, without what tests and measures it.
CODE = (":/", ":(exclude,top)docs", ":(exclude,top)README.md", ":(exclude,top)bench/results", ":(exclude,top)ci/kernel/proven")
PROGRAM = (*CODE, *(f":(exclude,top){name}" for name in ("bench", "ci", "test-programs")), ":(exclude,top,glob)**/tests/**")
UNKNOWN = "a tree without history"
CHANGED = " and changes that are not committed"


def git(*command, tree=ROOT):
    return subprocess.run(["git", "-C", tree, *command], capture_output=True, text=True, check=True).stdout.strip()


def commit():
    """The one that the tree's code is of."""
    try:
        changed = git("status", "--porcelain", "--", *CODE)
        return git("rev-parse", "--short=12", "HEAD") + (CHANGED if changed else "")
    except (OSError, subprocess.CalledProcessError):  # after an hour of measuring, that is no reason to fail
        return UNKNOWN


def origin():
    """A line for a page: of what its figures are, and of when."""
    return f"Of commit {commit()}, {datetime.date.today().isoformat()}.\n"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def marks(command):
    return f"<!-- {command} -->", f"<!-- end of {command} -->"


def parts(path, command):
    """What is before the marks of a page, between, and behind them."""
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
    """Replace what stands between the marks."""
    before, _, after = parts(path, command)
    begin, end = marks(command)
    # In place, so that it stays its owner's.
    with open(path, "w") as file:
        file.write(f"{before}{begin}{text}{end}{after}")
