// SPDX-License-Identifier: Apache-2.0
/* Labels of a sample: order, texts of any bytes, numbers, missing ones, invalid records. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "limits/limits.h"
#include "report/label_table.h"
#include "report/tests/labels.h"

static struct {
	struct dp_labels head;
	uint8_t bytes[DP_LABELS_MAX_SIZE];
} raw;

static size_t raw_size; /* in bytes */
static struct label_set *set;

static void end(void)
{
	set = label_set_free(set);
}

/* Adds a record of which only `size` bytes are given. */
static int read_some(size_t size)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	int err;

	raw.head.part = (struct dp_part){ DP_RECORD_LABELS, (__u16)(sizeof(raw.head) + size) };
	err = label_list_add_raw(&list, &raw.head);

	end();
	return err == 0 ? label_set_new(&list, &set) : err;
}

static int read_raw(void)
{
	return read_some(raw_size);
}

TestSuite(label_set, .fini = end);

static void put(const char *key, const char *value, size_t value_size)
{
	struct dp_label label = { (uint8_t)strlen(key), (uint8_t)value_size };
	uint8_t *to = raw.bytes + raw_size;

	memcpy(to, &label, sizeof(label));
	memcpy(to + sizeof(label), key, label.key_size);
	memcpy(to + sizeof(label) + label.key_size, value, value_size);
	raw_size += sizeof(label) + label.key_size + value_size;
	raw.head.n++;
}

static void put_text(const char *key, const char *value)
{
	put(key, value, strlen(value));
}

static void expect_next(size_t *at, const char *key, const char *value)
{
	struct label label;

	cr_assert(label_set_next(set, at, &label));
	cr_assert_str_eq(label.key, key);
	cr_assert_str_eq(label.text, value);
}

Test(label_set, has_labels_in_the_order_of_their_keys)
{
	struct label label;
	size_t at = 0;

	put_text("path", "/login");
	put_text("", "empty");
	put_text("user", "");
	put_text("method", "GET");
	cr_assert_eq(read_raw(), 0);
	cr_assert(!set->is_cut);
	expect_next(&at, "", "empty");
	expect_next(&at, "method", "GET");
	expect_next(&at, "path", "/login");
	expect_next(&at, "user", "");
	cr_assert(!label_set_next(set, &at, &label));
	at = 0;
	cr_assert(!label_set_next(NULL, &at, &label));
	cr_assert_eq(label_set_size(NULL), 0);
	cr_assert_eq(label_set_size(set) % 8, 0);
}

