// SPDX-License-Identifier: Apache-2.0
/* Samples that wait until it is known how long their calls took. */
#include "samples/spans.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "limits/limits.h"
#include "samples/probed_code.h"
#include "samples/tests/spans_test.h"

static struct probed_code code;

static void set_up(void)
{
	set_up_values();
	spans = (struct spans){ .name = "f", .min_ns = MIN, .code = &code, .values = &values };
}

static void tear_down(void)
{
	spans_done(&spans);
	cr_assert(!spans.calls && !spans.threads);
}

TestSuite(spans, .init = set_up, .fini = tear_down);

static void release(void)
{
	cr_assert_eq(spans_release(&spans, settled, 0, report, NULL), 0);
}

static struct span_list list_of(uint64_t root, const uint64_t *begins, size_t n)
{
	struct span_list list = { .n = n, .root = root };

	memcpy(list.begins, begins, n * sizeof(*begins));
	return list;
}

static void take_on(uint64_t root, uint64_t time, const uint64_t *begins, size_t n)
{
	const struct sample sample = { .time_ns = time, .tid = TID };
	struct span_list calls = list_of(root, begins, n);
	struct owned_sample *kept;

	cr_assert_eq(spans_see(&spans, TID, &calls, time), 0);
	cr_assert_eq(owned_sample_new(&sample, &calls, &kept), 0);
	cr_assert_eq(spans_keep(&spans, kept), 0);
}

/* A sample in these calls, innermost first. */
#define TAKE(time, ...)                                                                            \
	take_on(ROOT, time, (const uint64_t[]){ __VA_ARGS__ },                                     \
		ARRAY_SIZE(((const uint64_t[]){ __VA_ARGS__ })))

static void take_outside(uint64_t root, uint64_t time)
{
	take_on(root, time, (const uint64_t[]){ 0 }, 0);
}

Test(spans, wait_for_the_return)
{
	begin(1000);
	TAKE(1010, 1000);
	release();
	cr_assert_eq(n_reported, 0);
	end(1000, 1000 + MIN, DP_SPAN_RETURNED);
	release();
	cr_assert_eq(n_reported, 1);
	expect(0, 1010, 1000);
	cr_assert(spans.n_outside == 0 && spans.n_unknown == 0 && spans.n_bytes == 0);
}

Test(spans, that_were_short_are_left_out)
{
	begin(1000);
	TAKE(1010, 1000);
	take_outside(ROOT, 1200);
	end(1000, 1000 + MIN - 1, DP_SPAN_RETURNED);
	release();
	cr_assert_eq(n_reported, 0);
	cr_assert(spans.n_outside == 2 && spans.n_unknown == 0 && !spans.first);
}

/* A call that goes on for long enough need not be over. */
Test(spans, are_long_when_samples_show_it)
{
	begin(1000);
	TAKE(1010, 1000);
	TAKE(1000 + MIN - 1, 1000);
	release();
	cr_assert_eq(n_reported, 0);
	TAKE(1000 + MIN, 1000);
	release();
	cr_assert_eq(n_reported, 3);
	expect(0, 1010, 1000);
	expect(2, 1000 + MIN, 1000);
}

/* A thread that blocks is in its calls until it goes on. */
Test(spans, are_long_when_a_thread_blocks_in_them)
{
	const struct span_list calls = list_of(ROOT, (const uint64_t[]){ 1000 }, 1);

	begin(1000);
	TAKE(1010, 1000);
	cr_assert_eq(spans_see(&spans, TID, &calls, 1000 + MIN), 0);
	release();
	cr_assert_eq(n_reported, 1);
}

Test(spans, of_nested_calls_the_innermost_long_one_counts)
{
	begin(1000);
	begin(1010);
	begin(1020);
	TAKE(1030, 1020, 1010, 1000);
	end(1020, 1040, DP_SPAN_RETURNED);
	release();
	cr_assert_eq(n_reported, 0, "the next one may be long");
	end(1010, 1010 + MIN, DP_SPAN_RETURNED);
	end(1000, 1300, DP_SPAN_RETURNED);
	release();
	expect(0, 1030, 1010);
}

static unsigned int marks[MAX]; /* of frames, a bit for each */

static int note_marks(void *arg, const struct sample *sample)
{
	marks[n_reported] = 0;
	for (size_t i = 0; i < sample->n_user; i++)
		marks[n_reported] |= (unsigned int)sample->user[i].probe << i;
	return report(arg, sample);
}

