// SPDX-License-Identifier: Apache-2.0
/* Rows to rules as images store them: what can be expressed, and each refusal by its reason. */
#include <criterion/criterion.h>
#include <dwarf.h>

#include "tables/rule.h"

/* The row that most functions start with: rsp+8, return address at CFA-8. */
static struct cfi_row plain_row(void)
{
	struct cfi_row row = { .cfa = { .kind = CFI_CFA_REGISTER, .reg = CFI_RSP, .offset = 8 } };

	row.regs[CFI_RIP] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -8 };
	return row;
}

static struct dp_rule rule;
static struct dp_saves saves;
static bool has_saves;
static struct rule_programs programs;

static void expect(const struct cfi_row *row, enum rule_refusal refusal)
{
	enum rule_refusal r = rule_from_row(row, false, &rule, &saves, &has_saves, &programs);

	cr_assert(r == refusal, "%s", rule_refusal_word(r));
}

Test(rule, expresses_the_common_row)
{
	struct cfi_row row = plain_row();

	expect(&row, RULE_NONE);
	cr_assert(rule.cfa == DP_CFA_REGISTER && rule.cfa_reg == DP_REG_SP && rule.cfa_offset == 8);
	cr_assert(rule.ra.kind == DP_WHERE_CFA && rule.ra.offset == -8);
	cr_assert(rule.fp.kind == DP_WHERE_SAME && !has_saves);
}

Test(rule, keeps_the_places_of_callee_saved_registers)
{
	struct cfi_row row = plain_row();

	row.regs[CFI_RBX] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -24 };
	row.regs[CFI_R15] = (struct cfi_rule){ .kind = CFI_RULE_UNDEFINED };
	row.regs[CFI_RBP] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -16 };
	expect(&row, RULE_NONE);
	cr_assert(has_saves);
	cr_assert(saves.where[DP_SAVED_RBX].kind == DP_WHERE_CFA);
	cr_assert(saves.where[DP_SAVED_RBX].offset == -24);
	cr_assert(saves.where[DP_SAVED_R12].kind == DP_WHERE_SAME);
	cr_assert(saves.where[DP_SAVED_R15].kind == DP_WHERE_UNDEFINED);
	cr_assert(rule.fp.kind == DP_WHERE_CFA && rule.fp.offset == -16);
}

/* Caller-saved registers do not matter for unwinding. */
Test(rule, ignores_caller_saved_registers)
{
	struct cfi_row row = plain_row();

	row.regs[CFI_RAX] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -24 };
	expect(&row, RULE_NONE);
	cr_assert(!has_saves);
}

/* Unless both registers that __builtin_eh_return() sets are saved. */
Test(rule, knows_what_lands_in_a_handler)
{
	struct cfi_row row = plain_row();

	row.regs[CFI_RAX] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -72 };
	expect(&row, RULE_NONE);
	cr_assert(!rule.lands);
	row.regs[CFI_RDX] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -64 };
	expect(&row, RULE_NONE);
	cr_assert(rule.lands);
	row.regs[CFI_RAX] = (struct cfi_rule){ .kind = CFI_RULE_SAME };
	expect(&row, RULE_NONE);
	cr_assert(!rule.lands);
}

/* GCC's frames with an alignment of their own. */
Test(rule, expresses_a_cfa_in_memory)
{
	static const uint8_t cfa[] = { DW_OP_breg6, 0x58, DW_OP_deref };
	static const uint8_t rbp[] = { DW_OP_breg6, 0 };
	struct cfi_row row = plain_row();

	row.cfa = (struct cfi_cfa){ .kind = CFI_CFA_EXPRESSION,
				    .expr = cfa,
				    .expr_size = sizeof(cfa) };
	row.regs[CFI_RBP] = (struct cfi_rule){ .kind = CFI_RULE_EXPRESSION,
					       .expr = rbp,
					       .expr_size = sizeof(rbp) };
	expect(&row, RULE_NONE);
	cr_assert(rule.cfa == DP_CFA_MEMORY && rule.cfa_reg == DP_REG_FP && rule.cfa_offset == -40);
	cr_assert(rule.fp.kind == DP_WHERE_MEMORY && rule.fp.reg == DP_REG_FP &&
		  rule.fp.offset == 0);
}

Test(rule, knows_the_end_of_a_stack)
{
	struct cfi_row row = plain_row();

	row.regs[CFI_RIP].kind = CFI_RULE_UNDEFINED;
	expect(&row, RULE_NONE);
	cr_assert(rule.ra.kind == DP_WHERE_UNDEFINED);
}

