// SPDX-License-Identifier: Apache-2.0
/* Labels of a sample: order, text of any bytes, missing ones, records that no kernel sends. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "report/label_set.h"

static struct {
	struct dp_labels head;
	uint8_t bytes[DP_LABELS_MAX_SIZE];
} raw;

static struct label_set *set;

static void end(void)
{
	set = label_set_free(set);
}

TestSuite(label_set, .fini = end);

static void put(const char *key, const char *value, size_t value_size)
{
	struct dp_label label = { (uint8_t)strlen(key), (uint8_t)value_size };
	uint8_t *to = raw.bytes + raw.head.size;

	memcpy(to, &label, sizeof(label));
	memcpy(to + sizeof(label), key, label.key_size);
	memcpy(to + sizeof(label) + label.key_size, value, value_size);
	raw.head.size += (uint16_t)(sizeof(label) + label.key_size + value_size);
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
	cr_assert_str_eq(label.value, value);
}

Test(label_set, has_labels_in_the_order_of_their_keys)
{
	struct label label;
	size_t at = 0;

	put_text("path", "/login");
	put_text("", "empty");
	put_text("user", "");
	put_text("method", "GET");
	cr_assert_eq(label_set_new(&raw.head, sizeof(raw), &set), 0);
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

/* The same labels are the same set, in which order ever a program has added them. */
Test(label_set, has_labels_of_one_key_in_the_order_of_their_values)
{
	size_t at = 0;

	put_text("path", "/logout");
	put_text("path", "/login");
	put_text("path", "/log");
	put_text("pat", "/");
	cr_assert_eq(label_set_new(&raw.head, sizeof(raw), &set), 0);
	expect_next(&at, "pat", "/");
	expect_next(&at, "path", "/log");
	expect_next(&at, "path", "/login");
	expect_next(&at, "path", "/logout");
}

/* A character that was cut goes; a zero would end the text; what is not UTF-8 is replaced. */
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
	cr_assert_eq(label_set_new(&raw.head, sizeof(raw), &set), 0);
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
	cr_assert_eq(label_set_new(&raw.head, sizeof(raw), &set), 0);
	cr_assert(set->is_cut);
	expect_next(&at, "a", "1");
}

Test(label_set, refuses_what_no_kernel_sends)
{
	size_t whole;

	put_text("key", "value");
	whole = sizeof(raw.head) + raw.head.size;
	for (size_t size = 0; size < whole; size++)
		cr_assert_eq(label_set_new(&raw.head, size, &set), -EBADMSG);
	raw.head.n = 2;
	cr_assert_eq(label_set_new(&raw.head, sizeof(raw), &set), -EBADMSG);
	raw.head.n = DP_MAX_LABELS + 1;
	cr_assert_eq(label_set_new(&raw.head, sizeof(raw), &set), -EBADMSG);
	raw.head.n = 1;
	raw.bytes[0] = 200;
	cr_assert_eq(label_set_new(&raw.head, sizeof(raw), &set), -EBADMSG);
}

Test(label_set, is_made_of_its_own_texts)
{
	static const char texts[] = "a\0001\000b\000\xff";
	size_t at = 0;

	cr_assert_eq(label_set_new_texts(texts, sizeof(texts), true, &set), 0);
	cr_assert(set->is_cut);
	expect_next(&at, "a", "1");
	expect_next(&at, "b", "?");
	end();
	cr_assert_eq(label_set_new_texts(texts, sizeof(texts) - 1, false, &set), -EBADMSG);
	cr_assert_eq(label_set_new_texts(texts, 2, false, &set), -EBADMSG);
	cr_assert_eq(label_set_new_texts(NULL, 0, true, &set), 0);
	at = 0;
	cr_assert(!label_set_next(set, &at, &(struct label){ 0 }));
}
