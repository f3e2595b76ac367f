/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_NAMES_PARTS_H
#define DP_SYMBOLS_NAMES_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "cache/disk_cache.h"
#include "symbols/names.h"

/* struct names as the files of this folder see it, which keep in it what is of several modules. */
struct names {
	struct names_options options;
	atomic_bool is_disabled;
	struct debug_server *server;
	/* module.c, name_source_debug.c */
	pthread_mutex_t lock;   /* of `modules` and their links */
	struct module *modules; /* all there are */
	struct module *open;    /* with open debug information, the least recently used first */
	size_t n_open;
	uint64_t open_memory;    /* that their debug information takes */
	struct disk_cache cache; /* where locations are kept; only this counts what it adds */
	/* jit.c */
	_Atomic uint64_t jit_memory;    /* that compiled code takes, of all processes */
	_Atomic unsigned int n_settled; /* how often names_settle() was called */
};

#endif
