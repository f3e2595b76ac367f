/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_EXPR_H
#define DP_CFI_EXPR_H

#include <stdint.h>

#include "cfi/reason.h"

/*
 * Nearly all DWARF expressions that occur in unwind information have one of a
 * handful of shapes (DWARF 5 §2.5 defines the operators). These are recognised.
 */
enum cfi_expr_kind {
	CFI_EXPR_ADDRESS, /* reg + offset */
	CFI_EXPR_DEREF, /* *(reg + offset) + add: realigned stacks, saved stack pointers, signals */
	CFI_EXPR_PLT, /* reg + offset, and deeper in the PLT entry from `add` on: lazy binding stubs */
	CFI_EXPR_OTHER,
};

struct cfi_expr {
	enum cfi_expr_kind kind;
	uint8_t reg; /* enum cfi_register */
	int64_t offset;
	int64_t add; /* CFI_EXPR_PLT: see cfi_expr_plt() */
};

/* What the size bytes at expr compute; CFI_EXPR_OTHER for every other or malformed one. */
struct cfi_expr cfi_expr_classify(const uint8_t *expr, uint32_t size);

/*
 * The others become programs for a machine with a stack of values: first what
 * pushes one, then what moves them, what replaces the topmost one, and what
 * replaces the two topmost ones.
 */
enum cfi_opcode {
	CFI_OP_REGISTER, /* push register arg + value */
	CFI_OP_CONSTANT, /* push value */
	CFI_OP_PICK,     /* push a copy of the value that is `arg` below the top */
	CFI_OP_DROP,
	CFI_OP_SWAP,
	CFI_OP_ROT,          /* the top becomes the third one */
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
	CFI_OP_SHL, /* by 64 and more, too: no bit is left */
	CFI_OP_SHR,
	CFI_OP_SHRA,
	CFI_OP_EQ, /* this and the next ones: 1 or 0, signed */
	CFI_OP_GE,
	CFI_OP_GT,
	CFI_OP_LE,
	CFI_OP_LT,
	CFI_OP_NE,
	CFI_N_OPS,
};

#define CFI_MAX_OPS 32
#define CFI_MAX_VALUES 8 /* of the stack */

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
 * Compile the size bytes at expr, which run on a stack of `depth` values: 0 for
 * a CFA, 1 (the CFA) for a register's rule. A program that was compiled never
 * takes a value that is not there, has room for all, and leaves one at least;
 * the topmost is the result.
 *
 * Refused are branches, division, what refers to other debug information or to
 * an address that is only known when the binary is mapped (CFI_BAD_OPERATOR),
 * and what does not fit the limits above (CFI_BAD_STACK, CFI_LONG_EXPR).
 */
enum cfi_reason cfi_expr_compile(const uint8_t *expr, uint32_t size, uint32_t depth,
				 struct cfi_program *ret);

#endif
