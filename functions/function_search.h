/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FUNCTIONS_FUNCTION_SEARCH_H
#define DP_FUNCTIONS_FUNCTION_SEARCH_H

#include <stdbool.h>

#include "elf/function_list.h"

/* Patterns are shorter. */
#define FUNCTION_PATTERN_SIZE 4096

struct function_query {
	const char *pattern; /* function_pattern.h, also with +N; or FILE:LINE (line_places.h) */
	bool has_hint;       /* if there is no such function, suggest a similar name */
	bool has_parts; /* so are parts of the functions that are elsewhere (function_parts.h) */
	bool has_ends;  /* with these: where they end (function_ends.h) */
};

/*
 * Lists the functions of the file behind fd that a pattern stands for: those that have just this name, or if
 * there are none, those of the glob; each with all its symbols. 0, an error of elf_functions_each(), -EFBIG:
 * their names are too long altogether, or -ENOMEM. function_list_done() frees *ret, which is empty on failure.
 */
int function_search(int fd, const struct function_query *query, struct function_list *ret);

#endif
