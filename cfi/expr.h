/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_EXPR_H
#define DP_CFI_EXPR_H

#include <stdint.h>

#include "cfi/reason.h"

/*
 * Nearly all DWARF expressions in unwind information have one of a few shapes (DWARF 5 §2.5 defines
 * the operators). These are recognised.
 */
enum cfi_expr_kind {
	CFI_EXPR_ADDRESS, /* reg + offset */
	CFI_EXPR_DEREF, /* *(reg + offset) + add: realigned stacks, saved stack pointers, signals */
	CFI_EXPR_PLT,   /* reg + offset, and more from byte `add` of the PLT entry on: lazy binding
	               * stubs */
	CFI_EXPR_OTHER,
};

struct cfi_expr {
	enum cfi_expr_kind kind;
	uint8_t reg; /* enum cfi_register */
	int64_t offset;
	int64_t add; /* CFI_EXPR_PLT: see cfi_expr_plt() */
};

/* Classifies the size bytes at expr; CFI_EXPR_OTHER for any other or malformed expression. */
struct cfi_expr cfi_expr_classify(const uint8_t *expr, uint32_t size);

/*
 * Other expressions become programs for a stack machine. The operators that push come first, then
 * those that reorder, those that replace the top value, and those that replace the top two.
 */
enum cfi_opcode {
	CFI_OP_REGISTER, /* push register arg + value */
	CFI_OP_CONSTANT, /* push value */
	CFI_OP_PICK,     /* push a copy of the value `arg` places below the top */
	CFI_OP_DROP,
	CFI_OP_SWAP,
	CFI_OP_ROT,          /* move the top below the next two */
	CFI_OP_DEREF,        /* the `arg` bytes at that address */
	CFI_OP_ADD_CONSTANT, /* + value */
	CFI_OP_ABS,
	CFI_OP_NEG,
	CFI_OP_NOT,
	CFI_OP_ADD,
	CFI_OP_SUB,
	CFI_OP_MUL,
	CFI_OP_AND,
	CFI_OP_OR,
	CFI_OP_XOR,
	CFI_OP_SHL, /* shifts by 64 or more leave no bit */
	CFI_OP_SHR,
	CFI_OP_SHRA,
	CFI_OP_EQ, /* these six: 1 or 0, signed comparison */
	CFI_OP_GE,
	CFI_OP_GT,
	CFI_OP_LE,
	CFI_OP_LT,
	CFI_OP_NE,
	CFI_N_OPS,
};

#define CFI_MAX_OPS 32
#define CFI_MAX_VALUES 8 /* on the stack */

struct cfi_op {
	uint8_t code; /* enum cfi_opcode */
	uint8_t arg;
	int64_t value;
};

struct cfi_program {
	uint32_t n_ops;
	struct cfi_op ops[CFI_MAX_OPS];
};

/*
 * Compiles the size bytes at expr, which run on a stack of `depth` values: 0 for a CFA, 1 (the CFA)
 * for a register's rule. A compiled program never lacks an operand or room, and leaves at least one
 * value; the result is on top.
 *
 * Refused: branches, division, references to other debug information or to an address known only
 * when the binary is mapped (CFI_BAD_OPERATOR), and whatever exceeds the limits above
 * (CFI_BAD_STACK, CFI_LONG_EXPR).
 */
enum cfi_reason cfi_expr_compile(const uint8_t *expr, uint32_t size, uint32_t depth,
				 struct cfi_program *ret);

#endif
