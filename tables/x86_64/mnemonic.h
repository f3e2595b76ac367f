/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_MNEMONIC_H
#define DP_TABLES_X86_64_MNEMONIC_H

#include <Zydis/Zydis.h>
#include <stddef.h>

#define MNEMONIC_SIZE 32

/*
 * What AT&T's syntax calls an instruction, as the GNU assembler has it: Zydis has Intel's names in any
 * syntax. With the suffix for the size of memory, where no register tells it.
 */
void mnemonic_write(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *operands,
		    char ret[MNEMONIC_SIZE]);

/* How many of its operands are shown, from the first: the others are implied by its name, or unused. */
size_t mnemonic_count_operands(const ZydisDecodedInstruction *i,
			       const ZydisDecodedOperand *operands);

/* The operands of an instruction on strings, which Zydis does not show, or those of the longer `nop`; NULL for others. */
const char *mnemonic_string_operands(const ZydisDecodedInstruction *i);

#endif
