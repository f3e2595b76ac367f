#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real runs, written as pprof profiles, and read by Go's pprof."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import chance
import harness
import otlp
from harness import Target, busy, dwarfprof, program

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../formats/tests"))
from readers import go_pprof, read_go  # noqa: E402

# A time above 0, as Go's pprof writes it: the smallest of the rows decides about the unit.
TIME = r"(?:0\.0*)?[1-9]\S*s"


class Profiles(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def record(self, *args):
        """The profile's file, and what was said on stderr."""
        path = os.path.join(self.directory, "out.pb.gz")
        result = dwarfprof(*args, "-o", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "")
        return path, result.stderr

    def raw(self, path):
        return read_go(go_pprof(self.directory, "-symbolize=none", "-raw", path))

    def check_totals(self, profile, stderr):
        total, lost = re.search(r"(\d+) samples in .* s, (\d+) lost", stderr).groups()
        self.assertEqual(sum(s["values"][0] for s in profile["samples"]), int(total))
        self.assertTrue([c for c in profile["comments"] if c.startswith(f"samples: {total}, lost: {lost}, ")])
        return int(total)

    def test_functions_and_lines(self):
        path = os.path.join(self.directory, "out.pb.gz")
        with Target(program("inlined"), "60") as pid:
            result, = harness.run_at_once([harness.DWARFPROF, "-p", pid, "-F", "499", "-o", path], of=[pid], seconds=0.6)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        stderr = result.stderr
        profile = self.raw(path)
        total = self.check_totals(profile, stderr)
        self.assertEqual(profile["types"], ["samples/count", "cpu/nanoseconds"])
        self.assertEqual(sum(s["values"][1] for s in profile["samples"]), total * (1000000000 // 499))
        stacks = collections.Counter()
        for sample in profile["samples"]:
            names = [line for frame in sample["frames"] for line in frame["lines"]]
            stacks[tuple(names[:4])] += sample["values"][0]
            self.assertEqual(names[-1], "_start")
            self.assertEqual(sample["labels"]["pid"], f"{pid} pid")
            self.assertEqual(sample["labels"]["comm"], "inlined")
            self.assertNotIn("outcome", sample["labels"])
        # Up to half of the samples are in other places of the loop.
        self.assertGreaterEqual(total, chance.enough(0.5, 0.75))
        self.assertGreater(stacks["mix", "mix_many", "work", "main"], total / 4)
        top = go_pprof(self.directory, "-top", path)
        self.assertRegex(top, r"^File: inlined\nBuild ID: [0-9a-f]{40}\ndwarfprof ")
        self.assertRegex(top, r"(?m) mix \(inline\)$")
        source = go_pprof(self.directory, "-list=^mix$", path)
        self.assertRegex(source, rf"(?m)^ +{TIME} +{TIME} +\d+:.*/\* here \*/")

    def test_names_are_ours(self):
        """Go's pprof keeps the names, also where code has none, as in some binaries a stub in the PLT."""
        stub = r"(?m) (\[stubs\+0x[0-9a-f]+\]|labs@plt)$"
        # Each call by the stub and the linker. Some CPUs take no interrupt at a stub that is one jump; here one
        # sample in 500 is of a stub.
        with Target(program("stubs"), "60", env={"LD_BIND_NOT": "1"}) as pid:
            for _ in range(3):
                path, _ = self.record("-p", pid, "-d", "1", "-F", "4999")
                if re.search(stub, go_pprof(self.directory, "-top", "-nodefraction=0", path)):
                    break
        shown = {how: [re.sub(r"(?m)^File: .*", "", go_pprof(self.directory, *how, "-nodefraction=0", *form, path))
                       for form in (["-top"], ["-list=^mix$"], ["-top", "-lines"])]
                 for how in ((), ("-symbolize=none",), ("-symbolize=local",))}
        top, source, lines = shown[()]
        self.assertRegex(top, r"(?m) mix \(inline\)$")
        self.assertRegex(top, stub)
        self.assertRegex(source, rf"(?m)^ +{TIME} +{TIME} +\d+:.*/\* here \*/")
        self.assertRegex(lines, r"(?m) mix \S*/stubs\.c:\d+ \(inline\)$")
        for how, texts in shown.items():
            self.assertEqual(texts, shown[()], how)

    def test_functions_without_a_name(self):
        binary = os.path.join(self.directory, "bare")
        subprocess.run(["strip", "-o", binary, program("inlined")], check=True)
        symbols = subprocess.run(["nm", program("inlined")], capture_output=True, text=True, check=True).stdout
        start = re.search(r"(?m)^0*([0-9a-f]+) t work$", symbols)[1]
        with Target(binary, "60") as pid:
            path, _ = self.record("-p", pid, "-d", "1", "-F", "499")
        for how in "none", "local":
            top = go_pprof(self.directory, f"-symbolize={how}", "-hide=kallsyms", "-top", path)
            self.assertRegex(top, rf"(?m)^ +{TIME} +(9\d\.\d+|100)% .* \[bare\+0x{start}\]$")

    def test_mappings(self):
        """Their build ids are those of the files; the addresses lead Go's pprof to code and names."""
        with Target(program("inlined"), "60") as pid:
            path, _ = self.record("-p", pid, "-d", "1", "-F", "499", "--no-symbols")
        text = go_pprof(self.directory, "-symbolize=none", "-raw", path)
        mappings = re.findall(r"(?m)^\d+: 0x[0-9a-f]+/0x[0-9a-f]+/0x[0-9a-f]+ (/\S+) ([0-9a-f]+) *$",
                              text.partition("\nMappings\n")[2])
        self.assertGreaterEqual({os.path.basename(file) for file, _ in mappings}, {"inlined", "libc.so.6"})
        for file, build_id in mappings:
            notes = subprocess.run(["readelf", "-n", file], capture_output=True, text=True, check=True).stdout
            self.assertIn(f"Build ID: {build_id}\n", notes)
        self.assertTrue(all(not frame["lines"] for s in read_go(text)["samples"] for frame in s["frames"]))
        # It looks the names up itself, as nothing claims that they are there.
        # The kernel's time, which on a busy machine is more than a tenth, is that of its caller.
        top = go_pprof(self.directory, "-symbolize=local", "-hide=kallsyms", "-top", path)
        self.assertRegex(top, rf"(?m)^ +{TIME} +(9\d\.\d+|100)% .* work$")
        self.assertRegex(go_pprof(self.directory, "-disasm=work", path),
                         rf"ROUTINE =+ work\n +{TIME}")

    def test_labels_and_kernel(self):
        with busy() as one, Target("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1M") as two:
            path, stderr = self.record("-p", f"{one},{two}", "-d", "1", "-F", "499")
        profile = self.raw(path)
        self.check_totals(profile, stderr)
        self.assertEqual({(s["labels"]["comm"], s["labels"]["pid"]) for s in profile["samples"]},
                         {("fibonacci", f"{one} pid"), ("dd", f"{two} pid")})
        kernel = {name for s in profile["samples"] for frame in s["frames"]
                  if frame["mapping"] == "[kernel.kallsyms]" for name in frame["lines"]}
        self.assertTrue([name for name in kernel if "read" in name], kernel)
        # Of the rows alone: in front of them stands the program that was sampled first.
        rows = {comm: go_pprof(self.directory, "-top", "-nodefraction=0", f"-tagfocus=comm={comm}",
                               path).partition(" cum%\n")[2] for comm in ("fibonacci", "dd")}
        self.assertRegex(rows["fibonacci"], r"(?m) fibonacci$")
        self.assertNotRegex(rows["fibonacci"], r"[ \[]dd\b")
        self.assertRegex(rows["dd"], r"[ \[]dd\b")
        self.assertNotRegex(rows["dd"], r"(?m) fibonacci$")

    def test_what_is_not_whole(self):
        with busy() as pid:
            path, stderr = self.record("-p", pid, "-d", "500ms", "--max-stack", "5")
        profile = self.raw(path)
        self.check_totals(profile, stderr)
        cut = [s for s in profile["samples"] if s["labels"].get("outcome") == "depth_limit"]
        self.assertTrue(cut)
        for sample in cut:
            self.assertEqual(sample["frames"][-1]["lines"], ["[truncated: depth_limit]"])
        self.assertTrue([c for c in profile["comments"] if c.startswith("depth_limit: ")])

    def test_times(self):
        with Target("/usr/bin/python3", "-c", "import time\nwhile True: time.sleep(.01); sum(range(50000))") as pid:
            # A tenth of a CPU at most, and less of a busy one: at 99 Hz that would be few samples.
            path, stderr = self.record("-p", pid, "-d", "1", "-F", "999", "--wall")
            wall = self.raw(path)
            self.check_totals(wall, stderr)
            path, stderr = self.record("-p", pid, "-d", "1", "--off-cpu")
            off_cpu = self.raw(path)
            self.check_totals(off_cpu, stderr)
        self.assertEqual(wall["types"], ["events/count", "cpu/nanoseconds", "off_cpu/nanoseconds", "wall/nanoseconds"])
        for _, cpu, blocked, both in (s["values"] for s in wall["samples"]):
            self.assertEqual(cpu + blocked, both)
            self.assertEqual(min(cpu, blocked), 0)
        self.assertGreater(sum(s["values"][1] for s in wall["samples"]), 0)
        self.assertEqual(off_cpu["types"], ["events/count", "off_cpu/nanoseconds"])
        slept = sum(s["values"][1] for s in off_cpu["samples"] if s["labels"]["state"] == "S")
        self.assertGreater(slept, 100e6)
        self.assertLess(slept, (harness.seconds_sampled(stderr) + 0.1) * 1e9)

    def test_calls(self):
        with Target(program("inefficient"), "60") as pid:
            path, stderr = self.record("-p", pid, "-d", "500ms", "-e", f"uprobe:{program('inefficient')}:report")
        profile = self.raw(path)
        self.check_totals(profile, stderr)
        self.assertEqual(profile["types"], ["events/count"])
        for sample in profile["samples"]:
            self.assertEqual([f["lines"] for f in sample["frames"][:2]], [["report"], ["main"]])

    def test_a_value_in_all_formats(self):
        """The same sums, as other programs read them."""
        names = [f"out.{extension}" for extension in ("jsonl", "pb.gz", "otlp", "json", "firefox.json", "speedscope.json", "dwarfprof", "txt")]
        probe = f"uprobe:{program('valued')}:take(level=request->level)"
        paths = {name.partition(".")[2]: os.path.join(self.directory, name) for name in names}
        result = dwarfprof("-e", probe, "--value", "level:bytes", *(o for path in paths.values() for o in ("-o", path)),
                           "--", program("valued"), "1000", os.path.join(self.directory, "log"), input="\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        samples = list(map(json.loads, harness.read(paths["jsonl"]).splitlines()))
        n, total = len(samples), sum(s["values"]["level"] for s in samples)
        self.assertEqual(n + int(re.search(r" (\d+) lost", result.stderr)[1]), 1000)
        self.assertGreater(total, n)
        go = self.raw(paths["pb.gz"])
        self.assertEqual(go["types"], ["events/count", "level/bytes"])
        self.assertEqual([sum(s["values"][i] for s in go["samples"]) for i in range(2)], [n, total])
        sums = collections.Counter()
        for kind, events in otlp.by_type(otlp.read(paths["otlp"])).items():
            sums["/".join(kind)] += sum(value for several in events.values() for _, value, _ in several)
        self.assertEqual(sums, {"events/count": n, "level/bytes": total})
        stacks = json.loads(harness.read(paths["json"]))["stacks"]
        self.assertEqual([sum(s["values"][i] for s in stacks) for i in range(2)], [n, total])
        firefox = json.loads(harness.read(paths["firefox.json"]))["threads"]
        self.assertEqual({t["samples"]["weightType"] for t in firefox}, {"bytes"})
        self.assertEqual(sum(sum(t["samples"]["weight"]) for t in firefox), total)
        speedscope = json.loads(harness.read(paths["speedscope.json"]))["profiles"]
        self.assertEqual({p["unit"] for p in speedscope}, {"bytes"})
        self.assertEqual(sum(sum(p["weights"]) for p in speedscope if not p["name"].startswith("all threads")), total)
        said = f"\nlevel: {total} bytes in {n} events\n"
        self.assertIn(said, harness.read(paths["txt"]))
        self.assertIn(said, dwarfprof("report", paths["dwarfprof"], "--format", "text").stdout)
        other = os.path.join(self.directory, "other.dwarfprof")
        for options, said in (([], "A has values 'level', B ''"), (["--value", "level"], "A has level in bytes, B in count:"),
                              (["--value", "level:nanoseconds"], "A has level in bytes, B in nanoseconds:")):
            dwarfprof("-e", probe, *options, "-o", other, "--", program("valued"), "10", os.path.join(self.directory, "log"), input="\n")
            refused = dwarfprof("diff", paths["dwarfprof"], other)
            self.assertEqual(refused.returncode, 1, refused.stderr)
            self.assertIn(said, refused.stderr)


if __name__ == "__main__":
    harness.main()
