#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The flame graph of the last minute, which the agent has when it is asked: each call of a function that a
program counts itself is in it, by name if names are looked up anyway, or once somebody looks.

usage: check_agent_minute.py DWARFPROF PROGRAM-DIR
"""
import re
import signal
import subprocess
from xml.etree import ElementTree

import harness
from agents import Agent, free_port
from harness import wait_for, wait_until_it_says

NAMED = re.compile(r"^(?:__)?getppid\b", re.M)  # as a box


class Minute(Agent):
    def get(self, path):
        text = subprocess.run(["curl", "-sS", "-w", "\n%{http_code}", f"http://{self.address}{path}"], capture_output=True, text=True,
                              check=True, timeout=60).stdout
        body, _, code = text.rpartition("\n")
        return int(code), body

    def graph(self, query=""):
        """Its texts; "": there is none yet."""
        code, body = self.get("/flame-graph" + query)
        self.assertIn(code, (200, 503), body)
        return "\n".join(ElementTree.fromstring(body).itertext()) if code == 200 else ""

    def begin(self, *args):
        self.address = f"127.0.0.1:{free_port()}"
        caller = self.caller()
        return caller, self.agent(*self.of_calls(caller), "--pull", self.address, *args)

    def test_of_all_calls_by_name(self):
        """Also of those before and after a new configuration."""
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("max-stack = 30\n")
        caller, agent = self.begin("-c", self.config, "--pyroscope", f"http://127.0.0.1:{free_port()}")
        self.assertEqual(self.graph(), "")
        self.call(caller, 300)
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("max-stack = 40\n")
        agent.send_signal(signal.SIGHUP)
        wait_until_it_says(agent, "new configuration")
        self.call(caller, 200)
        wait_for(lambda: " 500 samples" in self.graph())
        text = self.graph("?comm=" + harness.read(f"/proc/{caller.pid}/comm").strip())
        self.assertRegex(text, r"\n(__)?getppid\b.* 500 events")
        self.assertNotIn("while somebody looks", text)
        self.assertNotRegex(self.graph("?comm=another"), NAMED)
        self.assertEqual(self.get("/flame-graph?pid=1")[0], 400)
        self.assertIn('data="/flame-graph"', self.get("/status")[1])
        self.assertRegex(self.get("/metrics")[1], r"\ndwarfprof_flame_graph_bytes [1-9]\d+\n")
        self.end(agent)

    def test_names_only_while_somebody_looks(self):
        caller, agent = self.begin()
        self.call(caller, 10)
        size = re.compile(r"\ndwarfprof_flame_graph_bytes [1-9]\d\d")  # more than those of an interval without samples
        wait_for(lambda: size.search(self.get("/metrics")[1]))
        text = self.graph()
        self.assertRegex(text, r" (?:[1-9]|10) samples")
        self.assertNotRegex(text, NAMED)
        self.assertIn("while somebody looks", text)

        def has_name():
            self.call(caller, 1)
            return NAMED.search(self.graph())
        wait_for(has_name)
        self.end(agent)


if __name__ == "__main__":
    harness.main()
