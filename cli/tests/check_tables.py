#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The output of `dwarfprof tables` for files made for this test, and for this Python and its
libraries.

Its three forms must agree with each other and with readelf; damaged files must be reported.

usage: check_tables.py DWARFPROF
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness

DWARFPROF = os.path.abspath(sys.argv[1])
N_FUNCTIONS, ATTEMPTS = 200_000, 20
MADE = tempfile.TemporaryDirectory()

# 16 bytes with a rule, 32 with a CFA expression that branches, 8 with a rule before an invalid
# opcode, 8 without unwind information; and in a separate section 24 bytes without and 40 with.
ASSEMBLY = """
.text
    .cfi_startproc
    .fill 16, 1, 0x90
    .cfi_endproc
    .cfi_startproc
    .cfi_escape 0x0f, 3, 0x2f, 0, 0
    .fill 32, 1, 0x90
    .cfi_endproc
    .cfi_startproc
    .fill 8, 1, 0x90
    .cfi_adjust_cfa_offset 8
    .cfi_escape 0x3c
    .fill 8, 1, 0x90
    .cfi_endproc
    .fill 8, 1, 0x90
.section other, "ax", @progbits
    .fill 24, 1, 0x90
    .cfi_startproc
    .fill 40, 1, 0x90
    .cfi_endproc
"""

FIELDS = {
    "path": str, "arch": str, "build_id": (str, type(None)), "source": str, "source_bytes": int,
    "eh_frame_bytes": int, "debug_frame_bytes": int, "packed_by": (str, type(None)), "fdes": int,
    "bad_records": int, "rows": int, "rules": int, "image_bytes": int, "build_ns": int,
    "code_bytes": int, "covered": int, "uncovered": int, "labels": str, "sections": list, "inexpressible": list,
}


AS_NOBODY = "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"
MAX_CIES = 1 << 18


# LeakSanitizer's, of a thread that has ended, but not yet in the kernel.
LEAK_CHECK = re.compile(r"^==\d+==Unable to get registers from thread \d+\.\n", re.M)


def tables(*args, prefix=(), program=DWARFPROF):
    result = subprocess.run([*prefix, program, "tables", *args], capture_output=True, text=True, timeout=60)
    result.stderr = LEAK_CHECK.sub("", result.stderr)
    return result


def readelf(*args):
    """Its exit code is 1 if a file with more debug information is missing."""
    return subprocess.run(["readelf", "--wide", *args], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def mapped_files():
    """This program and its libraries."""
    with open("/proc/self/maps") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if " r-xp " in line and "/" in line}
    return sorted(path for path in paths if os.path.exists(path))