/* vfork() keeps its return address in a register. */
Test(rule, expresses_a_return_address_in_a_register)
{
	struct cfi_row row = plain_row();

	row.regs[CFI_RIP] = (struct cfi_rule){ .kind = CFI_RULE_REGISTER, .reg = CFI_RDI };
	expect(&row, RULE_NONE);
	cr_assert(rule.ra.kind == DP_WHERE_REGISTER && rule.ra.reg == DP_RDI);
}

/* Only a walk that needs such a register fails. */
Test(rule, marks_a_register_it_cannot_find)
{
	static const uint8_t expr[] = { DW_OP_skip, 0, 0 };
	struct cfi_row row = plain_row();

	row.regs[CFI_RBP] = (struct cfi_rule){ .kind = CFI_RULE_EXPRESSION,
					       .expr = expr,
					       .expr_size = sizeof(expr) };
	row.regs[CFI_R12] = (struct cfi_rule){ .kind = CFI_RULE_VAL_OFFSET, .offset = 8 };
	expect(&row, RULE_NONE);
	cr_assert(rule.fp.kind == DP_WHERE_UNKNOWN);
	cr_assert(saves.where[DP_SAVED_R12].kind == DP_WHERE_UNKNOWN);
}

Test(rule, refuses_by_name)
{
	static const uint8_t expr[] = { DW_OP_skip, 0, 0 };
	static const uint8_t wide[] = { DW_OP_const8u, 0, 0, 0, 0x80, 0, 0, 0, 0 };
	struct cfi_row row = plain_row();

	row.cfa.kind = CFI_CFA_UNSET;
	expect(&row, RULE_CFA_UNSET);

	row = plain_row();
	row.cfa.reg = CFI_OTHER_REGISTER;
	expect(&row, RULE_CFA_REGISTER);

	row = plain_row();
	row.cfa = (struct cfi_cfa){ .kind = CFI_CFA_EXPRESSION, .expr = expr, .expr_size = 3 };
	expect(&row, RULE_CFA_EXPRESSION);
	row.cfa = (struct cfi_cfa){ .kind = CFI_CFA_EXPRESSION, .expr = wide, .expr_size = 9 };
	expect(&row, RULE_CFA_EXPRESSION);

	row = plain_row();
	row.cfa.offset = INT64_C(1) << 31;
	expect(&row, RULE_OFFSET);

	row = plain_row();
	row.regs[CFI_RIP].kind = CFI_RULE_SAME;
	expect(&row, RULE_RETURN_ADDRESS);

	row = plain_row();
	row.regs[CFI_RSP].kind = CFI_RULE_UNDEFINED;
	expect(&row, RULE_STACK_POINTER);
	row.regs[CFI_RSP] = (struct cfi_rule){ .kind = CFI_RULE_EXPRESSION, .expr = expr };
	row.regs[CFI_RSP].expr_size = sizeof(expr);
	expect(&row, RULE_STACK_POINTER);
	/* The stack pointer of a missing caller does not matter. */
	row.regs[CFI_RIP].kind = CFI_RULE_UNDEFINED;
	expect(&row, RULE_NONE);
}

/* longjmp() describes the stack pointer that it will set, setcontext() where it is stored. */
Test(rule, expresses_a_stack_pointer)
{
	struct cfi_row row = plain_row();

	expect(&row, RULE_NONE);
	cr_assert(rule.sp.kind == DP_WHERE_SAME);
	row.regs[CFI_RSP] = (struct cfi_rule){ .kind = CFI_RULE_VAL_OFFSET };
	expect(&row, RULE_NONE);
	cr_assert(rule.sp.kind == DP_WHERE_SAME);
	row.regs[CFI_RSP] = (struct cfi_rule){ .kind = CFI_RULE_REGISTER, .reg = CFI_R8 };
	expect(&row, RULE_NONE);
	cr_assert(rule.sp.kind == DP_WHERE_REGISTER && rule.sp.reg == DP_R8);
	row.regs[CFI_RSP] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = 0xa0 };
	expect(&row, RULE_NONE);
	cr_assert(rule.sp.kind == DP_WHERE_CFA && rule.sp.offset == 0xa0);
	row.regs[CFI_RSP] = (struct cfi_rule){ .kind = CFI_RULE_SAME };
	expect(&row, RULE_NONE);
	cr_assert(rule.sp.kind == DP_WHERE_REGISTER && rule.sp.reg == DP_REG_SP);
	row.regs[CFI_RSP] = (struct cfi_rule){ .kind = CFI_RULE_VAL_OFFSET, .offset = 16 };
	expect(&row, RULE_NONE);
	cr_assert(rule.sp.kind == DP_WHERE_VALUE);
	cr_assert(programs.of[RULE_PART_SP].n_ops == 1);
	cr_assert(programs.of[RULE_PART_SP].ops[0].code == DP_OP_ADD_CONSTANT);
	cr_assert(programs.of[RULE_PART_SP].ops[0].value == 16);
}

