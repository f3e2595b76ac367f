// SPDX-License-Identifier: Apache-2.0
#include "symbols/x86_64/code.h"

#include <stdbool.h>
#include <string.h>

#define RET 0xc3

/* What assemblers align functions to, at least (Intel's optimization manual, 3.4.1.4). */
#define ALIGNMENT 16

/* int3, or a nop of any length: 90, or 0f 1f, behind prefixes (Intel SDM 2B, NOP). */
static bool is_padding(const uint8_t *code, size_t size)
{
	size_t i = 0;

	while (i < size && (code[i] == 0x66 || code[i] == 0x2e))
		i++;
	if (i == size)
		return false;
	return code[i] == 0x90 || code[i] == 0xcc ||
	       (code[i] == 0x0f && i + 1 < size && code[i + 1] == 0x1f);
}

size_t code_until_padding(const uint8_t *code, size_t size, uint64_t address)
{
	const uint8_t *from = code, *ret;

	while ((ret = memchr(from, RET, (size_t)(code + size - from)))) {
		size_t at = (size_t)(ret - code) + 1;

		if (at == size || (address + at) % ALIGNMENT == 0 || is_padding(ret + 1, size - at))
			return at;
		from = ret + 1;
	}
	return size;
}
