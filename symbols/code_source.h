/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_CODE_SOURCE_H
#define DP_SYMBOLS_CODE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A source of names for code that only its process's memory describes. It adds them to the struct jit of its module,
 * which owns and frees the source.
 */
struct code_source {
	/*
	 * Reads what locate() needs of a number, which may be gone soon. One thread at a time reads, while another
	 * may locate.
	 */
	void (*read)(struct code_source *source, uint64_t number);
	/*
	 * Translates the number that the source has given to a frame's code into one for jit_find(), or into
	 * several, innermost first, if functions were inlined there. *ret_is_near: they are those of a place
	 * near it. Returns how many, at least 1 for a number of this source; they live until the next call. Does
	 * not wait for memory.
	 */
	size_t (*locate)(struct code_source *source, uint64_t number, const uint64_t **ret,
			 bool *ret_is_near);
	void (*free)(struct code_source *source);
};

#endif
