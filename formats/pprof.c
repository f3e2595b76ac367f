// SPDX-License-Identifier: Apache-2.0
/*
 * A profile for `go tool pprof` and other readers of its format, compressed by gzip. docs/FORMAT.md
 * says which fields are written.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "formats/code_mappings.h"
#include "formats/pprof_writer.h"
#include "formats/report_format.h"
#include "report/outcome.h"
#include "report/own_label.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/symbolized.h"
#include "report/value.h"
#include "report/verified.h"

/*
 * Of several files, each begins so much later than the one before: of profiles with the same labels and
 * the same millisecond, Pyroscope shows only one (pkg/querier, skipDuplicates()).
 */
#define FILE_NS 1000000

/* The labels of one sample. The memory is reused for the next one. */
struct labels {
	Pprof__Label *items, **pointers;
	size_t n, items_size, pointers_size;
};

struct pprof {
	struct report report;
	struct profile *profile;
	struct code_mappings mappings;
	struct pprof_writer writer;
	bool is_writing; /* the writer has to be freed */
	const struct totals *totals;
	size_t n_samples;     /* written to this file */
	unsigned int n_files; /* that are complete */
	int end_err;          /* the first of report_parts.end */
	uint64_t n_events;    /* of the file's samples */
	struct symbolized_stack symbolized;
	uint64_t *locations; /* of the sample being written */
	size_t locations_size;
	struct labels labels;
	struct value values[VALUES_MAX];
	size_t n_values;
};

static int pprof_add(struct report *report, const struct sample *sample,
		     const struct totals *totals)
{
	struct pprof *pprof = (struct pprof *)report;
	/* Binaries that no process maps any more are closed before the end. */
	int err = code_mappings_add(&pprof->mappings, sample);

	return err == 0 ? profile_add(pprof->profile, sample) : err;
}

static int use_mappings(const struct stack *stack, void *arg)
{
	struct pprof *pprof = arg;

	return code_mappings_use(&pprof->mappings, stack);
}

static int make_locations(struct pprof *pprof, size_t *ret_n)
{
	const struct symbolized_stack *symbolized = &pprof->symbolized;
	size_t n = 0, i = 0, n_functions;

	while (i < symbolized->n) {
		int err;

		if (array_reserve(pprof->locations, n, pprof->locations_size) < 0)
			return -ENOMEM;
		err = pprof_writer_location(
			&pprof->writer, &symbolized->items[i], symbolized->n - i,
			code_mappings_find(&pprof->mappings, &symbolized->items[i]),
			&pprof->locations[n], &n_functions);
		if (err < 0)
			return err;
		n++;
		i += n_functions;
	}
	*ret_n = n;
	return 0;
}

/* Leaves out the middle of a stack that is too deep for its reader, with a mark there. */
static int cut_locations(struct pprof *pprof, size_t *n)
{
	size_t skipped, n_functions, leaf;
	uint64_t mark;
	int err;

	leaf = symbolized_keep(*n, pprof->report.context.max_frames, &skipped);
	if (skipped == 0)
		return 0;
	err = pprof_writer_location(&pprof->writer, &symbolized_cut, 1, NULL, &mark, &n_functions);
	if (err < 0)
		return err;
	pprof->locations[leaf] = mark;
	memmove(&pprof->locations[leaf + 1], &pprof->locations[leaf + skipped],
		(*n - leaf - skipped) * sizeof(*pprof->locations));
	*n -= skipped - 1;
	return 0;
}

static void labels_done(struct labels *labels)
{
	free(labels->items);
	free(labels->pointers);
}

/*
 * A label with the key of one of ours would be taken for it, so it gets another key. A number
 * without a unit has its key as unit, except that readers drop 0.
 */
