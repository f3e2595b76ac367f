// SPDX-License-Identifier: Apache-2.0
/* Where generated code is that lists describe. */
#include "process/jit_objects.h"

#include "process/tests/jit_world.h"
#include "process/unrecorded.h"

TestSuite(jit_code, .init = begin, .fini = end);

static void place_code(uint64_t at, uint64_t size)
{
	code[n_code++] =
		(struct elf_segment){ .address = at, .memory_size = size, .executable = true };
}

static const struct binary *binary_at(const struct process *of, uint64_t address)
{
	const struct mapping *m = history_find(&of->mappings, address, TIME_NEVER - 1);

	cr_assert(m);
	return m->binary;
}

Test(jit_code, code_is_mapped_as_long_as_it_is_described)
{
	struct entry first;

	put_memory(&p, 0x10000, 0x20000, 0);
	place_code(0x12000, 0x100);
	place_code(0x1f000, 0x2000); /* more than is there */
	put(&first);
	look(&p, SECOND);
	cr_expect_eq(binary_at(&p, 0x12000), got[0]);
	cr_expect_eq(binary_at(&p, 0x120ff), got[0]);
	cr_expect_null(binary_at(&p, 0x12100));
	cr_expect_eq(binary_at(&p, 0x1ffff), got[0]);
	cr_expect_eq(jit_objects_n_mappings(p.jit_objects), 4);
	p.max_mappings = 2;
	cr_expect_not(unrecorded_unmaps(&p), "these are all there");
	p.max_mappings = 0;
	cr_expect(unrecorded_unmaps(&p));
	list.first = NULL;
	p.n_generated++;
	look(&p, 2 * SECOND);
	cr_expect_null(binary_at(&p, 0x12000));
	cr_expect_null(binary_at(&p, 0x1ffff));
	cr_expect_eq(p.mappings.n_living, 2, "the list's binary, and one piece of memory");
	cr_expect_eq(jit_objects_n_mappings(p.jit_objects), 0);
}

Test(jit_code, code_is_mapped_again_after_changes_near_it_only)
{
	struct entry first;
	uint64_t n_ended;

	put_memory(&p, 0x10000, 0x20000, 0);
	place_code(0x12000, 0x100);
	put(&first);
	look(&p, SECOND);
	n_ended = p.mappings.n_ended;
	/* What was there is no longer looked for, but with a mapping. */
	history_end(&p.mappings, 2 * SECOND);
	look(&p, 2 * SECOND);
	put_memory(&p, 0x30000, 0x40000, 2 * SECOND);
	cr_expect_not(jit_objects_update(&table, &p, 2 * SECOND, UINT64_MAX));
	put_memory(&p, 0x10000, 0x20000, 2 * SECOND);
	look(&p, 3 * SECOND);
	cr_expect_eq(binary_at(&p, 0x12000), got[0]);
	cr_expect_gt(p.mappings.n_ended, n_ended);
	n_ended = p.mappings.n_ended;
	look(&p, 4 * SECOND);
	cr_expect_eq(p.mappings.n_ended, n_ended);
}

/* Only if the object itself has room. */
Test(jit_code, so_much_code_is_mapped)
{
	static struct entry many[JIT_OBJECTS_CODE / JIT_OBJECT_MAX_CODE + 1];

	put_memory(&p, 0x10000, 0x20000, 0);
	while (n_code < JIT_OBJECT_MAX_CODE)
		place_code(0x10000 + n_code * 0x10, 0x10);
	for (size_t i = 0; i < JIT_OBJECTS_CODE / JIT_OBJECT_MAX_CODE + 1; i++)
		put(&many[i]);
	look(&p, SECOND);
	cr_expect_eq(jit_objects_n_mappings(p.jit_objects), 2 * JIT_OBJECTS_CODE);
	cr_expect_eq(got[n_got - 1]->n_users, 0);
	/* Room that the others leave is used. */
	list.first = &many[0];
	many[0].previous = NULL;
	p.n_generated++;
	look(&p, 10 * SECOND);
	cr_expect_eq(jit_objects_n_mappings(p.jit_objects), 2 * JIT_OBJECT_MAX_CODE);
	cr_expect_gt(got[n_got - 1]->n_users, JIT_OBJECT_MAX_CODE);
}

