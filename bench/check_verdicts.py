#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A target that was not measured is neither met nor missed; how bench/rate.py makes its figures, and what
bench/page.py says of them.

usage: check_verdicts.py
"""
import copy
import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "../cli/tests")]
import harness  # noqa: E402
import page  # noqa: E402
import peers  # noqa: E402
import rate  # noqa: E402
import verdicts  # noqa: E402

FIGURES = {
    "recorded_bytes_per_sample": "bytes per sample that perf --call-graph dwarf records",
    "ring_bytes_per_sample": "bytes per sample that come out of the kernel",
    "rooted": "share of stacks that reach their root",
}


RUN = {"samples": 9, "recorded_bytes_per_sample": 10, "ring_bytes_per_sample": 200, "rooted": 0.99, "cpu_share": 0.0004, "bpf_ns": 2000}


def results():
    """Each workload with three runs, all good: perf takes a hundred times as many bytes."""
    theirs = {name: value * (100 if "bytes" in name else 0.5) for name, value in RUN.items()}
    rates = {"99": {verdicts.OURS: [dict(RUN) for _ in range(3)], verdicts.PERF_DWARF: [dict(theirs) for _ in range(3)]}}
    return {"known": "a", "workloads": {name: copy.deepcopy(rates) for name in ("a", *verdicts.REAL)},
            "slowdown": {"99": [0.001], "999": [0.01]}, "cold_start_ms": [50]}


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.results = results()

    def verdict(self, results, start):
        return next(t.verdict() for t in verdicts.of_programs(results) if t.what.startswith(start))

    def without(self, who, figure):
        """The results without a figure of one run of one profiler."""
        found = copy.deepcopy(self.results)
        found["workloads"]["gcc"]["99"][who][1][figure] = None
        return found

    def test_one_run_without_a_figure(self):
        for figure, start in FIGURES.items():
            for who in (verdicts.OURS, verdicts.PERF_DWARF):
                with self.subTest(figure, who=who):
                    self.assertIn(self.verdict(self.results, start).split(",")[0], ("met", "missed"))
                    self.assertEqual(self.verdict(self.without(who, figure), start), "not measured")

    def test_one_run_without_the_profilers_cpu_time(self):
        start = "CPU of the profiler"
        self.assertIn(self.verdict(self.results, start).split(",")[0], ("met", "missed"))
        self.assertEqual(self.verdict(self.without(verdicts.OURS, "cpu_share"), start), "not measured")

    def test_one_workload_without_perf(self):
        found = copy.deepcopy(self.results)
        del found["workloads"]["node"]["99"][verdicts.PERF_DWARF]
        for start in FIGURES.values():
            self.assertEqual(self.verdict(found, start), "not measured")

    def test_one_workload_is_missing(self):
        for name in ("a", "postgres"):
            found = copy.deepcopy(self.results)
            del found["workloads"][name]
            for start in (*FIGURES.values(), "CPU of the profiler"):
                with self.subTest(start, without=name):
                    self.assertEqual(self.verdict(found, start), "not measured")

    def test_nothing_was_measured(self):
        targets = verdicts.of_others(None, None)
        self.assertEqual({t.verdict() for t in targets}, {"not measured"})
        self.assertEqual([t.what for t in targets], [t.what for t in verdicts.of_others({"workloads": {}}, self.results)])

    def test_bytes_of_which_there_are_none(self):
        for run in self.results["workloads"]["a"]["99"][verdicts.OURS]:
            run["ring_bytes_per_sample"] = 0
        self.assertEqual(self.verdict(self.results, FIGURES["ring_bytes_per_sample"]), "not measured")


def rate_results():
    """At 99 Hz all programs cost as much as the kernel's walk, but one."""
    spread = {"median": 0.9, "low": 0.8, "high": 0.95, "runs": 5}
    figures = {"ns": spread, "user_frames": 12.0, "kernel_frames": 3.0, "complete": 0.99, "runs": 500, "samples": 499}
    for per in rate.PER:
        figures.update({f"net_ns{per}": spread, f"to_kernel{per}": spread})
    figures["to_peers"] = {"bpftrace": spread, **{name: {"median": 0.2, "low": 0.2, "high": 0.2, "runs": 5} for name in verdicts.UNWINDERS}}
    methods = {method: dict(figures) for method in ("both", "ours", "ours fp -U", *verdicts.UNWINDERS)}
    methods["empty"] = {name: None for name in figures} | {"ns": spread, "runs": 500, "samples": 500}
    touched = [{"recording": "gcc.txt", "state": state, "frames": 21.0, "touched": part, "lines": lines, "pages": 14.0}
               for state, lines in (("first", 300.0), ("next", 141.0)) for part in page.TOUCHED]
    return {"turns": 5, "seconds": 1, "touched": touched, "missed": {}, "peers": {"one": "one v1.2", "another": None},
            "workloads": {name: {"99": copy.deepcopy(methods)} for name in verdicts.RATED}}


