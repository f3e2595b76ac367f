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
 * Determines how a function gets back to its caller from the instructions that it has still to
 * execute: they know where the caller's stack pointer is stored. So functions that load another
 * stack's pointer are understood, which unwind information derived from pushes and pops cannot
 * describe. All paths from an instruction to a return are followed, with each register as a sum of
 * register and memory contents. Assumptions: calls return with what the function uses afterwards,
 * and memory changes only by the function's own writes.
 */

struct return_path {
	struct instruction *instructions;
	struct return_met *met; /* by instruction: how the current search has reached it */
	size_t n, n_steps, max_steps, n_searches;
	struct return_state *switched; /* NULL: no instruction after a switch is known */
	struct sum_parts parts;
};

/* The caller's values. */
struct return_values {
	struct sum sp; /* behind the return address */
	struct sum pc; /* where it continues */
	struct sum fp, saved[DP_N_SAVED];
	bool is_jump; /* by a jump: there need not be a call in front of pc */
};

enum return_found {
	RETURN_FOUND,
	RETURN_NEVER,   /* no path ends with a return */
	RETURN_UNCLEAR, /* the paths disagree, or are too many */
};

/*
 * Reads a function from start to end. `max_steps` limits the instructions on its paths; searches
 * beyond it give RETURN_UNCLEAR. 0 or -ENOMEM. return_path_done() frees *ret.
 */
int return_path_init(struct return_path *ret, const uint8_t *bytes, uint64_t start, uint64_t end,
		     size_t max_steps);
void return_path_done(struct return_path *path);

/* The state before an instruction on paths from the function's start. */
struct return_point {
	bool is_met;
	bool is_switched; /* rsp is not a constant distance from its value at the start */
	struct sum sp;    /* on the last path that has reached it; its parts are the path's */
};

/*
 * Fills in a point per instruction. False if not all paths could be followed. Words written before
 * the first switched instruction are kept for return_path_written().
 */
bool return_path_points(struct return_path *path, struct return_point *ret);

/* An address to which a value was written by then. False if there is none. */
bool return_path_written(const struct return_path *path, const struct sum *value,
			 struct sum *ret_address);

/*
 * An address outside the stack where a function stores an argument: a register's value, or the word
 * there. False if there is none, or paths disagree.
 */
bool return_path_left(struct return_path *path, const struct sum *given, bool is_word,
		      struct sum *ret_address);

/*
 * Distance from a stack pointer up to the one that was switched to first. False: it is not
 * constant.
 */
bool return_path_depth(const struct return_path *path, const struct sum *sp, int64_t *ret);

/* Searches from before an instruction, given by its index. Writes *ret only with RETURN_FOUND. */
enum return_found return_path_find(struct return_path *path, size_t number,
				   struct return_values *ret);

/*
 * The same as a rule, with its programs for rule_set_add(). RETURN_UNCLEAR if no rule can express
 * it.
 */
enum return_found return_path_rule(struct return_path *path, size_t number, struct dp_rule *ret,
				   struct dp_saves *ret_saves, struct rule_programs *ret_programs);

#endif
