#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: compare_addr2line.py [-a] [-n COUNT] [-s SEED] SHOW_PLACES FILE...

Compares the locations of COUNT random code addresses in each FILE with the results of binutils'
addr2line, elfutils' eu-addr2line and llvm-addr2line: linker names, files, lines, inlined calls.
None of the three is always right. binutils 2.40 gives an innermost function without a linker name
that of the enclosing symbol, and finds no inlined calls from clang in DWARF 5. elfutils 0.188 needs
.debug_aranges and finds no inlined calls in split DWARF. LLVM 14 does not read files shared by dwz.
An address differs if it has none of the three results. eu-addr2line is slow, so it is only run
where the others disagree; -a runs it for all addresses.
"""

import argparse
import bisect
import collections
import os
import random
import re
import resource
import subprocess
import sys

TOOLS = ["addr2line", "llvm-addr2line", "eu-addr2line"]
# Of the addresses that a tool is asked for: it may be killed (set_limits()) before the last ones.
ANSWERED = 0.9


def functions(path):
    """The functions with a size in symbol tables: (start, size, names)."""
    found = collections.defaultdict(list)
    for table in [], ["-D"]:
        out = subprocess.run(["nm", "-S", "--defined-only"] + table + [path], capture_output=True,
                             text=True, check=False).stdout
        for line in out.splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "tTwWiu" and int(words[1], 16) > 0:
                found[(int(words[0], 16), int(words[1], 16))].append(words[3].split("@")[0])
    return sorted((*range, names) for range, names in found.items())


def text_sections(path):
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True,
                         check=True).stdout
    found = re.findall(r"PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +AX", out)
    return [(int(start, 16), int(size, 16), []) for start, size in found]


def some_addresses(code, n, seed):
    generator = random.Random(seed)
    chosen = generator.choices(code, [size for _, size, _ in code], k=n)
    return sorted({start + generator.randrange(size) for start, size, _ in chosen})


def run(command, addresses, is_tool=False):
    """Tools have limits, and may fail; sanitizers of our own programs take terabytes of addresses."""
    text = "".join(f"0x{a:x}\n" for a in addresses)
    return subprocess.run(command, input=text, capture_output=True, text=True, errors="replace",
                          check=not is_tool, preexec_fn=set_limits if is_tool else None).stdout


def set_limits():
    """binutils 2.40 exhausts the memory of a small machine for some files with type units in
    DWARF 5. With this limit it has as many results as with four times as much."""
    resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def parse(text):
    """Blocks of an address and pairs of lines: {address: [(function, file, line)]}."""
    result = {}
    places = None
    lines = text.splitlines()
    i = 0
    while i + 1 < len(lines):
        if re.fullmatch(r"0x[0-9a-f]+", lines[i]):
            places = result[int(lines[i], 16)] = []
            i += 1
            continue
        function = lines[i]
        where = re.sub(r" \(discriminator \d+\)$", "", lines[i + 1])
        match = re.fullmatch(r"(.*?):(\d+|\?)(?::(\d+))?", where)
        if not match:
            break  # it was killed in the middle of a line
        number = 0 if match[2] == "?" else int(match[2])
        file = match[1]
        places.append((function, os.path.normpath(file) if file != "??" else file, number))
        i += 2
    return result


# glibc's inlined wrappers of these have another name for the linker. addr2line shows that one; gdb,
# as we, the source's.
LARGE_FILE = {"open64": "open", "openat64": "openat", "pread64": "pread"}


def without_endings(name):
    return re.sub(r"(\.(constprop|isra|part|llvm)\.\d+|\.cold(\.\d+)?)+$", "", name)


def plain(places, names):
    """Removes numbers of unknown lines and suffixes of clones. Replaces a function's name with one
    of its linker names if it has several, or if debug information has only the last part."""
    result = [(without_endings(re.sub(" inlined at .*", "", function)), file if line else "??", line)
              for function, file, line in places]
    result = [(LARGE_FILE.get(function, function), file, line) for function, file, line in result]
    names = sorted(without_endings(n) for n in names)
    mangled = [n for n in names if n.startswith(("_Z", "_R"))]
    if result[-1][0] in names:
        result[-1] = (names[0], *result[-1][1:])
    elif mangled and not result[-1][0].startswith(("_Z", "_R")):
        result[-1] = (mangled[0], *result[-1][1:])
    return result


def ask(tool, path, addresses):
    return parse(run([tool, "-a", "-i", "-f", "-e", path], addresses, is_tool=True))


def compare(show, path, n, seed=1, ask_all=False):
    """Prints the differences. Returns the number of addresses that differ and of tools that have
    not answered."""
    code = functions(path)
    starts = [start for start, _, _ in code]
    addresses = some_addresses(code or text_sections(path), n, seed)
    ours = parse(run([show, "-d", "none", path], addresses))
    if not addresses or set(ours) != set(addresses):
        sys.exit(f"{path}: {len(ours)} of {len(addresses)} addresses were answered")
    count = collections.Counter(places=sum(len(places) for places in ours.values()))
    differing = dict.fromkeys(addresses, "")
    silent = []

    def names(address):
        i = bisect.bisect_right(starts, address) - 1
        return code[i][2] if i >= 0 and address < sum(code[i][:2]) else []

    for tool in TOOLS:
        asked = addresses if ask_all or tool != TOOLS[-1] else list(differing)
        answers = ask(tool, path, asked)
        if len(answers) < ANSWERED * len(asked):
            silent.append(f"{path}: {tool} has answered {len(answers)} of {len(asked)}")
        # For a tool that was killed, missing results are not differences.
        for address in filter(answers.get, asked):
            answer = plain(answers[address], names(address))
            if answer == plain(ours[address], names(address)):
                count[tool] += 1
                differing.pop(address, None)
            elif address in differing:
                differing[address] += f"\n  {tool}: {answer}"
    for address, answers in differing.items():
        print(f"{path} 0x{address:x}:\n  {plain(ours[address], names(address))}{answers}")
    print(f"{path}: {len(addresses)} addresses, {count['places']} places; as said by "
          f"{', '.join(f'{tool}: {count[tool]}' for tool in TOOLS)}, by none: {len(differing)}")
    print(*silent, sep="\n", end="\n" if silent else "")
    return len(differing) + len(silent)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-a", action="store_true")
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("-s", type=int, default=1)
    parser.add_argument("show")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    return sum(compare(options.show, f, options.n, options.s, options.a)
               for f in options.files) > 0


if __name__ == "__main__":
    sys.exit(main())
