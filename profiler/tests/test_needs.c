// SPDX-License-Identifier: Apache-2.0
/* What events need, of one and of several. */
#include <criterion/criterion.h>

#include "profiler/needs.h"
#include "profiler/profiler_options.h"

#define SLEEPS (1U << DP_STATE_SLEEPING | 1U << DP_STATE_DISK_SLEEP)
#define ALL_STATES ((1U << DP_N_STATES) - 1)

static struct profiler_options options_of(const struct event_source *source)
{
	return (struct profiler_options){ .event = { .source = source }, .hz = 100 };
}

static struct needs needs_of_one(const struct event_source *source)
{
	struct profiler_options options = options_of(source);

	return needs_of(&options);
}

static struct needs needs_of_two(const struct event_source *a, const struct event_source *b,
				 unsigned int period)
{
	struct profiler_options options = options_of(a);

	options.others[options.n_others++].source = b;
	options.period = period;
	return needs_of(&options);
}

Test(needs, of_calls_that_label_samples)
{
	struct profiler_options options = options_of(&event_cpu);

	cr_assert(needs_of(&options).session.label_probes == 0);
	options.n_label_probes = 1;
	options.label_probes[0] = "label:f:g(x=arg1)";
	cr_assert_eq(needs_of(&options).session.label_probes, 1);
	cr_assert(!needs_of(&options).session.has_values);
	cr_assert(!needs_of(&options).session.has_span_times);
	options.label_probes[options.n_label_probes++] = "label:f:h(y=arg1)";
	cr_assert_eq(needs_of(&options).session.label_probes, 2);
	options.n_label_probes = 1;
	options.label_probes[0] = "span:f:g min=5ms";
	cr_assert_eq(needs_of(&options).session.label_probes, 1);
	cr_assert(needs_of(&options).session.has_span_times);
	cr_assert_eq(needs_of(&options).session.span_min_ns, 5000000);
}

Test(needs, of_probes_that_are_added)
{
	struct profiler_options options = options_of(&event_cpu);
	struct needs needs;

	cr_assert(!needs_of(&options).session.has_slots);
	options.probe_socket = "/run/probes";
	needs = needs_of(&options);
	cr_assert_eq(needs.session.programs, EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_UPROBE));
	cr_assert(needs.session.has_slots && needs.session.has_values);
	cr_assert_eq(needs.session.label_probes, DP_MAX_LABEL_PROBES);
	cr_assert(needs.session.has_span_times);
	cr_assert(!needs.session.user_only);
	cr_assert_eq(needs.session.levels, DP_UPROBE_LEVELS);
	cr_assert_eq(needs.session.rings_per_cpu, 2);
	cr_assert_eq(needs.hz, 100);
}

Test(needs, of_exceptions)
{
	struct needs needs = needs_of_one(&event_exceptions);

	cr_assert_eq(needs.session.programs, EVENT_BIT(DP_EVENT_UPROBE));
	cr_assert(needs.session.has_exceptions && needs.session.has_values);
	cr_assert(needs.session.user_only && needs.session.label_probes == 0);
	cr_assert_str_eq(needs.counts, "exceptions");
	cr_assert(!needs_of_one(&event_cpu).session.has_exceptions);
}

Test(needs, are_few_for_a_rate)
{
	struct needs needs = needs_of_one(&event_cpu);

	cr_assert_eq(needs.session.programs, EVENT_BIT(DP_EVENT_CPU));
	cr_assert_eq(needs.session.levels, DP_CPU_LEVELS);
	cr_assert_eq(needs.session.rings_per_cpu, 1);
	cr_assert(!needs.session.user_only && !needs.session.has_several);
	cr_assert(!needs.session.by_period);
	cr_assert_eq(needs.states, 0);
	cr_assert_eq(needs.cpu_value_ns, 0);
	cr_assert_eq(needs.hz, 100);
	cr_assert_eq(needs.period, 0);
	cr_assert_null(needs.counts);
}

Test(needs, are_states_of_blocked_threads)
{
	struct needs needs = needs_of_one(&event_off_cpu);

	cr_assert_eq(needs.session.programs, EVENT_BIT(DP_EVENT_OFF_CPU));
	cr_assert_eq(needs.session.levels, DP_CPU_LEVELS);
	cr_assert_eq(needs.session.rings_per_cpu, 1);
	cr_assert_eq(needs.states, SLEEPS);
	cr_assert_eq(needs.cpu_value_ns, 0);
	cr_assert_eq(needs.hz, 0);
}

