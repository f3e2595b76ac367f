// SPDX-License-Identifier: Apache-2.0
/* Options of a run: defaults, values and their limits, and which exclude each other. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/array.h"
#include "cli/off_cpu_options.h"
#include "cli/options.h"
#include "cli/quantity.h"
#include "kernel/filter.h"
#include "report/own_label.h"
#include "report/report.h"
#include "text/text.h"

static struct options options;

static char *arguments[32];
static int n_arguments;

static void end(void)
{
	options_done(&options);
	options = (struct options){ 0 };
	while (n_arguments > 0)
		free(arguments[--n_arguments]);
}

/* The parser may modify its arguments, so literals will not do. */
static void parse(const char *const *given)
{
	end();
	for (n_arguments = 0; given[n_arguments]; n_arguments++)
		arguments[n_arguments] = strdup(given[n_arguments]);
	options_parse(&options, n_arguments, arguments);
}

#define PARSE(...) parse((const char *const[]){ "dwarfprof", __VA_ARGS__, NULL })

TestSuite(options);

Test(options, reads_durations)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ "30", 30000000000 },  { "30s", 30000000000 }, { "1.5s", 1500000000 },
		{ "500ms", 500000000 }, { "5m", 300000000000 }, { "1h", 3600000000000 },
		{ ".5", 500000000 },
	};
	static const char *const wrong[] = { "",      "s",   "-1",           "0",   "0ms",
					     "1x",    "1e3", "inf",          "nan", "0x10",
					     "1.2.3", "5 s", "999999999999h" };
	uint64_t ns;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert(quantity_parse_duration(cases[i].text, &ns) == 0, "%s", cases[i].text);
		cr_assert(ns == cases[i].ns, "%s: %lu", cases[i].text, ns);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_assert(quantity_parse_duration(wrong[i], &ns) == -EINVAL, "%s", wrong[i]);
}

Test(options, verifies_every_tenth_sample_or_every_nth)
{
	PARSE("-a");
	cr_assert(options.record.profiler.verify == 0);
	end();
	PARSE("-a", "--verify");
	cr_assert(options.record.profiler.verify == 10);
	end();
	PARSE("-a", "--verify=3");
	cr_assert(options.record.profiler.verify == 3);
	end();
}

Test(options, reads_sizes)
{
	static const struct {
		const char *text;
		uint64_t size;
	} cases[] = { { "0", 0 },
		      { "4096", 4096 },
		      { "64K", 65536 },
		      { "64k", 65536 },
		      { "5M", 5 << 20 },
		      { "1G", 1 << 30 },
		      { "17179869183G", UINT64_C(17179869183) << 30 } };
	static const char *const wrong[] = {
		"",     "M",    "-1",   "1.5G",         "1T",
		"64MB", "64 M", "0x10", "17179869184G", "18446744073709551616"
	};
	uint64_t size;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert(quantity_parse_size(cases[i].text, &size) == 0, "%s", cases[i].text);
		cr_assert(size == cases[i].size, "%s: %lu", cases[i].text, size);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_assert(quantity_parse_size(wrong[i], &size) == -EINVAL, "%s", wrong[i]);
}

Test(options, has_the_promised_defaults)
{
	PARSE("-p", "17");
	cr_assert(options.record.profiler.target.n_pids == 1 &&
		  options.record.profiler.target.pids[0] == 17);
	cr_assert(options.record.profiler.hz == 99 && options.record.profiler.max_frames == 1024);
	cr_assert(options.record.profiler.unwind == DP_UNWIND_AUTO &&
		  options.record.profiler.symbols);
	cr_assert(options.record.duration_ns == 0 && options.record.profiler.cache);
	cr_assert(options.record.profiler.table_memory >= 64 << 20);
	/* Not a terminal: folded stacks. */
	cr_assert_str_eq(options.record.outputs[0].format->name, "folded");
	end();
}

