# SPDX-License-Identifier: Apache-2.0
"""Requests of OpenTelemetry's profiles, as the collector's own code reads them, and samples of our
stream in the same form."""
import collections
import json
import os
import re
import subprocess
import sys

BACKENDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../ci/backends")
OWN = {"thread.id", "thread.name", "dwarfprof.outcome", "dwarfprof.state"}


def backend(name):
    """The path of a program of ci/backends."""
    path = os.path.join(BACKENDS, "bin", name)
    if not os.path.exists(path):
        sys.exit(f"{path} is missing; try: ci/setup backends")
    return path


def read(path):
    """The profiles of a request in a file. Its tables have no faults."""
    done = subprocess.run([backend("receiver"), path], capture_output=True, text=True, timeout=60, check=True)
    request = json.loads(done.stdout)
    assert request["faults"] is None, request["faults"][:5]
    return request["profiles"]


def plain(text):
    """Formats for terminals have no control characters."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", "?", text)


def is_mark(frame):
    """JIT code and functions of runtimes have no address either, but a language; of marks, only the kernel has a type."""
    lines = frame["lines"]
    return (frame["address"] == 0 and frame["mapping"] is None and
            frame["attributes"].get("profile.frame.type") in (None, "kernel") and
            len(lines) == 1 and lines[0]["function"].startswith("["))


def function(line):
    """Code without a name is called [file+0x12]."""
    name = line["function"]
    return None if name.startswith("[") and "+0x" in name else name


def frames(stack):
    """(name, source file without its directory, line, mapped file) of each function, and addresses."""
    found, addresses = [], []
    for frame in stack:
        if is_mark(frame):
            continue
        file = frame["mapping"] and frame["mapping"]["file"]
        lines = frame["lines"] or [{"function": "[+0x", "file": "", "line": 0}]
        for line in lines:
            found.append((function(line), os.path.basename(line["file"]), line["line"], file))
            addresses.append(frame["address"] if frame["address"] or file else None)
    return tuple(found), addresses


def streamed_frames(sample):
    """The same of a sample of the stream. A caller's address may be one more."""
    found, addresses = [], []
    for frame in sample["kernel_stack"]:
        found.append((frame["symbol"] and plain(frame["symbol"]), "", 0, "[kernel.kallsyms]"))
        addresses.append(int(frame["address"], 16))
    for frame in sample["user_stack"]:
        file = plain(frame["module"]) if frame["offset"] else None
        found.append((frame["symbol"] and plain(frame["symbol"]), os.path.basename(frame["file"] or ""),
                      frame["line"] or 0, file))
        has_address = frame["offset"] or frame["module"] is None
        addresses.append(int(frame["offset"] or frame["address"], 16) if has_address else None)
    return tuple(found), addresses


def labels(attributes):
    return tuple(sorted((key, str(value)) for key, value in attributes.items() if key not in OWN))


def streamed_labels(sample):
    """With the unit of those that have one; without those of a resource, which no sample has."""
    units = sample.get("label_units") or {}
    found = {}
    for key, value in (sample["labels"] or {}).items():
        if key == "-e":  # of several events, which the type says
            continue
        if key.startswith(("process.", "service.", "container.", "k8s.")):
            continue
        unit = units.get(key)
        found[plain(key)] = str([value, unit]) if unit else plain(value) if isinstance(value, str) else str(value)
    return tuple(sorted(found.items()))


def events(profile):
    """What each event of a profile has, without its value, and how often; and totals by that."""
    found, resource = collections.defaultdict(list), profile["resource"]
    for sample in profile["samples"]:
        own = sample["attributes"]
        stack, addresses = frames(sample["stack"])
        times = sample["times"] or [0]
        values = sample["values"] or [1] * len(times)
        assert len(values) == len(times)
        marks = [line["function"] for frame in sample["stack"] if is_mark(frame) for line in frame["lines"]]
        outcome = own.get("dwarfprof.outcome", "complete")
        assert (f"[truncated: {outcome}]" in marks) == (outcome not in ("complete", "kernel_only")), (marks, outcome)
        key = (resource["process.pid"], own["thread.id"], own["thread.name"], outcome, own.get("dwarfprof.state"),
               stack, labels(own))
        for time, value in zip(times, values):
            found[key].append((time, value, addresses))
    return found


def streamed(path, event=None):
    """The same of a stream's samples, or of those with this event."""
    found = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            sample = json.loads(line)
            if "time_ns" not in sample or (event and sample["event"] != event):
                continue
            stack, addresses = streamed_frames(sample)
            key = (sample["pid"], sample["tid"], plain(sample["thread_name"]), sample["outcome"], sample["state"],
                   stack, streamed_labels(sample))
            found[key].append((sample["time_ns"], sample["weight"], sample["value_ns"], addresses))
    return found


def by_type(profiles):
    """{(type, unit): events of all its profiles}"""
    found = {}
    for profile in profiles:
        to = found.setdefault(tuple(profile["type"]), collections.defaultdict(list))
        for key, several in events(profile).items():
            to[key] += several
    return found


def compare(test, found, wanted, value):
    """That events of a type are those of the stream, one by one where they have times. value: of one, in the
    type's unit, from its weight and its time."""
    test.assertEqual(found.keys(), wanted.keys())
    start = None
    for key, several in found.items():
        samples = sorted(wanted[key], key=lambda sample: sample[:3])
        test.assertEqual(sum(one[1] for one in several), sum(value(*sample[1:3]) for sample in samples))
        for time, one, addresses in sorted(several, key=lambda event: event[:2]):
            if time == 0:
                continue
            sample = samples.pop(0)
            # Their clocks differ by when the machine was started.
            start = start or time - sample[0]
            test.assertEqual((time - start, one), (sample[0], value(*sample[1:3])))
            for address, other in zip(addresses, sample[3]):
                if address is None or other is None:
                    test.assertEqual(address, other)
                else:
                    test.assertIn(other - address, (0, 1))
        test.assertTrue(not several[0][0] or not samples)
