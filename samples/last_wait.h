/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LAST_WAIT_H
#define DP_SAMPLES_LAST_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* How long tables are awaited after sampling. */
#define LAST_WAIT_NS UINT64_C(2000000000)
/* The same after Ctrl-C, which promises an end within a second. */
#define LAST_WAIT_HURRIED_NS UINT64_C(700000000)

/* The host's; is_hurried may be NULL: nobody wants the end. */
struct last_wait {
	bool (*is_hurried)(const void *arg);
	const void *arg;
};

/* Since when: CLOCK_MONOTONIC. */
bool last_wait_goes_on(const struct last_wait *wait, uint64_t since_ns);

#endif
