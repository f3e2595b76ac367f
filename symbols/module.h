/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_MODULE_H
#define DP_SYMBOLS_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "symbols/location_cache.h"

struct debug_info;
struct function_starts;
struct go_names;
struct jit;
struct names;
struct plt;
struct symtab;

/* Path of a module that is no file: what a process has compiled itself. */
#define MODULE_JIT "[jit]"

/* Of a build id in hex, cut to 20 bytes, and its zero. */
#define MODULE_BUILD_ID_SIZE (2 * 20 + 1)

/*
 * A binary that code was sampled in, as far as names need it. Its symbols and its
 * debug information are read when the first of them is asked for; `fd` or `memory`
 * stay valid, so that the file may be deleted and the process gone. All that it has is its own,
 * and it is its names' (names.h), which free it if nobody has before.
 */
struct module {
	struct names *names;
	char *path;                          /* as the process sees it, or "[vdso]" */
	const char *name;                    /* last part of the path */
	char build_id[MODULE_BUILD_ID_SIZE]; /* "" if there is none */
	int fd;                              /* -1: the module is in memory */
	int64_t size; /* of the file, when it was opened, and its times of last change */
	struct timespec written, changed;
	void *memory; /* from malloc() */
	size_t memory_size;
	int debug_fd;    /* a separate debug file in the root of its process; 0: none was found */
	struct jit *jit; /* it is what a process has compiled itself, in no file */
	struct go_names *go; /* its Go code; NULL: there is none */
	bool go_tried;
	struct symtab *symtab;
	bool symtab_tried;
	struct function_starts
		*starts; /* its functions, those without a name, too; NULL: not known */
	bool starts_tried;
	struct plt *plt; /* its stubs; NULL: there are none */
	bool plt_tried;
	struct debug_info *debug; /* closed when those of all its names' modules become too large */
	bool no_debug;            /* there is none */
	bool servers_tried;       /* they were asked, or need not be */
	struct location_cache locations;
	bool locations_tried; /* those that were kept on disk were looked for */
	bool keeps_locations; /* they are worth it: from debug information, which takes time to open */
	bool is_partial;      /* but some are not all that could be said */
	size_t n_new;         /* addresses that were looked up, and are not kept yet */
	size_t n_holds;       /* module_hold() */
	uint64_t dropped_ns;                  /* when the last of these ended; 0: there was none */
	struct module *prev, *next;           /* in the list of all of its names */
	struct module *prev_open, *next_open; /* and in that of those with open debug information */
};

/*
 * Memory that the debug information of all modules of a struct names may take, about. What was
 * found in it stays known when it is closed.
 */
#define MODULE_DEBUG_MEMORY (UINT64_C(512) << 20)
/* How many modules may have it open, each with a file descriptor or two. */
#define MODULE_DEBUG_OPEN 256

/* Is its code what a process has compiled, in no file? */
static inline bool module_is_compiled(const struct module *module)
{
	return module->jit != NULL;
}

/*
 * Was its file written to since it was opened? What is in it now is other code then. On another
 * machine, that is known as soon as this one's kernel is told; nobody is waited for.
 */
bool module_is_written_to(const struct module *module);

/*
 * The build id is as struct module has it. Takes over fd, also if memory is short, for which it returns
 * NULL. From any thread.
 */
struct module *module_new(struct names *names, const char *path, const char *build_id, int fd);
/* Of what a process compiles: with a struct jit. NULL if memory is short. */
struct module *module_new_jit(struct names *names);

/*
 * Samples that are in no report yet refer to it, or what is kept of them besides; and do not any
 * more, but reports may since now (CLOCK_MONOTONIC). Both by the thread that has made it.
 */
void module_hold(struct module *module);
void module_drop(struct module *module, uint64_t now_ns);
/* If it was closed at that time: can reports that began then or later not refer to it? */
bool module_is_let_go(const struct module *module, uint64_t closed_ns, uint64_t oldest_ns);

/* Before its names are freed: nothing refers to it any more. NULL is nothing. */
struct module *module_free(struct module *module);

/* Give it its build id, which was read later, before anybody else knows of the module. */
void module_set_build_id(struct module *module, const char *build_id);

/* Give it its file, which was found later. Takes over fd; -1: it has none. */
void module_set_file(struct module *module, int fd);

/* Read its names now, if they are wanted, and close the file. */
void module_close(struct module *module, bool names);

/*
 * Where an address of a process is in a module without a file, for module_find_locations(),
 * if it was met at that time (CLOCK_MONOTONIC ns). To be asked soon: what is there changes.
 */
uint64_t module_locate(struct module *module, uint64_t address, uint64_t time);

/*
 * The locations of an address of the module's own address space: of Go code by Go's own tables,
 * of other code by debug information, else the function alone, by symbols. With `lines`, files and lines are looked up, too. The
 * locations live until the next look-up. Returns how many there are: 0 if nothing is known, if
 * the file was written to since, or names are not wanted any more (names.h).
 */
size_t module_find_locations(struct module *module, uint64_t address, bool lines,
			     const struct source_location **ret);

/* Is its file open, or in memory, and as it was? */
bool module_has_file(const struct module *module);

/* Is there anything that names are looked for in, or was it there until the module was closed? */
bool module_has_source(const struct module *module);

/*
 * Where the function of an address begins, by Go's tables or by symbols, else by unwind
 * information, which knows functions without a name: 0 or -ENOENT.
 */
int module_find_start(struct module *module, uint64_t address, uint64_t *ret);

/* Close its debug information, if that is open. */
void module_close_debug(struct module *module);

/* Keep the locations that were found and are not kept yet, if they are to be (names_set_cache()). */
void module_keep_locations(struct module *module);

#endif
