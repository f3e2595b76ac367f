// SPDX-License-Identifier: Apache-2.0
#include "cfi/machine.h"

#include <dwarf.h>

static enum cfi_reason read_register(struct cursor *c, uint8_t *ret)
{
	uint64_t value;
	enum cfi_reason r = cursor_uleb(c, &value);

	if (r == CFI_NONE)
		*ret = value < CFI_N_REGISTERS ? (uint8_t)value : CFI_OTHER_REGISTER;
	return r;
}

/* An unsigned or signed LEB128 multiplied by the data alignment factor. */
static enum cfi_reason read_factored(struct cfi_machine *m, bool is_signed, int64_t *ret)
{
	uint64_t u = 0;
	int64_t s = 0;
	enum cfi_reason r;

	r = is_signed ? cursor_sleb(&m->ops, &s) : cursor_uleb(&m->ops, &u);
	if (r != CFI_NONE)
		return r;
	if (u > INT64_MAX ||
	    __builtin_mul_overflow(is_signed ? s : (int64_t)u, m->cie->data_factor, ret))
		return CFI_BAD_OFFSET;
	return CFI_NONE;
}

static enum cfi_reason read_expr(struct cursor *c, const uint8_t **ret, uint32_t *ret_size)
{
	uint64_t size;
	enum cfi_reason r = cursor_uleb(c, &size);

	if (r == CFI_NONE && size > UINT32_MAX)
		r = CFI_TRUNCATED;
	if (r == CFI_NONE)
		r = cursor_bytes(c, size, ret);
	if (r == CFI_NONE)
		*ret_size = (uint32_t)size;
	return r;
}

static void note_change(struct cfi_machine *m, uint32_t changed)
{
	m->changed |= changed;
	m->touched |= changed;
}

static void set_rule(struct cfi_machine *m, uint8_t reg, struct cfi_rule rule)
{
	if (reg >= CFI_N_REGISTERS)
		return;
	m->row.regs[reg] = rule;
	note_change(m, CFI_CHANGED(reg));
}

/* Opcodes with one operand, `register`. */
static enum cfi_reason rule_plain(struct cfi_machine *m, enum cfi_rule_kind kind)
{
	uint8_t reg;
	enum cfi_reason r = read_register(&m->ops, &reg);

	if (r == CFI_NONE)
		set_rule(m, reg, (struct cfi_rule){ .kind = kind });
	return r;
}

/* Opcodes with operands `register, factored offset`. */
static enum cfi_reason rule_offset(struct cfi_machine *m, enum cfi_rule_kind kind, bool is_signed)
{
	struct cfi_rule rule = { .kind = kind };
	uint8_t reg;
	enum cfi_reason r = read_register(&m->ops, &reg);

	if (r == CFI_NONE)
		r = read_factored(m, is_signed, &rule.offset);
	if (r == CFI_NONE)
		set_rule(m, reg, rule);
	return r;
}

/* As rule_offset(), with the offset negated. Obsolete; old GCCs for PowerPC use it. */
static enum cfi_reason rule_negative_offset(struct cfi_machine *m)
{
	struct cfi_rule rule = { .kind = CFI_RULE_OFFSET };
	uint8_t reg;
	enum cfi_reason r = read_register(&m->ops, &reg);

	if (r == CFI_NONE)
		r = read_factored(m, false, &rule.offset);
	if (r == CFI_NONE && __builtin_sub_overflow(INT64_C(0), rule.offset, &rule.offset))
		r = CFI_BAD_OFFSET;
	if (r == CFI_NONE)
		set_rule(m, reg, rule);
	return r;
}

static enum cfi_reason rule_register(struct cfi_machine *m)
{
	struct cfi_rule rule = { .kind = CFI_RULE_REGISTER };
	uint8_t reg;
	enum cfi_reason r = read_register(&m->ops, &reg);

	if (r == CFI_NONE)
		r = read_register(&m->ops, &rule.reg);
	if (r == CFI_NONE)
		set_rule(m, reg, rule);
	return r;
}

static enum cfi_reason rule_expr(struct cfi_machine *m, enum cfi_rule_kind kind)
{
	struct cfi_rule rule = { .kind = kind };
	uint8_t reg;
	enum cfi_reason r = read_register(&m->ops, &reg);

	if (r == CFI_NONE)
		r = read_expr(&m->ops, &rule.expr, &rule.expr_size);
	if (r == CFI_NONE)
		set_rule(m, reg, rule);
	return r;
}

/*
 * A CIE's own instructions have no initial rule to restore, and DWARF does not define restore
 * there. LLVM emits it when it folds an epilogue into a CIE: the registers are the caller's again,
 * as libgcc assumes.
 */
static enum cfi_reason rule_restore(struct cfi_machine *m, uint8_t reg)
{
	static const struct cfi_rule unspecified = { .kind = CFI_RULE_UNSPECIFIED };

	if (reg < CFI_N_REGISTERS)
		set_rule(m, reg, m->in_cie ? unspecified : m->cie->initial.regs[reg]);
	return CFI_NONE;
}

