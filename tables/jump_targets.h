/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_JUMP_TARGETS_H
#define DP_TABLES_JUMP_TARGETS_H

#include <stdint.h>

/* Nonzero ends the search. */
typedef int (*jump_target_fn)(void *arg, uint64_t to);

/*
 * Calls fn with each address outside of some code, from start to its exclusive end, that its jumps, also
 * conditional ones, lead to. Returns the first nonzero result of fn, or 0; behind what is no instruction,
 * nothing is found.
 */
int jump_targets_each(const uint8_t *code, uint64_t start, uint64_t end, jump_target_fn fn,
		      void *arg);

#endif
