#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two hosts and a backend, in network namespaces: what the agents deliver is what they record themselves.

usage: check_fleet.py DWARFPROF PROGRAM-DIR
"""
import collections
import glob
import json
import os
import subprocess
import tempfile
import unittest

import harness
import otlp
from harness import dwarfprof, program, wait_for

HZ = 199


class Host:
    """Network and host names of its own, and an address in the network of the backend, if there is one."""

    def __init__(self, test, name, number, backend=None):
        self.test, self.name = test, name
        self.process = subprocess.Popen(["unshare", "--net", "--uts", "sleep", "3600"])
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        own = os.readlink("/proc/self/ns/net")
        wait_for(lambda: harness.read(f"/proc/{self.process.pid}/comm") == "sleep\n" and
                 os.readlink(f"/proc/{self.process.pid}/ns/net") != own)
        self.run("hostname", name)
        self.run("ip", "link", "set", "lo", "up")
        if backend:
            self.address, there = f"10.99.{number}.2", f"10.99.{number}.1"
            self.run("ip", "link", "add", "name", "eth0", "type", "veth", "peer", "name", f"to{number}", "netns",
                     str(backend.process.pid))
            self.run("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
            self.run("ip", "link", "set", "eth0", "up")
            backend.run("ip", "addr", "add", f"{there}/24", "dev", f"to{number}")
            backend.run("ip", "link", "set", f"to{number}", "up")
            self.backend = there

    def command(self, *args):
        return ["nsenter", "-t", str(self.process.pid), "-n", "-u", *args]

    def run(self, *args):
        subprocess.run(self.command(*args), check=True, timeout=20)

    def start(self, *args, **kwargs):
        process = subprocess.Popen(self.command(*args), text=True, **kwargs)
        self.test.addCleanup(process.communicate)
        self.test.addCleanup(process.kill)
        return process


class Fleet(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def agent(self, host, pid, ports):
        agent = host.start(harness.DWARFPROF, "agent", "-p", str(pid), "-F", str(HZ), "--interval", "1s", "--deliver", "1s",
                           "--store", self.path(host.name), "--spool", self.path(host.name + ".spool"),
                           "--otlp", f"grpc://{host.backend}:{ports['grpc']}", "--otlp", f"http://{host.backend}:{ports['http']}",
                           stderr=subprocess.PIPE)
        harness.wait_until_it_says(agent, "sampling")
        return agent

    def got(self):
        found = []
        for path in glob.glob(self.path("got", "*.json")):
            with open(path, encoding="utf-8") as file:
                found.append(json.load(file))
        return found

    def delivered(self, by, host):
        """How many samples of each stack and thread, of a host."""
        found = collections.Counter()
        for request in self.got():
            self.assertIsNone(request["faults"])
            for profile in request["profiles"]:
                if request["by"] != by or profile["resource"]["host.name"] != host:
                    continue
                self.assertEqual((profile["type"], profile["period_type"], profile["period"]),
                                 (["samples", "count"], ["cpu", "nanoseconds"], 1000000000 // HZ))
                for key, several in otlp.events(profile).items():
                    found[key] += sum(event[1] for event in several)
        return found

    def recordings(self, host):
        return glob.glob(self.path(host, "*.dwarfprof"))

    def recorded(self, host):
        found = collections.Counter()
        for path in self.recordings(host):
            stream = self.path("x.jsonl")
            done = dwarfprof("convert", path, "-o", stream)
            self.assertIn(done.returncode, (0, 5), done.stderr)  # 5: an interval without samples
            for key, several in otlp.streamed(stream).items():
                found[key] += sum(sample[1] for sample in several)
        return found

    def test_both_hosts_are_seen(self):
        backend = Host(self, "backend", 0)
        os.makedirs(self.path("got"))
        receiver = backend.start(otlp.backend("receiver"), "-serve", self.path("got"), "-listen", "0.0.0.0", stdout=subprocess.PIPE)
        ports = json.loads(receiver.stdout.readline())
        hosts = {Host(self, f"host-{n}", n, backend): program(name) for n, name in ((1, "inlined"), (2, "fibonacci"))}
        targets = {host: host.start(path, "3600", stdout=subprocess.DEVNULL) for host, path in hosts.items()}
        for host, path in hosts.items():
            wait_for(lambda: os.readlink(f"/proc/{targets[host].pid}/exe") == path)
        agents = [self.agent(host, targets[host].pid, ports) for host in hosts]
        wait_for(lambda: all(sum(self.delivered("grpc", host.name).values()) > 2 * HZ for host in hosts), 120)
        # An end may come before all is delivered.
        with harness.stopped([target.pid for target in targets.values()]):
            n = {host: len(self.recordings(host.name)) for host in hosts}
            wait_for(lambda: all(len(self.recordings(host.name)) >= n[host] + 3 for host in hosts))
            recorded = {host: self.recorded(host.name) for host in hosts}
            wait_for(lambda: all(self.delivered(by, host.name) == recorded[host] for host in hosts for by in ("grpc", "http")))
            for agent in agents:
                said = harness.end_in_time(agent)
                self.assertEqual(agent.returncode, 0, said)
        for host, path in hosts.items():
            recorded = self.recorded(host.name)
            self.assertGreater(sum(recorded.values()), 2 * HZ)
            for by in "grpc", "http":
                self.assertEqual(self.delivered(by, host.name), recorded, (host.name, by))
            self.assertEqual({key[0] for key in recorded}, {targets[host].pid})
        names = {profile["resource"]["host.name"]: profile["resource"]["process.executable.name"]
                 for request in self.got() for profile in request["profiles"]}
        self.assertEqual(names, {"host-1": "inlined", "host-2": "fibonacci"})


if __name__ == "__main__":
    harness.main()
