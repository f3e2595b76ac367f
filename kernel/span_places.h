/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_SPAN_PLACES_H
#define DP_KERNEL_SPAN_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/*
 * The functions whose calls label samples, of several probes, each in a place that is free: without an id.
 */

/*
 * Adds the first n of a probe that is in a slot, and has a number among those that label samples. Sets their
 * ids, slot and whether they are timed. serial: another one each time. 0 or -ENOSPC: *places has not changed.
 */
int span_places_add(struct dp_span_places *places, uint32_t serial, uint32_t slot,
		    unsigned int probe, size_t n, struct dp_span_places *added);
/* Takes those of a slot out. */
void span_places_drop(struct dp_span_places *places, uint32_t slot);

/* What both have; where an id differs, there is none. */
void span_places_common(const struct dp_span_places *before, const struct dp_span_places *after,
			struct dp_span_places *ret);

#endif
