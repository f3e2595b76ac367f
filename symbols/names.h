/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_NAMES_H
#define DP_SYMBOLS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Names of code: how they are displayed, and everything kept to find them: the modules that were
 * sampled (module.h), generated code (jit.h), requests to servers (debug_server.h), and locations
 * kept on disk. It uses no global state, so there may be several independent ones with different
 * options.
 *
 * Only one thread at a time may look up names in one of these. Others may create and free modules
 * meanwhile.
 */
struct names;
struct debug_server;
struct disk_cache;
struct failures;

/* How names are displayed. */
enum names_demangle {
	NAMES_DEMANGLE_SIMPLE, /* demangled, without parameters and suffixes of clones */
	NAMES_DEMANGLE_NONE,   /* as in the symbol table */
	NAMES_DEMANGLE_FULL,   /* demangled, with everything */
};

/* The default time limit for servers. */
#define NAMES_DEBUGINFOD_NS UINT64_C(60000000000)

struct names_options {
	bool none;       /* addresses only */
	bool no_inlines; /* without inlined functions */
	bool no_lines;   /* without files and lines */
	enum names_demangle demangle;
	bool no_debuginfod;     /* no server is asked for debug files (debug_server.h) */
	uint64_t debuginfod_ns; /* otherwise, time limit for all requests together */
	bool go_last;           /* whoever looks them up does so when others leave time for it */
};

/* Copies the options. 0 or -ENOMEM. */
int names_new(const struct names_options *options, struct names **ret);
/* Also frees remaining modules. NULL is allowed. */
struct names *names_free(struct names *names);

const struct names_options *names_options(const struct names *names);

/* What looks up names, a process or a thread of any, gets a low priority if the options say so. */
void names_go_last(const struct names *names, pid_t task);

/*
 * From now on keeps locations on disk for later runs. `where` must not be used by others, though
 * they may have opened the same directory; it is taken over. NULL: keeps none. Locations found so
 * far are written to the previous cache, which is then closed. Not during a look-up.
 */
void names_set_cache(struct names *names, const struct disk_cache *where);

/* A reference to the directory of the cache; -1: there is none. */
int names_cache_directory(const struct names *names);

/* Of those who read for these names, or read tables of their binaries (failures.h). */
struct failures *names_failures(struct names *names);

/* Opens a file as the binaries that a recording names are (name_reader.h): a descriptor or an error. */
int names_open_file(const struct names *names, const char *path);

/*
 * Closes debug information of modules, least recently used first, until the rest takes at most
 * `memory` bytes and is of at most MODULE_DEBUG_OPEN modules. Each look-up ends with this, with
 * MODULE_DEBUG_MEMORY.
 */
void names_limit_debug(struct names *names, uint64_t memory);

/* The memory that open debug information takes. */
uint64_t names_debug_memory(const struct names *names);

/* What is kept of addresses that were looked up, in bytes, its limits (0: any), and how often a binary's was freed. */
struct names_kept {
	uint64_t symbols, strings, max_symbols, max_strings, n_forgotten;
};

/*
 * From now on frees what is kept of the addresses of binaries, first of those in which none was looked up for
 * longest, while all of it takes more: the names alone `strings`, the rest `symbols`; 0: any. The addresses are
 * looked up again. Each look-up begins with this, and what it finds may exceed it.
 */
void names_set_limits(struct names *names, uint64_t symbols, uint64_t strings);
/* Callable from any thread. */
struct names_kept names_kept(const struct names *names);

/* Ends processes that have read nothing for so long. Not during a look-up. NULL is allowed. */
void names_rest(struct names *names, uint64_t idle_ns);

/*
 * Sampling has ended. Some programs write their files about generated code only when they exit, so
 * the next look-up reads these files again even if they were just read. Callable from any thread.
 */
void names_settle(struct names *names);

/*
 * From now on all look-ups, of binaries and of the kernel, end at once without a name, including
 * the reading of a symbol table. Callable from any thread and async-signal-safe: the second Ctrl-C
 * calls it.
 */
void names_disable(struct names *names);
bool names_disabled(const struct names *names);

/*
 * The profile is over, and its user waits: whoever reads names does not wait for long for files that may
 * not answer. Callable from any thread.
 */
void names_hurry(struct names *names);
bool names_hurried(const struct names *names);

/* For requests for debug files; lives as long as the names. */
struct debug_server *names_debug_server(struct names *names);

#endif
