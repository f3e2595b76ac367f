/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_SPAN_LIST_H
#define DP_SAMPLES_SPAN_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct probed_code;
struct sample;
struct snapshot;

/* The probed calls on the stack of a sample, innermost first. */
struct span_list {
	size_t n;
	uint64_t begins[DP_MAX_SPANS + 2]; /* when each began; 0: one of which nothing is known */
	uint64_t root; /* which stack it is, as of struct dp_spans; 0: not known */
};

/*
 * Makes it from what the kernel has sent, NULL: nothing, and what the frames tell: a call that began before the
 * kernel was asked, or that code of which it does not know may hide. snapshot: of the frames' mappings; NULL:
 * not known.
 */
void span_list_take(const struct probed_code *code, const struct dp_spans *raw,
		    const struct snapshot *snapshot, const struct sample *sample,
		    struct span_list *ret);

#endif
