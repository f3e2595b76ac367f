#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The URI as a label of nginx's samples, and each request as an event: what bpftrace sees at the same time, what the
server logs, and what its clients asked for.

usage: check_nginx.py DWARFPROF PROGRAM-DIR
"""
import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import bpftrace
import harness
from harness import children, start, wait_for, wait_until_it_says

NGINX = os.path.realpath("/usr/sbin/nginx")
REQUESTS, CLIENTS = 1500, 2
REQUEST_SIZE = 4096  # struct ngx_http_request_s has about 1400 bytes
RUN = "ngx_http_core_run_phases"  # ngx_http_handler() leaves its frame to it
CONFIGURATION = """
daemon off; worker_processes 1; user root; pid {0}/pid; error_log {0}/errors;
events {{ worker_connections 64; }}
http {{
  log_format uri "$request_uri"; access_log {0}/log uri; client_body_temp_path {0}; proxy_temp_path {0};
  fastcgi_temp_path {0}; uwsgi_temp_path {0}; scgi_temp_path {0};
  default_type text/plain; types {{ text/plain txt; }} gzip on; gzip_comp_level 9; gzip_min_length 1;
  keepalive_requests 100000;
  server {{
    listen 127.0.0.1:{1}; root {0};
    location / {{ try_files /text.txt =404; }}
    location /slow {{ gzip off; limit_rate 1000; try_files /text.txt =404; }}
  }}
}}
"""


class Nginx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            cls.port = free.getsockname()[1]
        with open(os.path.join(cls.directory, "text.txt"), "w") as file:
            file.write("".join(f"{i * i} lines of text\n" for i in range(5000)))
        with open(os.path.join(cls.directory, "conf"), "w") as file:
            file.write(CONFIGURATION.format(cls.directory, cls.port))
        server = subprocess.Popen([NGINX, "-c", os.path.join(cls.directory, "conf"), "-e", os.path.join(cls.directory, "errors")])
        cls.addClassCleanup(server.wait, 60)
        cls.addClassCleanup(server.terminate)
        wait_for(lambda: cls.answers() or server.poll() is not None)
        assert server.poll() is None, harness.read(os.path.join(cls.directory, "errors"))
        cls.worker, = children(server.pid)
        cls.uri = cls.find_uri()

    @classmethod
    def answers(cls):
        with contextlib.suppress(OSError):
            cls.get(["/begin"])
            return True
        return False

    @classmethod
    def get(cls, paths):
        connection = http.client.HTTPConnection("127.0.0.1", cls.port, timeout=60)
        for path in paths:
            connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
            assert connection.getresponse().read()
        connection.close()

    @classmethod
    def find_uri(cls):
        """Where a request has its URI, a length and a pointer: by the memory of one that is being answered."""
        path = os.path.join(cls.directory, "found.jsonl")
        profiler = start("-p", cls.worker, "-e", f"uprobe:{NGINX}:ngx_http_handler(request=arg1:x64)", "-o", path,
                         stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(profiler.stderr.close)
        wait_until_it_says(profiler, "sampling")
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", cls.port, timeout=60)) as connection:
            connection.request("GET", "/slow/which")
            connection.getresponse()
            profiler.send_signal(signal.SIGINT)
            assert profiler.wait(60) == 0
            with open(path) as file:
                request = int(json.loads(file.readline())["labels"]["request"], 16)
            with open(f"/proc/{cls.worker}/mem", "rb", 0) as memory:
                memory.seek(request)
                words = struct.unpack(f"<{REQUEST_SIZE // 8}Q", memory.read(REQUEST_SIZE))
                for i, (length, pointer) in enumerate(zip(words, words[1:])):
                    with contextlib.suppress(OSError, OverflowError):
                        memory.seek(pointer)
                        if length == len("/slow/which") and memory.read(length) == b"/slow/which":
                            return 8 * i
        raise AssertionError("no URI")

    def ask(self, name, n):
        """Each client's requests are its own."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            paths = [[f"/{name}/{client}/{i}" for i in range(n)] for client in range(CLIENTS)]
            list(pool.map(self.get, paths))
        return collections.Counter(sum(paths, []))

    def run_beside(self, script, name, n, *options):
        """Returns samples, bpftrace's lines, and what was asked for."""
        path = os.path.join(self.directory, f"{name}.jsonl")
        with bpftrace.Bpftrace(script) as peer:
            profiler = start("-p", self.worker, "-o", path, *options, stderr=subprocess.PIPE, text=True)
            wait_until_it_says(profiler, "sampling")
            asked = self.ask(name, n)
            profiler.send_signal(signal.SIGINT)
            said = profiler.communicate(timeout=180)[1]
            self.assertEqual(profiler.returncode, 0, said)
        self.assertIn(" 0 lost", said)
        with open(path) as file:
            return [json.loads(line) for line in file], peer.lines, asked

    def probe(self, function):
        return f"{NGINX}:{function}(uri=arg1->{self.uri + 8}:bytes[arg1->{self.uri}])"

    def text(self):
        return f"str(*(uint64 *)(arg0 + {self.uri + 8}), *(uint64 *)(arg0 + {self.uri}))"

    def test_requests_as_events(self):
        samples, lines, asked = self.run_beside(f'uprobe:{NGINX}:ngx_http_handler {{ printf("%s\\n", {self.text()}); }}', "event",
                                                REQUESTS, "-e", f"uprobe:{self.probe('ngx_http_handler')}")
        samples.sort(key=lambda s: s["time_ns"])
        self.assertEqual([pair for pair in zip((s["labels"]["uri"] for s in samples), lines, strict=True) if pair[0] != pair[1]][:9], [])
        self.assertEqual(collections.Counter(lines), asked)
        with open(os.path.join(self.directory, "log")) as file:
            logged = collections.Counter(line.strip() for line in file if line.startswith("/event/"))
        self.assertEqual(logged, asked)
        print(f"{len(lines)} requests", flush=True)

    def test_uri_as_label(self):
        script = f"""uprobe:{NGINX}:{RUN} {{ printf("S %d %llu %s\\n", pid, nsecs, {self.text()}); }}
                     uretprobe:{NGINX}:{RUN} {{ printf("E %d %llu \\n", pid, nsecs); }}"""
        samples, lines, _ = self.run_beside(script, "label", 10 * REQUESTS, "-F", "2999", "--probe", f"label:{self.probe(RUN)}")
        # At first, the kernel has no tables of the process.
        samples = [s for s in samples if s["time_ns"] > samples[0]["time_ns"] + 1e9]
        times, found = bpftrace.Intervals(lines, "S", "E"), collections.Counter()
        for s in samples:
            uri, label = times.at(s["pid"], s["time_ns"]), (s["labels"] or {}).get("uri")
            if label == "<unknown>" and s["outcome"] == "uretprobe":
                found["at bpftrace's return probe"] += 1
            elif label == "<unknown>" and (s["late"] or s["outcome"] != "complete"):
                found["unknown"] += 1
            elif any(frame["symbol"] == RUN for frame in s["user_stack"][1:]):
                self.assertEqual(label, uri, s)
                found["right"] += 1
            else:
                self.assertIn(label, (None, uri), s)
                found["none" if label is None else "at the begin or end"] += 1
        print(dict(found), flush=True)
        self.assertGreater(found["right"], 1000)
        self.assertGreater(found["none"], 100)
        self.assertLess(found["unknown"], found["right"] / 50)


if __name__ == "__main__":
    if not os.path.exists(NGINX) or not shutil.which("bpftrace"):
        sys.exit(77)  # skipped: `ci/setup bench` installs them
    harness.main()
