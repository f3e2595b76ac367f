# SPDX-License-Identifier: Apache-2.0
"""A local server of debug files like debuginfod, for tests."""
import contextlib
import http.server
import os
import re
import subprocess
import threading


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True,
                           check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


class Server:
    """Serves {build id: path}; `asked` has the requests. A silent one answers once `answers` is set."""

    def __init__(self, files, silent=False):
        server = self
        self.asked = []
        self.answers = threading.Event()
        self.ends = False

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                if silent:
                    server.answers.wait()
                if server.ends:
                    return
                match = re.fullmatch(r"/buildid/([0-9a-f]+)/debuginfo", self.path)
                path = match and files.get(match[1])
                self.send_response(200 if path else 404)
                self.send_header("Content-Length", str(os.path.getsize(path) if path else 0))
                self.end_headers()
                if path:
                    with open(path, "rb") as file:
                        with contextlib.suppress(BrokenPipeError):
                            self.wfile.write(file.read())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def environment(self, directory):
        """The environment for using it, with a cache in that directory."""
        return dict(os.environ, DEBUGINFOD_URLS=f"http://127.0.0.1:{self.server.server_port}",
                    DEBUGINFOD_CACHE_PATH=os.path.join(directory, "fetched"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ends = True
        self.answers.set()
        self.server.shutdown()
        self.server.server_close()