Test(options, takes_the_word_record_and_several_processes)
{
	PARSE("record", "-p", "1,2", "-p", "3", "-d", "5", "-F", "999", "-o", "x.jsonl", "--unwind",
	      "fp", "--max-stack", "2048", "--no-symbols", "--no-cache", "-v");
	cr_assert(options.record.profiler.target.n_pids == 3 &&
		  options.record.profiler.target.pids[2] == 3);
	cr_assert(options.record.profiler.hz == 999 && options.record.profiler.max_frames == 2048);
	cr_assert(options.record.profiler.unwind == DP_UNWIND_FP &&
		  !options.record.profiler.symbols);
	cr_assert(options.names.verbose && !options.record.profiler.cache);
	cr_assert_str_eq(options.record.outputs[0].format->name, "jsonl");
	end();
}

/* Everything behind -- belongs to the command, even options. */
Test(options, leaves_a_command_its_options)
{
	PARSE("-F", "10", "--", "ls", "-p", "5", "--", "x");
	cr_assert(options.record.profiler.hz == 10 && options.record.profiler.target.n_pids == 0);
	cr_assert_str_eq(options.record.profiler.target.command[0], "ls");
	cr_assert_str_eq(options.record.profiler.target.command[1], "-p");
	cr_assert_str_eq(options.record.profiler.target.command[4], "x");
	cr_assert(options.record.profiler.target.command[5] == NULL);
	end();
}

Test(options, leaves_one_side_out)
{
	PARSE("-a");
	cr_assert(options.record.profiler.sides == DP_SIDES_BOTH);
	end();
	PARSE("-a", "-U");
	cr_assert(options.record.profiler.sides == DP_SIDES_USER);
	end();
	PARSE("-a", "--kernel-only", "-K");
	cr_assert(options.record.profiler.sides == DP_SIDES_KERNEL);
	end();
}

Test(options, takes_what_names_shall_look_like)
{
	PARSE("-a");
	cr_assert(options.names.options.demangle == NAMES_DEMANGLE_SIMPLE);
	cr_assert(!options.names.options.no_inlines && !options.names.options.no_lines);
	end();
	PARSE("-a", "--demangle", "full", "--no-inline", "--no-lines");
	cr_assert(options.names.options.demangle == NAMES_DEMANGLE_FULL);
	cr_assert(options.names.options.no_inlines && options.names.options.no_lines);
	end();
}

Test(options, takes_events_of_counters)
{
	PARSE("-a", "-e", "cache-misses", "-F", "1000");
	cr_assert_eq(options.record.profiler.event.source, &event_cache_misses);
	cr_assert_eq(options.record.profiler.states, 0);
	PARSE("-a", "-e", "r01C2", "-c", "4294967295");
	cr_assert_eq(options.record.profiler.event.source, &event_raw);
	cr_assert_str_eq(options.record.profiler.event.argument, "01C2");
	cr_assert_eq(options.record.profiler.period, UINT32_MAX);
	PARSE("-a", "-e", "page-faults", "-c", "10");
	cr_assert_eq(options.record.profiler.period, 10);
}

Test(options, takes_several_events)
{
	const struct profiler_options *profiler = &options.record.profiler;

	PARSE("-a", "-e", "page-faults,r1c2,r01C2", "-e", "r1C3", "-e", "page-faults");
	cr_assert_eq(profiler_n_events(profiler), 3);
	cr_assert_eq(profiler_event(profiler, 0)->source, &event_page_faults);
	cr_assert_str_eq(profiler_event(profiler, 1)->argument, "1c2");
	cr_assert_str_eq(profiler_event(profiler, 2)->argument, "1C3");
	PARSE("-a", "-e", "page-faults,context-switches", "-e", "page-faults");
	cr_assert_eq(profiler_n_events(profiler), 2);
	/* A rate is that of those that have one. */
	PARSE("-a", "-e", "page-faults,cycles", "-F", "10");
	PARSE("-a", "-e", "uprobe:libc.so.6:f(int,long)");
	cr_assert_eq(profiler_n_events(profiler), 1);
	cr_assert_str_eq(profiler->event.argument, "libc.so.6:f(int,long)");
}

