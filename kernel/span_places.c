// SPDX-License-Identifier: Apache-2.0
#include "kernel/span_places.h"

#include <errno.h>

/* The BPF program looks at no others, nor at their cache lines. */
static void count(struct dp_span_places *places)
{
	places->n = 0;
	for (uint32_t i = 0; i < DP_MAX_SPAN_PLACES; i++)
		if (places->of[i].id != 0)
			places->n = i + 1;
}

int span_places_add(struct dp_span_places *places, uint32_t serial, uint32_t slot,
		    unsigned int probe, size_t n, struct dp_span_places *added)
{
	struct dp_span_places all = *places;
	size_t n_added = 0;

	for (size_t i = 0; i < DP_MAX_SPAN_PLACES && n_added < n; i++) {
		struct dp_span_place *place = &added->of[n_added];

		if (all.of[i].id != 0)
			continue;
		place->id = DP_SPAN_ID(serial, probe, i);
		place->slot = slot;
		all.of[i] = *place;
		n_added++;
	}
	if (n_added < n)
		return -ENOSPC;
	all.are_timed |= added->are_timed;
	count(&all);
	*places = all;
	return 0;
}

void span_places_drop(struct dp_span_places *places, uint32_t slot)
{
	uint32_t ids = 0;

	for (size_t i = 0; i < DP_MAX_SPAN_PLACES; i++) {
		if (places->of[i].slot == slot)
			places->of[i].id = 0;
		ids |= places->of[i].id;
	}
	if (ids == 0)
		places->are_timed = 0;
	count(places);
}

void span_places_common(const struct dp_span_places *before, const struct dp_span_places *after,
			struct dp_span_places *ret)
{
	*ret = *after;
	for (size_t i = 0; i < DP_MAX_SPAN_PLACES; i++)
		if (before->of[i].id != after->of[i].id)
			ret->of[i].id = 0;
	count(ret);
}