/* A sample with four frames, of which some may be of calls. */
static unsigned int mark(unsigned int may_be, const uint64_t *begins, size_t n)
{
	struct frame frames[4] = { 0 };
	const struct sample sample = { .time_ns = 1030, .tid = TID, .user = frames, .n_user = 4 };
	struct span_list calls = list_of(ROOT, begins, n);
	struct owned_sample *kept;

	for (size_t i = 0; i < 4; i++)
		frames[i].probe = may_be >> i & 1;
	cr_assert_eq(owned_sample_new(&sample, &calls, &kept), 0);
	cr_assert_eq(spans_keep(&spans, kept), 0);
	cr_assert_eq(spans_release(&spans, settled, 0, note_marks, NULL), 0);
	return marks[n_reported - 1];
}

#define MARK(may_be, ...)                                                                          \
	mark(may_be, (const uint64_t[]){ __VA_ARGS__ },                                            \
	     ARRAY_SIZE(((const uint64_t[]){ __VA_ARGS__ })))

/* Values belong to the frame of the call that counts. */
Test(spans, mark_the_frame_of_the_call_that_counts)
{
	begin(1000);
	begin(1010);
	begin(1020);
	end(1020, 1040, DP_SPAN_RETURNED);
	end(1010, 1010 + MIN, DP_SPAN_RETURNED);
	end(1000, 1300, DP_SPAN_RETURNED);
	cr_assert_eq(MARK(0xd, 1020, 1010, 1000), 0x4);
	cr_assert_eq(MARK(0x5, 1020, 1000), 0x4);
	cr_assert_eq(MARK(0x5, 1010, 1000, 0), 0x1, "the walk has not reached the root");
	cr_assert_eq(MARK(0x5, 0, 1020, 1010), 0x4, "one is in code that may be of the function");
	cr_assert_eq(MARK(0xf, 1020, 1000), 0, "the frames are others");
	cr_assert_eq(MARK(0x3, 0, 1020), 0, "it is not known in which call it was");
}

Test(spans, keep_the_order_of_samples)
{
	begin(1000);
	begin(2000);
	TAKE(1010, 1000);
	TAKE(2000 + MIN, 2000);
	settled = 2000; /* other samples may have met the first call, which may return */
	release();
	cr_assert_eq(n_reported, 0);
	end(1000, 1050, DP_SPAN_RETURNED);
	release();
	cr_assert_eq(n_reported, 1);
	expect(0, 2000 + MIN, 2000);
}

Test(spans, that_are_not_known_are_no_guess)
{
	begin(1000);
	TAKE(1000 + MIN, 0, 1000); /* one within it may be long */
	TAKE(1000 + MIN, 1000, 0); /* the innermost long one */
	TAKE(1000 + MIN, 0);
	release();
	cr_assert_eq(n_reported, 3);
	expect(0, 1000 + MIN, -1);
	expect(1, 1000 + MIN, 1000);
	expect(2, 1000 + MIN, -1);
	begin(2000);
	TAKE(2010, 2000, 0);
	end(2000, 2020, DP_SPAN_RETURNED);
	release();
	expect(3, 2010, -1);
	cr_assert_eq(spans.n_unknown, 3);
}

/* They took no longer than the one around them. */
Test(spans, within_a_short_one_are_short)
{
	begin(1000);
	begin(1010);
	TAKE(1020, 0, 1010, 1000);
	TAKE(1030, 1010, 1000);
	release();
	cr_assert_eq(spans.n_outside, 0);
	end(1000, 1000 + MIN - 1, DP_SPAN_RETURNED); /* an exception has left the other one */
	release();
	cr_assert(n_reported == 0 && spans.n_outside == 2);
}

/* The one within them may be the innermost that took long enough. */
Test(spans, that_are_long_wait_for_the_one_within)
{
	begin(1000);
	begin(1010);
	TAKE(1020, 1010, 0, 1000);
	end(1000, 1000 + MIN, DP_SPAN_RETURNED);
	release();
	cr_assert_eq(n_reported, 0);
	end(1010, 1010 + MIN - 1, DP_SPAN_RETURNED);
	release();
	cr_assert_eq(n_reported, 1);
	expect(0, 1020, -1);
}

/* An exception has left the call: it was over by the first sample without it. */
Test(spans, that_do_not_return_are_over_when_a_sample_lacks_them)
{
	begin(1000);
	TAKE(1010, 1000);
	take_outside(ROOT, 1000 + MIN - 1);
	release();
	cr_assert_eq(n_reported, 0);
	cr_assert_eq(spans.n_outside, 2);
}

