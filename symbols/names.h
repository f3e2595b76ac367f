/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_NAMES_H
#define DP_SYMBOLS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names of code: how they are shown, and all that is kept to find them: the modules that
 * code was met in (module.h), what processes compile (jit.h), what servers were asked for
 * (debug_server.h), where locations are kept on disk. Nothing of that is the process's: there may be
 * several of these at once, with different options, and none knows of another.
 *
 * One thread at a time looks up the names of one of these; others may make and free modules
 * meanwhile.
 */
struct names;
struct debug_server;
struct disk_cache;

/* What names look like, and what is looked up besides them. */
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

/* The options are copied. 0 or -ENOMEM. */
int names_new(const struct names_options *options, struct names **ret);
/* Also frees the modules that are left. NULL is nothing. */
struct names *names_free(struct names *names);

const struct names_options *names_options(const struct names *names);

/*
 * Keep locations from now on where the next run will find them: another cache than others
 * put files into, though it may be of the same directory. What was found until now is put into the one
 * before, which is closed. The new one is taken over; NULL: nowhere. While no name is looked up.
 */
void names_set_cache(struct names *names, const struct disk_cache *where);

/*
 * Close the debug information of modules, the least recently used first, until what is left takes
 * no more memory than that, and is of MODULE_DEBUG_OPEN modules at most. Done after each
 * look-up, with MODULE_DEBUG_MEMORY.
 */
void names_limit_debug(struct names *names, uint64_t memory);

/*
 * Sampling is over. Some programs write all they have to say when they exit: files of compiled
 * code are read once more before the next name, however short ago that was done. From any thread.
 */
void names_settle(struct names *names);

/*
 * From now on no name is found, at once, of any binary or of the kernel, and a
 * symbol table that is being read is given up. From any thread, and async-signal-safe: it
 * is what the second Ctrl-C does.
 */
void names_disable(struct names *names);
bool names_disabled(const struct names *names);

/* Who is asked for debug files; it lives as long as the names. */
struct debug_server *names_debug_server(struct names *names);

#endif
