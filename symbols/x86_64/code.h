/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_X86_64_CODE_H
#define DP_SYMBOLS_X86_64_CODE_H

#include <stddef.h>
#include <stdint.h>

/* What instructions tell about names, where no symbol does. */

/*
 * How many bytes of code at an address there are up to the first return, with it, behind which
 * there is nothing but padding for the next function; all, if there is none.
 */
size_t code_until_padding(const uint8_t *code, size_t size, uint64_t address);

#endif
