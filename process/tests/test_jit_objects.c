// SPDX-License-Identifier: Apache-2.0
/* Which entries of lists of generated code are read, and when. */
#include "process/jit_objects.h"

#include "process/tests/jit_world.h"

/* A library with a compiler of its own. */
static struct binary with_other_list;

TestSuite(jit_objects, .init = begin, .fini = end);

Test(jit_objects, each_entry_is_copied_once)
{
	struct entry first, second;

	put(&first);
	put(&second);
	second.size = 100;
	look(&p, SECOND);
	cr_expect_eq(n_got, 2);
	cr_expect_eq(n_bytes, sizeof(bytes) + 100);
	p.n_generated++;
	look(&p, 10 * SECOND);
	cr_expect_eq(n_got, 2);
}

Test(jit_objects, it_is_read_again_for_samples_only)
{
	struct entry first, second;

	put(&first);
	look(&p, SECOND);
	put(&second);
	look(&p, 10 * SECOND);
	cr_expect_eq(n_got, 1);
	p.n_generated++;
	look(&p, 20 * SECOND);
	cr_expect_eq(n_got, 2);
	/* And not for each of many. */
	put(&(struct entry){ 0 });
	p.n_generated++;
	look(&p, 20 * SECOND + 1);
	cr_expect_eq(n_got, 2);
}

Test(jit_objects, what_is_taken_off_the_list_is_let_go)
{
	struct entry first, second;

	put(&first);
	put(&second);
	look(&p, SECOND);
	cr_assert_eq(n_got, 2);
	second.next = NULL;
	p.n_generated++;
	look(&p, 10 * SECOND);
	cr_expect_eq(got[0]->n_users + got[1]->n_users, 1);
	/* Put there again, it may be other code. */
	put(&first);
	p.n_generated++;
	look(&p, 20 * SECOND);
	cr_expect_eq(n_got, 3);
}

Test(jit_objects, another_file_at_the_same_place_is_seen)
{
	struct entry first;

	put(&first);
	look(&p, SECOND);
	bytes[sizeof(bytes) - 1]++;
	p.n_generated++;
	look(&p, 10 * SECOND);
	cr_assert_eq(n_got, 2);
	cr_expect_eq(got[0]->n_users, 0);
	cr_expect_eq(got[1]->n_users, 1);
}

Test(jit_objects, a_circle_ends)
{
	struct entry first, second;

	put(&first);
	put(&second);
	first.next = &second;
	look(&p, SECOND);
	cr_expect_eq(n_got, 2);
	p.n_generated++;
	look(&p, 10 * SECOND);
	cr_expect_eq(n_got, 2);
}

Test(jit_objects, forged_ones_are_left_out)
{
	static uint8_t readable[JIT_OBJECT_SIZE + 1];
	struct entry large, far, empty, good;

	put(&good);
	put(&large);
	large.file = readable;
	large.size = sizeof(readable);
	put(&far);
	far.file = (const void *)0xffffffffff600000;
	far.size = 1;
	put(&empty);
	empty.size = 0;
	look(&p, SECOND);
	cr_expect_eq(n_got, 1);
	/* Nor is the rest of a list that leads nowhere, or of another version. */
	list.first = (struct entry *)8;
	p.n_generated++;
	look(&p, 10 * SECOND);
	cr_expect_eq(got[0]->n_users, 1, "it is not known to be gone");
	list = (struct list){ .version = 2, .first = &good };
	p.n_generated++;
	look(&p, 20 * SECOND);
	cr_expect_eq(got[0]->n_users, 0);
}

Test(jit_objects, only_so_many_are_copied)
{
	static struct entry many[JIT_OBJECTS_MAX + 10];

	for (size_t i = 0; i < JIT_OBJECTS_MAX + 10; i++)
		put(&many[i]);
	for (uint64_t i = 1; i < 20; i++) {
		p.n_generated++;
		look(&p, i * 10 * SECOND);
	}
	cr_expect_eq(n_got, JIT_OBJECTS_MAX);
}

Test(jit_objects, a_list_that_cannot_be_read_stops_no_other)
{
	struct entry first, of_other = { .file = bytes, .size = 100 };

	load(&with_other_list, &other_list, 0x4000);
	other_list.first = &of_other;
	put(&first);
	look(&p, SECOND);
	cr_assert_eq(n_got, 2);
	list.first = (struct entry *)8;
	other_list.first = NULL;
	p.n_generated++;
	look(&p, 10 * SECOND);
	cr_expect_eq(got[0]->n_users, 1, "it is not known to be gone");
	cr_expect_eq(got[1]->n_users, 0);
}

