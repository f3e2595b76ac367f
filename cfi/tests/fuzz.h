/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_TESTS_FUZZ_H
#define DP_CFI_TESTS_FUZZ_H

/*
 * Shared by the fuzz targets. Each is one function, which libFuzzer (ci/fuzz) calls with generated
 * inputs, and replay.c with the files of the target's corpus. It must hold for any bytes.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unlike assert(), in every build. */
#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: expected: %s\n", __FILE__, __LINE__, #condition);  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The input, consumed from its start; zeros after its end. */
struct feed {
	const uint8_t *pos, *end;
};

static inline uint64_t feed_number(struct feed *f, size_t size)
{
	uint64_t v = 0;
	size_t left = (size_t)(f->end - f->pos);

	size = size < left ? size : left;
	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)f->pos[i] << 8 * i;
	f->pos += size;
	return v;
}

static inline uint8_t feed_u8(struct feed *f)
{
	return (uint8_t)feed_number(f, 1);
}

static inline uint64_t feed_u64(struct feed *f)
{
	return feed_number(f, 8);
}

/* The rest of the input as a section; an empty one if nothing is left. */
static inline struct cfi_section feed_section(struct feed *f, uint64_t address, bool debug_frame)
{
	struct cfi_section section = {
		.data = f->pos,
		.size = (uint64_t)(f->end - f->pos),
		.address = address,
		.debug_frame = debug_frame,
	};

	if (section.size == 0)
		section.data = NULL;
	f->pos = f->end;
	return section;
}

#endif
