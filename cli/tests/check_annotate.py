#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dwarfprof annotate, compared with objdump's instructions, the source file, and the samples as jsonl
has them.

usage: check_annotate.py DWARFPROF PROGRAM-DIR
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import dwarfprof, program, read

INSTRUCTION = re.compile(r"^ *(?:(\d+\.\d\d) )? +([0-9a-f]+)  (\S.*)$", re.M)
LINE = re.compile(r"^ *(?:(\d+\.\d\d) )? *(\d+)(?:  (.*))?$", re.M)


def disassembly(path, function):
    """Addresses and texts by objdump."""
    out = subprocess.run(["objdump", "-d", "-w", "--no-show-raw-insn", f"--disassemble={function}", path],
                         capture_output=True, text=True, check=True).stdout
    return [(int(address, 16), text.strip()) for address, text in re.findall(r"(?m)^ +([0-9a-f]+):\t(.*)$", out)]


class Annotate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.binary = shutil.copy(program("inlined"), cls.directory)
        cls.recording = os.path.join(cls.directory, "x.dwarfprof")
        result = dwarfprof("-F", "999", "-o", cls.recording, "--", cls.binary, "2")
        assert result.returncode == 0, result.stderr
        jsonl = dwarfprof("convert", cls.recording, "--format", "jsonl", "-o", "-").stdout
        samples = [json.loads(line) for line in jsonl.splitlines()]
        cls.all = sum(s["weight"] for s in samples)
        cls.leaves = []
        for s in samples:
            if not s["user_stack"] or s["kernel_stack"]:
                continue
            # What was inlined stands in front of the function that it is in, at the same address.
            frames = [f for f in s["user_stack"] if f["address"] == s["user_stack"][0]["address"]]
            inner = 0
            while frames[inner]["inlined"]:
                inner += 1
            if frames[inner]["symbol"] == "work":
                cls.leaves.append((int(frames[0]["offset"], 16), frames[0]["file"], frames[0]["line"]))
        cls.result = dwarfprof("annotate", "work", cls.recording)
        cls.source, _, cls.code = cls.result.stdout.rpartition("\n\n")

    def share(self, n):
        return f"{100 * n / len(self.leaves):.2f}" if n else ""

    def test_the_function_has_its_share(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        self.assertGreater(len(self.leaves), 20)
        share = 100 * len(self.leaves) / self.all
        self.assertEqual(self.result.stdout.splitlines()[0], f"work: {share:.2f} % of all samples, with what is inlined into it")

    def test_instructions_are_objdump_s_with_the_samples_of_each(self):
        wanted = disassembly(self.binary, "work")
        found = INSTRUCTION.findall(self.code)
        self.assertEqual([int(address, 16) for _, address, _ in found], [address for address, _ in wanted])
        for (share, address, text), (_, other) in zip(found, wanted):
            self.assertEqual(text, other)
            self.assertEqual(share, self.share(sum(leaf[0] == int(address, 16) for leaf in self.leaves)))
        self.assertTrue(any(share for share, *_ in found))

    def test_lines_are_the_source_s_with_the_samples_of_each(self):
        path, = {file for _, file, _ in self.leaves}
        lines = read(os.path.join(os.path.dirname(__file__), "../../test-programs/inlined.c")).splitlines()
        self.assertIn(os.path.basename(path), self.source)
        found = LINE.findall(self.source.split("\n\n", 1)[1])
        self.assertTrue({line for _, _, line in self.leaves} <= {int(number) for _, number, _ in found})
        for share, number, text in found:
            self.assertEqual(text, lines[int(number) - 1].replace("\t", " "))
            self.assertEqual(share, self.share(sum(leaf[2] == int(number) for leaf in self.leaves)))

    def test_a_source_file_that_is_something_else(self):
        """gcc puts what #line says into the binary. A FIFO that nobody writes to would be waited for."""
        with tempfile.TemporaryDirectory() as directory:
            fifo, big, binary, recording = (os.path.join(directory, name) for name in (
                "fifo\x1b[31m.c", "big.c", "\x1b[32mx", "x.dwarfprof"))
            os.mkfifo(fifo)
            for path, size in (big, (64 << 20) + 1), (os.path.join(directory, "near.c"), 100):
                with open(path, "w") as file:
                    file.write("secret\n")
                    file.truncate(size)
            for path, named, *flags in ((fifo, "fifo"), (big, "big.c"), ("/dev/tty", "tty"),
                                        ("near.c", "near.c", f"-fdebug-prefix-map={directory}=.")):
                with self.subTest(path):
                    code = (f'volatile unsigned sink;\n#line 1 "{path}"\n'
                            'int main(void) { for (unsigned i = 0; i < 400000000; i++) sink++; return 0; }\n')
                    subprocess.run(["gcc", "-g", "-O1", *flags, "-x", "c", "-", "-o", binary], input=code, text=True, check=True,
                                   cwd=directory)
                    result = dwarfprof("-F", "499", "-o", recording, "--", binary)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    result = dwarfprof("annotate", "--no-cache", "main", recording, cwd=directory)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertRegex(result.stdout, rf"(?m)^\S*{named}\S* \(not there: lines by number\)$")
                    self.assertNotIn("\x1b", result.stdout)
                    self.assertNotIn("secret", result.stdout)

    def test_a_line_without_end(self):
        with tempfile.TemporaryDirectory() as directory:
            source, binary, recording = (os.path.join(directory, name) for name in ("long.c", "x", "x.dwarfprof"))
            with open(source, "w") as file:
                file.write("x" * 998 + "\u20ac" * 1000)
            code = (f'volatile unsigned sink;\n#line 1 "{source}"\n'
                    'int main(void) { for (unsigned i = 0; i < 400000000; i++) sink++; return 0; }\n')
            subprocess.run(["gcc", "-g", "-O1", "-x", "c", "-", "-o", binary], input=code, text=True, check=True)
            result = dwarfprof("-F", "499", "-o", recording, "--", binary)
            self.assertEqual(result.returncode, 0, result.stderr)
            result = dwarfprof("annotate", "--no-cache", "main", recording)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^ *100\.00 +1  x{998}$")

    def test_time_is_that_of_the_system_call(self):
        """Blocked, a thread is behind the instruction that entered the kernel."""
        code = ("#include <sys/syscall.h>\n#include <time.h>\n"
                "__attribute__((noinline)) static void rest(void)\n{\n"
                "\tstruct timespec t = { 0, 20000000 };\n\tlong n = SYS_nanosleep;\n"
                '\t__asm__ volatile("syscall" : "+a"(n) : "D"(&t), "S"(0L) : "rcx", "r11", "memory");\n}\n'
                "int main(void)\n{\n\tfor (int i = 0; i < 10; i++)\n\t\trest();\n\treturn 0;\n}\n")
        with tempfile.TemporaryDirectory() as directory:
            binary, recording = os.path.join(directory, "x"), os.path.join(directory, "x.dwarfprof")
            subprocess.run(["gcc", "-g", "-O1", "-x", "c", "-", "-o", binary], input=code, text=True, check=True)
            result = dwarfprof("--off-cpu", "-o", recording, "--", binary)
            self.assertEqual(result.returncode, 0, result.stderr)
            result = dwarfprof("annotate", "rest", recording)
            self.assertEqual(result.returncode, 0, result.stderr)
            for text in result.stdout.rpartition("\n\n")[2], result.stdout.split("\n\n")[1]:
                shares = [float(share) for share in re.findall(r"(?m)^ *(\d+\.\d\d) ", text)]
                self.assertAlmostEqual(sum(shares), 100, delta=0.01 * len(shares))
            of_text = {text.split()[0]: float(share or 0) for share, _, text in INSTRUCTION.findall(result.stdout)}
            self.assertGreater(of_text["syscall"], 99, result.stdout)
            # Reports say behind the name what it waits for.
            self.assertIn(" rest [sleep] ", dwarfprof("report", recording).stdout)
            self.assertEqual(dwarfprof("annotate", "rest [sleep]", recording).stdout, result.stdout)
            for name in "rest [sleep", "rest[sleep]", "[sleep]", " [sleep]", "rist [sleep]":
                self.assertEqual(dwarfprof("annotate", name, recording).returncode, 5)

    def test_a_function_without_end(self):
        """Whoever wrote the program chooses how much memory its listing takes."""
        n, name = 60000, "x" * 3000
        code = (f'void {name}(void) {{}}\nvolatile unsigned sink;\n'
                "int main(void)\n{\n\tfor (unsigned i = 0; i < 200000000; i++)\n\t\tsink++;\n"
                f'\t__asm__ volatile("jmp 1f\\n.rept {n}\\ncall {name}\\n.endr\\n1:");\n'
                "\tfor (unsigned i = 0; i < 200000000; i++)\n\t\tsink++;\n\treturn 0;\n}\n")
        with tempfile.TemporaryDirectory() as directory:
            binary, recording, listing = (os.path.join(directory, name) for name in ("x", "x.dwarfprof", "listing"))
            subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", binary], input=code, text=True, check=True)
            result = dwarfprof("-F", "499", "-o", recording, "--", binary)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(listing, "w+b") as file:
                result = subprocess.run([harness.DWARFPROF, "annotate", "main", recording], stdout=file,
                                        stderr=subprocess.PIPE, text=True)
                file.seek(0)
                calls = sum(line.rstrip().endswith(b"x>") for line in file)
                size = file.tell()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, "main in .* is too long: what follows 0x[0-9a-f]+ is left out")
        self.assertTrue(n // 4 < calls < n, calls)
        self.assertLess(size, 160 << 20)

    def test_a_function_that_is_inlined_in_some_places(self):
        code = ("volatile unsigned sink;\n"
                "static inline void both(unsigned n) { while (n-- > 0) sink++; }\n"
                "__attribute__((noinline)) static void inside(void) { both(200000000); }\n"
                "void (*volatile outside)(unsigned) = both;\n"
                "int main(void) { inside(); outside(200000000); return 0; }\n")
        with tempfile.TemporaryDirectory() as directory:
            binary, recording = os.path.join(directory, "x"), os.path.join(directory, "x.dwarfprof")
            subprocess.run(["gcc", "-g", "-O2", "-x", "c", "-", "-o", binary], input=code, text=True, check=True)
            result = dwarfprof("-F", "499", "-o", recording, "--", binary)
            self.assertEqual(result.returncode, 0, result.stderr)
            jsonl = dwarfprof("convert", recording, "--format", "jsonl", "-o", "-").stdout
            first = dwarfprof("annotate", "both", recording).stdout.splitlines()[0]
        samples = [json.loads(line) for line in jsonl.splitlines()]
        leaves = [s["user_stack"][0] for s in samples if s["user_stack"] and not s["kernel_stack"]]
        alone, inlined = (100 * sum(f["symbol"] == "both" and f["inlined"] == is_inlined for f in leaves) / len(samples)
                          for is_inlined in (False, True))
        self.assertEqual(first, f"both: {alone:.2f} % of all samples, with what is inlined into it; "
                         f"not shown: {inlined:.2f} % where it is inlined itself")

    def test_a_function_without_a_name(self):
        """It is called by where it begins, as in reports, with or without a reason."""
        start, _ = disassembly(self.binary, "work")[0]
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(root + self.directory)
            subprocess.run(["strip", "-o", root + self.binary, self.binary], check=True)
            for name in f"[inlined+0x{start:x}]", f"[inlined+0x{start:x}] [futex]":
                result = dwarfprof("annotate", "--symfs", root, "--no-cache", name, self.recording)
                self.assertEqual(result.returncode, 0, result.stderr)
                same = lambda text: [(share, address) for share, address, _ in INSTRUCTION.findall(text)]
                self.assertEqual(same(result.stdout), same(self.code))
            result = dwarfprof("annotate", "--symfs", root, "--no-cache", f"[inlined+0x{start + 1:x}]", self.recording)
            self.assertEqual((result.returncode, result.stdout), (5, ""))

    def test_a_function_that_did_not_run_itself(self):
        for function, said in (("mix", "inlined into"), ("nonsense", "lists names"), ("_start", "'_start' itself")):
            result = dwarfprof("annotate", function, self.recording)
            self.assertEqual((result.returncode, result.stdout), (5, ""))
            self.assertIn(said, result.stderr)

    def test_a_binary_that_is_gone_or_another_one(self):
        kept = self.binary + ".kept"
        os.rename(self.binary, kept)
        try:
            for replace, said in ((lambda: None, "it is not there"),
                                  (lambda: shutil.copy(program("fibonacci"), self.binary),
                                   "not the one that was recorded")):
                replace()
                result = dwarfprof("annotate", "work", self.recording, "--no-cache")
                self.assertEqual((result.returncode, result.stdout), (5, ""))
                self.assertRegex(result.stderr, f"no names for {self.binary}: .*{said}.*build id [0-9a-f]{{16}}")
        finally:
            os.replace(kept, self.binary)

    def test_with_capabilities_of_its_file(self):
        """Then, it is not dumpable."""
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            os.chmod(self.directory, 0o755)
            os.chmod(self.recording, 0o644)
            copy = shutil.copy(harness.DWARFPROF, directory)
            subprocess.run(["setcap", "cap_bpf,cap_perfmon+ep", copy], check=True)
            result = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", copy,
                                     "annotate", "--no-cache", "work", self.recording], capture_output=True, text=True,
                                    timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, self.result.stdout)

    def test_all_modes_show_the_same(self):
        """And none needs another program."""
        for mode in "require", "off":
            result = dwarfprof("annotate", "work", self.recording, f"--sandbox={mode}", env={**os.environ, "PATH": ""})
            self.assertEqual((result.returncode, result.stdout), (0, self.result.stdout), result.stderr)

    def test_usage(self):
        for arguments in [], ["work"], ["work", self.recording, "more"]:
            self.assertEqual(dwarfprof("annotate", *arguments).returncode, 2)


if __name__ == "__main__":
    harness.main()
