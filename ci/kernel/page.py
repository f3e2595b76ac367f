# SPDX-License-Identifier: Apache-2.0
"""The results of all kernels, as tables of docs/ACCURACY.md."""
import re

from figures import table

COMPARED = re.compile(r"(\d+) stacks compared, (\d+) different, (\d+) lost")
# Figures that `programs_loaded -t` prints for each program, and their names here.
FIGURES = {"verified": "instructions verified", "ms": "ms to load"}


def stacks(tests):
    """[compared, different, lost], summed over all tests that compare with libgcc."""
    found = [tuple(map(int, match)) for test in tests.values() for match in COMPARED.findall(test["output"])]
    return [sum(column) for column in zip(*found)] or [0, 0, 0]


def programs(output):
    """{program: {figure: number}}, for those that were loaded"""
    lines = [line.split("\t") for line in output.splitlines() if "\t" in line]
    return {line[0]: dict(zip(lines[0][1:], map(int, line[1:]))) for line in lines[1:]}


def summary(runs, first):
    """What is kept of a kernel's runs; first: the machine that all tests ran on."""
    whole = next(run["tests"] for run in runs if run["machine"] == first)
    return {
        "kernel": runs[0]["kernel"],
        "machines": {run["machine"]: {name: test["result"] for name, test in run["tests"].items()} for run in runs},
        "stacks": stacks(whole),
        "programs": programs(whole["programs-loaded"]["output"]),
    }


def is_good(kept):
    return all(result == "OK" for tests in kept["machines"].values() for result in tests.values())


def outcome(result):
    return "–" if result is None else "ok" if result == "OK" else "**fails**"


def grouped(rows):
    """One row for all names with the same outcomes; rows: {name: outcomes}."""
    groups = {}
    for name, outcomes in rows.items():
        groups.setdefault(tuple(outcomes), []).append(name)
    return [[", ".join(names), *outcomes] for outcomes, names in groups.items()]


def of_tests(kept, first):
    """Those that do not pass everywhere."""
    names = dict.fromkeys(name for one in kept for name in one["machines"][first])
    outcomes = {f"`{name}`": [outcome(one["machines"][first].get(name)) for one in kept] for name in names}
    bad = {name: of for name, of in outcomes.items() if set(of) != {"ok"}}
    return [table(["tests", *(one["kernel"] for one in kept)], grouped(bad))] if bad else []


def of_stacks(kept):
    return [[what, *(f"{one['stacks'][i]:,}" for one in kept)]
            for i, what in enumerate(("stacks compared with libgcc's", "different", "lost"))]


def of_programs(kept):
    columns = {one["kernel"]: one["programs"] for one in kept}
    here = max(kept, key=lambda one: one["date"])["here"]
    if here:
        columns[f"{here['kernel']}, not virtual"] = here["programs"]
    names = dict.fromkeys(name for column in columns.values() for name in column)
    return table(["program", *columns],
                 [[f"`{name}`: {what}", *(f"{column[name][figure]:,}" if name in column else "–" for column in columns.values())]
                  for name in names for figure, what in FIGURES.items()])


def of_machine(tests):
    bad = [name for name, result in (tests or {}).items() if result != "OK"]
    return "–" if tests is None else "**fails**: " + ", ".join(bad) if bad else "ok"


def of_machines(kept):
    names = dict.fromkeys(name for one in kept for name in one["machines"])
    return grouped({name: [of_machine(one["machines"].get(name)) for one in kept] for name in names})


def passed(tests):
    return f"{sum(result == 'OK' for result in tests.values())} of {len(tests)}"


def tables(kept, first):
    """kept: a summary() with `commit`, `date` and `here` for each kernel, in their order."""
    head = table(["", *(one["kernel"] for one in kept)],
                 [["tests passed", *(passed(one["machines"][first]) for one in kept)], *of_stacks(kept), *of_machines(kept),
                  ["commit", *(one["commit"] for one in kept)], ["on", *(one["date"] for one in kept)]])
    return "\n\n" + "\n".join([head, *of_tests(kept, first), of_programs(kept)]) + "\n"
