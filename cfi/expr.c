// SPDX-License-Identifier: Apache-2.0
#include "expr.h"

#include <dwarf.h>
#include <stdbool.h>

#include "cursor.h"
#include "row.h"

static const struct cfi_expr other = { .kind = CFI_EXPR_OTHER };

/* DW_OP_bregN offset, for a register that is tracked. */
static bool read_breg(struct cursor *c, uint8_t *ret_reg, int64_t *ret_offset)
{
	uint8_t op;

	if (cursor_u8(c, &op) != CFI_NONE || op < DW_OP_breg0 ||
	    op >= DW_OP_breg0 + CFI_N_REGISTERS)
		return false;
	*ret_reg = op - DW_OP_breg0;
	return cursor_sleb(c, ret_offset) == CFI_NONE;
}

static bool read_op(struct cursor *c, uint8_t want)
{
	uint8_t op;

	return cursor_u8(c, &op) == CFI_NONE && op == want;
}

static bool read_literal(struct cursor *c, uint8_t *ret)
{
	uint8_t op;

	if (cursor_u8(c, &op) != CFI_NONE || op < DW_OP_lit0 || op > DW_OP_lit31)
		return false;
	*ret = op - DW_OP_lit0;
	return true;
}

/*
 * After the first push of a PLT entry (16 bytes) the stack is one word deeper.
 * Where in the entry that is depends on the linker: 11 for the classic layout,
 * 10 with -z bndplt, 9 with -z ibtplt.
 */
static struct cfi_expr classify_plt(struct cursor c)
{
	struct cfi_expr e = { .kind = CFI_EXPR_PLT };
	uint8_t rip, threshold, mask, shift;
	int64_t rip_offset;

	if (!read_breg(&c, &e.reg, &e.offset) || e.reg != CFI_RSP || e.offset != 8)
		return other;
	if (!read_breg(&c, &rip, &rip_offset) || rip != CFI_RIP || rip_offset != 0)
		return other;
	if (!read_literal(&c, &mask) || mask != 15 || !read_op(&c, DW_OP_and))
		return other;
	if (!read_literal(&c, &threshold) || !read_op(&c, DW_OP_ge))
		return other;
	if (!read_literal(&c, &shift) || shift != 3 || !read_op(&c, DW_OP_shl))
		return other;
	if (!read_op(&c, DW_OP_plus) || cursor_left(&c) > 0)
		return other;
	e.add = threshold;
	return e;
}

struct cfi_expr cfi_expr_classify(const uint8_t *expr, uint32_t size)
{
	struct cfi_expr e = { .kind = CFI_EXPR_ADDRESS };
	struct cursor c, start;
	uint64_t add;
	uint8_t op;

	cursor_init(&c, expr, 0, size);
	start = c;
	if (!read_breg(&c, &e.reg, &e.offset))
		return other;
	if (cursor_left(&c) == 0)
		return e;
	if (cursor_u8(&c, &op) != CFI_NONE || op != DW_OP_deref)
		return classify_plt(start);

	e.kind = CFI_EXPR_DEREF;
	if (cursor_left(&c) == 0)
		return e;
	if (!read_op(&c, DW_OP_plus_uconst) || cursor_uleb(&c, &add) != CFI_NONE ||
	    add > INT64_MAX || cursor_left(&c) > 0)
		return other;
	e.add = (int64_t)add;
	return e;
}
