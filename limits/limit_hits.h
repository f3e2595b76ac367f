/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LIMITS_LIMIT_HITS_H
#define DP_LIMITS_LIMIT_HITS_H

#include <stdbool.h>
#include <stdint.h>

#include "limits/limit.h"

/*
 * Which limits what was read of a file or process has hit. They are hit deep inside of readers, which
 * leave out what is beyond and go on; so each thread notes them in a set, of whoever has asked for it.
 */

/* The limits of limits.def, in its order. */
enum limit_number {
#define GROUP(name)
#define LIMIT(name, unit, what, told, beyond) LIMIT_NUMBER_##name,
#include "limits/limits.def"
#undef GROUP
#undef LIMIT
	LIMITS_N
};

struct limit_hits {
	uint64_t bits[(LIMITS_N + 63) / 64];
};

/* From now on, this thread notes hits here; NULL: nowhere. Returns where it did before. */
struct limit_hits *limit_hits_collect(struct limit_hits *to);

/* Notes one whose row says NAMES. */
#define LIMIT_HIT(name) limit_hit(LIMIT_NUMBER_##name)
void limit_hit(enum limit_number limit);
/* The same for all of a set, which another process may have made: of other limits, none is noted. */
void limit_hits_pass(const struct limit_hits *hits);

bool limit_hits_any(const struct limit_hits *hits);

/* Adds `from` to `to`. Returns whether there are new ones, and these. */
bool limit_hits_add(struct limit_hits *to, const struct limit_hits *from,
		    struct limit_hits *ret_new);

/*
 * What limits leave out: "names are incomplete: beyond 4 KiB (a name that is demangled), longer ones remain
 * mangled (DEMANGLE_MAX_MANGLED)". The caller frees it; NULL: memory is short.
 */
char *limit_hits_text(const struct limit_hits *hits);

#endif