Test(options, takes_tracepoints)
{
	const struct profiler_options *profiler = &options.record.profiler;
	char name[EVENT_NAME_SIZE], why[EVENT_TEXT_SIZE];
	struct event_texts texts;

	PARSE("-a", "-e", "tracepoint:a:b(x=y:u8,z),tracepoint:a:c", "-e", "tracepoint:a:c");
	cr_assert_eq(profiler_n_events(profiler), 2);
	cr_assert_eq(profiler_event(profiler, 0)->source, &event_tracepoint);
	cr_assert_str_eq(profiler_event(profiler, 0)->argument, "a:b(x=y:u8,z)");
	cr_assert_str_eq(profiler_event(profiler, 1)->argument, "a:c");
	event_name(profiler_event(profiler, 0), name);
	cr_assert_str_eq(name, "tracepoint:a:b", "without its values");
	PARSE("-a", "-e", "kprobe:vfs_read,kprobe:vfs_read+8");
	cr_assert_eq(profiler_n_events(profiler), 2);
	cr_assert_str_eq(profiler_event(profiler, 1)->argument, "vfs_read+8");
	PARSE("-a", "-e", "raw_tracepoint:sched_waking(arg1->8:u32,arg2)");
	cr_assert_eq(profiler->event.source, &event_raw_tracepoint);
	cr_assert(event_expand("tracepoint:a:b(x)", &texts, why) == 0 && texts.n == 0);
	cr_assert(event_expand("uprobe:libc.so.6:mem*", &texts, why) == 0 && texts.n == 0);
	PARSE("-a", "-e", "wakeups", "-K");
	cr_assert_eq(profiler->event.source, &event_wakeups);
	PARSE("-a", "-e", "sched:wakeup");
	cr_assert_eq(profiler->event.source, &event_wakeups);
	end();
}

Test(options, knows_what_samples_stand_for)
{
	struct event faults = { .source = &event_page_faults },
		     cycles = { .source = &event_cycles };
	struct event cpu = { .source = &event_cpu };

	cr_assert(event_has_periods(&cycles, 0) && event_has_periods(&cycles, 1));
	cr_assert(event_has_periods(&faults, 2));
	cr_assert(!event_has_periods(&faults, 1) && !event_has_periods(&faults, 0));
	cr_assert(!event_has_periods(&cpu, 0));
}

Test(options, takes_uprobes)
{
	PARSE("-a", "-e", "uprobe:libc.so.6:malloc");
	cr_assert_eq(options.record.profiler.event.source, &event_uprobe);
	cr_assert_str_eq(options.record.profiler.event.argument, "libc.so.6:malloc");
	PARSE("-a", "-e", "uretprobe:libc.so.6:malloc(ret:ptr,time)", "--value", "time");
	cr_assert_eq(options.record.profiler.event.source, &event_uretprobe);
	cr_assert_str_eq(options.record.profiler.numbers[0].name, "time");
	cr_assert_null(options.record.profiler.numbers[0].unit);
	PARSE("-a", "-e", "uprobe:libc.so.6:malloc(size=arg1)", "--value", "size:bytes");
	cr_assert_str_eq(options.record.profiler.numbers[0].name, "size");
	cr_assert_str_eq(options.record.profiler.numbers[0].unit, "bytes");
	cr_assert_eq(options.record.profiler.n_numbers, 1);
	PARSE("-a", "-e", "tracepoint:a:b,tracepoint:a:c(x,y)", "--value", "x", "--value", "y:kB");
	cr_assert_eq(options.record.profiler.n_numbers, 2);
	cr_assert_str_eq(options.record.profiler.numbers[1].name, "y");
	cr_assert_str_eq(options.record.profiler.numbers[1].unit, "kB");
	end();
}

Test(options, takes_probes_of_calls)
{
	PARSE("-a", "--probe", "label:libc.so.6:malloc(size=arg1)");
	cr_assert_str_eq(options.record.profiler.label_probes[0],
			 "label:libc.so.6:malloc(size=arg1)");
	PARSE("-a", "--probe", "label:f:g(x=arg1)", "--probe", "label:f:h(y=arg1)");
	cr_assert_eq(options.record.profiler.n_label_probes, 2);
	cr_assert_str_eq(options.record.profiler.label_probes[1], "label:f:h(y=arg1)");
	PARSE("-a", "--wall", "--probe", "span: libc.so.6:malloc min=5ms");
	cr_assert_str_eq(options.record.profiler.label_probes[0], "span: libc.so.6:malloc min=5ms");
	end();
}

