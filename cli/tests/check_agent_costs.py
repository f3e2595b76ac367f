#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent does so that it costs little, and what it says of that.

usage: check_agent_costs.py DWARFPROF PROGRAM-DIR
"""
import os

import harness
from agents import Agent, free_port
from harness import read, wait_for


def nice_of(path):
    """Of a thread, or of a process's first one: field 19 of proc_pid_stat(5). 0: it has ended."""
    fields = read(f"{path}/stat").rpartition(")")[2].split()
    return int(fields[16]) if fields else 0


def threads(pid):
    """Their priorities, by name."""
    return {read(f"/proc/{pid}/task/{tid}/comm").strip(): nice_of(f"/proc/{pid}/task/{tid}") for tid in os.listdir(f"/proc/{pid}/task")}


def helpers(pid):
    """The priorities of all processes below one, by the kind of helper."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        for child in read(f"/proc/{pid}/task/{tid}/children").split():
            found[" ".join(read(f"/proc/{child}/cmdline").split("\0")[1:2])] = nice_of(f"/proc/{child}")
            found |= helpers(child)
    return found


class Costs(Agent):
    def setUp(self):
        super().setUp()
        self.address = f"127.0.0.1:{free_port()}"

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
