#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Values that probes read: those that the program itself has logged.

usage: check_values.py DWARFPROF PROGRAM-DIR
"""
import base64
import errno
import gzip
import json
import os
import re
import statistics
import subprocess
import tempfile

import harness
import readers
import valued
from harness import dwarfprof, program, refuse

# A file of each format, but for HTML.
EXTENSIONS = ["jsonl", "json", "folded", "perf", "speedscope.json", "svg", "pb.gz", "otlp", "txt", "firefox.json", "firefox.json.gz",
              "dwarfprof"]
BPF, BPF_LINK_CREATE = 321, 28  # x86-64's asm/unistd_64.h, linux/bpf.h
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test-programs/valued.c")
N = 100000
# Of take(), by position: struct request has its header at 8, and so on.
ARGUMENTS = ("size=arg1:u64, path=arg2:str, small=arg3:s8, hex=arg1:x16, flag=arg5:bool, letter=arg6:char, "
             "seventh=arg7:s32, eighth=arg8:u16, status=arg4->16:s32, kind_number=arg4->20:u32, level=arg4->24:u8, "
             "version=arg4->8->0:s16, method=arg4->8->8:str, host=arg4->8+16:str, id=arg4->0:u64, "
             "ratio=arg4->32:f64")
NAMES = ("size=size, path:str, small=small, hex=size:x16, flag=flag, letter=letter, seventh=seventh, eighth=eighth, "
         "status=request->status, kind=request->kind, kind_number=request->kind:u32, level=request->level, version=request->header->version, "
         "method=request->header->method, host=request->header->host, id=request->id")
# The same members by the numbers of parameters.
NUMBERS = ("version=arg4->header.version, host=arg4->header->host, kind=arg4->kind, kind_number=arg4->kind:u32, status=arg4->status:s32, "
           "ratio=arg4->ratio, share=arg4->share, id=arg4->id")
# Of the probe in valued_usdt.c: a wider type than an argument's does not add to it.
STATIC = ("id=arg1, path=arg2:str, status=arg3, version=arg4, level=arg5, element=arg6, byte=arg7, constant=arg8, "
          "hex=arg3:x64, wide=arg4:u64")
# Of Server::handle(), in valued_cplusplus.cc.
MEMBERS = ("route=route, code=code, name=this->name, level=this->limits.level, owner=this->owner, colour=colour, state=state, "
           "access=this->access, id=id")


def plain_bytes(path):
    """What a report says, also where it is packed."""
    with open(path, "rb") as file:
        written = file.read()
    if path.endswith(".gz"):
        return gzip.decompress(written)
    if path.endswith(".dwarfprof"):
        return written + dwarfprof("convert", path, "--format", "jsonl", "-o", "/dev/stdout").stdout.encode()
    packed = re.search(rb'id="profile">\s*([\w+/=\s]+?)\s*</script>', written) if path.endswith(".html") else None
    return written + (gzip.decompress(base64.b64decode(packed[1])) if packed else b"")


class Values(valued.ValuedTest):
    LONG = ("test_arguments_by_position", "test_many_calls_of_a_static_probe", "test_many_calls_of_cplusplus",
            "test_parameters_of_cplusplus_otherwise_optimized")

    def test_arguments_by_position(self):
        samples = self.check(f"uprobe:{program('valued')}:take({ARGUMENTS})", N, self.keys(ARGUMENTS))
        paths = {s["labels"]["path"][-1] for s in samples}
        self.assertLessEqual({"…", ">", "x"}, paths, "cut, unread and complete texts")

    def test_parameters_by_name(self):
        for target in ("valued", "valued-O0", "valued-O0-dwarf3", "valued-O1", "valued-clang", "valued-clang-O0"):
            if os.path.exists(program(target)):
                with self.subTest(target=target):
                    self.check(f"uprobe:{program(target)}:take({NAMES})", 1000, self.keys(NAMES), target=target)

    def test_members_by_number(self):
        for target in ("valued", "valued-O0", "valued-clang"):
            if os.path.exists(program(target)):
                with self.subTest(target=target):
                    self.check(f"uprobe:{program(target)}:take({NUMBERS})", 1000, self.keys(NUMBERS), target=target)

    def check_cplusplus(self, *optimizations, n=1000):
        for optimize in optimizations:
            target = "valued_cplusplus" + optimize
            for function, values in (("Server::handle", MEMBERS), ("make", "route=route, code=code, id=id"),
                                     ("Server::handl*", MEMBERS),
                                     ("Shelf<short>::put", "small=value, small_before=this->last, id=id"),
                                     ("Shelf<long>::put", "large=value, large_before=this->last, id=id")):
                with self.subTest(target=target, function=function):
                    self.check(f"uprobe:{program(target)}:{function}({values})", n, self.keys(values), target=target)

    def test_parameters_of_cplusplus(self):
        self.check_cplusplus("-O0", "-O2")

    def test_parameters_of_cplusplus_otherwise_optimized(self):
        self.check_cplusplus("-O1", "-O3")

    def test_many_calls_of_cplusplus(self):
        for optimize in "-O0", "-O3":
            self.check(f"uprobe:{program('valued_cplusplus' + optimize)}:Server::handle({MEMBERS})", N, self.keys(MEMBERS),
                       target="valued_cplusplus" + optimize)

    def test_variables_at_a_line(self):
        """In call(), behind what it has logged."""
        with open(SOURCE) as file:
            line = 1 + file.read().splitlines().index("\tif (i % 64 == 0)")
        values = "size=random, status=request.status, level=request.level, version=header.version, host=header.host, ratio=request.ratio, id=i"
        for target in ("valued-O0", "valued-O0-dwarf3", "valued-clang-O0"):
            if os.path.exists(program(target)):
                with self.subTest(target=target):
                    self.check(f"uprobe:{program(target)}:valued.c:{line}({values})", 1000, self.keys(values), target=target)

    def test_parameters_within_a_function(self):
        """In take(), when it is about to call another one: behind its prologue, without optimization."""
        at = readers.instructions_of(program("valued-O0"), "take", "call")[0]
        values = "size=size, path:str, status=request->status, host=request->header->host, ratio=request->ratio, id=request->id"
        self.check(f"uprobe:{program('valued-O0')}:take+{at}({values})", 1000, self.keys(values), target="valued-O0")

    def test_a_separate_debug_file(self):
        with tempfile.TemporaryDirectory() as directory:
            stripped, debug = os.path.join(directory, "valued"), os.path.join(directory, "valued.debug")
            subprocess.run(["objcopy", "--only-keep-debug", program("valued"), debug], check=True)
            subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program("valued"), stripped], check=True)
            self.check(f"uprobe:{stripped}:take({NAMES})", 100, self.keys(NAMES), target=stripped)
            os.unlink(debug)
            for values in (NAMES, NUMBERS):
                result = dwarfprof("-e", f"uprobe:{stripped}:take({values})", "--", "true")
                self.assertEqual(result.returncode, 1)
                self.assertIn("has no debug information of the function", result.stderr)
                self.assertIn("or arg1, arg2->OFFSET:TYPE, ... instead of names and members", result.stderr)

    def test_parameters_that_are_not_there(self):
        for function, values, said in (("take", "path:str, x=siez", "cannot read siez in the function at 0x"),
                                       ("take", "x=siez", "the function has no parameter siez"),
                                       ("take", "x=request->stauts", "there is no member stauts"),
                                       ("take", "x=arg9->status", "the function has no parameter arg9"),
                                       ("take", "x=arg4->stauts", "there is no member stauts"),
                                       ("take", "x=size->id", "what has the member id is no pointer"),
                                       ("take", "x=request.header.version.low", "what has the member low is no struct"),
                                       ("Server::handle", "x=this->shared", "there is no member shared"),
                                       ("take", "x=path:std::string", "it is no string of C++, Rust or Go"),
                                       ("take", "x=path:bytes[letter]", "its length is no integer"),
                                       ("scale*", "x=unused", "optimized out"),
                                       ("make", "x=ratio", "it is in a register for floats, which no probe can read")):
            with self.subTest(values=values):
                path = program({"Server::handle": "valued_cplusplus-O0", "make": "valued_cplusplus-O2"}.get(function, "valued"))
                result = dwarfprof("-e", f"uprobe:{path}:{function}({values})", "--", "true")
                self.assertIn(said, result.stderr)
                self.assertEqual(result.returncode, 1)

    def test_floats_in_registers(self):
        for probe, said in (("uretprobe:{}:half_of(ret)", "cannot read ret in the function at 0x"), ("uretprobe:{}:half_of(ret)", "register for floats"),
                            ("uprobe:{}:half_of(x=whole)", "register for floats"), ("uprobe:{}:take(x=arg1:f64)", "cannot be read in a register")):
            with self.subTest(probe=probe):
                result = dwarfprof("-e", probe.format(program("valued")), "--", "true")
                self.assertIn(said, result.stderr)
                self.assertNotEqual(result.returncode, 0)

    def test_parameters_that_are_constant(self):
        written, _, _, _ = self.record(f"uprobe:{program('valued')}:scale*(by=by, factor=factor)", 50)
        samples = [json.loads(line)["labels"] for line in written.splitlines()]
        self.assertEqual({s["factor"] for s in samples}, {200})
        self.assertGreater(len({s["by"] for s in samples}), 25)

    def test_a_value_beside_the_count(self):
        probe = f"uprobe:{program('valued')}:take(level=request->level, id=request->id)"
        written, logged, _, _ = self.record(probe, 1000, "--value", "level")
        samples = [json.loads(line) for line in written.splitlines()]
        self.assertGreater(len(samples), 500)
        for s in samples:
            self.assertEqual(s["labels"], {"id": s["labels"]["id"]})
            self.assertEqual((s["weight"], s["values"]), (1, {"level": logged[s["labels"]["id"]]["level"]}))
        written, logged, lost, _ = self.record(probe.replace(", id=request->id", ""), 1000, "--value", "level", form="folded")
        # What was lost is guessed.
        total = sum(int(line.rpartition(" ")[2]) for line in written.splitlines() if not line.startswith("[lost samples] "))
        wanted = sum(values["level"] for values in logged.values())
        self.assertLessEqual(total, wanted)
        self.assertTrue(lost or total == wanted)
        for name in ("host", "size"):
            result = dwarfprof("-e", f"uprobe:{program('valued')}:take(host=arg4->8+16:str)", "--value", name, "--", "true")
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"--value {name}: -e reads no integer of that name", result.stderr)
        for values, code, said in ((("level", "level"), 2, "--value level is given twice"),
                                   (("level", "di"), 1, "--value di: -e reads no integer of that name")):
            result = dwarfprof("-e", probe, *(word for name in values for word in ("--value", name)), "--", "true")
            self.assertEqual(result.returncode, code)
            self.assertIn(said, result.stderr)

    def test_values_of_one_event(self):
        """Of each, the sum is that of the program; what is negative adds nothing."""
        probe = f"uprobe:{program('valued')}:take(level=request->level, seventh=seventh, id=request->id)"
        options = "--value", "level", "--value", "seventh:steps"
        written, logged, _, _ = self.record(probe, 1000, *options)
        found = [json.loads(line) for line in written.splitlines()]
        numbers = [logged[s["labels"]["id"]] for s in found]
        self.assertEqual([s["values"] for s in found],
                         [{"level": n["level"], "seventh": n["seventh"] if n["seventh"] >= 0 else None} for n in numbers])
        written, logged, lost, _ = self.record(probe.replace(", id=request->id", ""), 1000, *options, form="json")
        report = json.loads(written)
        self.assertEqual([(v["name"], v["unit"]) for v in report["metadata"]["values"]],
                         [("events", "count"), ("seventh", "steps"), ("level", "count")])
        sums = [sum(column) for column in zip(*(stack["values"] for stack in report["stacks"]))]
        wanted = [1000, sum(max(0, values["seventh"]) for values in logged.values()), sum(values["level"] for values in logged.values())]
        self.assertTrue(sums == wanted or lost, (sums, wanted))
        self.assertGreater(wanted[1], 0)

    def test_values_that_cannot_be_added_up(self):
        """Half of the program's sizes have the highest bit, which would make the sum of all wrong."""
        written, logged, _, _ = self.record(f"uprobe:{program('valued')}:take(size=arg1:u64, id=arg4->0)", 1000, "--value", "size")
        n_labels = 0
        for s in map(json.loads, written.splitlines()):
            size = int(logged[s["labels"]["id"]]["size"]) % 2**64
            number, label = (size, None) if size < 2**63 else (None, str(size))
            self.assertEqual((s["values"], s["labels"].get("size")), ({"size": number}, label))
            n_labels += label is not None
        self.assertGreater(n_labels, 100)

    def test_results(self):
        for value in ("ret:s32", "ret"):
            with self.subTest(value=value):
                written, logged, lost, _ = self.record(f"uretprobe:{program('valued')}:take({value})", 10000)
                samples = [json.loads(line) for line in written.splitlines()]
                self.assertEqual({s["event"] for s in samples}, {f"uretprobe:{program('valued')}:take"})
                found = [s["labels"]["ret"] for s in samples]
                self.assertEqual(len(found) + lost, len(logged))
                wanted = [values["ret"] for values in logged.values()]
                self.assertTrue(found == wanted or (lost and set(found) < set(wanted)))

    def test_times(self):
        """Each call took as long as it says, and little longer; recursive ones are told apart."""
        written, logged, lost, _ = self.record(f"uretprobe:{program('valued')}:spend(own=ret:u64, time)", 6400)
        times = [json.loads(line)["labels"] for line in written.splitlines()]
        depths = [1 + int(values["size"]) % 8 for values in logged.values() if values["id"] % 64 == 0]
        self.assertEqual(len(times) + lost, sum(depths))
        self.assertEqual([s for s in times if not s["own"] <= s["time"]], [])
        self.assertLess(statistics.median(s["time"] - s["own"] for s in times), 100000)
        if not lost:
            # The innermost call returns first.
            ends = [s["time"] for s in times]
            for depth in depths:
                calls, ends = ends[:depth], ends[depth:]
                self.assertEqual(calls, sorted(calls))
                self.assertGreaterEqual(calls[-1], depth * 20000)

    def test_without_links_for_many_functions(self):
        self.check(f"uprobe:{program('valued')}:take({ARGUMENTS})", 1000, self.keys(ARGUMENTS),
                   preexec_fn=lambda: refuse(errno.EINVAL, BPF, BPF_LINK_CREATE))

    def test_static_probes(self):
        for target, n in (("valued_usdt", 10000), ("valued_usdt-O0", 1000), ("valued_usdt-no-pie", 1000),
                          ("valued_usdt-clang", 1000)):
            with self.subTest(target=target):
                self.check(f"usdt:{program(target)}:valued:hit({STATIC})", n, self.keys(STATIC), target=target)

    def test_many_calls_of_a_static_probe(self):
        self.check(f"usdt:{program('valued_usdt')}:valued:hit({STATIC})", N, self.keys(STATIC), target="valued_usdt")

    def test_static_probes_one_by_one(self):
        self.check(f"usdt:{program('valued_usdt')}:val*:c?ll(id=arg1)", 1000, ["id"], target="valued_usdt",
                   preexec_fn=lambda: refuse(errno.EINVAL, BPF, BPF_LINK_CREATE))

    def test_static_probes_are_watched_while_sampled(self):
        """The kernel counts who watches a probe in its semaphore, where the program sees it."""
        with tempfile.TemporaryDirectory() as directory:
            for options in ([], ["-e", f"usdt:{program('valued_usdt')}:valued:hit"]):
                out, log = os.path.join(directory, "out.txt"), os.path.join(directory, "log")
                result = dwarfprof(*options, "-o", out, "--", program("valued_usdt"), "100", log, input="\n")
                self.assertEqual("50 hits that nobody watched" in result.stderr, not options, result.stderr)

    def test_static_probes_that_are_not_there(self):
        path = program("valued_usdt")
        for probe, said in (("valued:hti", "has no USDT probe valued:hti; did you mean valued:hit?"),
                            ("valued:hit(x=arg9)", "cannot read the values of valued:hit"),
                            ("valued:hit(x=arg9)", "it has 8 arguments"),
                            ("valued:hit(x=arg3:str)", "it is no pointer: it has 4 bytes"),
                            ("valued:hit(x=size)", "expected a value: arg1, arg2, ..., arg12"),
                            ("valued", "expected PATH:PROVIDER:NAME")):
            with self.subTest(probe=probe):
                result = dwarfprof("-e", f"usdt:{path}:{probe}", "--", "true")
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(said, result.stderr)
        result = dwarfprof("-e", f"usdt:{program('valued')}:valued:hit", "--", "true")
        self.assertIn("has no USDT probes", result.stderr)

    def test_other_formats(self):
        written, logged, _, _ = self.record(f"uprobe:{program('valued')}:take(size=arg1:u64, host=arg4->8+16:str)", 50,
                                            form="folded")
        for values in logged.values():
            self.assertIn(f"[size={values['size']}]", written)
            self.assertIn(f"[host={values['host']}]", written)

    def secrets_in_formats(self, *options):
        """Returns how many of the program's own secrets are in a report of each format, and the jsonl."""
        extensions = EXTENSIONS + ["html"] * readers.html_is_there(dwarfprof)
        with tempfile.TemporaryDirectory() as directory:
            paths = [os.path.join(directory, f"report.{extension}") for extension in extensions]
            _, logged, _, _ = self.record(f"uprobe:{program('valued')}:take(size=arg1:u64, path=arg2:str)", 300, "--by", "label:path",
                                          *(word for path in paths for word in ("-o", path)), *options, form=None)
            with open(paths[0]) as file:
                samples = [json.loads(line) for line in file]
            secrets = {match[1].encode() for values in logged.values() for match in [re.match("/p/([0-9a-f]{12,})", values["path"])] if match}
            self.assertGreater(len(secrets), 200)
            return {path.partition(".")[2]: sum(secret in said for secret in secrets)
                    for path in paths for said in [plain_bytes(path)]}, samples

    def test_secrets_are_in_no_report(self):
        found, _ = self.secrets_in_formats()
        self.assertTrue(all(found.values()), found)
        found, samples = self.secrets_in_formats("--redact", "/p/[0-9a-f]+x*|^-?[0-9]{10,}$")
        self.assertFalse(any(found.values()), found)
        self.assertGreater(sum(s["labels"]["size"] == "<redacted>" and s["labels"]["path"].startswith("<redacted>") for s in samples), 200)

    def test_numbers_without_a_name_or_type(self):
        written, logged, _, _ = self.record(f"uprobe:{program('valued')}:take(arg1, arg4->0)", 50)
        samples = [json.loads(line) for line in written.splitlines()]
        self.assertGreater(len(samples), 25)
        for s in samples:
            size = int(logged[s["labels"]["arg4->0"]]["size"])
            self.assertEqual(s["labels"]["arg1"], size - (size >> 63 << 64))

    def test_expressions_that_are_wrong(self):
        for options, said in ((["--redact", "("], "--redact (: "), (["--redact", r"(a)\1"], "back-references are not allowed"),
                              (["--redact", "a", "--redact", "b"], "give --redact once: A|B matches both")):
            result = dwarfprof(*options, "--", "true")
            self.assertEqual(result.returncode, 2)
            self.assertIn(said, result.stderr)

    def test_what_is_wrong(self):
        for values, said in (("(size=arg1:u46)", "at 'u46)': expected a type: u8, u16,"),
                             ("(size=arg0:u64)", "at 'arg0:u64)': expected a value: arg1, arg2"),
                             ("(size=arg1->)", "at ')': expected a number"),
                             ("(size=arg1 u64)", "at 'u64)': expected '->OFFSET', '+OFFSET', ':TYPE', ','"),
                             ("(size=arg1:u64", "at the end: expected"),
                             ("(" + ",".join(17 * ["arg1"]) + ")", "at most 16 values"),
                             ("(arg1" + 9 * "->0" + ")", "at most 8 dereferences"),
                             ("(size=arg1)", "ret, what the function returns, or time, how long it took"),
                             ("(x=arg1:bytes)", "at ')': expected how many bytes: [NUMBER] or [VALUE]"),
                             ("(x=arg1:bytes[arg2)", "at ')': expected ']'"),
                             ("(x=arg1:bytes[arg2:str])", "at '])': expected an integer in front, such as arg2:u32"),
                             ("(x=arg1+8:rust_str)", "argN or ->OFFSET in front of this type"),
                             ("(size=)", "at ')': expected a value")):
            with self.subTest(values=values):
                kind = "uretprobe" if said.startswith("ret") else "uprobe"
                result = dwarfprof("-e", f"{kind}:{program('valued')}:take{values}", "--", "true")
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(said, result.stderr)


if __name__ == "__main__":
    harness.main()
