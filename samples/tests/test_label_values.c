// SPDX-License-Identifier: Apache-2.0
/* Values as the kernel sends them, as labels. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "samples/tests/labelled_record.h"

TestSuite(label_values, .init = begin, .fini = end);

static const char *own; /* the key of a label that the program has set; NULL: none */
static struct own_number own_numbers[2];

static void set_number(const char *name)
{
	own_numbers[0] = (struct own_number){ name, NULL };
	labels.numbers = own_numbers;
	labels.n_numbers = 1;
}

static void expect_own(size_t list, const char *name, const char *unit)
{
	struct own_number found;

	cr_assert(value_labels_own(&labels, list, &found));
	cr_assert_str_eq(found.name, name);
	cr_assert_str_eq(found.unit, unit);
}

static void put(enum value_type type, __u64 word)
{
	struct value_forms *f = &forms[1];

	f->of[f->n] = (struct value_form){ .type = type, .unit = "" };
	snprintf(f->of[f->n].name, sizeof(f->of[f->n].name), "v%zu", f->n);
	f->n++;
	record.words[record.values.n++] = word;
}

static void read_labels(size_t n_words)
{
	const struct label_context context = { .named = (const void *)&record };
	_cleanup_(label_list_done) struct label_list list = { 0 };

	if (own)
		cr_assert_eq(label_list_add(&list, &(struct label){ own, .text = "own" }), 0);

	record.values.part = (struct dp_part){ DP_RECORD_VALUES, (__u16)(sizeof(record.values) +
									 n_words * sizeof(__u64)) };
	cr_assert_eq(labels.source.add(&labels.source, &context, &list), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
}

Test(label_values, are_numbers_of_their_width)
{
	const __u64 word = 0xfedcba9876543280;

	put(VALUE_U8, word);
	put(VALUE_S8, word);
	put(VALUE_U32, word);
	put(VALUE_S64, word);
	put(VALUE_S16, 0x8000);
	read_labels(5);
	cr_assert_eq(number("v0"), 0x80);
	cr_assert_eq(number("v1"), -0x80);
	cr_assert_eq(number("v2"), 0x76543280);
	cr_assert_eq(number("v3"), (int64_t)word);
	cr_assert_eq(number("v4"), INT16_MIN);
	cr_assert(!set->is_cut);
}

/* Keys are in their order; beside a float in memory is something else. */
Test(label_values, are_floats_with_the_digits_that_tell_them_apart)
{
	static const float floats[] = { 0.1F, 16777215, INFINITY };
	static const double doubles[] = { 0.1F, -1.0 / 3, 1e300, -0.0 };
	static const char *const texts[] = {
		"0.1",    "16777215", "inf", "0.10000000149011612", "-0.3333333333333333",
		"1e+300", "-0"
	};
	struct label label;
	size_t at = 0;

	for (size_t i = 0; i < 7; i++) {
		put(i < 3 ? VALUE_F32 : VALUE_F64, UINT64_MAX);
		memcpy(&record.words[i], i < 3 ? (void *)&floats[i] : (void *)&doubles[i - 3],
		       i < 3 ? sizeof(float) : sizeof(double));
	}
	read_labels(7);
	for (size_t i = 0; label_set_next(set, &at, &label); i++)
		cr_assert(strcmp(label.text, texts[i]) == 0 && label.is_decimal == (i != 2));
}

Test(label_values, are_texts_where_a_number_cannot_tell)
{
	put(VALUE_U64, UINT64_MAX);
	put(VALUE_X16, 0xabcdef);
	put(VALUE_BOOL, 0x100);
	put(VALUE_CHAR, 'z');
	put(VALUE_CHAR, '\n');
	put(VALUE_PTR, 0);
	read_labels(6);
	cr_assert(label_set_has(set, "v0", "18446744073709551615"));
	cr_assert(label_set_has(set, "v1", "0xcdef"));
	cr_assert(label_set_has(set, "v2", "false"));
	cr_assert(label_set_has(set, "v3", "z"));
	cr_assert(label_set_has(set, "v4", "\\x0a"));
	cr_assert(label_set_has(set, "v5", "0x0"));
}

Test(label_values, are_names_of_enumerators_where_one_fits)
{
	static const struct enumerator names[] = { { 3, "three" }, { (uint64_t)-2, "below" } };

	put(VALUE_S8, 0xfffe);
	put(VALUE_U8, 3);
	put(VALUE_U8, 4);
	for (size_t i = 0; i < 3; i++) {
		forms[1].of[i].names = names;
		forms[1].of[i].n_names = 2;
	}
	set_number("v1");
	read_labels(3);
	cr_assert(label_set_has(set, "v0", "below"));
	cr_assert_eq(number("v2"), 4);
	record.sample.weight = 2;
	cr_assert_eq(value_labels_number(&labels, (const void *)&record), 3);
}

Test(label_values, are_none_if_zero_says_so)
{
	put(VALUE_BOOL, 0);
	put(VALUE_BOOL, 0);
	put(VALUE_BOOL, 1);
	forms[1].of[1].zero_is_none = forms[1].of[2].zero_is_none = true;
	read_labels(3);
	cr_assert(label_set_has(set, "v0", "false"));
	cr_assert(!label_set_has(set, "v1", "false"));
	cr_assert(label_set_has(set, "v2", "true"));
}

/* They precede those of a call that labels the sample. */
Test(label_values, are_also_of_what_is_thrown)
{
	const struct value_forms call = {
		.n = 1, .of = { { .name = "call", .type = VALUE_U8, .unit = "" } }
	};

	put(VALUE_U8, 7);
	record.sample.flags = DP_SAMPLE_LABELS | DP_SAMPLE_THROWN;
	record.values.list = 200;
	read_labels(1);
	cr_assert(!set->size);
	end();
	labels.thrown = &forms[1];
	read_labels(1);
	cr_assert_eq(number("v0"), 7);
	end();
	record.sample.flags |= DP_SAMPLE_VALUES;
	memcpy(&record.words[1],
	       &(struct dp_values){ .part = { DP_RECORD_VALUES, sizeof(struct dp_values) + 8 },
				    .n = 1 },
	       sizeof(struct dp_values));
	record.words[3] = 9;
	value_labels_init(&labels, &call, 1);
	labels.thrown = &forms[1];
	read_labels(1);
	cr_assert(number("v0") == 7 && number("call") == 9 && !set->is_cut);
}

/* A text's words follow it, the next value follows these. */
static void put_text(const char *text)
{
	size_t n = strlen(text);

	put(VALUE_STR, n);
	record.values.texts |= (__u16)(1 << (record.values.n - 1));
	memcpy(&record.words[record.values.n], text, n);
}

Test(label_values, have_texts_with_whole_characters)
{
	put_text("ninebytes");
	record.words[3] = 5;
	forms[1].of[1] = (struct value_form){ .name = "next", .type = VALUE_U8, .unit = "" };
	forms[1].n = record.values.n = 2;
	read_labels(4);
	cr_assert(label_set_has(set, "v0", "ninebytes") && number("next") == 5 && !set->is_cut);
	end();
	forms[1].n = record.values.n = 0;
	record.values.texts = 0;
	put_text("gr\xc3");
	record.values.cut = 1;
	read_labels(2);
	cr_assert(label_set_has(set, "v0", "gr…") && set->is_cut);
}

/* A text of n bytes behind its length, which has no word. */
static void put_bytes(const char *bytes, size_t n)
{
	struct value_forms *f = &forms[1];

	f->of[0] = (struct value_form){ .type = VALUE_U64, .is_length = true };
	f->of[1] = (struct value_form){ .name = "v1", .type = VALUE_BYTES };
	f->of[2] = (struct value_form){ .name = "v2", .type = VALUE_U8, .unit = "" };
	f->n = record.values.n = 3;
	record.values.texts = 1 << 1;
	record.words[0] = n;
	memcpy(&record.words[1], bytes, n);
	record.words[1 + (n + 7) / 8] = 5;
}

Test(label_values, have_texts_behind_their_lengths)
{
	put_bytes("a\0b\xff\xc3\xa9\xc3", 7);
	read_labels(3);
	cr_assert(label_set_has(set, "v1", "a\\x00b\\xff\xc3\xa9\\xc3"));
	cr_assert(number("v2") == 5 && !set->is_cut && set->size > 0);
	set_number("v2");
	record.sample.weight = 3;
	cr_assert_eq(value_labels_number(&labels, (const void *)&record), 5);
	set_number("");
	cr_assert_eq(value_labels_number(&labels, (const void *)&record), 0);
	labels.n_numbers = 0;
	end();
	put_bytes("", 0);
	read_labels(2);
	cr_assert(label_set_has(set, "v1", "") && number("v2") == 5);
	end();
	record.values.cut = record.values.texts;
	put_bytes("caf\xc3", 4);
	read_labels(3);
	cr_assert(label_set_has(set, "v1", "caf…") && set->is_cut);
	end();
	put_bytes("\x80\x81\x82\x83", 4);
	read_labels(3);
	cr_assert(label_set_has(set, "v1", "\\x80\\x81\\x82\\x83…"));
	end();
	record.values.is_unknown = 1;
	read_labels(0);
	cr_assert(label_set_has(set, "v1", "<unknown>") && label_set_has(set, "v2", "<unknown>"));
	cr_assert(!label_set_has(set, "", "<unknown>"));
}

/* All of its bytes may be none of a character. */
Test(label_values, have_texts_of_bytes_up_to_the_longest)
{
	char bytes[DP_TEXT_CUT], wanted[4 * DP_TEXT_CUT + 1] = "";

	memset(bytes, 0xfe, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		strcpy(wanted + 4 * i, "\\xfe");
	put_bytes(bytes, sizeof(bytes));
	read_labels(34);
	cr_assert(label_set_has(set, "v1", wanted) && number("v2") == 5);
}

Test(label_values, tell_what_was_not_there)
{
	put(VALUE_U8, 0);
	put(VALUE_U8, 3);
	record.values.unread = 1;
	read_labels(2);
	cr_assert(label_set_has(set, "v0", "<unread>") && number("v1") == 3 && !set->is_cut);
}

/* Its word is where the name is. */
Test(label_values, tell_where_a_type_is_that_was_not_there)
{
	const struct named_sample *sample = (const void *)&record;

	put(VALUE_STR, 0x5000);
	put(VALUE_U8, 3);
	record.sample.flags = DP_SAMPLE_LABELS | DP_SAMPLE_THROWN;
	record.values.unread = 1;
	labels.thrown = &forms[1];
	read_labels(2);
	cr_assert(label_set_has(set, "v0", "<unread>") && number("v1") == 3 && !set->is_cut);
	cr_assert_eq(sample_unread_type(sample), 0x5000);
	record.values.unread = 2;
	cr_assert_eq(sample_unread_type(sample), 0, "another value");
	record.values.unread = 1;
	record.values.part.size = sizeof(record.values);
	cr_assert_eq(sample_unread_type(sample), 0, "the record is too short");
	record.sample.flags = DP_SAMPLE_LABELS | DP_SAMPLE_VALUES;
	cr_assert_eq(sample_unread_type(sample), 0, "no exception");
}

static uint64_t own_number(void)
{
	return value_labels_number(&labels, (const void *)&record);
}

/* It is no label then: equal stacks are one, whatever their values. */
Test(label_values, are_the_number_of_a_sample)
{
	record.sample.weight = 3;
	cr_assert_eq(own_number(), 0);
	set_number("v1");
	put_text("ninebytes");
	forms[1].of[1] = (struct value_form){ .name = "v1", .type = VALUE_U16, .unit = "" };
	forms[1].n = record.values.n = 2;
	record.words[3] = 0x70005;
	read_labels(4);
	cr_assert_eq(own_number(), 5);
	expect_own(1, "v1", "");
	forms[1].of[1].unit = "bytes";
	expect_own(1, "v1", "bytes");
	own_numbers[0].unit = "kB";
	expect_own(1, "v1", "kB");
	cr_assert(!value_labels_own(&labels, 0, &own_numbers[1]), "another event");
	cr_assert(!value_labels_own(&labels, 2, &own_numbers[1]), "there is none");
	cr_assert(label_set_has(set, "v0", "ninebytes") && set->size == strlen("v0_tpninebytes_"));
	forms[1].of[1].type = VALUE_S16;
	record.words[3] = 0xffff;
	cr_assert_eq(own_number(), 0);
	record.words[0] = UINT64_MAX - 7;
	cr_assert_eq(own_number(), 0, "a text that is longer than the record");
	cr_assert_eq(value_labels_number(NULL, (const void *)&record), 0);
}

/* Each event has its own one. */
Test(label_values, are_the_numbers_of_several_events)
{
	static const struct own_number numbers[] = { { "v1", "bytes" }, { "other", NULL } };

	forms[0] =
		(struct value_forms){ .n = 1,
				      .of = { { .name = "other", .type = VALUE_U8, .unit = "" } } };
	labels.numbers = numbers;
	labels.n_numbers = 2;
	put(VALUE_U8, 3);
	put(VALUE_U8, 4);
	read_labels(2);
	cr_assert_eq(own_number(), 4);
	expect_own(1, "v1", "bytes");
	expect_own(0, "other", "");
	record.values.list = 0;
	record.values.n = 1;
	cr_assert_eq(own_number(), 3);
}

static void expect_label_instead(enum value_type type, __u64 word)
{
	end();
	forms[1].of[0].type = type;
	record.words[0] = word;
	read_labels(1);
	cr_assert_eq(own_number(), 0);
	cr_assert_gt(set->size, 0);
}

/* The sum of all is right but for those, and these are told. */
Test(label_values, are_labels_if_they_cannot_be_added_up)
{
	set_number("v0");
	put(VALUE_U64, INT64_MAX);
	read_labels(1);
	cr_assert_eq(own_number(), INT64_MAX);
	cr_assert_eq(set->size, 0);
	expect_label_instead(VALUE_U64, UINT64_MAX);
	cr_assert(label_set_has(set, "v0", "18446744073709551615"));
	expect_label_instead(VALUE_U64, (__u64)INT64_MAX + 1);
	expect_label_instead(VALUE_S32, UINT32_MAX);
	cr_assert_eq(number("v0"), -1);
	record.values.unread = 1;
	expect_label_instead(VALUE_U8, 7);
	cr_assert(label_set_has(set, "v0", "<unread>"));
}

/* What no kernel sends: the profile goes on, with what can be read. */
Test(label_values, may_be_unknown)
{
	put(VALUE_U8, 1);
	put(VALUE_STR, 0);
	record.values.n = 0;
	record.values.is_unknown = 1;
	read_labels(0);
	cr_assert(label_set_has(set, "v0", "<unknown>"));
	cr_assert(label_set_has(set, "v1", "<unknown>"));
}

Test(label_values, are_cut_in_a_damaged_record)
{
	put(VALUE_U8, 1);
	put(VALUE_U8, 2);
	read_labels(1);
	cr_assert(number("v0") == 1 && set->is_cut && set->size > 0);
	end();
	record.values.texts = 1;
	record.words[0] = 9;
	read_labels(2);
	cr_assert(set->is_cut && set->size == 0);
	end();
	record.words[0] = DP_TEXT_CUT + 1;
	read_labels(64);
	cr_assert(set->is_cut && set->size == 0);
	end();
	record.values.list = 2;
	read_labels(2);
	cr_assert(set->is_cut && set->size == 0);
}

Test(label_values, are_not_there_without_a_flag)
{
	put(VALUE_U8, 1);
	record.sample.flags = DP_SAMPLE_LABELS;
	read_labels(1);
	cr_assert(set->size == 0 && !set->is_cut);
}

/* A probe's value does not stand beside it, known or not. */
Test(label_values, give_way_to_what_the_program_says)
{
	struct label label;
	size_t n = 0;

	own = "v1";
	put(VALUE_U8, 1);
	put(VALUE_U8, 2);
	put(VALUE_U8, 3);
	read_labels(3);
	cr_assert(number("v0") == 1 && number("v2") == 3);
	cr_assert(label_set_has(set, "v1", "own"));
	for (size_t at = 0; label_set_next(set, &at, &label);)
		n++;
	cr_assert_eq(n, 3);
	end();
	record.values.is_unknown = 1;
	read_labels(0);
	cr_assert(label_set_has(set, "v0", "<unknown>") && label_set_has(set, "v1", "own"));
	cr_assert(!label_set_has(set, "v1", "<unknown>"));
}

Test(label_values, of_added_probes_have_their_forms_from_a_table)
{
	const struct value_forms of = { .n = 1,
					.of = { { .name = "x", .type = VALUE_U32, .unit = "" } } };
	struct value_table *table;

	cr_assert_eq(value_table_new(&table), 0);
	cr_assert_eq(value_table_add(table, &of, "first", 0, 0), 0);
	cr_assert_eq(value_table_add(table, &of, "second", 0, 0), 1);
	labels.added = table;
	record.sample.event = DP_EVENT_UPROBE;
	record.values.n = 1;
	record.words[0] = 77;
	read_labels(1);
	cr_assert(label_set_has(set, VALUE_TABLE_PROBE, "second"));
	cr_assert_eq(number("x"), 77);
	cr_assert(!set->is_cut);
	set = label_set_free(set);
	record.values.list = 2;
	read_labels(1);
	cr_assert(set->is_cut);
	cr_assert(!label_set_has(set, VALUE_TABLE_PROBE, "second"));
	value_table_free(table);
}

/* Not one that the program says. */
Test(label_values, of_added_probes_have_the_name_of_their_probe_alone)
{
	const struct value_forms of = { 0 };

	cr_assert_eq(value_table_new(&labels.added), 0);
	cr_assert_eq(call_table_new(&labels.calls), 0);
	cr_assert_eq(value_table_add(labels.added, &of, "65432:x", 65432, 0), 0);
	own = VALUE_TABLE_PROBE;
	read_labels(0);
	cr_assert(label_set_has(set, VALUE_TABLE_PROBE, "own"), "it is no hit");
	set = label_set_free(set);
	record.sample.event = DP_EVENT_UPROBE;
	read_labels(0);
	cr_assert(!label_set_has(set, VALUE_TABLE_PROBE, "own") && set->is_cut);
	set = label_set_free(set);
	record.values.list = 0;
	read_labels(0);
	cr_assert(label_set_has(set, VALUE_TABLE_PROBE, "65432:x"));
	cr_assert(!label_set_has(set, VALUE_TABLE_PROBE, "own"));
	value_table_free(labels.added);
	call_table_free(labels.calls);
}

/* Of calls on the stack of other samples: what is known or not of them is said at their probe's time alone. */
Test(label_values, of_added_calls_have_their_forms_and_their_time)
{
	const struct value_forms of = { .n = 1,
					.of = { { .name = "x", .type = VALUE_U32, .unit = "" } } };
	const struct call_period period = { .forms = of };
	unsigned int probe;

	cr_assert_eq(value_table_new(&labels.added), 0);
	cr_assert_eq(call_table_new(&labels.calls), 0);
	cr_assert_eq(value_table_add(labels.added, &of, "", 0, 0), 0);
	cr_assert_eq(call_table_prepare(labels.calls, &period, 100, &probe), 0);
	call_table_begin(labels.calls, probe, 100);
	call_table_end(labels.calls, probe, 200);
	record.values.list = 0;
	record.values.n = 1;
	record.words[0] = 77;
	for (record.sample.time_ns = 50; record.sample.time_ns < 300;
	     record.sample.time_ns += 100) {
		bool is_its_time = record.sample.time_ns == 150;

		record.values.is_unknown = 0;
		read_labels(1);
		cr_assert(is_its_time ? number("x") == 77 : set->size == 0);
		cr_assert(!label_set_has(set, VALUE_TABLE_PROBE, ""));
		end();
		record.values.is_unknown = 1;
		read_labels(0);
		cr_assert_eq(label_set_has(set, "x", "<unknown>"), is_its_time);
		end();
	}
	record.sample.time_ns = 150;
	record.sample.flags = DP_SAMPLE_LABELS;
	read_labels(0);
	cr_assert_eq(set->size, 0, "the stack has not been walked");
	record.sample.flags |= DP_SAMPLE_VALUES;
	record.values.is_unknown = 0;
	record.values.list = 1;
	end();
	read_labels(1);
	cr_assert(set->is_cut && set->size == 0);
	value_table_free(labels.added);
	call_table_free(labels.calls);
}