/* OpenSSL's bn_mul_mont has an index register in its CFA. */
Test(rule, makes_programs_of_expressions)
{
	static const uint8_t cfa[] = { 0x77, 0x08, 0x79, 0x00, 0x38, 0x1e, 0x22, 0x06, 0x23, 0x08 };
	static const uint8_t ra[] = { DW_OP_breg7, 0, DW_OP_deref, DW_OP_lit8, DW_OP_plus };
	static const uint8_t rbp[] = { DW_OP_breg7, 0 };
	struct cfi_row row = plain_row();

	row.cfa.kind = CFI_CFA_EXPRESSION;
	row.cfa.expr = cfa;
	row.cfa.expr_size = sizeof(cfa);
	row.regs[CFI_RIP] = (struct cfi_rule){ .kind = CFI_RULE_EXPRESSION,
					       .expr_size = sizeof(ra),
					       .expr = ra };
	row.regs[CFI_RBP] = (struct cfi_rule){ .kind = CFI_RULE_VAL_EXPRESSION,
					       .expr_size = sizeof(rbp),
					       .expr = rbp };
	row.regs[CFI_RBX] = row.regs[CFI_RIP];
	expect(&row, RULE_NONE);
	cr_assert(rule.cfa == DP_CFA_EXPRESSION && programs.of[RULE_PART_CFA].n_ops == 7);
	cr_assert(programs.of[RULE_PART_CFA].ops[3].code == DP_OP_MUL);
	cr_assert(rule.ra.kind == DP_WHERE_EXPRESSION && programs.of[RULE_PART_RA].n_ops == 4);
	cr_assert(rule.fp.kind == DP_WHERE_VALUE && programs.of[RULE_PART_FP].n_ops == 1);
	cr_assert(rule_program_of(&rule, RULE_PART_CFA) == &rule.cfa_offset);
	cr_assert(rule_program_of(&rule, RULE_PART_RA) == &rule.ra.offset);
	cr_assert(rule_program_of(&rule, RULE_PART_FP) == &rule.fp.offset);
	cr_assert(rule_program_of(&rule, RULE_PART_SP) == NULL);
	/* The others have no programs. */
	cr_assert(saves.where[DP_SAVED_RBX].kind == DP_WHERE_UNKNOWN);
}

/* glibc's __restore_rt: every register at its place in the signal context. */
static struct cfi_row signal_row(uint8_t exprs[CFI_N_REGISTERS][3])
{
	static const uint8_t cfa[] = { DW_OP_breg7, 0xa0, 0x01, DW_OP_deref };
	static const uint8_t words[CFI_N_REGISTERS] = {
		[CFI_R8] = 0,   [CFI_R9] = 1,   [CFI_R10] = 2,  [CFI_R11] = 3,  [CFI_R12] = 4,
		[CFI_R13] = 5,  [CFI_R14] = 6,  [CFI_R15] = 7,  [CFI_RDI] = 8,  [CFI_RSI] = 9,
		[CFI_RBP] = 10, [CFI_RBX] = 11, [CFI_RDX] = 12, [CFI_RAX] = 13, [CFI_RCX] = 14,
		[CFI_RSP] = 15, [CFI_RIP] = 16,
	};
	struct cfi_row row = { .cfa = { .kind = CFI_CFA_EXPRESSION, .expr = cfa, .expr_size = 4 } };

	for (int i = 0; i < CFI_N_REGISTERS; i++) {
		uint32_t at = 40 + 8U * words[i];

		exprs[i][0] = DW_OP_breg7;
		exprs[i][1] = (uint8_t)((at & 0x7f) | 0x80);
		exprs[i][2] = (uint8_t)(at >> 7);
		row.regs[i] = (struct cfi_rule){ .kind = CFI_RULE_EXPRESSION,
						 .expr = exprs[i],
						 .expr_size = 3 };
	}
	return row;
}

