// SPDX-License-Identifier: Apache-2.0
/* From records to samples, without a kernel, and to a list instead of reports (--wrap). */
#include "kernel/filter.h"
#include "samples/tests/drain_world.h"

Test(drain, reports_what_the_kernel_has_sent)
{
	const struct sample *s = &reported[0].sample;

	add_sample(0, now - 100 * MS);
	run(true);
	cr_assert_eq(n_reported, 1);
	cr_assert(s->pid == PID(0) && s->tid == PID(0) + 100 && s->cpu == 3);
	cr_assert(s->time_ns == now - 100 * MS && s->weight == 2 && s->value_ns == 10);
	cr_assert_str_eq(s->comm, "comm");
	cr_assert_str_eq(s->thread_name, "thread");
	cr_assert(s->outcome == DP_CHAIN_END && !s->late && s->fault_address == 0);
	cr_assert(s->n_user == 3 && s->n_kernel == 2 && !s->labels);
	cr_assert(reported[0].user[0].address == 0x1010 &&
		  reported[0].user[0].method == DP_METHOD_LEAF);
	cr_assert(reported[0].user[2].address == 0x1030 &&
		  reported[0].user[2].method == DP_METHOD_FRAME_POINTER);
	cr_assert(reported[0].kernel[0] == 0xffffffff81000010 &&
		  reported[0].kernel[1] == 0xffffffff81000020);
	cr_assert(last_totals.samples == 1 && last_totals.events == 2 &&
		  last_totals.time_ns == 20 && last_totals.outcomes[DP_CHAIN_END] == 1);
}

/* Once, as the thread that reads the list holds up others that ask. */
Test(drain, wants_names_of_the_kernel_once_it_is_in_a_stack)
{
	struct kallsyms *const list = (void *)&drain;

	drain.unread = list;
	add_sample(0, now - 100 * MS)->sample.n_kernel = 0;
	run(true);
	cr_assert(n_reported == 1 && n_begun == 0);
	for (int i = 0; i < 2; i++)
		add_sample(0, now - 90 * MS);
	run(true);
	cr_assert(n_reported == 3 && n_begun == 1 && begun == list);
}

Test(drain, reports_in_the_order_of_time)
{
	static const uint64_t before[] = { 300, 100, 200, 50, 250 };

	for (size_t i = 0; i < 5; i++)
		add_sample((int)i % 2, now - before[i] * MS);
	run(true);
	cr_assert_eq(n_reported, 5);
	for (size_t i = 1; i < 5; i++)
		cr_assert_lt(reported[i - 1].sample.time_ns, reported[i].sample.time_ns);
}

/* After a sample younger than the reading of the rings, older ones may follow on other rings. */
Test(drain, waits_until_the_order_is_certain)
{
	add_sample(0, now - 100 * MS);
	add_sample(0, now + HOUR);
	add_sample(0, now - 200 * MS);
	run(false);
	cr_assert_eq(n_read, 2, "the young one ends the reading of its ring");
	cr_assert_eq(n_reported, 1);
	cr_assert_eq(reported[0].sample.time_ns, now - 100 * MS);
	run(false);
	cr_assert_eq(n_reported, 2);
	cr_assert_eq(reported[1].sample.time_ns, now - 200 * MS);
	run(true);
	cr_assert_eq(n_reported, 3);
	cr_assert_eq(reported[2].sample.time_ns, now + HOUR);
}

/* Before its exec, a command ran the profiler's own code. */
Test(drain, leaves_out_what_was_before_the_command)
{
	process_table_find(&table, PID(0))->sampled_from = now - 100 * MS;
	add_sample(0, now - 100 * MS - 1);
	add_sample(1, now - 100 * MS - 1);
	add_sample(0, now - 100 * MS);
	run(true);
	cr_assert_eq(n_reported, 2);
	cr_assert_eq(reported[0].sample.pid, PID(1));
	cr_assert(reported[1].sample.pid == PID(0) && reported[1].sample.time_ns == now - 100 * MS);
	cr_assert_eq(last_totals.samples, 2);
}

/* The PID of an exited process is given to another one, of which nothing is known. */
Test(drain, leaves_out_who_has_taken_over_a_number)
{
	struct process *p = process_table_find(&table, PID(0));

	p->exited = now - 100 * MS;
	p->is_replaced = true;
	add_sample(0, now - 100 * MS - 1);
	add_sample(0, now - 100 * MS);
	run(true);
	cr_assert_eq(n_reported, 1);
	cr_assert_eq(reported[0].sample.time_ns, now - 100 * MS - 1);
}

