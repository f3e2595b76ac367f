// SPDX-License-Identifier: Apache-2.0
/* Whose is the code that a process's compiler describes. */
#include "kernel/filter.h"
#include "process/tests/process_world.h"

TestSuite(described, .init = begin, .fini = end);

/* A process whose compiler has such a list. */
static void describe(int n, uint64_t time)
{
	static struct binary compiler = { .elf.jit_descriptor = 8 };
	struct mapping m = { 0x9000, 0xa000, .binary = &compiler, .died = TIME_NEVER };
	struct process *p = process_table_find(&table, PID(n));

	m.born = time;
	cr_assert_eq(process_add_mapping(p, &m), 0);
	jit_objects_meet(p, &m);
	cr_assert(p->jit_objects);
}

Test(described, code_is_given_to_children_alone)
{
	static const struct filter filter;

	table.all = true;
	for (int n = 0; n < 3; n++) {
		map(n, 10, 0x1000, 0x2000);
		describe(n, 10);
	}
	table.all = false;
	cr_assert_eq(process_table_on_fork(&table, PID(0), PID(4), 20), 0);
	cr_expect(process_table_find(&table, PID(4))->jit_objects);
	/* Others have these numbers now, and other memory. */
	cr_assert_eq(process_table_on_fork(&table, PID(7), PID(1), 30), 0);
	cr_expect_null(process_table_find(&table, PID(1))->jit_objects);
	table.all = true;
	table.filter = &filter;
	cr_assert_eq(process_table_on_fork(&table, PID(7), PID(2), 30), 0);
	cr_expect_null(process_table_find(&table, PID(2))->jit_objects);
}
