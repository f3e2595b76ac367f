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
	struct call_period period = { .code = { .inode = (uint64_t)name[0] }, .forms.n = 1 };

	period.code.n = 1;
	strcpy(period.forms.of[0].name, name);
	return period;
}

static int prepare(const struct call_period *period, uint64_t now_ns)
{
	unsigned int probe;
	int err = call_table_prepare(table, period, now_ns, &probe);

	cr_assert(err < 0 || probe == 0);
	return err;
}

/* Those of the first number. */
static const char *name_at(uint64_t time_ns, uint32_t pid)
{
	const struct call_period *found[DP_MAX_LABEL_PROBES];
	const char *name;

	cr_assert_null(call_table_lock(table, time_ns, pid, found), "none is timed");
	name = found[0] ? found[0]->forms.of[0].name : "";
	call_table_unlock(table);
	return name;
}

Test(call_table, has_periods_one_after_the_other)
{
	const struct call_period a = period_of("a"), b = period_of("b");

	cr_assert_str_eq(name_at(5, 1), "");
	cr_assert_eq(prepare(&a, 5), 0);
	cr_assert_str_eq(name_at(UINT64_MAX - 1, 1), "", "it has not begun");
	call_table_begin(table, 0, 10);
	cr_assert_str_eq(name_at(9, 1), "");
	cr_assert_str_eq(name_at(10, 1), "a");
	cr_assert_str_eq(name_at(1000, 1), "a");
	call_table_end(table, 0, 20);
	cr_assert_eq(prepare(&b, 21), 0);
	call_table_begin(table, 0, 30);
	cr_assert_str_eq(name_at(19, 1), "a");
	cr_assert_str_eq(name_at(20, 1), "");
	cr_assert_str_eq(name_at(29, 1), "");
	cr_assert_str_eq(name_at(30, 1), "b");
	call_table_end(table, 0, 40);
	call_table_end(table, 0, 50);
	cr_assert_str_eq(name_at(40, 1), "", "only the first end counts");
}

Test(call_table, has_several_at_a_time)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	const struct call_period *found[DP_MAX_LABEL_PROBES];
	struct call_period more = period_of("e");
	unsigned int probe;

	for (unsigned int i = 0; i < DP_MAX_LABEL_PROBES; i++) {
		const struct call_period period = period_of(names[i]);

		cr_assert_eq(call_table_prepare(table, &period, i, &probe), 0);
		cr_assert_eq(probe, i);
		if (i != 2)
			call_table_begin(table, probe, 10 + i);
	}
	cr_assert_eq(call_table_prepare(table, &more, 20, &probe), -EBUSY);
	cr_assert_null(call_table_lock(table, 13, 1, found));
	cr_assert_str_eq(found[0]->forms.of[0].name, "a");
	cr_assert_str_eq(found[1]->forms.of[0].name, "b");
	cr_assert_str_eq(found[3]->forms.of[0].name, "d");
	cr_assert(found[1]->probe == 1 && !found[2]);
	call_table_unlock(table);
	call_table_end(table, 1, 20);
	cr_assert_eq(call_table_prepare(table, &more, 21, &probe), 0);
	cr_assert_eq(probe, 1, "its number is free again");
	cr_assert_null(call_table_lock(table, 25, 1, found));
	cr_assert(found[0] && !found[1] && found[3]);
	call_table_unlock(table);
}

Test(call_table, has_one_alone_that_is_timed)
{
	const struct call_period a = period_of("a"), *found[DP_MAX_LABEL_PROBES];
	struct call_period b = period_of("b");
	unsigned int probe;

	cr_assert_eq(prepare(&a, 1), 0);
	b.is_timed = true;
	cr_assert_eq(call_table_prepare(table, &b, 1, &probe), -EBUSY);
	call_table_end(table, 0, 2);
	cr_assert_eq(prepare(&b, 3), 0);
	cr_assert_eq(call_table_prepare(table, &a, 4, &probe), -EBUSY);
	call_table_begin(table, 0, 5);
	cr_assert_str_eq(call_table_lock(table, 5, 1, found)->forms.of[0].name, "b");
	call_table_unlock(table);
}

