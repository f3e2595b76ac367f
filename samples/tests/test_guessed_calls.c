// SPDX-License-Identifier: Apache-2.0
/* Values of a call that the kernel has guessed, as labels of a stack that user space has walked. */
#include <criterion/criterion.h>

#include "samples/call_table.h"
#include "samples/label_values.h"
#include "samples/probed_code.h"
#include "samples/value_table.h"

#define FIRST DP_SPAN_ID(1, 0, 3)
#define SECOND DP_SPAN_ID(1, 0, 4)

/* 32 bytes at 0x1100 of a file and 16 at 0x1300, mapped at 0x40100 and 0x40300, and the stack of a thread there. */
static struct binary binary = { .id = { .device = 8, .inode = 12 } };
static struct mapping mapping = {
	.start = 0x40000, .end = 0x41000, .offset = 0x1000, .binary = &binary
};
static struct snapshot snapshot = { .n_mappings = 1, .mappings = &mapping };
static const struct probed_code code = {
	.device = 8,
	.inode = 12,
	.n = 2,
	.starts = { 0x1100, 0x1300 },
	.places.of = { { .size = 32, .id = FIRST }, { .size = 16, .id = SECOND } },
};
static struct frame stack[3];
static const struct sample sample = { .user = stack, .n_user = 3, .outcome = DP_COMPLETE };
static const uint64_t cfas[] = { 0x7010, 0x7040, 0 };
static const struct value_forms forms = {
	.n = 1, .of = { { .name = "x", .type = VALUE_U32, .unit = "" } }
};
static struct value_labels labels;
static struct label_set *set;

static struct {
	struct dp_names names;
	struct dp_sample sample;
	__u64 frames[1];
	struct dp_values values;
	__u64 words[2];
} record;

static void begin(void)
{
	const uint64_t addresses[] = { 0x50101, 0x40108, 0x50202 };

	for (size_t i = 0; i < 3; i++)
		stack[i] = (struct frame){ .address = addresses[i], .method = DP_METHOD_TABLE };
	record.sample =
		(struct dp_sample){ .n_user = 1, .time_ns = 150, .flags = DP_SAMPLE_VALUES };
	record.values = (struct dp_values){
		.part = { DP_RECORD_VALUES, sizeof(record.values) + sizeof(record.words) },
		.n = 1,
		.is_unknown = DP_CALL_GUESSED(FIRST),
	};
	value_labels_init(&labels, &forms, 1);
}

static void end(void)
{
	set = label_set_free(set);
}

TestSuite(guessed_calls, .init = begin, .fini = end);

/* It would be in a call with this CFA, whose value is 7. known: of its frames. */
static void read_labels(uint64_t cfa, const uint64_t *known)
{
	const struct label_context context = { .named = (const void *)&record,
					       .walked = &snapshot,
					       .sample = &sample,
					       .cfas = known };
	_cleanup_(label_list_done) struct label_list list = { 0 };

	end();
	record.words[0] = 7;
	record.words[1] = cfa;
	cr_assert_eq(labels.source.add(&labels.source, &context, &list), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
}

static bool is_seven(void)
{
	struct label label;
	size_t at = 0;

	return label_set_next(set, &at, &label) && !label.text && label.number == 7 && !set->is_cut;
}

static void check(void)
{
	read_labels(0x7040, cfas);
	cr_assert(is_seven());
	read_labels(0x7010, cfas);
	cr_assert(label_set_has(set, "x", "<unknown>"), "the CFA of another frame");
	read_labels(0x7040, NULL);
	cr_assert(label_set_has(set, "x", "<unknown>"), "the kernel has walked it");
	read_labels(0, (const uint64_t[]){ 0x7010, 0, 0 });
	cr_assert(label_set_has(set, "x", "<unknown>"), "its CFA is not known");
	stack[1].address = 0x40308;
	read_labels(0x7040, cfas);
	cr_assert(label_set_has(set, "x", "<unknown>"), "a frame of the other function");
	record.values.is_unknown = DP_CALL_GUESSED(SECOND);
	read_labels(0x7040, cfas);
	cr_assert(is_seven());
	stack[1].address = 0x50108;
	read_labels(0x7040, cfas);
	cr_assert_eq(set->size, 0, "it is in no call");
}

Test(guessed_calls, have_values_if_the_walk_meets_them)
{
	labels.code = &code;
	labels.n_code = 1;
	check();
}

Test(guessed_calls, are_unknown_in_a_short_record)
{
	labels.code = &code;
	labels.n_code = 1;
	record.values.part.size = sizeof(record.values);
	read_labels(0x7040, cfas);
	cr_assert(label_set_has(set, "x", "<unknown>"));
}

Test(guessed_calls, may_be_of_added_probes)
{
	struct call_period period = { .forms = forms, .code = code };
	unsigned int probe;

	period.code.places.of[0].id = period.code.places.of[1].id = 0;

	cr_assert_eq(value_table_new(&labels.added), 0);
	cr_assert_eq(call_table_new(&labels.calls), 0);
	cr_assert_eq(value_table_add(labels.added, &forms, "", 0, 0), 0);
	cr_assert_eq(call_table_prepare(labels.calls, &period, 100, &probe), 0);
	call_table_place(labels.calls, probe, &code.places);
	call_table_begin(labels.calls, probe, 100);
	check();
	value_table_free(labels.added);
	call_table_free(labels.calls);
}
