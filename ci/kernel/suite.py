# SPDX-License-Identifier: Apache-2.0
"""Selects the tests of meson that run in a virtual machine.

Its CPUs are some twenty times slower than this machine's, and even slower for code that runs once,
which QEMU must translate first. It has no compiler, no Node.js and no Java. Tests that need these
or check rates are left out. So are sums of times, because time that the host gives to others is not
reported as stolen; stacks of static programs, too many of which are in start-up code, where libgcc
cannot walk them; and landings, where nearly all moments of a timer would be.
"""
import ast
import json
import os
import subprocess

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cli/tests")

ORACLES = ("oracle-gcc-O0-nofp-pie", "oracle-gcc-O2-nofp-pie", "oracle-gcc-O2-fp-nopie", "oracle-gcc-O3-fp-pie",
           "oracle-clang-O0-fp-nopie", "oracle-clang-O2-nofp-nopie", "oracle-clang-O3-nofp-pie")

# Not one of meson's tests: loads all programs, and prints the verifier's figures.
PROGRAMS = {"name": "programs-loaded", "cmd": ["bench/programs_loaded", "-t"], "timeout": 60}

# Takes CPUs offline, which must not be done on the machine that runs the tests.
CPUS = {"name": "cpus-that-go", "timeout": 120,
        "cmd": [os.path.join(TESTS, "check_cpus.py"), "cli/dwarfprof", "test-programs", "Gone"]}

# Where there is memory at such addresses.
HIGH = {"name": "high-addresses", "timeout": 60,
        "cmd": [os.path.join(TESTS, "check_high.py"), "cli/dwarfprof", "test-programs"]}

# All of each test, except those that count samples, need a program to start before another one
# ends, or need more than the machine has.
FULL = {
    "programs-loaded": (),
    "walk-kernel": (),
    "sideband": (),
    **{name: () for name in ORACLES},
    "modes-gcc-O2": (),
    "cpus-that-go": (),
    # Some hundred loads, which take the verifier minutes.
    "btf": ("Btf.test_the_list_is_what_the_programs_look_up", "Btf.test_without_each_member",
            "Btf.test_the_error_names_the_member", "Btf.test_what_goes_on_without_a_member"),
    "profile": ("Folded.test_a_target_that_ends_ends_sampling", "TaskNames.test_of_those_that_leave_the_cpu",
                "TaskNames.test_of_uprobes", "Stream.test_rate_is_kept", "TaskNames.test_after_samples_were_lost"),
    "command": (),
    # Needs the viewer of HTML reports.
    "errors": ("Errors.test_a_full_disk_in_the_middle_of_a_report",),
    "damaged": (),
    "crashes": (),
    # Needs Node.js.
    "dump": ("Stacks.test_are_those_of_programs_that_people_run",),
    "filters": (),
    # Needs a compiler.
    "kinds": ("Coroutines.test_boost_context",),
    "top": ("Tables.test_one_for_each_interval",),
    # Sums of times.
    "offcpu": ("OffCpu.test_time_belongs_to_the_function_that_waits",
               "Limits.test_lost_samples_are_counted_with_their_time", "Wall.test_sum_is_elapsed_time", "Wall.test_all_threads_add_up",
               "Wall.test_folded_stacks_tell_them_apart", "Wall.test_text_has_times",
               "MaxRate.test_counts_of_a_storm", "MaxRate.test_what_is_rare_is_taken_whole",
               "MaxRate.test_off_cpu_times_are_scaled", "MaxRate.test_samples_of_cpus"),
    "resting": (),
    # Needs overlayfs; the last ones need compilers, the others take long.
    "spans": ("Labels.test_a_file_of_an_overlay", "Labels.test_many_cpu_samples", "Labels.test_many_samples_of_fibers",
              "Labels.test_of_another_compiler", "Languages.test_go", "Languages.test_rust"),
    # Rates.
    "added-labels": ("AddedLabels.test_a_budget", "AddedLabels.test_of_another_compiler"),
    "added-spans": ("AddedSpans.test_a_budget",),
    # Too many samples.
    "custom": ("Custom.test_many_cpu_samples",),
    # Too many throws, and a rate.
    "exceptions": ("Exceptions.test_many_throws", "Exceptions.test_types_and_messages", "Exceptions.test_the_rate"),
    "span-times": (),
    # Need compilers, or have too many calls.
    "strings": ("Strings.test_cplusplus_by_position", "Strings.test_cplusplus_of_other_compilers", "Strings.test_go",
                "Strings.test_go_not_optimized", "Strings.test_go_of_other_compilers", "Strings.test_results_of_other_compilers", "Strings.test_rust",
                "Strings.test_rust_of_other_compilers"),
    # Needs a compiler; the others take long.
    "traces": ("Traces.test_another_c_library", "Traces.test_cpu_samples", "Traces.test_more_ways_to_link"),
    # Perf is of another kernel.
    "tracepoints": ("Tracepoints.test_as_many_as_perf_counts",),
    # Needs FUSE.
    "uprobes": ("Uprobes.test_a_file_of_a_server",),
    # Rates; the other two need FUSE.
    "probe-manager": ("ProbeManager.test_a_budget", "ProbeManager.test_an_urgent_byte",
                      "ProbeManager.test_files_that_do_not_close", "ProbeManager.test_a_debug_file_that_does_not_open"),
    # Too many calls; the second one needs binutils.
    "values": ("Values.test_arguments_by_position", "Values.test_a_separate_debug_file", "Values.test_many_calls_of_cplusplus"),
    # Need a compiler, thousands of samples repeatedly, or too much time.
    "lifecycle": ("Build.test_of_a_command", "Build.test_of_all_processes",
                  "Swap.test_what_the_kernel_tells_is_complete", "Swap.test_without_a_mark_it_is_complete_or_cut",
                  "Trouble.test_stopped_for_a_while"),
    # libdwfl does not know all mappings of programs that have just started; the other one needs a compiler.
    "verify": ("Verify.test_all_processes_and_children", "Verify.test_compressed_debug_information"),
}

