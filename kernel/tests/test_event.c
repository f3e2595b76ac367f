// SPDX-License-Identifier: Apache-2.0
/* Attributes of perf events compared with perf_event_open(2), and the handling of its errors. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/array.h"
#include "kernel/event.h"

/* Compares all attributes that are set; the others must be 0. */
static void expect(const struct event_kind *kind, unsigned int type, unsigned int config)
{
	struct perf_event_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	event_attr(kind, &attr);
	cr_assert_eq(attr.type, type);
	cr_assert_eq(attr.config, config);
	cr_assert(attr.disabled, "attaching a program enables it");
	cr_assert(!attr.exclude_user && !attr.exclude_kernel, "the sides are the program's affair");
	cr_assert(!attr.pinned && !attr.exclusive, "others count the event, too");
	if (kind->period > 0) {
		cr_assert(!attr.freq && attr.sample_period == kind->period);
	} else {
		cr_assert(attr.freq && attr.sample_freq == 997, "a rate, not a period");
		cr_assert(attr.exclude_idle);
	}
	attr.type = attr.config = 0;
	attr.sample_period = 0; /* sample_freq, too: a union */
	attr.freq = attr.disabled = attr.exclude_idle = 0;
	cr_assert(memcmp(&attr, &(struct perf_event_attr){ 0 }, sizeof(attr)) == 0);
}

Test(event, attributes)
{
	const struct event_kind cycles = event_of_cpu_time(997, true);
	const struct event_kind clock = event_of_cpu_time(997, false);
	const struct event_kind raw = { .type = PERF_TYPE_RAW, .config = 0x1c2, .hz = 997 };
	const struct event_kind faults = { .type = PERF_TYPE_SOFTWARE,
					   .config = PERF_COUNT_SW_PAGE_FAULTS,
					   .period = 10,
					   .hz = 99 };

	expect(&cycles, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	expect(&clock, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	expect(&raw, PERF_TYPE_RAW, 0x1c2);
	expect(&faults, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
}

/* All errors that perf_event_open(2) lists, and those of any call that creates a descriptor. */
Test(event, errors_of_counters)
{
	static const struct {
		int error;
		const char *why;
	} of_counters[] = {
		{ ENOENT, "this machine counts no cycles" },
		{ EOPNOTSUPP, "this machine counts no cycles" },
		{ ENODEV, "this machine counts no cycles" },
		{ EBUSY, "the counters of cycles are in use" },
		{ ENOSPC, "the counters of cycles are in use" },
		{ EINVAL, "this machine's counters do not take the event" },
		{ EOVERFLOW, "this machine's counters do not take the event" },
		{ E2BIG, "this machine's counters do not take the event" },
	};
	static const int of_any[] = { EACCES, EPERM,  EMFILE, ENFILE, ENOMEM,
				      ENOSYS, EFAULT, EINTR,  EBADF,  ESRCH };
	char why[EVENT_WHY_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(of_counters); i++) {
		cr_assert(event_why_not("cycles", -of_counters[i].error, why));
		cr_assert_str_eq(why, of_counters[i].why);
	}
	for (size_t i = 0; i < ARRAY_SIZE(of_any); i++)
		cr_assert_not(event_why_not("cycles", -of_any[i], why), "%s", strerror(of_any[i]));
	cr_assert_not(event_why_not("cycles", 0, why));
}
