// SPDX-License-Identifier: Apache-2.0
#include "symbols/stub_code.h"

#include <elf.h>
#include <string.h>

#define RET 0xc3

const size_t code_stub_size = 16;

enum code_slot code_slot_of(uint64_t relocation)
{
	switch (relocation) {
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		return CODE_SLOT_NAMED;
	case R_X86_64_IRELATIVE:
		return CODE_SLOT_RESOLVED;
	default:
		return CODE_SLOT_NONE;
	}
}

/* The minimum alignment of functions by assemblers (Intel's optimization manual, 3.4.1.4). */
#define ALIGNMENT 16

/* int3, or a nop of any length: 90, or 0f 1f after prefixes (Intel SDM 2B, NOP). */
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

static bool begins_with(const uint8_t *code, size_t size, const char *bytes, size_t n, size_t *at)
{
	if (size - *at < n || memcmp(code + *at, bytes, n) != 0)
		return false;
	*at += n;
	return true;
}

#define BEGINS_WITH(bytes) begins_with(code, size, bytes, sizeof(bytes) - 1, &at)

/* Reads a 4-byte number at an offset in an instruction. */
static bool read_number(const uint8_t *code, size_t size, size_t at, int32_t *ret)
{
	if (size - at < sizeof(*ret))
		return false;
	memcpy(ret, code + at, sizeof(*ret));
	return true;
}

bool code_find_slot(const uint8_t *code, size_t size, uint64_t address, uint64_t *ret_slot,
		    uint64_t *ret_number)
{
	size_t at = 0;
	int32_t number;

	(void)BEGINS_WITH("\xf3\x0f\x1e\xfa"); /* endbr64 */
	if (BEGINS_WITH("\x41\xbb"))           /* mov $number, %r11d, by mold */
		at += sizeof(number);
	if (at > size)
		return false;
	if (BEGINS_WITH("\x68")) { /* push $number; the jump to the slot is in .plt.sec */
		*ret_slot = 0;
		if (!read_number(code, size, at, &number) || number < 0)
			return false;
		*ret_number = (uint64_t)number;
		return true;
	}
	(void)BEGINS_WITH("\xf2");                                             /* bnd */
	if (!BEGINS_WITH("\xff\x25") || !read_number(code, size, at, &number)) /* jmp *d(%rip) */
		return false;
	*ret_slot = address + at + sizeof(number) + (uint64_t)(int64_t)number;
	*ret_number = 0;
	return *ret_slot != 0;
}
