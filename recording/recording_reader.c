// SPDX-License-Identifier: Apache-2.0
#include "recording/recording_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sum.h"
#include "recording/block_stream.h"
#include "recording/intern_table.h"
#include "recording/recording.h"
#include "recording/recording_context.h"
#include "recording/recording_probes.h"
#include "recording/recording_start.h"
#include "report/bytes.h"
#include "report/span_times.h"
#include "symbols/kallsyms.h"

struct slot {
	struct module *module;
	uint64_t bias;
};

struct recording_reader {
	FILE *from;
	struct recording_options options;
	struct block_reader blocks;
	struct view rest; /* of the current block */
	struct recording_context context;
	struct kallsyms *kallsyms;
	struct intern_table interned;
	/* The current sample */
	struct slot *slots;
	struct frame *user;
	__u64 *kernel;
	struct label_set *labels;
	uint64_t time_ns, first_ns, last_ns;
	struct totals totals, before; /* before: of the recordings before this one */
	struct span_times calls;      /* of all so far */
	char called[256];             /* what these are calls of */
	uint64_t n_read; /* samples of this one, also outside the time that is wanted */
	uint64_t started_ns, started_real_ns; /* of this one */
	uint64_t period_ns;                   /* of its samples; 0: they have no rate */
	int64_t shift_ns;                     /* to its clock from that of the first one */
	bool has_ended;
	char fault[RECORDING_WHY_SIZE];
	int (*fn)(void *arg, const struct sample *sample, const struct totals *totals);
	void *arg;
};

const struct report_context *recording_reader_context(const struct recording_reader *r)
{
	return &r->context.context;
}

const struct totals *recording_reader_totals(const struct recording_reader *r)
{
	return &r->totals;
}

const char *recording_reader_fault(const struct recording_reader *r)
{
	return r->fault[0] ? r->fault : NULL;
}

const char *recording_reader_text(const struct recording_reader *r, const char *key)
{
	return recording_context_text(&r->context, key);
}

struct recording_reader *recording_reader_free(struct recording_reader *r)
{
	if (!r)
		return NULL;
	intern_table_done(&r->interned);
	label_set_free(r->labels);
	recording_context_done(&r->context);
	kallsyms_free(r->kallsyms);
	block_reader_done(&r->blocks);
	free(r->slots);
	free(r->user);
	free(r->kernel);
	free(r);
	return NULL;
}

DEFINE_CLEANUP(struct recording_reader *, recording_reader_free)

static void read_task(struct recording_reader *r, struct view *v, struct sample *s)
{
	struct view task = intern_table_find(&r->interned, RECORDING_TASK, view_number(v), v);

	s->pid = (pid_t)view_below(&task, INT32_MAX);
	s->tid = (pid_t)view_below(&task, INT32_MAX);
	view_text(&task, s->comm, sizeof(s->comm));
	view_text(&task, s->thread_name, sizeof(s->thread_name));
	v->failed |= task.failed;
}

static void read_slots(struct recording_reader *r, struct view *stack, struct view *placement,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t module = view_below(stack, r->interned.n_modules);

		r->slots[i] = (struct slot){ NULL, view_number(placement) };
		if (!stack->failed)
			r->slots[i].module = r->interned.modules[module]->module;
	}
	stack->failed |= placement->failed;
}

/* A frame with a name, in no file. */
static void read_compiled(struct recording_reader *r, struct view *stack, struct frame *f)
{
	uint64_t number = view_below(stack, r->interned.n_compiled);

	f->address = view_number(stack);
	f->offset = f->address;
	if (stack->failed || !r->options.symbols)
		return;
	f->module = r->interned.compiled_module;
	/* As for frame_locate(). */
	f->offset = r->interned.compiled[number]->located + !frame_is_exact(f);
}

