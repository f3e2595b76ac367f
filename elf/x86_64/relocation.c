// SPDX-License-Identifier: Apache-2.0
#include "elf/relocation.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

static int put(uint64_t value, size_t size, uint8_t *to, size_t left)
{
	if (size <= left)
		memcpy(to, &value, size);
	return 0;
}

static int put_unsigned(uint64_t value, uint8_t *to, size_t left)
{
	return value > UINT32_MAX ? -ERANGE : put(value, sizeof(uint32_t), to, left);
}

static int put_signed(uint64_t value, uint8_t *to, size_t left)
{
	return (int64_t)value != (int32_t)value ? -ERANGE : put(value, sizeof(uint32_t), to, left);
}

int relocation_apply(uint32_t type, uint64_t value, uint64_t place, uint8_t *to, size_t left)
{
	switch (type) {
	case R_X86_64_64:
		return put(value, sizeof(uint64_t), to, left);
	case R_X86_64_PC64:
		return put(value - place, sizeof(uint64_t), to, left);
	case R_X86_64_32:
		return put_unsigned(value, to, left);
	case R_X86_64_32S:
		return put_signed(value, to, left);
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		return put_signed(value - place, to, left);
	default:
		return 0;
	}
}
