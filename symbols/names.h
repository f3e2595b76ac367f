/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_NAMES_H
#define DP_SYMBOLS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether names are wanted at all. They can take long: the symbols of a large
 * binary are read when the first of its names is asked for.
 */

/* What names look like, and what is looked up besides them. The same for the whole run. */
enum names_demangle {
	NAMES_DEMANGLE_SIMPLE, /* demangled, without parameters, and without the endings of clones */
	NAMES_DEMANGLE_NONE,   /* as the linker has them */
	NAMES_DEMANGLE_FULL,   /* demangled, with all there is */
};

/* How long servers may take by default. */
#define NAMES_DEBUGINFOD_NS UINT64_C(60000000000)

struct names_options {
	bool none;       /* addresses only */
	bool no_inlines; /* functions that were inlined are not looked up */
	bool no_lines;   /* nor are files and lines */
	enum names_demangle demangle;
	bool no_debuginfod;     /* no servers are asked for debug files (debug_server.h) */
	uint64_t debuginfod_ns; /* else, for so long in all */
};

/* To be called before the first name is looked up, if anything is to be other than zero. */
void names_set_options(const struct names_options *options);
const struct names_options *names_options(void);

/*
 * From now on no name is found, at once, of any binary or of the kernel, and a
 * symbol table that is being read is given up. Async-signal-safe: it is what
 * the second Ctrl-C does.
 */
void names_disable(void);
bool names_disabled(void);

#endif
