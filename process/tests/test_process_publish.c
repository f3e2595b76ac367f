// SPDX-License-Identifier: Apache-2.0
/* Which processes are looked at for a new snapshot. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "process/tests/process_world.h"

TestSuite(process_publish, .init = begin, .fini = end);

/* Hundreds of others do nothing meanwhile. */
Test(process_publish, looks_again_only_at_those_that_are_due)
{
	const uint64_t second = UINT64_C(1000000000);
	struct process *p;

	table.all = true;
	for (int i = 0; i < 4; i++)
		map(i, 10, 0x1000, 0x2000);
	cr_assert(process_table_publish(&table, 100) == 0 && !table.due);
	map(2, 110, 0x5000, 0x6000);
	p = process_table_find(&table, PID(2));
	cr_assert(table.due == p && !p->next_due);
	cr_assert(process_table_publish(&table, 120) == 0 && !table.due);

	process_table_doubt(p, 130);
	process_table_doubt(process_table_find(&table, PID(1)), 130);
	cr_assert(process_table_publish(&table, 140) == 0);
	cr_assert(table.due == p && p->next_due, "it is not the time yet");
	cr_assert(process_table_publish(&table, 130 + second) == 0 && !table.due);

	map(0, 2 * second, 0x5000, 0x6000);
	map(1, 2 * second, 0x5000, 0x6000);
	process_table_on_exit(&table, PID(0), 2 * second);
	process_table_forget(&table, 2 * second + 1);
	cr_assert(table.due && table.due->pid == PID(1) && !table.due->next_due);
}

/* How many they are decides how often they get a snapshot. */
Test(process_publish, looks_at_those_with_many_mappings)
{
	const uint64_t n = 4097;

	table.all = true;
	for (uint64_t i = 1; i <= n; i++)
		map(0, 10, 0x1000 * i, 0x1000 * (i + 1));
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(process_table_publish(&table, 100), 0);
		cr_assert_eq(table.n_large, 1);
	}
	process_table_on_exec(&table, PID(0), 200);
	process_table_forget(&table, 300);
	cr_assert(process_table_publish(&table, UINT64_C(2000000000)) == 0 && table.n_large == 0);
	cr_assert_null(table.due);
}

/* As many have where programs come and go. The kernel would be told of it, and to forget it. */
Test(process_publish, makes_no_snapshot_of_one_that_has_ended)
{
	struct mmap_record r = {
		.pid = getpid(), .time = 20, .start = 0x1000, .end = 0x2000, .name = "//anon"
	};

	table.all = true;
	map(0, 20, 0x1000, 0x2000);
	process_table_on_exec(&table, getpid(), 10);
	cr_assert_eq(process_table_on_mmap(&table, &r), 0);
	process_table_on_exit(&table, PID(0), 30);
	process_table_on_exit(&table, getpid(), 30); /* a thread of it */
	cr_assert(process_table_publish(&table, 40) == 0 && !table.due);
	cr_assert(published[0] == 0 && !process_table_find(&table, PID(0))->snapshot);
	cr_assert(process_table_find(&table, getpid())->snapshot);
	expect_mappings(0, 25, 1);
	published[0] = 1; /* of another one */
	process_table_forget(&table, 50);
	cr_assert(published[0] == 1 && !process_table_find(&table, PID(0)));
	/* The kernel has to forget this one. */
	map(1, 60, 0x1000, 0x2000);
	cr_assert(process_table_publish(&table, 70) == 0 && published[1] != 0);
	process_table_on_exit(&table, PID(1), 80);
	map(1, 90, 0x3000, 0x4000);
	cr_assert(process_table_publish(&table, 100) == 0);
	cr_assert_eq(process_table_find(&table, PID(1))->snapshot->n_mappings, 1);
	expect_mappings(1, 95, 2);
	process_table_forget(&table, 110);
	cr_assert_eq(published[1], 0);
}