class Rates(unittest.TestCase):
    def verdicts(self, results):
        return [t.verdict() for t in verdicts.of_rates(results)]

    def test_all_is_good(self):
        self.assertEqual(self.verdicts(rate_results()), ["met"] * 9)

    def test_nothing_was_measured(self):
        self.assertEqual(self.verdicts(None), ["not measured"] * 9)

    def test_a_line_more_than_half(self):
        results = rate_results()
        for row in results["touched"]:
            row["lines"] += 1
        self.assertEqual(self.verdicts(results)[7:], ["missed", "met"])
        results["touched"] = [row for row in results["touched"] if row["state"] == "first"]
        self.assertEqual(self.verdicts(results)[7:], ["not measured"] * 2)

    def test_the_worst_program_counts(self):
        results = rate_results()
        results["workloads"]["nginx"]["99"]["ours"]["to_kernel"] = {"median": 3, "low": 2, "high": 4, "runs": 5}
        self.assertEqual(self.verdicts(results)[2], "missed")

    def test_one_program_is_missing(self):
        results = rate_results()
        del results["workloads"]["nginx"]
        self.assertEqual(self.verdicts(results)[:4], ["met", "met", "not measured", "met"])

    def test_one_method_is_missing(self):
        results = rate_results()
        del results["workloads"]["postgres"]["99"]["ours"]
        self.assertEqual(self.verdicts(results)[:4], ["not measured", "met", "not measured", "met"])
        del results["workloads"]["g++"]["99"]["ours fp -U"]
        self.assertEqual(self.verdicts(results)[3], "not measured")


