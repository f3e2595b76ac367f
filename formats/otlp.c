// SPDX-License-Identifier: Apache-2.0
/*
 * A request of OpenTelemetry's profiles, as a collector takes it. docs/FORMAT.md says what is in
 * it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/sum.h"
#include "formats/code_mappings.h"
#include "formats/otlp_request.h"
#include "formats/report_format.h"
#include "report/own_label.h"
#include "report/profile.h"
#include "report/report.h"
#include "report/resource_label.h"
#include "report/symbolized.h"

/* An event of a stack. */
struct moment {
	uint64_t time_ns, value_ns, weight;
	uint32_t stack; /* by number, see profile_for_each() */
};

/*
 * What a location is found by again. Names are the report's, each once. Processes number code that is
 * in no file alike, so it may differ in its file and line alone.
 */
struct spot {
	const struct module *module;
	const char *name, *file;
	uint64_t address, line;
};

struct location {
	int32_t number;
	uint32_t n_functions;
};

struct otlp {
	struct report report;
	struct profile *profile;
	struct code_mappings mappings;
	struct moment *moments;
	size_t n_moments, moments_size;
	bool is_weighted;  /* some sample stands for several events */
	uint64_t n_events; /* of the request */
	struct otlp_type types[VALUES_MAX];
	size_t n_types;
	struct otlp_request request;
	bool has_request;
	int end_err; /* the first of report_parts.end */
	struct symbolized_stack symbolized;
	/* Of the request */
	struct element_table spots;
	struct location *locations; /* by number of the spot */
	size_t locations_size;
	/* Of the stack */
	int32_t *stack, *attributes;
	size_t stack_size, n_attributes, attributes_size;
	uint32_t n_stacks; /* written */
	size_t at;         /* the next moment */
};

/* Own labels by their names in the conventions; NULL: of the resource, or left out. */
static const struct {
	const char *own, *attribute;
} attribute_names[] = {
	{ "cpu", NULL },
	{ "pid", NULL },
	{ "comm", NULL },
	{ "tid", "thread.id" },
	{ "thread_name", "thread.name" },
	{ "outcome", "dwarfprof.outcome" },
	{ "state", "dwarfprof.state" },
};

static int otlp_add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	struct otlp *otlp = (struct otlp *)report;
	struct moment *moment;
	int err = code_mappings_add(&otlp->mappings, sample);

	if (err == 0)
		err = array_reserve(otlp->moments, otlp->n_moments, otlp->moments_size);
	if (err < 0)
		return err;
	moment = &otlp->moments[otlp->n_moments];
	*moment = (struct moment){ .time_ns = sample->time_ns,
				   .value_ns = sample->value_ns,
				   .weight = sample->weight };
	otlp->is_weighted |= sample->weight != 1;
	err = profile_add_numbered(otlp->profile, sample, &moment->stack);
	otlp->n_moments += err == 0;
	return err;
}

static struct otlp_type *add_type(struct otlp *otlp, const struct value *value)
{
	struct otlp_type *type = &otlp->types[otlp->n_types++];

	*type = (struct otlp_type){ .name = value->name,
				    .unit = value->unit,
				    .value = *value,
				    .has_times = true,
				    .has_values = otlp->is_weighted };
	return type;
}

/*
 * What has a period has no times if samples weigh more than one, because Pyroscope takes one value of each
 * then (pkg/ingester/otlp/convert.go).
 */
static void set_period(struct otlp *otlp, struct otlp_type *type, int64_t period)
{
	type->period = period;
	type->has_times = !otlp->is_weighted;
}

/* Samples of running threads at a rate: their number, and in the period the time between two. */
static void add_cpu_type(struct otlp *otlp)
{
	const struct value value = {
		.name = "samples", .unit = "count", .events = EVENT_BIT(DP_EVENT_CPU), .scale = 1
	};
	struct otlp_type *type = add_type(otlp, &value);

	type->period_name = "cpu";
	type->period_unit = "nanoseconds";
	set_period(otlp, type, 1000000000 / otlp->report.context.hz);
}

static void add_time_type(struct otlp *otlp, const struct value *value)
{
	struct otlp_type *type = add_type(otlp, value);

	type->has_values = true;
	/* The sum of two kinds, each of which has its times elsewhere. */
	if (value->events & (value->events - 1)) {
		type->has_times = false;
		type->period_name = value->name;
		type->period_unit = value->unit;
		type->period = 1;
	}
}

