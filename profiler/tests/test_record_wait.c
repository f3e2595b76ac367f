// SPDX-License-Identifier: Apache-2.0
/* One CPU's samples are 50 ms apart, unless the test says otherwise. Times are in ms. */
#include "profiler/record_wait.h"

#include <criterion/criterion.h>

#include "samples/ticks.h"

#define MS UINT64_C(1000000)
#define GATHER 3
#define SAMPLE 1000 /* the time of one */

static struct ticks ticks;
static struct record_wait wait;
static uint64_t n_read;

static void begin(void)
{
	cr_assert_eq(ticks_init(&ticks, 1, 50 * MS), 0);
	ticks_note(&ticks, 0, SAMPLE * MS);
	record_wait_init(&wait, GATHER * MS);
	n_read = 0;
}

static void end(void)
{
	ticks_done(&ticks);
}

TestSuite(record_wait, .init = begin, .fini = end);

/* At a time, with so many records since the last look. */
static bool goes_on(uint64_t time, enum sideband_haste haste, unsigned int n_new)
{
	const struct sideband_look look = { .haste = haste, .n_read = n_read += n_new };

	return record_wait_allows(&wait, &look, &ticks, time * MS);
}

static void handle(uint64_t time)
{
	record_wait_restart(&wait, n_read, &ticks, time * MS);
}

/* When they are looked at. */
static uint64_t look_after(uint64_t time)
{
	cr_assert(record_wait_polls(&wait));
	return time * MS + record_wait_ns(&wait, UINT64_MAX, time * MS);
}

Test(record_wait, wakes_if_there_are_none)
{
	cr_assert(!record_wait_polls(&wait));
	cr_assert_eq(record_wait_ns(&wait, 7 * MS, SAMPLE * MS), 7 * MS);
	cr_assert(goes_on(SAMPLE + 20, SIDEBAND_NEVER, 0));
	cr_assert(!record_wait_polls(&wait));
}

/* Until then, the rings are polled. */
Test(record_wait, is_over_before_a_sample)
{
	uint64_t due;

	cr_assert(goes_on(SAMPLE + 20, SIDEBAND_BY_SAMPLE, 1));
	due = record_wait_due(&wait);
	cr_assert(due > (SAMPLE + 40) * MS && due < (SAMPLE + 50) * MS);
	for (uint64_t time = SAMPLE + 20; look_after(time) < due; time = look_after(time) / MS)
		cr_assert(goes_on(look_after(time) / MS, SIDEBAND_BY_SAMPLE, 1));
	cr_assert_eq(record_wait_due(&wait), due, "more of them do not move it");
	cr_assert(!goes_on(due / MS + 1, SIDEBAND_BY_SAMPLE, 0));
	handle(due / MS + 1);
	cr_assert_lt(look_after(due / MS + 1), (SAMPLE + 100) * MS);
	handle(due / MS + 2);
	cr_assert(!record_wait_polls(&wait), "none have come since");
}

/* Their processes may end. */
Test(record_wait, is_over_for_unknown_files)
{
	cr_assert(goes_on(SAMPLE + 20, SIDEBAND_BY_SAMPLE, 1));
	cr_assert(!goes_on(SAMPLE + 24, SIDEBAND_NOW, 1));
	handle(SAMPLE + 24);
	cr_assert(!record_wait_polls(&wait), "the next one wakes");
}

/* Polls become rarer while all files are known, until one is not. */
Test(record_wait, looks_less_often_if_all_files_are_known)
{
	uint64_t time = SAMPLE + 20, before, pause = 0;

	ticks.period_ns = 1000 * MS;
	for (int i = 0; i < 8; i++) {
		cr_assert(goes_on(time, SIDEBAND_BY_SAMPLE, 1));
		before = pause;
		pause = look_after(time) - time * MS;
		cr_assert_geq(pause, before);
		time += pause / MS;
	}
	cr_assert(pause > 20 * MS && pause < 50 * MS);
	cr_assert(!goes_on(time, SIDEBAND_NOW, 1));
	handle(time);
	cr_assert(goes_on(time, SIDEBAND_LATER, 1));
	cr_assert_lt(look_after(time), time * MS + 5 * MS);
}

/* Records of threads and of ended processes are never due. When no more come, the next one wakes. */
Test(record_wait, goes_on_if_nobody_waits)
{
	cr_assert(goes_on(SAMPLE + 20, SIDEBAND_LATER, 1));
	cr_assert_eq(record_wait_due(&wait), 0);
	cr_assert_leq(look_after(SAMPLE + 20), (SAMPLE + 25) * MS);
	cr_assert(goes_on(SAMPLE + 25, SIDEBAND_LATER, 1));
	cr_assert(goes_on(SAMPLE + 70, SIDEBAND_LATER, 0));
	cr_assert(!record_wait_polls(&wait));
}

/* A program that starts causes more records within milliseconds, and a sample may be taken at any time. */
Test(record_wait, gathers_if_the_next_sample_is_not_known)
{
	ticks.period_ns = 0;
	cr_assert(goes_on(SAMPLE, SIDEBAND_BY_SAMPLE, 1));
	cr_assert_eq(look_after(SAMPLE), (SAMPLE + GATHER) * MS);
	cr_assert_eq(record_wait_due(&wait), 0);
	cr_assert(!goes_on(SAMPLE + GATHER, SIDEBAND_BY_SAMPLE, 1));
	handle(SAMPLE + GATHER);
	cr_assert_eq(look_after(SAMPLE + GATHER), (SAMPLE + 2 * GATHER) * MS);
	cr_assert(!goes_on(SAMPLE + 2 * GATHER, SIDEBAND_BY_SAMPLE, 1));
}

Test(record_wait, gathers_what_is_needed_soon)
{
	cr_assert(goes_on(SAMPLE + 20, SIDEBAND_SOON, 1));
	cr_assert_eq(look_after(SAMPLE + 20), (SAMPLE + 20 + GATHER) * MS);
	cr_assert(!goes_on(SAMPLE + 20 + GATHER, SIDEBAND_SOON, 1));
	handle(SAMPLE + 20 + GATHER);
	handle(SAMPLE + 40);
	cr_assert(goes_on(SAMPLE + 47, SIDEBAND_SOON, 1));
	cr_assert_lt(look_after(SAMPLE + 47), (SAMPLE + 50) * MS, "but not beyond the sample");
}

/* They are not due, but those that come after them may be. */
Test(record_wait, polls_before_a_sample_though_nobody_waits)
{
	uint64_t time = SAMPLE + 25, at;

	cr_assert(goes_on(time, SIDEBAND_LATER, 1));
	while ((at = look_after(time)) < (SAMPLE + 47) * MS) {
		time = at / MS;
		cr_assert(goes_on(time, SIDEBAND_LATER, 1));
	}
	cr_assert_lt(at, (SAMPLE + 50) * MS);
	cr_assert(!goes_on(SAMPLE + 49, SIDEBAND_BY_SAMPLE, 1));
}

Test(record_wait, is_over_at_once_at_high_rates)
{
	record_wait_init(&wait, 0);
	cr_assert(!goes_on(SAMPLE + 20, SIDEBAND_LATER, 1));
	handle(SAMPLE + 20);
	cr_assert(!record_wait_polls(&wait));
}
