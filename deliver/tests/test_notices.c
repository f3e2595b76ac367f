// SPDX-License-Identifier: Apache-2.0
/* What is said at once, what later, and what is forgotten. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "deliver/notices.h"

#define S UINT64_C(1000000000)

static struct notices notices;
static uint64_t n;

Test(notices, the_first_is_said_at_once_and_others_a_minute_later)
{
	const struct notice *notice;

	cr_assert_eq(notices_next_ns(&notices), UINT64_MAX);
	notices_add(&notices, 1, 400, "a");
	cr_assert_eq(notices_next_ns(&notices), 0);
	notice = notices_take(&notices, 100 * S, false, &n);
	cr_assert_eq(n, 1);
	cr_assert_str_eq(notice->text, "a");
	cr_assert_null(notices_take(&notices, 100 * S, false, &n));
	cr_assert_eq(notices_next_ns(&notices), UINT64_MAX);
	for (int i = 0; i < 1000; i++)
		notices_add(&notices, 1, 400, i < 999 ? "b" : "c");
	cr_assert_null(notices_take(&notices, 160 * S - 1, false, &n));
	cr_assert_eq(notices_next_ns(&notices), 160 * S);
	notice = notices_take(&notices, 160 * S, false, &n);
	cr_assert_eq(n, 1000);
	cr_assert_str_eq(notice->text, "c");
	cr_assert_eq(notice->code, 400);
	notices_add(&notices, 1, 400, "d");
	cr_assert_null(notices_take(&notices, 161 * S, false, &n));
	cr_assert(notices_take(&notices, 161 * S, true, &n));
	cr_assert_eq(n, 1);
	cr_assert_null(notices_take(&notices, 161 * S, true, &n));
}

Test(notices, reasons_are_apart)
{
	notices_add(&notices, 1, 400, "a");
	cr_assert(notices_take(&notices, 1 * S, false, &n));
	notices_add(&notices, 1, 413, "b");
	cr_assert_str_eq(notices_take(&notices, 1 * S, false, &n)->text, "b");
	notices_add(&notices, 2, 400, "c");
	cr_assert_str_eq(notices_take(&notices, 1 * S, false, &n)->text, "c");
	notices_add(&notices, 1, 400, "d");
	cr_assert_null(notices_take(&notices, 1 * S, false, &n));
}

Test(notices, the_oldest_reason_is_forgotten)
{
	for (int i = 0; i <= NOTICES; i++) {
		notices_add(&notices, 1, i, "a");
		cr_assert(notices_take(&notices, (uint64_t)(10 + i) * S, false, &n));
	}
	notices_add(&notices, 1, 1, "b");
	cr_assert_null(notices_take(&notices, 30 * S, false, &n));
	notices_add(&notices, 1, 0, "c");
	cr_assert_str_eq(notices_take(&notices, 30 * S, false, &n)->text, "c");
}

/* Of all that are used, or wait to be said. */
Test(notices, what_waits_is_not_forgotten)
{
	const struct notice *notice;

	for (int i = 0; i < NOTICES; i++) {
		notices_add(&notices, 1, i, "a");
		cr_assert(notices_take(&notices, (uint64_t)(10 + i) * S, false, &n));
	}
	notices_add(&notices, 1, 0, "waits");
	notices_add(&notices, 2, 0, "b");
	notices_add(&notices, 2, 1, "c");
	cr_assert_str_eq(notices_take(&notices, 20 * S, false, &n)->text, "b");
	cr_assert_str_eq(notices_take(&notices, 20 * S, false, &n)->text, "c");
	cr_assert_str_eq(notices_take(&notices, 70 * S, false, &n)->text, "waits");
	/* While all wait, one goes that was said before. */
	for (int i = 0; i < NOTICES; i++) {
		notices_add(&notices, 3, i, "d");
		cr_assert(notices_take(&notices, (uint64_t)(80 + i) * S, false, &n));
		notices_add(&notices, 3, i, "e");
	}
	notices_add(&notices, 4, 0, "f");
	notices_add(&notices, 4, 1, "g");
	cr_assert_str_eq(notices_take(&notices, 90 * S, false, &n)->text, "f");
	cr_assert_str_eq(notices_take(&notices, 90 * S, false, &n)->text, "g");
	for (int i = 2; i < NOTICES; i++) {
		notice = notices_take(&notices, 150 * S, false, &n);
		cr_assert(notice && notice->kind == 3 && notice->code >= 2);
	}
}

/* Of two that contradict each other, only the last waits. How often it was is still known. */
Test(notices, may_be_withdrawn)
{
	notices_add(&notices, 1, 0, "a");
	notices_add(&notices, 1, 1, "b");
	notices_add(&notices, 2, 0, "c");
	notices_withdraw(&notices, 1);
	cr_assert_str_eq(notices_take(&notices, 10 * S, false, &n)->text, "c");
	cr_assert_null(notices_take(&notices, 10 * S, true, &n));
	cr_assert_eq(notices_next_ns(&notices), UINT64_MAX);
	notices_add(&notices, 1, 0, "d");
	cr_assert_str_eq(notices_take(&notices, 10 * S, false, &n)->text, "d");
	cr_assert_eq(n, 2);
	notices_add(&notices, 1, 0, "e");
	cr_assert_eq(notices_next_ns(&notices), 70 * S);
	notices_withdraw(&notices, 1);
	cr_assert_eq(notices_next_ns(&notices), UINT64_MAX);
	cr_assert_null(notices_take(&notices, 100 * S, true, &n));
}
