/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_LOCATION_H
#define DP_SYMBOLS_LOCATION_H

#include <stdbool.h>

/*
 * Where in the source an address is. One address is in several locations where
 * functions were inlined into each other: the innermost comes first, with the line
 * of the address itself, then what it was inlined into, with the line of the call.
 */
struct source_location {
	const char *function; /* demangled; NULL: not known */
	const char *file;     /* as the compiler was told it; NULL: not known */
	const char *dir;      /* what a relative file is relative to; NULL: not known, or joined */
	unsigned int line;    /* 0: not known */
	unsigned int column;  /* 0: not known */
	bool inlined;         /* into the place that follows */
};

/* Inlined calls deeper than this are left out, the outermost function is not. */
#define LOCATION_MAX 256

#endif