static void read_stack(struct recording_reader *r, struct view *v, struct sample *s)
{
	uint64_t number = view_number(v);
	struct view stack, placement;
	size_t n_slots;

	s->user = r->user;
	if (number == 0)
		return;
	stack = intern_table_find(&r->interned, RECORDING_STACK, number - 1, v);
	placement = intern_table_find(&r->interned, RECORDING_PLACEMENT, view_number(v), v);
	n_slots = view_below(&stack, DP_MAX_FRAMES + 1);
	read_slots(r, &stack, &placement, n_slots);
	s->n_user = view_below(&stack, DP_MAX_FRAMES + 1);
	for (size_t i = 0; i < s->n_user && !stack.failed; i++) {
		uint64_t slot = view_below(&stack, (n_slots + 2) * RECORDING_METHODS);
		struct frame *f = &r->user[i];

		*f = (struct frame){ .method = slot % RECORDING_METHODS };
		stack.failed |= f->method >= DP_N_METHODS;
		slot /= RECORDING_METHODS;
		if (slot > n_slots) {
			read_compiled(r, &stack, f);
			continue;
		}
		f->address = f->offset = view_number(&stack);
		if (slot > 0) {
			f->module = r->slots[slot - 1].module;
			f->address += r->slots[slot - 1].bias;
		}
	}
	v->failed |= stack.failed;
}

static int read_kernel(struct recording_reader *r, struct view *v, struct sample *s)
{
	uint64_t number = view_number(v);
	struct view kernel;
	int err = 0;

	s->kernel = r->kernel;
	if (number == 0)
		return 0;
	kernel = intern_table_find(&r->interned, RECORDING_KERNEL, number - 1, v);
	s->n_kernel = view_below(&kernel, DP_MAX_FRAMES + 1);
	for (size_t i = 0; err == 0 && i < s->n_kernel && !kernel.failed; i++) {
		uint64_t function = view_below(&kernel, r->interned.n_functions + 1);
		uint64_t offset = view_number(&kernel), address = offset;
		const struct interned_function *f =
			function ? r->interned.functions[function - 1] : NULL;

		if (f) {
			address += f->start;
			err = kallsyms_add_found(r->kallsyms, address, f->name, offset,
						 f->module[0] ? f->module : NULL);
			if (err == -ENOSPC)
				err = -EBADMSG;
		}
		r->kernel[i] = address + (i > 0);
	}
	v->failed |= kernel.failed;
	return err;
}

static void read_fields(struct view *v, struct sample *s, uint64_t fields)
{
	int64_t error;

	s->weight = 1;
	s->outcome = DP_COMPLETE;
	if (fields & RECORDING_HAS_EVENT) {
		s->event = (enum dp_event)view_below(v, DP_N_EVENTS);
		s->state = (enum dp_state)view_below(v, DP_N_STATES);
	}
	if (fields & RECORDING_HAS_WEIGHT)
		s->weight = view_number(v);
	if (fields & RECORDING_HAS_VALUE)
		s->value_ns = sum_of(view_number(v), 0);
	if (fields & RECORDING_HAS_OUTCOME)
		s->outcome = (enum dp_outcome)view_below(v, DP_N_OUTCOMES);
	if (fields & RECORDING_HAS_FAULT)
		s->fault_address = view_number(v);
	if (fields & RECORDING_HAS_KERNEL_ERROR) {
		error = view_signed(v);
		v->failed |= error < DP_KERNEL_HIDDEN || error > 0;
		s->kernel_error = v->failed ? 0 : (int)error;
	}
	s->late = fields & RECORDING_IS_LATE;
	v->failed |= s->outcome == DP_WALKING;
}

/* Takes a zero-terminated key or value; NULL: there is none. */
static const char *take_text(struct view *v)
{
	const char *text = (const char *)v->pos;
	const uint8_t *end = v->pos < v->end ? memchr(v->pos, 0, (size_t)(v->end - v->pos)) : NULL;

	v->failed |= !end;
	v->pos = end ? end + 1 : v->end;
	return end ? text : NULL;
}

