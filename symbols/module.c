// SPDX-License-Identifier: Apache-2.0
#include "symbols/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "symbols/debug_info.h"
#include "symbols/debug_server.h"
#include "symbols/dwfl_file.h"
#include "symbols/go_names.h"
#include "symbols/jit.h"
#include "symbols/names_parts.h"
#include "symbols/location_file.h"
#include "symbols/symtab.h"

void module_set_file(struct module *module, int fd)
{
	struct stat st;

	module->fd = fd;
	if (fd >= 0 && fstat(fd, &st) == 0) {
		module->size = st.st_size;
		module->written = st.st_mtim;
		module->changed = st.st_ctim;
	}
}

void module_set_build_id(struct module *module, const char *build_id)
{
	snprintf(module->build_id, sizeof(module->build_id), "%s", build_id);
}

struct module *module_new(struct names *names, const char *path, const char *build_id, int fd)
{
	struct module *module = calloc(1, sizeof(*module));
	char *copy = strdup(path), *slash;

	if (!module || !copy) {
		free(module);
		free(copy);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	slash = strrchr(copy, '/');
	module->names = names;
	module->path = copy;
	module->name = slash ? slash + 1 : copy;
	module->locations.style = names->options.demangle;
	module_set_build_id(module, build_id);
	module_set_file(module, fd);
	pthread_mutex_lock(&names->lock);
	DL_APPEND(names->modules, module);
	pthread_mutex_unlock(&names->lock);
	return module;
}

struct module *module_new_jit(struct names *names)
{
	struct module *module = module_new(names, MODULE_JIT, "", -1);

