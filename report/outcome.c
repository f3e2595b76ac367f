// SPDX-License-Identifier: Apache-2.0
#include "report/outcome.h"

#include <string.h>

static const struct {
	const char *word;
	const char *sentence;
} outcomes[DP_N_OUTCOMES] = { [DP_WALKING] = { "walking", "the walk has not ended" },
#define X(name, word, sentence) [DP_##name] = { word, sentence },
			      DP_OUTCOMES(X)
#undef X
};

static const char *const methods[DP_N_METHODS] = {
#define X(name, word, sentence) [DP_METHOD_##name] = word,
	DP_METHODS(X)
#undef X
};

const char *outcome_word(enum dp_outcome outcome)
{
	return (unsigned int)outcome < DP_N_OUTCOMES ? outcomes[outcome].word : "unknown";
}

const char *outcome_sentence(enum dp_outcome outcome)
{
	return (unsigned int)outcome < DP_N_OUTCOMES ? outcomes[outcome].sentence : "unknown";
}

const char *method_word(enum dp_method method)
{
	return (unsigned int)method < DP_N_METHODS ? methods[method] : "unknown";
}

const char *kernel_error_word(int error)
{
	const char *name;

	if (error == 0)
		return NULL;
	name = error == DP_KERNEL_HIDDEN ? "addresses_hidden" : strerrorname_np(-error);
	return name ? name : "unknown";
}

const char *state_text(enum dp_state state)
{
	static const char letters[DP_N_STATES][2] = {
#define X(name, letter, sentence) [DP_STATE_##name] = { letter },
		DP_STATES(X)
#undef X
	};

	return (unsigned int)state < DP_N_STATES ? letters[state] : "?";
}

char state_letter(enum dp_state state)
{
	return *state_text(state);
}
