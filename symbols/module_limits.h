/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_MODULE_LIMITS_H
#define DP_SYMBOLS_MODULE_LIMITS_H

#include "limits/limit_hits.h"

struct module;

/* The limits that are hit from begin to end, in which this thread reads names of one module. */
struct module_limits {
	struct limit_hits hits, *before;
};

void module_limits_begin(struct module_limits *ret);

/*
 * Says of each of them once that it leaves out names of the module: failures_add_limits(). They also count
 * for who has begun before: a process that asks this one says it in its place.
 */
void module_limits_end(struct module_limits *limits, struct module *module);

#endif
