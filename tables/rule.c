// SPDX-License-Identifier: Apache-2.0
#include "tables/rule.h"

#include <string.h>

#include "cfi/expr.h"

static_assert((int)DP_N_REGISTERS == (int)CFI_N_REGISTERS,
	      "both number the registers as DWARF does");
static_assert((int)DP_REG_PC == (int)CFI_RA && (int)DP_REG_SP == (int)CFI_SP &&
		      (int)DP_REG_FP == (int)CFI_FP,
	      "both number the registers as DWARF does");

#define X(name, word)                                                                              \
	static_assert((int)DP_OP_##name == (int)CFI_OP_##name, "both number instructions alike");
DP_OPS(X)
#undef X
static_assert((int)DP_N_OPS == (int)CFI_N_OPS, "both have the same instructions");

#if DP_MAX_OPS != CFI_MAX_OPS || DP_MAX_VALUES != CFI_MAX_VALUES
#error "programs and their values must have the room that they are compiled for"
#endif

static const struct {
	const char *word;
	const char *sentence;
} refusals[RULE_N_REFUSALS] = {
#define X(name, word, sentence) [RULE_##name] = { word, sentence },
	RULE_REFUSALS(X)
#undef X
};

const char *rule_refusal_word(enum rule_refusal refusal)
{
	return (unsigned int)refusal < RULE_N_REFUSALS ? refusals[refusal].word : "unknown";
}

const char *rule_refusal_sentence(enum rule_refusal refusal)
{
	return (unsigned int)refusal < RULE_N_REFUSALS ? refusals[refusal].sentence : "unknown";
}

static bool fits(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static struct dp_where where_plain(enum dp_where_kind kind)
{
	return (struct dp_where){ .kind = kind };
}

int32_t *rule_program_of(struct dp_rule *rule, enum rule_part part)
{
	struct dp_where *const where[RULE_N_PARTS] = {
		[RULE_PART_RA] = &rule->ra,
		[RULE_PART_FP] = &rule->fp,
		[RULE_PART_SP] = &rule->sp,
	};

	if (part == RULE_PART_CFA)
		return rule->cfa == DP_CFA_EXPRESSION || rule->cfa == DP_CFA_SWITCH ?
			       &rule->cfa_offset :
			       NULL;
	return where[part]->kind == DP_WHERE_EXPRESSION || where[part]->kind == DP_WHERE_VALUE ?
		       &where[part]->offset :
		       NULL;
}

/* Compiles an expression for an image; `depth` as for cfi_expr_compile(). */
static bool program_from_expr(const uint8_t *expr, uint32_t size, uint32_t depth,
			      struct rule_program *ret)
{
	struct cfi_program p;

	if (cfi_expr_compile(expr, size, depth, &p) != CFI_NONE)
		return false;
	for (uint32_t i = 0; i < p.n_ops; i++) {
		if (!fits(p.ops[i].value))
			return false;
		ret->ops[i] = (struct dp_op){ .code = p.ops[i].code,
					      .arg = p.ops[i].arg,
					      .value = (int32_t)p.ops[i].value };
	}
	ret->n_ops = p.n_ops;
	return true;
}

/* The rule as a program, if there is room for one. */
static struct dp_where where_from_program(const struct cfi_rule *rule, struct rule_program *program)
{
	if (!program)
		return where_plain(DP_WHERE_UNKNOWN);
	if (rule->kind == CFI_RULE_VAL_OFFSET) {
		if (!fits(rule->offset))
			return where_plain(DP_WHERE_UNKNOWN);
		program->n_ops = 1;
		program->ops[0] = (struct dp_op){ .code = DP_OP_ADD_CONSTANT,
						  .value = (int32_t)rule->offset };
		return where_plain(DP_WHERE_VALUE);
	}
	if (!program_from_expr(rule->expr, rule->expr_size, 1, program))
		return where_plain(DP_WHERE_UNKNOWN);
	return where_plain(rule->kind == CFI_RULE_EXPRESSION ? DP_WHERE_EXPRESSION :
							       DP_WHERE_VALUE);
}

/* `program` is NULL if the rule cannot have one. */
static struct dp_where where_from_rule(const struct cfi_rule *rule, struct rule_program *program)
{
	struct cfi_expr e;

	switch (rule->kind) {
	case CFI_RULE_UNSPECIFIED:
	case CFI_RULE_SAME:
		return where_plain(DP_WHERE_SAME);
	case CFI_RULE_UNDEFINED:
		return where_plain(DP_WHERE_UNDEFINED);
	case CFI_RULE_OFFSET:
		if (fits(rule->offset))
			return (struct dp_where){ .kind = DP_WHERE_CFA,
						  .offset = (int32_t)rule->offset };
		break;
	case CFI_RULE_REGISTER:
		if (rule->reg < CFI_RA)
			return (struct dp_where){ .kind = DP_WHERE_REGISTER, .reg = rule->reg };
		break;
	case CFI_RULE_EXPRESSION:
		e = cfi_expr_classify(rule->expr, rule->expr_size);
		if (e.kind == CFI_EXPR_ADDRESS && e.reg != CFI_RA && fits(e.offset))
			return (struct dp_where){ .kind = DP_WHERE_MEMORY,
						  .reg = e.reg,
						  .offset = (int32_t)e.offset };
		return where_from_program(rule, program);
	case CFI_RULE_VAL_OFFSET:
	case CFI_RULE_VAL_EXPRESSION:
		return where_from_program(rule, program);
	}
	return where_plain(DP_WHERE_UNKNOWN);
}

/*
 * OCaml code calls C functions on the thread's stack. Its own stack pointer is kept in a
 * callee-saved register meanwhile, and may be above or below. Other functions that use this
 * register as a frame pointer must save their caller's.
 */
static bool is_on_another_stack(const struct cfi_row *row)
{
	return row->cfa.kind == CFI_CFA_REGISTER && row->cfa.reg == CFI_OCAML_SP &&
	       row->regs[CFI_OCAML_SP].kind == CFI_RULE_UNSPECIFIED && fits(row->cfa.offset);
}

static enum rule_refusal switch_by_register(const struct cfi_cfa *cfa, struct dp_rule *rule,
					    struct rule_program *program)
{
	program->n_ops = 1;
	program->ops[0] = (struct dp_op){
		.code = DP_OP_REGISTER,
		.arg = (uint8_t)cfa->reg,
		.value = (int32_t)cfa->offset,
	};
	rule->cfa = DP_CFA_SWITCH;
	return RULE_NONE;
}

/* `switches`: the expression leads to a stack that may be anywhere. */
static enum rule_refusal cfa_from_row(const struct cfi_cfa *cfa, bool switches,
				      struct dp_rule *rule, struct rule_program *program)
{
	struct cfi_expr e;

	switch (cfa->kind) {
	case CFI_CFA_REGISTER:
		e = (struct cfi_expr){ CFI_EXPR_ADDRESS, cfa->reg, cfa->offset, 0 };
		break;
	case CFI_CFA_EXPRESSION:
		e = (struct cfi_expr){ .kind = CFI_EXPR_OTHER };
		if (!switches)
			e = cfi_expr_classify(cfa->expr, cfa->expr_size);
		break;
	default:
		return RULE_CFA_UNSET;
	}

	if (e.kind == CFI_EXPR_OTHER) {
		if (!program_from_expr(cfa->expr, cfa->expr_size, 0, program))
			return RULE_CFA_EXPRESSION;
		rule->cfa = switches ? DP_CFA_SWITCH : DP_CFA_EXPRESSION;
		return RULE_NONE;
	}
	if (e.reg >= CFI_RA)
		return RULE_CFA_REGISTER;
	if (!fits(e.offset) || !fits(e.add))
		return RULE_OFFSET;
	rule->cfa = e.kind == CFI_EXPR_ADDRESS ? DP_CFA_REGISTER :
		    e.kind == CFI_EXPR_DEREF   ? DP_CFA_MEMORY :
						 DP_CFA_PLT;
	rule->cfa_reg = e.reg;
	rule->cfa_offset = (int32_t)e.offset;
	rule->cfa_add = (int32_t)e.add;
	return RULE_NONE;
}

enum sigcontext_place {
#define X(name) PLACE_##name,
	DP_SIGCONTEXT(X)
#undef X
};

const uint8_t rule_sigcontext_word[DP_N_REGISTERS] = {
#define X(name) [DP_##name] = PLACE_##name,
	DP_SIGCONTEXT(X)
#undef X
};

struct dp_rule rule_signal(int32_t sigcontext)
{
	return (struct dp_rule){
		.cfa = DP_CFA_SIGNAL,
		.cfa_reg = DP_REG_SP,
		.cfa_offset = sigcontext,
		.ra = { .kind = DP_WHERE_MEMORY,
			.reg = DP_REG_SP,
			.offset = sigcontext + 8 * rule_sigcontext_word[DP_REG_PC] },
		.fp = { .kind = DP_WHERE_MEMORY,
			.reg = DP_REG_SP,
			.offset = sigcontext + 8 * rule_sigcontext_word[DP_REG_FP] },
	};
}

struct dp_rule rule_root(void)
{
	return (struct dp_rule){
		.cfa = DP_CFA_REGISTER,
		.cfa_reg = DP_REG_SP,
		.cfa_offset = DP_CALL_SIZE,
		.ra = { .kind = DP_WHERE_UNDEFINED },
	};
}

struct dp_rule rule_clone(int32_t cfa_offset)
{
	return (struct dp_rule){
		.cfa = DP_CFA_CLONE,
		.cfa_reg = DP_REG_RESULT,
		.cfa_offset = cfa_offset,
		.ra = DP_CALL_RA,
	};
}

/*
 * The trampoline to which signal handlers return describes each register by an expression for where
 * the kernel has saved it (glibc's __restore_rt).
 */
static enum rule_refusal signal_from_row(const struct cfi_row *row, struct dp_rule *ret)
{
	struct cfi_expr cfa = { .kind = CFI_EXPR_OTHER };
	int64_t start;

	if (row->cfa.kind == CFI_CFA_EXPRESSION)
		cfa = cfi_expr_classify(row->cfa.expr, row->cfa.expr_size);
	if (cfa.kind != CFI_EXPR_DEREF || cfa.reg != CFI_SP || cfa.add != 0)
		return RULE_SIGNAL_LAYOUT;
	if (__builtin_sub_overflow(cfa.offset, 8 * rule_sigcontext_word[DP_REG_SP], &start) ||
	    !fits(start))
		return RULE_SIGNAL_LAYOUT;

	for (int i = 0; i < DP_N_REGISTERS; i++) {
		struct dp_where w = where_from_rule(&row->regs[i], NULL);

		if (w.kind != DP_WHERE_MEMORY || w.reg != DP_REG_SP ||
		    w.offset != start + 8 * rule_sigcontext_word[i])
			return RULE_SIGNAL_LAYOUT;
	}
	*ret = rule_signal((int32_t)start);
	return RULE_NONE;
}

/*
 * Some normal frames are marked as signal frames, so that unwinders that require ascending frames
 * accept a stack anywhere. OCaml's runtime does so where it switches stacks. Their return address
 * is where a call puts it.
 */
static bool is_called(const struct cfi_row *row)
{
	return CFI_IS_CALL_RA(&row->regs[CFI_RA]);
}

static bool is_return_address(const struct dp_where *w)
{
	return w->kind != DP_WHERE_SAME && w->kind != DP_WHERE_UNKNOWN;
}

/* The caller's stack pointer is the CFA by definition, unless the row says otherwise. */
static struct dp_where stack_pointer_from_rule(const struct cfi_rule *rule,
					       struct rule_program *program)
{
	if (rule->kind == CFI_RULE_UNSPECIFIED ||
	    (rule->kind == CFI_RULE_VAL_OFFSET && rule->offset == 0))
		return where_plain(DP_WHERE_SAME);
	if (rule->kind == CFI_RULE_SAME)
		return (struct dp_where){ .kind = DP_WHERE_REGISTER, .reg = DP_REG_SP };
	return where_from_rule(rule, program);
}

/* A root has no caller's stack pointer. */
static bool is_stack_pointer(const struct dp_rule *rule)
{
	return rule->ra.kind == DP_WHERE_UNDEFINED ||
	       (rule->sp.kind != DP_WHERE_UNDEFINED && rule->sp.kind != DP_WHERE_UNKNOWN);
}

bool rule_lands(const struct cfi_row *row)
{
	return row->regs[CFI_EH_DATA_0].kind == CFI_RULE_OFFSET &&
	       row->regs[CFI_EH_DATA_1].kind == CFI_RULE_OFFSET;
}

enum rule_refusal rule_from_row(const struct cfi_row *row, bool signal, struct dp_rule *ret,
				struct dp_saves *ret_saves, bool *ret_has_saves,
				struct rule_programs *ret_programs)
{
	static const uint8_t saved[DP_N_SAVED] = {
#define X(name, word) CFI_##name,
		DP_SAVED_REGISTERS(X)
#undef X
	};
	struct dp_rule rule;
	enum rule_refusal refusal;

	memset(&rule, 0, sizeof(rule));
	memset(ret_saves, 0, sizeof(*ret_saves));
	*ret_has_saves = false;
	if (signal && !is_called(row))
		return signal_from_row(row, ret);

	rule.ra = where_from_rule(&row->regs[CFI_RA], &ret_programs->of[RULE_PART_RA]);
	rule.fp = where_from_rule(&row->regs[CFI_FP], &ret_programs->of[RULE_PART_FP]);
	rule.sp = stack_pointer_from_rule(&row->regs[CFI_SP], &ret_programs->of[RULE_PART_SP]);
	if (is_on_another_stack(row))
		refusal = switch_by_register(&row->cfa, &rule, &ret_programs->of[RULE_PART_CFA]);
	else
		refusal = cfa_from_row(&row->cfa, signal, &rule, &ret_programs->of[RULE_PART_CFA]);
	if (refusal != RULE_NONE)
		return refusal;
	if (!is_return_address(&rule.ra))
		return RULE_RETURN_ADDRESS;
	if (!is_stack_pointer(&rule))
		return RULE_STACK_POINTER;
	rule.lands = rule_lands(row) ? DP_LANDS_MAYBE : DP_LANDS_NOT;

	for (int i = 0; i < DP_N_SAVED; i++) {
		ret_saves->where[i] = where_from_rule(&row->regs[saved[i]], NULL);
		if (ret_saves->where[i].kind != DP_WHERE_SAME)
			*ret_has_saves = true;
	}
	*ret = rule;
	return RULE_NONE;
}
