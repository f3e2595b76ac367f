#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `dwarfprof dump` shows of JavaScript with what node's inspector does at the same moment.

usage: check_inspector.py [--pauses N] [--seed N] [--show] DWARFPROF [NODE...]

The inspector pauses programs of random chains of calls (check_node.py) at moments that it does not choose. A
paused program waits for the inspector inside the function that was interrupted, with all its callers: these have
to be the same functions, in order, at the same lines and columns. But the innermost is where the inspector would
go on, which may be behind the place that it has reached: its line is not compared. Of functions that the debugger
has prepared to be interrupted, dwarfprof knows no file: SHARE of all at least must have theirs.

Programs run with each mode of check_node.py. Where functions are inlined, pausing has V8 give up the code that they are
inlined in, and what it was made of: they may be missing then, in order.
"""
import argparse
import base64
import json
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import check_node

TIMEOUT = 300
SHARE = 0.7
INLINES = ("default", "inlined")
# Builtins, which the inspector leaves out.
BUILTINS = check_node.BUILTINS | {"push", "now", "hrtime"}


class Inspector:
    """Speaks the protocol of https://chromedevtools.github.io/devtools-protocol/v8/, by WebSocket (RFC 6455)."""

    def __init__(self, port, path):
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
        self.file = self.stream.makefile("rb")
        self.n = 0
        self.files = {}
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        assert b" 101 " in self.file.readline()
        while self.file.readline().strip():
            pass

    def send(self, method, **parameters):
        self.n += 1
        text = json.dumps({"id": self.n, "method": method, "params": parameters}).encode()
        assert len(text) < 126
        self.stream.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)  # the mask is 0

    def receive(self):
        size = self.file.read(2)[1]
        if size > 125:
            size = struct.unpack(">H" if size == 126 else ">Q", self.file.read(2 if size == 126 else 8))[0]
        message = json.loads(self.file.read(size))
        if message.get("method") == "Debugger.scriptParsed":
            self.files[message["params"]["scriptId"]] = message["params"]["url"].removeprefix("file://")
        return message

    def wait(self, method):
        while (message := self.receive()).get("method") != method:
            assert "error" not in message, message
        return message["params"]

    def pause(self):
        """The functions with their files, lines and columns, innermost first."""
        self.send("Debugger.pause")
        frames = [(f["functionName"], f["location"]) for f in self.wait("Debugger.paused")["callFrames"]]
        return [(plain(name) or "(anonymous)", self.files[at["scriptId"]], at["lineNumber"] + 1, at["columnNumber"] + 1)
                for name, at in frames]

    def resume(self):
        self.send("Debugger.resume")
        self.wait("Debugger.resumed")


def plain(name):
    """Without the class, or what it is called as."""
    return re.sub(r" \[as .*\]$", "", name or "").rpartition(".")[2]


def dump(dwarfprof, pid, directory):
    """The functions of the main thread."""
    path = f"{directory}/dump"
    subprocess.run([dwarfprof, "dump", "-p", str(pid), "--format", "jsonl", "-o", path], check=True, stderr=subprocess.PIPE)
    with open(path, encoding="utf-8") as file:
        sample = next(s for s in map(json.loads, file) if s["tid"] == pid)
    frames = [(plain(f["symbol"]), f["file"], f["line"], f["column"]) for f in sample["user_stack"] if f["kind"] == "javascript"]
    return [f for f in frames if f[1] or f[0] not in BUILTINS]


def is_equal(ours, theirs, may_lack_some):
    if may_lack_some and len(ours) < len(theirs):
        return check_node.is_part([f[0] for f in ours], [f[0] for f in theirs])
    if [f[0] for f in ours] != [f[0] for f in theirs]:
        return False
    return all(mine[1] is None or mine[1:i and 4 or 2] == its[1:i and 4 or 2] for i, (mine, its) in enumerate(zip(ours, theirs)))


def start(node, flags, path):
    process = subprocess.Popen([node, "--inspect=127.0.0.1:0", *flags, path], stderr=subprocess.PIPE, text=True)
    said = process.stderr.readline()
    found = re.search(r"ws://127.0.0.1:(\d+)(/\S+)", said)
    if not found:
        process.kill()
        sys.exit(f"{node}: {said}")
    return process, Inspector(int(found[1]), found[2])


def check(args, node, mode, rng):
    program, _, _ = check_node.generate(rng, TIMEOUT, mode == "inlined")
    equal = different = placed = n = 0
    with tempfile.TemporaryDirectory() as directory:
        path = f"{os.path.realpath(directory)}/chain.js"
        with open(path, "w", encoding="utf-8") as file:
            file.write(program)
        process, inspector = start(node, check_node.flags_of(node, mode), path)
        try:
            inspector.send("Debugger.enable")
            time.sleep(check_node.WARM_UP)
            for _ in range(args.pauses):
                time.sleep(rng.random() * 0.02)
                theirs = inspector.pause()
                ours = dump(args.dwarfprof, process.pid, directory)
                inspector.resume()
                good = is_equal(ours, theirs, mode in INLINES)
                equal, different = equal + good, different + (not good)
                placed, n = placed + sum(f[1] is not None for f in ours), n + len(ours)
                if args.show and not good:
                    print("inspector:", *theirs, "ours:", *ours, sep="\n    ")
        finally:
            process.kill()
            process.wait()
    print(f"{node} {mode}: {equal} stacks are equal, {different} different; {placed} of {n} functions have places", flush=True)
    return different == 0 and placed >= SHARE * n > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pauses", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("dwarfprof")
    parser.add_argument("nodes", nargs="*")
    args = parser.parse_args()
    nodes = args.nodes or [n for n in [shutil.which("node")] if n]
    if os.geteuid() != 0 or not nodes:
        return 77
    rng = random.Random(args.seed)
    results = [check(args, os.path.realpath(node), mode, rng) for node in nodes for mode in check_node.MODES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
