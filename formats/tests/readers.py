# SPDX-License-Identifier: Apache-2.0
"""Synthetic reports, and readers of them."""
import collections
import os
import re
import subprocess

SAMPLES = 5000


def write_reports(program, directory, kind, *formats):
    """Writes the same synthetic samples in these formats (write_reports.c); returns the files."""
    with open(os.path.join(directory, "kallsyms"), "w") as file:
        file.write("ffffffff81000000 T one\nffffffff81000100 T two\n")
    subprocess.run([program, directory, str(SAMPLES), kind, *formats], check=True)
    return [os.path.join(directory, name) for name in formats]


def without_offsets(stack):
    """Functions without a name are called by their file alone."""
    return re.sub(r"\[([^];]*)\+0x[0-9a-f]+\]", r"[\1]", stack)


def read_folded(path):
    """Values by stack, without_offsets(), and the totals in the last line."""
    stacks = collections.Counter()
    with open(path) as file:
        *lines, totals = file.read().splitlines()
    for line in lines:
        stack, _, value = line.rpartition(" ")
        if stack == "[lost samples]":
            continue
        stack = re.sub(r";0x7f[0-9a-f]+", ";<unknown>", without_offsets(stack))
        stacks[stack] += int(value)
    return stacks, totals


def put_stack(comm, names):
    """A line of folded stacks; the names are from the leaf."""
    comm = re.sub(r"\s", "_", comm).replace(";", ":") or "?"
    return ";".join([comm, *(name.replace(";", ":") for name in reversed(names))])


def go_pprof(directory, *args):
    # Since Go 1.25 it is compiled on first use, and kept with Go's other versions.
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # Otherwise nothing outside the directory, and nothing in the network, is used.
    environment = {**os.environ, "HOME": directory, "GOPATH": directory,
                   "GOCACHE": os.path.join(cache, "dwarfprof-tests", "go-build"),
                   "PPROF_TMPDIR": directory, "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    return subprocess.run(["go", "tool", "pprof", *args], capture_output=True, text=True,
                          check=True, env=environment, cwd=directory).stdout


def read_go(text):
    """What `pprof -raw` prints."""
    head, rest = text.split("Samples:\n")
    samples_text, rest = rest.split("Locations\n")
    locations_text, mappings_text = rest.split("Mappings\n")
    mappings = {}
    for line in mappings_text.splitlines():
        number, _, rest = line.partition(": ")
        match = re.fullmatch(r"0x([0-9a-f]+)/0x([0-9a-f]+)/0x[0-9a-f]+ (.*?) ?([0-9a-f]*) ?(?:\[\w\w\])*", rest)
        mappings[int(number)] = (match[3].rstrip(), int(match[1], 16), int(match[2], 16))
    locations = {}
    for line in locations_text.splitlines():
        match = re.match(r" *(\d+): 0x([0-9a-f]+) (?:M=(\d+) )?", line)
        if match:
            mapping = mappings[int(match[3])] if match[3] else None
            current = {"address": int(match[2], 16), "mapping": mapping[0] if mapping else None, "lines": []}
            locations[int(match[1])] = current
            if mapping:
                assert mapping[1] <= current["address"] < mapping[2], line
        name = re.match(r"(.+) (\S*):\d+ s=0(?:\(.*\))?$", line[match.end():].strip() if match else line.strip())
        if name:
            current["lines"].append(name[1])
    types, *lines = samples_text.splitlines()
    samples = []
    for line in lines:
        match = re.match(r" *([\d ]+): ([\d ]*)$", line)
        if match:
            samples.append({"values": [int(v) for v in match[1].split()], "labels": {},
                            "frames": [locations[int(i)] for i in match[2].split()]})
        else:
            samples[-1]["labels"].update(re.findall(r"(\w+):\[([^\]]*)\]", line))
    return {"types": re.sub(r"\[dflt\]", "", types).split(), "samples": samples,
            "comments": re.findall(r"(?m)^Comment: (.*)$", head)}
