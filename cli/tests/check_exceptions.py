#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exceptions of C++, Python and Java: type, message and function of each as the program itself has logged them.

usage: check_exceptions.py DWARFPROF PROGRAM-DIR
"""
import base64
import collections
import glob
import gzip
import json
import os
import re
import subprocess
import tempfile
import unittest

import chance
import harness
from harness import dwarfprof, profile_until_done, program, values_beside

N, MANY = 20000, 100000
EVERY = ["--max-rate", "1000000"]
TARGETS = ["thrown-O0", "thrown-O2", "thrown-no-pie", "thrown-static", "thrown-clang", "thrown-libcxx"]
# libc++abi has no USDT probes, which tell of what is thrown again, and not this class: libc++ has.
REMEMBERS = {"thrown-libcxx": {"has_rethrown_types": False, "unknown": ("std::__1::bad_weak_ptr",)}}
NO_SAMPLES = 5
# Logs what each call raises: type, and the message if it is a str of ASCII characters.
RAISING = """
import json, sys

class Own(Exception):
    pass

class i(Own):
    pass

class Text(str):
    pass

def raise_message(n): raise ValueError(f"value {n}")
def raise_long(n): raise RuntimeError("x" * (n % 600))
def raise_class(n): raise Own
def raise_mangled(n): raise i("short")
def raise_number(n): raise Own(n)
def raise_two(n): raise LookupError(f"first {n}", "second")
def raise_foreign(n): raise Own("caf\\u00e9")
def raise_derived(n): raise Own(Text("derived"))
def raise_key(n): return {}[f"key {n}"]
def raise_format(n): return len(n)
def raise_string(n): return "abc".index("z")
def raise_division(n): return n / 0
def raise_name(n): return no_such_name
def raise_from(n): raise Own("outer") from OSError("cause")

functions = [f for name, f in list(globals().items()) if name.startswith("raise_")]
n = int(sys.argv[1])
sys.stdin.readline()
with open(sys.argv[2], "w") as log:
    for number in range(n):
        function = functions[number % len(functions)]
        try:
            function(number)
        except Exception as e:
            text = e.args[0] if e.args else None
            is_message = type(text) is str and all(ord(c) < 128 for c in text)
            print(json.dumps({"function": function.__name__, "type": type(e).__name__, "message": text if is_message else None}), file=log)
