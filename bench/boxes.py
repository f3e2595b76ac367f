#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What naming functions by where they begin does for flame graphs of stripped programs.

usage: bench/boxes.py BUILD [-s SECONDS] [-k DIRECTORY] [PROGRAM...]

Profiles each program for SECONDS (5) at 999 Hz, and prints a row for each. *Boxes*: of the flame
graph, which are distinct call chains of names. *Nameless*: samples in code without a symbol, as a
share of all; *places*: by how many names these samples are known. *before*: each address without a
symbol is its own place, as is each in a PLT stub. *after*: it belongs to the function that begins
before it, or to the imported one. DIRECTORY keeps recordings and flame graphs. Programs that are
not installed are named. Needs root.
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time

import workloads

HZ = "999"
STUB = "@plt"

CXX = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
int main(int argc, char **argv) {
	std::map<std::string, std::function<int(int)>> all;
	std::unordered_map<std::string, std::vector<std::string>> more;
	std::regex pattern("([a-z]+)([0-9]*)");
	for (int i = 0; i < argc; i++)
		if (std::regex_match(argv[i], pattern))
			all[argv[i]] = [i](int j) { return i * j; };
	for (auto &[key, value] : all)
		more[key].push_back(std::to_string(value(1)));
	for (auto &[key, value] : more)
		std::sort(value.begin(), value.end()), std::cout << key << value[0];
}
"""

PAGE = """<body><script>
const words = Array.from({ length: 2000 }, (_, i) => 'w' + i * 7919 % 10007);
function turn() {
  const list = document.createElement('div');
  for (const word of words) {
    const box = document.createElement('span');
    box.textContent = word;
    list.append(box, ' ');
  }
  document.body.replaceChildren(list);
  words.push(words.shift() + list.offsetHeight % 2);
  setTimeout(turn);
}
turn();
</script>
"""


def git(directory):
    """Packs a repository of made files, again and again."""
    repository = os.path.join(directory, "git")
    command = [workloads.verify.tool("git"), "-C", repository]
    os.mkdir(repository)
    subprocess.run([*command, "init", "-q", "--bare"], check=True)
    lines = [b"line %d of a file: %d\n" % (i, i * 7919 % 10007) for i in range(2000)]
    stream = []
    for i in range(400):
        lines[i * 37 % 2000] = b"changed by commit %d\n" % i
        text = b"".join(lines[i % 7:])
        stream.append(b"commit refs/heads/main\ncommitter a <a> %d +0000\ndata 0\n"
                      b"M 644 inline f%d\ndata %d\n%s\n" % (i, i % 9, len(text), text))
    subprocess.run([*command, "fast-import", "--quiet"], input=b"".join(stream), check=True)
    return workloads.verify.again_and_again(*command, "-c", "pack.threads=1", "gc", "--aggressive", "--quiet",
                                            "--force")


def cc1plus(directory):
    path = os.path.join(directory, "large.cc")
    with open(path, "w") as file:
        file.write(CXX)
    return workloads.verify.again_and_again("g++", "-O2", "-c", path, "-o", "/dev/null")


@contextlib.contextmanager
def chromium(directory):
    path = os.path.join(directory, "page.html")
    with open(path, "w") as file:
        file.write(PAGE)
    with workloads.verify.running(workloads.verify.tool("chromium"), "--headless", "--no-sandbox", "--disable-gpu",
                                  "--no-first-run", "--remote-debugging-port=0",
                                  f"--user-data-dir={directory}/chromium", f"file://{path}") as pid:
        workloads.verify.wait_for(f"{directory}/chromium/DevToolsActivePort")
        time.sleep(2)
        yield pid


def all_programs(build, directory):
    known = workloads.verify.all_programs(build, directory)
    return {
        "git": lambda: git(directory),
        "nginx": known["nginx, gzip"],
        "postgres": known["postgres, pgbench"],
        "cc1plus": lambda: cc1plus(directory),
        "node": known["node"],
        "python3": known["python3, a recursive script"],
        "chromium": lambda: chromium(directory),
    }


def place(frame, start):
    """How code without a name is called."""
    if not frame["module"] or not frame["offset"]:
        return frame["address"]
    return f"[{os.path.basename(frame['module'])}+{start or frame['offset']}]"


def before(frame):
    name = frame["symbol"]
    return place(frame, None) if not name or name.endswith(STUB) else name


def after(frame):
    return frame["symbol"] or place(frame, frame["function_start"])


def chain(sample, name):
    """The names of a sample's stack, root first."""
    user = [name(f) + ("_[i]" if f["inlined"] else "") for f in sample["user_stack"]]
    kernel = [(f["symbol"] or "[kernel]") + "_[k]" for f in sample["kernel_stack"]]
    return (sample["comm"], *reversed(kernel + user))


def boxes(samples, name):
    """Without how incomplete stacks end."""
    return len({stack[:i + 1] for stack in (chain(sample, name) for sample in samples) for i in range(len(stack))})


def nameless(samples):
    """The innermost frames of samples in code without a symbol."""
    leaves = [s["user_stack"][0] for s in samples if s["user_stack"] and not s["kernel_stack"]]
    return [frame for frame in leaves if before(frame) != frame["symbol"]]


def row(samples):
    frames = nameless(samples)
    share = lambda n: f"{100 * n / max(len(samples), 1):.1f} %"
    left = sum(not f["symbol"] and not f["function_start"] for f in frames)
    return [len(samples), boxes(samples, before), boxes(samples, after), share(len(frames)), share(left),
            len(set(map(before, frames))), len(set(map(after, frames)))]


def profile(dwarfprof, pid, seconds, path):
    """The samples of a process and of those that it starts; next to them, a flame graph."""
    run = lambda *command: subprocess.run([dwarfprof, *command], check=True, stderr=subprocess.PIPE,
                                          stdout=subprocess.PIPE, text=True).stdout
    run("-F", HZ, "-d", seconds, "-p", str(pid), "-o", f"{path}.dwarfprof")
    for form in "svg", "folded":
        run("convert", f"{path}.dwarfprof", "-o", f"{path}.{form}")
    return [json.loads(line) for line in run("convert", f"{path}.dwarfprof", "--format", "jsonl", "-o", "-").splitlines()]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("build")
    parser.add_argument("-s", dest="seconds", default="5")
    parser.add_argument("-k", dest="keep")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_intermixed_args()
    dwarfprof = os.path.abspath(f"{options.build}/cli/dwarfprof")

    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    print("| program | samples | boxes before | after | nameless before | after | places before | after |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        for name, run in all_programs(os.path.abspath(options.build), top).items():
            if options.programs and name not in options.programs:
                continue
            try:
                with run() as pid:
                    samples = profile(dwarfprof, pid, options.seconds, os.path.join(options.keep or top, name))
            except workloads.Missing as missing:
                print(f"{name}: {missing} is not installed", file=sys.stderr, flush=True)
                continue
            except subprocess.CalledProcessError as error:
                sys.exit(f"{name}: {error.stderr}")
            print(f"| {name} | {' | '.join(map(str, row(samples)))} |", flush=True)


if __name__ == "__main__":
    main()
