/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_KNOWN_CODE_H
#define DP_TABLES_KNOWN_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/*
 * Code without unwind information that linkers and C libraries put into programs, recognised by its
 * bytes: the functions of .init and .fini, those of crtbegin.o, the procedure linkage table, the
 * code to which signal handlers return, and the system call that starts a thread. Other bytes are
 * not known code.
 */

/* A piece of a file's code. The caller owns the bytes. */
struct code_range {
	uint64_t address; /* in the file's own address space */
	uint64_t size;
	const uint8_t *bytes;
};

/* The return address is where a call puts it, except in a signal frame. */
struct known_row {
	uint64_t start, end; /* end exclusive */
	bool signal;         /* a struct sigcontext is at sp + cfa_offset */
	bool clone;          /* unless DP_REG_RESULT is 0: then there is no caller */
	bool fp_saved;       /* at CFA - DP_FP_CFA; else it is unchanged */
	uint8_t cfa_reg;     /* DP_REG_SP or DP_REG_FP */
	int32_t cfa_offset;
};

#define KNOWN_MAX_ROWS 8

struct known_code {
	struct known_row rows[KNOWN_MAX_ROWS]; /* ascending, without gaps */
	size_t n_rows;
};

/*
 * True if there is certainly no known code between two addresses inside the range. A quick look at
 * the bytes, which is enough for the padding between functions.
 */
bool known_code_is_none(const struct code_range *range, uint64_t start, uint64_t end);

/* Finds the first known code with a row from `start` on and before `end`, both inside the range. */
bool known_code_next(const struct code_range *range, uint64_t start, uint64_t end,
		     struct known_code *ret);

#endif
