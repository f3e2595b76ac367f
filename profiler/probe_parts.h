/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_PROBE_PARTS_H
#define DP_PROFILER_PROBE_PARTS_H

#include "profiler/arguments.h"

/* A probe as users write it, PATH:NAME(VALUES); of a USDT probe, the name is PROVIDER:NAME. */
struct probe_parts {
	enum probe_kind kind;
	char *path, *name;
	bool is_line; /* the name is FILE:LINE */
	struct arguments arguments;
};

/*
 * probe_parts_done() frees *ret, also after an error: -ENOMEM, or -EINVAL, and ret_why says what is
 * wrong with the values, or is "".
 */
int probe_parts_split(const char *argument, enum probe_kind kind, struct probe_parts *ret,
		      char ret_why[ARGUMENTS_WHY_SIZE]);
void probe_parts_done(struct probe_parts *parts);

#endif