static int read_texts(struct label_list *list, struct view *texts, bool are_decimals)
{
	int err = 0;

	while (err == 0 && !texts->failed && !view_is_empty(texts)) {
		struct label label = { .key = take_text(texts), .is_decimal = are_decimals };

		label.text = take_text(texts);
		if (label.text)
			err = label_list_add(list, &label);
	}
	return err == 0 && texts->failed ? -EBADMSG : err;
}

static int read_numbers(struct label_list *list, struct view *numbers)
{
	int err = 0;

	while (err == 0 && !numbers->failed && !view_is_empty(numbers)) {
		_cleanup_free_ char *key = view_new_text(numbers), *unit = view_new_text(numbers);
		int64_t number = view_signed(numbers);

		err = -ENOMEM;
		if (key && unit)
			err = label_list_add(list, &(struct label){ .key = key,
								    .number = number,
								    .unit = unit });
	}
	return err == 0 && numbers->failed ? -EBADMSG : err;
}

static int read_labels(struct recording_reader *r, struct view *v, struct sample *s,
		       uint64_t fields)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	struct view labels;
	int err;

	if (!(fields & RECORDING_HAS_LABELS))
		return 0;
	labels = intern_table_find(&r->interned, RECORDING_LABELS, view_number(v), v);
	list.is_cut = view_below(&labels, 2);
	err = read_texts(&list, &labels, false);
	if (err == 0 && (fields & RECORDING_HAS_NUMBERS)) {
		labels = intern_table_find(&r->interned, RECORDING_NUMBERS, view_number(v), v);
		err = read_numbers(&list, &labels);
	}
	if (err == 0 && (fields & RECORDING_HAS_DECIMALS)) {
		labels = intern_table_find(&r->interned, RECORDING_DECIMALS, view_number(v), v);
		err = read_texts(&list, &labels, true);
	}
	if (err < 0 || v->failed)
		return err < 0 ? err : -EBADMSG;
	r->labels = label_set_free(r->labels);
	err = label_set_new(&list, &r->labels);
	s->labels = r->labels;
	return err;
}

static void count(struct recording_reader *r, const struct sample *s)
{
	struct totals *t = &r->totals;

	if (t->samples == r->before.samples)
		r->first_ns = r->last_ns = s->time_ns;
	r->first_ns = s->time_ns < r->first_ns ? s->time_ns : r->first_ns;
	r->last_ns = s->time_ns > r->last_ns ? s->time_ns : r->last_ns;
	totals_count(t, s);
	/* An estimate, until the totals are read. */
	t->duration_ns = r->before.duration_ns + r->last_ns - r->first_ns;
}

/* By the time of day when it was taken, or began. */
static bool is_wanted(const struct recording_reader *r, uint64_t time_ns)
{
	uint64_t real = r->started_real_ns + (time_ns - r->started_ns);

	return real >= r->options.from_real_ns &&
	       (!r->options.to_real_ns || real < r->options.to_real_ns);
}

/* Where rates differ, the time that a sample stands for is its own. */
static bool has_period(const struct recording_reader *r)
{
	return r->context.context.timed && r->period_ns > 0;
}

static int read_sample(struct recording_reader *r, struct view *v)
{
	uint64_t fields = view_number(v);
	struct sample s = { .time_ns = r->time_ns + (uint64_t)view_signed(v) };
	int err;

	r->time_ns = s.time_ns;
	read_task(r, v, &s);
	s.cpu = (uint32_t)view_below(v, UINT32_MAX);
	read_stack(r, v, &s);
	err = read_kernel(r, v, &s);
	read_fields(v, &s, fields);
	if (err == 0)
		err = read_labels(r, v, &s, fields);
	if (err == 0 && (fields & RECORDING_HAS_PROBES))
		recording_read_probes(v, r->user, s.n_user, s.labels ? r->labels : NULL);
	if (err < 0 || v->failed)
		return err < 0 ? err : -EBADMSG;
	r->n_read++;
	if (!is_wanted(r, s.time_ns))
		return 0;
	if (has_period(r) && s.event == DP_EVENT_CPU)
		s.value_ns = r->period_ns;
	s.time_ns -= (uint64_t)r->shift_ns;
	count(r, &s);
	return r->fn(r->arg, &s, &r->totals);
}

