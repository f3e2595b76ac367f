#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real runs, written as requests of OpenTelemetry's profiles, and read by the collector's own code.

Their samples are compared, one by one, with those of the stream, which other tests compare with other
programs; what only a request has, with the machine.
"""
import collections
import hashlib
import os
import re
import subprocess
import tempfile
import time
import unittest

import chance
import go_toolchains
import harness
import otlp
from harness import Target, busy, dwarfprof, program

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
# A service that says what it works on.
SERVICE = f"""package main

import (
	"context"
	"runtime/pprof"
)

var sum int

//go:noinline
func spin() {{
	for {{
		sum++
	}}
}}

func main() {{
	labels := pprof.Labels("trace_id", "{TRACE}", "span_id", "{SPAN}", "service.name", "shop", "route", "/login", "thread.id", "x")
	pprof.Do(context.Background(), labels, func(context.Context) {{ spin() }})
}}
"""


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    return found and found[1]


def file_hash(path):
    """OpenTelemetry's rule for process.executable.build_id.htlhash."""
    with open(path, "rb") as file:
        data = file.read()
    return hashlib.sha256(data[:4096] + data[-4096:] + len(data).to_bytes(8, "big")).hexdigest()[:32]


class Requests(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def record(self, *args, of, seconds=0.6):
        recording = self.path("x.dwarfprof")
        command = [harness.DWARFPROF, *args, "-F", "499", "-o", self.path("x.otlp"), "-o", recording]
        result, = harness.run_at_once(command, of=of, seconds=seconds)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        for name in "again.otlp", "x.jsonl":
            done = dwarfprof("convert", recording, "-o", self.path(name))
            self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("x.otlp"), "rb") as one, open(self.path("again.otlp"), "rb") as other:
            self.assertEqual(one.read(), other.read())
        return otlp.read(self.path("x.otlp"))

    def test_inlined_functions(self):
        before = time.time()
        with Target(program("inlined"), "60") as pid:
            profile, = self.record("-p", pid, of=[pid])
        self.assertEqual((profile["type"], profile["period_type"], profile["period"]),
                         (["samples", "count"], ["cpu", "nanoseconds"], 1000000000 // 499))
        self.assertTrue(before <= profile["start"] / 1e9 <= profile["start"] / 1e9 + profile["duration"] / 1e9
                        <= time.time())
        found = otlp.by_type([profile])["samples", "count"]
        otlp.compare(self, found, otlp.streamed(self.path("x.jsonl")), lambda weight, ns: weight)
        stacks = collections.Counter()
        for (*_, stack, _), several in found.items():
            stacks[tuple(frame[0] for frame in stack[:4])] += len(several)
        self.assertGreater(stacks["mix", "mix_many", "work", "main"], sum(stacks.values()) / 4)

    def test_processes_and_files(self):
        with Target(program("inlined"), "60") as one, busy() as two:
            profiles = self.record("-p", f"{one},{two}", of=[one, two])
            wanted = {int(pid): os.readlink(f"/proc/{pid}/exe") for pid in (one, two)}
        self.assertEqual({p["resource"]["process.pid"]: p["resource"]["process.executable.path"] for p in profiles}, wanted)
        for profile in profiles:
            resource, name = profile["resource"], os.path.basename(wanted[profile["resource"]["process.pid"]])
            self.assertEqual((resource["host.name"], resource["process.executable.name"], resource["service.name"]),
                             (os.uname().nodename, name, name))
            self.assertEqual(profile["scope"], "dwarfprof")
        self.assertEqual(len({profile["id"] for profile in profiles}), 2)
        self.assertNotIn("0" * 32, {profile["id"] for profile in profiles})
        seen = set()
        for frame in (f for p in profiles for s in p["samples"] for f in s["stack"] if not otlp.is_mark(f)):
            mapping = frame["mapping"]
            kernel = mapping["file"] == "[kernel.kallsyms]"
            self.assertEqual(frame["attributes"], {"profile.frame.type": "kernel" if kernel else "native"})
            if not mapping["file"].startswith("["):
                seen.add((mapping["file"], *(mapping["attributes"].get(f"process.executable.build_id.{kind}")
                                             for kind in ("gnu", "htlhash"))))
        self.assertEqual(seen, {(path, build_id(path), file_hash(path)) for path, *_ in seen})
        self.assertTrue({os.path.basename(path) for path, *_ in seen} >= {"inlined", "libc.so.6"}, seen)

    def test_labels_and_frames_of_go(self):
        with open(self.path("main.go"), "w", encoding="utf-8") as file:
            file.write(SERVICE)
        subprocess.run([go_toolchains.fetch("1.24"), "build", "-o", self.path("service"), self.path("main.go")],
                       check=True, env=go_toolchains.environment(GO111MODULE="off"), timeout=170)
        with Target(self.path("service")) as pid:
            profiles = self.record("-p", pid, of=[pid], seconds=1)
        found = collections.Counter()
        for profile in profiles:
            for sample in profile["samples"]:
                names = [line["function"] for frame in sample["stack"] for line in frame["lines"]]
                if "main.spin" not in names:
                    continue
                go = {frame["attributes"].get("profile.frame.type") for frame in sample["stack"]
                      if any(line["function"].startswith(("main.", "runtime.")) for line in frame["lines"])}
                found[profile["resource"]["service.name"], sample["trace_id"], sample["span_id"],
                      *otlp.labels(sample["attributes"]), *go] += len(sample["times"])
        main, n = found.most_common(1)[0]
        self.assertEqual(main, ("shop", TRACE, SPAN, ("label:thread.id", "x"), ("route", "/login"), "go"))
        # Up to one in 200 is of a moment before the labels are set.
        n_all = sum(found.values())
        self.assertTrue(chance.is_rare(n_all - n, n_all, 0.005, 0.05), found)

    def test_time_of_threads_that_run_or_wait(self):
        with Target("/usr/bin/perl", "-e", "while (1) { for (1..20000) {} select undef, undef, undef, 0.001 }") as pid:
            profiles = self.record("-p", pid, "--wall", of=[pid])
        types = {tuple(p["type"]): tuple(p["period_type"]) for p in profiles}
        self.assertEqual(types, {("samples", "count"): ("cpu", "nanoseconds"), ("off_cpu", "nanoseconds"): ("", ""),
                                 ("wall", "nanoseconds"): ("wall", "nanoseconds")})
        found, path = otlp.by_type(profiles), self.path("x.jsonl")
        off_cpu, everything = otlp.streamed(path, "off-cpu"), otlp.streamed(path)
        self.assertGreater(sum(map(len, off_cpu.values())), 20)
        otlp.compare(self, found["off_cpu", "nanoseconds"], off_cpu, lambda weight, ns: weight * ns)
        otlp.compare(self, found["wall", "nanoseconds"], everything, lambda weight, ns: weight * ns)
        on_cpu = {key: several for key, several in everything.items() if key[4] is None}
        otlp.compare(self, found["samples", "count"], on_cpu, lambda weight, ns: weight)


if __name__ == "__main__":
    harness.main()