Test(options, lets_format_win_over_extension)
{
	PARSE("-a", "-o", "x.folded", "--format", "jsonl");
	cr_assert_str_eq(options.record.outputs[0].format->name, "jsonl");
	end();
}

Test(options, tells_stacks_apart_by_a_label)
{
	const struct own_label *own;

	PARSE("-a", "-o", "x.folded", "-o", "x.svg", "--by", "label:route");
	for (size_t i = 0; i < 2; i++)
		cr_assert_str_eq(options.record.outputs[i].by->key, "route");
	end();
	PARSE("-a");
	cr_assert_null(options.record.outputs[0].by);
	end();
	for (size_t i = 0; (own = own_label(i)); i++)
		cr_assert(strstr(OUTPUT_OPTIONS_BY_HELP, own->key), "%s", own->key);
}

/* Wrong usage ends the program with 2. */
#define REFUSES(name, ...)                                                                         \
	Test(options, refuses_##name, .exit_code = EXIT_CODE_USAGE)                                \
	{                                                                                          \
		PARSE(__VA_ARGS__);                                                                \
	}

Test(options, takes_table_memory)
{
	PARSE("-a", "--table-memory", "4M");
	cr_assert(options.record.profiler.table_memory == 4 << 20);
	end();
	PARSE("-a", "--table-memory=2G");
	cr_assert(options.record.profiler.table_memory == UINT64_C(2) << 30);
	end();
}

Test(options, takes_a_sandbox)
{
	PARSE("-a");
	cr_assert(options.record.profiler.sandbox == SANDBOX_AUTO);
	end();
	PARSE("-a", "--sandbox", "require");
	cr_assert(options.record.profiler.sandbox == SANDBOX_REQUIRE);
	end();
	PARSE("-a", "--sandbox=off");
	cr_assert(options.record.profiler.sandbox == SANDBOX_OFF);
	end();
}

Test(options, takes_threads)
{
	PARSE("-t", "1,2", "--tid=3");
	cr_assert(options.record.profiler.target.n_tids == 3 &&
		  options.record.profiler.target.tids[2] == 3);
	cr_assert(options.record.profiler.target.n_pids == 0 &&
		  !options.record.profiler.target.all);
	end();
}

Test(options, takes_filters_alone_as_all_processes)
{
	PARSE("-u", "root", "--comm", "^pg", "-C", "0");
	cr_assert(options.record.profiler.target.all && options.record.profiler.target.inherit);
	cr_assert_str_eq(options.record.profiler.target.filter->user, "root");
	cr_assert_str_eq(options.record.profiler.target.filter->comm, "^pg");
	cr_assert_str_eq(options.record.profiler.target.filter->cpus, "0");
	cr_assert(!options.record.profiler.target.filter->cgroup);
	end();
	PARSE("-C", "0");
	cr_assert(options.record.profiler.target.all);
	end();
}

Test(options, takes_filters_of_a_target)
{
	PARSE("-p", "1", "-u", "root", "--no-inherit");
	cr_assert(!options.record.profiler.target.all &&
		  options.record.profiler.target.n_pids == 1 &&
		  !options.record.profiler.target.inherit);
	end();
	PARSE("--comm", "^cc1$", "--no-inherit", "--", "make");
	cr_assert(!options.record.profiler.target.all && options.record.profiler.target.command &&
		  !options.record.profiler.target.inherit);
	end();
	PARSE("-p", "1");
	cr_assert(!filter_is_set(options.record.profiler.target.filter));
	end();
}

REFUSES(a_label_without_its_prefix, "-a", "--by", "route")
REFUSES(no_target, "-d", "5")
REFUSES(threads_and_processes, "-t", "1", "-p", "1")
REFUSES(threads_and_all, "-t", "1", "-a")
REFUSES(a_bad_tid, "-t", "1,x")
REFUSES(all_without_children, "-a", "--no-inherit")
REFUSES(a_filter_without_children, "-u", "root", "--no-inherit")
REFUSES(a_bad_list_of_cpus, "-C", "0-")
REFUSES(a_cpu_that_is_not_there, "-C", "8191")
REFUSES(an_unknown_user, "-u", "nosuchuser")
REFUSES(an_unknown_cgroup, "-G", "/nonexistent/cgroup")
REFUSES(a_bad_expression, "--comm", "(")
REFUSES(two_targets, "-p", "1", "-a")
REFUSES(a_target_and_a_command, "-a", "--", "ls")
REFUSES(an_empty_command, "--")
REFUSES(a_stray_word, "-a", "ls")
REFUSES(a_bad_pid, "-p", "12x")
REFUSES(an_empty_pid, "-p", ",")
REFUSES(sandbox_of_another_name, "-a", "--sandbox", "on")
REFUSES(too_little_table_memory, "-a", "--table-memory", "4095K")
REFUSES(too_much_table_memory, "-a", "--table-memory", "2049M")
REFUSES(table_memory_that_is_no_size, "-a", "--table-memory", "much")
REFUSES(pid_zero, "-p", "0")
REFUSES(a_bad_rate, "-a", "-F", "0")
REFUSES(a_bad_duration, "-a", "-d", "soon")
Test(options, every_unwind_mode)
{
	static const char *const words[] = { "auto", "dwarf", "fp", "copy" };

	for (unsigned int i = 0; i < ARRAY_SIZE(words); i++) {
		PARSE("-a", "--unwind", (char *)words[i]);
		cr_assert(options.record.profiler.unwind == i, "%s", words[i]);
	}
}

REFUSES(a_bad_mode, "-a", "--unwind", "magic")
REFUSES(too_deep_a_stack, "-a", "--max-stack", "4096")
REFUSES(an_unknown_extension, "-a", "-o", "x.png")
REFUSES(an_unknown_format, "-a", "--format", "png")
REFUSES(a_bad_event, "-a", "-e", "jprobe:x")
REFUSES(a_tracepoint_of_no_system, "-a", "-e", "tracepoint:sched_switch")
REFUSES(values_within_a_function_of_the_kernel, "-a", "-e", "kprobe:vfs_read+4(arg1)")
REFUSES(a_glob_of_functions, "-a", "-e", "fentry:vfs_*")
REFUSES(two_functions_of_the_kernel, "-a", "-e", "fentry:vfs_read,fentry:vfs_write")
REFUSES(tracepoints_and_counts, "-a", "-e", "tracepoint:sched:sched_switch,page-faults")
REFUSES(a_tracepoint_by_two_ways, "-a", "-e", "raw_tracepoint:a", "-e", "tracepoint:a:a")
REFUSES(a_probe_beside_a_tracepoint, "-a", "-e", "tracepoint:sched:sched_switch", "--probe",
	"label:libc.so.6:malloc(size=arg1)")
REFUSES(to_leave_out_both_sides, "-a", "-U", "-K")
REFUSES(the_kernel_s_side_of_a_uprobe, "-a", "-K", "-e", "uprobe:libc.so.6:malloc")
REFUSES(a_raw_event_without_digits, "-a", "-e", "r")
REFUSES(a_raw_event_that_is_not_hex, "-a", "-e", "r1g")
REFUSES(a_raw_event_that_is_too_long, "-a", "-e", "r12345678123456781")
REFUSES(more_than_an_event, "-a", "-e", "cyclesx")
REFUSES(an_empty_event, "-a", "-e", "page-faults,")
REFUSES(events_of_two_kinds, "-a", "-e", "page-faults", "-e", "cpu")
REFUSES(an_event_after_time, "-a", "-e", "cpu,page-faults")
REFUSES(two_probes, "-a", "--probe", "span:f:g", "--probe", "label:f:g(x=arg1)")
REFUSES(a_probe_without_a_time, "-a", "--probe", "span:f:g min=5")
REFUSES(a_probe_of_an_unknown_kind, "-a", "--probe", "event:f:g(x=arg1)")
REFUSES(crashes_in_long_calls, "-a", "--crashes", "--probe", "span:f:g min=5ms")
REFUSES(crashes_and_others_in_long_calls, "-a", "--crashes", "-e", "cpu", "--probe", "span:f:g")
REFUSES(a_probe_beside_a_uprobe, "-a", "--probe", "span:f:g", "-e", "uprobe:libc.so.6:malloc")
REFUSES(two_functions, "-a", "-e", "cycles", "-e", "uprobe:libc.so.6:malloc")
REFUSES(two_uprobes, "-a", "-e", "uprobe:libc.so.6:malloc", "-e", "uprobe:libc.so.6:free")
REFUSES(too_many_events, "-a", "-e", "r1,r2,r3,r4,r5,r6,r7,r8,r9")
REFUSES(a_rate_of_several_that_have_none, "-a", "-F", "10", "-e", "page-faults,cpu-migrations")
REFUSES(a_count_of_time, "-a", "-c", "10")
REFUSES(a_count_of_calls, "-a", "-c", "10", "-e", "uprobe:libc.so.6:malloc")
REFUSES(a_count_and_a_rate, "-a", "-c", "10", "-F", "10", "-e", "cycles")
REFUSES(a_count_that_is_none, "-a", "-c", "0", "-e", "cycles")
REFUSES(a_rate_whose_counts_are_too_large, "-a", "-F", "9", "-e", "cycles")
REFUSES(a_rate_of_page_faults, "-a", "-F", "10", "-e", "page-faults")
REFUSES(two_limits_of_counters, "-a", "--max-rate", "10", "-e", "cycles")
REFUSES(half_an_event, "-a", "-e", "uprobe:/bin/ls")
REFUSES(a_value_of_cpu_time, "-a", "--value", "size")
REFUSES(a_value_of_events_without_any, "-a", "-e", "tracepoint:a:b,tracepoint:a:c", "--value", "x")
REFUSES(more_values_than_events, "-a", "-e", "tracepoint:a:b(x),tracepoint:a:c(y)", "--value", "x",
	"--value", "y", "--value", "z")
REFUSES(a_value_without_its_unit, "-a", "-e", "uprobe:libc.so.6:f(x=arg1)", "--value", "x:")
REFUSES(a_unit_that_is_none, "-a", "-e", "uprobe:libc.so.6:f(x=arg1)", "--value", "x:a b")
REFUSES(a_value_of_calls_without_any, "-a", "-e", "uprobe:libc.so.6:malloc", "--value", "size")
REFUSES(a_value_that_is_none, "-a", "-e", "uprobe:libc.so.6:malloc(size=arg1:u46)")
REFUSES(an_unknown_option, "-a", "--frobnicate")

Test(options, reads_times_of_blocks)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ "0", 0 },         { "100", 100000 },      { "100us", 100000 },
		{ "5ms", 5000000 }, { "1.5s", 1500000000 }, { "2m", 120000000000 },
		{ "0us", 0 },       { "1.5", 1500 },
	};
	static const char *const wrong[] = { "",
					     "us",
					     "-1",
					     "0ms",
					     "1x",
					     "1 us",
					     "inf",
					     ".",
					     "1.2.3",
					     "1.2.3us",
					     "99999999999999999999" };
	uint64_t ns;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert(off_cpu_options_parse_time(cases[i].text, &ns) == 0, "%s", cases[i].text);
		cr_assert(ns == cases[i].ns, "%s: %lu", cases[i].text, ns);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_assert(off_cpu_options_parse_time(wrong[i], &ns) == -EINVAL, "%s", wrong[i]);
}