Test(call_table, tells_them_apart)
{
	struct call_period a = period_of("a"), b = period_of("b");
	unsigned int probe;

	cr_assert_eq(prepare(&a, 1), 0);
	strcpy(b.forms.of[0].name, "a");
	cr_assert_eq(call_table_prepare(table, &b, 1, &probe), -ENOTUNIQ);
	b.forms.of[0].is_length = true;
	cr_assert_eq(call_table_prepare(table, &b, 1, &probe), 0, "it is no label");
	call_table_end(table, probe, 2);
	b = period_of("b");
	b.code = a.code;
	cr_assert_eq(call_table_prepare(table, &b, 1, &probe), -EEXIST);
}

Test(call_table, is_for_some_processes)
{
	struct call_period a = period_of("a");

	a.pids[0] = 3;
	a.pids[1] = 5;
	a.n_pids = 2;
	cr_assert_eq(prepare(&a, 1), 0);
	call_table_begin(table, 0, 1);
	cr_assert_str_eq(name_at(2, 3), "a");
	cr_assert_str_eq(name_at(2, 5), "a");
	cr_assert_str_eq(name_at(2, 4), "");
}

Test(call_table, keeps_copies)
{
	struct call_period a = period_of("a");
	struct code_extent maybe = { 16, 4 };
	struct enumerator names[1];
	const struct call_period *all[DP_MAX_LABEL_PROBES], *found;

	a.code.maybe = &maybe;
	a.code.n_maybe = 1;
	a.forms.of[0].names = names;
	a.forms.of[0].n_names = 1;
	cr_assert_eq(prepare(&a, 1), 0);
	call_table_begin(table, 0, 1);
	maybe.offset = 0;
	(void)call_table_lock(table, 1, 1, all);
	found = all[0];
	cr_assert_eq(found->code.maybe[0].offset, 16);
	cr_assert_eq(found->code.inode, 'a');
	cr_assert_null(found->forms.of[0].names, "they are the caller's");
	call_table_unlock(table);
}

Test(call_table, keeps_what_has_ended_for_a_while)
{
	const struct call_period a = period_of("a");

	for (uint64_t i = 1; i <= CALL_TABLE_SIZE; i++) {
		cr_assert_eq(prepare(&a, i * 10), 0);
		call_table_begin(table, 0, i * 10);
		call_table_end(table, 0, i * 10 + 5);
	}
	cr_assert_eq(prepare(&a, CALL_TABLE_REST_NS + 14), -E2BIG);
	cr_assert_str_eq(name_at(10, 1), "a");
	cr_assert_eq(prepare(&a, CALL_TABLE_REST_NS + 15), 0);
	cr_assert_str_eq(name_at(10, 1), "", "it was replaced");
	cr_assert_str_eq(name_at(20, 1), "a");
}

Test(call_table, does_not_keep_what_has_not_begun)
{
	const struct call_period a = period_of("a");

	for (uint64_t i = 1; i <= 2 * CALL_TABLE_SIZE; i++) {
		cr_assert_eq(prepare(&a, i), 0);
		call_table_end(table, 0, i);
		cr_assert_str_eq(name_at(i, 1), "");
	}
}

/* However long ago it was prepared, and whatever the time: it has no end yet. */
Test(call_table, keeps_what_has_not_ended)
{
	const struct call_period a = period_of("a"), b = period_of("b");
	const struct call_period *found[DP_MAX_LABEL_PROBES];
	unsigned int probe;

	cr_assert_eq(prepare(&a, 5), 0);
	cr_assert_eq(call_table_prepare(table, &b, 3 * CALL_TABLE_REST_NS, &probe), 0);
	call_table_begin(table, 0, 3 * CALL_TABLE_REST_NS + 1);
	call_table_begin(table, probe, 3 * CALL_TABLE_REST_NS + 2);
	cr_assert_null(call_table_lock(table, 4 * CALL_TABLE_REST_NS, 1, found));
	cr_assert(found[0] && found[1]);
	cr_assert_str_eq(found[0]->forms.of[0].name, "a");
	cr_assert_str_eq(found[1]->forms.of[0].name, "b");
	call_table_unlock(table);
}