print("done", flush=True)
sys.stdin.read()
"""
CUT = 255  # DP_TEXT_CUT in bpf/value_layout.h


def wanted(throw, has_messages=True, has_rethrown_types=True, unknown=()):
    """The labels of a throw that was logged."""
    is_known = has_rethrown_types or throw["function"] not in ("throw_again", "throw_twice")
    labels = {"exception.type": throw["type"] if is_known else "<unknown>"}
    message = throw["message"]
    if message is not None and has_messages and is_known and throw["type"] not in unknown:
        labels["exception.message"] = message if len(message) < CUT else message[:CUT] + "…"
    if throw["again"]:
        labels["exception.rethrown"] = "true"
    return labels


def read_samples(written):
    return sorted(map(json.loads, written.splitlines()), key=lambda s: s["time_ns"])


class Exceptions(unittest.TestCase):
    LONG = "test_many_throws", "test_of_other_compilers_and_linkers"

    def record(self, target, n, *options, log="log", code=0):
        """Returns what dwarfprof wrote, what the program logged, and what dwarfprof said."""
        with tempfile.TemporaryDirectory() as directory:
            log, out = os.path.join(directory, log), os.path.join(directory, "out")
            with subprocess.Popen([program(target), str(n), log], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                said = profile_until_done(process, "--exceptions", *options, "-o", out, code=code)
            with open(log, encoding="utf-8") as file:
                logged = [json.loads(line) for line in file]
            if not os.path.exists(out):
                return "", logged, said
            with open(out, encoding="utf-8") as file:
                return file.read(), logged, said

    def record_most(self, target, n, *options, is_seen=lambda throw: True):
        """The same as samples, of most throws that are seen: the program does not wait for a profiler that gets no CPU."""
        for _ in range(5):
            written, logged, said = self.record(target, n, "--format", "jsonl", *EVERY, *options)
            logged = list(filter(is_seen, logged))
            lost = int(re.search(r" (\d+) lost", said)[1])
            if lost < len(logged) / 2:
                break
        samples = read_samples(written)
        self.assertEqual(len(samples) + lost, len(logged), said)
        self.assertLess(lost, len(logged) / 2, said)
        return samples, logged, said

    def check(self, samples, logged, said, **known):
        """Each sample is the next throw with its labels: there is none between that was not lost."""
        unread = int((re.search(r"could not be read.*: (\d+)", said) or [0, 0])[1])
        left = iter(logged)
        for s in samples:
            if "<unread>" in s["labels"].values():
                unread -= 1
                continue
            for throw in left:
                if wanted(throw, **known) == s["labels"]:
                    break
            else:
                self.fail(f"no throw is left for {s['labels']}")
            yield s, throw
        self.assertEqual(unread, 0)

    def check_all(self, samples, logged, said, n_programs=1, **known):
        """A type's name may not be in memory when it is thrown for the first time; then the program itself reads it."""
        n = sum(1 for _ in self.check(samples, logged, said, **known))
        self.assertLessEqual(len(samples) - n, n_programs * len({throw["type"] for throw in logged}))

    def check_types_and_messages(self, n):
        samples, logged, said = self.record_most("thrown-O2", n, "--no-symbols")
        self.check_all(samples, logged, said)
        labels = [s["labels"] for s in samples]
        self.assertTrue(any(l.get("exception.message", "").endswith("…") for l in labels), "some were cut")
        self.assertGreater(len({l["exception.type"] for l in labels}), 25)

    def test_types_and_messages(self):
        self.check_types_and_messages(N)

    def test_many_throws(self):
        self.check_types_and_messages(MANY)

    def test_of_other_compilers_and_linkers(self):
        for target in TARGETS:
            if os.path.exists(program(target)):
                with self.subTest(target=target):
                    self.check_all(*self.record_most(target, 2000, "--no-symbols"), **REMEMBERS.get(target, {}))

    def test_the_function_that_threw(self):
        for target in TARGETS:
            if not os.path.exists(program(target)):
                continue
            with self.subTest(target=target):
                samples, logged, said = self.record_most(target, 1000)
                for s, throw in self.check(samples, logged, said, **REMEMBERS.get(target, {})):
                    names = [frame["symbol"] or "" for frame in s["user_stack"]]
                    own = [re.sub(r".*::|\(.*", "", name) for name in names]
                    first = next((name for name in own if name.startswith("throw_")), None)
                    self.assertEqual(first, throw["function"], names)
                    self.assertEqual(s["outcome"], "complete", names)
                    self.assertIn("pass_first", own, names)

    def test_a_stripped_program(self):
        with tempfile.TemporaryDirectory() as directory:
            stripped = os.path.join(directory, "stripped")
            subprocess.run(["strip", "-o", stripped, program("thrown-static")], check=True)
            # No USDT probe is where std::rethrow_exception() throws.
            samples, logged, said = self.record_most(stripped, 1000, "--no-symbols",
                                                     is_seen=lambda throw: not throw["again"] or throw["function"] != "throw_held")
            self.check_all(samples, logged, said, has_messages=False)
            bare = os.path.join(directory, "bare")
            subprocess.run(["objcopy", "-R", ".note.stapsdt", stripped, bare], check=True)
            _, _, said = self.record(bare, 10, "--format", "jsonl", code=NO_SAMPLES)
            self.assertIn(f"{bare} throws are not seen: it has a C++ runtime, but is stripped of its symbols", said)
            self.assertIn("no exceptions could be seen", said)

    def test_a_library_without_notes(self):
        with tempfile.TemporaryDirectory() as directory:
            target = os.path.join(directory, "thrown")
            subprocess.run(["objcopy", "-R", ".note.stapsdt", program("thrown-static"), target], check=True)
            samples, logged, said = self.record_most(target, 1000, "--no-symbols")
            self.check_all(samples, logged, said, has_rethrown_types=False)

    def test_a_command_from_its_beginning(self):
        for target in ("thrown-O2", "thrown-static"):
            with self.subTest(target=target), tempfile.TemporaryDirectory() as directory:
                log, out = os.path.join(directory, "log"), os.path.join(directory, "out.jsonl")
                result = dwarfprof("--exceptions", *EVERY, "-o", out, "--", program(target), "100", log, input="\n")
                self.assertEqual(result.returncode, 0, result.stderr)
                with open(log, encoding="utf-8") as file:
                    logged = [json.loads(line) for line in file]
                samples = read_samples(harness.read(out))
                self.assertEqual(len(samples), len(logged), result.stderr)
                self.check_all(samples, logged, result.stderr)

    def test_programs_that_start_later(self):
        """Each throws a second after it has begun, when its files are known; both for the second time."""
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, "out.jsonl")
            logs = [os.path.join(directory, f"log{i}") for i in range(4)]
            targets = 2 * ["thrown-static", "thrown-O2"]
            script = "; ".join(f"(sleep 1; echo) | {program(target)} 50 {log}" for target, log in zip(targets, logs))
            result = dwarfprof("--exceptions", *EVERY, "-o", out, "--", "sh", "-c", script)
            self.assertEqual(result.returncode, 0, result.stderr)
            logged = []
            for log in logs:
                with open(log, encoding="utf-8") as file:
                    logged += map(json.loads, file)
            samples = read_samples(harness.read(out))
            self.assertEqual(len(samples), len(logged), result.stderr)
            self.check_all(samples, logged, result.stderr, n_programs=len(targets))

    def test_labels_of_calls(self):
        """Each call of pass_first() has a number, with which it calls what throws."""
        library = program("libthrown_first.so")
        written, logged, said = self.record("thrown-O2", 2000, "--format", "jsonl", *EVERY, "--no-symbols",
                                            "--probe", f"label:{library}:pass_first(i=arg2:u64)")
        samples = read_samples(written)
        numbers = []
        for s in samples:
            numbers.append(s["labels"].pop("i"))
            self.assertEqual(values_beside(s), [{"i": numbers[-1]}] * (numbers[-1] != "<unknown>"))
        self.check_all(samples, logged, said)
        known = [n for n in numbers if n != "<unknown>"]
        print(f"{len(samples) - len(known)} of {len(samples)} are unknown", flush=True)
        # Up to one in two hundred began unseen.
        self.assertTrue(chance.is_rare(len(samples) - len(known), len(samples), 0.005, 0.05), collections.Counter(map(type, numbers)))
        self.assertEqual(known, sorted(known))
        for s, number in zip(samples, numbers):
            message = s["labels"].get("exception.message", "")
            if number != "<unknown>" and message.startswith(("error ", "inner ", "several ", "nested ")):
                self.assertEqual(message.split()[1], str(number))

    def test_the_rate(self):
        for _ in range(5):
            written, logged, said = self.record("thrown-O2", MANY, "--no-symbols", "--format", "jsonl")
            if " 0 lost" in said:
                break
        samples = [json.loads(line) for line in written.splitlines()]
        self.assertLess(len(samples), MANY / 4)
        self.assertIn("--max-rate 1000", said)
        # Each is taken or not independently of others.
        error = chance.SIGMAS * sum(s["weight"] * (s["weight"] - 1) for s in samples) ** 0.5
        self.assertLess(error, len(logged) / 4)
        self.assertAlmostEqual(sum(s["weight"] for s in samples), len(logged), delta=error)

    def test_reports(self):
        written, _, _ = self.record("thrown-O2", 1000, "--format", "folded", "--by", "label:exception.type", *EVERY)
        self.assertIn("[exception.type=std::runtime_error];", written)
        self.assertIn("[exception.type=(anonymous namespace)::Deeper];", written)
        self.assertNotIn("exception.message", written)
        written, logged, _ = self.record("thrown-O2", 1000, "--format", "text", *EVERY)
        self.assertIn("exception.type", written)
        self.assertIn("exceptions", written.splitlines()[0])
        messages = collections.Counter(t["message"] for t in logged if t["type"] == "std::runtime_error")
        (count, section), = re.findall(r"^Exception std::runtime_error: (\d+)\n((?: .*\n)+)", written, re.MULTILINE)
        self.assertGreater(int(count), 0)
        shown = re.findall(r"^ +(\d+)  (.*)$", section, re.MULTILINE)
        self.assertTrue(shown and shown[-1][1] == "in this stack, innermost first:", section)
        for n, message in shown[:-1]:
            if not message.startswith("... and"):
                self.assertLessEqual(int(n), messages[message], message)
        self.assertRegex(section, r"innermost first:\n {20}__cxa_throw\n")

    def test_views_of_html(self):
        """One for each type, of the stacks with it."""
        written, _, _ = self.record("thrown-O2", 1000, "--format", "speedscope", *EVERY)
        here = os.path.dirname(__file__)
        with tempfile.NamedTemporaryFile() as packed:
            packed.write(base64.b64encode(gzip.compress(written.encode())))
            packed.flush()
            chosen = json.loads(subprocess.run(["node", os.path.join(here, "filter_html.js"), os.path.join(here, "../../formats/html_filter.js"),
                                                packed.name], check=True, capture_output=True, text=True, timeout=60).stdout)
        views = {c["option"]: c for c in chosen if c.get("option", "").startswith("exception ")}
        frames = [f["name"] for f in json.loads(written)["shared"]["frames"]]
        self.assertEqual({re.sub(r"^exception (.*): \d+$", r"[exception.type=\1]", name) for name in views},
                         {name for name in frames if name.startswith("[exception.type=")})
        everything = json.loads(written)["profiles"][0]
        for name, view in views.items():
            of = frames.index(re.sub(r"^exception (.*): \d+$", r"[exception.type=\1]", name))
            total = sum(w for s, w in zip(everything["samples"], everything["weights"]) if of in s)
            self.assertEqual(view["profiles"], [[name.rpartition(": ")[0], total]])
            self.assertTrue(name.endswith(f": {total}"), name)
            self.assertEqual(view["output"], f"{100 * total / sum(everything['weights']):.1f} % of all")

    def test_redaction(self):
        written, _, _ = self.record("thrown-O2", 1000, "--no-symbols", "--format", "jsonl", "--redact", r"error|Deeper|[0-9]+", *EVERY)
        labels = [json.loads(line)["labels"] for line in written.splitlines()]
        for l in labels:
            self.assertIsNone(re.search(r"error|Deeper|\d", json.dumps(l, ensure_ascii=False)), l)
        self.assertIn("(anonymous namespace)::<redacted>", {l["exception.type"] for l in labels})
        self.assertIn("std::runtime_<redacted>", {l["exception.type"] for l in labels})
        self.assertIn("<redacted>", " ".join(l.get("exception.message", "") for l in labels))

    def test_a_process_without_a_runtime(self):
        result = dwarfprof("--exceptions", "--", "true")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("no exceptions could be seen: no process has had a C++ runtime, Python or HotSpot", result.stderr)

    def test_what_does_not_go_with_it(self):
        for options, said in ((["--off-cpu"], "exclude each other"), (["-K"], "exclude each other"),
                              (["--value", "exception.type"], "--value is for"), (["-F", "99"], "-F is for")):
            with self.subTest(options=options):
                result = dwarfprof("--exceptions", *options, "--", "true")
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(said, result.stderr)


