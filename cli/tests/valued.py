# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of values that probes read: programs that log what they are, and what dwarfprof has read."""
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

from harness import program, start, wait_until_it_says


def text_of(logged):
    """The label of a text that is logged as [its first 255 bytes in hexadecimal, are there more?]; others as they are."""
    if not isinstance(logged, list):
        return logged
    data = bytes.fromhex(logged[0])
    if logged[1]:
        # The last character may have been cut.
        data = re.sub(rb"[\xc0-\xff][\x80-\xbf]{0,3}\Z", b"", data)
    return data.decode("utf-8", "backslashreplace").replace("\0", "\\x00") + "…" * logged[1]


def samples_of(written):
    """The samples of a JSON Lines file, whose texts may have characters at which str.splitlines() would break."""
    return [json.loads(line) for line in written.split("\n") if line]


class ValuedTest(unittest.TestCase):
    def record(self, probe, n, *options, form="jsonl", target="valued", **kwargs):
        """Returns what dwarfprof wrote, what the program logged by id, and how many samples were lost."""
        with tempfile.TemporaryDirectory() as directory:
            log, out = os.path.join(directory, "log"), os.path.join(directory, "out")
            with subprocess.Popen([program(target), str(n), log], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
                profiler = start("-p", str(target.pid), "-e", probe, "--no-symbols", *options,
                                 *(["--format", form, "-o", out] if form else []),
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
                logged = {values["id"]: {key: text_of(value) for key, value in values.items()} for values in map(json.loads, file)}
            if not form:
                return None, logged, lost, said
            with open(out) as file:
                return file.read(), logged, lost, said

    def record_most(self, probe, n, **kwargs):
        """The same, of most calls: the program does not wait for a profiler that gets no CPU, which has lost more then."""
        for _ in range(5):
            written, logged, lost, said = self.record(probe, n, **kwargs)
            self.assertEqual(written.count("\n") + lost, n)
            if lost < n / 2:
                break
        self.assertLess(lost, n / 2, said)
        return written, logged, said

    def check(self, probe, n, keys, **kwargs):
        written, logged, said = self.record_most(probe, n, **kwargs)
        samples = samples_of(written)
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