/* The part of a recording's duration that is wanted. */
static uint64_t wanted_ns(const struct recording_reader *r, uint64_t duration_ns)
{
	uint64_t from = r->started_real_ns, to = from + duration_ns;

	if (from < r->options.from_real_ns)
		from = r->options.from_real_ns;
	if (r->options.to_real_ns && to > r->options.to_real_ns)
		to = r->options.to_real_ns;
	return to > from ? to - from : 0;
}

static int read_totals(struct recording_reader *r, struct view *v)
{
	struct totals *t = &r->totals;

	if (view_number(v) != r->n_read)
		return -EBADMSG;
	t->duration_ns = r->before.duration_ns + wanted_ns(r, view_number(v));
	t->still_blocked = r->before.still_blocked + view_number(v);
	t->pages_requested = r->before.pages_requested + view_number(v);
	r->has_ended = true;
	return 0;
}

static void read_lost(struct recording_reader *r, struct view *v)
{
	uint64_t lost = view_number(v), lost_ns = view_number(v);

	if (has_period(r) && !(r->context.context.events & EVENT_BIT(DP_EVENT_OFF_CPU)))
		lost_ns = lost * r->period_ns;
	r->totals.lost = r->before.lost + lost;
	r->totals.lost_ns = r->before.lost_ns + lost_ns;
}

static void read_calls(struct recording_reader *r, struct view *v)
{
	view_text(v, r->called, sizeof(r->called));
	r->calls.name = r->called;
	r->totals.outside = r->before.outside;
	r->totals.in_unknown = r->before.in_unknown;
	r->totals.calls = &r->calls;
	span_times_add(&r->calls, &r->totals, v);
}

static int read_record(struct recording_reader *r, uint64_t tag, struct view *record)
{
	int err = 0;

	switch (tag) {
	case RECORDING_MODULE:
	case RECORDING_FUNCTION:
	case RECORDING_COMPILED:
	case RECORDING_TASK:
	case RECORDING_STACK:
	case RECORDING_PLACEMENT:
	case RECORDING_KERNEL:
	case RECORDING_LABELS:
	case RECORDING_NUMBERS:
	case RECORDING_DECIMALS:
		err = intern_table_add(&r->interned, tag, record);
		break;
	case RECORDING_LOST:
		read_lost(r, record);
		break;
	case RECORDING_SAMPLE:
		return read_sample(r, record);
	case RECORDING_FORGET:
		intern_table_forget(&r->interned);
		break;
	case RECORDING_CALLS:
		read_calls(r, record);
		break;
	case RECORDING_TOTALS:
		err = read_totals(r, record);
		break;
	}
	return err == 0 && record->failed ? -EBADMSG : err;
}

int recording_reader_run(struct recording_reader *r,
			 int (*fn)(void *arg, const struct sample *sample,
				   const struct totals *totals),
			 void *arg)
{
	struct view record;
	uint64_t tag;
	int err;

	r->fn = fn;
	r->arg = arg;
	do {
		err = recording_next_record(&r->blocks, &r->rest, &tag, &record);
		if (err > 0)
			err = read_record(r, tag, &record);
		else if (err == 0)
			break;
	} while (err == 0 && !r->has_ended);
	if (err == 0 && r->has_ended)
		return 0;
	if (err == 0 || err == -ENODATA)
		snprintf(r->fault, sizeof(r->fault), "cut off, at byte %" PRIu64,
			 r->blocks.position);
	else if (err == -EBADMSG)
		snprintf(r->fault, sizeof(r->fault), "damaged, before byte %" PRIu64,
			 r->blocks.position);
	else
		return err;
	return 0;
}

static int read_first(struct recording_reader *r, struct recording_context *ret)
{
	int err = recording_start_read(&r->blocks, &r->rest, ret);

	r->started_ns = ret->context.started_ns;
	r->started_real_ns = ret->context.started_real_ns;
	r->period_ns = ret->context.hz > 0 ? 1000000000 / ret->context.hz : 0;
	return err;
}

