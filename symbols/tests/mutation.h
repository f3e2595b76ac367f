/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_TESTS_MUTATION_H
#define DP_SYMBOLS_TESTS_MUTATION_H

/*
 * Damages ELF files, mostly in headers and in sections that are read. The same seed and number give
 * the same damage.
 */

#include <stddef.h>
#include <stdint.h>

struct region {
	size_t start, size;
};

/*
 * Headers, header tables, unwind and debug information, notes, symbols; the last is the whole file.
 */
#define MAX_REGIONS 32

struct original {
	uint8_t *data;
	size_t size;
	struct region regions[MAX_REGIONS];
	size_t n_regions;
};

struct mutant {
	uint8_t *data;
	size_t size;
};

/* 0, or -1 if it is no ELF file or cannot be read. */
int original_init(struct original *ret, const char *path);
void original_done(struct original *original);

/* Exits if memory is short. */
void mutant_init(struct mutant *ret, const struct original *originals, size_t n, uint64_t seed,
		 uint64_t number);
void mutant_done(struct mutant *mutant);

#endif
