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
	uint64_t begins[DP_MAX_SPANS + 2]; /* when each began; 0: an unknown call */
	uint64_t root; /* identifies the stack, as in struct dp_spans; 0: not known */
};

/*
 * Makes the list from the calls that the kernel has sent (NULL: none), and from the frames, which show
 * calls that began before the probe was set, or that code unknown to the kernel may hide. snapshot: the
 * mappings of the frames; NULL: not known.
 */
void span_list_take(const struct probed_code *code, const struct dp_spans *raw,
		    const struct snapshot *snapshot, const struct sample *sample,
		    struct span_list *ret);

#endif
