// SPDX-License-Identifier: Apache-2.0
/* Call frame instructions (DWARF 5 §6.4.2) to rows: each opcode, and what is refused. */
#include <criterion/criterion.h>
#include <dwarf.h>

#include "cfi/index.h"
#include "cfi/machine.h"
#include "cfi/tests/assembler.h"

/* A section with one FDE from 0x1000 to 0x1100, and a machine on it. */
struct fixture {
	struct assembler a;
	struct cfi_section section;
	struct cfi_index index;
	struct cfi_machine machine;
	size_t fde;
};

static struct fixture f;

static void begin(void)
{
	f = (struct fixture){ .a.size = 0 };
	f.fde = fde_begin(&f.a, put_cie(&f.a), 0x1000, 0x100);
}

static void run(void)
{
	record_end(&f.a, f.fde);
	f.section = assembled(&f.a);
	cr_assert(cfi_index_init(&f.index, &f.section) == 0);
	cr_assert(f.index.n_fdes == 1);
	cfi_machine_init(&f.machine, &f.section, &f.index.cies[0], &f.index.fdes[0]);
}

static void end(void)
{
	cfi_index_done(&f.index);
}

static void op(uint8_t code)
{
	put_u8(&f.a, code);
}

static const struct cfi_row *expect_row(uint64_t start, uint64_t stop)
{
	struct cfi_span span;

	cr_assert(cfi_machine_next(&f.machine, &span) == CFI_STEP_ROW);
	cr_assert(span.start == start && span.end == stop, "%lx-%lx", span.start, span.end);
	return &f.machine.row;
}

static void expect_end(void)
{
	struct cfi_span span;

	cr_assert(cfi_machine_next(&f.machine, &span) == CFI_STEP_END);
}

static void expect_refusal(enum cfi_reason reason, uint64_t from)
{
	struct cfi_span span;
	enum cfi_step step;

	do
		step = cfi_machine_next(&f.machine, &span);
	while (step == CFI_STEP_ROW);
	cr_assert(step == CFI_STEP_REFUSED);
	cr_assert(f.machine.refusal.reason == reason, "%s",
		  cfi_reason_word(f.machine.refusal.reason));
	cr_assert(f.machine.pc == from && f.machine.end == 0x1100);
}

TestSuite(machine, .init = begin, .fini = end);

Test(machine, an_fde_without_instructions_is_one_row)
{
	const struct cfi_row *row;

	run();
	row = expect_row(0x1000, 0x1100);
	cr_assert(row->cfa.kind == CFI_CFA_REGISTER && row->cfa.reg == CFI_RSP);
	cr_assert(row->cfa.offset == 8);
	cr_assert(row->regs[CFI_RIP].kind == CFI_RULE_OFFSET && row->regs[CFI_RIP].offset == -8);
	cr_assert(row->regs[CFI_RBP].kind == CFI_RULE_UNSPECIFIED);
	expect_end();
}

/* push rbp; mov rbp,rsp; ...; leave */
Test(machine, follows_a_frame_pointer_prologue)
{
	const struct cfi_row *row;

	op(DW_CFA_advance_loc | 1);
	op(DW_CFA_def_cfa_offset), put_uleb(&f.a, 16);
	op(DW_CFA_offset | 6), put_uleb(&f.a, 2);
	op(DW_CFA_advance_loc | 3);
	op(DW_CFA_def_cfa_register), put_uleb(&f.a, 6);
	op(DW_CFA_advance_loc1), put_u8(&f.a, 0x80);
	op(DW_CFA_def_cfa), put_uleb(&f.a, 7), put_uleb(&f.a, 8);
	run();

	expect_row(0x1000, 0x1001);
	row = expect_row(0x1001, 0x1004);
	cr_assert(row->cfa.reg == CFI_RSP && row->cfa.offset == 16);
	cr_assert(row->regs[CFI_RBP].kind == CFI_RULE_OFFSET && row->regs[CFI_RBP].offset == -16);
	row = expect_row(0x1004, 0x1084);
	cr_assert(row->cfa.reg == CFI_RBP && row->cfa.offset == 16);
	row = expect_row(0x1084, 0x1100);
	cr_assert(row->cfa.reg == CFI_RSP && row->cfa.offset == 8);
	expect_end();
}

Test(machine, advances_by_every_width)
{
	op(DW_CFA_advance_loc1), put_u8(&f.a, 1);
	op(DW_CFA_def_cfa_offset), put_uleb(&f.a, 16);
	op(DW_CFA_advance_loc2), put_u16(&f.a, 2);
	op(DW_CFA_def_cfa_offset), put_uleb(&f.a, 24);
	op(DW_CFA_advance_loc4), put_u32(&f.a, 4);
	op(DW_CFA_def_cfa_offset), put_uleb(&f.a, 32);
	op(DW_CFA_set_loc), put_u64(&f.a, 0x1010);
	run();
	expect_row(0x1000, 0x1001);
	expect_row(0x1001, 0x1003);
	expect_row(0x1003, 0x1007);
	expect_row(0x1007, 0x1010);
	expect_row(0x1010, 0x1100);
	expect_end();
}

