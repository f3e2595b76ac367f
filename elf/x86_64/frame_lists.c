// SPDX-License-Identifier: Apache-2.0
#include "elf/frame_lists.h"

#include <stdbool.h>
#include <string.h>

/* REX.W, opcode, ModRM, and a distance from the next instruction */
#define INSTRUCTION_SIZE 7

static bool refers(const uint8_t *at)
{
	return (at[0] == 0x48 || at[0] == 0x4c) &&                  /* 64 bits */
	       (at[1] == 0x8b || at[1] == 0x89 || at[1] == 0x8d) && /* mov from, mov to, lea */
	       (at[2] & 0xc7) == 0x05;                              /* rip */
}

static bool has(const uint64_t *found, size_t n, uint64_t wanted)
{
	for (size_t i = 0; i < n; i++)
		if (found[i] == wanted)
			return true;
	return false;
}

size_t frame_lists_in_code(const uint8_t *code, size_t size, uint64_t address, uint64_t start,
			   uint64_t end, uint64_t ret[N_FRAME_LISTS])
{
	size_t n = 0;

	for (size_t i = 0; i + INSTRUCTION_SIZE <= size && n < N_FRAME_LISTS; i++) {
		uint64_t target;
		int32_t distance;

		if (!refers(code + i))
			continue;
		memcpy(&distance, code + i + 3, sizeof(distance));
		target = address + i + INSTRUCTION_SIZE + (uint64_t)(int64_t)distance;
		if (target % sizeof(uint64_t) == 0 && target >= start && target < end &&
		    !has(ret, n, target))
			ret[n++] = target;
	}
	return n;
}
