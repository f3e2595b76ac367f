// SPDX-License-Identifier: Apache-2.0
#include "elf/code_search.h"

#include <string.h>

/* call, with the distance from the next instruction */
#define CALL 0xe8

bool code_calls(const uint8_t *code, uint64_t size, uint64_t address, uint64_t to)
{
	int32_t distance;

	for (uint64_t i = 0; i + 1 + sizeof(distance) <= size; i++) {
		if (code[i] != CALL)
			continue;
		memcpy(&distance, code + i + 1, sizeof(distance));
		if (address + i + 1 + sizeof(distance) + (uint64_t)distance == to)
			return true;
	}
	return false;
}
