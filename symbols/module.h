/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_MODULE_H
#define DP_SYMBOLS_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "symbols/place_cache.h"

struct debug_info;
struct disk_cache;
struct go_names;
struct jit;

/* Path of a module that is no file: what a process has compiled itself. */
#define MODULE_JIT "[jit]"
struct symtab;

/*
 * A binary that code was sampled in, as far as names need it. Its symbols and its
 * debug information are read when the first of them is asked for; `fd` or `memory`
 * stay valid, so that the file may be deleted and the process gone.
 */
struct module {
	char *path;           /* as the process sees it, or "[vdso]" */
	const char *name;     /* last part of the path */
	const char *build_id; /* hex, its first 20 bytes at most; "" if there is none */
	int fd;               /* owned; -1: the module is in memory */
	int64_t size;         /* of the file, when it was opened, and its times of last change */
	struct timespec written, changed;
	const void *memory;
	size_t memory_size;
	int debug_fd; /* owned; a separate debug file in the root of its process; 0: none was found */
	struct jit *jit; /* it is what a process has compiled itself, in no file; the caller's */
	struct go_names *go; /* its Go code; NULL: there is none */
	bool go_tried;
	struct symtab *symtab;
	bool symtab_tried;
	struct debug_info *debug; /* closed when those of all modules become too large */
	bool no_debug;            /* there is none */
	bool servers_tried;       /* they were asked, or need not be */
	struct place_cache places;
	bool places_tried; /* those that were kept on disk were looked for */
	bool keeps_places; /* they are worth it: from debug information, which takes time to open */
	bool is_partial;   /* but some are not all that could be said */
	size_t n_new;      /* addresses that were looked up, and are not kept yet */
	struct module *prev, *next; /* in the list of those with open debug information */
};

/*
 * Memory that the debug information of all modules may take together, about. What was
 * found in it stays known when it is closed.
 */
#define MODULE_DEBUG_MEMORY (UINT64_C(512) << 20)
/* How many modules may have it open, each with a file descriptor or two. */
#define MODULE_DEBUG_OPEN 256

/*
 * Keep places from now on where the next run will find them: another cache than others
 * put files into, though it may be of the same directory. Taken over, and closed when this
 * is called again; NULL: nowhere.
 */
void module_set_cache(const struct disk_cache *where);

/* Was its file written to since it was opened? What is in it now is other code then. */
bool module_is_written_to(const struct module *module);

/* Takes over path and fd. build_id stays the caller's. */
void module_init(struct module *module, char *path, const char *build_id, int fd);
void module_done(struct module *module);

/* Read its names now, if they are wanted, and close the file. */
void module_close(struct module *module, bool names);

/*
 * Where an address of a process is in a module without a file, for module_find_places(),
 * if it was met at that time (CLOCK_MONOTONIC ns). To be asked soon: what is there changes.
 */
uint64_t module_locate(struct module *module, uint64_t address, uint64_t time);

/*
 * The places of an address of the module's own address space: of Go code by Go's own tables,
 * of other code by debug information, else the function alone, by symbols. With `lines`, files and lines are looked up, too. The
 * places live until the next look-up. Returns how many there are: 0 if nothing is known, if
 * the file was written to since, or names are not wanted any more (names.h).
 */
size_t module_find_places(struct module *module, uint64_t address, bool lines,
			  const struct place **ret);

/* Where the function of an address begins, by Go's tables or by symbols: 0 or -ENOENT. */
int module_find_start(struct module *module, uint64_t address, uint64_t *ret);

/*
 * Close debug information, the least recently used first, until what is left takes no
 * more memory than that, and is of MODULE_DEBUG_OPEN modules at most. Done after each
 * look-up, with MODULE_DEBUG_MEMORY.
 */
void module_limit_debug(uint64_t memory);

#endif
