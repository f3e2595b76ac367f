/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_TESTS_LABELLED_RECORD_H
#define DP_SAMPLES_TESTS_LABELLED_RECORD_H

/* A sample as the kernel sends it, with values, and the labels that are made of these. */

#include <criterion/criterion.h>
#include <string.h>

#include "samples/call_table.h"
#include "samples/label_values.h"
#include "samples/value_table.h"

static struct {
	struct dp_names names;
	struct dp_sample sample;
	__u64 frames[1];
	struct dp_labels labels;
	__u64 more_labels;
	struct dp_values values;
	__u64 words[64];
} record;

static struct value_forms forms[2];
static struct value_labels labels;
static struct label_set *set;

static void begin(void)
{
	record.sample =
		(struct dp_sample){ .n_user = 1, .flags = DP_SAMPLE_LABELS | DP_SAMPLE_VALUES };
	record.labels.part = (struct dp_part){ DP_RECORD_LABELS, 16 };
	record.values = (struct dp_values){ .list = 1 };
	value_labels_init(&labels, forms, 2);
}

static void end(void)
{
	set = label_set_free(set);
}

static inline int64_t number(const char *key)
{
	struct label label;
	size_t at = 0;

	while (label_set_next(set, &at, &label))
		if (strcmp(label.key, key) == 0 && !label.text)
			return label.number;
	cr_assert_fail("no number %s", key);
	return 0;
}

/* Of whose call it is a value. */
static inline unsigned int probe(const char *key)
{
	struct label label;
	size_t at = 0;

	while (label_set_next(set, &at, &label))
		if (strcmp(label.key, key) == 0)
			return label.probe;
	cr_assert_fail("no label %s", key);
	return 0;
}

#endif
