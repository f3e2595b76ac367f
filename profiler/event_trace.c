// SPDX-License-Identifier: Apache-2.0
/* Events of the kernel: tracepoints, functions, and threads that are woken up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/kernel_types.h"
#include "kernel/session.h"
#include "kernel/trace_record.h"
#include "kernel/tracefs.h"
#include "log/log.h"
#include "probes/probe_lists.h"
#include "probes/trace_parts.h"
#include "probes/trace_values.h"
#include "profiler/event.h"
#include "profiler/profiler_options.h"

/*
 * In the waker's context, whichever CPU the thread is to run on: try_to_wake_up(). It passes the
 * thread's task_struct.
 */
#define WAKING "sched_waking(wakes=arg1->comm, wakes_tid=arg1->pid)"

static int check(const struct event_source *source, const char *argument)
{
	_cleanup_(trace_parts_done) struct trace_parts parts;
	char why[EVENT_TEXT_SIZE];
	int err = trace_parts_split(argument, source->tracer, &parts, why);

	return err == 0 && parts.is_glob ? -EINVAL : err;
}

static void explain(const struct event_source *source, const char *argument,
		    char ret_why[EVENT_TEXT_SIZE])
{
	_cleanup_(trace_parts_done) struct trace_parts parts;

	if (trace_parts_split(argument, source->tracer, &parts, ret_why) == 0)
		snprintf(ret_why, EVENT_TEXT_SIZE, "no glob here");
}

static bool has_values(const struct event_source *source, const char *argument)
{
	_cleanup_(trace_parts_done) struct trace_parts parts;
	char why[EVENT_TEXT_SIZE];

	return trace_parts_split(argument, source->tracer, &parts, why) == 0 &&
	       parts.arguments.n > 0;
}

static int add_text(struct event_texts *texts, const char *name, const char *values)
{
	if (asprintf(&texts->items[texts->n], "%s%s", name, values) < 0)
		return -ENOMEM;
	texts->n++;
	return 0;
}

static int add_matches(const char *argument, const struct tracefs_list *found,
		       struct event_texts *ret, char *why)
{
	const char *values = strchr(argument, '(');
	int err = 0;

	if (found->n == 0 || found->n > EVENT_MAX) {
		snprintf(why, EVENT_TEXT_SIZE, "it matches %zu tracepoints; 1 to %d are allowed",
			 found->n, EVENT_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; err == 0 && i < found->n; i++)
		err = add_text(ret, found->names[i], values ? values : "");
	return err;
}

static int expand(const char *argument, struct event_texts *ret, char ret_why[EVENT_TEXT_SIZE])
{
	_cleanup_(tracefs_list_done) struct tracefs_list found = { 0 };
	_cleanup_(trace_parts_done) struct trace_parts parts;
	_cleanup_close_ int events = -1;
	int err = trace_parts_split(argument, TRACER_TRACEPOINT, &parts, ret_why);

	if (err < 0 || !parts.is_glob)
		return err == -ENOMEM ? err : 0; /* event_parse() says what is wrong */
	events = tracefs_open();
	if (events < 0) {
		snprintf(ret_why, EVENT_TEXT_SIZE, "tracefs, to look up the glob: %s",
			 strerror(-events));
		return -EINVAL;
	}
	err = tracefs_find(events, parts.system, parts.name, &found);
	return err < 0 ? err : add_matches(argument, &found, ret, ret_why);
}

static int read_format(const struct session *session, const struct trace_parts *parts,
		       struct trace_record *ret)
{
	_cleanup_fclose_ FILE *format = NULL;
	int err = tracefs_open_format(session->tracer.tracefs, parts->system, parts->name, &format);

