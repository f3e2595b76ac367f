/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_PROGRAMS_CUSTOM_H
#define DP_TEST_PROGRAMS_CUSTOM_H

#include <stddef.h>

/* Labels as Polar Signals' "Custom Label ABI" has them: VERSION is 0 or 1. */

struct custom_text {
	size_t size;
	const char *volatile bytes;
};

struct custom_label {
	struct custom_text key, value;
};

struct custom_set {
	struct custom_label *volatile labels;
	volatile size_t n;
#if VERSION == 1
	size_t capacity;
#endif
};

/* Publishes another set for the calling thread; NULL: none. */
void custom_publish(struct custom_set *set);

/* Returns the set that the thread is to change in place, which is published: `own`, if it can be that. */
struct custom_set *custom_begin(struct custom_set *own);

#endif