# Only these of each test; None: all.
SHORT = {
    "programs-loaded": None,
    "cpus-that-go": None,
    "oracle-gcc-O2-nofp-pie": None,
    "profile": ("Folded.test_two_processes", "Folded.test_all_processes", "Stream.test_uprobe",
                "Stream.test_kernel_stacks"),
    "crashes": ("Crashes.test_faults", "Crashes.test_calls_of_no_code"),
    "command": ("Command.test_samples_are_of_the_command_alone", "Interrupt.test_kill_leaves_nothing_in_the_kernel"),
    "dump": ("Stacks.test_have_the_functions_that_the_threads_are_in",),
    "offcpu": ("Limits.test_states",),
    "spans": ("Labels.test_stacks_at_the_probe",),
    "verify": ("Verify.test_inefficient",),
}

# Short tests that a machine cannot run, and those that only it can. The kernel unmaps the stack
# page of a spinning thread to see which node uses it. On the first one, CPUs take longer to go than
# all other tests, which are run in it as well.
NOT_ON = {"1 CPU": (CPUS["name"],), "2 CPUs": (CPUS["name"],), "two nodes of memory": ("dump",)}
ONLY_ON = {"five levels of page tables": (HIGH["name"],)}

# Factor for a test's time limit, compared with this machine.
SLOWER = 4


def names(script):
    """All tests of a Python file."""
    with open(script) as file:
        tree = ast.parse(file.read())
    return [f"{node.name}.{test.name}" for node in tree.body if isinstance(node, ast.ClassDef)
            for test in node.body if isinstance(test, ast.FunctionDef) and test.name.startswith("test_")]


def script(command):
    """The Python test file in a command."""
    return next((word for word in command[:2] if "/check_" in word), None)


def only(known, wanted):
    missing = set(wanted) - set(known)
    if missing:
        raise KeyError(f"there is no {', '.join(sorted(missing))}")
    return [name for name in known if name in wanted]


class Suite:
    """The tests of a build."""

    def __init__(self, build):
        self.build = build
        out = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=True)
        self.tests = {test["name"]: test for test in [PROGRAMS, CPUS, HIGH, *json.loads(out.stdout)]}

    def test(self, name, wanted):
        test = self.tests[name]
        return {"name": name, "command": test["cmd"] + list(wanted), "directory": self.build,
                "timeout": test["timeout"] * SLOWER}

    def full(self):
        tests = []
        for name, left_out in FULL.items():
            wanted = ()
            # By name, also those that run with --long.
            if left_out or self.has_long(name):
                known = names(script(self.tests[name]["cmd"]))
                wanted = [test for test in known if test not in only(known, left_out)]
            tests.append(self.test(name, wanted))
        return tests

    def has_long(self, name):
        """Are there tests in it that its command leaves out?"""
        path = script(self.tests[name]["cmd"])
        if not path:
            return False
        with open(path) as file:
            return "    LONG = " in file.read()

    def short(self, machine):
        """The short tests for a machine, by its name."""
        tests = {name: wanted for name, wanted in SHORT.items() if name not in NOT_ON.get(machine, ())}
        tests.update(dict.fromkeys(ONLY_ON.get(machine, ())))
        return [self.test(name, only(names(script(self.tests[name]["cmd"])), wanted) if wanted else ())
                for name, wanted in tests.items()]
