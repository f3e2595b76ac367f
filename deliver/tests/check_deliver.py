#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Deliveries to receivers made of the collector's, gRPC's, Pyroscope's and pprof's own code (ci/backends), which
are at times away, busy, broken or not who they say.

Usage: check_deliver.py DELIVER_FILES REPORT_FEED [--long SECONDS]
"""
import base64
import contextlib
import gzip
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cli/tests"))
import certificates  # noqa: E402
import otlp  # noqa: E402
from harness import has_in_memory, wait_for  # noqa: E402

DELIVER, FEED = map(os.path.abspath, sys.argv[1:3])
SECONDS = float(sys.argv[4]) if sys.argv[3:4] == ["--long"] else 6


class Receiver:
    """A backend, in a directory of its own."""

    def __init__(self, directory, *options):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)
        self.process = subprocess.Popen([otlp.backend("receiver"), "-serve", directory, *options], text=True,
                                        stdout=subprocess.PIPE)
        self.ports = json.loads(self.process.stdout.readline())

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def url(self, kind, host="127.0.0.1"):
        return f"{kind}://{host}:{self.ports['grpc' if kind.startswith('grpc') else 'http']}"

    def got(self):
        """Everything that it took, in order."""
        n, found = 0, []
        while os.path.exists(path := os.path.join(self.directory, f"{n}.json")):
            with open(path, encoding="utf-8") as file:
                found.append(json.load(file))
            n += 1
        return found

    def attempts(self, of="attempts"):
        """When they came, in ms, and what each was answered."""
        with open(os.path.join(self.directory, of), encoding="utf-8") as file:
            return [(int(ms), word) for ms, word in map(str.split, file)]

    def calm(self):
        open(os.path.join(self.directory, "calm"), "w", encoding="utf-8").close()


class Sender:
    """deliver_files at work."""

    def __init__(self, errors, before=(), **options):
        self.errors = open(errors, "a+", encoding="utf-8")
        self.process = subprocess.Popen([*before, DELIVER, *(f"{key}={value}" for key, value in options.items())], text=True,
                                        errors="surrogateescape", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors)
        self.error = json.loads(self.process.stdout.readline())["error"]

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def put(self, path):
        return self.ask("put", path)["error"]

    def counts(self):
        return self.ask("counts")

    def until(self, seconds=180, **wanted):
        wait_for(lambda: wanted.items() <= self.counts().items(), seconds)

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def times(self, what):
        """How often it was what these lines say, by each of them."""
        return [int(n or 1) for n in re.findall(rf"(?m){what}.*?(?: \((\d+) times since this was said\))?$", self.said())]

    def stop(self):
        """All that it has said when it ended."""
        print("stop 0", file=self.process.stdin, flush=True)
        self.process.wait(200)
        return self.said()

    def end(self, ms=0):
        """Its time until it ended."""
        began = time.monotonic()
        if self.process.poll() is None:
            print("stop", ms, file=self.process.stdin, flush=True)
        self.process.wait(200)
        took = time.monotonic() - began
        for file in self.process.stdin, self.process.stdout, self.errors:
            file.close()
        return took

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.end()


def pass_on(peer, back):
    """Until the peer ends."""
    with contextlib.suppress(OSError):
        while data := peer.recv(65536):
            back.sendall(data)


def value(request):
    """By which requests of feed() are told apart."""
    return sum(sum(s["values"] or [1] * len(s["times"])) for p in request["profiles"] for s in p["samples"])


class Deliveries(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.made = {}

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def request(self, n):
        """A request with n + 1 samples, and its value."""
        path = self.path(f"{n}.otlp")
        if n not in self.made:
            done = subprocess.run([FEED, "cpu", str(n + 1), path], check=True, capture_output=True, text=True)
            self.made[n] = json.loads(done.stdout)["value"]
        return path

    def receiver(self, *options, name="in"):
        receiver = Receiver(self.path(name), *options)
        self.addCleanup(receiver.end)
        return receiver

    def sender(self, **options):
        sender = Sender(self.path("errors"), **options)
        self.assertEqual(sender.error, 0)
        self.addCleanup(lambda: sender.process.stdin.closed or sender.end())
        return sender

    def put(self, sender, numbers):
        for n in numbers:
            self.assertEqual(sender.put(self.request(n)), 0)

    def values(self, numbers):
        return [self.made[n] for n in numbers]

    def test_requests_arrive_whole(self):
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write("secret-1\n")
        for kind in "grpc", "http":
            with self.subTest(kind):
                receiver = self.receiver(name=kind)
                sender = self.sender(url=receiver.url(kind), token=self.path("token"), header="X-Team: a b", tenant="t")
                self.put(sender, (20, 5, 600))
                sender.until(delivered=3, spooled=0, spooled_bytes=0, failed=0, retried=0)
                with open(self.path("token"), "w", encoding="utf-8") as file:
                    file.write("secret-2\n")
                self.put(sender, (7,))
                sender.until(delivered=4)
                got = receiver.got()
                self.assertEqual([request["by"] for request in got], [kind] * 4)
                self.assertEqual([value(request) for request in got], self.values((20, 5, 600, 7)))
                for request, n in zip(got, (20, 5, 600, 7)):
                    self.assertEqual(request["profiles"], otlp.read(self.request(n)))
                    headers = {key.lower(): values for key, values in request["headers"].items()}
                    self.assertEqual(headers["authorization"], ["Bearer secret-2" if n == 7 else "Bearer secret-1"])
                    self.assertEqual((headers["x-team"], headers["x-scope-orgid"]), (["a b"], ["t"]))
                self.assertNotIn("secret", sender.said())
                self.assertLess(sender.end(100000), 100)
                with open(self.path("token"), "w", encoding="utf-8") as file:
                    file.write("secret-1\n")

    def test_pushes_arrive_whole(self):
        feed = subprocess.run([FEED, "pushed", "600", "x.pb.gz", "x.json"], check=True, capture_output=True, text=True,
                              cwd=self.directory)
        with open(self.path("password"), "w", encoding="utf-8") as file:
            file.write("p:w\n")
        receiver = self.receiver()
        sender = self.sender(url=receiver.url("http") + "/", protocol="pyroscope", user="me", tenant="t",
                             password=self.path("password"))
        self.assertEqual(sender.ask("pprof", self.path("x.pb.gz"), "shop")["error"], 0)
        self.assertEqual(sender.put(self.path("x.pb.gz")), -22)
        sender.until(delivered=1, dropped=1)
        push, = receiver.got()
        self.assertEqual(push["labels"], {"__name__": "process_cpu", "service_name": "shop"})
        self.assertEqual(push["types"], ["events/count", "cpu/nanoseconds", "off_cpu/nanoseconds", "wall/nanoseconds"])
        self.assertEqual(push["totals"][3], json.loads(feed.stdout)["value"])
        with open(self.path("x.json"), encoding="utf-8") as file:
            stacks = json.load(file)["stacks"]
        self.assertEqual(push["totals"], [sum(stack["values"][i] for stack in stacks) for i in range(4)])
        self.assertRegex(push["id"], r"^0{8}-0{4}-0{4}-0{4}-0{11}1$")
        self.assertEqual(push["headers"]["Authorization"], ["Basic " + base64.b64encode(b"me:p:w").decode()])
        self.assertEqual(push["headers"]["X-Scope-Orgid"], ["t"])
        self.assertNotIn("p:w", sender.said())
        # The kernel cuts names of processes between bytes.
        self.assertEqual(sender.ask("pprof", self.path("x.pb.gz"), "caf\udcc3")["error"], 0)
        sender.until(delivered=2, failed=0)
        self.assertEqual(receiver.got()[1]["labels"]["service_name"], "caf?")

    def test_credentials_are_overwritten(self):
        """Between requests, none is in memory. Of gRPC and TLS, other libraries have copies."""
        subprocess.run([FEED, "pushed", "20", "x.pb.gz"], check=True, capture_output=True, cwd=self.directory)
        for name, text in ("token", "t0ken-of-the-backend\n"), ("password", "passw0rd-of-the-backend\n"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        encoded = base64.b64encode(b"me:passw0rd-of-the-backend")
        receiver = self.receiver()
        by_token = self.sender(url=receiver.url("http"), token=self.path("token"), header="X-Key: that-stays")
        by_password = self.sender(url=receiver.url("http"), protocol="pyroscope", user="me", password=self.path("password"))
        self.put(by_token, (20,))
        self.assertEqual(by_password.ask("pprof", self.path("x.pb.gz"), "shop")["error"], 0)
        for sender in by_token, by_password:
            sender.until(delivered=1)
        self.assertEqual({r["headers"]["Authorization"][0] for r in receiver.got()},
                         {"Bearer t0ken-of-the-backend", "Basic " + encoded.decode()})
        self.assertTrue(has_in_memory(by_token.process.pid, b"that-stays"))
        for sender, secrets in (by_token, [b"t0ken-of-the"]), (by_password, [b"passw0rd-of-the", encoded]):
            wait_for(lambda: not any(has_in_memory(sender.process.pid, secret) for secret in secrets), 20)

    def certificate(self, name):
        return certificates.make(self.path(name))

    def test_who_is_trusted(self):
        server = self.certificate("server")
        self.certificate("client")
        receiver = self.receiver("-tls", server, "-client-ca", self.path("client.crt"))
        client = {"certificate": self.path("client.crt"), "key": self.path("client.key")}
        ca = {"ca": self.path("server.crt")}
        expected = [({}, 0), (ca, 0), (client, 0), ({**client, "ca": self.path("client.crt")}, 0),
                    ({**ca, **client}, 1), ({"insecure": 1, **client}, 1)]
        for kind in "https", "grpcs":
            for options, delivered in expected:
                with self.subTest(kind, options=options):
                    sender = self.sender(url=receiver.url(kind), **options)
                    self.put(sender, (3, 4))
                    wait_for(lambda: (counts := sender.counts())["retried"] or counts["delivered"] == 2)
                    self.assertEqual(sender.counts()["delivered"], 2 * delivered, sender.said())
                    sender.end()
        self.assertEqual(len(receiver.got()), 8)

    def test_an_expired_certificate(self):
        """The profiles wait until there is a new one."""
        receiver = self.receiver("-tls", certificates.make_expired(self.path("expired")))
        sender = self.sender(url=receiver.url("https"), ca=self.path("expired.crt"))
        self.put(sender, (3,))
        wait_for(lambda: "certificate has expired" in sender.said())
        self.assertEqual((sender.counts()["spooled"], receiver.got()), (1, []))

    def test_statuses(self):
        """What a backend refuses is counted; for what it cannot take now, it is asked again, when it says."""
        for kind, words in {"http": "429/2,ok,503,502,ok,400,413,500,ok", "grpc": "429/2,ok,503,ok,400,413,500,ok"}.items():
            with self.subTest(kind):
                receiver = self.receiver("-requests", words, name=kind)
                sender = self.sender(url=receiver.url(kind))
                self.put(sender, range(6))
                refused = [word in ("400", "413", "500") for word in words.split(",")]
                sender.until(delivered=3, failed=sum(refused), spooled=0)
                self.assertEqual(sender.counts()["retried"], words.count("429") + words.count("50") - words.count("500"))
                self.assertEqual([value(request) for request in receiver.got()], self.values((0, 1, 5)))
                attempts = receiver.attempts()
                self.assertEqual([word for _, word in attempts], words.split(","))
                self.assertGreaterEqual(attempts[1][0] - attempts[0][0], 2000)
                pauses = [b[0] - a[0] for a, b in zip(attempts, attempts[1:]) if a[1] in ("503", "502")]
                self.assertGreaterEqual(pauses[0], 400)
                self.assertGreaterEqual(pauses[-1], 800 if kind == "http" else 400)
                self.assertEqual(len(re.findall("refused a request, which is lost: .*a fault", sender.said())), 3)
                sender.stop()
                self.assertEqual(sender.times("takes profiles again"), [1, 1])
                sender.end()
                os.truncate(self.path("errors"), 0)

    def test_what_is_said_is_limited(self):
        """At most once in a minute, and how often at the end."""
        began = time.monotonic()
        receiver = self.receiver("-requests", ",".join(["400"] * 40))
        sender = self.sender(url=receiver.url("http"), protocol="otlp")
        self.put(sender, [1] * 41)
        sender.until(failed=40, delivered=1)
        sender.stop()
        times, minutes = sender.times("refused a request"), int((time.monotonic() - began) / 60)
        self.assertEqual((times[0], sum(times)), (1, 40))
        self.assertLessEqual(len(times), 2 + minutes)

    def test_the_last_that_is_said_of_an_outage_is_true(self):
        """What may not be said yet is said at the end, and then only what is still so."""
        for words, delivered, last in ((["503", "ok"] * 2 + ["503"] * 99, 2, "cannot be reached"),
                                       (["503", "ok"] * 3, 3, "takes profiles again")):
            with self.subTest(last):
                receiver = self.receiver("-requests", ",".join(words), name=last)
                sender = self.sender(url=receiver.url("http"))
                self.put(sender, (1, 2, 3))
                wait_for(lambda: (counts := sender.counts())["delivered"] == delivered and counts["retried"] >= 3)
                n = len(sender.said().splitlines())
                said = sender.stop().splitlines()
                self.assertIn(last, said[-1])
                self.assertEqual([line for line in said[n:] if last not in line], [])

    def test_credentials_that_change(self):
        """Profiles wait for a token that the backend knows, also while there is none."""
        for kind in ("http",):
            receiver = self.receiver("-requests", "401,403", name=kind)
            with open(self.path("token"), "w", encoding="utf-8"):
                pass
            sender = self.sender(url=receiver.url(kind), token=self.path("token"))
            self.put(sender, (3, 4))
            wait_for(lambda: "their file is empty" in sender.said())
            self.assertFalse(os.path.exists(self.path(kind, "attempts")))
            with open(self.path("token"), "w", encoding="utf-8") as file:
                file.write("new\n")
            sender.until(delivered=2, failed=0, spooled=0)
            got = receiver.got()
            self.assertEqual([value(request) for request in got], self.values((3, 4)))
            sender.end()

    def test_what_is_said_of_credentials_is_not_repeated(self):
        """It may have them in it."""
        receiver = self.receiver("-requests", "403,ok,500,ok")
        sender = self.sender(url=receiver.url("http"))
        self.put(sender, (3, 4, 5))
        sender.until(delivered=2, failed=1)
        said = sender.stop()
        self.assertRegex(said, "(?m)does not take the credentials, its profiles wait: HTTP status 403$")
        self.assertIn("a fault: 500", said)

    def test_one_that_always_fails_is_given_up(self):
        """Once others are taken; a backend that takes none keeps them all."""
        words = ["503/1", "403/1", "503", "401/1", "503/1", "ok", "403/1", "ok", "503"]
        receiver = self.receiver("-requests", ",".join(words))
        sender = self.sender(url=receiver.url("http"), patience_ms=1)
        self.put(sender, (1, 2, 3))
        sender.until(delivered=2, failed=1, spooled=0)
        self.assertEqual([word for _, word in receiver.attempts()], words)
        self.assertEqual(len(receiver.got()), 2)
        wait_for(lambda: "not a request that is given up: HTTP status 503" in sender.said())

    def test_connections(self):
        for kind in "http", "grpc":
            with self.subTest(kind):
                receiver = self.receiver("-connections", "cut,slow,half,ok", name=kind)
                sender = self.sender(url=receiver.url(kind))
                self.put(sender, (600, 3, 599))
                sender.until(delivered=3, spooled=0, failed=0)
                got = [value(request) for request in receiver.got()]
                # A request whose answer was lost is repeated, so it may be there twice.
                self.assertEqual(list(dict.fromkeys(got)), self.values((600, 3, 599)))
                self.assertGreaterEqual(sender.counts()["retried"], 1)

    def test_what_is_in_the_spool_survives_a_kill(self):
        for kind in "http", "grpc":
            receiver = self.receiver(name="away")
            receiver.end()
            sender = self.sender(url=receiver.url(kind), spool=self.path("spool"))
            other = Sender(self.path("errors"), url=receiver.url(kind), spool=self.path("spool"))
            self.assertEqual(other.error, -16)  # in use
            other.end()
            self.put(sender, range(30))
            wait_for(lambda: sender.counts()["retried"])
            self.assertEqual(sender.counts()["spooled"], 30)
            sender.kill()
            receiver = self.receiver(name=kind)
            sender = self.sender(url=receiver.url(kind), spool=self.path("spool"))
            self.put(sender, range(30, 33))
            sender.until(delivered=33, spooled=0)
            self.assertEqual([value(request) for request in receiver.got()], self.values(range(33)))
            self.assertEqual(os.listdir(self.path("spool")), ["lock"])
            sender.end()

    def test_what_was_taken_before_a_kill_comes_again_with_its_id(self):
        """Killed when the backend has answered, but nobody has read that."""
        subprocess.run([FEED, "pushed", "9", "x.pb.gz"], check=True, capture_output=True, cwd=self.directory)
        for protocol in "pyroscope", "otlp":
            receiver = self.receiver(name=protocol)
            with socket.create_server(("127.0.0.1", 0)) as front, \
                    socket.create_connection(("127.0.0.1", receiver.ports["http"])) as back:
                options = {"protocol": protocol, "spool": self.path(protocol + "-spool")}
                sender = self.sender(url=f"http://127.0.0.1:{front.getsockname()[1]}", **options)
                command = ("pprof", self.path("x.pb.gz"), "shop") if protocol == "pyroscope" else ("put", self.request(8))
                self.assertEqual(sender.ask(*command)["error"], 0)
                peer, _ = front.accept()
                thread = threading.Thread(target=pass_on, args=(peer, back))
                thread.start()
                self.assertEqual(back.recv(12), b"HTTP/1.1 200")
                sender.kill()
                thread.join()
                peer.close()
            sender = self.sender(url=receiver.url("http"), **options)
            sender.until(delivered=1, spooled=0)
            key = "id" if protocol == "pyroscope" else "profiles"  # with their ids
            first, second = (request[key] for request in receiver.got())
            self.assertEqual(first, second)

    def test_the_oldest_make_room(self):
        receiver = self.receiver()
        receiver.end()
        sizes = []
        for n in range(10):
            with open(self.request(n), "rb") as file:
                sizes.append(len(gzip.compress(file.read())))
        sender = self.sender(url=receiver.url("http"), spool=self.path("spool"), bytes=max(sizes) * 3 + 100)
        self.put(sender, range(10))
        counts = sender.counts()
        self.assertEqual(counts["spooled"] + counts["dropped"], 10)
        self.assertTrue(3 <= counts["spooled"] <= 4 and counts["spooled_bytes"] <= max(sizes) * 3 + 100, counts)
        self.assertEqual(sum(os.path.getsize(self.path("spool", name)) for name in os.listdir(self.path("spool"))),
                         counts["spooled_bytes"])

    def test_it_stops_in_time(self):
        """Of a backend that accepts and says nothing."""
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            for kind in "http", "grpc":
                sender = self.sender(url=f"{kind}://127.0.0.1:{deaf.getsockname()[1]}", spool=self.path("spool"))
                self.put(sender, (1,))
                peer, _ = deaf.accept()
                took = sender.end(1500)
                peer.close()
                self.assertTrue(1.4 <= took < 40, took)  # a request may take a minute
        receiver = self.receiver()
        sender = self.sender(url=receiver.url("grpc"), spool=self.path("spool"))
        sender.end(20000)
        self.assertEqual([value(request) for request in receiver.got()], self.values((1, 1)))

    @unittest.skipIf(os.geteuid(), "a name server's port needs root")
    def test_it_stops_while_names_cannot_be_looked_up(self):
        """The resolver waits for a name server that says nothing, for half a minute each time."""
        with open(self.path("resolv.conf"), "w", encoding="utf-8") as file:
            file.write("nameserver 127.0.0.97\noptions timeout:30 attempts:2\n")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
            deaf.bind(("127.0.0.97", 53))
            deaf.settimeout(60)
            sender = self.sender(url="http://backend.example:4040", before=(
                "unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', self.path("resolv.conf")))
            self.put(sender, (1,))
            deaf.recv(512)
            self.assertLess(sender.end(1000), 15)

    def test_urls(self):
        for url, protocol in (("ftp://x", "otlp"), ("http://", "otlp"), ("http://me:secret@127.0.0.1", "otlp"),
                              ("127.0.0.1:4317", "otlp"), ("grpc:///", "otlp"), ("grpc://x", "pyroscope")):
            sender = Sender(self.path("errors"), url=url, protocol=protocol)
            self.assertEqual(sender.error, -22, url)
            sender.process.wait()
            sender.end()

    def at_random(self, kind, seed):
        """A receiver of a kind that does anything, and a sender."""
        plan, options, more = f"random:{seed}", {}, ()
        if kind == "https":
            more, trusted = certificates.expiring(self.path("server"), plan)
            options = {"ca": trusted}
        if kind == "push":
            options = {"protocol": "pyroscope"}
        receiver = self.receiver("-requests", plan, "-connections", plan, *more, name=kind)
        url = receiver.url("http" if kind == "push" else kind)
        return receiver, self.sender(url=url, spool=self.path(kind + "-spool"), **options)

    def put_random(self, kind, sender, n):
        if kind == "push":
            self.assertEqual(sender.ask("pprof", self.path("x.pb.gz"), f"s{n}")["error"], 0)
        else:
            self.put(sender, [n % 40])

    def test_at_random(self):
        """Whatever a backend does, each request is delivered or counted."""
        seed = random.randrange(1 << 30)
        subprocess.run([FEED, "pushed", "20", "x.pb.gz"], check=True, capture_output=True, cwd=self.directory)
        kinds = {kind: self.at_random(kind, seed) for kind in ("http", "grpc", "https", "push")}
        end, n = time.monotonic() + SECONDS, 0
        while time.monotonic() < end:
            for kind, (_, sender) in kinds.items():
                self.put_random(kind, sender, n)
            n += 1
            time.sleep(max(0.05, SECONDS / 2000))
        for receiver, _ in kinds.values():
            receiver.calm()
        for kind, (receiver, sender) in kinds.items():
            with self.subTest(kind, seed=seed):
                sender.until(420, spooled=0)  # the longest pause, and what came meanwhile
                counts, got = sender.counts(), receiver.got()
                self.assertEqual((counts["delivered"] + counts["failed"], counts["dropped"]), (n, 0))
                # One of which the answer was lost is repeated: and refused, perhaps.
                self.assertTrue(counts["delivered"] <= len(got) <= n + counts["retried"], (counts, len(got)))
                self.assertEqual([request.get("faults") for request in got], [None] * len(got))
                refused = sum(word in ("400", "413", "500") for _, word in receiver.attempts())
                self.assertTrue(counts["failed"] <= refused, (counts, refused))
                if kind == "push":
                    self.assertGreaterEqual(len({push["labels"]["service_name"] for push in got}), counts["delivered"])
        if SECONDS > 60:
            self.assertIn("expired", [word for _, word in kinds["https"][0].attempts("certificates")])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5 if sys.argv[3:4] == ["--long"] else 3:]])
