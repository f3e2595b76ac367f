/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_CONFINED_H
#define DP_PROFILER_CONFINED_H

#include "sandbox/parsers.h"

struct names;

/*
 * Lets confined processes parse foreign files, as --sandbox demands: parsers, and namers for the binaries of `names`
 * (NULL: none) until names_set_reader() or names_free().
 *
 * `helper` is the program for parsers_new(); NULL: there is none. *ret_parsers, for parsers_drop(), is NULL if this
 * process has to parse; it warns of that unless mode asks for it. In mode REQUIRE, this process never parses, and
 * confined_check() waits until it is known whether helpers start. Both return 0, or -EOPNOTSUPP, logged, if helpers
 * are required but not available.
 */
int confined_begin(enum sandbox_mode mode, const char *helper, struct names *names,
		   struct parsers **ret_parsers);
int confined_check(enum sandbox_mode mode, struct parsers *parsers);

/* The same for this process, which reads recordings. */
int confined_read(enum sandbox_mode mode, const struct confine_reader *reader);

#endif
