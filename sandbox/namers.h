/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_NAMERS_H
#define DP_SANDBOX_NAMERS_H

#include <stdint.h>

#include "sandbox/parsers.h"
#include "symbols/names.h"

/*
 * The namers (namer.h) of one struct names, which read the names of its binaries from now on
 * (name_reader.h). A namer gets files of one owner on one device only, and debug files that opener.h
 * allows. What a file does to its namer costs the names of that binary, and a warning says so: a namer
 * that crashes, exhausts its memory or takes too long is replaced, and others' files are opened again.
 *
 * Where no namer can be started at all, or all end before they get a file, this process reads names,
 * with a warning; not if confined processes are required (parsers_require()). Then, or if none can be
 * started for a while, names are missing, with a warning.
 */
struct namers;

/* `parsers` starts them, and is held. names_set_reader() ends them. 0 or -ENOMEM. */
int namers_start(struct parsers *parsers, struct names *names, struct namers **ret);

/* Replaces NAMERS_TIME_NS. For tests. */
void namers_set_time_limit(struct namers *all, uint64_t limit_ns);

/* How many binaries have no names because of what happened to their namers. */
unsigned int namers_n_failed(const struct namers *all);

#endif
