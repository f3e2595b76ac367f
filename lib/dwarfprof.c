// SPDX-License-Identifier: Apache-2.0
#include "lib/dwarfprof.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "formats/report_format.h"
#include "kernel/filter.h"
#include "log/clock.h"
#include "loop/loop.h"
#include "profiler/profiler.h"
#include "report/outcome.h"
#include "report/report.h"
#include "report/symbolized.h"
#include "report/value.h"
#include "symbols/names.h"

/* While a requested profile is awaited, how long each profiler_run() takes at most. */
#define TURN_NS UINT64_C(1000000)

/* The profile in progress: the output of the format is kept until it is taken. */
struct part {
	struct report *report;
	char *text;
	size_t size;
	FILE *to;
	atomic_bool is_whole;
	int err;
};

/* What the host gets of a sample, and what the functions that it may call then need. */
struct passed_sample {
	struct dwarfprof_sample sample;
	const struct report_context *context;
	const struct sample *origin;
};

/* The report that calls the host. */
struct caller {
	struct report report;
	const struct dwarfprof *profiler;
	struct symbolized_stack stack;
	struct dwarfprof_frame *frames;
	size_t n_frames, frames_size;
};

struct dwarfprof {
	struct dwarfprof_options options;
	pid_t *pids;
	char *event, *helper;
	struct filter filter;
	struct profiler_options profiled;
	const struct report_format *format; /* NULL: no profiles */
	struct report_context context;
	struct report *caller;
	struct part *part;
	struct part *next; /* the next part while one is taken; then the profiler uses it */
	struct names *names;
	struct profiler *profiler;
	bool is_stopped;
};

static struct part *part_free(struct part *part)
{
	if (!part)
		return NULL;
	report_free(part->report);
	if (part->to)
		fclose(part->to);
	free(part->text);
	free(part);
	return NULL;
}

DEFINE_CLEANUP(struct part *, part_free)

static int part_new(const struct dwarfprof *p, struct part **ret)
{
	_cleanup_(part_freep) struct part *part = calloc(1, sizeof(*part));
	int err;

	if (!part)
		return -ENOMEM;
	part->to = open_memstream(&part->text, &part->size);
	if (!part->to)
		return -errno;
	err = report_new(p->format, &p->context, part->to, &part->report);
	if (err == 0)
		*ret = steal_ptr(part);
	return err;
}

/* Called by the thread that looks up names. */
static int finish_part(void *arg, struct report *report, const struct totals *totals)
{
	struct part *part = arg;

	part->err = report_finish(report, totals);
	atomic_store(&part->is_whole, true);
	return 0;
}

static enum dwarfprof_frame_kind public_kind(enum symbolized_kind kind)
{
	switch (kind) {
	case SYMBOLIZED_USER:
		return DWARFPROF_FRAME_USER;
	case SYMBOLIZED_KERNEL:
		return DWARFPROF_FRAME_KERNEL;
	case SYMBOLIZED_MARK:
		break;
	}
	return DWARFPROF_FRAME_MARK;
}

static int fill_frames(struct caller *c, const struct sample *sample)
{
	int err = symbolized_stack_make_sample(&c->report, sample, SYMBOLIZED_LINES, &c->stack);

	c->n_frames = 0;
	for (size_t i = 0; err == 0 && i < c->stack.n; i++) {
		const struct symbolized_frame *s = &c->stack.items[i];

		err = array_reserve(c->frames, c->n_frames, c->frames_size);
		if (err < 0)
			break;
		c->frames[c->n_frames++] = (struct dwarfprof_frame){
			.kind = public_kind(s->kind),
			.is_inlined = s->is_inlined,
			.function = s->name,
			.binary = s->binary,
			.address = s->address,
			.file = s->file,
			.directory = s->dir,
			.line = s->line,
		};
	}
	return err;
}

static int caller_add(struct report *report, const struct sample *sample,
		      const struct totals *totals)
{
	struct caller *c = (struct caller *)report;
	const struct dwarfprof_options *o = &c->profiler->options;
	struct passed_sample passed = { .context = &report->context, .origin = sample };
	int err = fill_frames(c, sample);

	if (err < 0)
		return err;
	passed.sample = (struct dwarfprof_sample){
		.time_ns = sample->time_ns,
		.weight = sample->weight,
		.value_ns = sample->value_ns,
		.pid = sample->pid,
		.tid = sample->tid,
		.cpu = sample->cpu,
		.comm = sample->comm,
		.thread_name = sample->thread_name,
		.outcome = outcome_word(sample->outcome),
		.frames = c->frames,
		.n_frames = c->n_frames,
	};
	o->on_sample(o->arg, &passed.sample);
	return 0;
}

