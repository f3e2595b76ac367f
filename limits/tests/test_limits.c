// SPDX-License-Identifier: Apache-2.0
/* The table of limits: each name once, outcomes that stacks can have, and how values are written. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "bpf/abi.h"
#include "limits/limit.h"
#include "limits/limits.h"

static const char *const outcomes[] = {
#define X(name, word, sentence) word,
	DP_OUTCOMES(X) DP_RUNTIME_OUTCOMES(X)
#undef X
};

static bool is_outcome(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		if (strcmp(outcomes[i], word) == 0)
			return true;
	return false;
}

static void expect_row(const struct limit *l)
{
	const bool has_words = l->told == LIMIT_OUTCOME || l->told == LIMIT_MESSAGE;

	cr_expect(l->value > 0, "%s is 0", l->name);
	cr_expect(l->unit[0] && l->what[0] && l->beyond[0], "%s says too little", l->name);
	cr_expect_eq(has_words, l->words[0] != '\0', "%s: \"%s\"", l->name, l->words);
	cr_expect(l->told != LIMIT_OUTCOME || is_outcome(l->words),
		  "%s: no stack has the outcome %s", l->name, l->words);
}

Test(limits, rows)
{
	size_t n, n_limits = 0;
	const struct limit *rows = limits_list(&n);

	cr_assert(n > 0 && rows[0].group, "the first row begins a group");
	for (size_t i = 0; i < n; i++) {
		cr_expect_neq(!rows[i].group, !rows[i].name, "row %zu is of one kind", i);
		if (rows[i].group)
			continue;
		n_limits++;
		expect_row(&rows[i]);
		for (size_t j = 0; j < i; j++)
			cr_expect(!rows[j].name || strcmp(rows[j].name, rows[i].name) != 0,
				  "%s is there twice", rows[i].name);
	}
	cr_expect(n_limits > 20);
}

static void expect_text(const char *unit, uint64_t value, const char *expected)
{
	const struct limit limit = { .value = value, .unit = unit };
	char text[LIMIT_TEXT_SIZE];

	limit_write(&limit, text);
	cr_expect_str_eq(text, expected);
}

Test(limits, values)
{
	expect_text("ns", UINT64_C(60000000000), "60 s");
	expect_text("ns", 100000000, "100 ms");
	expect_text("ns", 1200000000, "1200 ms");
	expect_text("bytes", UINT64_C(2) << 30, "2 GiB");
	expect_text("bytes", UINT64_C(5) << 40, "5120 GiB");
	expect_text("bytes", 1 << 20, "1 MiB");
	expect_text("bytes", 65536, "64 KiB");
	expect_text("bytes", 1000, "1000 bytes");
	expect_text("bytes", 1025, "1025 bytes");
	expect_text("helpers", 2, "2 helpers");
}
