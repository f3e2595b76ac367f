/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_CRT_FUNCTION_H
#define DP_TABLES_X86_64_CRT_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "tables/known_code.h"

/*
 * Functions of crtbegin.o, which gcc puts into every program and library, built without unwind
 * information: register_tm_clones(), deregister_tm_clones(), __do_global_dtors_aux() and
 * frame_dummy(). Each program runs them when it starts and touches pages for the first time.
 * Because versions of gcc compile them in many ways, the function is read rather than compared with
 * patterns: it consists of a few kinds of instructions, of which only a push and a pop of rbp move
 * the stack pointer. Reaching a `ret` then proves where the return address is everywhere in it.
 */

/*
 * True if one starts at `at` and ends before `end`, both inside the range. All of its bytes then
 * get rows.
 */
bool crt_function_find(const struct code_range *range, uint64_t at, uint64_t end,
		       struct known_code *ret);

#endif
