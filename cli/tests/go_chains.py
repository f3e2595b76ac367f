# SPDX-License-Identifier: Apache-2.0
"""The stacks that test-programs/languages/go can have, as described in its sources."""
import glob
import itertools
import os
import re

# Roots of stacks: goroutines, the runtime's threads, C.
GOROUTINE_ROOTS = {"runtime.goexit"}
RUNTIME_ROOTS = {"runtime.mcall", "runtime.morestack", "runtime.clone", "runtime.mstart", "runtime.rt0_go"}
C_ROOTS = {"_start", "clone3", "__clone3", "__clone"}

# Functions with which the runtime starts goroutines.
RUNTIME_ENTRIES = {
    "runtime.main", "runtime.forcegchelper", "runtime.bgsweep", "runtime.bgscavenge",
    "runtime.runfinq", "runtime.runFinalizers", "runtime.runCleanups", "runtime.gcBgMarkWorker",
    "runtime.gcenable.func", "runtime.gcBgMarkStartWorkers.func", "runtime.ensureSigM.func",
    "os/signal.loop", "runtime.cgocallback",
    # The last function it calls.
    "runtime.goexit1",
}


def plain(name):
    """A function's name without the parts that differ between versions."""
    name = re.sub(r"\[.*\]", "[...]", name or "?")
    name = re.sub(r"\.abi(0|internal)$", "", name)
    return re.sub(r"\.(func|gowrap|deferwrap)\d+(\.\d+)*$", ".func", name)


def expand(words, parts):
    """All chains that a description stands for."""
    alternatives = []
    while words:
        word = words.pop(0)
        if word.startswith("("):
            group, times = [word[1:]], None
            while not (times := re.fullmatch(r"(.*)\)\*(\d+)", group[-1])):
                group.append(words.pop(0))
            group[-1] = times[1]
            alternatives.append([group * int(times[2])])
        elif word.startswith("@"):
            alternatives.append([chain for row in parts[word[1:]] for chain in expand(row.split(), parts)])
        elif word.endswith("?"):
            alternatives.append([[], [word[:-1]]])
        else:
            name, _, times = word.partition("*") if re.search(r"\*\d+$", word) else (word, "", 1)
            alternatives.append([[name] * int(times)])
    return [sum(choice, []) for choice in itertools.product(*alternatives)]


def is_go(name):
    return name.startswith("main.")


def without_c(chain):
    """As in Go's own tracebacks, which omit C's frames between two parts in Go."""
    last = max((i for i, name in enumerate(chain) if is_go(name)), default=-1)
    return [name for i, name in enumerate(chain) if i > last or is_go(name)]


class Chains:
    """The possible complete stacks."""

    def __init__(self, directory, is_library):
        rows, self.parts = [], {}
        for path in sorted(glob.glob(os.path.join(directory, "**", "*.[gc]*"), recursive=True)):
            if os.path.basename(path) == "host.c" and not is_library:
                continue
            with open(path) as file:
                for word, part, row in re.findall(r"^// (chain|part (\w+)): (.+)$", file.read(), re.M):
                    if word == "chain":
                        rows.append(row)
                    else:
                        self.parts.setdefault(part, []).append(row)
        self.whole = {tuple(chain) for row in rows for chain in expand(row.split(), self.parts)}
        self.begun = {chain[:n] for chain in self.whole for n in range(len(chain) + 1)}
        self.begun_without_c = {tuple(without_c(chain)) for chain in self.begun}
        self.names = {name for chain in self.whole for name in chain}
        self.entries = {chain[0] for chain in self.whole} | RUNTIME_ENTRIES

    def of(self, names):
        """The functions of the programs in a stack, root first."""
        return tuple(name for name in reversed(names)
                     if name in self.names or is_go(name) and not name.startswith("main._C"))

    def verdict(self, names):
        """What is wrong with a complete stack, leaf first, or None; and whether C's frames are
        missing."""
        root, ours = names[-1], self.of(names)
        if root not in GOROUTINE_ROOTS | RUNTIME_ROOTS | C_ROOTS:
            return f"{root} is no root", False
        if root in RUNTIME_ROOTS:
            return f"{ours[0]} on the stack of the runtime" if ours else None, False
        if root in GOROUTINE_ROOTS and len(names) > 1 and names[-2] not in self.entries:
            return f"no goroutine starts with {names[-2]}", False
        is_goroutine = root in GOROUTINE_ROOTS
        if ours in self.begun and (not ours or is_go(ours[0]) == is_goroutine):
            return None, False
        if ours in self.begun_without_c and is_go(ours[0]) and is_goroutine:
            return None, True
        return f"no such chain: {root} {' '.join(ours)}", False
