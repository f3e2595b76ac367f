/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_DECODE_H
#define DP_TABLES_DECODE_H

#include <stdint.h>
#include <stdio.h>

#include "bpf/abi.h"
#include "tables/image.h"

/* A row of an image, unpacked. */

struct image_row {
	uint64_t start, end;      /* in the file's own address space, end exclusive */
	struct dp_rule rule;      /* its saves are in the next member */
	struct dp_saves saves;    /* where the frame saved the other callee-saved registers */
	const uint64_t *programs; /* of the image; the rule has the offset of its own */
};

/*
 * Calls fn for every row of the image with a rule, in ascending order; neighbours with the same
 * rule are joined. Stops early if fn returns a value other than 0, and returns it.
 */
int image_for_each_row(const struct image *image, int (*fn)(const struct image_row *row, void *arg),
		       void *arg);

/* Converts the slots of a dp_rule.saves without DP_SAVES_APART. */
void saves_from_slots(uint32_t slots, struct dp_saves *ret);

/* The name of one of enum dp_register or enum dp_value_register; "?" for others. */
const char *register_name(unsigned int reg);

/*
 * Prints a row as one line: `START END CFA ra=RULE fp=RULE`, numbers in hex without 0x. CFA is
 * `REG+N`, `*(REG-K)+M`, `plt(T)`, `exp(OPS)`, `switch:exp(OPS)` (on another stack), `clone(REG+N)` (a new
 * thread's root) or `none`; RULE is `c-K` (saved at CFA-K), `s` (same value), `u` (undefined), a register,
 * `*(REG+K)`, `exp(OPS)` or `unknown`. If the caller's stack pointer is not the CFA, ` sp=RULE` follows. With
 * `regs`, the other callee-saved registers follow as `REG=RULE`.
 *
 * OPS are operators in order of execution, separated by commas, named as in DWARF except for
 * `REG+K` (push that), `N` (push the number), `+N` (add it) and `cfa` (push the CFA), with which a
 * register's rule starts: `REG+8,REG+0,8,mul,plus,deref,+8`.
 */
void image_row_print(const struct image_row *row, int regs, FILE *to);

/* How the program stores its labels, or "none". */
const char *image_labels_word(const struct image *image);
/*
 * Prints where they are: as OPS, or for those in a variable, `offset`, `slot`, `module` or `descriptor` and its
 * address. Without labels, prints nothing.
 */
void image_labels_print(const struct image *image, FILE *to);

#endif
