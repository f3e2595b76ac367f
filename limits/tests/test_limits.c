// SPDX-License-Identifier: Apache-2.0
/* The table of limits: each name once, outcomes that stacks can have, how values are written, and which were hit. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "bpf/abi.h"
#include "limits/limit.h"
#include "limits/limit_hits.h"
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
	const bool has_words = l->told != LIMIT_HARMLESS;

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

Test(limit_hits, are_noted_for_who_asks)
{
	struct limit_hits outer = { 0 }, inner = { 0 }, news;

	LIMIT_HIT(PLT_MAX_STUBS); /* nobody asks */
	cr_assert_null(limit_hits_collect(&outer));
	LIMIT_HIT(NAMER_MAX_NAME);
	LIMIT_HIT(FETCHERS_TIME_NS); /* does not leave out names */
	cr_assert_eq(limit_hits_collect(&inner), &outer);
	LIMIT_HIT(PLT_MAX_NAMES);
	cr_assert_eq(limit_hits_collect(&outer), &inner);
	limit_hits_pass(&inner);
	cr_assert_eq(limit_hits_collect(NULL), &outer);

	cr_assert(limit_hits_add(&inner, &outer, &news));
	cr_assert_arr_eq(&inner, &outer, sizeof(inner));
	cr_assert_not(limit_hits_add(&inner, &outer, &news));
	cr_assert_not(limit_hits_any(&news));
}

Test(limit_hits, are_said)
{
	struct limit_hits hits = { 0 }, forged, passed = { 0 };
	char *text;

	limit_hits_collect(&hits);
	LIMIT_HIT(DEMANGLE_MAX_MANGLED);
	LIMIT_HIT(PLT_MAX_STUBS);
	text = limit_hits_text(&hits);
	cr_assert_str_eq(
		text,
		"names are incomplete: beyond 262144 stubs (with names), further ones have no names "
		"(PLT_MAX_STUBS); beyond 4 KiB (a name that is demangled), longer ones remain "
		"mangled (DEMANGLE_MAX_MANGLED)");
	free(text);
	/* As another process may send them. */
	memset(&forged, 0xff, sizeof(forged));
	limit_hits_collect(&passed);
	limit_hits_pass(&forged);
	text = limit_hits_text(&passed);
	cr_assert(strstr(text, "PLT_MAX_STUBS") && !strstr(text, "FETCHERS_TIME_NS"));
	free(text);
}
