// SPDX-License-Identifier: Apache-2.0
/* Which request is tried, and what is given up. */
#include <criterion/criterion.h>

#include "deliver/patience.h"

#define LIMIT 1000

static struct patience patience;

/* The place of the one that is tried at a time, which fails. */
static size_t fail(uint64_t oldest, uint64_t now_ns, bool expected)
{
	size_t chosen = patience_choose(&patience, oldest, LIMIT, now_ns);

	cr_assert_eq(patience_fail(&patience, chosen, true), expected);
	return chosen;
}

Test(patience, one_that_always_fails_is_given_up)
{
	for (int i = 0; i < PATIENCE_ATTEMPTS; i++)
		cr_assert_eq(fail(7, 1, false), 0);
	cr_assert_eq(fail(7, LIMIT, false), 0);     /* not for long enough */
	cr_assert_eq(fail(7, LIMIT + 1, false), 1); /* another one that does */
	cr_assert_eq(patience_choose(&patience, 7, LIMIT, LIMIT + 2), 2);
	patience_succeed(&patience, 2);
	cr_assert_eq(fail(7, LIMIT + 3, false), 0);
	cr_assert_eq(fail(7, LIMIT + 3, false), 1); /* the one that does, again */
	cr_assert_eq(patience_choose(&patience, 7, LIMIT, LIMIT + 3), 2);
	patience_succeed(&patience, 2);
	cr_assert_eq(fail(7, LIMIT + 3, true), 0);
	cr_assert_eq(fail(8, LIMIT + 4, false), 0);
	cr_assert_eq(fail(8, 9 * LIMIT, false), 0); /* not often enough */
}

/* However long it is away. */
Test(patience, nothing_is_given_up_while_a_backend_is_away)
{
	for (int i = 0; i < 100; i++) {
		size_t chosen = patience_choose(&patience, 7, LIMIT, 1 + (uint64_t)i * LIMIT);

		/* There are 3. */
		cr_assert_eq(chosen, i < PATIENCE_ATTEMPTS ? 0 : (size_t)i - 4);
		if (chosen == 3)
			chosen = 0;
		cr_assert_not(patience_fail(&patience, chosen, true));
		if (chosen == 0 && i >= PATIENCE_ATTEMPTS)
			break;
	}
	cr_assert_eq(patience_choose(&patience, 7, LIMIT, 1000 * LIMIT), 1);
	patience_succeed(&patience, 1);
	/* It is away again: that does not blame the request. */
	cr_assert_eq(patience_choose(&patience, 7, LIMIT, 1000 * LIMIT), 0);
	cr_assert_not(patience_fail(&patience, 0, false));
	cr_assert_eq(patience_choose(&patience, 7, LIMIT, 1000 * LIMIT), 1);
}

/* Also if another one was the last that it let in. */
Test(patience, a_revoked_token_loses_nothing)
{
	for (int i = 0; i < PATIENCE_ATTEMPTS; i++)
		cr_assert_eq(fail(7, 1, false), 0);
	cr_assert_eq(patience_choose(&patience, 7, LIMIT, 1 + LIMIT), 1);
	patience_succeed(&patience, 1);
	cr_assert_eq(fail(7, 1 + LIMIT, false), 0);
	for (size_t i = 1; i < 100; i++)
		cr_assert_eq(fail(7, 2 * LIMIT, false), i);
	cr_assert_eq(patience_choose(&patience, 7, LIMIT, 3 * LIMIT), 100);
	patience_succeed(&patience, 100);
	cr_assert_eq(patience_choose(&patience, 7, LIMIT, 3 * LIMIT), 0);
	patience_succeed(&patience, 0);
	cr_assert_eq(fail(8, 3 * LIMIT, false), 0);
}

Test(patience, one_that_cannot_be_blamed_is_tried_for_ever)
{
	for (uint64_t i = 0; i < 100; i++) {
		cr_assert_eq(patience_choose(&patience, 7, LIMIT, 1 + i * LIMIT), 0);
		cr_assert_not(patience_fail(&patience, 0, false));
	}
}