Test(drain, leaves_out_other_names)
{
	char why[FILTER_WHY_SIZE];

	cr_assert_eq(filter_set_comm(&filter, "^comm$", why), 0);
	add_sample(0, now - 100 * MS);
	strcpy(add_sample(0, now - 90 * MS)->names.comm, "other");
	add_sample(0, now - 80 * MS);
	run(true);
	cr_assert_eq(n_reported, 2);
	cr_assert_eq(reported[1].sample.time_ns, now - 80 * MS);
}

/* With the copy of its stack, by frame pointers, in code of no file. */
Test(drain, finishes_walks)
{
	const uint64_t words[8] = { STACK + 0x10, 0x1024, 0, 0x1036 };

	add_late(now - 100 * MS, words);
	run(true);
	cr_assert_eq(n_reported, 1);
	cr_assert(reported[0].sample.late && reported[0].sample.outcome == DP_CHAIN_END);
	cr_assert_eq(reported[0].sample.n_user, 3);
	cr_assert(reported[0].user[1].address == 0x1024 && reported[0].user[2].address == 0x1036);
	cr_assert_eq(last_totals.finished_late, 1);
	cr_assert(drain.copies.n == 0 && drain.queue.n_copies == 0);
}

/*
 * A walk that would have taken too long in the kernel goes on in the copy, if that has more of the stack than
 * the kernel has seen.
 */
Test(drain, goes_on_where_a_walk_took_long)
{
	const uint64_t words[8] = { STACK + 0x10, 0x1024, 0, 0x1036 };
	const uint64_t beyond[8] = { STACK + 0x1000, 0x1024 };
	struct named_sample *s;

	add_late(now - 100 * MS, words)->sample.outcome = DP_WALK_LIMIT;
	run(true);
	added_ns += 1000 * MS;
	s = add_late(now - 90 * MS, beyond);
	s->sample.outcome = DP_WALK_LIMIT;
	s->sample.n_user = 2;
	run(true);
	cr_assert_eq(n_reported, 2);
	cr_assert(reported[0].sample.late && reported[0].sample.n_user == 3);
	cr_assert_eq(reported[0].sample.outcome, DP_CHAIN_END);
	cr_assert(!reported[1].sample.late && reported[1].sample.n_user == 2);
	cr_assert_eq(reported[1].sample.outcome, DP_WALK_LIMIT);
}

/* Whoever has many of them must not take all the time. */
Test(drain, goes_on_with_few_long_walks)
{
	const uint64_t words[8] = { STACK + 0x10, 0x1024, 0, 0x1036 };

	stop_the_clock();
	add_late(now - 100 * MS, words)->sample.outcome = DP_WALK_LIMIT;
	add_late(now - 90 * MS, words)->sample.outcome = DP_WALK_LIMIT;
	run(true);
	cr_assert_eq(n_reported, 2);
	cr_assert(reported[0].sample.late && reported[0].sample.n_user == 3);
	cr_assert(!reported[1].sample.late && reported[1].sample.n_user == 1);
	cr_assert_eq(reported[1].sample.outcome, DP_WALK_LIMIT);
}

static void add_late_java(const uint64_t words[8])
{
	add_late_function(DP_RUNTIME_HOTSPOT, 1ULL << DP_NOTE_NUMBER_SHIFT, words);
}

/* The code cache is in no copy. Frame pointers lead elsewhere, and the name would be put there. */
Test(drain, keeps_frames_of_java_that_it_cannot_find)
{
	const uint64_t others[8] = { STACK + 0x10, 0x1024, 0, 0x1036 };
	const uint64_t same[8] = { STACK + 0x10, 0x1020, 0, 0x1036 };

	add_late_java(others);
	run(true);
	add_late_java(same);
	run(true);
	cr_assert_eq(n_reported, 2);
	cr_assert_eq(reported[0].sample.n_user, 2);
	cr_assert_eq(reported[0].user[1].address, 0x1020);
	cr_assert_eq(reported[0].sample.outcome, DP_NO_MAPPING);
	cr_assert(!reported[0].sample.late);
	/* What is behind them is found all the same. */
	cr_assert_eq(reported[1].sample.n_user, 3);
	cr_assert_eq(reported[1].user[2].address, 0x1036);
	cr_assert_eq(reported[1].sample.outcome, DP_CHAIN_END);
	cr_assert(reported[1].sample.late);
	cr_assert_eq(last_totals.finished_late, 1);
}

