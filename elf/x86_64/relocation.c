// SPDX-License-Identifier: Apache-2.0
#include "elf/relocation.h"

#include <elf.h>
#include <string.h>

static void put(uint64_t value, size_t size, uint8_t *to, size_t left)
{
	if (size <= left)
		memcpy(to, &value, size);
}

void relocation_apply(uint32_t type, uint64_t value, uint64_t place, uint8_t *to, size_t left)
{
	switch (type) {
	case R_X86_64_64:
		put(value, sizeof(uint64_t), to, left);
		break;
	case R_X86_64_PC64:
		put(value - place, sizeof(uint64_t), to, left);
		break;
	case R_X86_64_32:
	case R_X86_64_32S:
		put(value, sizeof(uint32_t), to, left);
		break;
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		put(value - place, sizeof(uint32_t), to, left);
		break;
	default:
		break;
	}
}