Test(spans, that_may_have_been_long_are_not_known)
{
	begin(1000);
	TAKE(1010, 1000);
	take_outside(ROOT, 1000 + MIN);
	settled = 1000 + MIN;
	release();
	cr_assert_eq(n_reported, 0, "another sample may have met it");
	settled++;
	release();
	expect(0, 1010, -1);
}

Test(spans, on_another_stack_go_on)
{
	begin(1000);
	TAKE(1010, 1000);
	take_outside(ROOT + 8, 1020);
	take_outside(0, 1030);                           /* the walk has not reached the root */
	take_on(ROOT, 1040, (const uint64_t[]){ 0 }, 1); /* a call that may be this one */
	release();
	cr_assert_eq(n_reported, 0);
	cr_assert_eq(spans.n_outside, 2);
	end(1000, 1200, DP_SPAN_RETURNED);
	release();
	expect(0, 1010, 1000);
}

/* As it was at the time of the sample, which other threads' calls do not change. */
Test(spans, of_another_thread_are_others)
{
	const struct span_list none = { .root = ROOT };

	begin(1000);
	TAKE(1010, 1000);
	cr_assert_eq(spans_see(&spans, TID + 1, &none, 1020), 0);
	release();
	cr_assert_eq(spans.n_outside, 0);
	end(1000, 1200, DP_SPAN_RETURNED);
	release();
	expect(0, 1010, 1000);
}

Test(spans, whose_place_another_call_has_taken)
{
	begin(1000);
	TAKE(1010, 1000);
	end(1000, 1000 + MIN - 1, DP_SPAN_REPLACED);
	release();
	cr_assert(n_reported == 0 && spans.n_outside == 1);
	begin(2000);
	TAKE(2010, 2000);
	end(2000, 2000 + MIN, DP_SPAN_REPLACED);
	release();
	expect(0, 2010, -1);
}

/* They may still be on the stack. */
Test(spans, without_room_are_not_known)
{
	begin(1000);
	TAKE(1010, 1000);
	end(1000, 1020, DP_SPAN_FORGOTTEN);
	release();
	expect(0, 1010, -1);
}

Test(spans, return_as_they_say)
{
	begin(1000);
	TAKE(1010, 1000);
	take_outside(ROOT, 1020); /* a stack that looks the same */
	end(1000, 1200, DP_SPAN_RETURNED);
	end(1000, 1010, DP_SPAN_REPLACED);
	release();
	expect(0, 1010, 1000);
	/* This one is met while it returns. */
	begin(2000);
	end(2000, 2000 + MIN - 1, DP_SPAN_RETURNED);
	TAKE(2000 + MIN, 2000);
	release();
	cr_assert_eq(n_reported, 1);
}

/* Rings are read one after the other. */
Test(spans, may_end_before_they_begin)
{
	end(1000, 1200, DP_SPAN_RETURNED);
	TAKE(1010, 1000);
	begin(1000);
	release();
	expect(0, 1010, 1000);
}

Test(spans, whose_begin_was_lost_have_no_values)
{
	TAKE(1010, 1000);
	end(1000, 1200, DP_SPAN_RETURNED);
	release();
	expect(0, 1010, -1);
	cr_assert_eq(spans.n_unknown, 1);
}

Test(spans, have_no_more_time)
{
	begin(1000);
	TAKE(1010, 1000);
	TAKE(1020, 1000);
	cr_assert_eq(spans_release(&spans, settled, 1011, report, NULL), 0);
	cr_assert_eq(n_reported, 1);
	expect(0, 1010, -1);
	cr_assert_eq(spans_limit(&spans, SPANS_WAIT_NS + MIN + 5), 5);
	cr_assert_eq(spans_limit(&spans, 5), 0);
}

/* Of an interval off the CPU, its end is what counts. */
Test(spans, of_blocked_threads_have_time)
{
	const struct sample sample = {
		.time_ns = 1010, .tid = TID, .event = DP_EVENT_OFF_CPU, .value_ns = 20
	};
	const struct span_list calls = list_of(ROOT, (const uint64_t[]){ 1000 }, 1);
	struct owned_sample *kept;

	cr_assert_eq(spans_see(&spans, TID, &calls, 1010), 0);
	cr_assert_eq(owned_sample_new(&sample, &calls, &kept), 0);
	cr_assert_eq(spans_keep(&spans, kept), 0);
	cr_assert_eq(spans_release(&spans, settled, 1030, report, NULL), 0);
	cr_assert_eq(n_reported, 0);
	cr_assert_eq(spans_release(&spans, settled, 1031, report, NULL), 0);
	cr_assert_eq(n_reported, 1);
}

