/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_TESTS_SPANS_TEST_H
#define DP_SAMPLES_TESTS_SPANS_TEST_H

/* Calls of a thread, by records as the kernel sends them, and the samples that are reported. */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "samples/label_values.h"
#include "samples/spans.h"

#define MIN 100 /* the least time */
#define TID 7
#define ROOT 0x8000
#define MAX 64

static struct spans spans;
static struct value_forms forms[1];
static struct value_labels values;
static uint64_t settled;
/* What was reported: when it was taken, and its number; -1: it is in a call that is not known. */
static struct {
	uint64_t time;
	int64_t number;
} reported[MAX];
static size_t n_reported;
static int report_err;

/* Calls have one value. */
static inline void set_up_values(void)
{
	forms[0].n = 1;
	forms[0].of[0] = (struct value_form){ .name = "number", .type = VALUE_U64, .unit = "" };
	value_labels_init(&values, forms, 1);
	settled = 10000;
}

static inline int report(void *arg, const struct sample *sample)
{
	struct label label;
	int64_t number = INT64_MIN;
	size_t at = 0, n = 0;

	for (; label_set_next(sample->labels, &at, &label); n++) {
		bool is_unknown = label.text && strcmp(label.text, "<unknown>") == 0;

		if (strcmp(label.key, "number") == 0)
			number = is_unknown ? -1 : label.number;
		else
			cr_assert_str_eq(label.text, number < 0 ? "<unknown>" : "f");
	}
	cr_assert_eq(n, 2);
	cr_assert_lt(n_reported, MAX);
	reported[n_reported].time = sample->time_ns;
	reported[n_reported++].number = number;
	return report_err;
}

static inline void expect(size_t i, uint64_t time, int64_t number)
{
	cr_assert_lt(i, n_reported);
	cr_assert_eq(reported[i].time, time, "%lu", (unsigned long)reported[i].time);
	cr_assert_eq(reported[i].number, number, "%ld", (long)reported[i].number);
}

static inline int begin_of(uint64_t begin_ns, uint64_t number)
{
	const struct {
		struct dp_span_begin begin;
		struct dp_values values;
		__u64 number;
	} record = {
		.begin = { { DP_RECORD_SPAN_BEGIN, sizeof(record) }, TID, begin_ns },
		.values = { .part = { DP_RECORD_VALUES,
				      sizeof(record.values) + sizeof(record.number) },
			    .n = 1 },
		.number = number,
	};

	return spans_on_begin(&spans, &record.begin);
}

/* Calls have their begin as their number. */
static inline void begin(uint64_t begin_ns)
{
	cr_assert_eq(begin_of(begin_ns, begin_ns), 0);
}

static inline void end(uint64_t begin_ns, uint64_t end_ns, enum dp_span_how how)
{
	const struct dp_span_end record = {
		.part = { DP_RECORD_SPAN_END, sizeof(record) },
		.tid = TID,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.how = how,
	};

	cr_assert_eq(spans_on_end(&spans, &record), 0);
}

#endif
