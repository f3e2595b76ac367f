// SPDX-License-Identifier: Apache-2.0
#include "tables/word_machine.h"

#include "tables/rule_word.h"

const uint8_t word_reg_shift[WORD_N_REGS] = {
	[CFI_FP] = DP_WORD_FP_SHIFT,
#define X(name, word) [CFI_##name] = DP_WORD_SAVES_SHIFT + DP_SAVED_##name * DP_SLOT_BITS,
	DP_SAVED_REGISTERS(X)
#undef X
		[CFI_EH_DATA_0] = WORD_REG_OTHER,
	[CFI_EH_DATA_1] = WORD_REG_OTHER,
	[CFI_SP] = WORD_REG_OTHER,
	[CFI_RA] = WORD_REG_OTHER,
};

bool word_machine_init_cie(const struct cfi_cie *cie, uint64_t *ret_initial)
{
	struct rule_word word = { 0 };

	rule_word_update(&word, &cie->initial, CFI_CHANGED_ALL);
	*ret_initial = word.word;
	return word.odd == 0 && !cie->signal && cie->code_factor == 1 && cie->data_factor == -8;
}