static int add_label(struct pprof *pprof, const char *prefix, const struct label *label)
{
	struct labels *labels = &pprof->labels;
	_cleanup_free_ char *key = NULL;
	Pprof__Label *to;
	int err;

	if (asprintf(&key, "%s%s", prefix, label->key) < 0 ||
	    array_reserve(labels->items, labels->n, labels->items_size) < 0)
		return -ENOMEM;
	to = &labels->items[labels->n++];
	pprof__label__init(to);
	err = pprof_writer_string(&pprof->writer, key, &to->key);
	if (err == 0 && label->text)
		return pprof_writer_string(&pprof->writer, label->text, &to->str);
	to->num = label->number;
	to->num_unit = to->key;
	if (err == 0 && *label->unit)
		err = pprof_writer_string(&pprof->writer, label->unit, &to->num_unit);
	return err;
}

static int add_own_labels(struct pprof *pprof, const struct sample *sample)
{
	const struct own_label *own;
	struct label label;
	int err = 0;

	for (size_t i = 0; err == 0 && (own = own_label(i)); i++)
		if (own_label_get(own, sample, &label) && !own_label_is_usual(own, &label))
			err = add_label(pprof, "", &label);
	return err;
}

static int make_labels(struct pprof *pprof, const struct sample *sample)
{
	bool for_pyroscope = pprof->report.context.for_pyroscope;
	struct labels *labels = &pprof->labels;
	struct label label;
	size_t at = 0;
	int err;

	labels->n = 0;
	err = for_pyroscope ? 0 : add_own_labels(pprof, sample);
	while (err == 0 && label_set_next(sample->labels, &at, &label))
		if (!for_pyroscope)
			err = add_label(pprof, own_label_has_key(label.key) ? "label:" : "",
					&label);
		else if (strcmp(label.key, REPORT_EVENT) != 0)
			err = add_label(pprof, "", &label);
	for (size_t i = 0; err == 0 && i < labels->n; i++) {
		err = array_reserve(labels->pointers, i, labels->pointers_size);
		if (err == 0)
			labels->pointers[i] = &labels->items[i];
	}
	return err;
}

static int write_stack(struct pprof *pprof, const struct stack *stack)
{
	struct frame leaf;
	const struct sample alike = stack_sample(stack, &leaf);
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *samples[] = { &sample };
	int64_t values[VALUES_MAX];
	int err;

	err = symbolized_stack_make(&pprof->report, stack, SYMBOLIZED_LINES, &pprof->symbolized);
	if (err == 0)
		err = make_locations(pprof, &sample.n_location_id);
	if (err == 0)
		err = cut_locations(pprof, &sample.n_location_id);
	if (err == 0)
		err = make_labels(pprof, &alike);
	if (err < 0)
		return err;
	for (size_t i = 0; i < pprof->n_values; i++)
		values[i] = (int64_t)value_of_stack(&pprof->values[i], stack);
	sample.location_id = pprof->locations;
	sample.n_value = pprof->n_values;
	sample.value = values;
	sample.n_label = pprof->labels.n;
	sample.label = pprof->labels.pointers;
	profile.n_sample = 1;
	profile.sample = samples;
	pprof->n_samples++;
	pprof->n_events += stack->count;
	return pprof_writer_put(&pprof->writer, &profile);
}

/* Pyroscope refuses a type with a `-`, and its queries divide names at a `:`. */
static char *make_plain(const char *name)
{
	char *plain = strdup(name);

	for (char *at = plain; at && *at; at++)
		if (!isascii(*at) || !isalnum(*at))
			*at = '_';
	return plain;
}

static int make_type(struct pprof *pprof, const struct value *value, Pprof__ValueType *ret)
{
	_cleanup_free_ char *plain = NULL;
	int err = 0;

	if (pprof->report.context.for_pyroscope) {
		plain = make_plain(value->name);
		err = plain ? 0 : -ENOMEM;
	}
	if (err == 0)
		err = pprof_writer_string(&pprof->writer, plain ?: value->name, &ret->type);
	return err == 0 ? pprof_writer_string(&pprof->writer, value->unit, &ret->unit) : err;
}