static void add_count_type(struct otlp *otlp, const struct value *value)
{
	struct otlp_type *type = add_type(otlp, value);

	type->period_name = value->name;
	type->period_unit = value->unit;
	set_period(otlp, type, otlp->report.context.period > 0 ? otlp->report.context.period : 1);
}

/* Each profile has one type of values: what pprof has several of. */
static void set_types(struct otlp *otlp)
{
	const struct report_context *context = &otlp->report.context;
	struct value values[VALUES_MAX];
	size_t n = values_of(context, values);

	if (context->n_several == 0 && context->hz > 0)
		add_cpu_type(otlp);
	for (size_t i = 0; i < n; i++) {
		if (values[i].is_own) {
			add_type(otlp, &values[i])->has_values = true;
		} else if (!value_is_time(&values[i])) {
			if (context->n_several > 0 || n == 1 || context->value)
				add_count_type(otlp, &values[i]);
		} else if (context->timed || values[i].events != EVENT_BIT(DP_EVENT_CPU)) {
			add_time_type(otlp, &values[i]);
		}
	}
}

static int use(const struct stack *stack, void *arg)
{
	struct otlp *otlp = arg;
	struct otlp_resource *resource;
	int err = otlp_request_resource(&otlp->request, &stack->common, &resource);

	for (size_t i = 0; err == 0 && i < stack->n_user; i++) {
		struct frame frame = stack_frame_unpack(&stack->user[i]);

		if (frame_is_in_binary(&frame) && frame.offset > 0)
			otlp_resource_use(resource, frame.module);
	}
	return err == 0 ? code_mappings_use(&otlp->mappings, stack) : err;
}

/* 0 in *ret: the frame is in no file, or a mark. */
static int add_mapping(struct otlp *otlp, const struct symbolized_frame *symbolized, int32_t *ret)
{
	const struct code_mapping *mapping = code_mappings_find(&otlp->mappings, symbolized);

	*ret = 0;
	return mapping ? otlp_mapping(&otlp->request.dictionary, mapping, ret) : 0;
}

static int find_location(struct otlp *otlp, const struct symbolized_frame *symbolized, size_t n,
			 const struct location **ret)
{
	const struct spot spot = { symbolized->module, symbolized->name, symbolized->file,
				   symbolized_code_address(symbolized), symbolized->line };
	size_t before = HASH_COUNT(otlp->spots.elements), n_functions;
	struct location *location;
	uint32_t number;
	int32_t mapping;
	int err;

	if (array_reserve(otlp->locations, before, otlp->locations_size) < 0)
		return -ENOMEM;
	err = element_table_add(&otlp->spots, &spot, sizeof(spot), &number);
	if (err < 0)
		return err;
	location = &otlp->locations[number];
	*ret = location;
	if (number < before)
		return 0;
	err = add_mapping(otlp, symbolized, &mapping);
	if (err == 0)
		err = otlp_location(&otlp->request.dictionary, symbolized, n, mapping,
				    &location->number, &n_functions);
	if (err == 0)
		location->n_functions = (uint32_t)n_functions;
	return err;
}

/* Leaves out the middle of a stack that is too deep for its reader, with a mark there. */
static int cut_stack(struct otlp *otlp, size_t *n)
{
	size_t skipped, leaf = symbolized_keep(*n, otlp->report.context.max_frames, &skipped);
	const struct location *mark;

	if (skipped == 0)
		return 0;
	if (find_location(otlp, &symbolized_cut, 1, &mark) < 0)
		return -ENOMEM;
	otlp->stack[leaf] = mark->number;
	memmove(&otlp->stack[leaf + 1], &otlp->stack[leaf + skipped],
		(*n - leaf - skipped) * sizeof(*otlp->stack));
	*n -= skipped - 1;
	return 0;
}

static int add_stack(struct otlp *otlp, int32_t *ret)
{
	const struct symbolized_stack *symbolized = &otlp->symbolized;
	const struct location *location;
	size_t n = 0;

	for (size_t i = 0; i < symbolized->n; i += location->n_functions) {
		int err = find_location(otlp, &symbolized->items[i], symbolized->n - i, &location);

		if (err == 0)
			err = array_reserve(otlp->stack, n, otlp->stack_size);
		if (err < 0)
			return err;
		otlp->stack[n++] = location->number;
	}
	if (cut_stack(otlp, &n) < 0)
		return -ENOMEM;
	return otlp_stack(&otlp->request.dictionary, otlp->stack, n, ret);
}

