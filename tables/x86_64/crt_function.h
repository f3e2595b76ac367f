/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_CRT_FUNCTION_H
#define DP_TABLES_X86_64_CRT_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "tables/known_code.h"

/*
 * Functions of crtbegin.o, which gcc puts into every program and library, and builds
 * without unwind information: register_tm_clones(), deregister_tm_clones(),
 * __do_global_dtors_aux() and frame_dummy(). Each program runs them when it starts, touching
 * pages for the first time. Versions of gcc compile them in so many ways that the
 * function is read instead of compared: it consists of a few kinds of instructions, of
 * which only a push and a pop of rbp move the stack pointer. A `ret` then says where the
 * return address is in all of it.
 */

/*
 * Is there one from `at` on, with its last byte before `end`, both inside of the range? Then
 * all of its bytes get rows.
 */
bool crt_function_find(const struct code_range *range, uint64_t at, uint64_t end,
		       struct known_code *ret);

#endif
