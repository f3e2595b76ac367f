/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FUNCTIONS_FUNCTION_PATTERN_H
#define DP_FUNCTIONS_FUNCTION_PATTERN_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "symbols/demangle.h"

/*
 * A function's name as users write it: the linker's, or the one in the source of C++, Rust and D,
 * with or without its parameters, or a glob(7) for either. Spaces do not matter: `f(int,long)`.
 */
struct function_pattern {
	const char *text;       /* the caller's */
	char *squeezed;         /* without spaces */
	bool is_glob;           /* has *, ? or [, which names of C++ may also have */
	bool has_parameters;    /* or at least a parenthesis */
	enum mangling mangling; /* of the pattern itself */
};

enum function_match {
	FUNCTION_OTHER,
	FUNCTION_BY_GLOB, /* does not count if any function has exactly this name */
	FUNCTION_BY_NAME,
};

/* 0 or -ENOMEM. The text must outlive the pattern. */
int function_pattern_init(struct function_pattern *ret, const char *text);
void function_pattern_done(struct function_pattern *pattern);
#define _cleanup_function_pattern_ _cleanup_(function_pattern_done)

/*
 * Is this the symbol of such a function? Clones by the compiler (.constprop.0, .isra.0) match, too; parts (.part.0,
 * .cold, a coroutine's .actor) only by their own symbol, because they are not its entry. Returns an enum
 * function_match, or -ENOMEM.
 */
int function_pattern_match(const struct function_pattern *pattern, const char *symbol);

#endif