const char *dwarfprof_sample_event(const struct dwarfprof_sample *sample)
{
	const struct passed_sample *p = (const struct passed_sample *)sample;

	return value_event_name(p->context, p->origin);
}

bool dwarfprof_sample_value(const struct dwarfprof_sample *sample, size_t i,
			    struct dwarfprof_value *ret)
{
	const struct passed_sample *p = (const struct passed_sample *)sample;
	struct value values[VALUES_MAX];

	if (i >= values_of(p->context, values))
		return false;
	*ret = (struct dwarfprof_value){ .name = values[i].name,
					 .unit = values[i].unit,
					 .value = value_of_sample(&values[i], p->origin) };
	return true;
}

bool dwarfprof_sample_label(const struct dwarfprof_sample *sample, size_t i,
			    struct dwarfprof_label *ret)
{
	const struct passed_sample *p = (const struct passed_sample *)sample;
	struct label label;
	size_t at = 0;

	do
		if (!label_set_next(p->origin->labels, &at, &label))
			return false;
	while (i-- > 0);
	*ret = (struct dwarfprof_label){ label.key, label.text, label.number, label.unit };
	return true;
}

static void caller_free(struct report *report)
{
	struct caller *c = (struct caller *)report;

	symbolized_stack_done(&c->stack);
	free(c->frames);
	free(c);
}

static int caller_new(const struct dwarfprof *p, struct report **ret)
{
	struct caller *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->profiler = p;
	c->report = (struct report){
		.context = p->context, .streams = true, .add = caller_add, .free = caller_free
	};
	*ret = &c->report;
	return 0;
}

static bool has_event(const struct profiler_options *r, const struct event *event)
{
	for (size_t i = 0; i < profiler_n_events(r); i++)
		if (event_is_same(profiler_event(r, i), event))
			return true;
	return false;
}

/* Cuts it off a list of which *list is the rest; NULL: there is no more. */
static char *next_event(char **list)
{
	char *event = *list, *comma = event ? event_find_comma(event) : NULL;

	if (comma)
		*comma = '\0';
	*list = comma ? comma + 1 : NULL;
	return event;
}

/* Several events are separated by commas. A function's name may have commas, too. */
static int parse_events(struct profiler_options *r, char *text)
{
	int err = event_parse(text, &r->event);
	char *word;

	if (err == 0 || !strchr(text, ','))
		return err;
	err = event_parse(next_event(&text), &r->event);
	while (err == 0 && (word = next_event(&text))) {
		struct event event;

		err = event_parse(word, &event);
		if (err < 0 || has_event(r, &event))
			continue;
		if (r->n_others == EVENT_MAX - 1 || !event_may_join(&r->event, &event))
			return -EINVAL;
		r->others[r->n_others++] = event;
	}
	return err;
}

/* What the host's options point to. */
static int copy_values(struct dwarfprof *p)
{
	const struct dwarfprof_options *o = &p->options;

	if (o->pids) {
		p->pids = calloc(o->n_pids, sizeof(*p->pids));
		if (!p->pids)
			return -ENOMEM;
		memcpy(p->pids, o->pids, o->n_pids * sizeof(*p->pids));
	}
	p->event = strdup(o->event ? o->event : "cpu");
	p->helper = strdup(o->helper ? o->helper : LIB_HELPER);
	if (!p->event || !p->helper)
		return -ENOMEM;
	return 0;
}

/* Copies what is used later: the host's structure may be freed, or of another version. */
static int take_options(struct dwarfprof *p, const struct dwarfprof_options *options)
{
	struct dwarfprof_options *o = &p->options;
	int err;

	if (options->size < offsetof(struct dwarfprof_options, size) + sizeof(o->size) ||
	    options->size > sizeof(*o))
		return -EINVAL;
	memcpy(o, options, options->size);
	if (!o->pids != !o->n_pids || (o->format && !report_format_by_name(o->format)))
		return -EINVAL;
	err = copy_values(p);
	if (err < 0)
		return err;
	p->format = o->format ? report_format_by_name(o->format) : NULL;
	p->profiled = (struct profiler_options){
		.host_polls = true,
		.target = { .pids = p->pids,
			    .n_pids = o->n_pids,
			    .all = !o->pids,
			    .inherit = o->pids,
			    .filter = &p->filter },
		.hz = o->hz ? o->hz : PROFILER_HZ,
		.min_block_ns = PROFILER_MIN_BLOCK_NS,
		.max_block_ns = UINT64_MAX,
		.max_frames = o->max_frames ? o->max_frames : PROFILER_FRAMES,
		.unwind = DP_UNWIND_AUTO,
		.table_memory = o->table_memory ? o->table_memory : pool_default_memory(),
		.cache = true,
		.symbols = true,
		.helper = *p->helper ? p->helper : NULL,
		.names = p->names,
	};
	err = parse_events(&p->profiled, p->event);
	/* Reports of parts of a run do not know what is held at its end. */
	if (err == 0 && p->profiled.event.source == &event_alloc)
		err = -EOPNOTSUPP;
	if (err < 0)
		return err;
	p->profiled.states = p->profiled.event.source->states;
	p->profiled.max_rate = p->profiled.event.source->max_rate;
	if (p->profiled.max_frames > DP_MAX_FRAMES || p->profiled.table_memory < POOL_MIN_MEMORY ||
	    p->profiled.table_memory > POOL_MAX_MEMORY)
		return -EINVAL;
	return 0;
}

