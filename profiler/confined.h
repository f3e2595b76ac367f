/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_CONFINED_H
#define DP_PROFILER_CONFINED_H

#include "sandbox/parsers.h"

struct names;

/*
 * Has foreign files parsed by confined processes, as --sandbox asks for: by parsers and, if `names` is
 * not NULL, its binaries by namers, until names_set_reader() or names_free().
 *
 * `helper` is the program for parsers_new(); NULL: there is none. *ret_parsers, for parsers_drop(), is
 * NULL where this process parses, which a warning says unless that was asked for.
 * If they are required, nothing is parsed by others; confined_check() waits to see whether they can be
 * had. Both return 0, or -EOPNOTSUPP, logged, if they are required and cannot.
 */
int confined_begin(enum sandbox_mode mode, const char *helper, struct names *names,
		   struct parsers **ret_parsers);
int confined_check(enum sandbox_mode mode, struct parsers *parsers);

/* The same for this process, which reads recordings. */
int confined_read(enum sandbox_mode mode, const struct confine_reader *reader);

#endif
