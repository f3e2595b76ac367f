/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_GO_INLINE_TREE_H
#define DP_GO_INLINE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "go/pclntab.h"

/*
 * The calls that Go's compiler has replaced by the function that is called
 * (runtime/symtabinl.go). The table has their number for each address of the function that
 * they are in; what they are is beside it, in data of the functions.
 */

/* What pclntab_data() tells locations in. */
struct go_data {
	const uint8_t *bytes;
	uint64_t size;  /* 0: it is not known where the data is */
	uint64_t start; /* the place of the first byte: its address in Go 1.16, else 0 */
};

struct inline_tree {
	const struct pclntab *table;
	const struct pclntab_function *function;
	const uint8_t *calls;
	uint64_t size;    /* bytes from the first call to the end of all data */
	uint32_t numbers; /* of the values' part: which call an address is in; negative: none */
};

struct inline_call {
	const char *function; /* that is called */
	uint64_t caller;      /* an address that is at the line of the call, and in what calls */
};

/* All that is given stays in use. False: nothing was inlined, or it is not known. */
bool inline_tree_init(struct inline_tree *ret, const struct pclntab *t,
		      const struct pclntab_function *f, const struct go_data *data);

/* A call by its number. False: it makes no sense. */
bool inline_tree_call(const struct inline_tree *tree, int64_t number, struct inline_call *ret);

/*
 * Do all calls that addresses have numbers of make sense? `left` is how many may still be
 * looked at, here and in other trees.
 */
bool inline_tree_is_sound(const struct inline_tree *tree, unsigned int *left);

#endif