Test(jit_code, what_is_not_ready_is_mapped_later)
{
	struct entry first;

	put_memory(&p, 0x10000, 0x20000, 0);
	place_code(0x12000, 0x100);
	put(&first);
	clock_ns = 1;
	cr_expect(jit_objects_update(&table, &p, SECOND, 0), "no time");
	cr_expect_not(jit_objects_update(&table, &p, 2 * SECOND, UINT64_MAX));
	cr_expect_eq(binary_at(&p, 0x12000), got[0]);
	put_memory(&p, 0x12000, 0x13000, 3 * SECOND);
	cr_expect(jit_objects_update(&table, &p, 3 * SECOND, 0), "no time");
	cr_expect_null(binary_at(&p, 0x12000));
	got[0]->is_loading = true;
	cr_expect(jit_objects_update(&table, &p, 3 * SECOND, UINT64_MAX), "not read");
	got[0]->is_loading = false;
	cr_expect_not(jit_objects_update(&table, &p, 3 * SECOND, UINT64_MAX));
	cr_expect_eq(binary_at(&p, 0x12000), got[0]);
}

Test(jit_code, a_child_has_the_same_code_until_it_changes_its_own)
{
	struct process child = p;
	struct entry first;

	put_memory(&p, 0x10000, 0x20000, 0);
	place_code(0x12000, 0x100);
	put(&first);
	look(&p, SECOND);
	child.jit_objects = jit_objects_copy(p.jit_objects);
	child.mappings = (struct history){ 0 };
	child.prev_due = child.next_due = NULL;
	child.due = NULL;
	for (uint64_t at = 0x1000; at < 0x20000; at += 0x1000) {
		const struct mapping *m = history_find(&p.mappings, at, TIME_NEVER - 1);

		if (m && m->start == at)
			cr_assert_eq(process_add_mapping(&child, m), 0);
	}
	cr_expect_eq(binary_at(&child, 0x12000), got[0]);
	look(&child, SECOND);
	cr_expect_eq(n_got, 1);
	cr_expect_eq(binary_at(&child, 0x12000), got[0]);
	/* Here, both have the same memory, but the child has looked at it again. */
	bytes[0]++;
	bytes[sizeof(bytes) - 1]++;
	child.n_generated++;
	look(&child, 10 * SECOND);
	look(&p, 10 * SECOND);
	cr_expect_eq(binary_at(&child, 0x12000), got[1]);
	cr_expect_eq(binary_at(&p, 0x12000), got[0]);
	jit_objects_free(child.jit_objects);
	history_done(&child.mappings);
	cr_expect_eq(got[1]->n_users, 0);
}

/* As of a compiler that has its code in a file in memory. */
Test(jit_code, is_mapped_where_a_file_is_known_to_be_no_binary)
{
	static char path[] = "/memfd:code";
	static struct module module = { .path = path };
	static struct binary file = { .module = &module, .is_loading = true, .n_users = 1 };
	const struct mapping m = { 0x10000, 0x20000, .binary = &file, .is_pending = true,
				   .died = TIME_NEVER };
	struct entry first;

	p.packed_asked = true;
	cr_assert_eq(process_add_mapping(&p, &m), 0);
	place_code(0x12000, 0x100);
	put(&first);
	look(&p, SECOND);
	cr_expect_eq(binary_at(&p, 0x12000), &file);
	file.is_loading = false;
	file.err = -ENOEXEC;
	HASH_ADD(hh, table.processes, pid, sizeof(pid_t), &p);
	process_table_settle(&table);
	look(&p, 2 * SECOND);
	cr_expect_eq(binary_at(&p, 0x12000), got[0]);
	HASH_CLEAR(hh, table.processes);
}