class Case(unittest.TestCase):
    """Has a directory with one file of each kind."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.made = self.path("made.so")
        source = self.path("made.s")
        with open(source, "w") as file:
            file.write(ASSEMBLY)
        subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,--build-id", "-o", self.made, source],
                       check=True, stderr=subprocess.DEVNULL)
        os.unlink(source)

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def file(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def bytes_of(self, path):
        with open(path, "rb") as file:
            return file.read()

    def json(self, *args, code=0):
        result = tables("--json", *args)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    @staticmethod
    def large():
        """One that takes longer to read than it takes to see that it is mapped; the same for all tests."""
        path = os.path.join(MADE.name, "large")
        if os.path.exists(path):
            return path
        functions = "".join(f".cfi_startproc\n.cfi_def_cfa_offset {8 * (i % 9 + 2)}\nnop\nret\n.cfi_endproc\n"
                            for i in range(N_FUNCTIONS))
        subprocess.run(["gcc", "-shared", "-nostdlib", "-xassembler", "-o", path, "-"], input=functions,
                       text=True, check=True, stderr=subprocess.DEVNULL)
        return path

    def reader_of(self, path, *options):
        """The command, and who of it and its helpers has the file mapped; None: it had ended before."""
        process = subprocess.Popen([DWARFPROF, "tables", "--json", *options, path], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while process.poll() is None:
            for pid in process.pid, *map(int, harness.descendants(process.pid)):
                if path in harness.read(f"/proc/{pid}/maps"):
                    return process, pid
        return process, None

    def rows(self, path):
        result = tables("--rows", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return [line.split() for line in result.stdout.splitlines()]


class Figures(Case):
    def test_fields_and_totals(self):
        paths = mapped_files()
        self.assertGreater(len(paths), 1)
        objects = self.json(*paths)
        self.assertEqual([table["path"] for table in objects], paths)
        for table in objects:
            self.assertEqual(list(table), list(FIELDS))
            for name, kind in FIELDS.items():
                self.assertIsInstance(table[name], kind, name)
            self.assertEqual(table["arch"], "x86_64")
            self.assertGreater(table["rows"], 0)
            # Every image has two rules: none, and refused.
            self.assertLessEqual(3, table["rules"])
            self.assertLessEqual(table["rules"], table["rows"] + 2)
            self.assertGreater(table["build_ns"], 0)
            self.assertGreater(table["image_bytes"], table["rows"])
            self.assertEqual(table["covered"] + table["uncovered"], table["code_bytes"])
            for name, whole in (("covered",) * 2, ("uncovered",) * 2, ("size", "code_bytes")):
                self.assertEqual(sum(section[name] for section in table["sections"]), table[whole])
            for section in table["sections"]:
                self.assertEqual(section["covered"] + section["uncovered"], section["size"])
            self.assertGreater(table["covered"], 0)

    def test_agree_with_readelf(self):
        for table in self.json(*mapped_files(), self.made):
            path = table["path"]
            sections = re.findall(
                r"^ +\[ *\d+\] (\S+) +PROGBITS +(\w+) \w+ (\w+) \w+ +(\w+) ", readelf("-S", path), re.M)
            self.assertEqual(
                [(s["name"], int(s["address"], 16), s["size"]) for s in table["sections"]],
                [(name, int(address, 16), int(size, 16))
                 for name, address, size, flags in sections if "X" in flags])
            # The linker may have given .eh_frame the psABI's type instead.
            self.assertIn(f"{table['eh_frame_bytes']:06x}", re.search(
                r" \.eh_frame .*", readelf("-S", path)).group(0))
            build_id = re.search(r"Build ID: (\w+)", readelf("-n", path))
            self.assertEqual(table["build_id"], build_id and build_id.group(1))
            frames = readelf("--debug-dump=frames", path).partition(".debug_frame")[0]
            self.assertEqual(table["fdes"], frames.count(" FDE "))

    def test_sections_and_inexpressible_rows(self):
        table, = self.json(self.made)
        sections = {section["name"]: section for section in table["sections"]}
        self.assertEqual(set(sections), {".text", "other"})
        text, other = sections[".text"], sections["other"]
        self.assertEqual((text["size"], text["covered"], text["uncovered"]), (72, 24, 48))
        self.assertEqual((other["size"], other["covered"], other["uncovered"]), (64, 40, 24))
        start = int(text["address"], 16)
        expression, opcode = table["inexpressible"]
        self.assertEqual(expression, {"start": hex(start + 16), "end": hex(start + 48),
                                      "reason": "cfa_expression"})
        self.assertEqual(list(opcode), ["start", "end", "reason", "cfi", "offset"])
        self.assertEqual((opcode["reason"], opcode["cfi"]), ("cfi", "unknown_opcode"))
        self.assertEqual(int(opcode["end"], 16), start + 64)
        with open(self.made, "rb") as file:
            section = re.search(r" \.eh_frame +\w+ +\w+ (\w+)", readelf("-S", self.made)).group(1)
            file.seek(int(section, 16) + opcode["offset"])
            self.assertEqual(file.read(1), b"\x3c")

    def test_without_unwind_information(self):
        bare = self.path("bare.so")
        subprocess.run(["objcopy", "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr",
                        self.made, bare], check=True, stderr=subprocess.DEVNULL)
        table, = self.json(bare)
        self.assertEqual((table["eh_frame_bytes"], table["rows"], table["image_bytes"]), (0, 0, 0))
        self.assertEqual((table["covered"], table["uncovered"]), (0, 136))
        self.assertEqual(self.rows(bare), [])
        report = tables(bare)
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        self.assertRegex(report.stdout, r"all +136 +0 +136 ")


class Rows(Case):
    def test_are_as_many_as_json_says(self):
        for table in self.json(*mapped_files()[:3], self.made):
            rows = self.rows(table["path"])
            self.assertEqual(len(rows), table["rows"])
            end = 0
            for row in rows:
                self.assertRegex(" ".join(row[3:]), r"^ra=\S+ fp=\S+( sp=\S+)?$")
                self.assertTrue(end <= int(row[0], 16) < int(row[1], 16), row)
                end = int(row[1], 16)

    def test_are_what_was_assembled(self):
        table, = self.json(self.made)
        text, other = (int(section["address"], 16) for section in table["sections"])
        self.assertEqual(self.rows(self.made), [
            [f"{start:x}", f"{end:x}", cfa, *rules.split()] for start, end, cfa, rules in (
                (text, text + 16, "rsp+8", "ra=c-8 fp=s"),
                (text + 16, text + 48, "none", "ra=s fp=s"),
                (text + 48, text + 56, "rsp+8", "ra=c-8 fp=s"),
                (text + 56, text + 64, "none", "ra=s fp=s"),
                (other + 24, other + 64, "rsp+8", "ra=c-8 fp=s"))])

    def test_with_registers(self):
        lines = tables("--rows", "--regs", self.made).stdout.splitlines()
        self.assertEqual(lines[0].partition(" fp=")[2], "s rbx=s r12=s r13=s r14=s r15=s")

    def test_of_several_files_have_headers(self):
        other = shutil.copy(self.made, self.path("copy.so"))
        rows = tables("--rows", self.made).stdout
        self.assertNotIn("#", rows)
        self.assertEqual(tables("--rows", self.made, other).stdout,
                         f"# {self.made}\n{rows}# {other}\n{rows}")


class Text(Case):
    def test_report_of_one_file(self):
        table, = self.json(self.made)
        report = tables(self.made).stdout
        self.assertTrue(report.startswith(self.made + "\n"))
        for word in ("x86_64", table["build_id"], f"{table['eh_frame_bytes']} bytes",
                     f"{table['image_bytes']} bytes"):
            self.assertIn(word, report)
        self.assertRegex(report, r"\.text +72 +24 +48 +33\.33 %")
        self.assertRegex(report, r"other +64 +40 +24 +62\.50 %")
        self.assertRegex(report, r" 32 +23\.5294 %  cfa_expression\n")
        self.assertRegex(report, r" 8 +5\.8824 %  cfi \(unknown_opcode at byte \d+ of \.eh_frame\)\n")
        self.assertIn("  unknown_opcode: an opcode is not defined for this machine\n", report)

    def test_line_per_file_and_total(self):
        paths = [*mapped_files(), self.made]
        objects = self.json(*paths)
        head, *lines, total = tables(*paths).stdout.splitlines()
        self.assertTrue(head.endswith("inexpressible  file"))
        self.assertEqual([line.split()[-1] for line in lines], paths)
        self.assertEqual([int(line.split()[0]) for line in lines], [t["rows"] for t in objects])
        rows, size = (sum(t[name] for t in objects) for name in ("rows", "image_bytes"))
        refused = sum(len(t["inexpressible"]) for t in objects)
        self.assertRegex(total, rf"^total: {len(paths)} files, {rows} rows, {size} image bytes, "
                                rf"{size / rows:.2f} bytes per row, \d+ ns per row, "
                                rf"\d+\.\d\d % covered, {refused} inexpressible rows$")

    def test_names_do_not_reach_the_terminal_as_they_are(self):
        """Who has named a file or a section must not have a say in what is shown."""
        os.mkdir(self.path("names"))
        evil = "e\x1b[31m\n\x9b\u202e\u2066x"
        shutil.copy(self.made, self.path("names/" + evil))
        with open(self.made, "rb") as file:
            content = file.read()
        self.assertEqual(content.count(b"\0other\0"), 1)
        section = self.file("section", content.replace(b"\0other\0", b"\0o\x1b[1m\0"))
        for args in ((self.path("names"),), ("--rows", self.path("names")), (self.path("names/" + evil),), (section,)):
            said = tables(*args).stdout
            self.assertRegex(said, r"e\?\[31m\?{9}x\n" if args[-1] != section else r" o\?\[1m ")
            self.assertEqual(said.replace("\n", "").isprintable(), True)


class Broken(Case):
    def broken(self):
        """Paths of unusable files, with the reasons."""
        content = self.bytes_of(self.made)
        foreign = content[:18] + b"\xb7\x00" + content[20:]
        os.mkfifo(self.path("fifo"))
        os.symlink("loop", self.path("loop"))
        return [
            (self.file("half", content[:len(content) // 2]), "it is damaged or not complete"),
            (self.file("headers", content[:-1]), "it is damaged or not complete"),
            (self.file("text", b"hello\n"), "it is no ELF program or library"),
            (self.file("empty", b""), "it is no ELF program or library"),
            (self.file("magic", content[:7]), "it is no ELF program or library"),
            (self.file("foreign", foreign), "it is for another machine than x86_64"),
            (self.path("missing"), "No such file or directory"),
            ("", "No such file or directory"),
            (self.path("loop"), "Too many levels of symbolic links"),
            (self.path("fifo"), "it is not a regular file"),
        ]

    def test_one_line_and_the_others_are_shown(self):
        for path, reason in self.broken():
            with self.subTest(path):
                result = tables("--json", path, self.made)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(result.stderr, f"dwarfprof: {path}: {reason}\n")
                failed, table = json.loads(result.stdout)
                self.assertEqual(failed, {"path": path, "error": reason})
                self.assertEqual(table["path"], self.made)
                for form in ([], ["--rows"]):
                    result = tables(*form, path, self.made)
                    self.assertEqual(result.returncode, 1)
                    self.assertEqual(result.stderr, f"dwarfprof: {path}: {reason}\n")
                    self.assertIn(self.made, result.stdout)

    def linked(self, *cfi):
        """A program, whose debug file has one function's unwind information, and these records before it."""
        binary, debug = self.path("linked"), self.path("linked.debug")
        subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,--build-id=none", "-xassembler", "-o", binary, "-"],
                       input="\n".join([".globl _start", "_start: .fill 16, 1, 0x90", ".section .debug_frame", *cfi,
                                        "cie: .long 16, -1", ".byte 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0",
                                        ".long 20, cie - .debug_frame", ".quad _start, 16", ""]),
                       text=True, check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["objcopy", "--only-keep-debug", binary, debug], check=True)
        subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", binary], check=True)
        return binary

    def test_debug_file(self):
        """One that cannot be read costs only what it has."""
        table, = self.json(self.linked())
        self.assertEqual((table["source"], table["covered"]), ("debug_file", 16))
        path = self.linked(f".rept {MAX_CIES}", ".long 12, -1", ".byte 1, 0, 1, 0x78, 16, 0, 0, 0", ".endr")
        for mode in "auto", "off":
            result = tables("--json", f"--sandbox={mode}", path)
            self.assertEqual((result.returncode, result.stderr),
                             (0, f"dwarfprof: warning: {path}: its debug file is left out: its code or its unwind "
                                 "information spans 4 GiB or more, or has too many CIEs\n"))
            table, = json.loads(result.stdout)
            self.assertEqual((table["path"], table["code_bytes"], table["covered"]), (path, 16, 0))

    def test_alone(self):
        for path, reason in self.broken():
            result = tables(path)
            self.assertEqual((result.returncode, result.stdout), (1, ""), path)
            self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_any_byte_of_the_headers(self):
        """Any output is allowed, but no signal, and JSON must be valid. Without a helper, whose end would be an error like others."""
        content = self.bytes_of(self.made)
        headers = int(re.search(r"Start of section headers: +(\d+)", readelf("-h", self.made)).group(1))
        paths = []
        for at in [*range(16, 64), *range(64, 64 + 5 * 56, 7), *range(headers, len(content), 11)]:
            changed = bytearray(content)
            changed[at] ^= 0xff
            paths.append(self.file(f"changed{at}", changed))
        result = tables("--json", "--sandbox=off", *paths)
        if result.returncode not in (0, 1):
            self.fail([path for path in paths if tables("--json", "--sandbox=off", path).returncode not in (0, 1)] or result.stderr)
        self.assertEqual([table["path"] for table in json.loads(result.stdout)], paths)

    def test_that_is_cut_off_meanwhile(self):
        """Who may write to it can cut it off while it is mapped: what is missing reads as zeros."""
        whole = self.large()
        # What a helper has mapped, only root can see.
        for mode in ("--sandbox=off", "--sandbox=auto")[:1 if os.geteuid() else 2]:
            for _ in range(ATTEMPTS):
                path = shutil.copy(whole, self.path("cut"))
                process, reader = self.reader_of(path, mode)
                if reader:
                    os.truncate(path, 4096)
                table, = json.loads(process.communicate(timeout=60)[0])
                self.assertIn(process.returncode, (0, 1))
                if reader and table.get("fdes", 0) < N_FUNCTIONS:  # else it had been read before
                    break
            else:
                self.fail(f"{mode}: it was never cut off in time")

    def test_no_file_is_wrong_usage(self):
        for args in ((), ("-v",), ("--regs", self.made), ("--rows", "--json", self.made), ("--pid", "1")):
            result = tables(*args)
            self.assertEqual((result.returncode, result.stdout), (2, ""), args)
            self.assertIn("dwarfprof tables: ", result.stderr)

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([DWARFPROF, "tables", self.made], stdout=full,
                                    stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "dwarfprof: cannot write: No space left on device\n")


