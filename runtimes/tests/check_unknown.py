#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a runtime of an unknown version is said to be one, and keeps its native frames.

usage: check_unknown.py DWARFPROF

Profiles copies of the interpreters of Python, PHP, JavaScript and Perl, whose mark of their version is changed in the file,
and a program that exports what Ruby does. There must be a warning with the file, native frames of the
interpreter and none of the language, and SHARE of the stacks complete. An unchanged copy must have the
language's frames and no warning. Of a JVM, a library with another layout, and one that does not describe itself, have
to be said to be of an unknown kind: no frame may be Java's then, and no stack complete without its root.
Programs compute for a time of the CPU, which a busy machine gives late.
"""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SHARE = 0.9
MIN_SAMPLES = 100
WARNING = r"warning: (\S+): its runtime \((\w+)\) is of an unknown version"

Language = collections.namedtuple("Language", "word kind program script symbol mark value")
LANGUAGES = [
    Language("python", "python", "/usr/bin/python3", "import time\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
             "while time.process_time() < 0.75: f(15)",
             "_PyEval_EvalFrameDefault", "Py_Version", (0x03630000).to_bytes(4, "little")),
    Language("php", "php", "php", "<?php function f($n) { return $n < 2 ? $n : f($n - 1) + f($n - 2); } "
                    "function used() { $u = getrusage(); return $u['ru_utime.tv_sec'] + $u['ru_utime.tv_usec'] / 1e6; } "
                    "while (used() < 0.75) f(15);",
                    "execute_ex", rb"API[0-9]{8},NTS", b"API9"),
    Language("v8", "javascript", "node", "function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2); } "
                   "while (process.cpuUsage().user < 0.75e6) f(15);",
                   "node::LoadEnvironment", "v8dbg_SmiTagMask", (9).to_bytes(4, "little")),
    Language("perl", "perl", "perl", "sub f { my ($n) = @_; return $n < 2 ? $n : f($n - 1) + f($n - 2) } "
                     "f(15) while (times)[0] < 0.75;",
                     "Perl_runops_standard", "PL_version", b"\x63"),
]

# Ruby compares its own version with what it exports: a program that exports the same, of version 9.9.
RUBY = """
#include <time.h>
__thread void *ruby_current_ec;
const int ruby_api_version[3] = { 9, 9, 0 };
__attribute__((noinline)) void rb_vm_exec(clock_t end)
{
	while (clock() < end)
		;
	__asm__ volatile("" ::: "memory");
}
int main(void) { rb_vm_exec(3 * CLOCKS_PER_SEC / 4); return 0; }
"""


JVMS = "/usr/lib/jvm/java-17-openjdk-*/lib/server/../.."
JVM_WARNING = r"process \d+: its JVM is of an unknown kind"
# A member of its structures, and the table of them: with other names of the same length.
JVM_MARKS = [("another layout", b"\0_segmap\0", b"\0_segmaq\0"), ("not described", b"\0gHotSpotVMStructs\0", b"\0gHotSpotVMStructz\0"),
             ("as it is", b"\0_segmap\0", b"\0_segmap\0")]
# By these, the JVM executes a class.
JVM_NATIVE = ("JavaCalls::call_helper", "JavaMain", "thread_native_entry")
ROOTS = ("clone3", "__clone3", "clone", "__clone", "_start")
JAVA = """
public class F {
	static int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
	public static void main(String[] arguments) {
		java.lang.management.ThreadMXBean threads = java.lang.management.ManagementFactory.getThreadMXBean();
		while (threads.getCurrentThreadCpuTime() < 750000000L)
			f(15);
	}
}
"""


def offset_of(path, symbol):
    """Where a symbol's bytes are in the file."""
    said = subprocess.run(["readelf", "-WlS", "--dyn-syms", path], check=True, capture_output=True, text=True).stdout
    address = int(re.search(rf"^ *\d+: ([0-9a-f]+) +\d+ OBJECT .* {symbol}$", said, re.M)[1], 16)
    for offset, start, size in re.findall(r"^ +LOAD +(\S+) (\S+) \S+ (\S+)", said, re.M):
        if int(start, 16) <= address < int(start, 16) + int(size, 16):
            return int(offset, 16) + address - int(start, 16)
    raise ValueError(f"{path}: {symbol} is in no segment")


def change(path, language):
    with open(path, "r+b") as file:
        if isinstance(language.mark, bytes):
            text = file.read()
            places = [m.start() for m in re.finditer(language.mark, text)]
        else:
            places = [offset_of(path, language.mark)]
        assert places
        for place in places:
            file.seek(place)
            file.write(language.value)


