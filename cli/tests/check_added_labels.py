#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labels by calls on the stack, of probes that are added while a run samples: what the program itself has logged, at the
times at which there was such a probe.

usage: check_added_labels.py DWARFPROF PROGRAM-DIR
"""
import collections
import json
import os
import time

import harness
from added import LONGEST_S, Added, Times
from harness import CHANGING, Log, program, wait_for

VALUES = "(route=arg1:str, number=arg2:s32)"
# Samples while labels are known: of calls that began before, some hundred have none.
ON = 4000
KEYS = {"route", "number"}
UNKNOWN = {key: "<unknown>" for key in KEYS}


class AddedLabels(Added):
    LONG = "test_of_another_compiler", "test_another_function_has_the_same_place", "test_off_cpu_samples"

    def recording(self, seconds, *options, target="spans-O2", is_early=False):
        """Of test-programs/spans.cc."""
        return self.recording_of(program(target), str(seconds), self.log, *(["early"] if is_early else []), options=options,
                                 begins_with="in the call\n" if is_early else "")

    def add(self, *words, target="spans-O2", function="handle"):
        return self.do("add", f"label:{program(target)}:{function}{VALUES}", *words)

    def listed(self, probe):
        probes = json.loads(self.do("list", "--json"))["probes"]
        return next(p for p in probes if str(p["id"]) == probe)

    def samples(self):
        with open(self.out) as file:
            for sample in map(json.loads, file):
                labels = sample["labels"] or {}
                self.assertNotIn("probe", labels)
                yield sample, {key: value for key, value in labels.items() if key in KEYS}

    def judge(self):
        """Compares each sample's labels with the log. Returns how many are of which kind, by the probe's state."""
        log = Log(self.log)
        counts = collections.defaultdict(collections.Counter)
        for sample, labels in self.samples():
            wanted = log.at(sample["tid"], sample["time_ns"]) if sample["tid"] in log.times else 0
            state = self.times.at(sample["time_ns"])
            if wanted == CHANGING:
                continue
            kind = "wrong"
            if labels == UNKNOWN:
                kind = "unknown"
            elif not labels:
                kind = "missing" if wanted else "none"
            elif labels == {"route": f"/r/{wanted}", "number": wanted} and wanted:
                kind = "right"
            if kind == "wrong" or (kind == "missing" and state == "on") or (kind in ("right", "unknown") and state == "off"):
                print(f"{labels} is {kind} while {state}: {wanted} at {sample['time_ns']}, thread {sample['tid']}, {sample['outcome']}",
                      flush=True)
                kind = "wrong"
            counts[state][kind] += 1
        print({state: dict(kinds) for state, kinds in counts.items()}, flush=True)
        self.assertEqual(sum(kinds["wrong"] for kinds in counts.values()), 0)
        return counts

    def check_phases(self, *options, target="spans-O2"):
        """Added, disabled, enabled and removed, in the midst of calls, and added again."""
        with self.recording(LONGEST_S, *options, target=target) as process:
            self.wait_for_samples()
            with self.times.change("on"):
                probe = self.add(target=target)
            self.wait_for_samples(ON)
            for word, to in (("disable", "off"), ("enable", "on"), ("remove", "off")):
                with self.times.change(to):
                    self.do(word, probe)
                self.wait_for_samples(ON if to == "on" else 1000)
            with self.times.change("on"):
                self.add(target=target)
            self.wait_for_samples(ON)
            self.end(process)
        counts = self.judge()
        for state, kinds in (("on", ("right", "none")), ("off", ("none", "missing"))):
            for kind in kinds:
                self.assertGreater(counts[state][kind], 20, state)
        self.assertLess(counts["on"]["unknown"], counts["on"]["right"] / 4)

    def test_cpu_samples(self):
        self.check_phases("-F", "1999")

    def test_off_cpu_samples(self):
        self.check_phases("--wall", "-F", "999")

    def test_of_another_compiler(self):
        self.check_phases("-F", "999", target="spans-O1")

    def test_on_and_off_again_and_again(self):
        """What the kernel keeps of a call from before says nothing of a later one with the same place on the stack."""
        with self.recording(10, "-F", "4999"):
            with self.times.change("on"):
                probe = self.add()
            for _ in range(15):
                time.sleep(0.2)
                with self.times.change("off"):
                    self.do("disable", probe)
                time.sleep(0.05)
                with self.times.change("on"):
                    self.do("enable", probe)
        counts = self.judge()
        self.assertGreater(counts["on"]["right"], 100)
        self.assertGreater(counts["off"]["missing"], 10)

    def test_another_function_has_the_same_place(self):
        """The next probe's values are not those of the last one, with its number and the same calls on the stack."""
        with self.recording(20, "-F", "4999"):
            time.sleep(0.1)
            for _ in range(8):
                with self.times.change("other"):
                    other = self.add(function="last")
                time.sleep(0.2)
                with self.times.change("off"):
                    self.do("remove", other)
                with self.times.change("on"):
                    probe = self.add()
                time.sleep(0.3)
                with self.times.change("off"):
                    self.do("remove", probe)
        log = Log(self.log)
        counts = collections.Counter()
        for sample, labels in self.samples():
            wanted = log.at(sample["tid"], sample["time_ns"]) if sample["tid"] in log.times else 0
            if self.times.at(sample["time_ns"]) != "on" or wanted == CHANGING or labels == UNKNOWN:
                continue
            self.assertEqual(labels, {"route": f"/r/{wanted}", "number": wanted} if wanted else {}, sample)
            counts["right" if wanted else "none"] += 1
        print(dict(counts), flush=True)
        self.assertGreater(counts["right"], 50)

    def test_calls_that_began_before(self):
        for options in (["-F", "999"], ["--wall", "-F", "199"]):
            with self.subTest(options=options):
                self.times = Times()
                with self.recording(LONGEST_S, *options, is_early=True) as process:
                    self.wait_for_samples(200)
                    with self.times.change("on"):
                        probe = self.add()
                    self.wait_for_samples(400)
                    with self.times.change("off"):
                        self.do("remove", probe)
                    self.wait_for_samples(200)
                    self.end(process)
                counts = self.judge()
                self.assertEqual(counts["on"]["right"], 0)
                for state, kind in (("on", "unknown"), ("on", "none"), ("off", "missing")):
                    self.assertGreater(counts[state][kind], 5, (state, kind))

    def test_only_some_processes(self):
        with self.recording(LONGEST_S, "-F", "999") as process:
            with self.times.change("off"):
                probe = self.add("-p", str(os.getpid()))
            self.wait_for_samples()
            self.assertEqual(self.listed(probe)["hits"], 0)
            self.assertEqual(self.listed(probe)["traps"], 0)
            self.do("remove", probe)
            with self.times.change("on"):
                self.add("-p", f"{process.pid},{os.getpid()}")
            self.wait_for_samples()
            self.end(process)
        counts = self.judge()
        self.assertGreater(counts["off"]["missing"], 20)
        self.assertGreater(counts["on"]["right"], 20)

    def test_forks_of_only_some_processes(self):
        """Calls of the others are not kept: what they were forked in says nothing of later ones."""
        for rounds in 24, 72, 216:
            if self.forks_of_only_some(rounds) > 20:
                return
        self.fail("there was too little to see")

    def forks_of_only_some(self, rounds):
        """The number of samples of calls that others have begun."""
        path, again = f"{self.log}-{rounds}", 0
        with self.recording_of(program("forks"), str(rounds), path, "wait", options=("-F", "999")) as process:
            self.do("add", "-p", str(process.pid), f"label:{program('forks')}:handle(number=arg1:s32)")
            added = time.monotonic_ns()
        log = Log(path)
        with open(self.out) as file:
            for sample in map(json.loads, file):
                number = (sample["labels"] or {}).get("number")
                wanted = log.at(sample["tid"], sample["time_ns"]) if sample["tid"] in log.times else CHANGING
                again += sample["pid"] != process.pid and wanted > 1000 and sample["time_ns"] > added
                if sample["pid"] != process.pid and wanted != CHANGING:
                    self.assertNotIsInstance(number, int, sample)
        return again

    def test_several_at_once(self):
        """Each is added and removed without the others."""
        with self.recording(LONGEST_S, "-F", "1999") as process:
            self.do("add", f"label:{program('spans-O2')}:last(outer=arg3:s32)")
            with self.times.change("on"):
                probe = self.add()
            self.wait_for_samples(2000)
            with self.times.change("off"):
                self.do("remove", probe)
            self.wait_for_samples(2000)
            with self.times.change("on"):
                self.add()
            self.wait_for_samples(2000)
            self.end(process)
        counts = self.judge()
        log = Log(self.log)
        for sample, _ in self.samples():
            wanted = log.at(sample["tid"], sample["time_ns"]) if sample["tid"] in log.times else CHANGING
            outer = (sample["labels"] or {}).get("outer")
            if wanted != CHANGING and isinstance(outer, int):
                self.assertEqual(outer, wanted, sample)
                counts[self.times.at(sample["time_ns"])]["outer"] += 1
        for state in "on", "off":
            self.assertGreater(counts[state]["outer"], 50)
        self.assertGreater(counts["on"]["right"], 100)

    def test_a_budget(self):
        """With more than 100 calls in a second it is over: further ones are not known, until its end is noticed."""
        with self.recording(LONGEST_S, "-F", "1999") as process:
            # Hits of a process that is not known yet do not count.
            self.wait_for_samples(100)
            with self.times.change("changing"):
                probe = self.add("--max-rate", "1")
                wait_for(lambda: self.listed(probe)["state"] == "over")
            with self.times.change("off"):
                listed = self.listed(probe)
            self.assertIn(listed["hits"], (101, 102), "two threads may be at it at once")
            self.assertEqual((listed["traps"], listed["thinned"]), (listed["hits"], 0))
            self.wait_for_samples()
            # Its end may be noticed before there was a sample.
            for _ in range(10):
                with self.times.change("changing"):
                    self.do("enable", probe)
                    wait_for(lambda: self.listed(probe)["state"] == "over")
                with self.times.change("off"):
                    pass
            self.wait_for_samples()
            self.end(process)
        counts = self.judge()
        self.assertGreater(counts["changing"]["unknown"], 5)
        self.assertGreater(counts["off"]["missing"], 20)
        self.assertIn("probe 1 (", self.said)
        self.assertIn("had more than 100 hits in a second, and is disabled", self.said)

    def test_beside_a_probe_whose_hits_are_samples(self):
        """These have its values, and no labels of calls."""
        with self.recording(4, "-F", "1999"):
            self.do("add", f"uprobe:{program('spans-O2')}:last(outer=arg3:s32)", "--name", "last", "--max-rate", "100")
            self.add()
        counts = collections.Counter()
        with open(self.out) as file:
            for sample in map(json.loads, file):
                labels = sample["labels"] or {}
                is_hit = sample["event"] == "probe"
                self.assertEqual(("probe" in labels, "outer" in labels), (is_hit, is_hit))
                self.assertFalse(is_hit and "route" in labels)
                counts[is_hit, "route" in labels] += 1
        self.assertGreater(counts[True, False], 20)
        self.assertGreater(counts[False, True], 100)

    def test_errors(self):
        with self.recording(2, "-F", "99"):
            path = program("spans-O2")
            for why, probe in (("values are missing", f"label:{path}:handle"),
                               ("has no function handel", f"label:{path}:handel(x=arg1)"),
                               ("calls are of functions, not of a line", f"label:{path}:spans.cc:1(x=number)")):
                result = self.ask("add", probe)
                self.assertEqual(result.returncode, 1)
                self.assertIn(why, result.stderr)
            first = self.add()
            for why, probe in (("has the same name", f"label:{path}:last{VALUES}"),
                               ("calls of this function", f"label:{path}:handle(x=arg1)"),
                               ("too many probes label samples", f"span:{path}:last")):
                result = self.ask("add", probe)
                self.assertEqual(result.returncode, 1)
                self.assertIn(why, result.stderr)
            self.do("disable", first)
            second = self.add(function="last")
            result = self.ask("enable", first)
            self.assertEqual(result.returncode, 1)
            self.assertIn("has the same name", result.stderr)
            self.assertEqual([self.listed(probe)["state"] for probe in (first, second)], ["off", "on"])


if __name__ == "__main__":
    harness.main()