/* There are no empty rows; an advance beyond the range ends it. */
Test(machine, keeps_to_the_range)
{
	op(DW_CFA_advance_loc | 0);
	op(DW_CFA_def_cfa_offset), put_uleb(&f.a, 16);
	op(DW_CFA_advance_loc2), put_u16(&f.a, 0x1000);
	op(DW_CFA_def_cfa_offset), put_uleb(&f.a, 24);
	run();
	cr_assert(expect_row(0x1000, 0x1100)->cfa.offset == 16);
	expect_end();
}

Test(machine, remembers_and_restores_states)
{
	op(DW_CFA_offset | 3), put_uleb(&f.a, 2);
	op(DW_CFA_remember_state);
	op(DW_CFA_def_cfa_offset), put_uleb(&f.a, 64);
	op(DW_CFA_remember_state);
	op(DW_CFA_restore | 3);
	op(DW_CFA_advance_loc | 1);
	op(DW_CFA_restore_state);
	op(DW_CFA_advance_loc | 1);
	op(DW_CFA_restore_state);
	run();
	cr_assert(expect_row(0x1000, 0x1001)->regs[CFI_RBX].kind == CFI_RULE_UNSPECIFIED);
	cr_assert(f.machine.row.cfa.offset == 64);
	cr_assert(expect_row(0x1001, 0x1002)->regs[CFI_RBX].kind == CFI_RULE_OFFSET);
	cr_assert(f.machine.row.cfa.offset == 64);
	cr_assert(expect_row(0x1002, 0x1100)->cfa.offset == 8);
	cr_assert(f.machine.row.regs[CFI_RBX].kind == CFI_RULE_OFFSET);
}

/* restore means the CIE's rule, which need not be "unspecified". */
Test(machine, restores_to_the_cies_rule)
{
	op(DW_CFA_undefined), put_uleb(&f.a, 16);
	op(DW_CFA_advance_loc | 1);
	op(DW_CFA_restore_extended), put_uleb(&f.a, 16);
	run();
	cr_assert(expect_row(0x1000, 0x1001)->regs[CFI_RIP].kind == CFI_RULE_UNDEFINED);
	cr_assert(expect_row(0x1001, 0x1100)->regs[CFI_RIP].offset == -8);
}

Test(machine, knows_every_kind_of_rule)
{
	static const uint8_t expr[] = { DW_OP_breg6, 0 };
	const struct cfi_row *row;

	op(DW_CFA_undefined), put_uleb(&f.a, 0);
	op(DW_CFA_same_value), put_uleb(&f.a, 1);
	op(DW_CFA_register), put_uleb(&f.a, 2), put_uleb(&f.a, 9);
	op(DW_CFA_offset_extended), put_uleb(&f.a, 3), put_uleb(&f.a, 5);
	op(DW_CFA_offset_extended_sf), put_uleb(&f.a, 4), put_sleb(&f.a, -5);
	op(DW_CFA_val_offset), put_uleb(&f.a, 5), put_uleb(&f.a, 3);
	op(DW_CFA_val_offset_sf), put_uleb(&f.a, 8), put_sleb(&f.a, -3);
	op(DW_CFA_expression), put_uleb(&f.a, 6), put_uleb(&f.a, 2), put_bytes(&f.a, expr, 2);
	op(DW_CFA_val_expression), put_uleb(&f.a, 12), put_uleb(&f.a, 2), put_bytes(&f.a, expr, 2);
	op(0x2f), put_uleb(&f.a, 13), put_uleb(&f.a, 4); /* GNU_negative_offset_extended */
	op(0x2e), put_uleb(&f.a, 24);                    /* GNU_args_size */
	run();
	row = expect_row(0x1000, 0x1100);
	cr_assert(row->regs[0].kind == CFI_RULE_UNDEFINED);
	cr_assert(row->regs[1].kind == CFI_RULE_SAME);
	cr_assert(row->regs[2].kind == CFI_RULE_REGISTER && row->regs[2].reg == 9);
	cr_assert(row->regs[3].kind == CFI_RULE_OFFSET && row->regs[3].offset == -40);
	cr_assert(row->regs[4].kind == CFI_RULE_OFFSET && row->regs[4].offset == 40);
	cr_assert(row->regs[5].kind == CFI_RULE_VAL_OFFSET && row->regs[5].offset == -24);
	cr_assert(row->regs[8].kind == CFI_RULE_VAL_OFFSET && row->regs[8].offset == 24);
	cr_assert(row->regs[6].kind == CFI_RULE_EXPRESSION && row->regs[6].expr_size == 2);
	cr_assert(row->regs[6].expr[0] == DW_OP_breg6);
	cr_assert(row->regs[12].kind == CFI_RULE_VAL_EXPRESSION);
	cr_assert(row->regs[13].kind == CFI_RULE_OFFSET && row->regs[13].offset == 32);
}

