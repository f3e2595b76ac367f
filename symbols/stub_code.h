/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_STUB_CODE_H
#define DP_SYMBOLS_STUB_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Facts about names from machine code, for code without symbols. */

/*
 * Returns the size of the code at an address up to and including the first return that may end a
 * function: one followed by padding or by an address with a function's alignment. Returns `size` if
 * there is none.
 */
size_t code_until_padding(const uint8_t *code, size_t size, uint64_t address);

/* The size of most stubs in a PLT (psABI 5.2.1). */
extern const size_t code_stub_size;

/* What a relocation writes to the slot that a stub jumps through. */
enum code_slot {
	CODE_SLOT_NONE, /* not for a stub */
	CODE_SLOT_NAMED,
	CODE_SLOT_RESOLVED, /* the result of a function of this file (IFUNC) */
};

/* From the type of the relocation. */
enum code_slot code_slot_of(uint64_t relocation);

/*
 * Whether a stub is at an address. *ret_slot is the address of its slot, or 0 for a stub that is
 * resolved lazily; *ret_number is then the number of its relocation.
 */
bool code_find_slot(const uint8_t *code, size_t size, uint64_t address, uint64_t *ret_slot,
		    uint64_t *ret_number);

#endif
