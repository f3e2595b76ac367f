/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_REASON_H
#define DP_CFI_REASON_H

#include <stdint.h>

/*
 * Why a piece of call frame information was refused. The parser does not guess: it names what it
 * does not understand, with the offset in the section, and the affected address range gets no rule.
 *
 * X(enumerator, word, sentence)
 */
#define CFI_REASONS(X)                                                                             \
	X(NONE, "none", "no error")                                                                \
	X(TRUNCATED, "truncated", "a value reaches beyond the end of its record or section")       \
	X(LEB_TOO_LONG, "leb_too_long", "a LEB128 number does not fit 64 bits")                    \
	X(BAD_LENGTH, "bad_length", "a record's length has a reserved value")                      \
	X(NO_CIE, "no_cie", "an FDE's CIE pointer does not lead to a CIE")                         \
	X(BAD_CIE_VERSION, "bad_cie_version", "the CIE has a version other than 1, 3 and 4")       \
	X(BAD_ADDRESS_SIZE, "bad_address_size",                                                    \
	  "the CIE has addresses of another size, or segments")                                    \
	X(BAD_AUGMENTATION, "bad_augmentation", "the augmentation string is not known")            \
	X(BAD_ENCODING, "bad_encoding", "a pointer encoding is not defined or not usable here")    \
	X(BAD_RANGE, "bad_range", "an FDE's address range wraps around")                           \
	X(BAD_RETURN_REGISTER, "bad_return_register",                                              \
	  "the return address is in an unexpected column")                                         \
	X(UNKNOWN_OPCODE, "unknown_opcode", "an opcode is not defined for this machine")           \
	X(NO_CFA, "no_cfa", "an opcode changes part of a CFA rule that was not set")               \
	X(STATE_STACK_FULL, "state_stack_full", "remember_state is nested too deeply")             \
	X(STATE_STACK_EMPTY, "state_stack_empty", "restore_state without remember_state")          \
	X(BAD_ADVANCE, "bad_advance", "the location moves backwards or wraps around")              \
	X(BAD_OFFSET, "bad_offset", "an offset does not fit 64 bits after factoring")              \
	X(BAD_OPERATOR, "bad_operator", "an expression has an operator that is not supported")     \
	X(BAD_STACK, "bad_stack",                                                                  \
	  "an expression needs values that are not there, or more room than there is")             \
	X(LONG_EXPR, "long_expr", "an expression has too many operators")

#define X(name, word, sentence) CFI_##name,
enum cfi_reason { CFI_REASONS(X) CFI_N_REASONS };
#undef X

/* One refusal: the reason, and where in the section (bytes from its start). */
struct cfi_refusal {
	enum cfi_reason reason;
	uint64_t offset;
};

/* The word for scripts and the sentence for people. Never NULL. */
const char *cfi_reason_word(enum cfi_reason reason);
const char *cfi_reason_sentence(enum cfi_reason reason);

#endif