static int make_reports(struct dwarfprof *p, struct report **reports, size_t *ret_n)
{
	int err = 0;

	*ret_n = 0;
	if (p->format) {
		err = part_new(p, &p->part);
		if (err == 0)
			reports[(*ret_n)++] = p->part->report;
	}
	if (err == 0 && p->options.on_sample) {
		err = caller_new(p, &p->caller);
		if (err == 0)
			reports[(*ret_n)++] = p->caller;
	}
	return err;
}

int dwarfprof_start(const struct dwarfprof_options *options, struct dwarfprof **ret)
{
	struct dwarfprof *p = calloc(1, sizeof(*p));
	struct report *reports[2];
	size_t n;
	int err;

	*ret = NULL;
	if (!p)
		return -ENOMEM;
	filter_init(&p->filter);
	err = names_new(&(struct names_options){ .no_debuginfod = true }, &p->names);
	if (err == 0)
		err = take_options(p, options);
	if (err == 0)
		err = profiler_open(&p->profiled, &p->profiler);
	if (err == 0)
		err = profiler_attach(p->profiler, 0);
	if (err == 0) {
		profiler_describe(p->profiler, &p->context);
		p->context.command = program_invocation_short_name;
		err = make_reports(p, reports, &n);
	}
	if (err == 0)
		err = profiler_start(p->profiler, reports, n, p->format && !p->format->streams);
	if (err < 0)
		p = dwarfprof_free(p);
	*ret = p;
	return err;
}

int dwarfprof_fd(const struct dwarfprof *p)
{
	return profiler_loop(p->profiler)->fd;
}

int dwarfprof_run(struct dwarfprof *p, int timeout_ms)
{
	uint64_t until = clock_now_ns() + (timeout_ms > 0 ? (uint64_t)timeout_ms * 1000000 : 0);
	int err;

	do
		err = p->is_stopped ? -EINVAL : profiler_run(p->profiler, until);
	while (err == 0 && clock_now_ns() < until);
	return err;
}

/* The last profile contains the samples up to the end. */
static int take_last(struct dwarfprof *p)
{
	struct totals totals = profiler_totals_of(p->profiler, 0);

	return finish_part(p->part, p->part->report, &totals);
}

/* Runs the profiler until all earlier samples have arrived. */
static int take_now(struct dwarfprof *p)
{
	uint64_t time;
	int err = part_new(p, &p->next);

	if (err < 0)
		return err;
	do
		err = profiler_take(p->profiler, 0, p->next->report, finish_part, p->part, &time);
	while (err == -EBUSY && (err = profiler_run(p->profiler, clock_now_ns() + TURN_NS)) == 0);
	while (err == 0 && !atomic_load(&p->part->is_whole))
		err = profiler_run(p->profiler, clock_now_ns() + TURN_NS);
	return err;
}

int dwarfprof_take(struct dwarfprof *p, FILE *to)
{
	_cleanup_(part_freep) struct part *part = NULL;
	int err;

	if (!p->format)
		return -ENOTSUP;
	if (!p->part || p->next)
		return -EINVAL; /* the last profile was taken, or taking one failed */
	err = p->is_stopped ? take_last(p) : take_now(p);
	if (err < 0)
		return err;
	part = p->part;
	p->part = steal_ptr(p->next);
	if (part->err < 0)
		return part->err;
	if (fwrite(part->text, 1, part->size, to) != part->size || fflush(to) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

uint64_t dwarfprof_lost(const struct dwarfprof *p)
{
	return profiler_totals(p->profiler)->lost;
}

int dwarfprof_stop(struct dwarfprof *p)
{
	if (p->is_stopped)
		return 0;
	p->is_stopped = true;
	profiler_stop(p->profiler);
	return profiler_finish(p->profiler);
}

struct dwarfprof *dwarfprof_free(struct dwarfprof *p)
{
	if (!p)
		return NULL;
	profiler_free(p->profiler);
	part_free(p->part);
	part_free(p->next);
	report_free(p->caller);
	names_free(p->names);
	filter_done(&p->filter);
	free(p->pids);
	free(p->event);
	free(p->helper);
	free(p);
	return NULL;
}