Test(needs, of_crashes_alone)
{
	struct needs needs = needs_of_one(&event_crash);

	cr_assert_eq(needs.session.programs, EVENT_BIT(DP_EVENT_CRASH));
	cr_assert_eq(needs.session.levels, DP_CPU_LEVELS);
	cr_assert_eq(needs.session.rings_per_cpu, 1);
	cr_assert(needs.session.user_only);
	cr_assert_eq(needs.hz, 0);
}

/* A CPU's event may interrupt a sample of a crash, but that of a switch does not. */
Test(needs, of_crashes_beside_another_event)
{
	struct profiler_options options = options_of(&event_cpu);
	struct needs needs;

	options.crashes = true;
	needs = needs_of(&options);
	cr_assert_eq(needs.session.programs, EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_CRASH));
	cr_assert_eq(needs.session.levels, DP_WALL_LEVELS);
	cr_assert_eq(needs.session.rings_per_cpu, 2);
	cr_assert(!needs.session.user_only && !needs.session.has_several);
	cr_assert_eq(needs.hz, 100);
	options = options_of(&event_off_cpu);
	options.crashes = true;
	needs = needs_of(&options);
	cr_assert_eq(needs.session.levels, DP_CPU_LEVELS);
	cr_assert_eq(needs.session.rings_per_cpu, 1);
	options = options_of(&event_wakeups);
	options.crashes = true;
	needs = needs_of(&options);
	cr_assert_eq(needs.session.levels, DP_WALL_LEVELS);
	cr_assert_eq(needs.session.rings_per_cpu, 1);
}

/* Its programs interrupt each other, and its samples add up. */
Test(needs, are_most_for_both_kinds_of_time)
{
	struct needs needs = needs_of_one(&event_wall);

	cr_assert_eq(needs.session.programs, EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_OFF_CPU));
	cr_assert_eq(needs.session.levels, DP_WALL_LEVELS);
	cr_assert_eq(needs.session.rings_per_cpu, 2);
	cr_assert_eq(needs.states, ALL_STATES);
	cr_assert_eq(needs.cpu_value_ns, 10000000);
	cr_assert_eq(needs.hz, 100);
}

Test(needs, are_levels_for_calls)
{
	struct needs needs = needs_of_one(&event_uprobe);

	cr_assert_eq(needs.session.programs, EVENT_BIT(DP_EVENT_UPROBE));
	cr_assert_eq(needs.session.levels, DP_UPROBE_LEVELS);
	cr_assert_eq(needs.session.rings_per_cpu, 1);
	cr_assert(needs.session.user_only);
	cr_assert_eq(needs.hz, 0);
}

Test(needs, are_a_way_to_attach_for_the_kernel)
{
	struct profiler_options options = options_of(&event_fentry);
	struct needs needs;

	options.event.argument = "vfs_read(count)";
	needs = needs_of(&options);
	cr_assert_eq(needs.session.programs, EVENT_BIT(DP_EVENT_TRACE));
	cr_assert_eq(needs.session.tracer, TRACER_FENTRY);
	cr_assert_str_eq(needs.session.function, "vfs_read");
	cr_assert(needs.session.has_values && !needs.session.user_only);
	cr_assert_eq(needs.session.levels, DP_CPU_LEVELS);
	cr_assert(needs.finds_own_frames);
	needs = needs_of_one(&event_wakeups);
	cr_assert_eq(needs.session.tracer, TRACER_RAW);
	cr_assert(needs.session.has_values, "it names who wakes up");
	cr_assert(!needs_of_one(&event_cpu).finds_own_frames);
	cr_assert(needs_of_one(&event_off_cpu).finds_own_frames);
}

/* A rate is then only how often the kernel chooses a period. */
Test(needs, are_periods_for_what_is_counted)
{
	struct needs needs = needs_of_one(&event_cycles);

	cr_assert(needs.session.by_period);
	cr_assert_eq(needs.hz, 0);
	cr_assert_eq(needs.period, 0);
	cr_assert_str_eq(needs.counts, "cycles");
	needs = needs_of_one(&event_page_faults);
	cr_assert(!needs.session.by_period, "each one");
}

