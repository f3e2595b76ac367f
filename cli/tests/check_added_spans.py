#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples in calls that took long enough, of probes that are added while a run samples: what the program itself has logged,
at the times at which there was such a probe. The other samples stay as they are.

usage: check_added_spans.py DWARFPROF PROGRAM-DIR
"""
import collections
import json
import re

import harness
from added import LONGEST_S, Added
from check_span_times import Log, MIN, contains, is_long, may_be_long
from harness import program, wait_for

UNKNOWN = "<unknown>"

# Samples while spans are known: of calls that began before, some hundred are not.
ON = 3000


class AddedSpans(Added):
    LONG = "test_off_cpu_samples", "test_wall"

    def recording(self, seconds, *options, depth=5):
        """Of test-programs/timed.cc."""
        return self.recording_of(program("timed"), str(seconds), self.log, str(depth), options=options,
                                 why="an exception must not end the program")

    def add(self, *words, values="(number=arg1:s32)", minimum=f" min={MIN}"):
        return self.do("add", f"span:{program('timed')}:handle{values}{minimum}", *words)

    def samples(self):
        with open(self.out) as file:
            return [json.loads(line) for line in file]

    def kind_of(self, sample, calls, state, name):
        """What is to be said of a sample's label, by the calls that the program may have been in."""
        labels, at = sample["labels"] or {}, sample["time_ns"]
        span = labels.get("span")
        if state == "off":
            return "wrong" if "span" in labels or "number" in labels else "right without"
        if span is None:
            is_missing = state == "on" and any(contains(call, at) and is_long(call) for call in calls)
            return "wrong" if is_missing or "number" in labels else "right without"
        if span == UNKNOWN:
            return "unknown" if labels["number"] == UNKNOWN else "wrong"
        of = [i for i, call in enumerate(calls) if call.number == labels["number"]]
        is_right = of and may_be_long(calls[of[0]]) and not any(contains(call, at) and is_long(call) for call in calls[:of[0]])
        return "right" if is_right and span == name else "wrong"

    def judge(self, name="handle"):
        log, counts = Log(self.log), collections.defaultdict(collections.Counter)
        samples = self.samples()
        for sample in samples:
            if sample["tid"] not in log.threads:
                continue
            calls, state = log.threads[sample["tid"]].at(sample["time_ns"]), self.times.at(sample["time_ns"])
            kind = self.kind_of(sample, calls, state, name)
            counts[state][kind] += 1
            if kind == "wrong":
                print(f"{sample['labels']} is wrong while {state} at {sample['time_ns']}, thread {sample['tid']}: {calls}, {sample}", flush=True)
        print({state: dict(kinds) for state, kinds in counts.items()}, flush=True)
        self.assertEqual(sum(kinds["wrong"] for kinds in counts.values()), 0)
        self.assertEqual(int(re.search(r"(\d+) samples", self.said)[1]), len(samples), "none is left out")
        return counts

    def check_phases(self, *options):
        with self.recording(LONGEST_S, *options) as process:
            self.wait_for_samples()
            with self.times.change("on"):
                probe = self.add()
            self.wait_for_samples(ON)
            for word, to in (("disable", "off"), ("enable", "on"), ("remove", "off")):
                with self.times.change(to):
                    self.do(word, probe)
                self.wait_for_samples(ON if to == "on" else 1000)
            with self.times.change("on"):
                self.add()
            self.wait_for_samples(ON)
            self.end(process)
        counts = self.judge()
        for state, kind in (("on", "right"), ("on", "right without"), ("off", "right without")):
            self.assertGreater(counts[state][kind], 50, (state, kind))
        self.assertLess(counts["on"]["unknown"], counts["on"]["right"] / 4)

    def test_cpu_samples(self):
        self.check_phases("-F", "1999")

    def test_off_cpu_samples(self):
        self.check_phases("--off-cpu")

    def test_wall(self):
        self.check_phases("--wall", "-F", "499")

    def test_its_name(self):
        with self.recording(4, "-F", "999"):
            with self.times.change("on"):
                self.add("--name", "one's own")
        self.assertGreater(self.judge("one's own")["on"]["right"], 20)

    def test_without_values_and_time(self):
        with self.recording(4, "-F", "999"):
            with self.times.change("on"):
                self.add(values="", minimum="")
        log, n = Log(self.log), 0
        for s in self.samples():
            if s["tid"] not in log.threads or self.times.at(s["time_ns"]) != "on":
                continue
            calls = log.threads[s["tid"]].at(s["time_ns"])
            if s["labels"]:
                self.assertIn(s["labels"], ({"span": "handle"}, {"span": UNKNOWN}))
                n += s["labels"]["span"] == "handle"
                self.assertTrue(s["labels"]["span"] == UNKNOWN or calls, s)
            else:
                self.assertFalse(any(contains(call, s["time_ns"]) for call in calls), s)
        self.assertGreater(n, 50)

    def test_a_budget(self):
        with self.recording(6, "-F", "999"):
            with self.times.change("changing"):
                probe = self.add("--max-rate", "1")
                wait_for(lambda: json.loads(self.do("list", "--json"))["probes"][0]["state"] == "over")
            with self.times.change("off"):
                self.do("remove", probe)
        self.assertGreater(self.judge()["off"]["right without"], 50)
        self.assertIn("had more than 100 hits in a second, and is disabled", self.said)

    def test_a_label_in_its_place(self):
        """One after the other; both at once cannot be."""
        with self.recording(LONGEST_S, "-F", "1999") as process:
            for _ in range(3):
                with self.times.change("on"):
                    probe = self.add()
                refused = self.ask("add", f"label:{program('timed')}:handle(number=arg1:s32)")
                self.assertIn("too many probes label samples", refused.stderr)
                self.wait_for_samples()
                with self.times.change("off"):
                    self.do("remove", probe)
                with self.times.change("label"):
                    probe = self.do("add", f"label:{program('timed')}:handle(number=arg1:s32)")
                self.wait_for_samples()
                with self.times.change("off"):
                    self.do("remove", probe)
            self.end(process)
        log, n = Log(self.log), collections.Counter()
        for s in self.samples():
            state, labels, at = self.times.at(s["time_ns"]), s["labels"] or {}, s["time_ns"]
            if s["tid"] not in log.threads or state == "changing":
                continue
            calls = log.threads[s["tid"]].at(at)
            if state == "label":
                self.assertNotIn("span", labels)
                inside = [call for call in calls if contains(call, at)]
                if len(inside) == len(calls) and labels.get("number") != UNKNOWN:
                    self.assertEqual(labels.get("number"), inside[0].number if inside else None, s)
                    n["label"] += bool(inside)
            else:
                self.assertNotEqual(self.kind_of(s, calls, state, "handle"), "wrong", s)
                n[state] += "span" in labels
        print(dict(n), flush=True)
        self.assertGreater(n["label"], 50)
        self.assertGreater(n["on"], 50)

    def test_errors(self):
        path = program("timed")
        with self.recording(4, "-F", "99"):
            for why, probe in (("min= takes a time", f"span:{path}:handle min=5"),
                               ("the name span is reserved", f"span:{path}:handle(span=arg1:s32)"),
                               ("did you mean handle?", f"span:{path}:handel min=1ms"),
                               ("calls are of functions", f"span:{path}:timed.cc:100")):
                result = self.ask("add", probe)
                self.assertEqual(result.returncode, 1)
                self.assertIn(why, result.stderr)


if __name__ == "__main__":
    harness.main()
