/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_CODE_READS_H
#define DP_TABLES_CODE_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which bytes of a file's code its image was made of: with these bytes, the same sections and the
 * same ranges, image_build() makes the same image, whatever the other bytes are.
 */

struct code_range;

/*
 * Far more than real programs have, of which most bytes are read once. All of them are hashed, and
 * a forged file could have the same ones read without end.
 */
#define CODE_READS_MAX (1 << 20)
#define CODE_READS_BYTES_MAX (UINT64_C(128) << 20)

/* A piece of a range; longer ones are several. */
struct code_read {
	uint32_t offset;
	uint16_t size;
	uint16_t range; /* index */
};

struct code_reads {
	const struct code_range *ranges; /* those that count, for their indices */
	struct code_read *list;
	size_t n, size;
	uint64_t bytes;     /* of all of them */
	bool is_incomplete; /* memory is short, or there are too many */
};

/* Notes that a range's bytes from an address on are read, as far as it has them. */
void code_reads_add(struct code_reads *reads, const struct code_range *range, uint64_t address,
		    uint64_t size);

/* Frees the list. */
void code_reads_done(struct code_reads *reads);

#endif
