// SPDX-License-Identifier: Apache-2.0
/* Custom labels as the kernel sends them. */
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

/* With code of Go, too, that a frame is in. */
static struct module module;
static struct table tables[] = { { .labels_form = DP_LABELS_CONTEXT },
				 { .labels_form = DP_LABELS_CUSTOM_V1 },
				 { .labels_form = DP_LABELS_CUSTOM_V0 } };
static struct binary binaries[] = {
	{ .table = &tables[0] },
	{ .table = &tables[1], .module = &module, .elf = { .go_end = UINT64_MAX } },
	{ .table = &tables[2] },
};
static struct mapping mappings[] = { { .binary = &binaries[0] },
				     { .binary = &binaries[1] },
				     { .binary = &binaries[2] } };
static const struct frame frame = { .module = &module };
static const struct sample sample = { .user = &frame, .n_user = 1, .outcome = DP_READ_FAULT };

static struct snapshot snapshot_of(size_t labels, size_t n)
{
	return (struct snapshot){ .labels = (uint32_t)labels,
				  .has_labels = true,
				  .n_mappings = n,
				  .mappings = mappings };
}

static void expect(const struct label_source *source, const struct snapshot *in_kernel,
		   const struct snapshot *walked, bool has_label, bool is_cut)
{
	const struct label_context context = { (const void *)&record, in_kernel, walked, &sample };
	_cleanup_(label_list_done) struct label_list list = { 0 };
	_cleanup_(label_set_freep) struct label_set *set = NULL;

	cr_assert_eq(source->add(source, &context, &list), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	cr_expect_eq(label_set_has(set, "key", "txt"), has_label);
	cr_expect_eq(list.n, has_label);
	cr_expect_eq(set->is_cut, is_cut);
}

/* Whatever is on the stack. */
Test(label_custom, are_those_of_the_record)
{
	const struct snapshot first = snapshot_of(2, 3), second = snapshot_of(3, 3);

	expect(&label_custom, &first, &first, true, false);
	expect(&label_custom, &second, &second, true, false);
	record.labels.n = 2;
	expect(&label_custom, &first, &first, true, true);
	record.sample.flags = 0;
	expect(&label_custom, &first, &first, false, false);
}

Test(label_custom, are_not_those_of_go)
{
	const struct snapshot snapshot = snapshot_of(2, 3);

	expect(&label_go, &snapshot, &snapshot, false, false);
}

/* The kernel has read others, or has not looked at the sample. */
Test(label_custom, are_unknown_where_nobody_looked)
{
	const struct snapshot context = snapshot_of(1, 3), custom = snapshot_of(2, 3);
	const struct snapshot alone = snapshot_of(1, 1);

	record.sample.flags = 0;
	expect(&label_custom, &context, &context, false, true);
	expect(&label_custom, NULL, &custom, false, true);
	expect(&label_custom, NULL, NULL, false, false);
	expect(&label_custom, &alone, &alone, false, false);
	expect(&label_trace, &custom, &custom, false, true);
	tables[0].other_labels = 1U << DP_LABELS_CUSTOM_V1;
	expect(&label_custom, &alone, &alone, false, true);
	expect(&label_trace, &alone, &alone, false, false);
}
