// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf_tls.h"

enum dp_tls_kind elf_tls_relocation(uint64_t type)
{
	switch (type) {
	case R_X86_64_TPOFF64:
		return DP_TLS_SLOT;
	case R_X86_64_DTPMOD64:
		return DP_TLS_MODULE;
	case R_X86_64_TLSDESC:
		return DP_TLS_DESCRIPTOR;
	default:
		return DP_TLS_NONE;
	}
}

/* Variant II: the program's block ends at the thread's base. */
uint64_t elf_tls_program_offset(uint64_t address, uint64_t size, uint64_t align)
{
	align = align > 0 ? align : 1;
	return address - (size + align - 1) / align * align;
}

/* Bytes of code; of these, any may be. */
#define ANY 0x100
#define ANY_4 ANY, ANY, ANY, ANY

/*
 * How code gets at a thread-local variable (Ulrich Drepper, "ELF handling for thread-local
 * storage", with the psABI's forms), and loads what it has into rax. `at`: where the 4 bytes are
 * that say which one it is.
 */
static const struct access {
	uint16_t code[24];
	uint8_t size, at;
	enum dp_tls_kind kind;
} accesses[] = {
	/* lea SLOT(%rip), %rdi; call __tls_get_addr, by its stub or not; mov (%rax), %rax */
	{ { 0x66, 0x48, 0x8d, 0x3d, ANY_4, 0x66, 0x66, 0x48, 0xe8, ANY_4, 0x48, 0x8b, 0x00 },
	  19,
	  4,
	  DP_TLS_MODULE },
	{ { 0x66, 0x48, 0x8d, 0x3d, ANY_4, 0x66, 0x48, 0xff, 0x15, ANY_4, 0x48, 0x8b, 0x00 },
	  19,
	  4,
	  DP_TLS_MODULE },
	/* lea SLOT(%rip), %rax; call *(%rax); mov %fs:(%rax), %rax */
	{ { 0x48, 0x8d, 0x05, ANY_4, 0xff, 0x10, 0x64, 0x48, 0x8b, 0x00 },
	  13,
	  3,
	  DP_TLS_DESCRIPTOR },
	/* mov SLOT(%rip), %rax; mov %fs:(%rax), %rax */
	{ { 0x48, 0x8b, 0x05, ANY_4, 0x64, 0x48, 0x8b, 0x00 }, 11, 3, DP_TLS_SLOT },
	/* mov %fs:OFFSET, %rax */
	{ { 0x64, 0x48, 0x8b, 0x04, 0x25, ANY_4 }, 9, 5, DP_TLS_OFFSET },
};

static bool is_access(const struct access *a, const uint8_t *code, uint64_t size)
{
	if (size < a->size)
		return false;
	for (size_t i = 0; i < a->size; i++)
		if (a->code[i] != ANY && a->code[i] != code[i])
			return false;
	return true;
}

/* What may be around it: a branch's target (endbr64), and room in the stack. */
static const uint8_t branch_target[] = { 0xf3, 0x0f, 0x1e, 0xfa };
static const uint8_t make_room[] = { 0x48, 0x83, 0xec, 0x08 };
static const uint8_t drop_room[] = { 0x48, 0x83, 0xc4, 0x08 };

static bool skip(const uint8_t **code, uint64_t *size, const void *bytes, size_t n)
{
	if (*size < n || memcmp(*code, bytes, n) != 0)
		return false;
	*code += n;
	*size -= n;
	return true;
}

bool elf_tls_returned(const uint8_t *code, uint64_t size, uint64_t address, uint8_t member,
		      struct dp_tls *ret)
{
	const uint8_t load[] = { 0x48, 0x8b, 0x40, member }, *begin = code, leave = 0xc3;
	bool has_room;

	skip(&code, &size, branch_target, sizeof(branch_target));
	has_room = skip(&code, &size, make_room, sizeof(make_room));
	for (size_t i = 0; i < ARRAY_SIZE(accesses); i++) {
		const struct access *a = &accesses[i];
		int32_t which;

		if (!is_access(a, code, size))
			continue;
		memcpy(&which, code + a->at, sizeof(which));
		*ret = (struct dp_tls){ .value = (uint64_t)which, .kind = a->kind };
		if (a->kind != DP_TLS_OFFSET)
			ret->value += address + (uint64_t)(code - begin) + a->at + sizeof(which);
		code += a->size;
		size -= a->size;
		return skip(&code, &size, load, sizeof(load)) &&
		       (!has_room || skip(&code, &size, drop_room, sizeof(drop_room))) &&
		       skip(&code, &size, &leave, sizeof(leave));
	}
	return false;
}
