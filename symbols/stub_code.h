/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_STUB_CODE_H
#define DP_SYMBOLS_STUB_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What instructions tell about names, where no symbol does. */

/*
 * How many bytes of code at an address there are up to the first return, with it, that may be a
 * function's last: padding follows, or an address that functions are aligned to; all, if there is
 * none.
 */
size_t code_until_padding(const uint8_t *code, size_t size, uint64_t address);

/* The size of most stubs in a PLT (psABI 5.2.1). */
extern const size_t code_stub_size;

/* What a relocation puts into the slot that a stub jumps by. */
enum code_slot {
	CODE_SLOT_NONE, /* it is for something else */
	CODE_SLOT_NAMED,
	CODE_SLOT_RESOLVED, /* what a function of the file returns (IFUNC) */
};

/* By the type of the relocation. */
enum code_slot code_slot_of(uint64_t relocation);

/*
 * Where the stub at an address has the address that it jumps to; or, of one that leaves this to
 * be found out, the number of its relocation, with *ret_slot 0. Is it a stub?
 */
bool code_find_slot(const uint8_t *code, size_t size, uint64_t address, uint64_t *ret_slot,
		    uint64_t *ret_number);

#endif
