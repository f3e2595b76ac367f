// SPDX-License-Identifier: Apache-2.0
/* At which times calls label samples. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "samples/call_table.h"

static struct call_table *table;

static void begin(void)
{
	cr_assert_eq(call_table_new(&table), 0);
}

static void end(void)
{
	table = call_table_free(table);
}

TestSuite(call_table, .init = begin, .fini = end);

static struct call_period period_of(const char *name)
{
	struct call_period period = { .code.inode = 7, .forms.n = 1 };

	strcpy(period.forms.of[0].name, name);
	return period;
}

static const char *name_at(uint64_t time_ns, uint32_t pid)
{
	const struct call_period *found = call_table_lock(table, time_ns, pid);
	const char *name = found ? found->forms.of[0].name : "";

	call_table_unlock(table);
	return name;
}

Test(call_table, has_periods_one_after_the_other)
{
	const struct call_period a = period_of("a"), b = period_of("b");

	cr_assert_str_eq(name_at(5, 1), "");
	cr_assert_eq(call_table_prepare(table, &a, 5), 0);
	cr_assert_str_eq(name_at(UINT64_MAX - 1, 1), "", "it has not begun");
	cr_assert_eq(call_table_prepare(table, &b, 6), -EBUSY);
	call_table_begin(table, 10);
	cr_assert_eq(call_table_prepare(table, &b, 11), -EBUSY);
	cr_assert_str_eq(name_at(9, 1), "");
	cr_assert_str_eq(name_at(10, 1), "a");
	cr_assert_str_eq(name_at(1000, 1), "a");
	call_table_end(table, 20);
	cr_assert_eq(call_table_prepare(table, &b, 21), 0);
	call_table_begin(table, 30);
	cr_assert_str_eq(name_at(19, 1), "a");
	cr_assert_str_eq(name_at(20, 1), "");
	cr_assert_str_eq(name_at(29, 1), "");
	cr_assert_str_eq(name_at(30, 1), "b");
	call_table_end(table, 40);
	call_table_end(table, 50);
	cr_assert_str_eq(name_at(40, 1), "", "only the first end counts");
}

Test(call_table, is_for_some_processes)
{
	struct call_period a = period_of("a");

	a.pids[0] = 3;
	a.pids[1] = 5;
	a.n_pids = 2;
	cr_assert_eq(call_table_prepare(table, &a, 1), 0);
	call_table_begin(table, 1);
	cr_assert_str_eq(name_at(2, 3), "a");
	cr_assert_str_eq(name_at(2, 5), "a");
	cr_assert_str_eq(name_at(2, 4), "");
}

Test(call_table, keeps_copies)
{
	struct call_period a = period_of("a");
	struct code_extent maybe = { 16, 4 };
	struct enumerator names[1];
	const struct call_period *found;

	a.code.maybe = &maybe;
	a.code.n_maybe = 1;
	a.forms.of[0].names = names;
	a.forms.of[0].n_names = 1;
	cr_assert_eq(call_table_prepare(table, &a, 1), 0);
	call_table_begin(table, 1);
	maybe.offset = 0;
	found = call_table_lock(table, 1, 1);
	cr_assert_eq(found->code.maybe[0].offset, 16);
	cr_assert_eq(found->code.inode, 7);
	cr_assert_null(found->forms.of[0].names, "they are the caller's");
	call_table_unlock(table);
}

Test(call_table, keeps_what_has_ended_for_a_while)
{
	const struct call_period a = period_of("a");

	for (uint64_t i = 1; i <= CALL_TABLE_SIZE; i++) {
		cr_assert_eq(call_table_prepare(table, &a, i * 10), 0);
		call_table_begin(table, i * 10);
		call_table_end(table, i * 10 + 5);
	}
	cr_assert_eq(call_table_prepare(table, &a, CALL_TABLE_REST_NS + 14), -E2BIG);
	cr_assert_str_eq(name_at(10, 1), "a");
	cr_assert_eq(call_table_prepare(table, &a, CALL_TABLE_REST_NS + 15), 0);
	cr_assert_str_eq(name_at(10, 1), "", "it was replaced");
	cr_assert_str_eq(name_at(20, 1), "a");
}

Test(call_table, does_not_keep_what_has_not_begun)
{
	const struct call_period a = period_of("a");

	for (uint64_t i = 1; i <= 2 * CALL_TABLE_SIZE; i++) {
		cr_assert_eq(call_table_prepare(table, &a, i), 0);
		call_table_end(table, i);
		cr_assert_str_eq(name_at(i, 1), "");
	}
}
