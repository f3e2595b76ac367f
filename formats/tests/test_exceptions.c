// SPDX-License-Identifier: Apache-2.0
/* The text report's sections of exceptions: a type each, with messages, and its own most frequent stack. */
#include "base/array.h"
#include "formats/tests/samples.h"
#include "report/tests/labels.h"

static struct frame probed[3];

static void start(void)
{
	memcpy(probed, frames, sizeof(probed));
	probed[1].probe = 1;
	begin("text");
}

static void end(void)
{
	free(text);
}

TestSuite(exceptions, .init = start, .fini = end);

/* In n frames, from the innermost of three on; message NULL: none. */
static void throw_in(size_t n, const char *type, const char *message, uint64_t weight)
{
	struct label labels[] = { { .key = "exception.type", .text = type },
				  { .key = "route", .text = "/login", .probe = 1 },
				  { .key = "exception.message", .text = message } };
	struct label_set *set = labels_of(labels, message ? 3 : 2, false);
	struct sample sample = sample_of(DP_COMPLETE);

	sample.user = probed + 3 - n;
	sample.n_user = n;
	sample.labels = set;
	sample.weight = weight;
	add(sample);
	label_set_free(set);
}

Test(exceptions, have_sections_by_type)
{
	throw_in(3, "std::runtime_error", "no route", 2);
	throw_in(2, "std::runtime_error", "no\x1b[31m", 4);
	throw_in(3, "std::runtime_error", "no route", 3);
	throw_in(3, "own\x1b", NULL, 6);
	throw_in(1, "own\x1b", NULL, 1);
	add(sample_of(DP_COMPLETE));
	finish();
	cr_assert(strstr(text, "\n\nException std::runtime_error: 9\n"
			       "               5  no route\n"
			       "               4  no?[31m\n"
			       "               5  in this stack, innermost first:\n"
			       "                    [prog]\n"
			       "                    [prog]  route=/login\n"
			       "                    [unknown]\n"
			       "\nException own?: 7\n"
			       "               6  in this stack, innermost first:\n"
			       "                    [prog]\n"
			       "                    [prog]  route=/login\n"
			       "                    [unknown]\n"),
		  "%s", text);
}

Test(exceptions, are_not_all_shown)
{
	char name[16];

	for (size_t i = 0; i < 23; i++) {
		snprintf(name, sizeof(name), "T%02zu", i);
		throw_in(3, name, "x", i == 22 ? 2 : 1);
	}
	for (size_t i = 0; i < 7; i++) {
		snprintf(name, sizeof(name), "m%zu", i);
		throw_in(3, "T05", name, 1);
	}
	finish();
	cr_assert(strstr(text, "\nException T05: 8\n               1  m0\n"), "%s", text);
	cr_assert(strstr(text, "               1  m4\n                  ... and 3 more messages\n"),
		  "%s", text);
	cr_assert(strstr(text, "\nException T22: 2\n"));
	cr_assert(strstr(text, "\nException T18: 1\n"));
	cr_assert(!strstr(text, "\nException T19: "));
	cr_assert(strstr(text, "\n... and 3 more types of exceptions\n"), "%s", text);
}

Test(exceptions, in_none_there_is_no_section)
{
	add(sample_of(DP_COMPLETE));
	finish();
	cr_assert(!strstr(text, "Exception"));
}

/* Of a deep stack, what is around the throw. */
Test(exceptions, have_the_innermost_functions)
{
	struct frame deep[50];
	const struct label type = { .key = "exception.type", .text = "T" };
	struct sample sample = sample_of(DP_COMPLETE);
	struct label_set *set = labels_of(&type, 1, false);

	for (size_t i = 0; i < ARRAY_SIZE(deep); i++)
		deep[i] = frames[i == 0 ? 2 : 1];
	sample.user = deep;
	sample.n_user = ARRAY_SIZE(deep);
	sample.labels = set;
	add(sample);
	label_set_free(set);
	finish();
	cr_assert(strstr(text, "innermost first:\n                    [unknown]\n"), "%s", text);
	cr_assert(strstr(text, "                    [prog]\n                    ... 30 more\n"),
		  "%s", text);
}
