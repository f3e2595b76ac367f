/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_SPAN_PLACES_H
#define DP_KERNEL_SPAN_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/*
 * The table of functions whose calls label samples, shared by several probes. An entry without an id is free.
 */

/*
 * Adds the first n functions of a probe, which has a slot and a number among probes that label samples. Sets their
 * ids, slot and whether they are timed. serial: a new one for each call. 0 or -ENOSPC: *places is unchanged.
 */
int span_places_add(struct dp_span_places *places, uint32_t serial, uint32_t slot,
		    unsigned int probe, size_t n, struct dp_span_places *added);
/* Takes those of a slot out. */
void span_places_drop(struct dp_span_places *places, uint32_t slot);

/* The entries that both have; those with different ids become free. */
void span_places_common(const struct dp_span_places *before, const struct dp_span_places *after,
			struct dp_span_places *ret);

#endif
