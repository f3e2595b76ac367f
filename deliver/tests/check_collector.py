#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real OpenTelemetry collector between us and the receiver: it takes what is delivered, and what it passes on
is the same.

Usage: check_collector.py DELIVER_FILES REPORT_FEED

The first run builds the collector that ci/backends/collector.yaml describes, in some minutes, into the user's cache.
"""
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cli/tests"))
import go_toolchains  # noqa: E402
import otlp  # noqa: E402
from harness import wait_for  # noqa: E402

DELIVER, FEED = map(os.path.abspath, sys.argv[1:3])
VERSION = "v0.165.0"
CONFIG = """
receivers: {otlp: {protocols: {grpc: {endpoint: "%s:4317"}, http: {endpoint: "%s:4318"}}}}
exporters: {otlp: {endpoint: "127.0.0.1:%d", tls: {insecure: true}, sending_queue: {enabled: false}}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [otlp]}}
"""


def build():
    """The path of the collector."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = os.path.join(cache, "dwarfprof-tests", f"collector-{VERSION}", "collector")
    if os.path.exists(path):
        return path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    go = go_toolchains.fetch("1.26")
    with tempfile.TemporaryDirectory() as directory:
        environment = go_toolchains.environment(GO111MODULE="on", GOBIN=directory)
        environment["PATH"] = os.path.dirname(go) + ":" + environment["PATH"]
        subprocess.run([go, "install", f"go.opentelemetry.io/collector/cmd/builder@{VERSION}"], check=True, env=environment)
        subprocess.run([os.path.join(directory, "builder"), "--config", os.path.join(otlp.BACKENDS, "collector.yaml"),
                        "--output-path", os.path.join(directory, "out")], check=True, env=environment)
        shutil.move(os.path.join(directory, "out", "collector"), path + ".new")
    os.rename(path + ".new", path)
    return path


def own_address():
    """One of this host whose ports nobody else takes meanwhile."""
    return "127." + ".".join(str(random.randrange(1, 255)) for _ in range(3))


def answers(*address):
    with socket.socket() as probe:
        return probe.connect_ex(address) == 0


class Collector(unittest.TestCase):
    def run_until_end(self, *command):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def test_it_passes_on_what_it_got(self):
        binary = build()
        with tempfile.TemporaryDirectory() as directory, open(os.path.join(directory, "log"), "w+", encoding="utf-8") as self.log:
            receiver = self.run_until_end(otlp.backend("receiver"), "-serve", directory)
            ports = json.loads(receiver.stdout.readline())
            host = own_address()
            config = os.path.join(directory, "config.yaml")
            with open(config, "w", encoding="utf-8") as file:
                file.write(CONFIG % (host, host, ports["grpc"]))
            self.run_until_end(binary, "--feature-gates=+service.profilesSupport", "--config", config)
            wait_for(lambda: answers(host, 4317) and answers(host, 4318))
            requests = [os.path.join(directory, f"{mode}.otlp") for mode in ("cpu", "wall", "calls", "events")]
            for request in requests:
                subprocess.run([FEED, os.path.basename(request)[:-5], "600", request], check=True, stdout=subprocess.DEVNULL)
            for url in f"grpc://{host}:4317", f"http://{host}:4318":
                commands = "".join(f"put {request}\n" for request in requests) + "stop 20000\n"
                subprocess.run([DELIVER, f"url={url}"], input=commands, text=True, check=True, stdout=subprocess.DEVNULL)
            got = []  # with tables of the collector's own, whose faults are not ours
            for n in range(2 * len(requests)):
                path = os.path.join(directory, f"{n}.json")
                self.assertTrue(os.path.exists(path), self.said())
                with open(path, encoding="utf-8") as file:
                    got.append(json.load(file))
            self.assertEqual([request["profiles"] for request in got], [otlp.read(request) for request in requests] * 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