class Page(unittest.TestCase):
    """What is written about these rates."""

    def setUp(self):
        self.rate = rate_results()

    def rows(self, lines, first):
        """Cells of the table whose first head is this, by the first cell of each row."""
        tables = "\n".join(lines).split("\n\n")
        table = next(t for t in tables if t.startswith(f"| {first} |"))
        head, _, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines())
        return {row[0]: dict(zip(head, row, strict=True)) for row in rows}

    def rated(self, first="workload"):
        return self.rows(page.rated(self.rate), first)

    def test_time_frames_and_complete_stacks(self):
        self.rate["workloads"]["g++"]["99"]["ours"]["ns"] = {"median": 21345.6, "low": 1, "high": 2, "runs": 5}
        self.assertEqual(self.rated()["g++"]["ours"], "21,346 (12 + 3, 99%)")
        self.assertEqual(self.rated()["g++"]["empty"], "1")

    def test_a_method_that_one_program_lacks(self):
        del self.rate["workloads"]["nginx"]["99"]["both"]
        self.rate["workloads"]["g++"]["99"]["ours"]["ns"] = None
        self.assertEqual(self.rated()["nginx"]["kernel, both"], "")
        self.assertEqual(self.rated()["g++"]["ours"], "")
        self.assertNotEqual(self.rated()["g++"]["kernel, both"], "")

    def test_other_profilers(self):
        text = "\n".join(page.rated(self.rate))
        self.assertIn("*one*: one v1.2", text)
        self.assertIn("*another*: not measured", text)

    def test_a_rate_that_one_program_lacks(self):
        self.rate["workloads"]["node"]["19"] = self.rate["workloads"]["node"]["99"]
        table = next(t for t in "\n".join(page.rated(self.rate)).split("\n\n") if "| 19 Hz |" in t)
        rows = self.rows([table], "workload")
        self.assertEqual((rows["node"]["19 Hz"], rows["g++"]["19 Hz"]), ("0.90 (0.80–0.95)", ""))

    def test_targets(self):
        found = self.rows(page.wanted_at_99(self.rate), "99 samples a second")
        worst = found[f"times the kernel's walk by frame pointers: the worst program, {verdicts.RATED[0]}"]
        self.assertEqual((worst["verdict"], worst["found"], worst["per frame"]), ("**met**", "12 + 3, 99%", "0.90"))

    def test_targets_of_what_was_not_measured(self):
        lines = page.wanted_of_all(None, None)
        self.assertEqual({row["verdict"] for row in self.rows(lines, "figure").values()}, {"**not measured**"})
        for row in self.rows(page.wanted_at_99(None), "99 samples a second").values():
            self.assertEqual((row["verdict"], row["measured"], row["found"]), ("**not measured**", "", ""))

    def test_a_worse_program_that_was_not_measured(self):
        del self.rate["workloads"]["nginx"]
        found = self.rows(page.wanted_at_99(self.rate), "99 samples a second")
        self.assertEqual(found["times the kernel's walk by frame pointers: the worst program"]["verdict"],
                         "**not measured**")


