#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent costs in user space has not grown grossly: a fixed share of a CPU, and so much for each
process or thread that is made and each sample of the whole machine; several times of what a busy
machine showed. And its memory.

usage: check_agent_cost.py BUILD
"""
import sys
import types

import agent

SHARE, PER_CLONE, PER_SAMPLE = 0.02, 1.2e-3, 0.5e-3  # of a CPU; CPU seconds
PRIVATE_KIB, MAP_KIB = 128 << 10, 64 << 10


def main():
    result = agent.measure(types.SimpleNamespace(build=sys.argv[1], freq=19, starts=50, settle=0), "churn", 20)
    agent.show("churn", result, True)
    steady = result["steady"]
    private, maps = (max(m[what] for m in result["memory"]) for what in ("private_kib", "map_kib"))
    allowed = SHARE * steady["seconds"] + PER_CLONE * steady["clones"] + PER_SAMPLE * steady["samples"]
    print(f"{steady['cpu_seconds']:.2f} s, allowed are {allowed:.2f}")
    return not (steady["cpu_seconds"] <= allowed and steady["samples"] > 0 and
                private <= PRIVATE_KIB and 0 < maps <= MAP_KIB)


if __name__ == "__main__":
    sys.exit(main())
