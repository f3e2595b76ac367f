// SPDX-License-Identifier: Apache-2.0
/*
 * speedscope's own format (its file-format-schema.json): functions, each once, and profiles, which
 * are lists of stacks with weights. One profile has all threads, with each stack once; then one per
 * thread, in order of time. The format has no member for a frame's kind: its schema allows others, and
 * readers pass over `kind`. Written piece by piece: a tree in memory would be many times larger
 * than the data.
 */
#include "formats/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/sum.h"
#include "formats/function_table.h"
#include "formats/json_value.h"
#include "formats/report_format.h"
#include "report/value.h"

/* Stacks as lists of functions' numbers: the process's name, then functions, root first. */
struct stack_list {
	uint32_t *items;
	size_t n, size;
	size_t *starts; /* by number of the stack: the index of its name, which the functions
	                 * follow */
	size_t n_starts;
};

struct writer {
	struct report *report;
	const struct timeline *timeline;
	const struct totals *totals;
	struct value value; /* of weights */
	struct function_table functions;
	struct stack_list stacks;
	struct symbolized_stack symbolized;
	uint32_t lost; /* the function for lost samples */
	FILE *to;
};

static int add_item(struct writer *w, const struct stack *stack,
		    const struct symbolized_frame *symbolized, uint64_t weight)
{
	struct stack_list *stacks = &w->stacks;
	struct function_entry *f;
	int err = array_reserve(stacks->items, stacks->n, stacks->size);

	if (err == 0)
		err = function_table_add(&w->functions, w->report, symbolized, weight, &f);
	if (err < 0)
		return err;
	stacks->items[stacks->n++] = f->number;
	return frame_values_sum(&w->timeline->values, stack, symbolized->frame, &w->value,
				&f->texts);
}

static int add_stack(const struct stack *stack, void *arg)
{
	struct writer *w = arg;
	struct symbolized_frame comm = { .kind = SYMBOLIZED_MARK,
					 .name = *stack->common.comm ? stack->common.comm : "?" };
	uint64_t value = value_of_stack(&w->value, stack);
	int err = symbolized_stack_make(w->report, stack, SYMBOLIZED_LINES | SYMBOLIZED_LABELS,
					&w->symbolized);

	w->stacks.starts[w->stacks.n_starts++] = w->stacks.n;
	if (err == 0)
		err = add_item(w, stack, &comm, value);
	for (size_t i = w->symbolized.n; err == 0 && i-- > 0;)
		err = add_item(w, stack, &w->symbolized.items[i], value);
	return err;
}

static int add_stacks(struct writer *w)
{
	struct symbolized_frame lost = { .kind = SYMBOLIZED_MARK, .name = "[lost samples]" };
	size_t n = profile_n_stacks(w->timeline->profile);
	struct function_entry *f = NULL;
	int err;

	w->stacks.starts = calloc(n + 1, sizeof(*w->stacks.starts));
	if (!w->stacks.starts)
		return -ENOMEM;
	err = profile_for_each(w->timeline->profile, add_stack, w);
	w->stacks.starts[n] = w->stacks.n;
	if (err == 0 && w->totals->lost > 0)
		err = function_table_add(&w->functions, w->report, &lost, 0, &f);
	w->lost = f ? f->number : 0;
	return err;
}

