// SPDX-License-Identifier: Apache-2.0
/* What a regular expression takes out of labels. */
#include "samples/redaction.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct redaction redaction;
static struct label_list list;
static char why[REDACTION_WHY_SIZE];

static void end(void)
{
	redaction_done(&redaction);
	label_list_done(&list);
	list = (struct label_list){ 0 };
}

TestSuite(redaction, .fini = end);

/* It remains the value of a probe's call. */
static void expect(const char *regex, const char *text, const char *wanted)
{
	_cleanup_(label_set_freep) struct label_set *set = NULL;
	struct label label;
	size_t at = 0;

	cr_assert_eq(redaction_init(&redaction, regex, why), 0, "%s", why);
	cr_assert_eq(label_list_add(&list,
				    &(struct label){ .key = "token", .text = text, .probe = 2 }),
		     0);
	cr_assert_eq(redaction_apply(&redaction, &list), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	cr_assert(label_set_next(set, &at, &label));
	cr_assert_str_eq(label.key, "token");
	cr_assert_eq(label.probe, 2);
	cr_assert_str_eq(label.text, wanted);
	end();
}

Test(redaction, takes_what_matches)
{
	expect("secret", "nothing", "nothing");
	expect("secret", "a secret, a secret!", "a <redacted>, a <redacted>!");
	expect("token=[^&]*", "/x?token=1234&y=2", "/x?<redacted>&y=2");
	expect("a|bc", "abc", "<redacted>");
	expect("[0-9]", "12-3x", "<redacted>-<redacted>x");
	expect(".*", "all", "<redacted>");
	expect("^a", "aab", "<redacted>ab");
	expect("b$", "bab", "ba<redacted>");
	expect("x*", "axxb", "a<redacted>b");
	expect("x*", "ab", "ab");
	expect("", "ab", "ab");
	/* What follows a match is no beginning. */
	expect("\\B[0-9]{2}", "a12345", "a<redacted>5");
	expect("\\b[0-9]", "123", "<redacted>23");
	expect("^ab|^c", "abc", "<redacted>c");
}

/* Nothing of it is shown rather than all. */
Test(redaction, takes_all_of_what_becomes_too_long)
{
	char text[1024];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? 's' : '-';
	text[sizeof(text) - 1] = '\0';
	expect("s", text, "<redacted>");
}

Test(redaction, takes_numbers)
{
	_cleanup_(label_set_freep) struct label_set *set = NULL;
	struct label label;
	size_t at = 0;

	cr_assert_eq(redaction_init(&redaction, "^-?4[0-9]+$", why), 0);
	list.is_cut = true;
	label_list_add(&list, &(struct label){ .key = "card", .number = 4711, .unit = "" });
	label_list_add(&list, &(struct label){ .key = "minus", .number = -47, .unit = "" });
	label_list_add(&list, &(struct label){ .key = "other", .number = 5, .unit = "bytes" });
	cr_assert_eq(redaction_apply(&redaction, &list), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	cr_assert(label_set_has(set, "card", REDACTED) && label_set_has(set, "minus", REDACTED));
	while (label_set_next(set, &at, &label))
		if (strcmp(label.key, "other") == 0)
			cr_assert(!label.text && label.number == 5 &&
				  strcmp(label.unit, "bytes") == 0);
	cr_assert(set->is_cut);
}

Test(redaction, takes_decimals_as_a_whole)
{
	_cleanup_(label_set_freep) struct label_set *set = NULL;
	const struct label of[] = { { .key = "a", .text = "12.25", .is_decimal = true },
				    { .key = "b", .text = "0.5", .is_decimal = true } };
	struct label label;
	size_t at = 0;

	cr_assert_eq(redaction_init(&redaction, "2", why), 0, "%s", why);
	for (size_t i = 0; i < 2; i++)
		cr_assert_eq(label_list_add(&list, &of[i]), 0);
	cr_assert_eq(redaction_apply(&redaction, &list), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	cr_assert(label_set_next(set, &at, &label));
	cr_assert(strcmp(label.text, REDACTED) == 0 && !label.is_decimal);
	cr_assert(label_set_next(set, &at, &label));
	cr_assert(strcmp(label.text, "0.5") == 0 && label.is_decimal);
}

Test(redaction, leaves_nothing_where_nothing_is)
{
	cr_assert_eq(redaction_init(&redaction, ".", why), 0);
	cr_assert_eq(redaction_apply(&redaction, &list), 0);
	cr_assert(list.n == 0 && !list.is_cut);
}

Test(redaction, is_a_regular_expression)
{
	cr_assert_eq(redaction_init(&redaction, "(", why), -EINVAL);
	cr_assert(strlen(why) > 0 && !redaction.is_set);
	cr_assert_eq(redaction_init(&redaction, "(a)\\1", why), -EINVAL);
	cr_assert(strstr(why, "back-references"));
	cr_assert_eq(redaction_init(&redaction, "a\\\\1\\.", why), 0);
}
