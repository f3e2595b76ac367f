# SPDX-License-Identifier: Apache-2.0
"""Shared by the measurements: a description of the machine, storage of results, statistics."""
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../ci"))
import figures  # noqa: E402

# Every file needs it in its first lines.
LICENSE = {"license": "SPDX-License-Identifier: Apache-2.0"}


def first_line(*command):
    try:
        out = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return None
    lines = (out.stdout or out.stderr).splitlines()
    return lines[0] if lines else None


def describe():
    """The machine, and the versions of the programs measured."""
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    with open("/etc/os-release") as file:
        system = re.search(r'PRETTY_NAME="(.*)"', file.read())
    return {
        "time": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        "cpu": model[1] if model else platform.machine(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "kernel": platform.release(),
        "system": system[1] if system else None,
        "gcc": first_line("gcc", "--version"),
        "perf": first_line("perf", "--version"),
        "bpftrace": first_line("bpftrace", "--version"),
        "commit": figures.commit(),
    }


def write(directory, name, **results):
    """Writes results, with the machine, to DIRECTORY/NAME.json."""
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, f"{name}.json"), "w") as file:
        json.dump({**LICENSE, "machine": describe(), **results}, file, indent=1)
        file.write("\n")


def read(directory, name):
    """Reads results; None if there are none."""
    try:
        with open(os.path.join(directory, f"{name}.json")) as file:
            return json.load(file)
    except OSError:
        return None


def spread(values):
    """Median and quartiles of repeated measurements."""
    values = sorted(v for v in values if v is not None)
    if not values:
        return None
    if len(values) < 2:
        return {"median": values[0], "low": values[0], "high": values[0], "runs": 1}
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high, "runs": len(values)}