/* With the values of its calls, which need no frames of their own then. */
static int put_name(struct function_entry *f, FILE *to)
{
	_cleanup_free_ char *name = NULL;
	char values[VALUE_TEXTS_SIZE];

	value_texts_describe(&f->texts, values);
	if (*values == '\0')
		return json_write_text(f->key.name, to);
	if (asprintf(&name, "%s  %s", f->key.name, values) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	return json_write_text(name, to);
}

static int put_functions(struct writer *w)
{
	int err = 0;

	fputs("\"shared\":{\"frames\":[", w->to);
	for (struct function_entry *f = w->functions.functions; err == 0 && f; f = f->hh.next) {
		fputs(f->number ? ",\n{\"name\":" : "\n{\"name\":", w->to);
		err = put_name(f, w->to);
		if (err == 0 && f->key.file) {
			fputs(",\"file\":", w->to);
			err = json_write_text(f->key.file, w->to);
		}
		if (f->line > 0)
			fprintf(w->to, ",\"line\":%u", f->line);
		if (f->column > 0)
			fprintf(w->to, ",\"col\":%u", f->column);
		if (f->key.kind)
			fprintf(w->to, ",\"kind\":\"%s\"", f->key.kind);
		fputc('}', w->to);
	}
	fputs("]}", w->to);
	return err;
}

static void put_stack(const struct writer *w, uint32_t number, size_t skip)
{
	size_t from = w->stacks.starts[number] + skip, to = w->stacks.starts[number + 1];

	fputc('[', w->to);
	for (size_t i = from; i < to; i++)
		fprintf(w->to, "%s%" PRIu32, i > from ? "," : "", w->stacks.items[i]);
	fputc(']', w->to);
}

static int put_profile_head(struct writer *w, const char *name, uint64_t end)
{
	int err;

	fputs("{\"type\":\"sampled\",\"name\":", w->to);
	err = json_write_text(name, w->to);
	fprintf(w->to, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\"samples\":[",
		value_is_time(&w->value)            ? "nanoseconds" :
		strcmp(w->value.unit, "bytes") == 0 ? "bytes" :
						      "none",
		end);
	return err;
}

/* Visits the distinct stacks twice, once for each list. */
struct all_pass {
	struct writer *w;
	bool weights;
	bool has_any; /* of the stacks before was written */
	uint32_t number;
	uint64_t sum;
};

static int put_all_item(const struct stack *stack, void *arg)
{
	struct all_pass *pass = arg;
	uint64_t value = value_of_stack(&pass->w->value, stack);

	if (value > 0 || !pass->w->value.event) {
		if (pass->has_any)
			fputc(',', pass->w->to);
		pass->has_any = true;
		if (pass->weights)
			fprintf(pass->w->to, "%" PRIu64, value);
		else
			put_stack(pass->w, pass->number, 0);
	}
	pass->number++;
	sum_increase(&pass->sum, value);
	return ferror(pass->w->to) ? -EIO : 0;
}

static int sum_item(const struct stack *stack, void *arg)
{
	struct all_pass *pass = arg;

	sum_increase(&pass->sum, value_of_stack(&pass->w->value, stack));
	return 0;
}

static int put_all_threads(struct writer *w)
{
	/* Which of several events was lost is not known. */
	bool has_lost = w->totals->lost > 0 && !w->value.event;
	uint64_t lost = has_lost ? value_of_lost(&w->value, w->totals) : 0;
	struct all_pass sum = { .w = w }, stacks = { .w = w },
			weights = { .w = w, .weights = true };
	char name[160];
	int err;

	(void)profile_for_each(w->timeline->profile, sum_item, &sum);
	snprintf(name, sizeof(name),
		 "%s%s%s%sall threads: %" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64
		 " of %" PRIu64 " complete",
		 w->value.event ? w->value.event : "", w->value.event ? ", " : "",
		 w->value.event && w->value.is_own ? w->value.name : "",
		 w->value.event && w->value.is_own ? ", " : "", w->totals->samples, w->totals->lost,
		 w->totals->outcomes[DP_COMPLETE], totals_with_user_stack(w->totals));
	err = put_profile_head(w, name, sum_of(sum.sum, lost));
	if (err == 0)
		err = profile_for_each(w->timeline->profile, put_all_item, &stacks);
	if (has_lost)
		fprintf(w->to, "%s[%" PRIu32 "]", stacks.has_any ? "," : "", w->lost);
	fputs("],\"weights\":[", w->to);
	if (err == 0)
		err = profile_for_each(w->timeline->profile, put_all_item, &weights);
	if (has_lost)
		fprintf(w->to, "%s%" PRIu64, weights.has_any ? "," : "", lost);
	fputs("]}", w->to);
	return err;
}

/* One profile of all threads, or of several events one each. */
static int put_each_event(struct writer *w)
{
	const struct report_context *context = &w->report->context;
	const struct value main = w->value;
	struct value values[VALUES_MAX];
	size_t n = values_of(context, values);
	int err = 0;

	if (context->n_several == 0)
		return put_all_threads(w);
	for (size_t i = 0; err == 0 && i < n; i++) {
		fputs(i ? ",\n" : "", w->to);
		w->value = values[i];
		err = put_all_threads(w);
	}
	w->value = main;
	return err;
}

/* Finds the end of consecutive moments with the same stack, and their total value. */
static size_t run_end(const struct timeline_thread *thread, size_t i, uint64_t *ret_value)
{
	uint32_t stack = thread->moments[i].stack;

	*ret_value = 0;
	for (; i < thread->n && thread->moments[i].stack == stack; i++)
		sum_increase(ret_value, thread->moments[i].value);
	return i;
}

static int put_thread(struct writer *w, const struct timeline_thread *thread)
{
	char name[TIMELINE_NAME_SIZE];
	uint64_t value;
	int err;

	timeline_thread_name(thread, name);
	err = put_profile_head(w, name, thread->value);
	for (size_t i = 0; i < thread->n; i = run_end(thread, i, &value)) {
		fputs(i ? "," : "", w->to);
		put_stack(w, thread->moments[i].stack, 1);
	}
	fputs("],\"weights\":[", w->to);
	for (size_t i = 0; i < thread->n;) {
		const char *comma = i ? "," : "";

		i = run_end(thread, i, &value);
		fprintf(w->to, "%s%" PRIu64, comma, value);
	}
	fputs("]}", w->to);
	return err == 0 && ferror(w->to) ? -EIO : err;
}

static int put_all(struct writer *w)
{
	const struct report_context *context = &w->report->context;
	char name[512];
	int err;

	snprintf(name, sizeof(name), "%s, %s", context->target, context->event);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"dwarfprof@" DP_VERSION "\",\n\"name\":",
	      w->to);
	err = json_write_text(name, w->to);
	fputs(",\n\"activeProfileIndex\":0,\n", w->to);
	if (err == 0)
		err = put_functions(w);
	fputs(",\n\"profiles\":[\n", w->to);
	if (err == 0)
		err = put_each_event(w);
	for (const struct timeline_thread *t = w->timeline->threads; err == 0 && t;
	     t = t->hh.next) {
		fputs(",\n", w->to);
		err = put_thread(w, t);
	}
	fputs("]}\n", w->to);
	return err;
}

