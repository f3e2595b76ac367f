// SPDX-License-Identifier: Apache-2.0
/* Values of calls of several probes, as labels. */
#include <criterion/criterion.h>
#include <string.h>

#include "samples/tests/labelled_record.h"

TestSuite(call_values, .init = begin, .fini = end);

/* Values of calls of several probes: of each, a word; NULL: it is not known. */
static void put_calls(unsigned int probes, const __u64 *const words[DP_MAX_LABEL_PROBES],
		      const unsigned int lists[DP_MAX_LABEL_PROBES])
{
	struct dp_calls head = { .part.type = DP_RECORD_CALLS, .probes = (__u16)probes };
	char *to = (char *)&record.values + sizeof(head);

	for (size_t i = 0; i < DP_MAX_LABEL_PROBES; i++) {
		struct dp_values values = { .part = { DP_RECORD_VALUES, sizeof(values) },
					    .is_unknown = 1 };

		if (!(probes >> i & 1))
			continue;
		if (words[i])
			values = (struct dp_values){
				.part = { DP_RECORD_VALUES, sizeof(values) + sizeof(__u64) },
				.list = (__u16)lists[i],
				.n = 1,
			};
		to = mempcpy(to, &values, sizeof(values));
		if (words[i])
			to = mempcpy(to, words[i], sizeof(__u64));
	}
	head.part.size = (__u16)(to - (char *)&record.values);
	memcpy(&record.values, &head, sizeof(head));
	record.sample.flags = DP_SAMPLE_LABELS | DP_SAMPLE_CALLS;
}

static void read_calls(void)
{
	const struct label_context context = { .named = (const void *)&record };
	_cleanup_(label_list_done) struct label_list list = { 0 };

	cr_assert(sample_part_is_whole((const struct dp_part *)(const void *)&record.values));
	cr_assert_eq(labels.source.add(&labels.source, &context, &list), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
}

Test(call_values, are_of_several_calls)
{
	static const struct value_forms lists[] = {
		{ .n = 1, .of = { { .name = "x", .type = VALUE_U32, .unit = "" } } },
		{ .n = 1, .of = { { .name = "y", .type = VALUE_U32, .unit = "" } } },
		{ .n = 1, .of = { { .name = "y", .type = VALUE_U8, .unit = "" } } },
		{ .n = 1, .of = { { .name = "z", .type = VALUE_U32, .unit = "" } } },
	};
	static const struct probed_code code[] = { { .list = 0 }, { .list = 1 }, { .list = 3 } };
	const __u64 word = 0x107;

	value_labels_init(&labels, lists, 4);
	labels.code = code;
	labels.n_code = 3;
	put_calls(1 | 2 | 4, (const __u64 *const[]){ &word, &word, &word, NULL },
		  (const unsigned int[]){ 0, 2, 3, 0 });
	read_calls();
	cr_assert(number("x") == 0x107 && number("y") == 7 && number("z") == 0x107);
	cr_assert(probe("x") == 1 && probe("y") == 2 && probe("z") == 3);
	end();
	put_calls(2 | 4, (const __u64 *const[]){ NULL, &word, NULL, NULL },
		  (const unsigned int[]){ 0, 1, 0, 0 });
	read_calls();
	cr_assert(number("y") == 0x107 && label_set_has(set, "z", "<unknown>"));
	cr_assert(probe("y") == 2 && probe("z") == 3);
	cr_assert(!label_set_has(set, "x", "<unknown>") && !set->is_cut);
	end();
	put_calls(1, (const __u64 *const[]){ &word, NULL, NULL, NULL },
		  (const unsigned int[]){ 4, 0, 0, 0 });
	read_calls();
	cr_assert(set->is_cut && set->size == 0);
}

Test(call_values, are_of_several_added_calls)
{
	struct call_period x = {
		.code.inode = 1,
		.forms = { .n = 1, .of = { { .name = "x", .type = VALUE_U32, .unit = "" } } }
	};
	struct call_period y = {
		.code.inode = 2,
		.forms = { .n = 1, .of = { { .name = "y", .type = VALUE_U32, .unit = "" } } }
	};
	unsigned int first, second;
	const __u64 word = 5;

	cr_assert_eq(value_table_new(&labels.added), 0);
	cr_assert_eq(call_table_new(&labels.calls), 0);
	cr_assert_eq(value_table_add(labels.added, &y.forms, "", 0, 0), 0);
	cr_assert_eq(call_table_prepare(labels.calls, &x, 1, &first), 0);
	cr_assert_eq(call_table_prepare(labels.calls, &y, 1, &second), 0);
	call_table_begin(labels.calls, first, 1);
	call_table_begin(labels.calls, second, 1);
	record.sample.time_ns = 10;
	put_calls(1 | 2, (const __u64 *const[]){ NULL, &word, NULL, NULL },
		  (const unsigned int[]){ 0, 0, 0, 0 });
	read_calls();
	cr_assert(label_set_has(set, "x", "<unknown>") && number("y") == 5);
	cr_assert(probe("x") == 1 + first && probe("y") == 1 + second);
	end();
	put_calls(2, (const __u64 *const[]){ NULL, &word, NULL, NULL },
		  (const unsigned int[]){ 0, 0, 0, 0 });
	read_calls();
	cr_assert(!label_set_has(set, "x", "<unknown>") && number("y") == 5);
	value_table_free(labels.added);
	call_table_free(labels.calls);
}