Test(jit_objects, a_list_goes_with_its_library)
{
	struct entry first, of_other = { .file = bytes, .size = 100 };

	load(&with_other_list, &other_list, 0x4000);
	other_list.first = &of_other;
	put(&first);
	look(&p, SECOND);
	put_memory(&p, 0x4000, 0x5000, SECOND);
	/* Mappings that are not certain say nothing. */
	p.doubted = 1;
	p.n_generated++;
	look(&p, 10 * SECOND);
	cr_expect_eq(got[1]->n_users, 1);
	p.doubted = 0;
	p.n_generated++;
	look(&p, 20 * SECOND);
	cr_expect_eq(got[0]->n_users, 1);
	cr_expect_eq(got[1]->n_users, 0);
	/* The last one takes all with it. */
	put_memory(&p, 0x1000, 0x2000, 20 * SECOND);
	p.n_generated++;
	look(&p, 30 * SECOND);
	cr_expect_null(p.jit_objects);
	cr_expect_eq(got[0]->n_users, 0);
}

Test(jit_objects, another_mapping_of_the_library_keeps_its_list)
{
	struct entry first;

	put(&first);
	load(&with_list, &list, 0x4000);
	look(&p, SECOND);
	put_memory(&p, 0x1000, 0x2000, SECOND);
	p.n_generated++;
	look(&p, 10 * SECOND);
	cr_assert(p.jit_objects);
	cr_expect_eq(got[0]->n_users, 1);
}

Test(jit_objects, nothing_is_read_of_others)
{
	struct entry first;

	put(&first);
	p.exited = 1; /* it had started by then, which this one had not */
	look(&p, SECOND);
	cr_expect_eq(n_got, 0);
	cr_expect_null(p.jit_objects);
}

Test(jit_objects, nothing_is_read_of_those_that_left)
{
	struct entry first;

	put(&first);
	p.left = 1;
	look(&p, SECOND);
	cr_expect_eq(n_got, 0);
	p.left = TIME_NEVER;
	load(&with_list, &list, 0x1000);
	p.is_replaced = true;
	look(&p, SECOND);
	cr_expect_eq(n_got, 0);
}

/* A list that changes while it is read leads elsewhere: nothing on it is known to be gone. */
Test(jit_objects, a_list_has_to_lead_back)
{
	struct entry first, second, stray = { .file = bytes, .size = 10 };

	put(&first);
	put(&second);
	look(&p, SECOND);
	second.next = &stray;
	p.n_generated++;
	look(&p, 10 * SECOND);
	cr_expect_eq(n_got, 2);
	cr_expect_eq(got[1]->n_users, 1);
	stray.previous = &second;
	look(&p, 20 * SECOND);
	cr_expect_eq(n_got, 3, "without a new sample");
	cr_expect_eq(got[1]->n_users, 0);
}

Test(jit_objects, what_leads_nowhere_is_not_read_for_ever)
{
	struct entry first;
	int n = 0;

	put(&first);
	first.previous = &first;
	while (n < 100 && jit_objects_update(&table, &p, (uint64_t)++n * 10 * SECOND, UINT64_MAX))
		;
	cr_expect_gt(n, 1);
	cr_expect_lt(n, 100);
}

/* As of one that compiles on and on: what was copied is behind it all. */
Test(jit_objects, many_new_ones_do_not_hide_known_ones)
{
	static struct entry many[2 * JIT_OBJECTS_MAX];

	for (size_t i = 0; i < 2 * JIT_OBJECTS_MAX; i++) {
		put(&many[i]);
		if (i == JIT_OBJECTS_MAX - 1)
			look(&p, SECOND);
	}
	p.n_generated++;
	cr_expect_not(jit_objects_update(&table, &p, 10 * SECOND, UINT64_MAX), "there is no more");
	cr_expect_eq(n_got, JIT_OBJECTS_MAX);
	for (size_t i = 0; i < n_got; i++)
		cr_expect_eq(got[i]->n_users, 1);
	/* Their end is seen, too, and leaves room. */
	many[JIT_OBJECTS_MAX].next = NULL;
	p.n_generated++;
	look(&p, 20 * SECOND);
	cr_expect_eq(got[0]->n_users, 0);
	p.n_generated++;
	look(&p, 30 * SECOND);
	cr_expect_eq(n_got, 2 * JIT_OBJECTS_MAX);
}

/* Several looks walk along it. */
Test(jit_objects, a_walk_goes_on_where_it_has_stopped)
{
	struct entry many[10];
	int n = 0;

	for (size_t i = 0; i < 10; i++)
		put(&many[i]);
	clock_ns = tick_ns = 1;
	while (jit_objects_update(&table, &p, (uint64_t)++n * 10 * SECOND, clock_ns + 9))
		cr_assert_lt(n, 100);
	cr_expect_gt(n, 2);
	cr_expect_eq(n_got, 10);
	tick_ns = 0;
	look(&p, 1000 * SECOND);
	cr_expect_eq(n_got, 10);
}

Test(jit_objects, what_had_no_room_is_copied_later)
{
	struct entry first;

	put(&first);
	get_err = -EMFILE;
	look(&p, SECOND);
	get_err = 0;
	p.n_generated++;
	look(&p, SECOND + SECOND / 2);
	cr_expect_eq(n_got, 0);
	p.n_generated++;
	look(&p, 3 * SECOND);
	cr_expect_eq(n_got, 1);
}