/* The first value counts events, the last one is the default of readers. */
static int write_head(struct pprof *pprof, const struct totals *totals)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__ValueType types[VALUES_MAX], *pointers[VALUES_MAX];
	const struct value measured = value_measured(&pprof->report.context);
	unsigned int hz = pprof->report.context.hz;
	int err = 0;

	for (size_t i = 0; err == 0 && i < pprof->n_values; i++) {
		pprof__value_type__init(&types[i]);
		pointers[i] = &types[i];
		err = make_type(pprof, &pprof->values[i], &types[i]);
	}
	if (err < 0)
		return err;
	profile.n_sample_type = pprof->n_values;
	profile.sample_type = pointers;
	profile.default_sample_type = types[pprof->n_values - 1].type;
	profile.time_nanos = (int64_t)(pprof->report.context.started_real_ns +
				       (uint64_t)pprof->n_files * FILE_NS);
	profile.duration_nanos = (int64_t)totals->duration_ns;
	/* Nanoseconds between two samples of a CPU; one, if time is measured; else one event. */
	profile.period_type = &types[hz > 0                   ? 1 :
				     value_is_time(&measured) ? pprof->n_values - 1 :
								0];
	profile.period = hz > 0 ? 1000000000 / hz : 1;
	return pprof_writer_put(&pprof->writer, &profile);
}

/* A line that readers show above their tables. */
__attribute__((format(printf, 2, 3))) static int write_comment(struct pprof *pprof,
							       const char *format, ...)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	_cleanup_free_ char *text = NULL;
	int64_t number;
	va_list args;
	int n, err;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		text = NULL;
		return -ENOMEM;
	}
	err = pprof_writer_string(&pprof->writer, text, &number);
	if (err < 0)
		return err;
	profile.n_comment = 1;
	profile.comment = &number;
	return pprof_writer_put(&pprof->writer, &profile);
}

static int comment_context(struct pprof *pprof)
{
	const struct report_context *c = &pprof->report.context;
	const char *other = value_other_event(c);
	int err = write_comment(pprof, "dwarfprof " DP_VERSION);

	if (err == 0 && c->command)
		err = write_comment(pprof, "command: %s", c->command);
	if (err == 0)
		err = write_comment(pprof, "target: %s", c->target);
	if (err == 0)
		err = c->hz ? write_comment(pprof, "event: %s at %u Hz%s%s", c->event, c->hz,
					    other ? " and " : "", other ? other : "") :
			      write_comment(pprof, "event: %s", c->event);
	if (err == 0 && c->host && c->kernel)
		err = write_comment(pprof, "host: %s, %s", c->host, c->kernel);
	return err;
}

static int comment_verified(struct pprof *pprof, const struct verified *verified)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -errno;
	verified_print(verified, to);
	if (fclose(to) != 0)
		return -ENOMEM;
	return write_comment(pprof, "verified by libdwfl: %s", text);
}

static int comment_totals(struct pprof *pprof, const struct totals *t)
{
	const struct value measured = value_measured(&pprof->report.context);
	int err = write_comment(pprof,
				"samples: %" PRIu64 ", lost: %" PRIu64 ", complete: %" PRIu64
				" of %" PRIu64 " with a user stack (%.1f %%)",
				t->samples, t->lost, t->outcomes[DP_COMPLETE],
				totals_with_user_stack(t), totals_complete(t));

	for (int i = DP_COMPLETE + 1; err == 0 && i < DP_N_OUTCOMES; i++)
		if (t->outcomes[i] > 0)
			err = write_comment(pprof, "%s: %" PRIu64 " (%s)", outcome_word(i),
					    t->outcomes[i], outcome_sentence(i));
	if (err == 0 && t->events != t->samples)
		err = write_comment(pprof, "scaled: the samples stand for %" PRIu64 " events",
				    t->events);
	if (err == 0 && value_is_time(&measured))
		err = write_comment(pprof, "time: %.3f ms, lost: %.3f ms", (double)t->time_ns / 1e6,
				    (double)t->lost_ns / 1e6);
	if (err == 0 && t->verified)
		err = comment_verified(pprof, t->verified);
	return err;
}

