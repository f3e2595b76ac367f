/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_FUNCTION_EXITS_H
#define DP_TABLES_FUNCTION_EXITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An instruction at which a call of a function may end, when only the return address is left of its frame: a
 * return, or a jump out of its code. Jumps through registers, which may stay inside, are left out.
 */
struct function_exit {
	uint64_t at;
	uint64_t to; /* of a jump; 0: a return, or a jump through memory with a fixed address */
	bool returns;
	bool may_stay; /* a conditional jump, whose frame may also be larger */
};

/*
 * Finds the exits of `size` bytes of code at an address. Jumps within the code are none; the caller leaves out
 * those to the function's other parts. Probes will be set there, so the code must be sound: all of it
 * instructions, and every jump within it to the start of one. 0; -EBADMSG: it is not; or -ENOMEM. The caller
 * frees *ret.
 */
int function_exits_find(const uint8_t *code, uint64_t address, size_t size,
			struct function_exit **ret, size_t *ret_n);

/*
 * Where the first instruction at or behind byte `at` of the code begins, if all in front are such. `size`: there
 * is none, or it is not known.
 */
size_t function_next_instruction(const uint8_t *code, uint64_t address, size_t size, size_t at);

#endif
