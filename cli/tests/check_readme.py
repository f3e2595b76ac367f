#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each command in README.md runs, and creates what it names.

usage: check_readme.py DWARFPROF PROGRAM-DIR README
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import Target

README = sys.argv.pop(3)

# Process numbers and durations in commands, and stand-ins for tools.
PID = re.compile(r"(?<=-p )(PID|\d+)\b")
DURATION = re.compile(r"(?<=-d )\d+\b")
TOOLS = {
    "sudo": 'exec "$@"\n',
}
USAGE = r"   |[\[\]]|\.\.\.|FILE|USER|CMD|\bX\.|\bA B\b"
WORKS_AND_WAITS = "import time\nwhile True:\n    sum(range(20000))\n    time.sleep(0.001)\n"
PYTHON = "words = {}\nfor i in range(3000000):\n    words[i % 1000] = words.get(i % 1000, 0) + 1\n"


def commands():
    """The commands in the text, without the lines of the usage."""
    with open(README) as file:
        found = re.findall(r"^    (?:\$ )?((?:sudo )?dwarfprof [^:\[].*)$", file.read(), re.M)
    return [command for command in found if not re.search(USAGE, command)]


class Readme(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        os.mkdir(os.path.join(self.directory, "bin"))
        os.mkdir(os.path.join(self.directory, "copies-of-the-binaries"))
        os.symlink(harness.DWARFPROF, os.path.join(self.directory, "bin/dwarfprof"))
        for name, script in TOOLS.items():
            path = os.path.join(self.directory, "bin", name)
            with open(path, "w") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(path, 0o755)
        with open(os.path.join(self.directory, "words.py"), "w") as file:
            file.write(PYTHON)
        self.environment = {**os.environ, "PATH": f"{self.directory}/bin:{os.environ['PATH']}"}

    def run_one(self, command):
        process = subprocess.Popen(["bash", "-o", "pipefail", "-c", command], cwd=self.directory, env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            _, said = process.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        # doctor's exit code says whether anything is missing here.
        self.assertIn(process.returncode, (0, 1) if command == "dwarfprof doctor" else (0,), said)
        for name in re.findall(r"(?:-o|>) (\S+)", command):
            self.assertGreater(os.path.getsize(os.path.join(self.directory, name)), 0, name)

    def test_each_command(self):
        found = commands()
        self.assertGreater(len(found), 7)
        with Target("/usr/bin/python3", "-c", WORKS_AND_WAITS) as pid:
            for command in found:
                command = DURATION.sub("1", PID.sub(str(pid), command)).replace("/usr/bin", harness.PROGRAMS)
                with self.subTest(command):
                    self.run_one(command)
                    print(command, flush=True)


if __name__ == "__main__":
    harness.main()
