/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_TESTS_SOME_NAMES_H
#define DP_SYMBOLS_TESTS_SOME_NAMES_H

#include <criterion/criterion.h>

#include "symbols/names.h"

/* For a test, which frees them. */
static inline struct names *names_with(struct names_options options)
{
	struct names *names;

	cr_assert(names_new(&options, &names) == 0);
	return names;
}

/* For a test to which the options do not matter. Freed when its process exits. */
static inline struct names *some_names(void)
{
	static struct names *names;

	if (!names)
		names = names_with((struct names_options){ 0 });
	return names;
}

#endif