int speedscope_write(struct report *report, struct timeline *timeline, const struct totals *totals,
		     FILE *to)
{
	struct writer w = { .report = report,
			    .timeline = timeline,
			    .totals = totals,
			    .value = value_main(&report->context),
			    .to = to };
	int err;

	timeline_sort(timeline);
	err = add_stacks(&w);
	if (err == 0)
		err = put_all(&w);
	function_table_done(&w.functions);
	symbolized_stack_done(&w.symbolized);
	free(w.stacks.items);
	free(w.stacks.starts);
	return err;
}

struct speedscope {
	struct report report;
	struct timeline timeline;
};

static int speedscope_add(struct report *report, const struct sample *sample,
			  const struct totals *totals)
{
	return timeline_add(&((struct speedscope *)report)->timeline, &report->context, sample);
}

static int speedscope_finish(struct report *report, const struct totals *totals)
{
	return speedscope_write(report, &((struct speedscope *)report)->timeline, totals,
				report->to);
}

static void speedscope_free(struct report *report)
{
	struct speedscope *speedscope = (struct speedscope *)report;

	timeline_done(&speedscope->timeline);
	free(speedscope);
}

int report_speedscope_new(struct report **ret)
{
	struct speedscope *speedscope = calloc(1, sizeof(*speedscope));

	if (!speedscope)
		return -ENOMEM;
	if (timeline_init(&speedscope->timeline) < 0) {
		free(speedscope);
		return -ENOMEM;
	}
	speedscope->report.add = speedscope_add;
	speedscope->report.finish = speedscope_finish;
	speedscope->report.free = speedscope_free;
	*ret = &speedscope->report;
	return 0;
}
