# SPDX-License-Identifier: Apache-2.0
"""The functions of a Go binary and the targets of their calls, from its code."""
import bisect
import collections
import functools
import operator
import re
import struct
import subprocess

# Functions that the runtime pushes onto the stack of one that did not call them, or resumes there.
INJECTED = ("runtime.sigpanic", "runtime.asyncPreempt", "gogo")
# Where the thread's stack begins anew, and what begins there: the caller waits elsewhere.
BEGINNINGS = ("runtime.mstart0", "runtime.cgocallback")
BEGUN = ("runtime.mcall", "runtime.newstack")
# The runtime uses this as asmcgocall()'s return address while C runs, and continues there after a
# panic has dropped C's frames.
PRETENDED = "runtime.systemstack_switch"
# These jump to an address in a register.
JUMPING = ("runtime.systemstack", "runtime.reflectcall", "runtime.asmcgocall_landingpad")


def is_go(name):
    """Is this Go's name of a function? C compilers add words behind a dot, linkers behind an @."""
    own = re.sub(r"(\.(isra|part|constprop|cold|localalias|\d+))+$", "", name)
    return "." in own and "@" not in own and not own.startswith(("_Z", "_GLOBAL__"))


def code(path):
    """Address and bytes of a binary's code."""
    sections = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
    at = next(line.split(".text ")[1].split() for line in sections.splitlines() if ".text " in line)
    with open(path, "rb") as file:
        file.seek(int(at[2], 16))
        return int(at[1], 16), file.read(int(at[3], 16))


def stubs(path):
    """{address: name} of the stubs that call functions of other libraries. nm does not list them."""
    said = subprocess.run(["objdump", "-d", "-j", ".plt", "-j", ".plt.sec", "-j", ".plt.got", path],
                          capture_output=True, text=True).stdout
    return {int(at, 16): name for at, name in re.findall(r"^([0-9a-f]+) <(.*)>:$", said, re.M)}


def is_same_code(path, other):
    """Are functions at the same addresses? References to data may differ, which are few bytes."""
    (at, one), (other_at, two) = code(path), code(other)
    return at == other_at and len(one) == len(two) and 50 * sum(map(operator.ne, one, two)) < len(one)


class Calls:
    """Offsets are addresses in the binary. If it has no symbols, they come from its twin with equal
    code."""

    def __init__(self, path, twin=None):
        self.path = path
        self.start, self.code = code(path)
        if twin and not is_same_code(path, twin):
            raise ValueError(f"{path} differs from {twin}, which should be the same with symbols")
        said = subprocess.run(["nm", "-n", "--defined-only", twin or path], check=True, capture_output=True, text=True)
        names = collections.defaultdict(list)
        for at, kind, name in (line.split(" ", 2) for line in said.stdout.splitlines()):
            if kind in "tTwW":
                names[int(at, 16)].append(name)
        for at, name in stubs(path).items():
            names[at] = [name]
        self.starts = sorted(names)
        self.names = [names[at] for at in self.starts]

    def function(self, offset):
        """The index of the function at an address."""
        return bisect.bisect_right(self.starts, offset) - 1

    def names_at(self, offset):
        return self.names[self.function(offset)]

    def name(self, offset):
        return self.names_at(offset)[0]

    def near(self, offset, opcode):
        """The target of a direct call or jump at an address, or None."""
        at = offset - self.start
        if 0 <= at <= len(self.code) - 5 and self.code[at] == opcode:
            target = offset + 5 + struct.unpack_from("<i", self.code, at + 1)[0]
            # Calls into other libraries go through other sections.
            return target if self.start <= target < self.start + len(self.code) else None
        return None

    def end(self, function):
        return self.starts[function + 1] if function + 1 < len(self.starts) else self.start + len(self.code)

    @functools.lru_cache(None)
    def jumps(self, function):
        """The targets of direct jumps that end a function."""
        targets = (self.near(offset, 0xe9) for offset in range(self.starts[function], self.end(function)))
        return {self.function(target) for target in targets if target in self.starts}

    @functools.lru_cache(None)
    def jumps_anywhere(self, function):
        """Can it end with an indirect jump, as C++ does for virtual tail calls?"""
        name = self.names[function][0]
        if is_go(name):
            return name.startswith(JUMPING)
        start, end = (at - self.start for at in (self.starts[function], self.end(function)))
        return re.search(rb"\xff[\x20-\x27\x60-\x67\xa0-\xa7\xe0-\xe7]", self.code[max(start, 0):end], re.S)

    @functools.lru_cache(None)
    def wrong_call(self, return_address, callee):
        """The target of the call in front of a return address, if it is known and not the callee's
        function."""
        target = self.near(return_address - 5, 0xe8)
        # In the PLT, or in another library, where any function may make a tail call.
        if not self.start <= callee < self.start + len(self.code):
            return None
        if target is None or self.name(callee).startswith(INJECTED):
            return None
        if self.name(return_address - 1).startswith(BEGINNINGS) and self.name(callee).startswith(BEGUN):
            return None
        if self.name(target).startswith("runtime.asmcgocall") and self.name(callee).startswith(PRETENDED):
            return None
        reached = {self.function(target)}
        for _ in range(3):
            if self.function(callee) in reached or any(map(self.jumps_anywhere, reached)):
                return None
            reached |= set().union(*map(self.jumps, reached))
        return f"{self.name(return_address - 1)} calls {self.name(target)}, not {self.name(callee)}"