# An object in a page that nobody has touched yet, and with too many references to be freed.
UNREAD = """
import ctypes, mmap, sys, tempfile
message = "in a %s" % "file"
made = ctypes.string_at(id(message), sys.getsizeof(message))
file = tempfile.TemporaryFile()
file.write((b"\\0\\0\\1" + made[3:]).ljust(mmap.PAGESIZE, b"\\0"))
file.flush()
throw = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.c_void_p)(("PyErr_SetObject", ctypes.pythonapi))
kept = [mmap.mmap(file.fileno(), mmap.PAGESIZE, flags=mmap.MAP_PRIVATE) for i in range(5)]
places = [ctypes.addressof(ctypes.c_char.from_buffer(mapped)) for mapped in kept]
print("begin", flush=True)
sys.stdin.readline()
for place in places:
    for value in place, place, None:
        try:
            throw(LookupError, value)
        except LookupError as error:
            assert value is None or error.args == (message,)
print("done", flush=True)
sys.stdin.readline()
"""


class Python(unittest.TestCase):
    """Each that a function raises, by a statement or in C, once, with its type and what is a message of ASCII."""
    LONG = ("test_all_versions",)

    def check(self, python, n=1000):
        with tempfile.TemporaryDirectory() as directory:
            script, log, out = (os.path.join(directory, name) for name in ("raising.py", "log", "out"))
            with open(script, "w", encoding="utf-8") as file:
                file.write(RAISING)
            with subprocess.Popen([python, script, str(n), log], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                said = profile_until_done(process, "--exceptions", *EVERY, "--format", "jsonl", "-o", out)
            with open(log, encoding="utf-8") as file:
                logged = [json.loads(line) for line in file]
            return read_samples(harness.read(out)), logged, said

    def check_each(self, python):
        samples, logged, said = self.check(python)
        self.assertIn(" 0 lost", said)
        found = []
        for s in samples:
            names = [frame["symbol"].rpartition(".")[2] for frame in s["user_stack"] if frame["method"] == "python" and frame["symbol"]]
            if names and names[0].startswith("raise_"):
                found.append({"function": names[0], "type": s["labels"].get("exception.type"), "message": s["labels"].get("exception.message")})
            self.assertEqual(s["labels"].get("exception.language"), "python")
            self.assertNotIn("exception.rethrown", s["labels"])
        wanted = [{**throw, "message": throw["message"] and (throw["message"] if len(throw["message"]) < CUT else throw["message"][:CUT] + "…")}
                  for throw in logged]
        self.assertEqual(len(found), len(wanted))
        for pair in zip(found, wanted):
            self.assertEqual(*pair)
        self.assertGreater(len({throw["type"] for throw in logged}), 7)

    def test_the_machine_s(self):
        self.check_each("/usr/bin/python3")

    def test_messages_that_are_not_in_memory(self):
        """The kernel reads none from a file in an event, and says so; the program does."""
        with subprocess.Popen(["/usr/bin/python3", "-c", UNREAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process, \
                tempfile.TemporaryDirectory() as directory:
            self.assertEqual(process.stdout.readline(), "begin\n")
            out = os.path.join(directory, "out")
            profile_until_done(process, "--exceptions", *EVERY, "--format", "jsonl", "-o", out)
            found = [(s["labels"]["exception.type"], s["labels"].get("exception.message")) for s in read_samples(harness.read(out))]
        self.assertEqual(found, [("LookupError", message) for message in ("<unread>", "in a file", None) * 5])

    def test_all_versions(self):
        every = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
        tried = sorted(p for p in every if int(re.search(r"/3\.(\d+)", p)[1]) >= 8)  # of those before, no functions are known
        for python in tried:
            with self.subTest(python=python):
                self.check_each(python)
        if not tried:
            self.skipTest("there are no other Pythons: pyenv")

    def test_one_that_is_stripped(self):
        """Of 3.13, the function by which all exceptions pass is not exported."""
        library = next(iter(glob.glob(os.path.expanduser("~/.pyenv/versions/3.13.*/lib/libpython3.13.so.1.0"))), None)
        if not library:
            self.skipTest("there is no Python 3.13: pyenv")
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run(["strip", "-o", os.path.join(directory, os.path.basename(library)), library], check=True)
            python = os.path.join(os.path.dirname(library), "../bin/python3")
            result = dwarfprof("--exceptions", "--", python, "-c", "int('x')", env={**os.environ, "LD_LIBRARY_PATH": directory})
            self.assertIn("libpython3.13.so.1.0 throws are not seen: it has a Python, but is stripped of its symbols", result.stderr)


class Java(unittest.TestCase):
    """Each that a function makes, thrown or not, once, with its type, whatever form objects have."""
    HOMES = sorted({os.path.realpath(os.path.dirname(os.path.dirname(os.path.dirname(path))))
                    for path in glob.glob("/usr/lib/jvm/*/lib/server/libjvm.so")})
    # A hot place would use exceptions again that it has made before.
    OPTIONS = ["-XX:-OmitStackTraceInFastThrow"]
    FORMS = [["-XX:-UseCompressedClassPointers"], ["-XX:+UseCompactObjectHeaders"], ["-XX:+UseZGC"], ["-XX:+UseSerialGC", "-Xint"]]
    N = 3000
    LONG = ("test_other_forms_of_objects",)

    def record(self, home, *options):
        """Returns the samples, what the program logged, and what dwarfprof said."""
        with tempfile.TemporaryDirectory() as directory:
            log, out = os.path.join(directory, "log"), os.path.join(directory, "out")
            subprocess.run([f"{home}/bin/javac", "-XDstringConcat=inline", "-d", directory,
                            os.path.join(os.path.dirname(__file__), "Throwing.java")], check=True)
            with subprocess.Popen([f"{home}/bin/java", *self.OPTIONS, *options, "-cp", directory, "Throwing", str(self.N), log],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
                # The JVM itself may have something to say.
                self.assertIn("begin\n", iter(process.stdout.readline, ""))
                said = profile_until_done(process, "--exceptions", *EVERY, "--format", "jsonl", "-o", out)
            with open(log, encoding="utf-8") as file:
                return read_samples(harness.read(out)), [json.loads(line) for line in file], said

    def check_form(self, home, *options):
        samples, logged, said = self.record(home, *options)
        self.assertIn(" 0 lost", said)
        found = []
        for s in samples:
            names = [frame["symbol"] for frame in s["user_stack"] if frame["kind"] == "java" and frame["symbol"]]
            makers = [name for name in names if name.startswith("Throwing.raise")]
            if makers:
                found.append({"function": makers[0], "type": s["labels"].get("exception.type")})
                self.assertTrue(any(name.startswith("java.lang.Throwable.") for name in names), names)
            self.assertEqual(s["labels"].get("exception.language"), "java")
            self.assertFalse({"exception.rethrown", "exception.message"} & set(s["labels"]))
        self.assertEqual(len(found), len(logged))
        for pair in zip(found, logged):
            self.assertEqual(*pair)
        self.assertEqual(len({throw["type"] for throw in logged}), 11)

    def check_forms(self, forms):
        if not self.HOMES:
            self.skipTest("there is no JDK")
        for home in self.HOMES:
            for options in forms:
                if subprocess.run([f"{home}/bin/java", *options, "-version"], capture_output=True, check=False).returncode != 0:
                    continue  # a version without it
                with self.subTest(home=home, options=options):
                    self.check_form(home, *options)

    def test_of_each_version(self):
        self.check_forms([[]])

    def test_other_forms_of_objects(self):
        self.check_forms(self.FORMS)


if __name__ == "__main__":
    harness.main()