/* Others' are reported meanwhile. */
Test(drain, holds_samples_until_the_list_of_mappings_is_there)
{
	const uint64_t words[8] = { STACK + 0x10, 0x1024, 0, 0x1036 };
	const struct fetched_list list = { .pid = PID(0), .number = 7, .err = -ETIMEDOUT };
	struct process *p = await_list(list.number);

	table.lists = (struct list_fetchers *)&table; /* any */
	add_late(now - 100 * MS, words);
	add_sample(1, now - 90 * MS);
	run(false);
	cr_assert(n_reported == 1 && reported[0].sample.pid == PID(1));
	run(false);
	cr_assert_eq(n_reported, 1);
	coming = &list;
	run(false);
	cr_assert(!p->list && table.n_awaited == 0);
	cr_assert(n_reported == 2 && reported[1].sample.pid == PID(0));
	cr_assert(reported[1].sample.late && reported[1].sample.n_user == 3);
}

static uint64_t hurried_ns;

/* Each time that it is asked, much time has passed. */
static bool is_hurried(const void *arg)
{
	added_ns += 100 * MS;
	return added_ns > hurried_ns;
}

/* For a list that never comes. */
static uint64_t wait_for_the_end(uint64_t hurried_after_ns)
{
	hurried_ns = hurried_after_ns;
	drain.last_wait.is_hurried = is_hurried;
	await_list(7);
	add_late(now - 100 * MS, (uint64_t[8]){ STACK + 0x10, 0x1024, 0, 0x1036 });
	stop_the_clock();
	run(true);
	cr_assert_eq(n_reported, 1);
	return added_ns;
}

Test(drain, waits_for_tables_at_the_end)
{
	uint64_t waited = wait_for_the_end(UINT64_MAX);

	cr_assert(waited > 1000 * MS && waited <= 2000 * MS);
}

Test(drain, waits_less_once_the_user_wants_the_end)
{
	uint64_t waited = wait_for_the_end(0);

	cr_assert(waited > 300 * MS && waited <= 700 * MS);
}

Test(drain, ends_the_wait_when_the_user_has_had_enough)
{
	cr_assert_eq(wait_for_the_end(1000 * MS), 1100 * MS);
}

/* Complete samples can wait. */
Test(drain, may_rest)
{
	add_sample(0, now - 100 * MS);
	run(false);
	cr_assert(drain_may_rest(&drain, now));
	add_late(now - 100 * MS, (uint64_t[8]){ STACK + 0x10, 0x1024, 0, 0x1036 });
	run(false);
	cr_assert(!drain_may_rest(&drain, now + 900 * MS));
	table.recorded_ns = now + 1500 * MS;
	cr_assert(!drain_may_rest(&drain, now + 2000 * MS));
	cr_assert(drain_may_rest(&drain, now + 9000 * MS));
	cr_assert_eq(drain_take(&drain, &(struct drain_boundary){ .time_ns = now }), 0);
	cr_assert(!drain_may_rest(&drain, now + 9000 * MS));
}

/* A copy belongs to the sample with the same thread and time. */
Test(drain, tells_copies_apart)
{
	const uint64_t words[8] = { STACK + 0x10, 0x1024, 0, 0x1036 };
	uint32_t tid = (uint32_t)PID(0) + 100;
	struct named_sample *s;

	add_chunk(tid + 1, now - 100 * MS, words);
	add_chunk(tid, now - 99 * MS, words);
	s = add_sample(0, now - 100 * MS);
	s->sample.n_chunks = 1;
	s->sample.flags = DP_SAMPLE_LATE;
	s->sample.outcome = DP_NO_MAPPING;
	run(false);
	cr_assert_eq(n_reported, 1);
	cr_assert(!reported[0].sample.late && reported[0].sample.outcome == DP_NO_MAPPING);
	cr_assert_eq(drain.copies.n, 2, "their samples may come yet");
}

/* The ring had no room for the sample. */
Test(drain, forgets_copies_without_a_sample)
{
	const uint64_t words[8] = { 0 };

	add_chunk(4711, now - 2000 * MS, words);
	add_chunk(4712, now + HOUR, words);
	add_chunk(4713, now - 2000 * MS, words);
	run(false);
	cr_assert_eq(drain.copies.n, 1);
	cr_assert_eq(drain.copies.all[0]->tid, 4712);
}

