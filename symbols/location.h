/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_LOCATION_H
#define DP_SYMBOLS_LOCATION_H

#include <stdbool.h>

/*
 * The source location of an address. Where functions were inlined, an address has several: first
 * the innermost function with the line of the address itself, then each function that it was
 * inlined into, with the line of the call.
 */
struct source_location {
	const char *function; /* demangled; NULL: unknown */
	const char *file;     /* as passed to the compiler; NULL: unknown */
	const char *dir;      /* base of a relative file; NULL: unknown, or already joined */
	unsigned int line;    /* 0: unknown */
	unsigned int column;  /* 0: unknown */
	bool inlined;         /* into the location that follows */
};

#endif
