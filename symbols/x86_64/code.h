/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_X86_64_CODE_H
#define DP_SYMBOLS_X86_64_CODE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What instructions tell about names, where no symbol does. */

/*
 * How many bytes of code at an address there are up to the first return, with it, behind which
 * there is nothing but padding for the next function; all, if there is none.
 */
size_t code_until_padding(const uint8_t *code, size_t size, uint64_t address);

/* Of the stubs in a PLT: the size of most (psABI 5.2.1), and what their slots are relocated by. */
#define STUB_SIZE 16
#define RELOCATION_STUB R_X86_64_JUMP_SLOT
#define RELOCATION_ADDRESS R_X86_64_GLOB_DAT
#define RELOCATION_RESOLVED R_X86_64_IRELATIVE

/*
 * Where the stub at an address has the address that it jumps to; or, of one that leaves this to
 * be found out, the number of its relocation, with *ret_slot 0. Is it a stub?
 */
bool code_find_slot(const uint8_t *code, size_t size, uint64_t address, uint64_t *ret_slot,
		    uint64_t *ret_number);

#endif
