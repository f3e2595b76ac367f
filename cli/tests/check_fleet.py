#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two hosts and a backend, in network namespaces: what the agents deliver, by each protocol and through a collector, is what
they record themselves, and as much as the programs ran.

usage: check_fleet.py DWARFPROF PROGRAM-DIR
"""
import collections
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

import chance
import harness
import otlp
from harness import dwarfprof, program, wait_for

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deliver/tests"))
import check_collector  # noqa: E402

HZ = 199
COLLECTOR_PORTS = {"grpc": 4317, "http": 4318}


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

    def output(self, *args):
        return subprocess.run(self.command(*args), check=True, timeout=20, capture_output=True, text=True).stdout

    def start(self, *args, **kwargs):
        process = subprocess.Popen(self.command(*args), text=True, **kwargs)
        self.test.addCleanup(process.communicate)
        self.test.addCleanup(process.kill)
        return process


class Fleet(unittest.TestCase):
    LONG = "test_through_a_collector",
    through_collector = False  # whose tables are its own

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def agent(self, host, pid, ports, *more):
        agent = host.start(harness.DWARFPROF, "agent", "-p", str(pid), "-F", str(HZ), "--interval", "1s", "--deliver", "1s",
                           "--store", self.path(host.name), "--spool", self.path(host.name + ".spool"),
                           "--otlp", f"grpc://{host.backend}:{ports['grpc']}", "--otlp", f"http://{host.backend}:{ports['http']}",
                           *(word.format(backend=host.backend) for word in more), stderr=subprocess.PIPE)
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
            if request["by"] == "push":
                continue
            self.assertTrue(self.through_collector or request["faults"] is None, request["faults"])
            for profile in request["profiles"]:
                if request["by"] != by or profile["resource"]["host.name"] != host:
                    continue
                self.assertEqual((profile["type"], profile["period_type"], profile["period"]),
                                 (["samples", "count"], ["cpu", "nanoseconds"], 1000000000 // HZ))
                for key, several in otlp.events(profile).items():
                    found[key] += sum(event[1] for event in several)
        return found

    def pushed(self, host):
        """The same, by thread's name and stack, which are all that Pyroscope gets."""
        found = collections.Counter()
        for push in self.got():
            if push["by"] != "push" or push["labels"]["host"] != host:
                continue
            self.assertEqual((push["labels"]["__name__"], push["types"], push["period"], push["period_ns"]),
                             ("process_cpu", ["samples/count", "cpu/nanoseconds"], "cpu/nanoseconds", 1000000000 // HZ))
            for sample in push["samples"]:
                self.assertEqual(sample["values"]["cpu"], sample["values"]["samples"] * (1000000000 // HZ))
                self.assertEqual(sample["labels"].keys(), {"comm", "thread_name"})
                found[sample["labels"]["thread_name"], otlp.frames(sample["stack"])[0]] += sample["values"]["samples"]
        return found

    @staticmethod
    def as_pushed(recorded):
        found = collections.Counter()
        for key, n in recorded.items():
            found[key[2], key[5]] += n
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

    def setting(self):
        """The backend, and the hosts with what runs there."""
        self.backend = Host(self, "backend", 0)
        os.makedirs(self.path("got"))
        receiver = self.backend.start(otlp.backend("receiver"), "-serve", self.path("got"), "-listen", "0.0.0.0",
                                      stdout=subprocess.PIPE)
        self.ports = json.loads(receiver.stdout.readline())
        self.hosts = {Host(self, f"host-{n}", n, self.backend): program(name) for n, name in ((1, "inlined"), (2, "fibonacci"))}
        self.targets = {host: host.start(path, "3600", stdout=subprocess.DEVNULL) for host, path in self.hosts.items()}
        for host, path in self.hosts.items():
            wait_for(lambda: os.readlink(f"/proc/{self.targets[host].pid}/exe") == path)

    def ran(self):
        """The CPU time of each target, in seconds."""
        return {host: int(harness.read(f"/proc/{target.pid}/schedstat").split()[0]) / 1e9 for host, target in self.targets.items()}

    def check(self, delivered, ports, *args):
        """Runs agents until there are some intervals of each, and all is delivered. delivered(): what is compared, of a host
        and what it has recorded."""
        before = self.ran()
        agents = [self.agent(host, self.targets[host].pid, ports, *args) for host in self.hosts]
        after = self.ran()
        wait_for(lambda: all(sum(self.delivered("grpc", host.name).values()) > 2 * HZ for host in self.hosts), 120)
        # An end may come before all is delivered.
        with harness.stopped([target.pid for target in self.targets.values()]):
            end = self.ran()
            n = {host: len(self.recordings(host.name)) for host in self.hosts}
            wait_for(lambda: all(len(self.recordings(host.name)) >= n[host] + 3 for host in self.hosts))
            recorded = {host: self.recorded(host.name) for host in self.hosts}
            wait_for(lambda: all(found == wanted for host in self.hosts for found, wanted in delivered(host, recorded[host])))
            for agent in agents:
                said = harness.end_in_time(agent)
                self.assertEqual(agent.returncode, 0, said)
        for host in self.hosts:
            recorded = self.recorded(host.name)
            for found, wanted in delivered(host, recorded):
                self.assertEqual(found, wanted, host.name)
            self.assertEqual({key[0] for key in recorded}, {self.targets[host].pid})
            samples, least, most = sum(recorded.values()), HZ * (end[host] - after[host]), HZ * (end[host] - before[host])
            print(f"{host.name}: {samples} samples, of {least:.0f} to {most:.0f}", flush=True)
            self.assertGreater(samples, 2 * HZ)
            error = chance.SIGMAS * samples ** 0.5
            self.assertTrue(least - error <= samples <= most + error, (samples, least, most))
        names = {profile["resource"]["host.name"]: profile["resource"]["process.executable.name"]
                 for request in self.got() if request["by"] != "push" for profile in request["profiles"]}
        self.assertEqual(names, {"host-1": "inlined", "host-2": "fibonacci"})

    def test_both_hosts_are_seen(self):
        self.setting()
        self.check(lambda host, recorded: [(self.delivered("grpc", host.name), recorded), (self.delivered("http", host.name), recorded),
                                           (self.pushed(host.name), self.as_pushed(recorded))],
                   self.ports, "--pyroscope", f"http://{{backend}}:{self.ports['http']}")

    def test_through_a_collector(self):
        """What came by either protocol is passed on by one."""
        self.through_collector = True
        self.setting()
        config = self.path("collector.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(check_collector.CONFIG % ("0.0.0.0", "0.0.0.0", self.ports["grpc"]))
        with open(self.path("log"), "w", encoding="utf-8") as log:
            self.backend.start(check_collector.build(), "--feature-gates=+service.profilesSupport", "--config", config, stderr=log)
        # Ports of the backend's own network.
        for port in COLLECTOR_PORTS.values():
            wait_for(lambda port=port: f":{port:04X} " in self.backend.output("cat", "/proc/net/tcp", "/proc/net/tcp6"))
        twice = lambda recorded: collections.Counter({key: 2 * n for key, n in recorded.items()})
        self.check(lambda host, recorded: [(self.delivered("grpc", host.name), twice(recorded))], COLLECTOR_PORTS)


if __name__ == "__main__":
    harness.main()
