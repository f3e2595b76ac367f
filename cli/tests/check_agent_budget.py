#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables and names wait when they have used what --cpu-budget allows; sampling does not, and nothing is lost.

usage: check_agent_budget.py DWARFPROF PROGRAM-DIR
"""
import subprocess
import time

import harness
from agents import Agent, free_port
from harness import dwarfprof, wait_for


class Budget(Agent):
    def run_with(self, *args):
        """Its profiles need names. Returns when all calls were sampled."""
        caller = self.caller()
        address = f"127.0.0.1:{free_port()}"
        agent = self.agent(*self.of_calls(caller), "--no-cache", "--interval", "300ms", "--store", self.store, "--pull", address,
                           "--deliver", "300ms", "--pyroscope", f"http://127.0.0.1:{free_port()}", *args)
        began = time.monotonic()
        calls = self.call(caller, 1000)
        wait_for(lambda: self.figures(address)["samples_total"] == len(calls))
        return agent, caller, address, began, calls

    def test_what_may_wait_does(self):
        agent, caller, address, began, calls = self.run_with("--cpu-budget", "0.1")
        wait_for(lambda: self.figures(address)["budget_wait_seconds_total"] > 1)
        calls += self.call(caller, 500)
        wait_for(lambda: self.figures(address)["samples_total"] == len(calls))
        metrics = self.figures(address)
        status = subprocess.run(["curl", "-sS", f"http://{address}/status"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(status, r"at most 0\.1 % of a CPU</th><td>[0-9.]+ s; they have waited [0-9.]+ s")
        used = metrics["budget_spent_seconds_total"]
        self.assertGreater(used, 0)
        # What it had saved, what it got since, and a step that it had to let end: it is in debt.
        self.assertLess(used, 0.01 + 0.001 * (time.monotonic() - began) + 2)
        time.sleep(1)
        self.assertEqual(self.figures(address)["budget_spent_seconds_total"], used)
        self.assertIn(" 0 lost", self.end_in_time(agent))
        samples = self.samples(self.store)
        self.assertEqual(len(samples), len(calls))
        self.assertTrue(any("getppid" in (f["symbol"] or "") for s in samples for f in s["user_stack"]))

    def test_without_one_nothing_waits(self):
        agent, _, address, _, _ = self.run_with()
        metrics = self.figures(address)
        self.assertEqual((metrics["budget_spent_seconds_total"], metrics["budget_wait_seconds_total"]), (0, 0))
        self.end(agent)

    def test_what_is_wrong(self):
        for text in "x", "0", "-1", "5%":
            result = dwarfprof("agent", "--check", "--store", self.store, "--cpu-budget", text)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"--cpu-budget takes a share of a CPU in percent, not '{text}'", result.stderr)


if __name__ == "__main__":
    harness.main()
