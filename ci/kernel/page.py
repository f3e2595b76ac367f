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


def outcome(test):
    return "–" if test is None else "ok" if test["result"] == "OK" else "**fails**"


def grouped(rows):
    """One row for all names with the same outcomes; rows: {name: outcomes}."""
    groups = {}
    for name, outcomes in rows.items():
        groups.setdefault(tuple(outcomes), []).append(name)
    return [[", ".join(names), *outcomes] for outcomes, names in groups.items()]


def of_tests(runs):
    names = dict.fromkeys(name for run in runs for name in run["tests"])
    return table(["tests", *(run["kernel"] for run in runs)], grouped(
        {f"`{name}`": [outcome(run["tests"].get(name)) for run in runs] for name in names}))


def of_stacks(runs):
    found = [stacks(run["tests"]) for run in runs]
    return [[what, *(f"{one[i]:,}" for one in found)]
            for i, what in enumerate(("stacks compared with libgcc's", "different", "lost"))]


def of_programs(runs, here):
    """here: the running kernel's name and output of programs_loaded, or None."""
    columns = {run["kernel"]: programs(run["tests"]["programs-loaded"]["output"]) for run in runs}
    if here:
        columns[f"{here[0]}, not virtual"] = programs(here[1])
    names = dict.fromkeys(name for column in columns.values() for name in column)
    return table(["program", *columns],
                 [[f"`{name}`: {what}", *(f"{column[name][figure]:,}" if name in column else "–" for column in columns.values())]
                  for name in names for figure, what in FIGURES.items()])


def of_machines(runs):
    kernels = list(dict.fromkeys(run["kernel"] for run in runs))
    rows = {}
    for run in runs:
        bad = [name for name, test in run["tests"].items() if test["result"] != "OK"]
        rows.setdefault(run["machine"], {})[run["kernel"]] = "**fails**: " + ", ".join(bad) if bad else "ok"
    return grouped({name: [row.get(kernel, "–") for kernel in kernels] for name, row in rows.items()})


def passed(run):
    n = sum(test["result"] == "OK" for test in run["tests"].values())
    return f"{n} of {len(run['tests'])}"


def tables(runs, first, here):
    """first: the machine that all tests ran on."""
    whole = [run for run in runs if run["machine"] == first]
    summary = table(["", *(run["kernel"] for run in whole)],
                    [["tests passed", *map(passed, whole)], *of_stacks(whole), *of_machines(runs)])
    return "\n\n" + "\n".join([summary, of_tests(whole), of_programs(whole, here)]) + "\n"