Test(options, reads_states)
{
	static const char *const wrong[] = { "", ",", "S,", ",S", "SD", "X", "S;D", "s", "S,,D" };
	unsigned int states;

	cr_assert(off_cpu_options_parse_states("S", &states) == 0);
	cr_assert_eq(states, 1U << DP_STATE_SLEEPING);
	cr_assert(off_cpu_options_parse_states("D,T,t", &states) == 0);
	cr_assert_eq(states,
		     1U << DP_STATE_DISK_SLEEP | 1U << DP_STATE_STOPPED | 1U << DP_STATE_TRACED);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_assert(off_cpu_options_parse_states(wrong[i], &states) == -EINVAL, "%s",
			  wrong[i]);
}

Test(options, completes_what_blocked_threads_need)
{
	PARSE("-p", "1", "--off-cpu");
	cr_assert(options.record.profiler.event.source == &event_off_cpu);
	cr_assert_eq(options.record.profiler.min_block_ns, 1000);
	cr_assert_eq(options.record.profiler.max_block_ns, UINT64_MAX);
	cr_assert_eq(options.record.profiler.states,
		     1U << DP_STATE_SLEEPING | 1U << DP_STATE_DISK_SLEEP);
	cr_assert_eq(options.record.profiler.max_rate, 0);
	end();

	PARSE("-p", "1", "--wall", "--min-block", "0", "--max-block", "2s", "--max-rate", "50",
	      "-F", "10");
	cr_assert(options.record.profiler.event.source == &event_wall);
	cr_assert_eq(options.record.profiler.min_block_ns, 0);
	cr_assert_eq(options.record.profiler.max_block_ns, 2000000000);
	cr_assert_eq(options.record.profiler.states, (1U << DP_N_STATES) - 1);
	cr_assert_eq(options.record.profiler.max_rate, 50);
	end();
}

