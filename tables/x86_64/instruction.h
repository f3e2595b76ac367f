/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_INSTRUCTION_H
#define DP_TABLES_X86_64_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/*
 * The instructions of a function, as far as they affect values that a caller needs back: its stack
 * pointer, its registers, its return address. Any other instruction only invalidates what it
 * writes.
 */

enum instruction_kind {
	INSTRUCTION_OTHER, /* what it writes becomes unknown */
	INSTRUCTION_MOVE,  /* to = from */
	INSTRUCTION_LOAD,  /* to = the address of from */
	INSTRUCTION_ADD,   /* to += from */
	INSTRUCTION_SUB,   /* to -= from */
	INSTRUCTION_AND,   /* to &= from */
	INSTRUCTION_PUSH,  /* of `from` */
	INSTRUCTION_POP,   /* to `to` */
	INSTRUCTION_LEAVE, /* rsp = rbp, pop rbp */
	INSTRUCTION_CALL,
	INSTRUCTION_JUMP,   /* to `from` */
	INSTRUCTION_BRANCH, /* to `from`, or to the next one */
	INSTRUCTION_RETURN, /* pops the return address */
	INSTRUCTION_STOP,   /* never continues: int3, ud2, hlt */
	INSTRUCTION_SYSTEM_CALL,
};

enum operand_kind {
	OPERAND_NONE,
	OPERAND_REGISTER,
	OPERAND_NUMBER,
	OPERAND_ADDRESS,
	OPERAND_MEMORY
};

struct operand {
	uint8_t kind;    /* enum operand_kind */
	uint8_t reg;     /* DP_RAX to DP_R15, all 64 bits */
	uint8_t base;    /* of memory; DP_N_REGISTERS: none */
	bool is_thread;  /* memory relative to the thread's fs base */
	bool is_unclear; /* memory not of the form base + number */
	uint8_t size;    /* of memory, in bytes */
	int64_t number;  /* or the displacement; an address is the file's */
};

struct instruction {
	uint64_t start, end; /* addresses in the file; end exclusive */
	uint8_t kind;        /* enum instruction_kind */
	struct operand to, from;
	uint32_t spoiled; /* other registers that it writes, as bits */
};

/*
 * Decodes at most n instructions from `start` up to `end`. Returns how many; stops early at an
 * invalid one.
 */
size_t instructions_decode(const uint8_t *bytes, uint64_t start, uint64_t end,
			   struct instruction *ret, size_t n);

#endif
