/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_EXCEPTION_LISTS_H
#define DP_KERNEL_EXCEPTION_LISTS_H

#include <stdint.h>

#include "bpf/abi.h"
#include "values/cxx_runtime.h"

/* The values that are read where an exception is thrown, in their order. */
enum exception_value {
	EXCEPTION_TYPE = DP_ARGUMENT_TYPE, /* a text, mangled; or the number 0: not known */
	EXCEPTION_MESSAGE,                 /* a text; or enum dp_what and 1; or 0: not known */
	EXCEPTION_RETHROWN,                /* 1: it was thrown before */
	EXCEPTION_LANGUAGE,                /* enum exception_language */
	EXCEPTION_N_VALUES,
};

enum exception_language {
	EXCEPTION_IS_CXX,
	EXCEPTION_IS_PYTHON,
	EXCEPTION_IS_JAVA, /* its type is the name of a class as HotSpot has it: java/lang/Error */
};

/* The lists before it are those of calls that label samples. */
#define EXCEPTION_FIRST_LIST DP_MAX_SPAN_PLACES

/* What the kernel reads at the places of runtimes. Those of equal runtimes share a list. */
struct exception_list {
	unsigned int n_users;
	struct dp_arguments arguments;
	struct dp_whats whats;
};

struct exception_lists {
	struct exception_list of[DP_MAX_ARGUMENT_LISTS];
};

/*
 * Takes the list of a place, which exception_lists_drop() gives back. Returns its number, and
 * whether it is *ret_new, to be told to the kernel; or -E2BIG: there are too many.
 */
int exception_lists_take(struct exception_lists *lists, const struct cxx_runtime *runtime,
			 enum cxx_throw place, bool *ret_new);
void exception_lists_drop(struct exception_lists *lists, uint32_t number);

#endif