/* Equal labels are the same set, in whatever order the program has added them. */
Test(label_set, has_labels_of_one_key_in_the_order_of_their_values)
{
	static const struct label labels[] = {
		{ .key = "path", .text = "/logout" },
		{ .key = "path", .text = "/login" },
		{ .key = "path", .text = "/log" },
		{ .key = "pat", .text = "/" },
	};
	_cleanup_(label_list_done) struct label_list list = { 0 };
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		cr_assert_eq(label_list_add(&list, &labels[i]), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	expect_next(&at, "pat", "/");
	expect_next(&at, "path", "/log");
	expect_next(&at, "path", "/login");
	expect_next(&at, "path", "/logout");
}

Test(label_set, loses_all_labels_of_a_key)
{
	static const struct label labels[] = {
		{ .key = "path", .text = "/logout" }, { .key = "size", .number = 7, .unit = "" },
		{ .key = "path", .text = "" },        { .key = "pat", .text = "/" },
		{ .key = "path", .text = "/log" },
	};
	_cleanup_(label_list_done) struct label_list list = { 0 };
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		cr_assert_eq(label_list_add(&list, &labels[i]), 0);
	label_list_remove(&list, "size");
	label_list_remove(&list, "path");
	label_list_remove(&list, "none");
	cr_assert_eq(label_list_add(&list, &labels[0]), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	expect_next(&at, "pat", "/");
	expect_next(&at, "path", "/logout");
	cr_assert(!label_set_next(set, &at, &(struct label){ 0 }));
}

Test(label_set, has_the_first_label_of_each_key)
{
	struct label label;
	size_t at = 0;

	put_text("path", "/login");
	put_text("pat", "/");
	put_text("path", "/a");
	put_text("", "1");
	put_text("", "0");
	cr_assert_eq(read_raw(), 0);
	expect_next(&at, "", "1");
	expect_next(&at, "pat", "/");
	expect_next(&at, "path", "/login");
	cr_assert(!label_set_next(set, &at, &label) && !set->is_cut);
}

/*
 * A character that was cut is removed; a zero would end the text; bytes that are not UTF-8 are
 * replaced.
 */
Test(label_set, makes_texts_of_any_bytes)
{
	char text[DP_LABEL_CUT], expected[DP_LABEL_CUT + 4];
	size_t at = 0;

	memset(text, 'x', sizeof(text));
	memcpy(text + sizeof(text) - 2, "\xe2\x82", 2);
	put("a", text, sizeof(text));
	put("b", "1\0002", 3);
	put_text("c\xff", "caf\xe9");
	raw.head.n_cut = 1;
	cr_assert_eq(read_raw(), 0);
	cr_assert(set->is_cut);
	snprintf(expected, sizeof(expected), "%.*s…", (int)sizeof(text) - 2, text);
	expect_next(&at, "a", expected);
	expect_next(&at, "b", "1?2");
	expect_next(&at, "c?", "caf?");
}

Test(label_set, says_what_is_missing)
{
	size_t at = 0;

	put_text("a", "1");
	raw.head.n_left_out = 3;
	cr_assert_eq(read_raw(), 0);
	cr_assert(set->is_cut);
	expect_next(&at, "a", "1");
}

Test(label_set, refuses_what_no_kernel_sends)
{
	put_text("key", "value");
	for (size_t size = 0; size < raw_size; size++)
		cr_assert_eq(read_some(size), -EBADMSG);
	raw.head.part.size = sizeof(raw.head) - 1;
	cr_assert_eq(label_list_add_raw(&(struct label_list){ 0 }, &raw.head), -EBADMSG);
	raw.head.n = 2;
	cr_assert_eq(read_raw(), -EBADMSG);
	raw.head.n = DP_MAX_LABELS + 1;
	cr_assert_eq(read_raw(), -EBADMSG);
	raw.head.n = 1;
	raw.bytes[0] = 200;
	cr_assert_eq(read_raw(), -EBADMSG);
}

/* Keys and units are foreign texts too. */
Test(label_set, has_numbers)
{
	static const struct label labels[] = {
		{ .key = "b", .number = 2, .unit = "\xff" },
		{ .key = "b", .number = -3, .unit = "s" },
		{ .key = "b", .number = 2, .unit = "" },
		{ .key = "b", .text = "text" },
		{ .key = "a\xff", .number = INT64_MIN, .unit = "bytes" },
	};
	struct label label;
	char *text;
	size_t at = 0, size;
	FILE *to = open_memstream(&text, &size);

	set = labels_of(labels, 5, true);
	cr_assert(set->is_cut);
	while (label_set_next(set, &at, &label)) {
		label_print(&label, to);
		fputc('\n', to);
	}
	fclose(to);
	cr_assert_str_eq(text, "a?=-9223372036854775808 bytes\nb=text\nb=-3 s\nb=2\nb=2 ?\n");
	free(text);
}

Test(label_set, has_a_bound)
{
	struct label label = { .key = "key", .unit = "" };
	struct label_list list = { 0 };
	size_t n = 0, at = 0;

	for (; !list.is_cut; label.number++)
		cr_assert_eq(label_list_add(&list, &label), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	label_list_done(&list);
	for (; label_set_next(set, &at, &label); n++)
		cr_assert_eq(label.number, (int64_t)n);
	cr_assert(n >= 1000 && set->is_cut && set->size <= LABEL_SET_MAX);
}

Test(label_set, may_be_unknown)
{
	size_t at = 0;

	set = labels_of(NULL, 0, true);
	cr_assert(set->is_cut && !label_set_is_part(set));
	cr_assert(!label_set_next(set, &at, &(struct label){ 0 }));
}

/* Equal sets, and only these, are stored as one. */
Test(label_set, is_kept_once)
{
	const struct label labels[] = { { .key = "a", .text = "1" },
					{ .key = "a", .number = 1, .unit = "" } };
	struct label_set *same = labels_of(labels, 1, false),
			 *other = labels_of(labels + 1, 1, false);
	const struct label_set *first, *second;
	struct label_table table = { 0 };

	set = labels_of(labels, 1, false);
	cr_assert_eq(label_table_add(&table, set, &first), 0);
	cr_assert(first != set && memcmp(first, set, label_set_size(set)) == 0);
	cr_assert_eq(label_table_add(&table, same, &second), 0);
	cr_assert_eq(first, second);
	cr_assert_eq(label_table_add(&table, other, &second), 0);
	cr_assert_neq(first, second);
	cr_assert_eq(label_table_add(&table, NULL, &second), 0);
	cr_assert_null(second);
	label_table_done(&table);
	label_set_free(same);
	label_set_free(other);
}

/* As if all labels had been added to one list. */
Test(label_set, has_all_labels_of_two)
{
	const struct label labels[] = { { .key = "a", .text = "1" },
					{ .key = "b", .number = 2, .unit = "bytes" },
					{ .key = "c", .text = "3" } };
	const struct label first[] = { labels[0], labels[2] };
	struct label_set *a = labels_of(first, 2, false), *b = labels_of(labels + 1, 1, false);
	struct label_set *wanted = labels_of(labels, 3, false);

	cr_assert_eq(label_set_join(a, b, &set), 0);
	cr_assert(label_set_size(set) == label_set_size(wanted) &&
		  memcmp(set, wanted, label_set_size(wanted)) == 0);
	end();
	cr_assert_eq(label_set_join(NULL, b, &set), 0);
	cr_assert(label_set_size(set) == label_set_size(b) &&
		  memcmp(set, b, label_set_size(b)) == 0);
	end();
	label_set_free(wanted);
	wanted = labels_of(first, 2, true);
	cr_assert_eq(label_set_join(wanted, b, &set), 0);
	cr_assert(set->is_cut);
	label_set_free(wanted);
	label_set_free(a);
	label_set_free(b);
}