/* Of several files, the first has the totals of all. */
static int begin_file(struct pprof *pprof)
{
	struct report *report = &pprof->report;
	int err =
		pprof_writer_init(&pprof->writer, names_options(report->context.names), report->to);

	if (err < 0)
		return err;
	pprof->is_writing = true;
	pprof->n_samples = 0;
	pprof->n_events = 0;
	err = write_head(pprof, pprof->totals);
	if (err == 0)
		err = comment_context(pprof);
	if (err == 0)
		err = pprof->n_files == 0 ?
			      comment_totals(pprof, pprof->totals) :
			      write_comment(pprof, "file %u of several", pprof->n_files + 1);
	return err == 0 ? pprof_writer_reserve(&pprof->writer, &pprof->mappings) : err;
}

static int end_file(struct pprof *pprof)
{
	const struct report_parts *parts = pprof->report.context.parts;
	int err = pprof_writer_finish(&pprof->writer, &pprof->mappings);

	pprof_writer_done(&pprof->writer);
	pprof->is_writing = false;
	pprof->n_files++;
	if (err < 0 || !parts)
		return err;
	err = parts->end(parts->arg, pprof->n_events);
	if (pprof->end_err == 0)
		pprof->end_err = err;
	return 0;
}

/* True if the file has all that its readers take at once. */
static bool is_full(const struct pprof *pprof)
{
	const struct report_parts *parts = pprof->report.context.parts;

	return parts &&
	       (pprof->n_samples >= parts->max_samples || pprof->writer.size >= parts->max_size);
}

static int write_sample(const struct stack *stack, void *arg)
{
	struct pprof *pprof = arg;
	int err = 0;

	if (pprof->n_samples > 0 && is_full(pprof)) {
		err = end_file(pprof);
		if (err == 0)
			err = begin_file(pprof);
	}
	return err == 0 ? write_stack(pprof, stack) : err;
}

static int pprof_finish(struct report *report, const struct totals *totals)
{
	struct pprof *pprof = (struct pprof *)report;
	int err;

	pprof->n_values = values_of(&report->context, pprof->values);
	pprof->totals = totals;
	err = profile_for_each(pprof->profile, use_mappings, pprof);
	if (err == 0)
		err = code_mappings_number(&pprof->mappings);
	if (err == 0)
		err = begin_file(pprof);
	if (err == 0)
		err = profile_for_each(pprof->profile, write_sample, pprof);
	if (err == 0)
		err = end_file(pprof);
	return err == 0 ? pprof->end_err : err;
}

static void pprof_free(struct report *report)
{
	struct pprof *pprof = (struct pprof *)report;

	if (pprof->is_writing)
		pprof_writer_done(&pprof->writer);
	code_mappings_done(&pprof->mappings);
	symbolized_stack_done(&pprof->symbolized);
	profile_free(pprof->profile);
	free(pprof->locations);
	labels_done(&pprof->labels);
	free(pprof);
}

int report_pprof_new(struct report **ret)
{
	struct pprof *pprof = calloc(1, sizeof(*pprof));

	if (!pprof)
		return -ENOMEM;
	if (profile_new(PROFILE_THREAD | PROFILE_CPU | PROFILE_LABELS | PROFILE_LINES,
			&pprof->profile) < 0) {
		free(pprof);
		return -ENOMEM;
	}
	pprof->report.add = pprof_add;
	pprof->report.finish = pprof_finish;
	pprof->report.free = pprof_free;
	*ret = &pprof->report;
	return 0;
}
