// SPDX-License-Identifier: Apache-2.0
/* Mappings that children have from their parents, and most never ask for. */
#include "process/inherited.h"

#include <criterion/criterion.h>

#include "process/tests/process_world.h"

TestSuite(inherited, .init = begin, .fini = end);

static struct process *find(int n)
{
	return process_table_find(&table, PID(n));
}

static void make_child(int parent, int child, uint64_t time)
{
	cr_assert_eq(process_table_on_fork(&table, PID(parent), PID(child), time), 0);
}

static size_t n_copied(int n)
{
	return find(n)->mappings.n_living + find(n)->mappings.n_past;
}

static void make_parent(void)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	map(0, 11, 0x5000, 0x6000);
}

/* As the parent's were then, whatever it has done since. */
Test(inherited, is_copied_when_a_sample_asks)
{
	make_parent();
	make_child(0, 1, 20);
	process_table_on_exec(&table, PID(1), 30);
	map(1, 31, 0x8000, 0x9000);
	map(0, 32, 0x1000, 0x3000);
	process_table_on_exec(&table, PID(0), 40);
	cr_assert_eq(process_table_publish(&table, 50), 0);
	cr_assert_eq(n_copied(1), 1);
	cr_assert_eq(inherited_find(&table, PID(1), 30), find(1));
	cr_assert_eq(n_copied(1), 1);
	cr_assert_eq(inherited_find(&table, PID(1), 29), find(1));
	cr_assert_eq(n_copied(1), 3);
	cr_assert_eq(process_find(find(1), 0x1fff, 20)->end, 0x2000);
	cr_assert_null(process_find(find(1), 0x2000, 29));
	cr_assert_null(process_find(find(1), 0x1fff, 30));
	cr_assert_null(process_find(find(1), 0x1fff, 19));
	expect_mappings(1, 25, 2);
	expect_mappings(1, 35, 1);
	cr_assert_eq(n_copied(1), 3);
	cr_assert_null(inherited_find(&table, PID(2), 20));
}

Test(inherited, is_copied_for_a_snapshot)
{
	make_parent();
	make_child(0, 1, 20);
	make_child(0, 2, 20);
	process_table_on_exec(&table, PID(2), 30);
	cr_assert_eq(n_copied(1), 0);
	expect_mappings(2, 29, 2);
	/* Of the kernel's, only the first one's has them. */
	cr_assert_eq(process_table_publish(&table, 40), 0);
	cr_assert(n_copied(1) == 2 && find(1)->snapshot->n_mappings == 2);
	cr_assert(find(2)->snapshot->n_mappings == 0 && n_copied(2) == 2);
	cr_assert(find(1)->mappings.n_living == 2 && find(2)->mappings.n_living == 0);
}

/* New mappings cover those that were there before, and not the other way round. */
Test(inherited, is_copied_before_what_is_mapped_later)
{
	make_parent();
	make_child(0, 1, 20);
	map(1, 25, 0x1800, 0x5800);
	expect_mappings(1, 24, 2);
	expect_mappings(1, 25, 3);
	cr_assert_eq(process_find(find(1), 0x1800, 25)->born, 25);
	cr_assert_eq(process_find(find(1), 0x17ff, 25)->end, 0x1800);
}

Test(inherited, goes_on_to_grandchildren)
{
	make_parent();
	make_child(0, 1, 20);
	make_child(1, 2, 25);
	process_table_on_exec(&table, PID(1), 30);
	process_table_on_exec(&table, PID(0), 30);
	expect_mappings(2, 35, 2);
	expect_mappings(1, 22, 2);
	cr_assert_eq(process_find(find(2), 0x1000, 35)->born, 25);
}

/* Its number may be another one's by then. */
Test(inherited, is_of_a_parent_that_is_known)
{
	make_parent();
	make_child(0, 1, 20);
	process_table_on_exec(&table, PID(1), 30);
	make_child(0, 2, 20);
	process_table_on_exec(&table, PID(2), 30);
	process_table_on_exit(&table, PID(0), 40);
	expect_mappings(1, 25, 2);
	process_table_forget(&table, 50);
	cr_assert_null(find(0));
	map(0, 0, 0x1000, 0x2000);
	expect_mappings(2, 25, 0);
}

/* What one had that has ended is its own; the next one with its number has another parent. */
Test(inherited, stays_that_of_each_process_with_a_number)
{
	make_parent();
	map(3, 12, 0x7000, 0x8000);
	make_child(0, 1, 20);
	process_table_on_exit(&table, PID(1), 25);
	make_child(3, 1, 30);
	expect_mappings(1, 24, 2);
	expect_mappings(1, 35, 1);
	cr_assert_eq(process_find(find(1), 0x7000, 35)->born, 30);
}

/* What is not known of the parent yet would not be copied later. */
Test(inherited, is_copied_at_once_if_it_is_not_complete)
{
	make_parent();
	find(0)->has_pending = true;
	make_child(0, 1, 20);
	find(0)->has_pending = false;
	cr_assert_eq(n_copied(1), 2);
	find(0)->as_of = 40; /* by its list, and this record is older */
	make_child(0, 2, 30);
	cr_assert_eq(n_copied(2), 2);
	make_child(0, 3, 40);
	cr_assert_eq(n_copied(3), 0);
}

/* Another program may have all cookies in memory. */
Test(inherited, is_no_lack_of_cookies_after_an_exec)
{
	make_parent();
	process_table_miss_cookie(&table, find(0), 1);
	make_child(0, 1, 20);
	cr_assert(find(1)->lacks_cookies);
	process_table_on_exec(&table, PID(1), 30);
	cr_assert(!find(1)->lacks_cookies && find(0)->lacks_cookies);
}
