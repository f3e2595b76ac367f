/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_TRACE_VALUES_H
#define DP_PROFILER_TRACE_VALUES_H

#include "kernel/trace_record.h"
#include "profiler/arguments.h"

/*
 * Finds what arguments (PROBE_KERNEL) name in a record (trace_place.h), and makes them what the kernel
 * reads there. A type that is wider than what is there becomes as narrow. 0, or -EINVAL, and ret_why
 * says what is wrong with which.
 */
int trace_values_place(struct arguments *arguments, const struct trace_record *record,
		       char ret_why[ARGUMENTS_WHY_SIZE]);

#endif
