// SPDX-License-Identifier: Apache-2.0
#include "cfi/plt.h"

#include <dwarf.h>
#include <stdbool.h>

#include "cfi/row.h"

static const struct cfi_expr other = { .kind = CFI_EXPR_OTHER };

/* Reads one byte: an operator, or a small operand. */
static bool read_op(struct cursor *c, uint8_t want)
{
	uint8_t op;

	return cursor_u8(c, &op) == CFI_NONE && op == want;
}

/* DW_OP_litN */
static bool read_literal(struct cursor *c, uint8_t *ret)
{
	uint8_t op;

	if (cursor_u8(c, &op) != CFI_NONE || op < DW_OP_lit0 || op > DW_OP_lit31)
		return false;
	*ret = op - DW_OP_lit0;
	return true;
}

/*
 * rsp + 8 + ((rip & 15) >= threshold ? 8 : 0)
 *
 * After the first push of a PLT entry (16 bytes) the stack is one word deeper. The threshold
 * depends on the linker: 11 for the classic layout, 10 with -z bndplt, 9 with -z ibtplt.
 */
struct cfi_expr cfi_expr_plt(struct cursor c)
{
	static const uint8_t before[] = { DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t behind[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	uint8_t threshold;

	for (size_t i = 0; i < sizeof(before); i++)
		if (!read_op(&c, before[i]))
			return other;
	if (!read_literal(&c, &threshold))
		return other;
	for (size_t i = 0; i < sizeof(behind); i++)
		if (!read_op(&c, behind[i]))
			return other;
	if (cursor_left(&c) > 0)
		return other;
	return (struct cfi_expr){ CFI_EXPR_PLT, CFI_RSP, 8, threshold };
}
