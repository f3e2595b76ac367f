/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_DISASSEMBLY_H
#define DP_TABLES_DISASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer texts are cut off. No instruction is as long, but a name that it refers to may be. */
#define CODE_TEXT_SIZE 189

/* An instruction as text, in the form that GNU objdump has. */
struct code_line {
	uint64_t address; /* in the file */
	uint64_t
		target; /* of a direct jump or call, or of what it reads or writes; 0: none is known */
	uint8_t size;           /* in bytes */
	uint8_t is_branch;      /* 0 or 1: the target is code, and the text ends with it */
	uint8_t is_system_call; /* 0 or 1 */
	char text[CODE_TEXT_SIZE];
};

/*
 * Disassembles at most n instructions of the bytes from `start` up to `end`. Returns how many. A byte
 * that begins none becomes a line of its own, `(bad)`.
 */
size_t disassemble(const uint8_t *bytes, uint64_t start, uint64_t end, struct code_line *ret,
		   size_t n);

/*
 * Whether these lines, from a process that nobody trusts, can be instructions one behind the other: text is
 * terminated and printable.
 */
bool code_lines_are_sound(const struct code_line *lines, size_t n);

#endif
