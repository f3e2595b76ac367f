/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_SUM_H
#define DP_TABLES_X86_64_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/rule.h"

/*
 * The contents of a register or a word of memory, as a sum of values known when the thread is
 * interrupted: registers, words of memory, and numbers.
 */

/* The parts of a sum. Those that are not registers are numbered in order of creation. */
#define SUM_MAX_PARTS 64
#define SUM_MAX_TERMS 3

struct sum_term {
	uint8_t part;
	int8_t factor; /* 1 or -1 */
};

struct sum {
	bool is_known;
	uint8_t n_terms; /* in ascending order of parts, each part at most once */
	struct sum_term terms[SUM_MAX_TERMS];
	int64_t number;
};

/* DP_RAX to DP_R15, DP_THREAD_BASE and DP_BIAS are predefined parts; these are the others. */
struct sum_part {
	bool is_word; /* the word at an address; else an address with its low bits cleared */
	struct sum of;
	int64_t mask;
};

struct sum_parts {
	struct sum_part made[SUM_MAX_PARTS];
	size_t n_made;
};

static inline struct sum sum_unknown(void)
{
	return (struct sum){ 0 };
}

static inline struct sum sum_number(int64_t number)
{
	return (struct sum){ .is_known = true, .number = number };
}

/* The value of a register: DP_RAX to DP_R15, DP_THREAD_BASE or DP_BIAS. */
struct sum sum_register(unsigned int reg);

/* The word at an address; an address masked by a constant. Unknown if there is no room. */
struct sum sum_word(struct sum_parts *parts, const struct sum *address);
struct sum sum_masked(struct sum_parts *parts, const struct sum *of, int64_t mask);

/* a + factor * b, with a factor of 1 or -1. Unknown if either is, or there is no room. */
struct sum sum_add(const struct sum *a, const struct sum *b, int factor);

bool sum_is_equal(const struct sum *a, const struct sum *b);

/* True if both have the same parts. *ret is then a - b. */
bool sum_distance(const struct sum *a, const struct sum *b, int64_t *ret);

/* True if it is the word at an address, *ret_address. */
bool sum_is_word(const struct sum_parts *parts, const struct sum *s, struct sum *ret_address);

/* True if it is a masked address plus a number. */
bool sum_is_masked(const struct sum_parts *parts, const struct sum *s, struct sum *ret_of,
		   int64_t *ret_mask);

/*
 * Compiles it to a program that runs with `depth` other values below. False if the program is too
 * long, or a number does not fit.
 */
bool sum_compile(const struct sum_parts *parts, const struct sum *s, unsigned int depth,
		 struct rule_program *ret);

#endif