static void explain(int err, char why[RECORDING_WHY_SIZE])
{
	snprintf(why, RECORDING_WHY_SIZE, "%s",
		 err == -ENODATA ? "it is cut off, before its first sample" :
		 err == -EBADMSG ? "it is damaged, from its start on" :
				   strerror(-err));
}

int recording_reader_new(FILE *from, const struct recording_options *options,
			 struct recording_reader **ret, char why[RECORDING_WHY_SIZE])
{
	_cleanup_(recording_reader_freep) struct recording_reader *r = NULL;
	int err = recording_head_read(from, why);

	if (err < 0)
		return err;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->from = from;
	r->options = *options;
	intern_table_init(&r->interned, &r->options);
	r->slots = calloc(DP_MAX_FRAMES, sizeof(*r->slots));
	r->user = calloc(DP_MAX_FRAMES, sizeof(*r->user));
	r->kernel = calloc(DP_MAX_FRAMES, sizeof(*r->kernel));
	if (!r->slots || !r->user || !r->kernel ||
	    kallsyms_new_empty(r->options.names, &r->kallsyms) < 0)
		return -ENOMEM;
	err = block_reader_init(&r->blocks, from, sizeof(struct recording_head));
	if (err == 0)
		err = read_first(r, &r->context);
	if (err < 0) {
		explain(err, why);
		return err;
	}
	r->context.context.symbols = options->symbols;
	r->context.context.names = options->names;
	r->context.context.kallsyms = options->symbols ? r->kallsyms : NULL;
	*ret = steal_ptr(r);
	return 0;
}

bool recording_reader_differs_in_rate(const struct recording_reader *r, FILE *other)
{
	_cleanup_(recording_context_done) struct recording_context context = { 0 };

	return recording_context_peek(other, &context) == 0 &&
	       recording_context_rates_differ(&r->context, &context);
}

void recording_reader_count_time(struct recording_reader *r)
{
	struct report_context *context = &r->context.context;

	if (context->hz == 0 || context->n_several > 0)
		return;
	context->timed = true;
	context->hz = 0;
}

/* Clocks that differ by more were set, or counted from another start of the machine. */
#define SAME_CLOCK_NS INT64_C(1000000000)

static int64_t shift_of(const struct recording_reader *r)
{
	const struct report_context *first = &r->context.context;
	int64_t shift = (int64_t)(r->started_ns - first->started_ns -
				  (r->started_real_ns - first->started_real_ns));

	return shift > SAME_CLOCK_NS || shift < -SAME_CLOCK_NS ? shift : 0;
}

static void explain_unlike(const struct report_context *context, char why[RECORDING_WHY_SIZE])
{
	if (context->timed)
		snprintf(why, RECORDING_WHY_SIZE, "it was sampled differently: %s at several rates",
			 context->event);
	else
		snprintf(why, RECORDING_WHY_SIZE, "it was sampled differently: %s at %u Hz",
			 context->event, context->hz);
}

int recording_reader_continue(struct recording_reader *r, FILE *from, char why[RECORDING_WHY_SIZE])
{
	_cleanup_(recording_context_done) struct recording_context context = { 0 };
	int err = recording_head_read(from, why);

	if (err < 0)
		return err;
	intern_table_forget(&r->interned);
	block_reader_done(&r->blocks);
	r->from = from;
	r->rest = (struct view){ 0 };
	r->time_ns = r->n_read = 0;
	r->has_ended = false;
	r->fault[0] = '\0';
	r->before = r->totals;
	err = block_reader_init(&r->blocks, from, sizeof(struct recording_head));
	if (err == 0)
		err = read_first(r, &context);
	if (err < 0) {
		explain(err, why);
		return err;
	}
	if (!recording_context_is_alike(&r->context, &context)) {
		explain_unlike(&context.context, why);
		return -EMEDIUMTYPE;
	}
	r->shift_ns = shift_of(r);
	return 0;
}
