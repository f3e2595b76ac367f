/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_TRACE_PLACE_H
#define DP_KERNEL_TRACE_PLACE_H

#include "bpf/abi.h"
#include "kernel/trace_record.h"

/*
 * Locates a value of a kernel event: a field of its record, or a member of what a field points to. The first offset
 * is from the start of the record; at each offset but the last, a pointer is read to which the next one is added.
 */
struct trace_place {
	int32_t offsets[DP_MAX_DEREFS];
	size_t n;                 /* at least 1 */
	struct trace_field value; /* its kind, size, sign and type */
};

#define TRACE_WHY_SIZE 512

/*
 * Finds `field->member.member`. number: of the field, from 1; 0: by name. 0, or -EINVAL, and ret_why
 * says what is there instead.
 */
int trace_place_find(const struct trace_record *record, const char *path, unsigned int number,
		     struct trace_place *ret, char ret_why[TRACE_WHY_SIZE]);

#endif