Test(needs, of_several_are_those_of_all)
{
	struct needs needs = needs_of_two(&event_page_faults, &event_cycles, 0);

	cr_assert_eq(needs.session.programs, EVENT_BIT(DP_EVENT_CPU));
	cr_assert(needs.session.has_several);
	cr_assert(needs.session.by_period, "of one of them");
	cr_assert(needs_of_two(&event_cycles, &event_page_faults, 0).session.by_period);
	cr_assert_eq(needs.hz, 0);
	cr_assert_eq(needs.period, 0);
	cr_assert_null(needs.counts);
	needs = needs_of_two(&event_page_faults, &event_context_switches, 0);
	cr_assert(!needs.session.by_period);
	needs = needs_of_two(&event_page_faults, &event_context_switches, 10);
	cr_assert(needs.session.by_period);
	cr_assert_eq(needs.period, 10);
}

/* Sources of a host, which may be sampled with any other. */
Test(needs, of_several_are_the_most_of_each)
{
	static const struct event_source deep = { .programs = EVENT_BIT(DP_EVENT_CPU),
						  .levels = 3,
						  .states = 1U << DP_STATE_STOPPED,
						  .user_only = true };
	static const struct event_source wide = { .programs = EVENT_BIT(DP_EVENT_OFF_CPU),
						  .rings_per_cpu = 2,
						  .states = 1U << DP_STATE_TRACED,
						  .cpu_has_time = true,
						  .user_only = true };
	struct needs needs = needs_of_two(&deep, &wide, 0);

	cr_assert_eq(needs.session.programs, EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_OFF_CPU));
	cr_assert_eq(needs.session.levels, 3);
	cr_assert_eq(needs.session.rings_per_cpu, 2);
	cr_assert(needs.session.user_only);
	cr_assert_eq(needs.states, 1U << DP_STATE_STOPPED | 1U << DP_STATE_TRACED);
	cr_assert_eq(needs.cpu_value_ns, 10000000);
	needs = needs_of_two(&deep, &event_cpu, 0);
	cr_assert(!needs.session.user_only, "one of them is not");
	cr_assert_eq(needs.session.levels, 3);
}

/* What a run decides is passed on; the number of rings follows from the needs. */
Test(needs, are_part_of_a_session_s_options)
{
	struct profiler_options options = options_of(&event_wall);
	const pid_t tids[2] = { 1, 2 };
	struct session_options session;
	struct needs needs;

	options.target.tids = tids;
	options.target.n_tids = 2;
	options.states = SLEEPS;
	options.max_frames = 17;
	needs = needs_of(&options);
	session = needs_session_options(&needs, &options, 8);
	cr_assert_eq(session.n_cpus, 8);
	cr_assert_eq(session.n_threads, 2);
	cr_assert_eq(session.states, SLEEPS, "not the default");
	cr_assert_eq(session.max_frames, 17);
	cr_assert_eq(session.needs.rings_per_cpu, 2);
}

/* A program's records arrive within milliseconds, of which few samples at a low rate are. */
Test(needs, let_records_wait_for_a_part_of_the_time_between_samples)
{
	static const struct {
		unsigned int hz;
		uint64_t ns;
	} rates[] = { { 1, 3000000 },  { 20, 3000000 }, { 50, 1333333 },
		      { 100, 666666 }, { 199, 335008 }, { 200, 0 } };
	struct profiler_options options = options_of(&event_cpu);
	struct needs needs;

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		options.hz = rates[i].hz;
		needs = needs_of(&options);
		cr_assert_eq(needs_gather_ns(&needs), rates[i].ns, "%u Hz", rates[i].hz);
		cr_assert_eq(needs_are_few(&needs), rates[i].ns > 0);
	}
	options.hz = 19;
	options.crashes = true;
	needs = needs_of(&options);
	cr_assert(needs_gather_ns(&needs) == 0 && needs_are_few(&needs));
	needs = needs_of_one(&event_wall);
	cr_assert(needs_gather_ns(&needs) == 0 && !needs_are_few(&needs));
	needs = needs_of_two(&event_cpu, &event_cpu, 0);
	cr_assert_eq(needs_gather_ns(&needs), 0);
}