/* The kernel walked with mappings that had ended by then: only the first frame is right. */
Test(drain, ends_stacks_where_code_had_changed)
{
	struct named_sample *before = add_sample(0, now - 200 * MS),
			    *s = add_sample(0, now - 100 * MS);

	cr_assert(s->sample.snapshot != 0 && s->sample.snapshot == before->sample.snapshot);
	process_table_on_exec(&table, PID(0), now - 150 * MS);
	run(true);
	cr_assert_eq(n_reported, 2);
	cr_assert(reported[0].sample.outcome == DP_CHAIN_END && reported[0].sample.n_user == 3);
	cr_assert(reported[1].sample.outcome == DP_TABLES_CHANGED);
	cr_assert(reported[1].sample.n_user == 1 && reported[1].user[0].address == 0x1010);
}

/* Code of this file that is not behind a call. */
extern const char nobody_called[];
__asm__(".pushsection .text\n\t.skip 8, 0x90\nnobody_called:\n\tnop\n\t.popsection");

static __attribute__((noinline)) uint64_t return_address(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* A caller's address is behind a call: checked in the files that the frames are in. */
Test(drain, ends_stacks_where_nobody_has_called)
{
	const __u64 by_table = (__u64)DP_METHOD_TABLE << DP_METHOD_SHIFT;
	const uint64_t called = return_address(), not_called = (uint64_t)(uintptr_t)nobody_called;
	const __u64 frames[5] = { not_called, called | by_table, not_called | by_table };
	const struct frame *user = reported[0].user;

	cr_assert_eq(process_table_add(&table, getpid()), 0);
	cr_assert_eq(process_table_publish(&table, 3), 0);
	add_sample_of(getpid(), process_table_find(&table, getpid())->snapshot, now - 100 * MS,
		      frames);
	run(true);
	cr_assert_eq(n_reported, 1);
	cr_assert_eq(reported[0].sample.outcome, DP_NO_CALL);
	cr_assert(reported[0].sample.n_user == 2 && user[1].address == called);
	cr_assert(user[0].module && user[0].module == user[1].module, "both in this program");
}

/* A slow reader of reports holds up nothing; the lost samples are counted. */
Test(drain, counts_what_reports_have_no_room_for)
{
	const uint64_t *by = last_totals.lost_by;

	losses = (struct session_losses){ 5, 10, 20, 40, 80, .time_ns = 1000 };
	is_full = true;
	add_sample(0, now - 100 * MS);
	run(true);
	is_full = false;
	add_sample(0, now - 90 * MS);
	run(true);
	cr_assert_eq(n_reported, 1);
	cr_assert(last_totals.lost == 156 && last_totals.lost_ns == 1020);
	cr_assert(by[LOST_RINGS_FULL] == 5 && by[LOST_REPORTS_FULL] == 1 && by[LOST_NESTED] == 10 &&
		  by[LOST_MISSED] == 20 && by[LOST_UNREADABLE] == 40 && by[LOST_UNTRACKED] == 80);
	cr_assert_eq(last_totals.samples, 1);
}

Test(drain, says_where_memory_could_not_be_read)
{
	struct named_sample *last;

	/* Its pages cannot be read: there is no such process. */
	process_table_find(&table, PID(0))->thread = -1;
	add_sample(0, now - 100 * MS)->sample.fault_address = 0x1234;
	last = add_sample(0, now - 90 * MS);
	last->sample.fault_address = 0x5678;
	last->sample.outcome = DP_READ_FAULT;
	run(true);
	cr_assert_eq(n_reported, 2);
	cr_assert_eq(reported[0].sample.fault_address, 0);
	cr_assert(reported[1].sample.fault_address == 0x5678 &&
		  reported[1].sample.outcome == DP_READ_FAULT);
}

Test(drain, believes_no_outcome_that_does_not_exist)
{
	add_sample(0, now - 100 * MS)->sample.outcome = DP_N_OUTCOMES;
	add_sample(0, now - 90 * MS)->sample.outcome = DP_WALKING;
	run(true);
	cr_assert(reported[0].sample.outcome == DP_TABLES_CHANGED);
	cr_assert(reported[1].sample.outcome == DP_TABLES_CHANGED);
}

/* The part of the last record. */
static struct dp_part *last_part(void)
{
	return (void *)records[n_records - 1].bytes;
}

/* Parts that are shorter than their structure. */
Test(drain, refuses_parts_that_are_too_short)
{
	const uint64_t words[8] = { 0 };

	add_chunk(1, 1, words);
	last_part()->size -= 8;
	cr_assert_eq(drain_run(&drain, false), -EBADMSG);
	add_chunk(1, 1, words);
	last_part()->size = 8;
	cr_assert_eq(drain_run(&drain, false), -EBADMSG);
	add_end(1, 1, 1);
	last_part()->size -= 8;
	cr_assert_eq(drain_run(&drain, false), -EBADMSG);
	cr_assert_eq(n_reported, 0);
}

static void expect_refused(void)
{
	cr_assert_eq(drain_run(&drain, false), -EBADMSG);
}

/* There are no words for it, and no reader takes a recording of it. */
Test(drain, refuses_samples_that_no_kernel_sends)
{
	struct dp_sample *s;

	add_sample(0, now - 100 * MS)->frames[1] = (__u64)DP_N_METHODS << DP_METHOD_SHIFT;
	expect_refused();
	add_sample(0, now - 100 * MS)->sample.event = DP_N_EVENTS;
	expect_refused();
	add_sample(0, now - 100 * MS)->sample.pid = INT32_MAX;
	expect_refused();
	add_sample(0, now - 100 * MS)->sample.tid = INT32_MAX;
	expect_refused();
	add_sample(0, now - 100 * MS)->sample.kernel_error = DP_KERNEL_HIDDEN - 1;
	expect_refused();
	add_sample(0, now - 100 * MS)->sample.kernel_error = 1;
	expect_refused();
	s = &add_sample(0, now - 100 * MS)->sample;
	s->event = DP_EVENT_OFF_CPU;
	s->state = DP_N_STATES;
	expect_refused();
	/* Here it is the number of an event. */
	add_sample(0, now - 100 * MS)->sample.state = DP_N_STATES;
	run(true);
	cr_assert_eq(n_reported, 1);
}

/* It would free what its stack has so far. */
Test(drain, refuses_chunks_of_nothing)
{
	const uint64_t words[8] = { 0 };
	struct dp_chunk *chunk;

	add_chunk(1, 1, words);
	chunk = (void *)last_part();
	chunk->part.size = sizeof(*chunk);
	chunk->n_bytes = 0;
	expect_refused();
	cr_assert_eq(drain.copies.n, 0);
}

/* Records of another version, with unknown parts. */
Test(drain, passes_over_what_it_does_not_know)
{
	const struct dp_part unknown = { 4711, 8 };
	uint32_t tid = (uint32_t)PID(0) + 100;
	const uint64_t words[8] = { STACK + 0x10, 0x1024, 0, 0x1036 };
	struct dp_chunk *chunk;

	add_record(&unknown, sizeof(unknown));
	add_late(now - 100 * MS, words);
	/* The bytes of a longer chunk follow the new field. */
	chunk = (void *)records[n_records - 2].bytes;
	memmove((char *)(chunk + 1) + 8, chunk + 1, sizeof(words));
	chunk->part.size += 8;
	add_sample(0, now - 90 * MS)->sample.event = DP_EVENT_OFF_CPU;
	add_end(tid, now - 90 * MS, now - 80 * MS);
	last_part()->size += 8;
	run(true);
	cr_assert_eq(n_reported, 2);
	cr_assert(reported[0].sample.late && reported[0].user[2].address == 0x1036);
	cr_assert_eq(reported[1].sample.value_ns, 10 * MS);
}

/* When a profile is taken, a late sample's report is decided by its time. */
Test(drain, parts_samples_by_their_time)
{
	const struct drain_boundary boundary = { .time_ns = now - 50 * MS, .duration_ns = 7 };

	add_sample(0, now - 40 * MS);
	add_sample(0, now - 50 * MS);
	add_sample(1, now - 50 * MS - 1);
	add_sample(1, now - 60 * MS);
	cr_assert_eq(drain_take(&drain, &boundary), 0);
	run(true);
	cr_assert_eq(n_reported, 4);
	cr_assert_eq(n_at_boundary, 2);
	cr_assert_eq(drain_take(&drain, &boundary), 0, "it was passed");
}

Test(drain, passes_a_boundary_without_samples)
{
	struct drain_boundary boundary = { .time_ns = now - 50 * MS, .duration_ns = 7 };

	add_sample(0, now - 60 * MS);
	cr_assert_eq(drain_take(&drain, &boundary), 0);
	cr_assert_eq(drain_take(&drain, &boundary), -EBUSY);
	run(false);
	cr_assert_eq(n_at_boundary, 1);
	cr_assert(last_totals.samples == 1 && last_totals.duration_ns == 7);
	/* What is before it may still come. */
	n_at_boundary = SIZE_MAX;
	boundary.time_ns = now + HOUR;
	cr_assert_eq(drain_take(&drain, &boundary), 0);
	run(false);
	cr_assert_eq(n_at_boundary, SIZE_MAX);
	run(true);
	cr_assert_eq(n_at_boundary, 1);
}
