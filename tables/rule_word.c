// SPDX-License-Identifier: Apache-2.0
#include "tables/rule_word.h"

#include <stdbool.h>

#include "tables/rule.h"

/* Where a register's slot is in the word; 0: it has none. */
static const uint8_t slot_shift[CFI_N_REGISTERS] = { [CFI_RBP] = DP_WORD_RBP_SHIFT,
#define X(name, word) [CFI_##name] = DP_WORD_SAVES_SHIFT + DP_SAVED_##name * DP_SLOT_BITS,
						     DP_SAVED_REGISTERS(X)
#undef X
};

/* Nobody asks for the other registers, but for what rule_lands() sees in two of them. */
#define OF_INTEREST                                                                                \
	(CFI_CHANGED(CFI_RBP) | CFI_CHANGED(CFI_RBX) | CFI_CHANGED(CFI_R12) |                      \
	 CFI_CHANGED(CFI_R13) | CFI_CHANGED(CFI_R14) | CFI_CHANGED(CFI_R15) |                      \
	 CFI_CHANGED(CFI_RSP) | CFI_CHANGED(CFI_RIP))

#define LANDING (CFI_CHANGED(CFI_RAX) | CFI_CHANGED(CFI_RDX))

#define WORD_N_MASK ((UINT64_C(1) << DP_WORD_N_BITS) - 1)
#define WORD_CFA_MASK ((UINT64_C(1) << (DP_WORD_N_BITS + DP_FORM_BITS)) - 1)

/* The part of the word that says what the CFA is, 0 if it cannot. */
static uint64_t cfa_part(const struct cfi_cfa *cfa)
{
	uint64_t form = cfa->reg == CFI_RSP ? DP_FORM_RSP :
			cfa->reg == CFI_RBP ? DP_FORM_RBP :
					      DP_FORM_FULL;

	if (cfa->kind != CFI_CFA_REGISTER || form == DP_FORM_FULL || cfa->offset < 0 ||
	    cfa->offset % 8 != 0 || (uint64_t)cfa->offset / 8 > WORD_N_MASK)
		return 0;
	return (uint64_t)cfa->offset / 8 << DP_FORM_BITS | form;
}

/* The slot that a rule says, -1 if it says something else. */
static int slot_of(const struct cfi_rule *rule)
{
	if (rule->kind == CFI_RULE_UNSPECIFIED || rule->kind == CFI_RULE_SAME)
		return 0;
	if (rule->kind != CFI_RULE_OFFSET || rule->offset >= 0 || rule->offset % 8 != 0 ||
	    rule->offset < -8 * DP_MAX_SLOT)
		return -1;
	return (int)(-rule->offset / 8);
}

/* Is the rule of a register without a slot what every word takes for granted? */
static bool is_granted(unsigned int reg, const struct cfi_rule *rule)
{
	if (reg == CFI_RIP)
		return rule->kind == CFI_RULE_OFFSET && rule->offset == -8;
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
