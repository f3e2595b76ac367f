#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The versions of Go and of its debugger for the tests, from the Go module proxy.

usage: go_toolchains.py

Fetches those that are missing from Go's module cache and the user's cache. Any installed Go can
fetch them, and verifies their checksums.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

# Debian's oldest, the last one of each variant of the runtime, and the newest.
VERSIONS = {
    "1.19": "go1.19.13",
    "1.22": "go1.22.12",
    "1.24": "go1.24.9",
    "1.26": "go1.26.8",
    "1.27": "go1.27.4",
}

DELVE = "v1.27.2"


def environment(**more):
    """Ignores a toolchain that is set elsewhere, and modules around the programs."""
    inherited = {k: v for k, v in os.environ.items() if k != "GOROOT"}
    return dict(inherited, GOTOOLCHAIN="local", CGO_ENABLED="1", **more)


def make_executable(root):
    """Does what Go does when it first uses a toolchain: modules have no modes, and no nested
    modules."""
    if os.access(os.path.join(root, "bin", "go"), os.X_OK):
        return
    for name in ("src", "src/cmd"):
        directory = os.path.join(root, name)
        if os.path.exists(os.path.join(directory, "_go.mod")):
            os.chmod(directory, 0o755)
            shutil.copyfile(os.path.join(directory, "_go.mod"), os.path.join(directory, "go.mod"))
    for top in ("pkg/tool", "bin"):
        for directory, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                os.chmod(os.path.join(directory, name), 0o555)


def fetch(version):
    """The path of a version's go command."""
    module = f"golang.org/toolchain@v0.0.1-{VERSIONS[version]}.linux-amd64"
    # Outside of any module.
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(["go", "mod", "download", "-json", module], cwd=directory, text=True,
                              capture_output=True, env=environment(GO111MODULE="on"))
    said = json.loads(done.stdout) if done.stdout.strip() else {}
    if done.returncode != 0 or "Dir" not in said:
        sys.exit(f"{module} cannot be fetched: {said.get('Error', done.stderr.strip())}")
    make_executable(said["Dir"])
    return os.path.join(said["Dir"], "bin", "go")


def fetch_delve():
    """The path of Delve, Go's debugger, in its own directory in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    directory = os.path.join(cache, "dwarfprof-tests", f"delve-{DELVE}")
    path = os.path.join(directory, "dlv")
    if not os.path.exists(path):
        done = subprocess.run([fetch(max(VERSIONS)), "install", f"github.com/go-delve/delve/cmd/dlv@{DELVE}"],
                              text=True, capture_output=True, env=environment(GO111MODULE="on", GOBIN=directory))
        if done.returncode != 0:
            sys.exit(f"Delve cannot be fetched: {done.stderr.strip()}")
    return path


if __name__ == "__main__":
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(fetch, VERSIONS))
    fetch_delve()
