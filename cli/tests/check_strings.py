#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts of C++, Rust and Go that probes read: those that the program itself has logged.

usage: check_strings.py DWARFPROF PROGRAM-DIR
"""
import os
import subprocess
import tempfile

import check_languages
import harness
import valued
from harness import dwarfprof, program

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test-programs/languages")
N, MANY = 2500, 100000
CPLUSPLUS = ("valued_strings-O0", "valued_strings-O2", "valued_strings-before-cxx11", "valued_strings-clang-O0", "valued_strings-clang-O2")
# A sample has room for three of the longest texts.
CPLUSPLUS_NAMES = (("handle", "route, view, name=request->name, id=id"),
                   ("handle", "pointed=request->other, view=request->view, bytes=request->bytes:bytes[request->n_bytes], id=id"),
                   ("keep", "route=owned, view, other=last, id=id"),
                   ("save", "data=data:bytes[size], magic=magic:bytes[4], size, id=id"))
# Of struct Request, the name begins at 8, the view at 40.
CPLUSPLUS_NUMBERS = (("handle", "route=arg1:std::string, view=arg2:std::string_view, name=arg4+8:std::string, id=arg5"),
                     ("handle", "view=arg4->40:std::string_view, id=arg5"),
                     ("keep", "route=arg1:std::string, id=arg2, view=arg3:std::string_view, other=arg7:std::string_view"),
                     ("save", "data=arg1:bytes[arg2:u32], magic=arg4:bytes[4], size=arg2:s32, id=id"),
                     ("save", "data=data:bytes[arg2:s32], size=size, id=arg3"))
LIBCXX = ("valued_strings-libcxx-O0", "valued_strings-libcxx-O2")
LIBCXX_NAMES = (*CPLUSPLUS_NAMES[:1], ("handle", "pointed=request->other, view=request->view, bytes=request->bytes:bytes[request->n_bytes], id=id"),
                CPLUSPLUS_NAMES[2], ("handle", "route=arg1:std::__1::string, name=arg4+8:std::__1::string, id=arg5"))
RUST = (("handle", "route, data, owned, id=id"), ("handle", "name=request->name, fixed=request->route, body=request.body, id=id"),
        ("count", "tiny, short, int, word, long, own_byte=numbers.byte, own_short=numbers.short, colour=colour, own_colour=numbers.colour, id=id"),
        ("handle", "boxed, last, id=id"), ("borrow", "owned=string, data=vector, id=id"),
        ("handle", "route=arg1:rust_str, id=arg3, data=arg4:rust_str, last=arg10:rust_str"))
GO = (("main.handle", "route, name=request.Name, last, id=id"), ("main.handle", "body=request->Body, data, method=header.Method, id=id"),
      ("main.handle", "method=request.Header.Method, id=id"),
      ("main.count", "tiny, short, int=word, word=length, long, own_byte=numbers.Byte, own_short=numbers.Short, colour=kind, own_colour=numbers.Kind, "
                     "id=id"))


class Strings(valued.ValuedTest):
    LONG = ("test_cplusplus_at_a_line", "test_cplusplus_by_position", "test_cplusplus_of_other_compilers", "test_cplusplus_not_optimized", "test_rust",
            "test_rust_of_other_compilers", "test_go_not_optimized", "test_go_of_other_compilers", "test_results_of_other_compilers", "test_many_calls_of_rust", "test_many_calls_of_go")

    def check_all(self, target, probes, n=N):
        for function, values in probes:
            with self.subTest(target=target, function=function, values=values):
                self.check(f"uprobe:{program(target)}:{function}({values})", n, self.keys(values), target=target)

    def test_cplusplus(self):
        self.check_all(CPLUSPLUS[1], CPLUSPLUS_NAMES)

    def test_cplusplus_not_optimized(self):
        self.check_all(CPLUSPLUS[0], CPLUSPLUS_NAMES)

    def test_cplusplus_of_other_compilers(self):
        for target in filter(lambda name: os.path.exists(program(name)), CPLUSPLUS[2:]):
            self.check_all(target, CPLUSPLUS_NAMES)

    def test_cplusplus_at_a_line(self):
        """In call(), where what is inlined in the line may begin, too."""
        with open(os.path.join(SOURCES, "../valued_strings.cc")) as file:
            line = 1 + file.read().split("\n").index('\tlog_text(log, "route", route);')
        values = "route, view, name=request.name, id=i"
        for target in ("valued_strings-O0", "valued_strings-O2", "valued_strings-before-cxx11", "valued_strings-clang-O0"):
            if os.path.exists(program(target)):
                self.check_all(target, ((f"valued_strings.cc:{line}", values),))

    def test_cplusplus_by_position(self):
        for target in ("valued_strings-O0", "valued_strings-O2"):
            self.check_all(target, CPLUSPLUS_NUMBERS)

    def test_cplusplus_of_libcxx(self):
        for target in LIBCXX:
            if not os.path.exists(program(target)):
                self.skipTest("there is no libc++")
            self.check_all(target, LIBCXX_NAMES, 1000)
            result = dwarfprof("-e", f"uprobe:{program(target)}:handle(x=route:bytes[id])", "--", "true")
            self.assertIn("of a string of libc++, std::string alone can be read", result.stderr)

    def check_language(self, is_first, tool, flags, source, probes, function, parameters, n=N):
        """With the first version that there is, or the others."""
        found = list(check_languages.tools(tool).items())
        for version, path in found[:1] if is_first else found[1:]:
            for options in flags:
                with tempfile.TemporaryDirectory() as directory, self.subTest(tool=tool, version=version, options=options):
                    out = os.path.join(directory, "strings")
                    environment = dict(os.environ, GO111MODULE="off")
                    subprocess.run([path, *options, "-o", out, os.path.join(SOURCES, source)], check=True, env=environment,
                                   stderr=subprocess.DEVNULL)
                    self.check_all(out, probes, n)
                    self.assertEqual(dwarfprof("probes", out, function).stdout, f"uprobe:{out}:{function}({parameters})\n")

    def check_rust(self, is_first, probes=RUST, n=N):
        self.check_language(is_first, "rustc", (["--edition", "2021", "-g"], ["--edition", "2021", "-g", "-O"]), "strings.rs", probes,
                            "handle", "route:rust_str, id:u64, data:rust_str, owned:rust_str, request:ptr, boxed:rust_str, last:rust_str", n)

    def test_rust(self):
        self.check_rust(True)

    def test_many_calls_of_rust(self):
        self.check_rust(True, RUST[:1], MANY)

    def test_rust_of_other_compilers(self):
        self.check_rust(False)

    def check_go(self, is_first, *flags, probes=GO, n=N):
        self.check_language(is_first, "go", flags, "strings.go", probes, "main.text", "i:u64, k:u64", n)

    def test_go(self):
        self.check_go(True, ["build"])

    def test_many_calls_of_go(self):
        self.check_go(True, ["build"], probes=GO[:1], n=MANY)

    def test_go_not_optimized(self):
        self.check_go(True, ["build", "-gcflags=-N -l"])

    def test_go_of_other_compilers(self):
        self.check_go(False, ["build"], ["build", "-gcflags=-N -l"])

    def check_results(self, targets):
        for target in filter(lambda name: os.path.exists(program(name)), targets):
            for function, key in (("answer", "route"), ("part", "view")):
                with self.subTest(target=target, function=function):
                    written, logged, lost, _ = self.record(f"uretprobe:{program(target)}:{function}(ret)", N, target=target)
                    found = [sample["labels"]["ret"] for sample in valued.samples_of(written)]
                    wanted = [values[key] for values in logged.values()]
                    self.assertEqual(len(found) + lost, N)
                    self.assertTrue(found == wanted or (lost and set(found) <= set(wanted)))

    def test_results(self):
        self.check_results(CPLUSPLUS[:2])

    def test_results_of_other_compilers(self):
        self.check_results(CPLUSPLUS[2:])

    def test_what_is_wrong(self):
        for values, said in (("ret:std::string_view", "argN or ->OFFSET in front of this type"), ("ret:bytes", "how many bytes")):
            result = dwarfprof("-e", f"uretprobe:{program(CPLUSPLUS[0])}:save({values})", "--", "true")
            self.assertEqual(result.returncode, 2)
            self.assertIn(said, result.stderr)

    def test_what_cannot_be_read(self):
        for values, said in (("x=request:std::string", "it is no string of C++, Rust or Go"),
                             ("x=request->name:bytes[view]", "its length is no integer"),
                             ("x=request->name:bytes[vew]", "the function has no parameter vew"),
                             ("x=request->bytes", "its type is no integer, f32, f64, enum, pointer, or text of C, C++, Rust or Go"),
                             (", ".join(f"x{i}=route" for i in range(9)), "at most 16 values; texts")):
            with self.subTest(values=values):
                result = dwarfprof("-e", f"uprobe:{program(CPLUSPLUS[0])}:handle({values})", "--", "true")
                self.assertEqual(result.returncode, 1)
                self.assertIn(said, result.stderr)


if __name__ == "__main__":
    harness.main()