static enum cfi_reason rule_restore_extended(struct cfi_machine *m)
{
	uint8_t reg;
	enum cfi_reason r = read_register(&m->ops, &reg);

	return r == CFI_NONE ? rule_restore(m, reg) : r;
}

/* The offset of a CFA is factored if it is signed. */
static enum cfi_reason read_cfa_offset(struct cfi_machine *m, bool is_signed, int64_t *ret)
{
	uint64_t u = 0;
	enum cfi_reason r;

	if (is_signed)
		return read_factored(m, true, ret);
	r = cursor_uleb(&m->ops, &u);
	if (r == CFI_NONE && u > INT64_MAX)
		r = CFI_BAD_OFFSET;
	if (r == CFI_NONE)
		*ret = (int64_t)u;
	return r;
}

static enum cfi_reason def_cfa(struct cfi_machine *m, bool is_signed)
{
	struct cfi_cfa cfa = { .kind = CFI_CFA_REGISTER };
	enum cfi_reason r = read_register(&m->ops, &cfa.reg);

	if (r == CFI_NONE)
		r = read_cfa_offset(m, is_signed, &cfa.offset);
	if (r == CFI_NONE)
		m->row.cfa = cfa;
	note_change(m, CFI_CHANGED_CFA);
	return r;
}

static enum cfi_reason def_cfa_register(struct cfi_machine *m)
{
	uint8_t reg;
	enum cfi_reason r = read_register(&m->ops, &reg);

	if (r == CFI_NONE && m->row.cfa.kind == CFI_CFA_UNSET)
		r = CFI_NO_CFA;
	if (r != CFI_NONE)
		return r;
	m->row.cfa.kind = CFI_CFA_REGISTER;
	m->row.cfa.reg = reg;
	note_change(m, CFI_CHANGED_CFA);
	return CFI_NONE;
}

static enum cfi_reason def_cfa_offset(struct cfi_machine *m, bool is_signed)
{
	int64_t offset;
	enum cfi_reason r = read_cfa_offset(m, is_signed, &offset);

	if (r == CFI_NONE && m->row.cfa.kind == CFI_CFA_UNSET)
		r = CFI_NO_CFA;
	if (r == CFI_NONE)
		m->row.cfa.offset = offset;
	note_change(m, CFI_CHANGED_CFA);
	return r;
}

static enum cfi_reason def_cfa_expr(struct cfi_machine *m)
{
	const uint8_t *expr;
	uint32_t size;
	enum cfi_reason r = read_expr(&m->ops, &expr, &size);

	if (r != CFI_NONE)
		return r;
	m->row.cfa.kind = CFI_CFA_EXPRESSION;
	m->row.cfa.expr = expr;
	m->row.cfa.expr_size = size;
	note_change(m, CFI_CHANGED_CFA);
	return CFI_NONE;
}

static enum cfi_reason remember_state(struct cfi_machine *m)
{
	if (m->n_remembered == CFI_MAX_REMEMBERED)
		return CFI_STATE_STACK_FULL;
	m->remembered[m->n_remembered].row = m->row;
	m->remembered[m->n_remembered].touched = m->touched;
	m->n_remembered++;
	m->touched = 0;
	return CFI_NONE;
}

static enum cfi_reason restore_state(struct cfi_machine *m)
{
	uint32_t since;

	if (m->n_remembered == 0)
		return CFI_STATE_STACK_EMPTY;
	m->n_remembered--;
	m->row = m->remembered[m->n_remembered].row;
	since = m->touched;
	m->touched = m->remembered[m->n_remembered].touched;
	note_change(m, since);
	return CFI_NONE;
}

static enum cfi_reason advance_by(struct cfi_machine *m, uint64_t delta)
{
	uint64_t pc;

	if (__builtin_mul_overflow(delta, m->cie->code_factor, &delta) ||
	    __builtin_add_overflow(m->pc, delta, &pc))
		return CFI_BAD_ADVANCE;
	m->pc = pc;
	return CFI_NONE;
}

static enum cfi_reason advance_u8(struct cfi_machine *m)
{
	uint8_t delta;
	enum cfi_reason r = cursor_u8(&m->ops, &delta);

	return r == CFI_NONE ? advance_by(m, delta) : r;
}

static enum cfi_reason advance_u16(struct cfi_machine *m)
{
	uint16_t delta;
	enum cfi_reason r = cursor_u16(&m->ops, &delta);

	return r == CFI_NONE ? advance_by(m, delta) : r;
}

static enum cfi_reason advance_u32(struct cfi_machine *m)
{
	uint32_t delta;
	enum cfi_reason r = cursor_u32(&m->ops, &delta);

	return r == CFI_NONE ? advance_by(m, delta) : r;
}

static enum cfi_reason set_location(struct cfi_machine *m)
{
	uint64_t pc;
	enum cfi_reason r = cfi_read_pointer(m->section, &m->ops, m->cie->fde_encoding, &pc);

	if (r == CFI_NONE && pc < m->pc)
		r = CFI_BAD_ADVANCE;
	if (r == CFI_NONE)
		m->pc = pc;
	return r;
}

static enum cfi_reason skip_uleb(struct cursor *c)
{
	uint64_t value;