/* Rules for registers that are not tracked are read and ignored. */
Test(machine, passes_over_other_registers)
{
	op(DW_CFA_offset | 17), put_uleb(&f.a, 2);
	op(DW_CFA_offset_extended), put_uleb(&f.a, 130), put_uleb(&f.a, 3);
	op(DW_CFA_register), put_uleb(&f.a, 3), put_uleb(&f.a, 33);
	run();
	expect_row(0x1000, 0x1100);
	cr_assert(f.machine.row.regs[CFI_RBX].kind == CFI_RULE_REGISTER);
	cr_assert(f.machine.row.regs[CFI_RBX].reg == CFI_OTHER_REGISTER);
}

Test(machine, cfa_offsets_can_be_factored_and_negative)
{
	op(DW_CFA_def_cfa_sf), put_uleb(&f.a, 7), put_sleb(&f.a, -2);
	op(DW_CFA_advance_loc | 1);
	op(DW_CFA_def_cfa_offset_sf), put_sleb(&f.a, 1);
	run();
	cr_assert(expect_row(0x1000, 0x1001)->cfa.offset == 16);
	cr_assert(expect_row(0x1001, 0x1100)->cfa.offset == -8);
}

/* libgcrypt goes from an expression back to a register by its name alone. */
Test(machine, a_register_after_an_expression_takes_the_offset_from_before)
{
	static const uint8_t expr[] = { DW_OP_breg7, 16, DW_OP_deref };

	op(DW_CFA_def_cfa_offset), put_uleb(&f.a, 56);
	op(DW_CFA_advance_loc | 1);
	op(DW_CFA_def_cfa_expression), put_uleb(&f.a, 3), put_bytes(&f.a, expr, 3);
	op(DW_CFA_advance_loc | 1);
	op(DW_CFA_def_cfa_register), put_uleb(&f.a, 7);
	run();
	expect_row(0x1000, 0x1001);
	cr_assert(expect_row(0x1001, 0x1002)->cfa.kind == CFI_CFA_EXPRESSION);
	cr_assert(expect_row(0x1002, 0x1100)->cfa.kind == CFI_CFA_REGISTER);
	cr_assert(f.machine.row.cfa.offset == 56);
}

Test(machine, names_an_unknown_opcode)
{
	size_t at;

	op(DW_CFA_advance_loc | 4);
	at = f.a.size;
	op(0x3c);
	run();
	expect_refusal(CFI_UNKNOWN_OPCODE, 0x1004);
	cr_assert(f.machine.refusal.offset == at);
}

Test(machine, names_a_restore_without_remember)
{
	op(DW_CFA_restore_state);
	run();
	expect_refusal(CFI_STATE_STACK_EMPTY, 0x1000);
}

Test(machine, names_too_deep_a_stack)
{
	for (int i = 0; i <= CFI_MAX_REMEMBERED; i++)
		op(DW_CFA_remember_state);
	run();
	expect_refusal(CFI_STATE_STACK_FULL, 0x1000);
}

/* There are no empty rows. */
Test(machine, takes_a_location_that_stays)
{
	op(DW_CFA_set_loc), put_u64(&f.a, 0x1000);
	op(DW_CFA_def_cfa_offset), put_uleb(&f.a, 16);
	op(DW_CFA_advance_loc | 8);
	op(DW_CFA_set_loc), put_u64(&f.a, 0x1008);
	run();
	cr_assert_eq(expect_row(0x1000, 0x1008)->cfa.offset, 16);
	expect_row(0x1008, 0x1100);
	expect_end();
}

Test(machine, names_a_location_that_goes_back)
{
	op(DW_CFA_advance_loc | 8);
	op(DW_CFA_set_loc), put_u64(&f.a, 0x1004);
	run();
	expect_refusal(CFI_BAD_ADVANCE, 0x1008);
}

Test(machine, names_an_operand_that_is_cut_off)
{
	op(DW_CFA_def_cfa_expression), put_uleb(&f.a, 100);
	run();
	expect_refusal(CFI_TRUNCATED, 0x1000);
}

Test(machine, names_an_offset_that_overflows)
{
	op(DW_CFA_offset_extended_sf), put_uleb(&f.a, 3), put_sleb(&f.a, INT64_MIN);
	run();
	expect_refusal(CFI_BAD_OFFSET, 0x1000);
}

/* DWARF does not define a restore inside a CIE; libgcc takes it as "not saved". */
Test(machine, forgets_what_a_cie_restores)
{
	struct assembler a = { .size = 0 };
	size_t cie = cie_begin(&a, "zR", DW_EH_PE_absptr);
	struct cfi_section section;
	struct cfi_index index;

	put_u8(&a, DW_CFA_offset | 3), put_uleb(&a, 7);
	put_u8(&a, DW_CFA_offset | 6), put_uleb(&a, 2);
	put_u8(&a, DW_CFA_restore | 3);
	record_end(&a, cie);
	section = assembled(&a);
	cr_assert(cfi_index_init(&index, &section) == 0);
	cr_assert(index.n_refusals == 0 && index.n_cies == 1);
	cr_assert(index.cies[0].initial.regs[CFI_RBX].kind == CFI_RULE_UNSPECIFIED);
	cr_assert(index.cies[0].initial.regs[CFI_RBP].kind == CFI_RULE_OFFSET);
	cfi_index_done(&index);
}
