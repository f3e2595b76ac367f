/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_RETURN_PATH_H
#define DP_TABLES_X86_64_RETURN_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/x86_64/instruction.h"
#include "tables/rule.h"
#include "tables/x86_64/sum.h"

/*
 * How a function gets back to its caller, told by the instructions that it has still to
 * execute: they know where it has put its caller's stack pointer. So a function is
 * understood that loads another stack's pointer, which unwind information made of pushes
 * and pops cannot follow. All paths from an instruction to a return are gone along, with each
 * register a sum of what it and memory hold there. Calls are taken to come
 * back with what the function goes on to use, and memory to stay as it is but for what the function
 * itself writes.
 */

struct return_path {
	struct instruction *instructions;
	struct return_met *met; /* by instruction: how the search that is going on has met it */
	size_t n, n_steps, max_steps, n_searches;
	struct return_state *switched; /* NULL: no instruction is known to be */
	struct sum_parts parts;
};

/* What a caller gets back. */
struct return_values {
	struct sum sp; /* behind the return address */
	struct sum pc; /* where it goes on */
	struct sum fp, saved[DP_N_SAVED];
	bool is_jump; /* there by a jump: nothing needs to have called from there */
};

enum return_found {
	RETURN_FOUND,
	RETURN_NEVER,   /* no path ends in a return */
	RETURN_UNCLEAR, /* they do not all give the same, or are too many */
};

/*
 * Read a function, from start to end. Its paths have at most so many instructions in all: what is
 * looked for later is unclear. 0 or -ENOMEM. return_path_done() releases *ret.
 */
int return_path_init(struct return_path *ret, const uint8_t *bytes, uint64_t start, uint64_t end,
		     size_t max_steps);
void return_path_done(struct return_path *path);

/* In front of an instruction, as the paths from the function's start meet it. */
struct return_point {
	bool is_met;
	bool is_switched; /* rsp is more than at the start and a number */
	struct sum sp;    /* on the path that has met it last; its parts are the path's */
};

/*
 * For each instruction. False if not all paths could be gone along. What was written up to the first
 * instruction that is switched is remembered for return_path_written().
 */
bool return_path_points(struct return_path *path, struct return_point *ret);

/* An address where a value was put by then. False if there is none. */
bool return_path_written(const struct return_path *path, const struct sum *value,
			 struct sum *ret_address);

/*
 * An address, not on the stack, where a function leaves what it was given: a register's value, or
 * the word there. False if there is none, or on another path another one.
 */
bool return_path_left(struct return_path *path, const struct sum *given, bool is_word,
		      struct sum *ret_address);

/* How far a stack pointer is below the one that was switched to first. False: it is not. */
bool return_path_depth(const struct return_path *path, const struct sum *sp, int64_t *ret);

/* From in front of an instruction, by its number. ret is written with RETURN_FOUND alone. */
enum return_found return_path_find(struct return_path *path, size_t number,
				   struct return_values *ret);

/*
 * The same as a rule, and what rule_set_add() takes with it. RETURN_UNCLEAR if a rule cannot
 * express it.
 */
enum return_found return_path_rule(struct return_path *path, size_t number, struct dp_rule *ret,
				   struct dp_saves *ret_saves, struct rule_programs *ret_programs);

#endif
