/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_GO_CODE_H
#define DP_TABLES_X86_64_GO_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "go/pclntab.h"
#include "tables/known_code.h"
#include "tables/x86_64/return_path.h"

/* Functions of a Go program with their instructions, to find which calls which, and where. */

struct go_code {
	const struct pclntab *table;
	const struct code_range *ranges;
	size_t n_ranges;
	size_t n_steps; /* instructions on all paths so far; limited per file */
};

/* A function and its instructions. */
struct go_code_function {
	struct pclntab_function f;
	uint64_t end; /* of its last instruction */
	struct return_path path;
	struct return_point *points; /* one per instruction; NULL: not requested */
	bool is_whole;               /* all paths were followed */
	struct go_code *code;
};

/* Returns 0, -ENOENT if the file does not have its bytes, or -ENOMEM. */
int go_code_read(struct go_code *code, const struct pclntab_function *f,
		 struct go_code_function *ret);
/* The same, with the points of its instructions (return_path_points()). */
int go_code_read_points(struct go_code *code, const struct pclntab_function *f,
			struct go_code_function *ret);
void go_code_function_done(struct go_code_function *f);

/*
 * Finds the first direct call in `caller` of a function with this name, or jump to its start.
 * Returns 0; *ret_call is the instruction, *ret_callee (if not NULL) the function. -ENOENT: there
 * is none.
 */
int go_code_find_call(const struct go_code *code, const struct go_code_function *caller,
		      const char *callee, const struct instruction **ret_call,
		      struct pclntab_function *ret_callee);

/* Distance from rsp up to the return address, at an address of a function. 0 or -ENOENT. */
int go_code_depth(const struct go_code *code, const struct pclntab_function *f, uint64_t address,
		  int32_t *ret);

#endif