class Confined(Case):
    """Files are parsed by a process that has nothing else."""

    def helper_of(self, act):
        """The command, and what act(PID) gives of its helper that reads the file; it may have read it before it is seen."""
        path = self.large()
        for _ in range(ATTEMPTS):
            process, reader = self.reader_of(path)
            self.assertNotEqual(reader, process.pid)
            with contextlib.suppress(ProcessLookupError):
                done = act(reader) if reader else ""
                if done != "":
                    return process, done
        self.fail("it was never seen in time")

    @unittest.skipIf(os.geteuid(), "what it has mapped, only root can see")
    def test_it_has_no_rights(self):
        process, has = self.helper_of(lambda pid: harness.read(f"/proc/{pid}/status"))
        table, = json.loads(process.communicate(timeout=60)[0])
        self.assertEqual(table["fdes"], N_FUNCTIONS)
        for line in r"Seccomp:\t2", r"NoNewPrivs:\t1", r"CapPrm:\t0{16}", r"CapEff:\t0{16}":
            self.assertRegex(has, rf"(?m)^{line}$")

    @unittest.skipIf(os.geteuid(), "what it has mapped, only root can see")
    def test_one_that_is_killed_is_replaced(self):
        process, _ = self.helper_of(lambda pid: os.kill(pid, signal.SIGKILL))
        table, = json.loads(process.communicate(timeout=60)[0])
        self.assertEqual((process.returncode, table.get("fdes")), (0, N_FUNCTIONS))

    def test_all_modes_show_the_same(self):
        paths = [*mapped_files()[:3], self.made]
        for form in ["--rows"], ["--rows", "--regs"], ["--json"], []:
            said = set()
            for mode in "auto", "require", "off":
                result = tables(f"--sandbox={mode}", *form, *paths)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                # How long it took
                said.add(re.sub(r'"build_ns":\d+|(?<=\d\.\d\d) +\d+(?= +\d)|\d+ ns per row', "", result.stdout))
            self.assertEqual(len(said), 1, form)

    @unittest.skipIf(os.geteuid(), "only root can be another user")
    def test_users_without_rights_see_the_same(self):
        program = shutil.copy(DWARFPROF, self.path("dwarfprof"))
        os.mkdir(self.path("tree"))
        for path in mapped_files()[:3]:
            shutil.copy(path, self.path("tree"))
        subprocess.run(["chmod", "-R", "a+rX", self.directory], check=True)
        rows = None
        for mode in "auto", "require", "off":
            for prefix in (), AS_NOBODY:
                result = tables("--rows", f"--sandbox={mode}", self.path("tree"), prefix=prefix, program=program)
                self.assertEqual((result.returncode, result.stderr), (0, ""), (mode, prefix))
                rows = rows or result.stdout
                self.assertEqual(result.stdout, rows)
        self.assertEqual(rows.count("# "), 3)

    def test_rows_of_a_large_file(self):
        """Those of a large file take more than a message."""
        rows = tables("--rows", self.large()).stdout
        self.assertEqual(rows.count("\n"), N_FUNCTIONS)