def record(dwarfprof, command, directory):
    out = os.path.join(directory, "out.jsonl")
    said = subprocess.run([dwarfprof, "record", "-F", "797", "-o", out, "--", *command], check=True, timeout=120,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    with open(out) as file:
        samples = [json.loads(line) for line in file]
    return said, [s for s in samples if s.get("user_stack")]


def check(name, dwarfprof, path, command, directory, expected):
    """Are frames of a language (its kind) expected, or else a warning of its word and a native frame?"""
    word, kind, symbol, is_known = expected
    said, samples = record(dwarfprof, command, directory)
    warnings = re.findall(WARNING, said)
    share = sum(s["outcome"] == "complete" for s in samples) / max(len(samples), 1)
    frames = [f for s in samples for f in s["user_stack"]]
    has_language = any(f["kind"] == kind for f in frames)
    has_native = any(symbol in (f["symbol"] or "") for f in frames)
    good = (warnings == ([] if is_known else [(path, word)]) and has_language == is_known and
            (has_native or is_known) and len(samples) >= MIN_SAMPLES and share >= SHARE)
    print(f"{name}: {len(samples)} samples, {100 * share:.1f} % complete, warnings: {warnings}, "
          f"{'with' if has_language else 'without'} the language's frames, "
          f"{'with' if has_native else 'without'} {symbol}{'' if good else ': FAILED'}", flush=True)
    return good


def check_copy(dwarfprof, language, is_changed):
    with tempfile.TemporaryDirectory() as directory:
        path = shutil.copy(os.path.realpath(shutil.which(language.program)), directory)
        if is_changed:
            change(path, language)
        script = os.path.join(directory, "script")
        with open(script, "w") as file:
            file.write(language.script)
        return check(f"{language.word}, {'changed' if is_changed else 'as it is'}", dwarfprof, path, [path, script],
                     directory, (language.word, language.kind, language.symbol, not is_changed))


def check_ruby(dwarfprof):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "ruby")
        subprocess.run(["cc", "-O1", "-rdynamic", "-x", "c", "-o", path, "-"], input=RUBY, text=True, check=True)
        return check("ruby 9.9", dwarfprof, path, [path], directory, ("ruby", "ruby", "rb_vm_exec", False))


def make_jvm(home, directory, mark, value):
    """A copy of a JVM, of links but for its program and library, where each mark is changed."""
    for folder, folders, files in os.walk(home):
        to = os.path.join(directory, os.path.relpath(folder, home))
        os.makedirs(to, exist_ok=True)
        for name in files + [f for f in folders if os.path.islink(os.path.join(folder, f))]:
            path = os.path.join(folder, name)
            if name in ("java", "libjvm.so", "libjli.so"):
                shutil.copy(path, os.path.join(to, name))
            else:
                os.symlink(os.path.realpath(path), os.path.join(to, name))
    library = os.path.join(directory, "lib/server/libjvm.so")
    with open(library, "rb") as file:
        text = file.read()
    assert mark in text
    with open(library, "wb") as file:
        file.write(text.replace(mark, value))


def has_generated(sample):
    return any(f["module"] in (None, "[jit]") for f in sample["user_stack"])


def check_jvm(dwarfprof, what, mark, value):
    """A JVM that is not understood must be said to be one; an unchanged copy must have Java's frames."""
    home = glob.glob(JVMS)[0]
    with tempfile.TemporaryDirectory() as directory:
        make_jvm(home, directory, mark, value)
        with open(os.path.join(directory, "F.java"), "w") as file:
            file.write(JAVA)
        subprocess.run([home + "/bin/javac", "-d", directory, os.path.join(directory, "F.java")], check=True)
        said, samples = record(dwarfprof, [directory + "/bin/java", "-Xint", "-cp", directory, "F"], directory)
    is_known = mark == value
    warnings = len(re.findall(JVM_WARNING, said))
    frames = [f for s in samples for f in s["user_stack"]]
    has_java = any(f["kind"] == "java" for f in frames)
    has_native = any(f["symbol"] in JVM_NATIVE for f in frames)
    rootless = sum(s["outcome"] == "complete" and s["user_stack"][-1]["symbol"] not in ROOTS and has_generated(s) for s in samples)
    good = (warnings == (not is_known) and has_java == is_known and has_native and rootless == 0 and len(samples) >= MIN_SAMPLES)
    print(f"java, {what}: {len(samples)} samples, {warnings} warnings, {'with' if has_java else 'without'} Java's frames, "
          f"{'with' if has_native else 'without'} the JVM's, {rootless} complete without a root{'' if good else ': FAILED'}", flush=True)
    return good


def main():
    if os.geteuid() != 0:
        return 77
    dwarfprof = sys.argv[-1]
    results = [check_copy(dwarfprof, language, is_changed)
               for language in LANGUAGES if shutil.which(language.program) for is_changed in (False, True)]
    results.append(check_ruby(dwarfprof))
    if glob.glob(JVMS):
        results += [check_jvm(dwarfprof, *how) for how in JVM_MARKS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
