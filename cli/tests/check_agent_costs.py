#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent does so that it costs little, and what it says of that.

usage: check_agent_costs.py DWARFPROF PROGRAM-DIR
"""
import contextlib
import glob
import http.server
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

import harness
from agents import Agent, free_port, helpers, nice_of
from harness import read, wait_for

SECRET = "pOqu8sie"


class Refusing(http.server.BaseHTTPRequestHandler):
    """A backend that answers with what it should not repeat."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = f'{{"message": "no: {SECRET}"}}'.encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


def threads(pid):
    """Their priorities, by name."""
    return {read(f"/proc/{pid}/task/{tid}/comm").strip(): nice_of(f"/proc/{pid}/task/{tid}") for tid in os.listdir(f"/proc/{pid}/task")}


def kept_tables(cache):
    """Which file each is in: one that is written again is another."""
    return {path: os.stat(path).st_ino for path in glob.glob(f"{cache}/dwarfprof/*.table")}


class Costs(Agent):
    LONG = "test_rate",

    def setUp(self):
        super().setUp()
        self.address = f"127.0.0.1:{free_port()}"

    def status(self):
        return subprocess.run(["curl", "-sS", f"http://{self.address}/status"], capture_output=True, text=True, check=True,
                              timeout=60).stdout

    def refusing(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def test_last_errors(self):
        caller = self.caller()
        with open(self.config, "w") as file:
            file.write(f"store = {self.store}\ninterval = 300ms\ndeliver = 300ms\npyroscope = {self.refusing()}\n")
        agent = self.agent("-c", self.config, *self.of_calls(caller), "--pull", self.address)
        for words in "its last error", "last error of the store", "last one refused":
            self.assertNotIn(words, self.status())
        self.call(caller, 100)
        wait_for(lambda: "its last error" in self.status())
        self.assertRegex(self.status(), r"its last error</th><td>20[0-9: -]* UTC: HTTP status 403</td>")
        shutil.rmtree(self.store)
        wait_for(lambda: "last error of the store" in self.status())
        self.assertRegex(self.status(), "last error of the store</th><td>.* UTC: No such file or directory</td>")
        with open(self.config, "a") as file:
            file.write("wrong = 1\n")
        agent.send_signal(signal.SIGHUP)
        wait_for(lambda: "last one refused" in self.status())
        self.assertNotIn(SECRET, self.status())
        self.assertNotIn(SECRET, self.end(agent))

    def test_walk_time(self):
        """Counted while the kernel does."""
        set_to = self.enterContext(harness.bpf_stats("0"))
        caller = self.caller()
        agent = self.agent(*self.of_calls(caller), "--pull", self.address)
        calls = self.call(caller, 100)
        wait_for(lambda: self.figures(self.address)["samples_total"] == len(calls))
        self.assertEqual(self.figures(self.address)["walk_seconds_count"], 0)
        wait_for(lambda: "which walk stacks</th><td>not measured" in self.status())
        set_to("1")
        wait_for(lambda: "not measured" not in self.status())
        calls += self.call(caller, 100)
        wait_for(lambda: self.figures(self.address)["walk_seconds_count"] >= 100)
        self.assertGreater(self.figures(self.address)["walk_seconds_sum"], 0)
        self.end(agent)

    def test_rate(self):
        """Sampling alone takes more than the budget: it is done less often, and each sample stands for more time."""
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)
        with open(self.config, "w") as file:
            file.write(f"store = {self.store}\ninterval = 1s\ncpu-budget = 0.01\n")
        agent = self.agent("-c", self.config, "--no-cache", "--pull", self.address)
        wait_for(lambda: self.figures(self.address)["sampling_rate_hertz"] == 19)
        # Somebody looks at the picture, so that names are looked up, and wait.
        look = lambda: subprocess.run(["curl", "-sS", f"http://{self.address}/flame-graph"], capture_output=True, timeout=60)
        wait_for(lambda: look() and self.figures(self.address)["sampling_rate_hertz"] == 9)
        wait_for(lambda: self.figures(self.address)["sampling_rate_lowered_total"] >= 1)
        self.assertEqual(self.figures(self.address)["sampling_rate_asked_hertz"], 19)
        self.assertIn("to keep up, instead of</th><td>19</td>", self.status())
        # There is no more time after a reload, but another rate is tried.
        agent.send_signal(signal.SIGHUP)
        wait_for(lambda: self.figures(self.address)["reloads_total"] == 1)
        self.assertEqual(self.figures(self.address)["sampling_rate_asked_hertz"], 19)
        self.assertLess(self.figures(self.address)["sampling_rate_hertz"], 19)
        with open(self.config, "a") as file:
            file.write("freq = 23\n")
        agent.send_signal(signal.SIGHUP)
        wait_for(lambda: self.figures(self.address)["sampling_rate_hertz"] == 23)
        said = self.end(agent)
        self.assertIn("cannot keep up with 19 samples per second: 9 from now on", said)
        heads = [harness.dwarfprof("report", path).stdout for path in self.recordings()]
        found = {hz for head in heads for hz in re.findall(r"^\S.* at (\d+) Hz,", head, re.M)}
        self.assertTrue({"19", "9"} <= found, found)

    @contextlib.contextmanager
    def keeping_tables(self, caller, cache):
        """An agent whose cache is there, when it has tables."""
        self.prefix = ("unshare", "--mount", "sh", "-ec", 'mount --bind "$0" /var/cache; exec "$@"', cache)
        agent = self.agent(*self.of_calls(caller), "--pull", self.address)
        self.call(caller, 100)
        # Of Python, or its library, and of the C library; smaller ones are not kept.
        wait_for(lambda: len(kept_tables(cache)) >= 2 and self.figures(self.address)["tables_made_total"] >= 2)
        yield
        self.end(agent)

    def test_a_restarted_agent_makes_no_table_again(self):
        """But with another cache, it does."""
        caller = self.caller()
        first, other = f"{self.out}.cache", f"{self.out}.other"
        from_cache = lambda: self.figures(self.address)["tables_from_cache_total"]
        for cache in first, other:
            os.mkdir(cache)
            with self.keeping_tables(caller, cache):
                self.assertEqual(from_cache(), 0)
        kept = kept_tables(first)
        with self.keeping_tables(caller, first):
            wait_for(lambda: from_cache() == len(kept))
        self.assertLessEqual(kept.items(), kept_tables(first).items())  # none was written again

    def test_names_go_last(self):
        caller = self.caller()
        agent = self.agent(*self.of_calls(caller), "--no-cache", "--interval", "300ms", "--pull", self.address, "--deliver", "300ms",
                           "--pyroscope", f"http://127.0.0.1:{free_port()}")
        self.call(caller, 100)
        wait_for(lambda: "namer" in helpers(agent.pid))
        own = nice_of(f"/proc/{agent.pid}")
        wait_for(lambda: helpers(agent.pid)["namer"] == 10)
        found = threads(agent.pid) | helpers(agent.pid)
        self.assertEqual(found.pop("namer"), 10)
        self.assertEqual(found.pop("reports"), 10)
        self.assertLessEqual(found["run"], own)
        self.assertLessEqual(max(found.values()), own, found)
        self.end(agent)


if __name__ == "__main__":
    harness.main()
