/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_ARGUMENTS_H
#define DP_PROFILER_ARGUMENTS_H

#include <stdbool.h>

#include "samples/label_values.h"

/*
 * The values that a probe is to read, as users write them behind a function: `(size=arg1:u64,
 * path=arg2->8:str)`. Each is NAME=VALUE:TYPE; the name or the type may be left out.
 */
struct argument {
	struct value_form form;
	struct dp_argument how;
};

struct arguments {
	size_t n;
	struct argument of[DP_MAX_ARGUMENTS];
};

#define ARGUMENTS_WHY_SIZE 512

/*
 * Where the list begins, its parenthesis; NULL: there is none. A list has a name, type, dereference
 * or `argN` somewhere: that distinguishes it from the parameters in a function's name, f(int, long).
 */
const char *arguments_find(const char *function);

/* Parses a list. 0, or -EINVAL, and what is wrong where and what is allowed there. */
int arguments_parse(const char *list, struct arguments *ret, char ret_why[ARGUMENTS_WHY_SIZE]);

/* What the kernel is to read, and how it is written. */
void arguments_describe(const struct arguments *arguments, struct dp_arguments *ret,
			struct value_forms *ret_forms);

#endif
