/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_GO_CODE_H
#define DP_TABLES_X86_64_GO_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "go/pclntab.h"
#include "tables/known_code.h"
#include "tables/x86_64/return_path.h"

/* Functions of a Go program with their instructions: which calls which, and from where. */

struct go_code {
	const struct pclntab *table;
	const struct code_range *ranges;
	size_t n_ranges;
	size_t n_steps; /* instructions of all paths so far: a file's are bounded */
};

/* A function and its instructions. */
struct go_code_function {
	struct pclntab_function f;
	uint64_t end; /* of its last instruction */
	struct return_path path;
	struct return_point *points; /* of each instruction; NULL: they were not asked for */
	bool is_whole;               /* all paths were gone along for them */
	struct go_code *code;
};

/* 0, -ENOENT if the file has not its bytes, or -ENOMEM. */
int go_code_read(struct go_code *code, const struct pclntab_function *f,
		 struct go_code_function *ret);
/* The same, with the points of its instructions (return_path_points()). */
int go_code_read_points(struct go_code *code, const struct pclntab_function *f,
			struct go_code_function *ret);
void go_code_function_done(struct go_code_function *f);

/*
 * The first direct call in `caller` of a function with a name, or jump to its start: 0, and
 * *ret_call is the instruction, *ret_callee (not NULL) the function. -ENOENT if there is none.
 */
int go_code_find_call(const struct go_code *code, const struct go_code_function *caller,
		      const char *callee, const struct instruction **ret_call,
		      struct pclntab_function *ret_callee);

/* How far rsp is below the return address, at an address of a function: 0 or -ENOENT. */
int go_code_depth(const struct go_code *code, const struct pclntab_function *f, uint64_t address,
		  int32_t *ret);

#endif
