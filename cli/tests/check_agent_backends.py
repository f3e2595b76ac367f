#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What backends get of an agent, by the code of the OpenTelemetry collector, gRPC, Pyroscope and pprof (ci/backends):
each call of a function that a program counts itself, with the labels and credentials that were asked for.

usage: check_agent_backends.py DWARFPROF PROGRAM-DIR
"""
import base64
import glob
import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import certificates
import harness
import otlp
from agents import Agent, free_port, helpers
from harness import dwarfprof, program, start, wait_for, wait_until_it_says

# Passes connections on from one port to another.
FORWARD = ("import socket, sys, threading\n"
           "def copy(a, b):\n"
           "    while data := a.recv(65536): b.sendall(data)\n"
           "    b.shutdown(socket.SHUT_WR)\n"
           "for s in iter(lambda l=socket.create_server(('127.0.0.1', int(sys.argv[1]))): l.accept()[0], None):\n"
           "    t = socket.create_connection(('127.0.0.1', int(sys.argv[2])))\n"
           "    for pair in (s, t), (t, s): threading.Thread(target=copy, args=pair, daemon=True).start()\n")


class Receiver:
    """What backends are made of (ci/backends), while somebody listens at its ports."""

    def __init__(self, test, directory, *options):
        os.makedirs(directory)
        self.directory = directory
        self.process = subprocess.Popen([otlp.backend("receiver"), "-serve", directory, *options], stdout=subprocess.PIPE,
                                        text=True)
        test.addCleanup(self.process.communicate)
        test.addCleanup(self.process.kill)
        self.ports = json.loads(self.process.stdout.readline())

    def got(self):
        found = []
        for path in glob.glob(os.path.join(self.directory, "*.json")):
            with open(path, encoding="utf-8") as file:
                found.append(json.load(file))
        return found

    def calm(self):
        """Ends the faults."""
        with open(os.path.join(self.directory, "calm"), "w", encoding="utf-8"):
            pass

    def attempts(self, of):
        """The words of its plan so far."""
        return [line.split()[1] for line in harness.read(os.path.join(self.directory, of)).splitlines()]

    def different(self, by):
        """The requests by that protocol, or pushed profiles. One that is repeated, as its answer was lost, has the same ids."""
        return {r["id"] if by == "push" else tuple(p["id"] for p in r["profiles"]): r
                for r in self.got() if r["by"] == by}.values()

    def calls(self, by, got=None):
        """Samples of the kind `samples', of OpenTelemetry's requests by that protocol, or of pushed profiles."""
        requests = [r for r in (self.got() if got is None else got) if r["by"] == by]
        if by == "push":
            return sum(p["totals"][0] for p in requests)
        assert not any(r["faults"] for r in requests), requests
        return sum(sum(s["values"] or ()) or len(s["times"] or ()) for r in requests for p in r["profiles"]
                   if p["type"] == ["samples", "count"] or len(r["profiles"]) == 1 for s in p["samples"])


class Deliveries(Agent):
    def test_each_call_gets_to_each_backend(self):
        receiver = Receiver(self, self.out + ".received")
        caller = self.caller()
        spool = self.out + ".spool"
        args = *self.of_calls(caller), "--deliver", "500ms", \
            "--otlp", f"grpc://127.0.0.1:{receiver.ports['grpc']}", \
            "--otlp", f"http://127.0.0.1:{receiver.ports['http']}", \
            "--otlp", f"http://127.0.0.1:{receiver.ports['http']}", \
            "--pyroscope", f"http://127.0.0.1:{receiver.ports['http']}"  # one is given twice
        agent = self.agent("--spool", spool, *args)
        calls = self.call(caller, 2000)
        while sum(p["by"] == "push" for p in receiver.got()) <= 2:
            self.assertIsNone(agent.poll())
            calls += self.call(caller, 500)
        self.end_and_deliver(agent, spool, *args)
        for by in "grpc", "http", "push":
            self.assertEqual(receiver.calls(by), len(calls), by)
        pushed = [p for p in receiver.got() if p["by"] == "push"]
        self.assertEqual({p["labels"]["service_name"] for p in pushed}, {harness.read(f"/proc/{caller.pid}/comm").strip()})
        self.assertTrue(any("getppid" in name for p in pushed for name in p["functions"]))

    def test_a_killed_agent_delivers_later(self):
        """While no backend listens; what was in the open interval is lost, here nothing."""
        receiver = Receiver(self, self.out + ".received")
        port, address = free_port(), f"127.0.0.1:{free_port()}"
        caller = self.caller()
        args = *self.of_calls(caller), "--deliver", "300ms", "--spool", self.out + ".spool", \
            "--pyroscope", f"http://127.0.0.1:{port}", "--pull", address
        agent = self.agent(*args)
        calls = self.call(caller, 1000)
        self.wait_until_written(address)
        agent.kill()
        agent.wait()
        forward = subprocess.Popen([sys.executable, "-c", FORWARD, str(port), str(receiver.ports["http"])])
        self.addCleanup(forward.wait)
        self.addCleanup(forward.kill)
        lost = "ended abnormally: its last interval is lost"
        agent = self.agent(*args, said=[lost, "sampling"])
        wait_for(lambda: receiver.calls("push") >= len(calls), 120)
        self.end(agent)
        self.assertEqual(receiver.calls("push"), len(calls))
        with start("agent", *args, stderr=subprocess.PIPE, text=True) as agent:
            self.assertNotIn(lost, wait_until_it_says(agent, "sampling") + self.end(agent))


    def test_what_is_lost_at_the_end_is_said(self):
        """In memory, while nobody listens."""
        address, url = f"127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
        caller = self.caller()
        args = *self.of_calls(caller), "--deliver", "100ms", "--otlp", url, "--pull", address
        for more, words in ((), "could not be delivered in time, and are lost"), \
                (("--spool", self.out + ".spool"), f"are kept in {self.out}.spool until an agent delivers there again"):
            agent = self.agent(*args, *more)
            wait_for(lambda: self.call(caller, 200) and self.figures(address)[f'spooled{{backend="{url}"}}'] > 2)
            said = self.end_in_time(agent)
            n = re.search(f"{url}: (\\d+) requests {words}", said)
            self.assertTrue(n, said)
            self.assertGreater(int(n.group(1)), 2)

    def test_what_waits_for_a_backend_that_is_gone_is_said(self):
        address, caller = f"127.0.0.1:{free_port()}", self.caller()
        def configure(path):
            with open(self.config, "w") as file:
                file.write(f"spool = {self.out}.spool\ndeliver = 300ms\notlp = http://127.0.0.1:{free_port()}{path}\n")
        configure("/one")
        agent = self.agent(*self.of_calls(caller), "-c", self.config, "--pull", address)
        self.call(caller, 500)
        self.wait_until_written(address)
        self.assertEqual(self.figures(address)["spooled_left"], 0)
        configure("/two")
        agent.send_signal(signal.SIGHUP)
        said = wait_until_it_says(agent, "no agent delivers the spools in")
        self.assertRegex(said, rf"requests are kept in {self.out}\.spool until an agent delivers there again")
        figures = self.figures(address)
        self.assertGreater(figures["spooled_left"], 0)
        self.assertGreater(figures["spooled_left_bytes"], 0)
        self.end(agent)
        agent = self.agent(*self.of_calls(caller), "-c", self.config, "--pull", address,
                           said=["no agent delivers the spools in", "sampling"])
        self.assertEqual(self.figures(address)["spooled_left"], figures["spooled_left"])
        self.end(agent)

    def test_a_full_disk_keeps_the_newest(self):
        """Though the spool has not got the size that it may have."""
        spool, address, url = self.out + ".spool", f"127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
        os.mkdir(spool)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64K", "tmpfs", spool], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", spool], check=True)
        caller = self.caller()
        agent = self.agent(*self.of_calls(caller), "--deliver", "100ms", "--spool", spool, "--otlp", url, "--pull", address)
        dropped = f'delivery_dropped_total{{backend="{url}"}}'
        wait_for(lambda: self.call(caller, 200) and self.figures(address)[dropped] > 5)
        waiting = lambda: max(glob.glob(os.path.join(spool, "*/[0-9]*")))
        newest = waiting()
        wait_for(lambda: self.call(caller, 200) and waiting() > newest)
        self.assertEqual(self.figures(address)["intervals_failed_total"], 0)
        self.end(agent)


    def test_what_waits_in_memory_is_little(self):
        """An eighth of --memory for all backends together."""
        address, urls = f"127.0.0.1:{free_port()}", [f"http://127.0.0.1:{free_port()}" for _ in range(2)]
        caller = self.caller()
        self.agent(*self.of_calls(caller), "--deliver", "100ms", "--memory", "1M", "--otlp", urls[0], "--otlp", urls[1],
                   "--pull", address)
        figure = lambda name: [self.figures(address)[f'{name}{{backend="{url}"}}'] for url in urls]
        wait_for(lambda: self.call(caller, 200) and min(figure("delivery_dropped_total")) > 0)
        self.assertLessEqual(max(figure("spooled_bytes")), 1 << 16)


    def test_all_protocols_with_times_in_seconds(self):
        """All processes by default. The end delivers what was sampled since the start."""
        receiver = Receiver(self, self.out + ".received")
        urls = [f"{scheme}://127.0.0.1:{receiver.ports[scheme]}" for scheme in ("grpc", "http")]
        address, spool = f"127.0.0.1:{free_port()}", self.out + ".spool"
        args = "--otlp", urls[0], "--otlp", urls[1], "--pyroscope", urls[1], "--pull", address, "--interval", "10", "--deliver", "60"
        with harness.busy() as one, harness.busy() as other:
            for left in 2, 1, 0:  # a busy machine has much to write
                agent = self.agent("--spool", spool, *args)
                pulled = gzip.decompress(subprocess.run(["curl", "-sSf", f"http://{address}/debug/pprof/profile?seconds=2"],
                                                        capture_output=True, check=True, timeout=120).stdout)
                self.assertTrue(left < 2 or not receiver.got())  # what has been tried before is delivered
                with harness.going_first(agent.pid):
                    agent.terminate()
                    said = agent.communicate(timeout=60)[1]
                if not left or "could not be written in time" not in said:
                    break
            self.assertEqual(agent.returncode, 0, said)
        # What takes longer to deliver than the end may.
        agent = self.agent("--spool", spool, *args)
        wait_for(lambda: not glob.glob(os.path.join(spool, "*/[0-9]*")))
        agent.kill()
        self.assertIn(b"fibonacci", pulled)
        for by in "grpc", "http":
            profiles = [p for r in receiver.got() if r["by"] == by for p in r["profiles"]]
            pids = {str(p["resource"].get("process.pid")) for p in profiles for s in p["samples"]
                    if any(line["function"] == "fibonacci" for frame in s["stack"] for line in frame["lines"])}
            self.assertEqual(pids, {one, other}, by)
            self.assertEqual({(*p["type"], p["period"]) for p in profiles}, {("samples", "count", 1000000000 // 19)}, by)
        pushed = [p for p in receiver.got() if p["by"] == "push" and p["labels"]["service_name"] == "fibonacci"]
        self.assertIn("fibonacci", pushed[0]["functions"])
        self.assertEqual((pushed[0]["period"], pushed[0]["period_ns"]), ("cpu/nanoseconds", 1000000000 // 19))

    def test_names_are_left_to_the_backend(self):
        """It gets addresses and build ids, and nobody here looks names up."""
        receiver = Receiver(self, self.out + ".received")
        args = "--otlp", f"grpc://127.0.0.1:{receiver.ports['grpc']}", "--pyroscope", f"http://127.0.0.1:{receiver.ports['http']}"
        with harness.busy() as pid:
            agent = self.agent("-p", pid, "-F", "99", "--user-only", "--no-symbols", "--deliver", "300ms", *args)
            wait_for(lambda: {"grpc", "push"} <= {r["by"] for r in receiver.got()})
            self.assertNotIn("namer", helpers(agent.pid))
            self.end(agent)
        ids, own = set(), program("fibonacci")
        for r in receiver.got():
            pushed = r["by"] == "push"
            for s in r["samples"] if pushed else [s for p in r["profiles"] for s in p["samples"]]:
                for frame in s["stack"]:
                    if frame["mapping"]:
                        self.assertEqual(frame["lines"], [])
                        self.assertGreater(frame["address"], 0)
                        attributes = frame["mapping"]["attributes"]
                        if not pushed and frame["mapping"]["file"] == own:
                            ids.add((attributes["process.executable.build_id.gnu"],
                                     len(attributes["process.executable.build_id.htlhash"])))
            if pushed:
                self.assertEqual(r["functions"] or [], [])
                ids.add((r["build_ids"][own], 32))
        self.assertEqual(len(ids), 1, ids)

    def test_deep_stacks(self):
        """Whole, or as many frames as the backend takes, and a mark."""
        receiver = Receiver(self, self.out + ".received")
        deep = subprocess.Popen([program("deep"), "1500"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(deep.communicate)
        self.addCleanup(deep.kill)
        wait_for(lambda: "libc.so.6" in harness.read(f"/proc/{deep.pid}/maps"))
        spool, http = self.out + ".spool", f"http://127.0.0.1:{receiver.ports['http']}"
        args = *self.of_calls(deep), "--max-stack", "2048", "--otlp", f"grpc://127.0.0.1:{receiver.ports['grpc']}", \
            "--otlp", http, "--max-frames", "500", "--pyroscope", http
        agent = self.agent("--spool", spool, *args)
        self.call(deep, 3)
        self.end_and_deliver(agent, spool, *args)
        found = {}
        for r in receiver.got():
            for s in r["samples"] if r["by"] == "push" else [s for p in r["profiles"] for s in p["samples"]]:
                marks = [i for i, frame in enumerate(s["stack"]) if frame["lines"] and frame["lines"][0]["function"] == "[frames left out]"]
                names = {line["function"] for i in (1, -1) for line in s["stack"][i]["lines"]}
                found.setdefault(r["by"], set()).add((len(s["stack"]) if marks else len(s["stack"]) > 1500, *marks))
                self.assertTrue(names & {"descend"} and names & {"_start"}, names)
        self.assertEqual(found, {"grpc": {(True,)}, "http": {(500, 250)}, "push": {(1000, 500)}})

    def test_several_events(self):
        """Each has its own values; the label that tells them apart would not be a valid one."""
        receiver = Receiver(self, self.out + ".received")
        address, caller = f"127.0.0.1:{free_port()}", self.caller()
        url = f"http://127.0.0.1:{receiver.ports['http']}"
        self.agent("-p", str(caller.pid), "-e", "context-switches,page-faults", "--deliver", "300ms", "--pyroscope", url,
                   "--pull", address)
        wait_for(lambda: self.call(caller, 100) and sum(p["totals"][0] for p in receiver.got()) > 100)
        self.assertEqual({tuple(p["types"]) for p in receiver.got()}, {("context_switches/count", "page_faults/count")})
        self.assertEqual(self.figures(address)[f'delivery_failed_total{{backend="{url}"}}'], 0)


class Faults(Agent):
    LONG = "test_ten_minutes",

    def deliver_for(self, seconds):
        """To backends that refuse, break off, are slow or have an expired certificate at random. Returns the certificates."""
        seed = random.randrange(1 << 30)
        plan = f"random:{seed}"
        faults = "-requests", plan, "-connections", plan
        receiver = Receiver(self, self.out + ".received", *faults)
        expiring, trusted = certificates.expiring(self.out + ".server", plan)
        secured = Receiver(self, self.out + ".secured", *faults, *expiring)
        kinds = {"grpc": (receiver, "grpc"), "http": (receiver, "http"), "push": (receiver, "push"), "tls": (secured, "http")}
        address, caller, n = f"127.0.0.1:{free_port()}", self.caller(), 0
        http = f"http://127.0.0.1:{receiver.ports['http']}"
        self.agent(*self.of_calls(caller), "--deliver", "200ms", "--spool", self.out + ".spool", "--pull", address,
                   "--backend", "grpc", "--otlp", f"grpc://127.0.0.1:{receiver.ports['grpc']}", "--backend", "http", "--otlp", http,
                   "--backend", "push", "--pyroscope", http,
                   "--backend", "tls", "--otlp", f"https://127.0.0.1:{secured.ports['http']}", "--ca-file", trusted)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            n += len(self.call(caller, 50))
        receiver.calm()
        secured.calm()
        wait_for(lambda: self.figures(address)["samples_total"] == n)
        self.wait_until_written(address, len(kinds))
        # The longest pause, and what came meanwhile.
        wait_for(lambda: not any(self.figures(address)[f'spooled{{backend="{kind}"}}'] for kind in kinds), 300)
        figures = self.figures(address)
        self.assertEqual(figures["intervals_failed_total"], 0)
        for kind, (at, by) in kinds.items():
            with self.subTest(kind, seed=seed):
                delivered, failed, dropped = (figures[f'{what}_events_total{{backend="{kind}"}}']
                                              for what in ("delivered", "delivery_failed", "delivery_dropped"))
                self.assertEqual((delivered + failed, dropped), (n, 0))
                # One of which the answer was lost is repeated, and then refused, perhaps.
                received = at.calls(by, at.different(by))
                self.assertTrue(delivered <= received <= n, (delivered, failed, received, n))
                self.assertGreater(figures[f'delivery_retried_total{{backend="{kind}"}}'], 0)
        return secured.attempts("certificates")

    def test_each_call_is_delivered_once_or_counted(self):
        self.deliver_for(8)

    def test_ten_minutes(self):
        self.assertIn("expired", self.deliver_for(600))


class Kinds(Agent):
    LONG = "test_fewer_blocks_are_scaled",

    def off_cpu(self, code, interval, *args):
        """The off-CPU times of a program in Python, with their weights, in three intervals."""
        sleeper = subprocess.Popen([sys.executable, "-c", "import threading, time\n" + code])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("off-cpu = yes\n" + "".join(f"{line}\n" for line in args))
        store = self.out + str(sleeper.pid)
        agent = self.agent("-c", self.config, "-p", str(sleeper.pid), "--store", store, "--interval", interval)
        wait_for(lambda: len(glob.glob(os.path.join(store, "*"))) >= 5)
        self.end(agent)
        # The first and the last one are shorter.
        paths = sorted(glob.glob(os.path.join(store, "*")))[1:4]
        return [(s["value_ns"] / 1e9, s["weight"]) for path in paths for s in self.samples(path) if s["event"] == "off-cpu"]

    def test_short_blocks_are_left_out(self):
        found = self.off_cpu("while True:\n    time.sleep(0.0003)\n    time.sleep(0.004)\n", "300ms")
        self.assertGreater(len(found), 10)
        self.assertGreaterEqual(min(found)[0], 0.001)

    def test_fewer_blocks_are_scaled(self):
        """At most about so many per second; those that are left stand for all."""
        n, seconds = 20, 3
        found = self.off_cpu("def sleep():\n    while True:\n        time.sleep(0.005)\n        time.sleep(0.03)\n"
                                      f"for _ in range({n}): threading.Thread(target=sleep).start()\n", "1s",
                                      "min-block = 20ms", "max-rate = 50")
        self.assertGreaterEqual(min(found)[0], 0.02)
        self.assertLess(len(found), 2 * 50 * seconds)
        self.assertGreater(max(weight for _, weight in found), 1)
        # Of each thread, blocks of 30 of 35 ms.
        self.assertAlmostEqual(sum(time * weight for time, weight in found) / (n * seconds * 30 / 35), 1, delta=0.35)

    def test_time_on_and_off_the_cpu(self):
        """Pyroscope's UI tells profiles by name, type and unit."""
        receiver = Receiver(self, self.out + ".received")
        with harness.busy() as pid:
            sleeper = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.05)"])
            self.addCleanup(sleeper.wait)
            self.addCleanup(sleeper.kill)
            address = f"127.0.0.1:{free_port()}"
            agent = self.agent("-p", str(sleeper.pid), "-p", pid, "-F", "99", "--off-cpu", "--deliver", "500ms", "--pyroscope",
                               f"http://127.0.0.1:{receiver.ports['http']}", "--label", "agent=both", "--pull", address)

            def pushed():
                return [p for p in receiver.got() if p["labels"].get("agent")]

            def off_cpu():
                return sum(p["totals"][1] for p in pushed() if p["labels"]["__name__"] == "off_cpu")
            wait_for(lambda: len(pushed()) > 20 and off_cpu() > 10 ** 9)
            # An end may come before all is delivered.
            with harness.stopped([pid, sleeper.pid]):
                self.wait_until_written(address)
                wait_for(lambda: not any(n for name, n in self.figures(address).items() if name.startswith("spooled{")))
                self.end(agent)
        pushed = pushed()
        types = {p["labels"]["__name__"]: (p["types"], p["period"]) for p in pushed}
        self.assertEqual(types, {
            "process_cpu": (["samples/count", "cpu/nanoseconds"], "cpu/nanoseconds"),
            "off_cpu": (["events/count", "off_cpu/nanoseconds"], "off_cpu/nanoseconds"),
            "wall": (["events/count", "wall/nanoseconds"], "wall/nanoseconds")})
        sums = {name: [sum(p["totals"][i] for p in pushed if p["labels"]["__name__"] == name) for i in range(2)] for name in types}
        self.assertEqual(sums["process_cpu"][0] + sums["off_cpu"][0], sums["wall"][0])
        self.assertAlmostEqual((sums["process_cpu"][1] + sums["off_cpu"][1]) / sums["wall"][1], 1, delta=0.05)


class Secured(Agent):
    def path(self, name):
        return f"{self.out}.{name}"

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def receiver(self):
        """One that wants a certificate."""
        server = certificates.make(self.path("server"))
        certificates.make(self.path("client"))
        return Receiver(self, self.path("received"), "-tls", server, "-client-ca", self.path("client.crt"))

    def configure(self, receiver, **pyroscope):
        """Both protocols, with a section for each."""
        tls = f"ca-file = {self.path('server.crt')}\ncert-file = {self.path('client.crt')}\nkey-file = {self.path('client.key')}\n"
        more = "".join(f"{key.replace('_', '-')} = {value}\n" for key, value in pyroscope.items())
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"deliver = 300ms\nspool = {self.path('spool')}\n"
                       f"[backend by grpc]\n{tls}otlp = grpcs://127.0.0.1:{receiver.ports['grpc']}\n"
                       f"token-file = {self.path('token')}\nheader = X-Team: a b\n"
                       "label = deployment.environment.name=test\nlabel = rack=b=7\n"
                       f"[backend by push]\n{tls}pyroscope = https://127.0.0.1:{receiver.ports['http']}\n"
                       f"auth-user = me\nauth-password-file = {self.path('password')}\n{more}")
        return self.config

    def test_credentials_and_labels(self):
        receiver = self.receiver()
        caller = self.caller()
        self.write("token", "s3cret-1\nnot this\n")
        self.write("password", "pass:w0rd\n")
        address = f"127.0.0.1:{free_port()}"
        agent = self.agent(*self.of_calls(caller), "-c", self.configure(receiver, tenant="t1", label="rack.row=b7"),
                           "--pull", address)
        calls = self.call(caller, 500)
        wait_for(lambda: receiver.calls("grpc") == receiver.calls("push") == len(calls))
        first = len(receiver.got())
        # The token changes by itself, the rest by SIGHUP; what is delivered meanwhile is there once.
        self.write("token", "s3cret-2\n")
        calls += self.call(caller, 200)
        wait_for(lambda: receiver.calls("grpc") == receiver.calls("push") == len(calls))
        self.assertEqual({r["headers"]["authorization"][0] for r in receiver.got() if r["by"] == "grpc"},
                         {"Bearer s3cret-1", "Bearer s3cret-2"})
        second = len(receiver.got())
        self.assertGreater(second, first)
        self.configure(receiver, tenant="t1", label="rack.row=c8", header="X-New: 1")
        agent.send_signal(signal.SIGHUP)
        wait_until_it_says(agent, "new configuration")
        calls += self.call(caller, 200)
        status = subprocess.run(["curl", "-sS", f"http://{address}/status", f"http://{address}/metrics"], capture_output=True,
                                text=True, check=True, timeout=60).stdout
        wait_for(lambda: receiver.calls("grpc") == receiver.calls("push") == len(calls))
        said = self.end(agent)
        self.assertEqual((receiver.calls("grpc"), receiver.calls("push")), (len(calls), len(calls)))
        self.assertIn('dwarfprof_delivered_total{backend="by grpc"}', status)
        for secret in "s3cret", "pass:w0rd", base64.b64encode(b"me:pass:w0rd").decode():
            self.assertNotIn(secret, said + status)
        for r in receiver.got():
            if r["by"] == "grpc":
                self.assertEqual(r["headers"]["x-team"], ["a b"])
                for profile in r["profiles"]:
                    self.assertEqual((profile["resource"]["deployment.environment.name"], profile["resource"]["rack"]),
                                     ("test", "b=7"))
            else:
                self.assertEqual(r["headers"]["Authorization"], ["Basic " + base64.b64encode(b"me:pass:w0rd").decode()])
                self.assertEqual(r["headers"]["X-Scope-Orgid"], ["t1"])
        pushed = [(r["labels"]["rack_row"], "X-New" in r["headers"]) for r in receiver.got() if r["by"] == "push"]
        self.assertEqual(set(pushed), {("b7", False), ("c8", True)})

    def test_only_the_backend_gets_them(self):
        """Not who reads recordings, profiles, metrics and messages."""
        receiver = Receiver(self, self.path("received"))
        caller = self.caller()
        address = f"127.0.0.1:{free_port()}"
        agent = self.agent(*self.of_calls(caller), "--pull", address, "--store", self.store, "--deliver", "300ms", "--pyroscope",
                           f"http://127.0.0.1:{receiver.ports['http']}/push.v1.PusherService/Push?api_key=s3cret-1",
                           "--header", "X-Key: s3cret-2", "--header=X-Other:s3cret-3",
                           "--otlp", f"http://127.0.0.1:{free_port()}/v1development/profiles?api_key=s3cret-4")
        calls = self.call(caller, 500)
        said = wait_until_it_says(agent, "cannot be reached, its profiles wait")
        wait_for(lambda: receiver.calls("push") == len(calls))
        fetch = lambda *paths: subprocess.run(["curl", "-sS"] + [f"http://{address}/{path}" for path in paths], capture_output=True,
                                              check=True, timeout=60).stdout
        pages = fetch("status", "metrics")
        pulled = gzip.decompress(fetch("debug/pprof/profile?seconds=1"))
        said += self.end(agent)
        self.assertEqual({(r["headers"]["X-Key"][0], r["headers"]["X-Other"][0]) for r in receiver.got() if r["by"] == "push"},
                         {("s3cret-2", "s3cret-3")})
        self.assertIn("push.v1.PusherService/Push?***", pages.decode(errors="replace"))
        out = self.path("pprof")
        self.assertIn(dwarfprof("convert", self.recordings()[0], "-o", out, "--format", "pprof").returncode, (0, 5))
        with open(out, "rb") as file:
            stored = gzip.decompress(file.read())
        for profile in pulled, stored:
            self.assertIn(b"--header X-Key: *** --header=X-Other: ***", profile)
        for place in said.encode(), pages, pulled, stored:
            self.assertNotIn(b"s3cret", place)

    def test_nobody_else_gets_them(self):
        """A backend with another certificate gets neither profiles nor credentials, until it is trusted."""
        receiver = self.receiver()
        caller = self.caller()
        token = self.write("token", "s3cret\n")
        args = "--otlp", f"https://127.0.0.1:{receiver.ports['http']}", "--token-file", token, "--cert-file", \
            self.path("client.crt"), "--key-file", self.path("client.key")
        agent = self.agent(*self.of_calls(caller), "--deliver", "300ms", "--spool", self.path("spool"), *args)
        calls = self.call(caller, 100)
        wait_until_it_says(agent, "cannot be reached, its profiles wait")
        self.end(agent)
        self.assertEqual(receiver.got(), [])
        agent = self.agent(*self.of_calls(caller), "--deliver", "300ms", "--spool", self.path("spool"), *args, "--insecure")
        wait_for(lambda: receiver.calls("http") == len(calls))
        self.end(agent)


class Options(Agent):
    def test_what_is_wrong(self):
        https = "otlp = https://h\n"
        for text, line, column, words in (
                ("token-file = /x\n", 1, 14, "give --otlp, --pyroscope or --backend first"),
                ("[backend a]\notlp = h\n", 2, 8, "--otlp takes a URL such as grpc://127.0.0.1:4317, not 'h'"),
                ("[backend a]\ntenant = t\n", 1, 1, "this backend lacks a URL"),
                ("[backend a]\ntenant = t\n[backend b]\n" + https, 1, 1, "this backend lacks a URL"),
                ("[backend a]\n" + https + "[backend a]\n" + https, 3, 10, "there are two backends 'a'"),
                ("[backend a]\n" + https + "freq = 19\n", 3, 1, "'freq' does not belong in a section [backend NAME]"),
                ("[backend a]\n" + https + "header = no colon\n", 3, 10, "--header takes NAME:VALUE"),
                ("[backend a]\n" + https + "label = x\n", 3, 9, "--label takes KEY=VALUE, not 'x'")):
            with open(self.config, "w", encoding="utf-8") as file:
                file.write(text)
            result = dwarfprof("agent", "-c", self.config, "--check")
            self.assertEqual(result.returncode, 2, text)
            self.assertTrue(result.stderr.startswith(f"dwarfprof agent: {self.config}:{line}:{column}: "), result.stderr)
            self.assertIn(words, result.stderr)
        for args, words in (
                (["--otlp", "http://h", "--ca-file", "/x"], "http://h has no TLS"),
                (["--otlp", "https://h", "--cert-file", "/x"], "--cert-file and --key-file are given together"),
                (["--pyroscope", "https://h", "--auth-password-file", "/x"], "is given with --auth-user"),
                (["--otlp", "http://h", "--otlp", "http://h", "--label", "a=b"], "is given twice"),
                (["--otlp", "http://h?key=s3cret-1", "--otlp", "http://h?key=s3cret-2"], "http://h?*** is given twice"),
                (["--otlp", "me:s3cret@h"], "not '***@h'"),
                (["--otlp", "http://me:s3cret@h", "--ca-file", "/x"], "http://***@h has no TLS"),
                (["--otlp", "http://h", "--max-frames", "1"], "--max-frames takes a whole number from 2 to"),
                (["--backend", "x"], "lacks a URL")):
            result = dwarfprof("agent", "--check", *args)
            self.assertEqual(result.returncode, 2, args)
            self.assertIn(words, result.stderr)
            self.assertNotIn("s3cret", result.stderr)
        self.assertEqual(dwarfprof("agent", "--check", *["--otlp", "http://h"] * 2).returncode, 0)


if __name__ == "__main__":
    harness.main()
