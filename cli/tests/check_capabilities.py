#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The capabilities that the agent's unit and container have are enough, and each is needed: with one away,
what it is for is missing. The unit, the container and the documents name the same.

usage: check_capabilities.py DWARFPROF PROGRAM-DIR
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import program, Target, wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNIT = harness.read(os.path.join(ROOT, "agent/systemd/dwarfprof-agent.service.in"))
DAEMONSET = harness.read(os.path.join(ROOT, "agent/container/daemonset.yaml"))
NOBODY = 65534


def of_unit(key):
    return re.search(rf"^{key}=(.*)$", UNIT, re.M)[1].replace("CAP_", "").lower().split()


def of_container():
    return re.search(r"^ +add: \[(.*)\]$", DAEMONSET, re.M)[1].replace('"', "").lower().split(", ")


def limited(capabilities, user=()):
    """A command's beginning: with no other capabilities, whatever it executes."""
    listed = ",".join(["-all", *("+" + name for name in capabilities)])
    return ["setpriv", *user, "--clear-groups", f"--bounding-set={listed}", f"--inh-caps={listed}",
            f"--ambient-caps={listed}", "--no-new-privs"]


def are_names_hidden(user):
    """Does a user without CAP_SYSLOG, but with CAP_PERFMON, get no addresses of the kernel?"""
    shown = subprocess.run([*limited(["perfmon"], user), "head", "-n", "1", "/proc/kallsyms"], capture_output=True, text=True, check=True)
    return int(shown.stdout.split()[0], 16) == 0


def are_mappings_shown(user, pid):
    """Does CAP_PERFMON alone show what other users' processes have mapped? On Linux 6.18, not on 6.12."""
    return subprocess.run([*limited(["perfmon"], user), "head", "-n", "1", f"/proc/{pid}/maps"], capture_output=True).returncode == 0


class Capabilities(unittest.TestCase):
    USER = f"--reuid={NOBODY}", f"--regid={NOBODY}"

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        os.chmod(self.directory, 0o755)

    def deleted_library(self):
        """A process of root that works in a library that was deleted."""
        library = shutil.copy(program("libthrough_a.so"), self.directory)
        process = subprocess.Popen([program("caller"), library], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, bufsize=1)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        wait_for(lambda: library in harness.read(f"/proc/{process.pid}/maps"))
        os.unlink(library)
        process.stdin.write("3600000\n")
        return process.pid

    def targets(self):
        private = shutil.copy(program("fibonacci"), self.directory)
        os.chown(private, 1, 1)
        os.chmod(private, 0o700)
        copy = self.enterContext(Target("dd", "if=/dev/zero", "of=/dev/null", "bs=1"))
        return {"another user's": int(self.enterContext(harness.busy())),
                "a private file": int(self.enterContext(Target(private, "3600"))), "a deleted library": self.deleted_library(), "names of the kernel": int(copy)}

    def complete(self, path, pids):
        """For what most stacks are whole, with names."""
        with open(path) as file:
            samples = [json.loads(line) for line in file if any(f'"pid":{pid},' in line for pid in pids.values())]
        found = set()
        for what, pid in pids.items():
            own = [s for s in samples if s["pid"] == pid]
            if what == "names of the kernel":
                stacks = [s["kernel_stack"] for s in own if s["kernel_stack"]]
                good = [s for s in stacks if s[0]["symbol"] not in (None, "[kernel]")]
            else:
                stacks, good = own, [s for s in own if s["outcome"] == "complete"]
            if 2 * len(good) > max(len(stacks), 10):
                found.add(what)
        return found

    def test_each_is_needed(self):
        pids = self.targets()
        all_of_them = of_unit("AmbientCapabilities")
        variants = {"": [*limited(all_of_them, self.USER)], "container": limited(of_container()),
                    **{name: limited([other for other in all_of_them if other != name], self.USER) for name in all_of_them}}
        stores = {name: os.path.join(self.directory, f"store-{name}") for name in variants}
        for name, store in stores.items():
            os.mkdir(store)
            if name != "container":
                os.chown(store, NOBODY, NOBODY)
        outs = {name: os.path.join(store, "out.jsonl") for name, store in stores.items()}
        # What samples and names is the agent's, too; but the agent has five seconds to end.
        commands = [[*prefix, harness.DWARFPROF, "-a", "-F", "199", "--no-cache", "-o", outs[name]] for name, prefix in variants.items()]
        results = dict(zip(variants, harness.run_at_once(*commands, of=[*map(str, pids.values())])))
        everything = {*pids}
        for name in "", "container":
            self.assertEqual(self.complete(outs[name], pids), everything, results[name].stderr)
        for name in "bpf", "perfmon":
            self.assertEqual(results.pop(name).returncode, 3)
        missing = {name: everything - self.complete(outs[name], pids) for name in results}
        hidden = {"names of the kernel"} if are_names_hidden(self.USER) else set()
        unmapped = {"a deleted library"} if are_mappings_shown(self.USER, pids["another user's"]) else everything - {"names of the kernel"}
        # /proc/PID/map_files is of the process's user.
        self.assertEqual(missing, {"": set(), "container": set(), "dac_read_search": {"a private file", "a deleted library"},
                                   "checkpoint_restore": {"a deleted library"}, "syslog": hidden, "sys_ptrace": unmapped})


class Same(unittest.TestCase):
    def test_one_list(self):
        listed = of_unit("CapabilityBoundingSet")
        self.assertEqual(len(listed), 6)
        self.assertEqual(of_unit("AmbientCapabilities"), listed)
        self.assertEqual(of_container(), listed)


if __name__ == "__main__":
    harness.main()
