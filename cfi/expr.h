/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_EXPR_H
#define DP_CFI_EXPR_H

#include <stdint.h>

/*
 * The DWARF expressions that occur in unwind information have a handful of
 * shapes (DWARF 5 §2.5 defines the operators). They are recognised, not run.
 */
enum cfi_expr_kind {
	CFI_EXPR_ADDRESS, /* reg + offset */
	CFI_EXPR_DEREF, /* *(reg + offset) + add: realigned stacks, saved stack pointers, signals */
	CFI_EXPR_PLT,   /* rsp + 8 + ((rip & 15) >= threshold ? 8 : 0): lazy binding stubs */
	CFI_EXPR_OTHER,
};

struct cfi_expr {
	enum cfi_expr_kind kind;
	uint8_t reg; /* enum cfi_register */
	int64_t offset;
	int64_t add; /* CFI_EXPR_PLT: the threshold */
};

/* What the size bytes at expr compute; CFI_EXPR_OTHER for every other or malformed one. */
struct cfi_expr cfi_expr_classify(const uint8_t *expr, uint32_t size);

#endif