/* Each copy costs the same, and there may never be room. */
Test(jit_objects, what_has_no_room_for_long_is_copied_ever_more_rarely)
{
	struct entry first;
	size_t n;

	put(&first);
	get_err = -EMFILE;
	for (uint64_t i = 1; i < 200; i++) {
		p.n_generated++;
		look(&p, i * SECOND);
	}
	n = n_bytes / sizeof(bytes);
	cr_expect(n >= 7 && n <= 10, "%zu", n);
	get_err = 0;
	p.n_generated++;
	look(&p, 300 * SECOND);
	cr_expect_eq(n_got, 1);
	/* Another one begins anew. */
	bytes[sizeof(bytes) - 1]++;
	get_err = -EMFILE;
	p.n_generated++;
	look(&p, 301 * SECOND);
	get_err = 0;
	p.n_generated++;
	look(&p, 303 * SECOND);
	cr_expect_eq(n_got, 2);
}

Test(jit_objects, what_waits_is_copied_when_another_one_is_gone)
{
	struct entry first, second;
	uint64_t now = SECOND;

	put(&first);
	look(&p, now);
	put(&second);
	get_err = -EMFILE;
	/* Until it waits for a minute. */
	for (n_bytes = 0; n_bytes < 7 * sizeof(bytes) && now < 1000 * SECOND;) {
		p.n_generated++;
		look(&p, now += SECOND);
	}
	get_err = 0;
	second.next = NULL;
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(n_got, 1);
		p.n_generated++;
		look(&p, now += SECOND);
	}
	cr_expect_eq(n_got, 2);
}

Test(jit_objects, what_cannot_be_read_is_copied_when_it_changes)
{
	struct entry first;

	put(&first);
	load_err = -ENOEXEC;
	look(&p, SECOND);
	p.n_generated++;
	look(&p, 3 * SECOND);
	cr_expect_eq(n_got, 1);
	bytes[sizeof(bytes) - 1]++;
	p.n_generated++;
	look(&p, 5 * SECOND);
	cr_expect_eq(n_got, 2);
	load_err = -EMFILE;
	bytes[sizeof(bytes) - 1]++;
	p.n_generated++;
	look(&p, 7 * SECOND);
	p.n_generated++;
	look(&p, 9 * SECOND);
	cr_expect_eq(n_got, 4, "not for lack of room");
}

/* Each of three takes all the time. */
Test(jit_objects, processes_take_turns)
{
	struct process others[2] = { p, p };
	struct process *all[] = { &p, &others[0], &others[1] };
	struct entry first;

	put(&first);
	for (int i = 0; i < 3; i++) {
		all[i]->pid = 100 + i;
		all[i]->is_due = false;
		all[i]->jit_objects = i > 0 ? jit_objects_copy(p.jit_objects) : p.jit_objects;
		HASH_ADD(hh, table.processes, pid, sizeof(pid_t), all[i]);
	}
	table.due = NULL;
	for (int i = 0; i < 3; i++)
		process_set_due(all[i]);
	tick_ns = 10;
	for (uint64_t i = 1; i < 20; i++) {
		for (int j = 0; j < 3; j++)
			all[j]->n_generated++;
		(void)jit_objects_update_all(&table, i * 10 * SECOND, clock_ns + 60);
	}
	cr_expect_eq(n_got, 3);
	tick_ns = 0;
	HASH_CLEAR(hh, table.processes);
	for (int i = 1; i < 3; i++)
		jit_objects_free(all[i]->jit_objects);
}

/* What is behind so many is neither read nor known to be gone. */
Test(jit_objects, a_list_that_is_too_long_is_left)
{
	static struct entry many[JIT_OBJECTS_WALK + 1];
	struct entry first;

	put(&first);
	look(&p, SECOND);
	list.first = NULL;
	for (size_t i = 0; i < JIT_OBJECTS_WALK + 1; i++) {
		put(&many[i]);
		many[i].size = 0;
	}
	p.n_generated++;
	cr_expect_not(jit_objects_update(&table, &p, 10 * SECOND, UINT64_MAX));
	cr_expect_eq(got[0]->n_users, 1);
}

Test(jit_objects, so_many_bytes_are_copied)
{
	static uint8_t large[JIT_OBJECT_SIZE];
	static struct entry many[JIT_OBJECTS_BYTES / JIT_OBJECT_SIZE + 1];
	const size_t n = JIT_OBJECTS_BYTES / JIT_OBJECT_SIZE;

	for (size_t i = 0; i < n + 1; i++) {
		put(&many[i]);
		many[i].file = large;
		many[i].size = sizeof(large);
	}
	look(&p, SECOND);
	cr_expect_eq(n_got, n);
	/* Until others are gone. */
	list.first = &many[0];
	many[0].previous = NULL;
	p.n_generated++;
	look(&p, 10 * SECOND);
	p.n_generated++;
	look(&p, 20 * SECOND);
	cr_expect_eq(n_got, n + 1);
}
