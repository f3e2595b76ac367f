// SPDX-License-Identifier: Apache-2.0
#include "cfi/reason.h"

static const struct {
	const char *word;
	const char *sentence;
} reasons[CFI_N_REASONS] = {
#define X(name, word, sentence) [CFI_##name] = { word, sentence },
	CFI_REASONS(X)
#undef X
};

const char *cfi_reason_word(enum cfi_reason reason)
{
	return (unsigned int)reason < CFI_N_REASONS ? reasons[reason].word : "unknown";
}

const char *cfi_reason_sentence(enum cfi_reason reason)
{
	return (unsigned int)reason < CFI_N_REASONS ? reasons[reason].sentence : "unknown reason";
}