static int add_attribute(struct otlp *otlp, const char *key, const struct label *label)
{
	int err = array_reserve(otlp->attributes, otlp->n_attributes, otlp->attributes_size);

	if (err == 0)
		err = otlp_attribute(&otlp->request.dictionary, key, label,
				     &otlp->attributes[otlp->n_attributes]);
	otlp->n_attributes += err == 0;
	return err;
}

static const char *attribute_name(const char *own)
{
	for (size_t i = 0; i < ARRAY_SIZE(attribute_names); i++)
		if (strcmp(attribute_names[i].own, own) == 0)
			return attribute_names[i].attribute;
	return own;
}

static bool is_own_attribute(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(attribute_names); i++)
		if (attribute_names[i].attribute && strcmp(attribute_names[i].attribute, key) == 0)
			return true;
	return false;
}

static int add_own_labels(struct otlp *otlp, const struct sample *sample)
{
	const struct own_label *own;
	struct label label;
	int err = 0;

	for (size_t i = 0; err == 0 && (own = own_label(i)); i++) {
		const char *name = attribute_name(own->key);

		if (name && own_label_get(own, sample, &label) && !own_label_is_usual(own, &label))
			err = add_attribute(otlp, name, &label);
	}
	return err;
}

/* Reads a number of 2 * n hex digits that is not 0. */
static bool parse_id(const struct label *label, const char *key, size_t n, uint8_t *ret)
{
	bool is_zero = true;

	if (strcmp(label->key, key) != 0 || !label->text || strlen(label->text) != 2 * n ||
	    strspn(label->text, "0123456789abcdefABCDEF") != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const char digits[] = { label->text[2 * i], label->text[2 * i + 1], '\0' };

		ret[i] = (uint8_t)strtoul(digits, NULL, 16);
		is_zero &= ret[i] == 0;
	}
	return !is_zero;
}

/* The span that a sample belongs to, if its labels say so. */
static bool find_span(const struct label_set *labels, uint8_t trace_id[16], uint8_t span_id[8])
{
	bool has_trace = false, has_span = false;
	struct label label;
	size_t at = 0;

	while (label_set_next(labels, &at, &label)) {
		has_trace |= parse_id(&label, LABEL_TRACE_ID, 16, trace_id);
		has_span |= parse_id(&label, LABEL_SPAN_ID, 8, span_id);
	}
	return has_trace && has_span;
}

/* A label with the key of one of our attributes would be taken for it, so it gets another key. */
static int add_labels(struct otlp *otlp, const struct label_set *labels, bool has_link)
{
	struct label label;
	size_t at = 0;
	int err = 0;

	while (err == 0 && label_set_next(labels, &at, &label)) {
		_cleanup_free_ char *key = NULL;

		if (resource_label_has_key(label.key) ||
		    (has_link && label_is_of_span(label.key)) ||
		    (otlp->report.context.n_several > 0 && strcmp(label.key, REPORT_EVENT) == 0))
			continue;
		if (asprintf(&key, "%s%s", is_own_attribute(label.key) ? "label:" : "", label.key) <
		    0)
			return -ENOMEM;
		err = add_attribute(otlp, key, &label);
	}
	return err;
}

