#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: symbols.py SHOW_PLACES PROGRAM [SECONDS]

The time to find functions, inlined functions and lines of all addresses of PROGRAM (made by
symbols/tests/make_program.py) in a recording by perf: by the symbols library, addr2line,
eu-addr2line and llvm-addr2line, and by perf script, with and without inlined functions. The first
line has the library's CPU time, with nothing known and with everything known. The next two have it
for a second recording, and for its addresses that are not in the first one, which a cache on disk
cannot answer. Then come the first recording again, by a process that keeps names on disk and one
that finds them there, and the time of each other command.
"""

import os
import re
import subprocess
import sys
import tempfile
import time


def run(*command, **options):
    """Runs a command. Returns its output and time; perf does not wait for its addr2line."""
    start = time.monotonic()
    out = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                         **options).stdout
    return out, time.monotonic() - start


def addresses(recording, path):
    """The distinct addresses in PROGRAM, in its own address space, as perf reports them."""
    out, _ = run("perf", "script", "--no-inline", "-F", "ip,dso,event", "-i", recording)
    found = re.findall(r"^\s+([0-9a-f]+) \((.*)\)$", out, re.M)
    return list(dict.fromkeys(int(address, 16) for address, file in found if file == path))


def record(path, seconds, recording):
    """Records the addresses that perf samples."""
    run("perf", "record", "-q", "-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf",
        "-o", recording, "--", path, seconds)
    return addresses(recording, path)


def as_text(wanted):
    return "".join(f"0x{a:x}\n" for a in wanted)


def main():
    show, path = sys.argv[1], os.path.realpath(sys.argv[2])
    seconds = sys.argv[3] if len(sys.argv) > 3 else "2"
    with tempfile.TemporaryDirectory() as directory:
        recording = os.path.join(directory, "perf.data")
        again = record(path, seconds, recording)
        wanted = record(path, seconds, recording)
        text = as_text(wanted)
        for name, some in (("symbols", wanted), ("again", again),
                           ("again, new", [a for a in again if a not in set(wanted)])):
            out, _ = run(show, "-t", "100", path, input=as_text(some))
            print(f"{name:15} {out.strip()}")
        # The last one is a process that finds on disk everything that the one before kept.
        for name in "keep", "from disk":
            out, _ = run(show, "-t", "1", "-c", os.path.join(directory, "cache"), path, input=text)
            print(f"{name:15} {out.strip()}")
        out, took = run(show, path, input=text)
        print(f"show_locations     {(len(out.splitlines()) - len(wanted)) // 2} locations: "
              f"{took * 1e3:.0f} ms")
        for tool in "addr2line", "eu-addr2line", "llvm-addr2line":
            out, took = run(tool, "-a", "-i", "-f", "-e", path, input=text)
            print(f"{tool:15} {(len(out.splitlines()) - len(wanted)) // 2} locations: "
                  f"{took * 1e3:.0f} ms")
        out, plain = run("perf", "script", "--no-inline", "-i", recording)
        samples = out.count("cpu-clock")
        print(f"perf script     {samples} samples, without inlined functions: {plain * 1e3:.0f} ms")
        out, took = run("perf", "script", "-i", recording)
        print(f"perf script     {samples} samples, {out.count('(inlined)')} inlined functions: "
              f"{took * 1e3:.0f} ms")


main()
