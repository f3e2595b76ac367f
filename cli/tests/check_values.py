#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Values that probes read: those that the program itself has logged.

usage: check_values.py DWARFPROF PROGRAM-DIR
"""
import errno
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

import harness
from harness import dwarfprof, program, refuse, start, wait_until_it_says

BPF, BPF_LINK_CREATE = 321, 28  # x86-64's asm/unistd_64.h, linux/bpf.h
N = 100000
# Of take(), by position: struct request has its header at 8, and so on.
ARGUMENTS = ("size=arg1:u64, path=arg2:str, small=arg3:s8, hex=arg1:x16, flag=arg5:bool, letter=arg6:char, "
             "seventh=arg7:s32, eighth=arg8:u16, status=arg4->16:s32, kind=arg4->20:u32, level=arg4->24:u8, "
             "version=arg4->8->0:s16, method=arg4->8->8:str, host=arg4->8+16:str, id=arg4->0:u64")


class Values(unittest.TestCase):
    def record(self, probe, n, form="jsonl", **kwargs):
        """Returns what dwarfprof wrote, what the program logged by id, and how many samples were lost."""
        with tempfile.TemporaryDirectory() as directory:
            log, out = os.path.join(directory, "log"), os.path.join(directory, "out")
            with subprocess.Popen([program("valued"), str(n), log], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
                profiler = start("-p", str(target.pid), "-e", probe, "--no-symbols", "--format", form, "-o", out,
                                 stderr=subprocess.PIPE, text=True, **kwargs)
                wait_until_it_says(profiler, "sampling")
                target.stdin.write("\n")
                target.stdin.flush()
                self.assertEqual(target.stdout.readline(), "done\n")
                profiler.send_signal(signal.SIGINT)
                said = profiler.communicate(timeout=180)[1]
                self.assertEqual(profiler.returncode, 0, said)
                target.stdin.close()
            lost = int(re.search(r" (\d+) lost", said)[1])
            with open(log) as file:
                logged = {values["id"]: values for values in map(json.loads, file)}
            with open(out) as file:
                return file.read(), logged, lost, said

    def check(self, probe, n, keys, **kwargs):
        written, logged, lost, said = self.record(probe, n, **kwargs)
        samples = [json.loads(line) for line in written.splitlines()]
        self.assertEqual(len(samples) + lost, n)
        self.assertGreater(len(samples), n / 2, said)
        self.assertEqual(len({s["labels"]["id"] for s in samples}), len(samples))
        for s in samples:
            values = logged[s["labels"]["id"]]
            self.assertEqual(s["labels"], {key: values[key] for key in keys})
            self.assertEqual(s["labels_cut"], any(str(values[key]).endswith("…") for key in keys))
        unread = sum("<unread>" in s["labels"].values() for s in samples)
        self.assertEqual(unread, int((re.search(r"could not be read.*: (\d+)", said) or [0, 0])[1]))
        return samples

    def keys(self, arguments):
        return [re.match(r"\w+", text.strip())[0] for text in arguments.split(",")]

    def test_arguments_by_position(self):
        samples = self.check(f"uprobe:{program('valued')}:take({ARGUMENTS})", N, self.keys(ARGUMENTS))
        paths = {s["labels"]["path"][-1] for s in samples}
        self.assertLessEqual({"…", ">", "x"}, paths, "cut, unread and complete texts")

    def test_without_links_for_many_functions(self):
        self.check(f"uprobe:{program('valued')}:take({ARGUMENTS})", 1000, self.keys(ARGUMENTS),
                   preexec_fn=lambda: refuse(errno.EINVAL, BPF, BPF_LINK_CREATE))

    def test_other_formats(self):
        written, logged, _, _ = self.record(f"uprobe:{program('valued')}:take(size=arg1:u64, host=arg4->8+16:str)", 50,
                                            form="folded")
        for values in logged.values():
            self.assertIn(f"[size={values['size']}]", written)
            self.assertIn(f"[host={values['host']}]", written)

    def test_numbers_without_a_name_or_type(self):
        written, logged, _, _ = self.record(f"uprobe:{program('valued')}:take(arg1, arg4->0)", 50)
        for s in map(json.loads, written.splitlines()):
            size = int(logged[s["labels"]["arg4->0"]]["size"])
            self.assertEqual(s["labels"]["arg1"], size - (size >> 63 << 64))

    def test_what_is_wrong(self):
        for values, said in (("(size=arg1:u46)", "at 'u46)': there must be a type: u8, u16,"),
                             ("(size=arg0:u64)", "at 'arg0:u64)': there must be a value: arg1, arg2"),
                             ("(size=arg1->x)", "at 'x)': there must be a number"),
                             ("(size=arg1 u64)", "at 'u64)': there must be '->OFFSET', '+OFFSET', ':TYPE', ','"),
                             ("(size=arg1:u64", "at the end: there must be"),
                             ("(" + ",".join(17 * ["arg1"]) + ")", "at most 16 values"),
                             ("(arg1" + 9 * "->0" + ")", "at most 8 dereferences"),
                             ("(size=)", "at ')': there must be a value")):
            with self.subTest(values=values):
                result = dwarfprof("-e", f"uprobe:{program('valued')}:take{values}", "--", "true")
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(said, result.stderr)


if __name__ == "__main__":
    harness.main()
