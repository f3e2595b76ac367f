# SPDX-License-Identifier: Apache-2.0
"""A terminal, by tmux: a shell in it, what is typed, and what is on the screen."""
import os
import subprocess
import tempfile

import harness

PROMPT = "ready> "


class Terminal:
    """A shell on a terminal of that size, until the end of the `with` block."""

    def __init__(self, columns=80, lines=24, locale="C.UTF-8"):
        self.size = columns, lines
        self.locale = locale

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        columns, lines = self.size
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines),
                  f"exec env LC_ALL={self.locale} 'PS1={PROMPT}' bash --norc --noprofile --noediting -i")
        # Else it draws its own line below.
        self.tmux("set", "-g", "status", "off")
        self.resize(columns, lines)
        self.wait(self.is_ready)
        return self

    def __exit__(self, *_):
        self.tmux("kill-server", check=False)
        self.directory.cleanup()

    def tmux(self, *args, check=True):
        environment = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TERM", "LC_ALL")}
        return subprocess.run(["tmux", "-S", f"{self.directory.name}/socket", *args], check=check, capture_output=True,
                              encoding="utf-8", timeout=60, env=environment | {"LC_ALL": "C.UTF-8"}).stdout

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def press(self, *keys):
        """Keys by tmux's names, such as Enter, C-c and PPage, or characters."""
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def run(self, command):
        self.type(command)
        self.press("Enter")

    def lines(self, join=False):
        """What is shown. join: a line that the terminal has broken, as the program wrote it."""
        shown = self.tmux("capture-pane", "-p", *(["-J"] if join else []))
        return [line.rstrip() for line in shown.split("\n")[:-1]]

    def text(self, join=False):
        return "\n".join(self.lines(join))

    def state(self):
        """Whether the cursor is shown, and the alternate screen."""
        return self.tmux("display-message", "-p", "#{cursor_flag} #{alternate_on}").strip()

    def is_ready(self):
        """Does the shell wait for a command?"""
        shown = self.text().rstrip().split("\n")
        return shown[-1] == PROMPT.rstrip()

    def wait(self, condition):
        try:
            harness.wait_for(condition)
        except AssertionError:
            raise AssertionError(self.text()) from None

    def wait_for(self, *texts):
        """Waits until all of these are on the screen, and returns it."""
        shown = []

        def is_there():
            shown[:] = [self.text()]
            return all(text in shown[0] for text in texts)
        self.wait(is_there)
        return shown[0]
