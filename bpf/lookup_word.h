/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_LOOKUP_WORD_H
#define DP_BPF_LOOKUP_WORD_H

#include "bpf/abi.h"
#include "bpf/port.h"

DP_ASSERT(DP_N_RA == 1, "what is above the saves is DP_RA_CALL and need not be read");

/* Expands a rule stored as a word (an enum dp_form other than DP_FORM_FULL). */
static __always_inline void lookup_unpack(__u64 word, struct dp_rule *ret)
{
	__u32 fp = word >> DP_WORD_FP_SHIFT & DP_MAX_SLOT;

	*ret = (struct dp_rule){
		.cfa = DP_CFA_REGISTER,
		.cfa_reg = (word & ((1 << DP_FORM_BITS) - 1)) == DP_FORM_SP ? DP_REG_SP : DP_REG_FP,
		.cfa_offset = (__s32)(word >> DP_FORM_BITS & ((1 << DP_WORD_N_BITS) - 1)) * 8,
		.saves = word >> DP_WORD_SAVES_SHIFT,
		.ra = DP_CALL_RA,
	};
	if (fp)
		ret->fp = (struct dp_where){ .kind = DP_WHERE_CFA, .offset = -8 * (__s32)fp };
}

#endif
