# SPDX-License-Identifier: Apache-2.0
"""Reads reports as other programs do. Each function says what its total is in."""
import gzip
import json
import os
import re
import subprocess
import tempfile
import time
import xml.etree.ElementTree

VIEWERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../ci/viewers/node_modules")
SPEEDSCOPE = os.path.join(VIEWERS, "speedscope/dist/release")
PROFILER_CLI = os.path.join(VIEWERS, "@firefox-devtools/profiler-cli/dist/profiler-cli.js")


def html_is_there(dwarfprof):
    """Was the viewer of HTML reports there when the program was built?"""
    return "this build has no viewer" not in dwarfprof("convert", os.devnull, "--format", "html", "-o", os.devnull).stderr


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def folded(path):
    """flamegraph.pl's rules: the number follows the last space, and `;` separates frames."""
    stacks = {}
    for line in text(path).splitlines():
        match = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
        assert match, line
        stack = tuple(match[1].split(";"))
        stacks[stack] = stacks.get(stack, 0) + int(match[2])
    return stacks


def perf_script(path):
    """stackcollapse-perf.pl's rules: stacks, root first, with the sum of their periods.

    The name is what precedes the first number; an event line ends with `PERIOD EVENT:`; a frame is
    an address, a name, and a file in brackets; an empty line ends a stack.
    """
    stacks, stack, comm, period, events = {}, [], None, 0, set()
    for line in text(path).splitlines():
        if line.startswith("#"):
            continue
        frame = re.match(r"^\s*(\w+)\s*(.+) \((.*)\)", line)
        event = re.match(r"^(\S.+?)\s+(\d+)/*(\d+)*\s+", line)
        if not line.strip():
            if comm is not None and stack:
                key = (comm, *reversed(stack))
                stacks[key] = stacks.get(key, 0) + period
            stack, comm = [], None
        elif event and not line[0].isspace():
            comm = event[1].replace(" ", "_")
            ending = re.search(r":\s*(\d+)*\s+(\S+):\s*$", line)
            assert ending, line
            period = int(ending[1])
            events.add(ending[2])
        else:
            assert frame and comm is not None, line
            name = re.sub(r"\+0x[\da-f]+$", "", frame[2])
            if name == "[unknown]" and frame[3] != "[unknown]":
                name = "[" + frame[3].rpartition("/")[2] + "]"
            stack.append(name + ("_[i]" if frame[3] == "inlined" else ""))
    # It uses the first event and ignores others.
    assert len(events) <= 1, events
    return stacks


def speedscope(path):
    """Validated by speedscope's own schema; returns the profile of all threads, and each
    thread's."""
    import jsonschema  # the machines of ci/kernels have none, and need other parts of this file

    profile = load(path)
    jsonschema.validate(profile, load(os.path.join(SPEEDSCOPE, "file-format-schema.json")))
    names = [frame["name"] for frame in profile["shared"]["frames"]]
    assert profile["activeProfileIndex"] == 0
    profiles = []
    for p in profile["profiles"]:
        assert len(p["samples"]) == len(p["weights"])
        assert p["endValue"] - p["startValue"] == sum(p["weights"])
        stacks = {}
        for sample, weight in zip(p["samples"], p["weights"]):
            key = tuple(names[i] for i in sample)
            stacks[key] = stacks.get(key, 0) + weight
        profiles.append({"name": p["name"], "unit": p["unit"], "stacks": stacks})
    return profile["name"], profiles


def svg(path):
    """Uses an XML parser: returns boxes as (title, x, y, width), and the text of its head."""
    root = xml.etree.ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    boxes = [(g.find(space + "title").text,
              *(float(g.find(space + "rect").get(key)) for key in ("x", "y", "width")))
             for g in root.iter(space + "g")]
    return boxes, [text.text for text in root.findall(space + "text")]


def profiler(path):
    """Samples of each thread by name, as the Firefox Profiler counts them in a file."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "HOME": directory, "PROFILER_CLI_SESSION_DIR": directory}

        def run(*args):
            return subprocess.run(["node", PROFILER_CLI, *args], capture_output=True, text=True,
                                  timeout=120, env=environment)

        def ask(*args):
            """Its server may not be ready yet when `load` stops waiting."""
            end = time.monotonic() + 60
            result = run(*args, "--json")
            while result.returncode != 0 and time.monotonic() < end:
                time.sleep(0.2)
                result = run(*args, "--json")
            assert result.returncode == 0, (args, result.stdout, result.stderr)
            return json.loads(result.stdout)

        run("load", path)
        try:
            threads = {}
            for thread in ask("thread", "list")["threads"]:
                samples = ask("thread", "samples", "--thread", thread["threadHandle"])
                threads[(thread["name"], thread["pid"], thread["tid"])] = samples
            return threads
        finally:
            run("stop")


def profiler_total(path):
    """The weight of all samples."""
    return sum(thread["categoryBreakdown"]["totalSamples"] for thread in profiler(path).values())


def firefox(path):
    """Checks that all references exist; returns (thread, weight type, stacks, times) of each
    thread."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        profile = json.load(file)
    strings = profile["shared"]["stringArray"]
    threads = []
    for thread in profile["threads"]:
        for table in "samples", "stackTable", "frameTable", "funcTable", "resourceTable":
            for name, column in thread[table].items():
                if isinstance(column, list):
                    assert len(column) == thread[table]["length"], (table, name)
        frames, functions, nodes = (thread[t] for t in ("frameTable", "funcTable", "stackTable"))
        stacks = []
        for i, (frame, prefix) in enumerate(zip(nodes["frame"], nodes["prefix"])):
            assert prefix is None or prefix < i
            name = strings[functions["name"][frames["func"][frame]]]
            stacks.append((stacks[prefix] if prefix is not None else ()) + (name,))
        for resource in functions["resource"]:
            assert -1 <= resource < thread["resourceTable"]["length"]
        for lib in thread["resourceTable"]["lib"]:
            assert 0 <= lib < len(profile["libs"])
        samples, found = thread["samples"], {}
        assert samples["time"] == sorted(samples["time"])
        for stack, weight in zip(samples["stack"], samples["weight"]):
            found[stacks[stack]] = found.get(stacks[stack], 0) + weight
        threads.append({"name": thread["name"], "unit": samples["weightType"], "stacks": found,
                        "times": samples["time"]})
    return profile, threads


def firefox_depths(thread, strings):
    """The depths at which each function was inlined: sets by name."""
    depths, functions = {}, thread["funcTable"]["name"]
    for function, depth in zip(*(thread["frameTable"][c] for c in ("func", "inlineDepth"))):
        depths.setdefault(strings[functions[function]], set()).add(depth)
    return depths


def instructions_of(path, function, mnemonic=""):
    """At which bytes of a function instructions begin, by objdump."""
    said = subprocess.run(["objdump", "-d", "-C", "-w", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
    code = said.partition(f"<{function}>:\n")[2].partition("\n\n")[0]
    found = re.findall(r"^ *([0-9a-f]+):\s+(.*)$", code, re.MULTILINE)
    # Behind the last return is only what fills up.
    end = 1 + max(i for i, (_, text) in enumerate(found) if text.startswith("ret"))
    return [int(at, 16) - int(found[0][0], 16) for at, text in found[:end] if text.startswith(mnemonic)]