class Pages(unittest.TestCase):
    """The page of all results, and its summary in BENCHMARKS.md."""

    def setUp(self):
        self.out = tempfile.TemporaryDirectory()
        self.addCleanup(self.out.cleanup)
        self.programs = results() | {"machine": {"commit": "0123456789ab", "time": "2026-01-02 03:04:05 UTC"}}

    def path(self, name):
        return os.path.join(self.out.name, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def test_summary_lies_between_the_marks(self):
        self.programs |= {"seconds": 1, "price": {}}
        self.write("programs.json", json.dumps(self.programs))
        self.write("PAGE.md", "before\n<!-- ci/bench -->old<!-- end of ci/bench -->\nafter\n")
        page.make(self.out.name, self.out.name, self.path("PAGE.md"))
        summary = self.read("PAGE.md")
        self.assertRegex(summary, r"(?s)^before\n<!-- ci/bench -->\n7 of 12 targets are met.*\n<!-- end of ci/bench -->\nafter\n$")
        self.assertIn("\nOf commit 0123456789ab, 2026-01-02.\n", summary)
        self.assertIn("\n| CPU of the profiler at 99 Hz, for a busy process | ≤ 0.05% | 0.04% (0.04%–0.04%) | **met** |\n", summary)
        self.assertNotIn("slowdown of the program at 99 Hz", summary)
        self.assertIn("\n| gcc | 99.0% |  |  | 49.5% | 2,000 |\n", summary)
        self.assertIn("The walks were not measured.", self.read("unwinding.md"))

    def test_the_oldest_results_are_named(self):
        newer = {"machine": {"commit": "ba9876543210", "time": "2026-01-03 03:04:05 UTC"}, "workloads": {}, "touched": []}
        self.assertIn("Oldest: commit 0123456789ab, 2026-01-02.\n", list(page.summary(None, self.programs, newer)))
        newer["machine"]["commit"] = "0123456789ab"
        self.assertIn("Of commit 0123456789ab, 2026-01-02.\n", list(page.summary(None, self.programs, newer)))

    def test_runs_without_samples_have_no_figures(self):
        for run in self.programs["workloads"]["gcc"]["99"][verdicts.PERF_DWARF]:
            run["samples"] = 0
        self.assertIn("| gcc | 99.0% |  |  |  | 2,000 |", list(page.summary(None, self.programs, None)))


class Peers(unittest.TestCase):
    """Comparisons with the fastest other unwinder, of g++, python3 and node."""

    def setUp(self):
        self.results = rate_results()
        self.to_peers = self.results["workloads"]["python3"]["99"]["ours"]["to_peers"]

    def peers(self):
        return [t.verdict() for t in verdicts.of_rates(self.results)[4:7]]

    def test_the_fastest_counts(self):
        self.to_peers["profile-bee"] = {"median": 0.5, "low": 0.5, "high": 0.5, "runs": 5}
        self.assertEqual(self.peers(), ["met", "missed", "met"])
        self.assertIn("(profile-bee)", verdicts.of_rates(self.results)[5].what)

    def test_one_was_not_measured(self):
        self.to_peers["lightswitch"] = None
        self.assertEqual(self.peers(), ["met", "not measured", "met"])
        self.to_peers["profile-bee"] = {"median": 0.5, "low": 0.5, "high": 0.5, "runs": 5}
        self.assertEqual(self.peers(), ["met", "missed", "met"], "whatever the other one takes")

    def test_one_that_knows_no_new_process(self):
        del self.to_peers[verdicts.SID]
        self.assertEqual(self.peers(), ["met", "met", "met"])


class Mix(unittest.TestCase):
    def setUp(self):
        ways = {"auto": {"ns": {"median": 100}}, "dwarf": {"ns": {"median": 1}}, "kernel": {"ns": {"median": 50}}}
        self.results = {"workloads": {name: {"ways": ways} for name in verdicts.REAL}}

    def test_frames_of_jit_code_count(self):
        self.assertEqual(verdicts.mix_ratio(self.results), [2])

    def test_one_program_is_missing(self):
        del self.results["workloads"]["node"]
        self.assertEqual(verdicts.mix_ratio(self.results), [])


class Summary(unittest.TestCase):
    """bench/rate.py: times without the empty program's, and stacks that reach a root."""

    def turns(self):
        def one(ns, runs, n, stacks=(), roots=frozenset()):
            return {"ns": ns, "runs": runs, "samples": n, "stacks": stacks, "roots": roots}

        deep, cut = (10, 2, 0x7f0000001abc, 1), (2, 2, 0x1234, 1)
        return {"empty": [one(4000, 4, 4), one(0, 0, 0)],
                "both": [one(6000, 2, 2, [cut, (10, 2, 0x7e0000005abc, 1)]), one(3000, 1, 1, [cut])],
                "ours": [one(10000, 2, 2, [deep, deep], {0xabc}), one(9000, 1, 1, [deep])],
                "lightswitch": [one(10000, 1, 1, [deep]), one(0, 0, 0)]}

    def test_figures(self):
        found = rate.summarize(self.turns())
        self.assertEqual(found["ours"]["to_kernel"], {"median": 2, "low": 2, "high": 2, "runs": 1})
        self.assertEqual(found["ours"]["complete"], 1)
        self.assertAlmostEqual(found["both"]["complete"], 1 / 3)
        self.assertAlmostEqual(found["ours"]["net_ns_per_frame"]["median"], 4000 / 12)
        self.assertAlmostEqual(found["both"]["net_ns_per_complete"]["median"], 2000 * 3)
        # Frames of the kernel: 4, 12 and 4; of its three stacks one is complete.
        self.assertAlmostEqual(found["ours"]["to_kernel_per_frame"]["median"], 2 * (20 / 3) / 12)
        self.assertAlmostEqual(found["ours"]["to_kernel_per_complete"]["median"], 2 / 3)
        self.assertIsNone(found["empty"]["user_frames"])
        self.assertEqual(found["ours"]["to_peers"], {"lightswitch": {"median": 0.5, "low": 0.5, "high": 0.5, "runs": 1}})
        self.assertEqual((found["ours"]["runs"], found["ours"]["samples"]), (3, 3))

    def test_the_kernel_completes_no_stack(self):
        turns = self.turns()
        turns["both"][0]["stacks"].pop()
        found = rate.summarize(turns)
        self.assertIsNone(found["both"]["net_ns_per_complete"])
        self.assertIsNone(found["ours"]["to_kernel_per_complete"])
        self.assertEqual(found["ours"]["to_kernel"]["median"], 2)

    def test_runs_without_a_sample(self):
        turns = self.turns()
        turns["ours"][0].update(ns=13000, runs=5)
        self.assertEqual(rate.summarize(turns)["ours"]["ns"]["median"], 5000)
        turns["ours"][0]["samples"] = 0
        self.assertIsNone(rate.summarize(turns)["ours"]["ns"])

    def test_only_samples_of_the_measured_time(self):
        def line(time, outcome, *addresses):
            return json.dumps({"time_ns": time, "outcome": outcome, "kernel_stack": [],
                               "user_stack": [{"address": hex(a)} for a in addresses]}) + "\n"

        with tempfile.NamedTemporaryFile("w") as file:
            file.write(line(9, "complete", 0x1111) + line(10, "complete", 0x2222, 0x3333) +
                       line(19, "read_fault", 0x4444) + line(20, "complete", 0x5555))
            file.flush()
            self.assertEqual(rate.read_ours(file.name, 10, 20), ([(2, 0, 0x3333, 1), (1, 0, 0x4444, 1)], {0x333}))

    def test_output_of_bpftrace(self):
        old = ("Attaching 1 probe...\n@[\n\t7f12 f+1 (/a)\n\t55aa main+1 (/b)\n, ]: 3\n"
               "@[\n\t7f12 f+1 (/a)\n, \n\tffffffff81000000 sys+1 ([kernel.kallsyms])\n]: 1\n")
        self.assertEqual(peers.read_bpftrace(old), [(2, 0, 0x55aa, 3), (1, 1, 0x7f12, 1)])
        new = "a warning\n\n@[\n5587\n7fa6\n, \nffffffff8209a001\n]: 2\n@[\n55ab\n, \n]: 1\n"
        self.assertEqual(peers.read_bpftrace(new), [(2, 1, 0x7fa6, 2), (1, 0, 0x55ab, 1)])

    def test_output_of_profile_bee(self):
        text = (b"# profile-bee raw v1\n# mappings:7\n#   1000-2000 0 /a\n# end_mappings:7\n#\n"
                b"a b[pid:7];0xffffffff81000000_k;0x7f0000001abc;0x1234 3\nswapper[pid:0];0xffffffff81000000_k 1\n")
        self.assertEqual(peers.read_raw(text), [(2, 1, 0x7f0000001abc, 3), (0, 1, 0, 1)])

    def test_output_of_lightswitch(self):
        def number(n):
            return bytes([n & 0x7f | 0x80]) + number(n >> 7) if n > 0x7f else bytes([n])

        def message(*found):
            return b"".join(number(key << 3) + number(value) if isinstance(value, int)
                            else number(key << 3 | 2) + number(len(value)) + value for key, value in found)

        profile = message((3, message((1, 1), (2, 0xffffffff80000000))), (3, message((1, 2), (2, 0x550000000000), (5, 3))),
                          (4, message((1, 1), (2, 1), (3, 0xffffffff81000000))), (4, message((1, 2), (2, 2), (3, 0x1234))),
                          (4, message((1, 300), (2, 2), (3, 0x5abc))),
                          (2, message((1, number(1) + number(2) + number(300)), (2, number(200)))), (2, message((1, 1), (2, 1))))
        self.assertEqual(peers.read_pprof(profile), [(2, 1, 0x5abc, 200), (0, 1, 0, 1)])

    def test_prime_rates(self):
        self.assertEqual([peers.prime(n) for n in (19, 49, 99, 999, 2)], [19, 47, 97, 997, 2])


if __name__ == "__main__":
    harness.run_tests()
