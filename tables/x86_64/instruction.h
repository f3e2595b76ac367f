/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_INSTRUCTION_H
#define DP_TABLES_X86_64_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/*
 * The instructions of a function, as far as they say where values come from that a caller
 * needs back: its stack pointer, its registers, its return address. All other instructions
 * only spoil what they write.
 */

enum instruction_kind {
	INSTRUCTION_OTHER, /* what it writes is not known any more */
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
	INSTRUCTION_BRANCH, /* to `from`, or on to the next one */
	INSTRUCTION_RETURN, /* pops the return address */
	INSTRUCTION_STOP,   /* never goes on: int3, ud2, hlt */
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
	uint8_t reg;     /* DP_RAX to DP_R15, of all 64 bits */
	uint8_t base;    /* of memory: DP_N_REGISTERS: none */
	bool is_thread;  /* memory in front of or behind the thread's fs base */
	bool is_unclear; /* memory that is not at base + number */
	uint8_t size;    /* of memory, in bytes */
	int64_t number;  /* or the distance from the base; an address is the file's */
};

struct instruction {
	uint64_t start, end; /* addresses in the file; end exclusive */
	uint8_t kind;        /* enum instruction_kind */
	struct operand to, from;
	uint32_t spoiled; /* registers that it writes otherwise, by bit */
};

/*
 * Decode the instructions from `start` up to `end`, at most n. Returns how many; it ends early
 * at what is none.
 */
size_t instructions_decode(const uint8_t *bytes, uint64_t start, uint64_t end,
			   struct instruction *ret, size_t n);

#endif
