/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_TRACE_PARTS_H
#define DP_PROBES_TRACE_PARTS_H

#include <stdbool.h>

#include "kernel/tracer.h"
#include "probes/arguments.h"

/*
 * An event of the kernel as users write it: SYSTEM:NAME(VALUES) of TRACER_TRACEPOINT, else
 * NAME(VALUES), of TRACER_KPROBE NAME+N.
 */
struct trace_parts {
	char *system; /* NULL: it has none */
	char *name;
	bool is_glob; /* system or name has characters of a glob */
	struct arguments arguments;
};

/*
 * trace_parts_done() frees *ret, also after an error: -ENOMEM, or -EINVAL, and ret_why says what is
 * wrong, or is "".
 */
int trace_parts_split(const char *argument, enum tracer_kind kind, struct trace_parts *ret,
		      char ret_why[ARGUMENTS_WHY_SIZE]);
void trace_parts_done(struct trace_parts *parts);

#endif
