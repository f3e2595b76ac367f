// SPDX-License-Identifier: Apache-2.0
/* DWARF expressions: common ones recognised, others compiled, and each refusal by its reason. */
#include <criterion/criterion.h>
#include <dwarf.h>

#include "cfi/expr.h"
#include "cfi/row.h"

/* The expressions that real unwind information contains, byte for byte, and where. */
Test(expr, knows_the_shapes_that_occur)
{
	static const struct {
		const char *where;
		uint8_t bytes[16];
		uint32_t size;
		struct cfi_expr expr;
	} cases[] = {
		{ "a PLT of ld.bfd and gold",
		  { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 },
		  11,
		  { CFI_EXPR_PLT, CFI_RSP, 8, 11 } },
		{ "a PLT made with -z bndplt",
		  { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22 },
		  11,
		  { CFI_EXPR_PLT, CFI_RSP, 8, 10 } },
		{ "a PLT made with -z ibtplt",
		  { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22 },
		  11,
		  { CFI_EXPR_PLT, CFI_RSP, 8, 9 } },
		{ "GCC's realigned stacks",
		  { 0x76, 0x58, 0x06 },
		  3,
		  { CFI_EXPR_DEREF, CFI_RBP, -40, 0 } },
		{ "OpenSSL",
		  { 0x77, 0x98, 0x01, 0x06, 0x23, 0x08 },
		  6,
		  { CFI_EXPR_DEREF, CFI_RSP, 152, 8 } },
		{ "libgcrypt",
		  { 0x77, 0x98, 0x84, 0x80, 0x00, 0x06, 0x23, 0xb8, 0x80, 0x80, 0x00 },
		  11,
		  { CFI_EXPR_DEREF, CFI_RSP, 536, 56 } },
		{ "glibc's __restore_rt",
		  { 0x77, 0xa0, 0x01, 0x06 },
		  4,
		  { CFI_EXPR_DEREF, CFI_RSP, 160, 0 } },
		{ "rbp of a realigned stack",
		  { 0x76, 0x00 },
		  2,
		  { CFI_EXPR_ADDRESS, CFI_RBP, 0, 0 } },
		/* not known: an index register in OpenSSL, sbcl, nothing, and parts of others */
		{ "OpenSSL's bn_mul_mont",
		  { 0x77, 0x08, 0x79, 0x00, 0x38, 0x1e, 0x22, 0x06, 0x23, 0x08 },
		  10,
		  { CFI_EXPR_OTHER } },
		{ "sbcl", { 0x76, 0x00, 0x06, 0x40, 0x22 }, 5, { CFI_EXPR_OTHER } },
		{ "nothing", { 0 }, 0, { CFI_EXPR_OTHER } },
		{ "half a register", { 0x77 }, 1, { CFI_EXPR_OTHER } },
		{ "half a PLT",
		  { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a },
		  8,
		  { CFI_EXPR_OTHER } },
		{ "a PLT with more behind it",
		  { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x96 },
		  12,
		  { CFI_EXPR_OTHER } },
		{ "a register that is not tracked", { 0x70 + 20, 0x00 }, 2, { CFI_EXPR_OTHER } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cfi_expr e = cfi_expr_classify(cases[i].bytes, cases[i].size);

		cr_assert(e.kind == cases[i].expr.kind, "%s: kind %d", cases[i].where, e.kind);
		if (e.kind == CFI_EXPR_OTHER)
			continue;
		cr_assert(e.reg == cases[i].expr.reg, "%s", cases[i].where);
		cr_assert(e.offset == cases[i].expr.offset, "%s", cases[i].where);
		cr_assert(e.add == cases[i].expr.add, "%s", cases[i].where);
	}
}

static struct cfi_program program;

static enum cfi_reason compile(const uint8_t *expr, uint32_t size, uint32_t depth)
{
	return cfi_expr_compile(expr, size, depth, &program);
}

static void expect_op(uint32_t i, enum cfi_opcode code, uint8_t arg, int64_t value)
{
	cr_assert(i < program.n_ops, "only %u instructions", program.n_ops);
	cr_assert(program.ops[i].code == code, "instruction %u is %d", i, program.ops[i].code);
	cr_assert(program.ops[i].arg == arg && program.ops[i].value == value);
}

/* OpenSSL's bn_mul_mont: *(rsp + 8 + r9 * 8) + 8 */
Test(expr, compiles_what_has_no_shape)
{
	static const uint8_t expr[] = {
		0x77, 0x08, 0x79, 0x00, 0x38, 0x1e, 0x22, 0x06, 0x23, 0x08
	};

	cr_assert(compile(expr, sizeof(expr), 0) == CFI_NONE && program.n_ops == 7);
	expect_op(0, CFI_OP_REGISTER, CFI_RSP, 8);
	expect_op(1, CFI_OP_REGISTER, CFI_R9, 0);
	expect_op(2, CFI_OP_CONSTANT, 0, 8);
	expect_op(3, CFI_OP_MUL, 0, 0);
	expect_op(4, CFI_OP_ADD, 0, 0);
	expect_op(5, CFI_OP_DEREF, 8, 0);
	expect_op(6, CFI_OP_ADD_CONSTANT, 0, 8);
}

Test(expr, compiles_every_operand)
{
	static const uint8_t expr[] = {
		DW_OP_const1u,
		0xff,
		DW_OP_const1s,
		0xff,
		DW_OP_const2u,
		0xfe,
		0xff,
		DW_OP_const2s,
		0xfe,
		0xff,
		DW_OP_const4u,
		1,
		0,
		0,
		0x80,
		DW_OP_const4s,
		1,
		0,
		0,
		0x80,
		DW_OP_const8s,
		0xff,
		0xff,
		0xff,
		0xff,
		0xff,
		0xff,
		0xff,
		0xff,
		DW_OP_constu,
		0x80,
		1,
		DW_OP_drop,
		DW_OP_consts,
		0x7f,
		DW_OP_drop,
		DW_OP_nop,
		DW_OP_pick,
		6,
		DW_OP_deref_size,
		4,
		DW_OP_plus_uconst,
		5,
	};

	cr_assert(compile(expr, sizeof(expr), 0) == CFI_NONE && program.n_ops == 14);
	expect_op(0, CFI_OP_CONSTANT, 0, 0xff);
	expect_op(1, CFI_OP_CONSTANT, 0, -1);
	expect_op(2, CFI_OP_CONSTANT, 0, 0xfffe);
	expect_op(3, CFI_OP_CONSTANT, 0, -2);
	expect_op(4, CFI_OP_CONSTANT, 0, 0x80000001);
	expect_op(5, CFI_OP_CONSTANT, 0, (int32_t)0x80000001);
	expect_op(6, CFI_OP_CONSTANT, 0, -1);
	expect_op(7, CFI_OP_CONSTANT, 0, 128);
	expect_op(9, CFI_OP_CONSTANT, 0, -1);
	expect_op(11, CFI_OP_PICK, 6, 0);
	expect_op(12, CFI_OP_DEREF, 4, 0);
	expect_op(13, CFI_OP_ADD_CONSTANT, 0, 5);
}

/* Nothing, for a register's rule, is the CFA; for a CFA it is nothing. */
Test(expr, starts_with_the_values_it_is_told_of)
{
	static const uint8_t add[] = { DW_OP_lit1, DW_OP_plus };

	cr_assert(compile(NULL, 0, 1) == CFI_NONE && program.n_ops == 0);
	cr_assert(compile(NULL, 0, 0) == CFI_BAD_STACK);
	cr_assert(compile(add, sizeof(add), 1) == CFI_NONE);
	cr_assert(compile(add, sizeof(add), 0) == CFI_BAD_STACK);
}

Test(expr, keeps_to_the_limits)
{
	uint8_t expr[CFI_MAX_OPS + 1];

	memset(expr, DW_OP_lit1, sizeof(expr));
	cr_assert(compile(expr, CFI_MAX_VALUES, 0) == CFI_NONE);
	cr_assert(compile(expr, CFI_MAX_VALUES, 1) == CFI_BAD_STACK);
	cr_assert(compile(expr, CFI_MAX_VALUES + 1, 0) == CFI_BAD_STACK);
	memset(expr, DW_OP_neg, sizeof(expr));
	cr_assert(compile(expr, CFI_MAX_OPS, 1) == CFI_NONE);
	cr_assert(compile(expr, CFI_MAX_OPS + 1, 1) == CFI_LONG_EXPR);
}

Test(expr, refuses_by_name)
{
	static const struct {
		uint8_t bytes[6];
		uint32_t size;
		enum cfi_reason reason;
	} cases[] = {
		{ { DW_OP_skip, 0, 0 }, 3, CFI_BAD_OPERATOR },
		{ { DW_OP_lit1, DW_OP_bra, 0, 0 }, 4, CFI_BAD_OPERATOR },
		{ { DW_OP_lit1, DW_OP_lit1, DW_OP_div }, 3, CFI_BAD_OPERATOR },
		{ { DW_OP_call_frame_cfa }, 1, CFI_BAD_OPERATOR },
		{ { DW_OP_reg0 }, 1, CFI_BAD_OPERATOR },
		{ { DW_OP_breg0 + 17, 0 }, 2, CFI_BAD_OPERATOR },
		{ { DW_OP_bregx, 17, 0 }, 3, CFI_BAD_OPERATOR },
		{ { DW_OP_lit1, DW_OP_deref_size, 0 }, 3, CFI_BAD_OPERATOR },
		{ { DW_OP_lit1, DW_OP_deref_size, 9 }, 3, CFI_BAD_OPERATOR },
		{ { DW_OP_lit1, DW_OP_deref_size }, 2, CFI_TRUNCATED },
		{ { DW_OP_breg7 }, 1, CFI_TRUNCATED },
		{ { DW_OP_const4u, 1, 2, 3 }, 4, CFI_TRUNCATED },
		{ { DW_OP_plus_uconst, 1 }, 2, CFI_BAD_STACK },
		{ { DW_OP_lit1, DW_OP_swap }, 2, CFI_BAD_STACK },
		{ { DW_OP_lit1, DW_OP_lit1, DW_OP_rot }, 3, CFI_BAD_STACK },
		{ { DW_OP_lit1, DW_OP_pick, 1 }, 3, CFI_BAD_STACK },
		{ { DW_OP_lit1, DW_OP_drop }, 2, CFI_BAD_STACK },
		{ { DW_OP_drop }, 1, CFI_BAD_STACK },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum cfi_reason r = compile(cases[i].bytes, cases[i].size, 0);

		cr_assert(r == cases[i].reason, "case %zu: %s", i, cfi_reason_word(r));
	}
}
