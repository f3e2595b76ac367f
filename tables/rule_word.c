// SPDX-License-Identifier: Apache-2.0
#include "tables/rule_word.h"

#include <stdbool.h>

#include "tables/rule.h"

/* The shift of a register's slot in the word; 0: no slot. */
static const uint8_t slot_shift[CFI_N_REGISTERS] = { [CFI_FP] = DP_WORD_FP_SHIFT,
#define X(name, word) [CFI_##name] = DP_WORD_SAVES_SHIFT + DP_SAVED_##name * DP_SLOT_BITS,
						     DP_SAVED_REGISTERS(X)
#undef X
};

/* Other registers are not used, except that rule_lands() looks at two of them. */
#define SAVED_CHANGED(name, word) CFI_CHANGED(CFI_##name) |
#define OF_INTEREST                                                                                \
	(DP_SAVED_REGISTERS(SAVED_CHANGED) CFI_CHANGED(CFI_FP) | CFI_CHANGED(CFI_SP) |             \
	 CFI_CHANGED(CFI_RA))

#define LANDING (CFI_CHANGED(CFI_EH_DATA_0) | CFI_CHANGED(CFI_EH_DATA_1))

#define WORD_N_MASK ((UINT64_C(1) << DP_WORD_N_BITS) - 1)
#define WORD_CFA_MASK ((UINT64_C(1) << (DP_WORD_N_BITS + DP_FORM_BITS)) - 1)

/* The part of the word for the CFA; 0 if a word cannot express it. */
static uint64_t cfa_part(const struct cfi_cfa *cfa)
{
	uint64_t form = cfa->reg == CFI_SP ? DP_FORM_SP :
			cfa->reg == CFI_FP ? DP_FORM_FP :
					     DP_FORM_FULL;

	if (cfa->kind != CFI_CFA_REGISTER || form == DP_FORM_FULL || cfa->offset < 0 ||
	    cfa->offset % 8 != 0 || (uint64_t)cfa->offset / 8 > WORD_N_MASK)
		return 0;
	return (uint64_t)cfa->offset / 8 << DP_FORM_BITS | form;
}

/* The slot of a rule; -1 if a slot cannot express it. */
static int slot_of(const struct cfi_rule *rule)
{
	if (rule->kind == CFI_RULE_UNSPECIFIED || rule->kind == CFI_RULE_SAME)
		return 0;
	if (rule->kind != CFI_RULE_OFFSET || rule->offset >= 0 || rule->offset % 8 != 0 ||
	    rule->offset < -8 * DP_MAX_SLOT)
		return -1;
	return (int)(-rule->offset / 8);
}

/* True if a register without a slot has the rule that a word with DP_RA_CALL implies. */
static bool is_granted(unsigned int reg, const struct cfi_rule *rule)
{
	if (reg == CFI_RA)
		return CFI_IS_CALL_RA(rule);
	/* The stack pointer */
	return rule->kind == CFI_RULE_UNSPECIFIED ||
	       (rule->kind == CFI_RULE_VAL_OFFSET && rule->offset == 0);
}

static void update_register(struct rule_word *w, unsigned int reg, const struct cfi_rule *rule)
{
	uint32_t bit = 1U << reg;
	int slot;

	if (slot_shift[reg] == 0) {
		w->odd = is_granted(reg, rule) ? w->odd & ~bit : w->odd | bit;
		return;
	}
	slot = slot_of(rule);
	w->odd = slot < 0 ? w->odd | bit : w->odd & ~bit;
	w->word &= ~((uint64_t)DP_MAX_SLOT << slot_shift[reg]);
	if (slot > 0)
		w->word |= (uint64_t)slot << slot_shift[reg];
}

void rule_word_update(struct rule_word *w, const struct cfi_row *row, uint32_t changed)
{
	if (changed & CFI_CHANGED_CFA) {
		uint64_t cfa = cfa_part(&row->cfa);

		w->word = (w->word & ~WORD_CFA_MASK) | cfa;
		w->odd = cfa ? w->odd & ~CFI_CHANGED_CFA : w->odd | CFI_CHANGED_CFA;
		changed &= ~CFI_CHANGED_CFA;
	}
	if (changed & LANDING)
		w->odd = rule_lands(row) ? w->odd | LANDING : w->odd & ~LANDING;
	for (changed &= OF_INTEREST; changed; changed &= changed - 1) {
		unsigned int reg = (unsigned int)__builtin_ctz(changed);

		update_register(w, reg, &row->regs[reg]);
	}
}
