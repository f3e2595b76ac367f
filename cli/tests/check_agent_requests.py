#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent answers requests as Go's pprof, curl and Prometheus's client expect, whatever others do.

usage: check_agent_requests.py DWARFPROF PROGRAM-DIR
"""
import contextlib
import ctypes
import gzip
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from xml.etree import ElementTree

import harness
from agents import Agent, free_port
from harness import dwarfprof, start, wait_for, wait_until_it_says

# Debian's python3 has Debian's prometheus_client, whichever is first in PATH.
PARSE = ("import json, sys\n"
         "from prometheus_client.openmetrics import parser\n"
         "print(json.dumps([[[s.name, *s.labels.values()], s.value]\n"
         "                  for family in parser.text_string_to_metric_families(sys.stdin.read()) for s in family.samples]))\n")


@contextlib.contextmanager
def own_network():
    """Of this thread and what it starts; closed connections are forgotten after a second."""
    libc, new_network = ctypes.CDLL(None, use_errno=True), 0x40000000  # linux/sched.h
    with open("/proc/thread-self/ns/net") as before:
        if libc.unshare(new_network) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        try:
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            with open("/proc/sys/net/ipv4/tcp_fin_timeout", "w") as file:
                file.write("1")
            yield
        finally:
            libc.setns(before.fileno(), new_network)


class Requests(Agent):
    def setUp(self):
        super().setUp()
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}"

    def configure(self, address, more=""):
        with open(self.config, "w") as file:
            file.write(f"pull = {address}\n{more}")
        return self.config

    def curl(self, *args):
        """Status and body."""
        result = subprocess.run(["curl", "-sS", "-o", self.out, "-w", "%{http_code}", *args], capture_output=True,
                                text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.out, "rb") as file:
            return int(result.stdout), file.read()

    def pprof(self, *args):
        result = subprocess.run(["go", "tool", "pprof", "-symbolize=none", *args], capture_output=True, text=True,
                                timeout=300, env={**os.environ, "PPROF_TMPDIR": self.store})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_go_reads_a_profile(self):
        self.agent("--pull", self.address, "-F", "99")
        with harness.busy() as pid, harness.busy():
            text = self.pprof("-traces", f"{self.url}/debug/pprof/profile?seconds=3&pid={pid}")
        self.assertIn("Type: cpu", text)
        self.assertEqual(set(re.findall(r"^ +pid: +(\d+)", text, re.M)), {pid})
        self.assertIn("fibonacci", text)

    def test_it_is_as_long_as_was_asked(self):
        """Unless the agent gets no CPU when it is to end."""
        self.agent("--pull", self.address)

        def is_right():
            text = self.pprof("-traces", f"{self.url}/debug/pprof/profile?seconds=3")
            return abs(float(re.search(r"Duration: ([\d.]+)s", text).group(1)) - 3) < 0.5
        self.assertTrue(any(is_right() for _ in range(5)))

    def test_a_picture(self):
        """Of one process alone, as a browser takes it; the page has a way there."""
        self.agent("--pull", self.address, "-F", "99")
        page = self.curl(f"{self.url}/status")[1].decode()
        path = re.search(r'href="(/[\w-]+)\?seconds=\d+"', page).group(1)
        with harness.busy() as pid, harness.busy():
            status, picture = self.curl("-D", self.out + ".head", f"{self.url}{path}?seconds=3&pid={pid}")
        self.assertEqual(status, 200)
        self.assertIn("Content-Type: image/svg+xml", harness.read(self.out + ".head"))
        root = ElementTree.fromstring(picture)
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        boxes = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertTrue(any(text.startswith("fibonacci") for text in boxes), boxes)

    def test_each_call_is_in_a_profile(self):
        """Two at once, which begin and end at other times than the intervals."""
        caller = self.caller()
        self.agent(*self.of_calls(caller), "--pull", self.address, "--store", self.store, "--interval", "300ms")
        with contextlib.ExitStack() as stack:
            both = [stack.enter_context(subprocess.Popen(["curl", "-sSv", "-o", f"{self.out}.{i}", f"{self.url}/debug/pprof/profile?seconds=20"], stderr=subprocess.PIPE, text=True))
                    for i in range(2)]
            for process in both:
                self.assertTrue(any("> GET" in line for line in iter(process.stderr.readline, "")))
            # One that is asked for later has begun, and these with it.
            self.assertEqual(self.curl(f"{self.url}/debug/pprof/profile?seconds=1")[0], 200)
            calls = self.call(caller, 1000)
        self.assertEqual([process.returncode for process in both], [0, 0])
        for i in range(2):
            text = self.pprof("-top", "-sample_index=0", f"{self.out}.{i}")
            self.assertEqual(re.search(r"of (\d+) total", text).group(1), str(len(calls)))

    def test_time_off_the_cpu(self):
        sleeper = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.1)"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        self.agent("--pull", self.address, "--off-cpu")
        query = f"seconds=3&pid={sleeper.pid}"

        def is_right():
            """Unless the agent or the program gets no CPU when it is to run on."""
            wall = self.pprof("-raw", f"{self.url}/debug/pprof/fgprof?{query}")
            self.assertIn("\nevents/count cpu/nanoseconds off_cpu/nanoseconds wall/nanoseconds", wall)
            blocked = sum(int(ns) for ns in re.findall(r"^ +\d+ +\d+ +(\d+) +\d+: ", wall, re.M))
            return abs(blocked / 1e9 - 3) < 0.6
        self.assertTrue(any(is_right() for _ in range(5)))
        cpu = self.pprof("-raw", f"{self.url}/debug/pprof/profile?{query}")
        self.assertNotIn("off_cpu", cpu)

    def test_filters(self):
        self.agent("--pull", self.address, "-F", "99")
        # Other tests may run others of that name.
        busy = shutil.copy(harness.program("fibonacci"), os.path.join(os.path.dirname(self.config), f"busy{os.getpid()}"))
        with harness.Target(busy, "3600") as pid, harness.Target(busy, "3600") as other:
            text = self.pprof("-traces", f"{self.url}/debug/pprof/profile?seconds=2&comm={os.path.basename(busy)}")
            self.assertEqual(set(re.findall(r"^ +pid: +(\d+)", text, re.M)), {pid, other})
            with open(f"/proc/{pid}/cgroup") as file:
                cgroup = re.search(r"^0::(.*)$", file.read(), re.M).group(1)
            text = self.pprof("-traces", f"{self.url}/debug/pprof/profile?seconds=2&pid={pid}&cgroup={cgroup}")
            self.assertIn(pid, text)
            self.assertEqual(self.curl(f"{self.url}/debug/pprof/profile?seconds=1&cgroup=/no/such")[0], 200)
            self.assertNotIn("fibonacci", self.pprof("-raw", self.out))

    def test_wrong_requests(self):
        self.agent("--pull", self.address)
        for query, status in (("seconds=x", 400), ("seconds=0", 400), ("seconds=99999", 400), ("pid=-1", 400),
                              ("cgroup=relative", 400)):
            self.assertEqual(self.curl(f"{self.url}/debug/pprof/profile?{query}")[0], status, query)
        self.assertEqual(self.curl(f"{self.url}/nothing")[0], 404)
        self.assertEqual(self.curl("-X", "DELETE", f"{self.url}/metrics")[0], 405)
        # What a browser asks for a name that some page has let point here.
        for host, status in (("evil.example", 403), ("127.evil.example:80", 403), ("localhost", 200)):
            self.assertEqual(self.curl("-H", f"Host: {host}", f"{self.url}/status")[0], status, host)

    def test_metrics(self):
        caller = self.caller()
        agent = self.agent(*self.of_calls(caller), "--pull", self.address, "--store", self.store, "--interval", "300ms")
        calls = self.call(caller, 1000)

        def read():
            status, text = self.curl("-D", self.out + ".head", f"{self.url}/metrics")
            self.assertEqual(status, 200)
            parsed = subprocess.run(["/usr/bin/python3", "-c", PARSE], input=text, capture_output=True, timeout=60)
            self.assertEqual(parsed.returncode, 0, parsed.stderr)
            return {tuple(name): value for name, value in json.loads(parsed.stdout)}
        wait_for(lambda: read()["dwarfprof_samples_total",] == len(calls))
        wait_for(lambda: read()["dwarfprof_intervals_written_total",] >= 3)
        metrics = read()
        self.assertIn("application/openmetrics-text; version=1.0.0", harness.read(self.out + ".head"))
        self.assertEqual(metrics["dwarfprof_stacks_total", "complete"], len(calls))
        for reason in "rings_full", "reports_full", "nested", "missed", "unreadable", "untracked":
            self.assertEqual(metrics["dwarfprof_samples_lost_total", reason], 0)
        self.assertEqual(metrics["dwarfprof_intervals_failed_total",], 0)
        before = harness.cpu_time(agent.pid)
        metrics = read()
        after = harness.cpu_time(agent.pid)
        self.assertGreater(metrics["dwarfprof_cpu_seconds_total", "agent"], before - 0.2)
        self.assertLess(metrics["dwarfprof_cpu_seconds_total", "agent"], after + 0.2)

        def is_memory_right():
            """Unless it has got or given up much in between."""
            rss = int(re.search(r"RssAnon:\s+(\d+)", harness.read(f"/proc/{agent.pid}/status")).group(1)) << 10
            return abs(read()["dwarfprof_private_memory_bytes", "agent"] / rss - 1) < 0.5
        self.assertTrue(any(is_memory_right() for _ in range(5)))
        self.assertEqual(self.curl(f"{self.url}/healthz"), (200, b"ok\n"))
        page = self.curl(f"{self.url}/status")[1].decode()
        self.assertIn(f"<p>{len(calls)} samples, 0 lost; 100.00 % of {len(calls)} user stacks", page)
        self.assertNotRegex(page, "https?://|src=|<script|<link")

    def test_a_socket_in_the_file_system(self):
        path = self.out + ".socket"
        agent = self.agent("--pull", f"unix:{path}")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(self.curl("--unix-socket", path, "http://any/healthz"), (200, b"ok\n"))
        agent.kill()
        agent.wait()
        agent = self.agent("--pull", f"unix:{path}")
        self.assertEqual(self.curl("--unix-socket", path, "http://any/healthz"), (200, b"ok\n"))
        self.end(agent)
        self.assertFalse(os.path.exists(path))

    def test_others_need_a_token(self):
        everywhere = self.address.replace("127.0.0.1", "0.0.0.0")
        refused = dwarfprof("agent", "--pull", everywhere)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("--pull-token-file", refused.stderr)
        token = self.out + ".token"
        with open(token, "w") as file:
            file.write("s3cret\n")
        agent = self.agent("--pull", everywhere, "--pull-token-file", token)
        for header, status in ((), 401), (("-H", "Authorization: Bearer wrong!"), 401), \
                (("-H", "Authorization: Bearer s3cret"), 200):
            self.assertEqual(self.curl(*header, f"{self.url}/healthz")[0], status)
        self.assertNotIn("s3cret", self.end(agent))

    def test_another_token(self):
        """In the same file, which is also caught without one."""
        def write(text):
            with open(token, "w") as file:
                file.write(text)
        token = self.out + ".token"
        write("s3cret-1\n")
        agent = self.agent("--pull", self.address, "--pull-token-file", token)
        ask = lambda known: self.curl("-H", f"Authorization: Bearer {known}", f"{self.url}/healthz")[0]
        self.assertEqual((ask("s3cret-1"), ask("s3cret-2")), (200, 401))
        write("s3cret-2\n")
        agent.send_signal(signal.SIGHUP)
        wait_until_it_says(agent, "new configuration")
        self.assertEqual((ask("s3cret-1"), ask("s3cret-2")), (401, 200))
        write("")
        agent.send_signal(signal.SIGHUP)
        said = wait_until_it_says(agent, "new configuration")
        self.assertIn("requests are not answered", said)
        write("s3cret-3\n")
        wait_until_it_says(agent, "answering requests")
        self.assertEqual((ask("s3cret-2"), ask("s3cret-3")), (401, 200))
        self.end(agent)

    def test_old_tokens_are_forgotten(self):
        """One that nobody has asked with is nowhere in the agent's memory once there is another one."""
        def write(text):
            with open(token, "w") as file:
                file.write(text)
        token = self.out + ".token"
        write("s3cret-old\n")
        agent = self.agent("--pull", self.address, "--pull-token-file", token)
        self.assertTrue(harness.has_in_memory(agent.pid, b"s3cret-old"))
        write("s3cret-new\n")
        agent.send_signal(signal.SIGHUP)
        wait_until_it_says(agent, "new configuration")
        self.assertTrue(harness.has_in_memory(agent.pid, b"s3cret-new"))
        wait_for(lambda: not harness.has_in_memory(agent.pid, b"s3cret-old"), 20)
        self.end(agent)

    def test_needs_a_library(self):
        with tempfile.TemporaryDirectory() as empty:
            with open(os.path.join(empty, "libmicrohttpd.so.12"), "wb"):
                pass
            refused = dwarfprof("agent", "--pull", self.address, env={**os.environ, "LD_LIBRARY_PATH": empty})
        self.assertEqual(refused.returncode, 1)
        self.assertIn("libmicrohttpd.so.12 is not installed, or too old", refused.stderr)

    def test_an_address_in_use_changes_nothing(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            used, new = f"127.0.0.1:{other.getsockname()[1]}", f"127.0.0.1:{free_port()}"
            agent = self.agent("-c", self.configure(self.address))
            # Without a token that can be read: no answers, rather than answers to everyone.
            for address, more, words, now in ((used, "", "answered as before", self.address), (new, "", f"requests at {new}", new),
                                              (new, "pull-token-file = /no/such\n", "not answered", None), (new, "", f"requests at {new}", new)):
                self.configure(address, more)
                agent.send_signal(signal.SIGHUP)
                wait_until_it_says(agent, words)
                wait_until_it_says(agent, "new configuration")
                if now:
                    self.assertEqual(self.curl(f"http://{now}/healthz"), (200, b"ok\n"))
            self.end(agent)

    def test_an_address_in_use_is_had_later(self):
        """Sampling does not wait for it."""
        caller = self.caller()
        with socket.create_server(("127.0.0.1", 0)) as other:
            address = f"127.0.0.1:{other.getsockname()[1]}"
            agent = start("agent", *self.of_calls(caller), "--pull", address, "--store", self.store, "--interval", "300ms",
                          stderr=subprocess.PIPE, text=True)
            self.addCleanup(agent.communicate)
            self.addCleanup(agent.kill)
            said = wait_until_it_says(agent, "sampling")
            calls = self.call(caller, 500)
            wait_for(lambda: len(self.recordings()) >= 2)
        said += wait_until_it_says(agent, f"answering requests at {address}")
        self.assertEqual(said.count("cannot listen"), 1)
        self.assertIn("requests are not answered until", said)
        self.assertEqual(self.curl(f"http://{address}/healthz"), (200, b"ok\n"))
        self.end(agent)
        self.assertEqual(len(self.samples(self.store)), len(calls))

    def fill_places(self, *lines):
        """With clients that ask so, and go."""
        self.agent("--pull", self.address)
        host, port = self.address.split(":")
        with contextlib.ExitStack() as stack:
            for _ in range(8):
                waiting = stack.enter_context(socket.create_connection((host, int(port))))
                waiting.sendall(b"".join(line + b"\r\n" for line in (*lines, b"")))
            wait_for(lambda: self.curl(f"{self.url}/debug/pprof/profile?seconds=1")[0] == 429)

    def test_clients_that_have_gone_hold_nothing_up(self):
        self.fill_places(b"GET /debug/pprof/profile?seconds=3600 HTTP/1.1", b"Host: localhost")
        self.assertEqual(self.curl(f"{self.url}/debug/pprof/profile?seconds=1")[0], 200)

    def test_old_clients_that_have_gone_hold_nothing_up_for_long(self):
        """Of HTTP/1.0, which knows no interim response."""
        self.enterContext(own_network())
        self.fill_places(b"GET /debug/pprof/profile?seconds=3600 HTTP/1.0")
        wait_for(lambda: self.curl(f"{self.url}/debug/pprof/profile?seconds=1")[0] == 200, 20)

    def test_clients_that_only_stop_sending_get_their_profiles(self):
        """While the agent looks for those that have gone: the last request finds no room. And while an older connection
        is silent, as what the library looks at first is the oldest one."""
        self.agent("--pull", self.address)
        host, port = self.address.split(":")
        with contextlib.ExitStack() as stack:
            stack.enter_context(socket.create_connection((host, int(port))))
            clients = []
            for version in ["1.1"] * 6 + ["1.0"] * 2:
                clients.append(stack.enter_context(socket.create_connection((host, int(port)))))
                clients[-1].sendall(f"GET /debug/pprof/profile?seconds=4 HTTP/{version}\r\nHost: localhost\r\n"
                                    "Connection: close\r\n\r\n".encode())
                clients[-1].shutdown(socket.SHUT_WR)
            wait_for(lambda: self.curl(f"{self.url}/debug/pprof/profile?seconds=1")[0] == 429)
            for client in clients:
                said = stack.enter_context(client.makefile("rb")).read()
                said = said.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
                head, _, body = said.partition(b"\r\n\r\n")
                self.assertRegex(head, rb"^HTTP/1\.[01] 200 ")
                self.assertIn(b"cpu", gzip.decompress(body))

    def test_the_end_ends_requests(self):
        agent = self.agent("--pull", self.address)
        with subprocess.Popen(["curl", "-sS", "-o", self.out, "-w", "%{http_code}", f"{self.url}/debug/pprof/profile?seconds=600"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as waiting:
            time.sleep(0.5)
            self.end_in_time(agent)
            waiting.communicate(timeout=10)


if __name__ == "__main__":
    harness.main()