Test(rule, knows_the_signal_trampoline)
{
	uint8_t exprs[CFI_N_REGISTERS][3];
	struct cfi_row row = signal_row(exprs);

	cr_assert(rule_from_row(&row, true, &rule, &saves, &has_saves, &programs) == RULE_NONE);
	cr_assert(rule.cfa == DP_CFA_SIGNAL && rule.cfa_offset == 40);

	/* One register elsewhere, and it is not the kernel's layout. */
	exprs[CFI_R9][1]++;
	cr_assert(rule_from_row(&row, true, &rule, &saves, &has_saves, &programs) ==
		  RULE_SIGNAL_LAYOUT);
}

/* The kernel's layout would start below the lowest offset there is. */
Test(rule, refuses_a_signal_frame_at_an_extreme_offset)
{
	static const uint8_t cfa[] = { DW_OP_breg7, 0x80, 0x80, 0x80, 0x80, 0x80,
				       0x80,        0x80, 0x80, 0x80, 0x7f, DW_OP_deref };
	uint8_t exprs[CFI_N_REGISTERS][3];
	struct cfi_row row = signal_row(exprs);

	row.cfa.expr = cfa;
	row.cfa.expr_size = sizeof(cfa);
	cr_assert(rule_from_row(&row, true, &rule, &saves, &has_saves, &programs) ==
		  RULE_SIGNAL_LAYOUT);
}

/* The rule goes by a program: {the register + offset, ...}. */
static void check_switch(uint8_t reg, int32_t offset, uint64_t n_ops)
{
	const struct rule_program *p = &programs.of[RULE_PART_CFA];

	cr_assert_eq(rule.cfa, DP_CFA_SWITCH);
	cr_assert_eq(p->n_ops, n_ops);
	cr_assert(p->ops[0].code == DP_OP_REGISTER && p->ops[0].arg == reg &&
		  p->ops[0].value == offset);
	cr_assert(rule.ra.kind == DP_WHERE_CFA && rule.ra.offset == -8);
}

/* OCaml's caml_c_call: marked as a signal frame, so that the next frame may be anywhere. */
Test(rule, knows_where_ocaml_leaves_a_stack)
{
	static const uint8_t cfa[] = { DW_OP_breg7, 8, DW_OP_deref, DW_OP_plus_uconst, 8 };
	struct cfi_row row = {
		.cfa = { .kind = CFI_CFA_EXPRESSION, .expr = cfa, .expr_size = sizeof(cfa) },
		.regs[CFI_RIP] = { .kind = CFI_RULE_OFFSET, .offset = -8 },
	};

	cr_assert(rule_from_row(&row, true, &rule, &saves, &has_saves, &programs) == RULE_NONE);
	check_switch(DP_REG_SP, 8, 3);

	/* Before it leaves the stack, it is a frame like any other. */
	row.cfa = (struct cfi_cfa){ .kind = CFI_CFA_REGISTER, .reg = CFI_RSP, .offset = 16 };
	cr_assert(rule_from_row(&row, true, &rule, &saves, &has_saves, &programs) == RULE_NONE);
	cr_assert(rule.cfa == DP_CFA_REGISTER && rule.cfa_reg == DP_REG_SP &&
		  rule.cfa_offset == 16);
}

/* OCaml's own functions, while what they have called is on the thread's stack. */
Test(rule, takes_rbx_for_another_stack)
{
	struct cfi_row row = {
		.cfa = { .kind = CFI_CFA_REGISTER, .reg = CFI_RBX, .offset = 24 },
		.regs[CFI_RIP] = { .kind = CFI_RULE_OFFSET, .offset = -8 },
	};

	cr_assert(rule_from_row(&row, false, &rule, &saves, &has_saves, &programs) == RULE_NONE);
	check_switch(DP_RBX, 24, 1);

	/* glibc's _dl_runtime_resolve_xsavec(): it is a frame pointer, and the caller's is saved. */
	row.regs[CFI_RBX] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -24 };
	cr_assert(rule_from_row(&row, false, &rule, &saves, &has_saves, &programs) == RULE_NONE);
	cr_assert(rule.cfa == DP_CFA_REGISTER && rule.cfa_reg == DP_RBX && rule.cfa_offset == 24);
}