	return cursor_uleb(c, &value);
}

/* Executes one instruction. Only an advance changes m->pc. */
static enum cfi_reason execute(struct cfi_machine *m)
{
	struct cfi_rule rule = { .kind = CFI_RULE_OFFSET };
	enum cfi_reason r;
	uint8_t op;

	r = cursor_u8(&m->ops, &op);
	if (r != CFI_NONE)
		return r;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance_by(m, op & 0x3f);
	case DW_CFA_offset:
		r = read_factored(m, false, &rule.offset);
		if (r == CFI_NONE)
			set_rule(m, op & 0x3f, rule);
		return r;
	case DW_CFA_restore:
		return rule_restore(m, op & 0x3f);
	}

	switch (op) {
	case DW_CFA_nop:
		return CFI_NONE;
	case DW_CFA_set_loc:
		return set_location(m);
	case DW_CFA_advance_loc1:
		return advance_u8(m);
	case DW_CFA_advance_loc2:
		return advance_u16(m);
	case DW_CFA_advance_loc4:
		return advance_u32(m);
	case DW_CFA_offset_extended:
		return rule_offset(m, CFI_RULE_OFFSET, false);
	case DW_CFA_restore_extended:
		return rule_restore_extended(m);
	case DW_CFA_undefined:
		return rule_plain(m, CFI_RULE_UNDEFINED);
	case DW_CFA_same_value:
		return rule_plain(m, CFI_RULE_SAME);
	case DW_CFA_register:
		return rule_register(m);
	case DW_CFA_remember_state:
		return remember_state(m);
	case DW_CFA_restore_state:
		return restore_state(m);
	case DW_CFA_def_cfa:
		return def_cfa(m, false);
	case DW_CFA_def_cfa_register:
		return def_cfa_register(m);
	case DW_CFA_def_cfa_offset:
		return def_cfa_offset(m, false);
	case DW_CFA_def_cfa_expression:
		return def_cfa_expr(m);
	case DW_CFA_expression:
		return rule_expr(m, CFI_RULE_EXPRESSION);
	case DW_CFA_offset_extended_sf:
		return rule_offset(m, CFI_RULE_OFFSET, true);
	case DW_CFA_def_cfa_sf:
		return def_cfa(m, true);
	case DW_CFA_def_cfa_offset_sf:
		return def_cfa_offset(m, true);
	case DW_CFA_val_offset:
		return rule_offset(m, CFI_RULE_VAL_OFFSET, false);
	case DW_CFA_val_offset_sf:
		return rule_offset(m, CFI_RULE_VAL_OFFSET, true);
	case DW_CFA_val_expression:
		return rule_expr(m, CFI_RULE_VAL_EXPRESSION);
	case DW_CFA_GNU_args_size:
		return skip_uleb(&m->ops);
	case DW_CFA_GNU_negative_offset_extended:
		return rule_negative_offset(m);
	default:
		m->ops.mark = m->ops.pos - 1;
		return CFI_UNKNOWN_OPCODE;
	}
}

void cfi_machine_init(struct cfi_machine *m, const struct cfi_section *section,
		      const struct cfi_cie *cie, const struct cfi_fde *fde)
{
	m->section = section;
	m->cie = cie;
	m->in_cie = false;
	cursor_init(&m->ops, section->data, fde->ops, fde->ops_end);
	m->pc = fde->start;
	m->end = fde->end;
	m->row = cie->initial;
	m->changed = CFI_CHANGED_ALL;
	m->touched = 0;
	m->n_remembered = 0;
}

static enum cfi_step machine_refuse(struct cfi_machine *m, enum cfi_reason reason)
{
	m->refusal = (struct cfi_refusal){ reason, cursor_mark(&m->ops) };
	return CFI_STEP_REFUSED;
}

enum cfi_step cfi_machine_next(struct cfi_machine *m, struct cfi_span *ret)
{
	uint64_t start = m->pc;

	if (start >= m->end)
		return CFI_STEP_END;

	while (cursor_left(&m->ops) > 0) {
		enum cfi_reason r = execute(m);

		if (r != CFI_NONE)
			return machine_refuse(m, r);
		if (m->pc != start) {
			/* An advance beyond the range is legal; no rows result. */
			*ret = (struct cfi_span){ start, m->pc < m->end ? m->pc : m->end };
			return CFI_STEP_ROW;
		}
	}
	m->pc = m->end;
	*ret = (struct cfi_span){ start, m->end };
	return CFI_STEP_ROW;
}

struct cfi_refusal cfi_machine_initial(const struct cfi_section *section, struct cfi_cie *cie)
{
	struct cfi_machine m = { .section = section, .cie = cie, .in_cie = true };
	enum cfi_reason r = CFI_NONE;

	cursor_init(&m.ops, section->data, cie->ops, cie->ops_end);
	while (r == CFI_NONE && cursor_left(&m.ops) > 0) {
		r = execute(&m);
		if (r == CFI_NONE && m.pc != 0)
			r = CFI_BAD_ADVANCE;
	}
	cie->initial = m.row;
	return (struct cfi_refusal){ r, cursor_mark(&m.ops) };
}
