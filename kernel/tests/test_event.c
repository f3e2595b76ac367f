// SPDX-License-Identifier: Apache-2.0
/* Attributes of perf events compared with perf_event_open(2), and the handling of its errors. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/array.h"
#include "kernel/event.h"

/* Compares all attributes that are set; the others must be 0. */
static void expect(const struct perf_event_attr *attr, unsigned int type, unsigned int config)
{
	struct perf_event_attr rest = *attr;

	cr_assert_eq(attr->type, type);
	cr_assert_eq(attr->config, config);
	cr_assert(attr->freq && attr->sample_freq == 997, "a rate, not a period");
	cr_assert(attr->disabled, "attaching a program enables it");
	cr_assert(attr->exclude_idle);
	cr_assert(!attr->exclude_user && !attr->exclude_kernel,
		  "the sides are the program's affair");
	cr_assert(!attr->pinned && !attr->exclusive, "others count cycles, too");
	rest.type = rest.config = 0;
	rest.sample_freq = 0;
	rest.freq = rest.disabled = rest.exclude_idle = 0;
	cr_assert(memcmp(&rest, &(struct perf_event_attr){ 0 }, sizeof(rest)) == 0);
}

Test(event, attributes)
{
	struct perf_event_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	event_sampling_attr(997, true, &attr);
	expect(&attr, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	memset(&attr, 0xff, sizeof(attr));
	event_sampling_attr(997, false, &attr);
	expect(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
}

/* All errors that perf_event_open(2) lists, and those of any call that creates a descriptor. */
Test(event, errors_of_cycles)
{
	static const int clock_does[] = { ENOENT, EOPNOTSUPP, ENODEV,    EBUSY,
					  ENOSPC, EINVAL,     EOVERFLOW, E2BIG };
	static const int nothing_does[] = { EACCES, EPERM,  EMFILE, ENFILE, ENOMEM,
					    ENOSYS, EFAULT, EINTR,  EBADF,  ESRCH };

	for (size_t i = 0; i < ARRAY_SIZE(clock_does); i++)
		cr_assert(event_why_no_cycles(-clock_does[i]), "%s", strerror(clock_does[i]));
	for (size_t i = 0; i < ARRAY_SIZE(nothing_does); i++)
		cr_assert_null(event_why_no_cycles(-nothing_does[i]), "%s",
			       strerror(nothing_does[i]));
	cr_assert_null(event_why_no_cycles(0));
}