static int compare_numbers(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static int identify(struct otlp *otlp, const struct stack *stack, struct otlp_identity *ret)
{
	uint8_t trace_id[16], span_id[8];
	bool has_link = find_span(stack->common.labels, trace_id, span_id);
	int err;

	*ret = (struct otlp_identity){ 0 };
	otlp->n_attributes = 0;
	err = add_stack(otlp, &ret->stack);
	if (err == 0 && has_link)
		err = otlp_link(&otlp->request.dictionary, trace_id, span_id, &ret->link);
	if (err == 0)
		err = add_own_labels(otlp, &stack->common);
	if (err == 0)
		err = add_labels(otlp, stack->common.labels, has_link);
	if (err < 0)
		return err;
	if (otlp->n_attributes > 0)
		qsort(otlp->attributes, otlp->n_attributes, sizeof(*otlp->attributes),
		      compare_numbers);
	ret->attributes = otlp->attributes;
	ret->n_attributes = otlp->n_attributes;
	return 0;
}

static int add_moment(struct otlp *otlp, const struct stack *stack, struct otlp_resource *resource,
		      const struct otlp_identity *identity, const struct moment *moment)
{
	struct stack one = *stack;
	int err = 0;

	otlp->n_events += moment->weight;
	one.count = moment->weight;
	one.time_ns = sum_of_equal(moment->weight, moment->value_ns);
	for (size_t i = 0; err == 0 && i < otlp->n_types; i++) {
		uint64_t value = value_of_stack(&otlp->types[i].value, &one);

		if (value > 0)
			err = otlp_request_add(&otlp->request, resource, i, identity,
					       moment->time_ns, value);
	}
	return err;
}

/* True if the request has all that receivers take at once. */
static bool is_full(const struct otlp *otlp)
{
	const struct report_parts *parts = otlp->report.context.parts;

	return parts && (otlp->request.n_samples >= parts->max_samples ||
			 otlp_request_size(&otlp->request) >= parts->max_size);
}

/* Nobody has to be sent a request without samples. */
static int end_request(struct otlp *otlp, uint64_t duration_ns)
{
	const struct report_parts *parts = otlp->report.context.parts;
	uint64_t n_events = otlp->n_events;
	int err;

	if (parts && otlp->request.n_samples == 0)
		return 0;
	otlp->n_events = 0;
	err = otlp_request_write(&otlp->request, duration_ns, otlp->report.to);
	element_table_done(&otlp->spots);
	if (err < 0 || !parts)
		return err;
	err = parts->end(parts->arg, n_events);
	if (otlp->end_err == 0)
		otlp->end_err = err;
	return 0;
}

struct writing {
	struct otlp *otlp;
	uint64_t duration_ns;
};

static int write_stack(const struct stack *stack, void *arg)
{
	const struct writing *writing = arg;
	struct otlp *otlp = writing->otlp;
	struct otlp_resource *resource;
	struct otlp_identity identity;
	uint32_t number = otlp->n_stacks++;
	int err = symbolized_stack_make(&otlp->report, stack, SYMBOLIZED_LINES, &otlp->symbolized);

	if (err == 0)
		err = otlp_request_resource(&otlp->request, &stack->common, &resource);
	if (err == 0)
		err = identify(otlp, stack, &identity);
	while (err == 0 && otlp->at < otlp->n_moments && otlp->moments[otlp->at].stack == number) {
		if (is_full(otlp)) {
			err = end_request(otlp, writing->duration_ns);
			if (err == 0)
				err = identify(otlp, stack, &identity);
		}
		if (err == 0)
			err = add_moment(otlp, stack, resource, &identity,
					 &otlp->moments[otlp->at++]);
	}
	return err;
}

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int otlp_finish(struct report *report, const struct totals *totals)
{
	struct otlp *otlp = (struct otlp *)report;
	struct writing writing = { otlp, totals->duration_ns };
	int err;

	set_types(otlp);
	err = otlp_request_init(&otlp->request, &report->context, otlp->types, otlp->n_types);
	if (err < 0)
		return err;
	otlp->has_request = true;
	otlp->request.lost = totals->lost;
	if (otlp->n_moments > 0)
		qsort(otlp->moments, otlp->n_moments, sizeof(*otlp->moments), compare_moments);
	err = profile_for_each(otlp->profile, use, otlp);
	if (err == 0)
		err = profile_for_each(otlp->profile, write_stack, &writing);
	if (err == 0)
		err = end_request(otlp, totals->duration_ns);
	return err == 0 ? otlp->end_err : err;
}

static void otlp_free(struct report *report)
{
	struct otlp *otlp = (struct otlp *)report;

	if (otlp->has_request)
		otlp_request_done(&otlp->request);
	code_mappings_done(&otlp->mappings);
	symbolized_stack_done(&otlp->symbolized);
	profile_free(otlp->profile);
	element_table_done(&otlp->spots);
	free(otlp->locations);
	free(otlp->moments);
	free(otlp->stack);
	free(otlp->attributes);
	free(otlp);
}

int report_otlp_new(struct report **ret)
{
	struct otlp *otlp = calloc(1, sizeof(*otlp));

	if (!otlp)
		return -ENOMEM;
	if (profile_new(PROFILE_THREAD | PROFILE_LABELS | PROFILE_LINES, &otlp->profile) < 0) {
		free(otlp);
		return -ENOMEM;
	}
	otlp->mappings.hashes = true;
	otlp->report.add = otlp_add;
	otlp->report.finish = otlp_finish;
	otlp->report.free = otlp_free;
	*ret = &otlp->report;
	return 0;
}