Test(options, describe_crashes_and_nothing_else)
{
	PARSE("-a", "--crashes");
	cr_assert(options.record.profiler.event.source == &event_crash);
	cr_assert(!options.record.profiler.crashes);
	cr_assert_eq(options.record.n_outputs, 1);
	cr_assert_str_eq(options.record.outputs[0].path, OUTPUT_STDERR);
	cr_assert(options.record.outputs[0].format == &report_crashes);
	end();
	PARSE("-a", "--crashes=crashes.log", "-o", "x.folded");
	cr_assert(options.record.profiler.event.source == &event_crash);
	cr_assert_eq(options.record.n_outputs, 2);
	cr_assert_str_eq(options.record.outputs[0].format->name, "folded");
	cr_assert_str_eq(options.record.outputs[1].path, "crashes.log");
	cr_assert(options.record.outputs[1].format == &report_crashes);
	end();
	PARSE("-a", "--crashes", "--format", "jsonl");
	cr_assert_eq(options.record.n_outputs, 2);
	cr_assert_str_eq(options.record.outputs[0].format->name, "jsonl");
	end();
}

Test(options, describe_crashes_beside_another_event)
{
	PARSE("-a", "--crashes", "-e", "cpu");
	cr_assert(options.record.profiler.event.source == &event_cpu);
	cr_assert(options.record.profiler.crashes);
	cr_assert_eq(options.record.n_outputs, 2);
	end();
	PARSE("-a", "--crashes", "--probe", "label:f:g(x=arg1)");
	cr_assert_not_null(options.record.profiler.label_probes[0]);
	end();
	PARSE("-a", "--wall", "--crashes");
	cr_assert(options.record.profiler.event.source == &event_wall);
	cr_assert(options.record.profiler.crashes);
	end();
}

/* As samples, without words. */
Test(options, samples_crashes)
{
	PARSE("-a", "-e", "crash");
	cr_assert(options.record.profiler.event.source == &event_crash);
	cr_assert_eq(options.record.n_outputs, 1);
	cr_assert(options.record.outputs[0].format != &report_crashes);
	end();
}

Test(options, limits_the_rate_of_exceptions)
{
	PARSE("-p", "1", "--exceptions");
	cr_assert(options.record.profiler.event.source == &event_exceptions);
	cr_assert_eq(options.record.profiler.max_rate, 1000);
	end();

	PARSE("-p", "1", "-e", "exceptions", "--max-rate", "7");
	cr_assert(options.record.profiler.event.source == &event_exceptions);
	cr_assert_eq(options.record.profiler.max_rate, 7);
	end();

	PARSE("-p", "1");
	cr_assert_eq(options.record.profiler.max_rate, 0);
	end();
}