class Directories(Case):
    def setUp(self):
        super().setUp()
        content = self.bytes_of(self.made)
        os.makedirs(self.path("tree", "sub"))
        shutil.copy(self.made, self.path("tree", "sub", "b.so"))
        shutil.copy(self.made, self.path("tree", "a.so"))
        self.file("tree/text", b"hello\n")
        self.file("tree/empty", b"")
        self.file("tree/foreign", content[:18] + b"\xb7\x00" + content[20:])
        os.mkfifo(self.path("tree", "fifo"))
        os.symlink(self.made, self.path("tree", "link.so"))
        os.symlink(self.directory, self.path("tree", "sub", "up"))
        self.tree = self.path("tree")
        self.found = [self.path("tree", "a.so"), self.path("tree", "sub", "b.so")]

    def test_are_walked(self):
        self.assertEqual([table["path"] for table in self.json(self.tree)], self.found)
        result = tables(self.tree)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("total: 2 files, ", result.stdout)
        self.assertEqual(tables("--rows", self.tree).stdout.count("# "), 2)

    def test_what_is_left_out_is_counted(self):
        result = tables("-v", self.tree)
        self.assertIn("2 files read, 0 not usable; left out: 2 that are no ELF programs or "
                      "libraries, 1 for another machine", result.stderr)

    def test_damaged_files_are_named(self):
        path = self.file("tree/half.so", self.bytes_of(self.made)[:-64])
        result = tables("--json", self.tree)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, f"dwarfprof: {path}: it is damaged or not complete\n")
        self.assertEqual([table["path"] for table in json.loads(result.stdout)],
                         [self.found[0], path, self.found[1]])

    def test_links_are_followed_if_named(self):
        table, = self.json(self.path("tree", "link.so"))
        self.assertEqual(table["rows"], 5)
        self.assertEqual(len(self.json(self.path("tree", "sub", "up"))), 3)

    def test_may_be_empty(self):
        os.mkdir(self.path("nothing"))
        self.assertEqual(self.json(self.path("nothing")), [])
        self.assertIn("total: 0 files, 0 rows", tables(self.path("nothing")).stdout)


if __name__ == "__main__":
    harness.run_tests()
