// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/array.h"
#include "values/usdt_argument.h"

/* Names of a register's lowest 8, 4, 2 bytes and of its lowest one. That of %ah is another byte. */
static const char names[DP_REG_PC + 1][4][5] = {
	[DP_RAX] = { "rax", "eax", "ax", "al" },
	[DP_RDX] = { "rdx", "edx", "dx", "dl" },
	[DP_RCX] = { "rcx", "ecx", "cx", "cl" },
	[DP_RBX] = { "rbx", "ebx", "bx", "bl" },
	[DP_RSI] = { "rsi", "esi", "si", "sil" },
	[DP_RDI] = { "rdi", "edi", "di", "dil" },
	[DP_RBP] = { "rbp", "ebp", "bp", "bpl" },
	[DP_RSP] = { "rsp", "esp", "sp", "spl" },
	[DP_R8] = { "r8", "r8d", "r8w", "r8b" },
	[DP_R9] = { "r9", "r9d", "r9w", "r9b" },
	[DP_R10] = { "r10", "r10d", "r10w", "r10b" },
	[DP_R11] = { "r11", "r11d", "r11w", "r11b" },
	[DP_R12] = { "r12", "r12d", "r12w", "r12b" },
	[DP_R13] = { "r13", "r13d", "r13w", "r13b" },
	[DP_R14] = { "r14", "r14d", "r14w", "r14b" },
	[DP_R15] = { "r15", "r15d", "r15w", "r15b" },
	[DP_RIP] = { "rip" },
};

int usdt_register(const char *name, size_t length)
{
	for (int reg = 0; reg <= DP_REG_PC; reg++)
		for (size_t i = 0; i < ARRAY_SIZE(names[reg]); i++)
			if (length > 0 && strlen(names[reg][i]) == length &&
			    memcmp(names[reg][i], name, length) == 0)
				return reg;
	return -1;
}