	if (err == 0)
		return trace_record_read(format, strcmp(parts->system, "syscalls") == 0, ret);
	if (err == -ENOENT)
		tracefs_say_none(session->tracer.tracefs, parts->system, parts->name);
	else
		log_error("cannot read the fields of %s:%s: %s", parts->system, parts->name,
			  strerror(-err));
	return err;
}

static int find_record(const struct session *session, const struct trace_parts *parts,
		       const struct profiler_options *o, struct trace_record *ret)
{
	char place[PATH_MAX];
	int err;

	switch (session->tracer.kind) {
	case TRACER_TRACEPOINT:
		return read_format(session, parts, ret);
	case TRACER_RAW:
		return trace_record_of_tracepoint(kernel_types_place(o->btf, place), parts->name,
						  ret);
	default:
		err = trace_record_of_function(kernel_types_place(o->btf, place), parts->name, ret);
		if (err < 0)
			log_error("cannot look up the parameters of %s: %s", parts->name,
				  strerror(-err));
		if (session->tracer.kind == TRACER_KPROBE)
			trace_record_use_registers(ret);
		return err;
	}
}

static int place_values(const struct session *session, struct trace_parts *parts,
			const struct profiler_options *o)
{
	_cleanup_(trace_record_done) struct trace_record record = { 0 };
	char why[ARGUMENTS_WHY_SIZE];
	int err;

	if (parts->arguments.n == 0)
		return 0;
	err = find_record(session, parts, o, &record);
	if (err < 0)
		return err;
	err = trace_values_place(&parts->arguments, &record, why);
	if (err < 0)
		log_error("cannot read the values of %s: %s", parts->name, why);
	return err;
}

/* What tracefs alone says cannot be had by a tracepoint's name. */
static int check_fallback(const struct session *session, const struct trace_parts *parts)
{
	if (parts->arguments.n == 0 && strcmp(parts->system, "syscalls") != 0)
		return 0;
	log_error("cannot sample %s:%s: tracefs cannot be read, which describes %s", parts->system,
		  parts->name, parts->arguments.n > 0 ? "its values" : "system calls");
	tracefs_explain(session->tracer.tracefs);
	return session->tracer.tracefs;
}

/* Of several numbers, each is that of some event, and each of several events has one at most. */
static int check_numbers(const struct probe_lists *lists, const struct profiler_options *o)
{
	for (size_t i = 0; i < o->n_numbers; i++)
		if (!probe_lists_have_number(lists, o->numbers[i].name, true)) {
			log_error("--value %s: -e reads no number of that name",
				  o->numbers[i].name);
			return -EINVAL;
		}
	for (size_t i = 0; i < lists->n && lists->n > 1; i++) {
		size_t n = 0;

		for (size_t j = 0; j < lists->forms[i].n; j++)
			n += own_number_find(o->numbers, o->n_numbers, &lists->forms[i].of[j]) !=
			     NULL;
		if (n > 1 || (profiler_n_events(o) == 1 && o->n_numbers > 1)) {
			log_error("--value: only one number of an event can be added up");
			return -EINVAL;
		}
	}
	return 0;
}

static int set_values(struct session *session, const struct probe_lists *lists,
		      const struct profiler_options *o)
{
	int err = check_numbers(lists, o);

	return err < 0 ? err : session_set_arguments(session, lists->lists, lists->n);
}

/* The events of a run, by their numbers. */
struct traces {
	struct trace_parts parts[EVENT_MAX];
	size_t n;
};

static void traces_done(struct traces *t)
{
	while (t->n > 0)
		trace_parts_done(&t->parts[--t->n]);
}

static int split_all(const struct profiler_options *o, struct traces *ret)
{
	char why[ARGUMENTS_WHY_SIZE];
	int err = 0;

	ret->n = 0;
	while (err == 0 && ret->n < profiler_n_events(o)) {
		const struct event *event = profiler_event(o, ret->n);

		err = trace_parts_split(event->argument, event->source->tracer, &ret->parts[ret->n],
					why);
		ret->n++;
	}
	return err;
}

/* The program can be attached to a tracepoint once: bpf_prog_array_copy(), kernel/bpf/core.c. */
static int check_once(const struct traces *t)
{
	for (size_t i = 1; i < t->n; i++)
		for (size_t j = 0; t->parts[i].system && j < i; j++) {
			const struct trace_parts *a = &t->parts[i], *b = &t->parts[j];

			if (strcmp(a->system, b->system) != 0 || strcmp(a->name, b->name) != 0)
				continue;
			log_error("-e takes %s:%s once, not with different values", a->system,
				  a->name);
			return -EINVAL;
		}
	return 0;
}

static int begin_lists(size_t n, struct probe_lists *ret)
{
	*ret = (struct probe_lists){ .lists = calloc(n, sizeof(*ret->lists)),
				     .forms = calloc(n, sizeof(*ret->forms)),
				     .n = n };
	return ret->lists && ret->forms ? 0 : -ENOMEM;
}

/* A list for each event, by its number, if one has values. */
static int keep_lists(struct session *session, const struct traces *t,
		      const struct profiler_options *o, struct event_text *ret)
{
	_cleanup_(probe_lists_done) struct probe_lists lists = { 0 };
	bool have_values = false;
	int err;

	for (size_t i = 0; i < t->n; i++)
		have_values |= t->parts[i].arguments.n > 0;
	if (!have_values)
		return 0;
	err = begin_lists(t->n, &lists);
	for (size_t i = 0; err == 0 && i < t->n; i++)
		arguments_describe(&t->parts[i].arguments, &lists.lists[i], &lists.forms[i]);
	if (err == 0)
		err = set_values(session, &lists, o);
	if (err < 0)
		return err;
	ret->n_lists = lists.n;
	ret->lists = steal_ptr(lists.forms);
	return 0;
}

static int start(struct session *session, const struct traces *t, const struct profiler_options *o,
		 struct event_text *ret)
{
	int err = keep_lists(session, t, o, ret);

