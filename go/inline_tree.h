/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_GO_INLINE_TREE_H
#define DP_GO_INLINE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "go/pclntab.h"

/*
 * The calls that Go's compiler has inlined (runtime/symtabinl.go). The table has a call's number
 * for each address of the function around it; the calls themselves are in the functions' data.
 */

/* The data to which the offsets of pclntab_data() refer. */
struct go_data {
	const uint8_t *bytes;
	uint64_t size;  /* 0: not known where the data is */
	uint64_t start; /* the offset of the first byte: its address in Go 1.16, else 0 */
};

struct inline_tree {
	const struct pclntab *table;
	const struct pclntab_function *function;
	const uint8_t *calls;
	uint64_t size;    /* bytes from the first call to the end of all data */
	uint32_t numbers; /* in the values' part: the number of an address's call; negative: none */
};

struct inline_call {
	const char *function; /* the called function */
	uint64_t caller;      /* an address with the line of the call, in the calling function */
};

/* Keeps all arguments. False: nothing was inlined, or it is not known. */
bool inline_tree_init(struct inline_tree *ret, const struct pclntab *t,
		      const struct pclntab_function *f, const struct go_data *data);

/* Returns a call by its number. False: it is invalid. */
bool inline_tree_call(const struct inline_tree *tree, int64_t number, struct inline_call *ret);

/*
 * True if all calls of this function are valid. `left` limits how many are examined, here and in
 * other trees.
 */
bool inline_tree_is_sound(const struct inline_tree *tree, unsigned int *left);

#endif
