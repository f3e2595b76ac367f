// SPDX-License-Identifier: Apache-2.0
#include "tables/jump_targets.h"

#include "tables/x86_64/instruction.h"

/* Instructions that are decoded together. */
#define BATCH 64

int jump_targets_each(const uint8_t *code, uint64_t start, uint64_t end, jump_target_fn fn,
		      void *arg)
{
	struct instruction batch[BATCH];
	uint64_t at = start;
	size_t n;

	while (at < end &&
	       (n = instructions_decode(code + (at - start), at, end, batch, BATCH)) > 0) {
		for (size_t i = 0; i < n; i++) {
			const struct instruction *in = &batch[i];
			uint64_t to = (uint64_t)in->from.number;
			bool jumps =
				(in->kind == INSTRUCTION_JUMP || in->kind == INSTRUCTION_BRANCH) &&
				in->from.kind == OPERAND_ADDRESS && in->from.size == 0;
			int result = jumps && to - start >= end - start ? fn(arg, to) : 0;

			if (result)
				return result;
		}
		at = batch[n - 1].end;
	}
	return 0;
}
