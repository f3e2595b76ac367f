/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_RELOCATION_H
#define DP_ELF_RELOCATION_H

#include <stddef.h>
#include <stdint.h>

/*
 * Applies a relocation of a type as in r_info to the bytes at `to`, of which there are `left`: `value` is
 * the symbol's with the addend, `place` the address that is relocated. Types that no unwind or debug
 * information has change nothing. 0, or -ERANGE: the result does not fit.
 */
int relocation_apply(uint32_t type, uint64_t value, uint64_t place, uint8_t *to, size_t left);

#endif
