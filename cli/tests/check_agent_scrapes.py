#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scrapers get of an agent: by Go's HTTP client and pprof's own code (ci/backends/scrape), with the headers
and parameters of Parca and Grafana Alloy.

usage: check_agent_scrapes.py DWARFPROF PROGRAM-DIR
"""
import json
import os
import shutil
import subprocess

import harness
import otlp
from agents import Agent, free_port
from harness import wait_for

# What each sends; and whether Go's client unpacks what comes.
SCRAPERS = {
    "as Alloy": (),
    "as Parca": ("-accept", "application/vnd.google.protobuf+gzip,application/octet-stream;q=0.9,*/*;q=0.1", "-encoding", "gzip"),
    "plain": ("-encoding", "identity"),
}


class Scrapes(Agent):
    def setUp(self):
        super().setUp()
        self.address = f"127.0.0.1:{free_port()}"
        busy = shutil.copy(harness.program("fibonacci"), os.path.join(os.path.dirname(self.config), f"busy{os.getpid()}"))
        self.pid = self.enterContext(harness.Target(busy, "3600"))
        self.comm = os.path.basename(busy)

    def url(self, query, path="profile"):
        return f"http://{self.address}/debug/pprof/{path}?{query}"

    def scrape(self, *args, **kwargs):
        result = subprocess.run([otlp.backend("scrape"), *args], capture_output=True, text=True, check=True, timeout=120, **kwargs)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def is_right(self, answer, seconds):
        self.assertEqual((answer.get("error"), answer["status"]), (None, 200), answer)
        self.assertEqual(answer["types"], ["samples/count", "cpu/nanoseconds"])
        self.assertEqual(answer["period_type"], "cpu/nanoseconds")
        self.assertEqual(answer["period"], 10 ** 9 // 100)
        self.assertEqual(answer["totals"][1], answer["totals"][0] * answer["period"])
        # It lasts longer if the machine is busy, but not than who asked has waited.
        self.assertGreaterEqual(answer["duration"], seconds - 0.5)
        self.assertLessEqual(answer["duration"], answer["seconds"] + 0.5)
        self.assertGreaterEqual(answer["seconds"], seconds)
        return answer["samples"] > 0 and any("fibonacci" in name for name in answer["functions"]) and \
            any(os.path.basename(path) == self.comm for path in answer["files"])

    def test_what_each_client_gets(self):
        self.agent("--pull", self.address, "-F", "100")
        for name, args in SCRAPERS.items():
            with self.subTest(name):
                # It may not get the CPU for a while.
                wait_for(lambda: self.is_right(self.scrape(*args, self.url(f"seconds=2&pid={self.pid}"))[0], 2))

    def test_parameters(self):
        """In any order, and written as URLs allow."""
        self.agent("--pull", self.address, "-F", "100")
        for query, seconds in ((f"seconds=1&comm={self.comm}", 1), (f"comm={self.comm}&seconds=2", 2), (f"pid=%{ord(self.pid[0]):x}{self.pid[1:]}&seconds=1", 1),
                               (f"seconds=1&pid={self.pid}&debug=0", 1)):
            with self.subTest(query):
                wait_for(lambda: self.is_right(self.scrape(self.url(query))[0], seconds))
        [wall] = self.scrape(self.url(f"seconds=1&pid={self.pid}", "fgprof"))
        self.assertEqual((wall.get("error"), wall["status"]), (None, 200), wall)

    def test_a_connection_is_kept(self):
        self.agent("--pull", self.address, "-F", "100")
        answers = self.scrape("-n", "3", self.url("seconds=1"), self.url("seconds=x"))
        self.assertEqual([a["status"] for a in answers], [200, 400] * 3, answers)
        self.assertEqual([a["reused"] for a in answers], [False] + [True] * 5)
        # Each begins where it was asked for.
        times = [a["time"] for a in answers[::2]]
        for one, next_one in zip(times, times[1:]):
            self.assertGreaterEqual(next_one, one + 0.9)

    def test_a_client_that_gives_up(self):
        """By itself, or because a timeout is shorter than the profile: others are answered, also the next of the same."""
        self.agent("--pull", self.address, "-F", "100")
        # Fewer than are served at once, as the agent may notice late; in all, more.
        for args in 2 * [("-cancel", "300ms"), ("-timeout", "300ms")]:
            answers = self.scrape("-n", "4", *args, self.url("seconds=60"))
            self.assertEqual({a["status"] for a in answers}, {0}, answers)
            self.assertTrue(all("cancel" in a["error"] or "exceeded" in a["error"] for a in answers), answers)
            # What they took is free again.
            wait_for(lambda: self.scrape(self.url("seconds=1"))[0]["status"] == 200, 20)


if __name__ == "__main__":
    harness.main()