	if (module && jit_new(names, &module->jit) < 0)
		return module_free(module);
	return module;
}

void module_hold(struct module *module)
{
	module->n_holds++;
}

void module_drop(struct module *module, uint64_t now_ns)
{
	module->n_holds--;
	module->dropped_ns = now_ns;
}

bool module_is_let_go(const struct module *module, uint64_t closed_ns, uint64_t oldest_ns)
{
	return module->n_holds == 0 && module->dropped_ns < oldest_ns && closed_ns < oldest_ns;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool module_is_written_to(const struct module *module)
{
	struct stat st;

	return module->fd >= 0 && (fstat(module->fd, &st) < 0 || st.st_size != module->size ||
				   !is_same_time(&st.st_mtim, &module->written));
}

/* Of a debug file that was found in the root of a process anyone may be the author. */
static bool can_keep_locations(const struct module *module)
{
	struct stat st;

	return module->names->cache.fd >= 0 && module->fd >= 0 && module->build_id[0] != '\0' &&
	       module->debug_fd <= 0 && fstat(module->fd, &st) == 0 &&
	       is_same_time(&st.st_mtim, &module->written) &&
	       is_same_time(&st.st_ctim, &module->changed);
}

/* What an earlier run has found. Without it, or if it is damaged, it is found again. */
static void read_locations(struct module *module)
{
	const struct names *names = module->names;

	if (module->locations_tried)
		return;
	module->locations_tried = true;
	if (can_keep_locations(module) &&
	    location_file_read(&names->cache, &names->options, module->build_id, module->fd,
			       &module->locations) == 0)
		module->keeps_locations = true;
}

/*
 * Where there is no debug information, locations are found as fast again, and it may come;
 * so may the part of it that is in other files.
 */
void module_keep_locations(struct module *module)
{
	struct names *names = module->names;

	if (module->n_new > 0 && module->keeps_locations && !module->is_partial &&
	    !module->no_debug && can_keep_locations(module) &&
	    location_file_write(&names->cache, &names->options, module->build_id, module->fd,
				&module->locations) == 0)
		module->n_new = 0;
}

void module_close_debug(struct module *module)
{
	struct names *names = module->names;

	if (!module->debug)
		return;
	DL_DELETE2(names->open, module, prev_open, next_open);
	names->n_open--;
	names->open_memory -= debug_info_memory(module->debug);
	module->debug = debug_info_free(module->debug);
}

static void module_close_debug_file(struct module *module)
{
	if (module->debug_fd > 0)
		close(module->debug_fd);
	module->debug_fd = 0;
}

struct module *module_free(struct module *module)
{
	struct names *names;

	if (!module)
		return NULL;
	names = module->names;
	pthread_mutex_lock(&names->lock);
	DL_DELETE(names->modules, module);
	pthread_mutex_unlock(&names->lock);
	module_keep_locations(module);
	module_close_debug(module);
	location_cache_done(&module->locations);
	go_names_free(module->go);
	symtab_free(module->symtab);
	if (module->fd >= 0)
		close(module->fd);
	module_close_debug_file(module);
	jit_free(module->jit);
	free(module->memory);
	free(module->path);
	free(module);
	return NULL;
}

static struct dwfl_source module_source(const struct module *module)
{
	return (struct dwfl_source){
		.names = module->names,
		.fd = module->fd,
		.memory = module->memory,
		.size = module->memory_size,
		.path = module->path,
		.debug_fd = module->debug_fd,
	};
}

static bool module_open_symtab(struct module *module)
{
	const struct dwfl_source source = module_source(module);

	if (!module->symtab_tried) {
		module->symtab_tried = true;
		/* A file whose symbols cannot be read is one without symbols. */
		if (!module_is_written_to(module))
			(void)symtab_new(&source, &module->symtab);
	}
	return module->symtab != NULL;
}

/* Go's tables are mapped: what was written to them since is other code. */
static bool module_open_go(struct module *module)
{
	if (!module->go_tried) {
		module->go_tried = true;
		if (module->fd >= 0 && !module_is_written_to(module))
			(void)go_names_new(module->fd, &module->go);
	}
	return module->go && !module_is_written_to(module);
}

/* Without memory for a copy of the names there are none. */
static void module_detach_go(struct module *module)
{
	if (module->go && (module_is_written_to(module) || go_names_detach(module->go) < 0))
		module->go = go_names_free(module->go);
}

void module_close(struct module *module, bool names)
{
	if (module->jit) {
		jit_close(module->jit);
		return;
	}
	module_keep_locations(module);
	if (names) {
		(void)module_open_go(module);
		(void)module_open_symtab(module);
	}
	module->symtab_tried = module->go_tried = true;
	module_detach_go(module);
	if (module->symtab)
		(void)symtab_detach(module->symtab);
	module_close_debug(module);
	module->no_debug = true;
	if (module->fd >= 0)
		close(module->fd);
	module->fd = -1;
	module_close_debug_file(module);
}

static bool module_open_debug(struct module *module)
{
	const struct dwfl_source source = module_source(module);
	struct names *names = module->names;
	int err;

	if (module->debug) {
		DL_DELETE2(names->open, module, prev_open, next_open);
	} else {
		if (module->no_debug || module_is_written_to(module))
			return false;
		err = debug_info_new(&source, &module->debug);
		module->no_debug = err < 0;
		if (err < 0)
			return false;
		module->keeps_locations = true;
		names->n_open++;
		names->open_memory += debug_info_memory(module->debug);
	}
	DL_APPEND2(names->open, module, prev_open, next_open);
	return true;
}

/* The function, with the line that runs, and what was inlined into it, unless that is not wanted. */
static size_t limit_inlines(const struct module *module, struct source_location *locations,
			    size_t n)
{
	if (n <= 1 || !module->names->options.no_inlines)
		return n;
	locations[0].function = locations[n - 1].function;
	locations[0].inlined = false;
	return 1;
}

/* By Go's own tables: how many there are. */
static size_t find_go_places(struct module *module, uint64_t address, bool lines,
			     struct source_location locations[LOCATION_MAX])
{
	if (!module_open_go(module))
		return 0;
	return limit_inlines(module, locations,
			     go_names_find(module->go, address, lines, locations));
}

/* By debug information: how many there are. */
static size_t find_debug_places(struct module *module, uint64_t address, bool lines,
				struct source_location locations[LOCATION_MAX])
{
	const struct names_options *options = &module->names->options;
	size_t before;
	int n;

	if ((options->no_inlines && !lines) || !module_open_debug(module))
		return 0;
	before = debug_info_memory(module->debug);
	n = debug_info_find(module->debug, address, lines, locations);
	module->is_partial |= n < 0 || !debug_info_is_whole(module->debug);
	module->names->open_memory += debug_info_memory(module->debug) - before;
	return n > 0 ? limit_inlines(module, locations, (size_t)n) : 0;
}

/*
 * The function by symbol tables: also where debug information knows it, so that it is
 * called the same with and without. That has `__libc_start_main_impl` and `__GI_exit`
 * where the tables have public names, and of local functions often only the last part.
 */
static void add_symbol(struct module *module, uint64_t address, struct source_location *locations,
		       size_t *n)
{
	const char *symbol = NULL;

	if (names_disabled(module->names))
		return;
	if (module_open_symtab(module))
		symbol = symtab_find_symbol(module->symtab, address);
	if (!symbol && *n == 0 && module_open_go(module))
		symbol = go_names_find_other(module->go, address);
	if (!symbol)
		return;
	if (*n == 0)
		locations[(*n)++] = (struct source_location){ 0 };
	locations[*n - 1].function = symbol;
}

uint64_t module_locate(struct module *module, uint64_t address, uint64_t time)
{
	return module->jit ? jit_locate(module->jit, address, time) : address;
}

/* What was not found while samples were taken, servers may have: look all up again. */
static void try_servers(struct module *module)
{
	if (module->servers_tried || !debug_server_is_allowed(module->names->server))
		return;
	module->servers_tried = true;
	if (!module->no_debug || module->fd < 0 || module_is_written_to(module))
		return;
	module->no_debug = false;
	module->symtab = symtab_free(module->symtab);
	module->symtab_tried = false;
	location_cache_done(&module->locations);
	module->locations_tried = module->keeps_locations = false; /* what was kept is read again */
	module->n_new = 0;
}

/* As module_find_locations(), of what is not known yet. 0 or a negative errno. */
static int look_up(struct module *module, uint64_t address, bool lines)
{
	struct source_location locations[LOCATION_MAX];
	size_t n = find_go_places(module, address, lines, locations);
	int err;

	if (n > 0)
		return location_cache_add_go(&module->locations, address, lines, locations, n);
	n = find_debug_places(module, address, lines, locations);
	add_symbol(module, address, locations, &n);
	/* What was found while names were given up is not the whole. */
	err = names_disabled(module->names) ?
		      -ECANCELED :
		      location_cache_add(&module->locations, address, lines, locations, n);
	if (err == 0)
		module->n_new++;
	return err;
}

size_t module_find_locations(struct module *module, uint64_t address, bool lines,
			     const struct source_location **ret)
{
	struct names *names = module->names;
	size_t n;

	lines = lines && !names->options.no_lines;
	if (names->options.none || names_disabled(names))
		return 0;
	if (module->jit)
		return jit_find(module->jit, address, lines, ret);
	try_servers(module);
	read_locations(module);
	if (location_cache_find(&module->locations, address, lines, ret, &n))
		return n;
	/* A full cache starts anew, and less would be kept than before. */
	module->is_partial |= module->locations.n_entries == LOCATION_CACHE_MAX;
	if (look_up(module, address, lines) < 0 ||
	    !location_cache_find(&module->locations, address, lines, ret, &n))
		n = 0;
	names_limit_debug(names, MODULE_DEBUG_MEMORY);
	return n;
}

int module_find_start(struct module *module, uint64_t address, uint64_t *ret)
{
	/* Places that were kept on disk do not take the symbols. */
	if (module->jit || module->names->options.none || names_disabled(module->names))
		return -ENOENT;
	if (module_open_go(module) && go_names_find_start(module->go, address, ret) == 0)
		return 0;
	return module_open_symtab(module) ? symtab_find_start(module->symtab, address, ret) :
					    -ENOENT;
}
