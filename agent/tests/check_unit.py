#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is installed for systemd, as its own programs and the agent read it.

usage: check_unit.py DWARFPROF UNIT SYSUSERS TMPFILES CONFIGURATION
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

DWARFPROF, UNIT, SYSUSERS, TMPFILES, CONFIGURATION = map(os.path.abspath, sys.argv[1:6])
MOST_EXPOSED = 40  # 4.0


def run(*command, **kwargs):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **kwargs)


class Unit(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name

    def test_it_is_hardened(self):
        result = run("systemd-analyze", "security", "--no-pager", "--offline=yes", f"--threshold={MOST_EXPOSED}", UNIT)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"Overall exposure level for .*: \d\.\d")

    def test_systemd_understands_it(self):
        shutil.copy(UNIT, self.root)
        path = os.path.join(self.root, os.path.basename(UNIT))
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(re.sub(r"ExecStart=\S+", f"ExecStart={DWARFPROF}", text))
        result = run("systemd-analyze", "verify", "--man=no", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_the_manager_knows_how_it_is(self):
        """And it is nobody but its user, with what it needs."""
        with open(UNIT) as file:
            settings = dict(line.split("=", 1) for line in file.read().splitlines() if "=" in line)
        self.assertEqual((settings["Type"], settings["User"], settings["NoNewPrivileges"]), ("notify", "dwarfprof", "yes"))
        self.assertGreater(int(settings["WatchdogSec"]), 20)  # so long may nothing be read
        self.assertEqual(settings["AmbientCapabilities"], settings["CapabilityBoundingSet"])
        self.assertEqual(len(settings["AmbientCapabilities"].split()), 6)

    def test_it_is_started_again(self):
        """However often it fails, in peace; but not by a configuration that is wrong."""
        with open(UNIT) as file:
            settings = dict(line.split("=", 1) for line in file.read().splitlines() if "=" in line)
        self.assertEqual(settings["Restart"], "on-failure")
        self.assertGreaterEqual(int(settings["RestartSec"]), 1)
        self.assertEqual(settings["StartLimitIntervalSec"], "0")
        self.assertEqual(settings["RestartPreventExitStatus"], "2")

    def test_the_user_and_directories(self):
        for directory in "etc", "var/lib", "var/cache":
            os.makedirs(os.path.join(self.root, directory))
        result = run("systemd-sysusers", f"--root={self.root}", SYSUSERS)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(os.path.join(self.root, "etc/passwd")) as file:
            self.assertRegex(file.read(), r"(?m)^dwarfprof:x:\d+:\d+:[^:]*:/var/lib/dwarfprof:/usr/sbin/nologin$")
        with open(UNIT) as file:
            self.assertIn("\nUser=dwarfprof\n", file.read())
        result = run("systemd-tmpfiles", f"--root={self.root}", "--create", TMPFILES)
        self.assertEqual(result.returncode, 0, result.stderr)
        for path in "var/lib/dwarfprof", "var/cache/dwarfprof":
            self.assertEqual(os.stat(os.path.join(self.root, path)).st_mode & 0o7777, 0o700)

    def test_the_configuration(self):
        """Also with what is only suggested."""
        result = run(DWARFPROF, "agent", "--check", "-c", CONFIGURATION)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with open(CONFIGURATION) as file:
            text = file.read()
        path = os.path.join(self.root, "agent.conf")
        with open(path, "w") as file:
            file.write(re.sub(r"(?m)^# (\w+ = )", r"\1", text))
        result = run(DWARFPROF, "agent", "--check", "-c", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    if not shutil.which("systemd-analyze"):
        sys.exit(77)  # skipped
    unittest.main(argv=sys.argv[:1])
