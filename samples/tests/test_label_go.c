// SPDX-License-Identifier: Apache-2.0
/* Go's labels as the kernel sends them, for a sample with a frame in Go code. */
#include <criterion/criterion.h>

#include "samples/label_source.h"

static struct {
	struct dp_names names;
	struct dp_sample sample;
	__u64 frames[1];
	struct dp_labels labels;
	struct dp_label sizes;
	char texts[6];
} record = {
	.sample = { .n_user = 1, .flags = DP_SAMPLE_LABELS },
	.labels = { .part = { DP_RECORD_LABELS, sizeof(record.labels) + 8 }, .n = 1 },
	.sizes = { 3, 3 },
	.texts = "keytxt",
};

static struct module module;
static struct table table = { .labels_form = DP_LABELS_GO_LIST };
static struct binary binary = { .table = &table,
				.module = &module,
				.elf = { .go_end = UINT64_MAX } };
static struct mapping mapping = { .binary = &binary };
static const struct snapshot snapshot = { .labels = 1, .n_mappings = 1, .mappings = &mapping };
static const struct frame frame = { .module = &module };
static const struct sample sample = { .user = &frame, .n_user = 1, .outcome = DP_COMPLETE };

static struct label_set *read_labels(void)
{
	const struct label_context context = { (const void *)&record, &snapshot, &snapshot,
					       &sample };
	struct label_list list = { 0 };
	struct label_set *set;

	cr_assert_eq(label_go.add(&label_go, &context, &list), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	label_list_done(&list);
	return set;
}

Test(label_go, are_those_of_the_record)
{
	_cleanup_(label_set_freep) struct label_set *set = read_labels();

	cr_assert(label_set_has(set, "key", "txt") && !set->is_cut);
}

/* The profile goes on, with what can be read. */
Test(label_go, are_cut_if_the_record_has_fewer)
{
	_cleanup_(label_set_freep) struct label_set *set = NULL;

	record.labels.n = 2;
	set = read_labels();
	cr_assert(label_set_has(set, "key", "txt") && set->is_cut);
}