Test(spans, have_no_more_room)
{
	begin(1000);
	TAKE(1010, 1000);
	TAKE(1020, 1000);
	spans.n_bytes += SPANS_MAX_BYTES - spans.n_bytes + 1;
	release();
	cr_assert_eq(n_reported, 1);
	expect(0, 1010, -1);
}

Test(spans, end_with_an_error_of_a_report)
{
	begin(1000);
	TAKE(1000 + MIN, 1000);
	TAKE(1001 + MIN, 1000);
	report_err = -ENOSPC;
	cr_assert_eq(spans_release(&spans, settled, 0, report, NULL), -ENOSPC);
	cr_assert_eq(n_reported, 1);
}

Test(spans, are_forgotten_when_no_sample_can_come)
{
	begin(1000);
	TAKE(1000 + MIN, 1000);
	spans_forget(&spans, 1500);
	cr_assert(spans.calls, "a sample waits");
	release();
	spans_forget(&spans, 1500);
	cr_assert(spans.calls, "it goes on");
	end(1000, 1500, DP_SPAN_RETURNED);
	spans_forget(&spans, 1500);
	cr_assert(spans.calls, "samples of it may come");
	spans_forget(&spans, 1501);
	cr_assert_null(spans.calls);
	cr_assert_null(spans.threads);
	cr_assert_eq(spans.times.n_long, 0, "the kernel has counted it");
}

/* Those that have not returned are counted here, by how long they took at least. */
Test(spans, that_do_not_return_are_counted)
{
	begin(1000);
	TAKE(1000 + MIN, 1000);
	begin(2000);
	TAKE(2000 + MIN - 10, 2000);
	begin(3000);
	TAKE(3000 + MIN, 3000);
	end(3000, 3500, DP_SPAN_RETURNED);
	cr_assert_eq(spans_release(&spans, UINT64_MAX, UINT64_MAX, report, NULL), 0);
	spans_forget(&spans, UINT64_MAX);
	cr_assert_null(spans.calls);
	cr_assert_eq(spans.times.n_left[dp_span_step(MIN)], 1);
	cr_assert_eq(spans.times.n_left[dp_span_step(MIN - 10)], 1);
	cr_assert_eq(spans.times.n_long, 1);
}

/* First by a sample, then by the kernel. */
Test(spans, that_are_found_to_be_over_twice_are_counted_once)
{
	begin(1000);
	TAKE(1010, 1000);
	take_outside(ROOT, 1020);
	release();
	spans_forget(&spans, 1021);
	cr_assert_null(spans.calls);
	end(1000, 1030, DP_SPAN_REPLACED);
	spans_forget(&spans, UINT64_MAX);
	cr_assert_eq(spans.times.n_left[dp_span_step(10)], 1);
	cr_assert_eq(spans.times.n_left[0], 0);
}

Test(spans, without_a_least_time_never_wait)
{
	spans.min_ns = 0;
	begin(1000);
	TAKE(1010, 1000);
	release();
	expect(0, 1010, 1000);
}

Test(spans, of_damaged_records_are_refused)
{
	struct dp_span_end late = {
		.part = { DP_RECORD_SPAN_END, sizeof(late) },
		.tid = TID,
		.begin_ns = 1000,
		.end_ns = 999,
	};
	struct {
		struct dp_span_begin begin;
		struct dp_values values;
	} record = {
		.begin = { { DP_RECORD_SPAN_BEGIN, sizeof(record) }, TID, 1000 },
		.values.part = { DP_RECORD_VALUES, sizeof(record.values) + 8 },
	};

	cr_assert_eq(spans_on_end(&spans, &late), -EBADMSG);
	late.end_ns = 1001;
	late.how = DP_N_SPAN_HOWS;
	cr_assert_eq(spans_on_end(&spans, &late), -EBADMSG);
	late.part.size = 24;
	cr_assert_eq(spans_on_end(&spans, &late), -EBADMSG);
	cr_assert_eq(spans_on_begin(&spans, &record.begin), -EBADMSG, "values that go on");
	record.values.part.size = 8;
	cr_assert_eq(spans_on_begin(&spans, &record.begin), -EBADMSG);
	record.values.part.size = sizeof(record.values);
	record.begin.part.size = sizeof(record.begin);
	cr_assert_eq(spans_on_begin(&spans, &record.begin), -EBADMSG);
	cr_assert_null(spans.calls);
	cr_assert_eq(begin_of(0, 0), -EBADMSG);
}
