/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_TRACE_VALUES_H
#define DP_PROBES_TRACE_VALUES_H

#include "kernel/trace_record.h"
#include "probes/arguments.h"

/*
 * Resolves arguments (PROBE_KERNEL) to fields of a record (trace_place.h), for the BPF program to read. A type wider
 * than its field is narrowed to it. 0, or -EINVAL with the reason and the argument in ret_why.
 */
int trace_values_place(struct arguments *arguments, const struct trace_record *record,
		       char ret_why[ARGUMENTS_WHY_SIZE]);

#endif
