/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_TESTS_FUZZ_EXTENT_H
#define DP_TABLES_TESTS_FUZZ_EXTENT_H

#include "cfi/tests/fuzz.h"
#include "tables/image.h"

/* The first byte of an input of the targets for images. */
enum {
	FEED_DEBUG_FRAME = 1,
	FEED_WIDE = 2, /* the extent of the code as given, however long */
};

/* An image of 4 GiB takes long, so most inputs get a short one. */
#define FEED_SHORT (UINT64_C(1) << 24)

/* Bytes of code at an entry without an FDE that count as the root. */
#define ENTRY_SIZE 64

static inline struct image_input feed_extent(struct feed *f, uint8_t flags)
{
	struct image_input input = { 0 };

	input.start = feed_u64(f);
	input.end = feed_u64(f);
	input.entry = feed_u64(f);
	if (!(flags & FEED_WIDE) && input.end - input.start > FEED_SHORT &&
	    input.start < UINT64_MAX - FEED_SHORT)
		input.end = input.start + FEED_SHORT;
	return input;
}

#endif
