// SPDX-License-Identifier: Apache-2.0
/* Off-CPU intervals, from the records of their beginnings and ends. */
#include "samples/tests/drain_world.h"

/* A sample of a thread that blocks is kept until the duration is known. */
Test(drain, gives_blocks_their_time)
{
	uint32_t tid = (uint32_t)PID(0) + 100;
	struct named_sample *s = add_sample(0, now - 300 * MS);

	s->sample.event = DP_EVENT_OFF_CPU;
	s->sample.state = DP_STATE_DISK_SLEEP;
	add_end(tid, now - 300 * MS, now - 100 * MS);
	add_end(tid + 1, now - 300 * MS, now - 100 * MS);
	add_end(tid, now - 299 * MS, now - 90 * MS);
	run(true);
	cr_assert_eq(n_reported, 1);
	cr_assert(reported[0].sample.value_ns == 200 * MS &&
		  reported[0].sample.state == DP_STATE_DISK_SLEEP);
	cr_assert(reported[0].sample.n_user == 3 && reported[0].user[2].address == 0x1030);
	cr_assert(last_totals.time_ns == 400 * MS && last_totals.events == 2);
}

/* Its end comes on another ring, maybe before it. */
Test(drain, finds_the_end_of_a_block_that_comes_first)
{
	uint32_t tid = (uint32_t)PID(0) + 100;

	add_end(tid, now - 300 * MS, now - 100 * MS);
	add_sample(0, now - 300 * MS)->sample.event = DP_EVENT_OFF_CPU;
	run(true);
	cr_assert_eq(n_reported, 1);
	cr_assert_eq(reported[0].sample.value_ns, 200 * MS);
}

Test(drain, forgets_the_block_of_a_thread_that_ends)
{
	uint32_t tid = (uint32_t)PID(0) + 100;

	add_sample(0, now - 300 * MS)->sample.event = DP_EVENT_OFF_CPU;
	add_end(tid, 0, now - 200 * MS);
	add_end(tid, now - 300 * MS, now - 100 * MS);
	run(true);
	cr_assert_eq(n_reported, 0);
}

Test(drain, reports_who_is_still_blocked)
{
	uint32_t tid = (uint32_t)PID(0) + 100;

	add_sample(0, now - 300 * MS)->sample.event = DP_EVENT_OFF_CPU;
	run(true);
	cr_assert_eq(n_reported, 0);
	blocked[0] = (struct dp_blocked){ .tid = tid, .since_ns = now - 300 * MS, .weight = 2 };
	blocked[1] = (struct dp_blocked){
		.tid = tid + 1, .since_ns = now, .weight = 3, .lost = DP_LOST_FULL
	};
	blocked[2] = (struct dp_blocked){ .tid = tid + 2, .since_ns = now };
	blocked[3] = (struct dp_blocked){
		.tid = tid + 3, .since_ns = now, .weight = 1, .lost = DP_LOST_BUSY
	};
	blocked_ns[0] = 300 * MS;
	blocked_ns[1] = 7;
	blocked_ns[3] = 5;
	n_blocked = 4;
	cr_assert_eq(drain_finish_off_cpu(&drain, now), 0);
	cr_assert_eq(n_reported, 1);
	cr_assert_eq(reported[0].sample.value_ns, 300 * MS);
	cr_assert(drain.totals.still_blocked == 1 && drain.totals.lost == 2 &&
		  drain.totals.lost_by[LOST_RINGS_FULL] == 1 &&
		  drain.totals.lost_by[LOST_NESTED] == 1 && drain.totals.lost_ns == 26);
}
