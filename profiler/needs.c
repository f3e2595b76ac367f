// SPDX-License-Identifier: Apache-2.0
#include "profiler/needs.h"

#include <stdio.h>
#include <string.h>

#include "probes/label_probe.h"
#include "profiler/profiler_options.h"

/* At this rate or below, records may be gathered. */
#define FEW_HZ 199
/* Gathering is short: the file of a short-lived program may be deleted after 5 ms. */
#define MAX_GATHER_NS UINT64_C(3000000)
/* The wait is 1/15 of the sampling period. */
#define GATHER_SHARE 15

static unsigned int max(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

static void add_tracer(struct session_needs *session, const struct event *event)
{
	const char *name = event->argument ? event->argument : "";

	session->tracer = event->source->tracer;
	snprintf(session->function, sizeof(session->function), "%.*s", (int)strcspn(name, "("),
		 name);
}

static void add(struct needs *needs, const struct event *event, const struct profiler_options *o)
{
	const struct event_source *s = event->source;
	struct session_needs *session = &needs->session;

	session->programs |= s->programs;
	session->levels = max(session->levels, s->levels);
	session->rings_per_cpu = max(session->rings_per_cpu, s->rings_per_cpu);
	session->user_only &= s->user_only;
	session->has_values |= (event->argument || !s->argument) && s->has_values &&
			       s->has_values(s, event->argument);
	session->has_exceptions |= s->has_exceptions;
	session->has_times |= event->argument && s->has_times && s->has_times(s, event->argument);
	session->by_period |= event_has_periods(event, o->period);
	needs->states |= s->states;
	needs->finds_own_frames |= s->states || s->programs & EVENT_BIT(DP_EVENT_TRACE);
	if (s->programs & EVENT_BIT(DP_EVENT_TRACE))
		add_tracer(session, event);
	if (s->cpu_has_time)
		needs->cpu_value_ns = 1000000000 / o->hz;
	if (s->has_period)
		needs->period = o->period;
	else if (s->at_rate)
		needs->hz = o->hz;
}

/* Probes that are added meanwhile. */
static void add_slots(struct session_needs *session)
{
	session->programs |= EVENT_BIT(DP_EVENT_UPROBE);
	session->levels = max(session->levels, DP_UPROBE_LEVELS);
	session->rings_per_cpu = 2; /* a CPU's event may interrupt them */
	session->has_values = true;
	session->has_slots = true;
	session->label_probes = DP_MAX_LABEL_PROBES;
	session->has_span_times = true;
}

struct needs needs_of(const struct profiler_options *o)
{
	const unsigned int of_threads = EVENT_BIT(DP_EVENT_OFF_CPU) | EVENT_BIT(DP_EVENT_CRASH);
	size_t n = profiler_n_events(o);
	struct needs needs = {
		.session = { .levels = DP_CPU_LEVELS,
			     .rings_per_cpu = 1,
			     .user_only = true,
			     .has_several = n > 1,
			     .label_probes = (unsigned int)o->n_label_probes },
		.counts = n > 1 ? NULL : o->event.source->counts,
	};

	needs.session.alloc_interval = o->alloc_interval;
	needs.session.has_span_times =
		label_probe_is_span(o->label_probes[0], &needs.session.span_min_ns);
	for (size_t i = 0; i < n; i++)
		add(&needs, profiler_event(o, i), o);
	if (o->crashes)
		needs.session.programs |= EVENT_BIT(DP_EVENT_CRASH);
	if (o->probe_socket)
		add_slots(&needs.session);
	/* A CPU's event may interrupt the others, whatever their sources say. */
	if ((needs.session.programs & EVENT_BIT(DP_EVENT_CPU)) &&
	    (needs.session.programs & of_threads)) {
		needs.session.levels = max(needs.session.levels, DP_WALL_LEVELS);
		needs.session.rings_per_cpu = max(needs.session.rings_per_cpu, 2);
	}
	/* A function of the kernel may be sampled where its thread is preempted by one that crashes. */
	if ((needs.session.programs & EVENT_BIT(DP_EVENT_CRASH)) &&
	    (needs.session.programs & EVENT_BIT(DP_EVENT_TRACE)))
		needs.session.levels = max(needs.session.levels, DP_WALL_LEVELS);
	return needs;
}

bool needs_are_few(const struct needs *needs)
{
	return needs->hz > 0 && needs->hz <= FEW_HZ && needs->states == 0;
}

uint64_t needs_gather_ns(const struct needs *needs)
{
	uint64_t ns;

	if (!needs_are_few(needs) || needs->session.programs != EVENT_BIT(DP_EVENT_CPU) ||
	    needs->session.has_several)
		return 0;
	ns = UINT64_C(1000000000) / needs->hz / GATHER_SHARE;
	return ns < MAX_GATHER_NS ? ns : MAX_GATHER_NS;
}

struct session_options needs_session_options(const struct needs *needs,
					     const struct profiler_options *o, unsigned int n_cpus)
{
	return (struct session_options){
		.n_cpus = n_cpus,
		.needs = needs->session,
		.all_processes = o->target.all,
		.sides = o->sides,
		.inherit = o->target.inherit,
		.filter = o->target.filter,
		.n_threads = o->target.n_tids,
		.unwind = o->unwind,
		.max_frames = o->max_frames,
		.verify = o->verify,
		.states = o->states,
		.min_block_ns = o->min_block_ns,
		.max_block_ns = o->max_block_ns,
		.max_rate = o->max_rate,
		.hz = needs->hz,
		.has_cgroups = o->has_cgroups,
		.no_runtimes = o->native_frames == NATIVE_FRAMES_ONLY,
		.table_memory = o->table_memory,
		.btf = o->btf,
		.is_interrupted = o->is_interrupted,
		.interrupt_arg = o->interrupt_arg,
	};
}
