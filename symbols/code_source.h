/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_CODE_SOURCE_H
#define DP_SYMBOLS_CODE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names of code that only the memory of its process describes. It gives them to the struct jit of its
 * module, which has one of these and frees it.
 */
struct code_source {
	/*
	 * The number of a frame's code, for jit_find(), from the one that the source gave it
	 * before; or several, innermost first, if functions were inlined there. *ret_is_near: they
	 * are those of a place near it. Returns how many, at least 1 of such a one; they live until
	 * its next call.
	 */
	size_t (*locate)(struct code_source *source, uint64_t number, const uint64_t **ret,
			 bool *ret_is_near);
	void (*free)(struct code_source *source);
};

#endif
