/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_NAMES_PARTS_H
#define DP_SYMBOLS_NAMES_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "cache/disk_cache.h"
#include "symbols/failures.h"
#include "symbols/jit_reader.h"
#include "symbols/location_cache.h"
#include "symbols/name_reader.h"
#include "symbols/names.h"

/* The definition of struct names, for this folder only, with state shared by several modules. */
struct names {
	struct names_options options;
	atomic_bool is_disabled, is_hurried;
	struct debug_server *server;
	const struct name_reader *reader; /* NULL: this process reads names itself */
	void *reader_arg;
	struct failures failures;
	/* module.c, name_source_debug.c */
	pthread_mutex_t lock;   /* protects `modules` and their links */
	struct module *modules; /* all of its modules */
	struct module *open;    /* with open debug information, the least recently used first */
	size_t n_open;
	uint64_t open_memory;              /* memory that their debug information takes */
	struct disk_cache cache;           /* for locations; counts only what is added through it */
	struct location_memory kept;       /* memory of cached locations */
	uint64_t max_symbols, max_strings; /* its limits; 0: none */
	uint64_t n_look_ups;               /* so far; orders modules by their last use */
	_Atomic uint64_t n_forgotten;      /* modules whose locations were freed */
	/* name_source_symtab.c */
	_Atomic uint64_t symbol_memory; /* that all modules' symbols take */
	/* jit.c */
	const struct jit_reader *jit_reader; /* NULL: this process reads the files itself */
	void *jit_reader_arg;
	_Atomic uint64_t jit_memory;       /* for generated code of all processes */
	_Atomic unsigned int n_settled;    /* number of calls of names_settle() */
	_Atomic unsigned int n_excess;     /* files that were too large */
	_Atomic unsigned int n_excess_all; /* files for which no memory was left */
};

/* names_set_limits() */
void names_limit_locations(struct names *names);

#endif
