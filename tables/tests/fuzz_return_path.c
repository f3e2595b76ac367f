// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a function's code. The search ends, soon, and its result is a program that an image
 * may have.
 */
#include <stdlib.h>

#include "cfi/tests/fuzz.h"
#include "tables/x86_64/return_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rule_programs programs;
	struct return_path path;
	struct dp_saves saves;
	struct dp_rule rule;

	if (return_path_init(&path, data, 0x1000, 0x1000 + size, 100000) < 0)
		abort();
	for (size_t i = 0; i < path.n; i++) {
		const struct instruction *in = &path.instructions[i];

		EXPECT(in->end > in->start && in->end <= 0x1000 + size);
		if (return_path_rule(&path, i, &rule, &saves, &programs) != RETURN_FOUND)
			continue;
		EXPECT(rule.cfa == DP_CFA_REGISTER || rule.cfa == DP_CFA_SWITCH);
		for (int part = 0; part < RULE_N_PARTS; part++)
			EXPECT(!rule_program_of(&rule, (enum rule_part)part) ||
			       (programs.of[part].n_ops > 0 &&
				programs.of[part].n_ops <= DP_MAX_OPS));
	}
	return_path_done(&path);
	return 0;
}