	for (size_t i = 0; err == 0 && i < t->n; i++) {
		const struct tracer_place place = { t->parts[i].system, t->parts[i].name };

		err = session_sample_trace(session, &place, (unsigned int)i);
	}
	return err;
}

static void append(char *to, size_t size, const char *text)
{
	strncat(to, text, size - strlen(to) - 1);
}

static void describe(const struct profiler_options *o, const struct traces *t,
		     struct event_text *ret)
{
	bool is_function =
		o->event.source != &event_tracepoint && o->event.source != &event_raw_tracepoint;

	append(ret->how, sizeof(ret->how),
	       is_function ? "at each call, in the kernel, of " : "at each hit of ");
	for (size_t i = 0; i < t->n; i++) {
		char name[EVENT_NAME_SIZE];

		event_name(profiler_event(o, i), name);
		append(ret->name, sizeof(ret->name), i ? "," : "");
		append(ret->name, sizeof(ret->name), name);
		append(ret->how, sizeof(ret->how), i ? ", " : "");
		append(ret->how, sizeof(ret->how), strchr(name, ':') + 1);
	}
}

static int attach(const struct event_means *means, const struct profiler_options *o,
		  struct event_text *ret)
{
	_cleanup_(traces_done) struct traces t = { .n = 0 };
	struct session *session = means->session;
	int err = split_all(o, &t);

	*ret = (struct event_text){ 0 };
	if (err == 0 && session->tracer.kind != o->event.source->tracer)
		err = check_fallback(session, &t.parts[0]);
	if (err == 0)
		err = check_once(&t);
	for (size_t i = 0; err == 0 && i < t.n; i++)
		err = place_values(session, &t.parts[i], o);
	if (err == 0)
		err = start(session, &t, o, ret);
	if (err == 0)
		describe(o, &t, ret);
	return err;
}

static bool always_has_values(const struct event_source *source, const char *argument)
{
	return true;
}

static int attach_wakeups(const struct event_means *means, const struct profiler_options *o,
			  struct event_text *ret)
{
	_cleanup_(traces_done) struct traces t = { .n = 1 };
	char why[ARGUMENTS_WHY_SIZE];
	int err = trace_parts_split(WAKING, TRACER_RAW, &t.parts[0], why);

	*ret = (struct event_text){ .name = "wakeups", .how = "at each wake-up of a thread" };
	if (err == 0)
		err = place_values(means->session, &t.parts[0], o);
	return err < 0 ? err : start(means->session, &t, o, ret);
}

#define COMMON                                                                                     \
	.programs = EVENT_BIT(DP_EVENT_TRACE), .missing = "did not hit it", .check = check,        \
	.explain = explain, .attach = attach

const struct event_source event_tracepoint = {
	.name = "tracepoint",
	.argument = ":SYSTEM:NAME[(VALUES)]",
	.when = "each hit of a tracepoint of the kernel",
	.tracer = TRACER_TRACEPOINT,
	.is_several = true,
	.has_values = has_values,
	.expand = expand,
	COMMON,
};

const struct event_source event_raw_tracepoint = {
	.name = "raw_tracepoint",
	.argument = ":NAME[(VALUES)]",
	.when = "each hit of a tracepoint of the kernel",
	.tracer = TRACER_RAW,
	.has_values = has_values,
	COMMON,
};

const struct event_source event_fentry = {
	.name = "fentry",
	.argument = ":FUNCTION[(VALUES)]",
	.when = "each call of a function of the kernel",
	.tracer = TRACER_FENTRY,
	.has_values = has_values,
	COMMON,
};

const struct event_source event_kprobe = {
	.name = "kprobe",
	.argument = ":FUNCTION[+N][(VALUES)]",
	.when = "each call of a function of the kernel",
	.tracer = TRACER_KPROBE,
	.is_several = true,
	.has_values = has_values,
	COMMON,
};

const struct event_source event_wakeups = {
	.name = "wakeups",
	.when = "each one",
	.programs = EVENT_BIT(DP_EVENT_TRACE),
	.tracer = TRACER_RAW,
	.missing = "woke no thread",
	.has_values = always_has_values,
	.attach = attach_wakeups,
};
