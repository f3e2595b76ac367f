// SPDX-License-Identifier: Apache-2.0
#include "symbols/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "base/array.h"
#include "base/file_stat.h"
#include "elf/code_lines.h"
#include "elf/code_pages.h"
#include "elf/mapped_file.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "symbols/code_source.h"
#include "symbols/debug_server.h"
#include "symbols/dwfl_file.h"
#include "symbols/jit.h"
#include "symbols/location_file.h"
#include "symbols/module_limits.h"
#include "symbols/name_reader.h"
#include "symbols/name_source.h"
#include "symbols/names_parts.h"

void module_set_file(struct module *module, int fd)
{
	struct stat st;

	module->fd = fd;
	if (fd >= 0 && file_stat(fd, &st) == 0) {
		module->size = st.st_size;
		module->written = st.st_mtim;
		module->changed = st.st_ctim;
	}
}

void module_set_build_id(struct module *module, const char *build_id)
{
	snprintf(module->build_id, sizeof(module->build_id), "%s", build_id);
}

void module_set_pages(struct module *module, struct code_pages *pages, size_t n)
{
	free(module->pages);
	module->pages = pages;
	module->n_pages = n;
}

int module_find_pages(const struct module *module, struct code_pages **ret, size_t *ret_n)
{
	const struct names *names = module->names;

	if (!module->pages && module->fd >= 0 && names->reader && names->reader->find_pages)
		return names->reader->find_pages(names->reader_arg, module, ret, ret_n);
	if (!module->pages)
		return code_pages_read(module->fd, module->memory, module->memory_size, ret, ret_n);
	*ret = malloc(module->n_pages * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, module->pages, module->n_pages * sizeof(**ret));
	*ret_n = module->n_pages;
	return 0;
}

int module_disassemble(const struct module *module, uint64_t start, uint64_t end,
		       struct code_line **ret, size_t *ret_n)
{
	const struct names *names = module->names;
	struct elf_file file;
	int err;

	if (names->reader && names->reader->disassemble)
		return names->reader->disassemble(names->reader_arg, module, start, end, ret,
						  ret_n);
	err = elf_file_init_fd_only(&file, module->fd);
	if (err < 0)
		return err;
	err = code_lines_read(&file, start, end, ret, ret_n);
	elf_file_done(&file);
	return err;
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
	module->locations.memory = &names->kept;
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

bool module_is_written_to(const struct module *module)
{
	struct stat st;

	return module->fd >= 0 && (file_stat(module->fd, &st) < 0 || st.st_size != module->size ||
				   !file_time_is_same(&st.st_mtim, &module->written));
}

/*
 * A debug file from the root of a process may be forged by anyone; so may a file that is only referred to,
 * and to look at it may wait.
 */
static bool can_keep_locations(const struct module *module)
{
	struct stat st;

	return module->names->cache.fd >= 0 && module->fd >= 0 && module->build_id[0] != '\0' &&
	       module->debug_fd <= 0 && !file_is_reference(module->fd) &&
	       fstat(module->fd, &st) == 0 && file_time_is_same(&st.st_mtim, &module->written) &&
	       file_time_is_same(&st.st_ctim, &module->changed);
}

static int read_digest(void *arg, int fd, struct file_digest *ret)
{
	const struct module *module = arg;
	const struct names *names = module->names;
	uint64_t begun = clock_now_ns();
	int err;

	if (!names->reader || !names->reader->read_digest)
		err = file_digest_read(fd, ret);
	else
		err = names->reader->read_digest(names->reader_arg, module, ret);
	log_debug("%s: hashed in %.3f ms", module->path, (double)(clock_now_ns() - begun) / 1e6);
	return err;
}

static struct cached_source source_of(struct module *module)
{
	return (struct cached_source){
		.fd = module->fd,
		.read_digest = read_digest,
		.arg = module,
	};
}

/*
 * Reads the locations from an earlier run. If they are missing or damaged, they are looked up
 * again.
 */
static void read_locations(struct module *module)
{
	struct names *names = module->names;
	const struct cached_source source = source_of(module);

	if (module->locations_tried)
		return;
	module->locations_tried = true;
	if (can_keep_locations(module) &&
	    location_file_read(&names->cache, &names->options, &source, &module->locations) == 0)
		module->keeps_locations = true;
}

/*
 * Without debug information, look-ups are fast, and it may become available later, as may its parts
 * in other files. So nothing is kept.
 */
void module_keep_locations(struct module *module)
{
	struct names *names = module->names;
	const struct cached_source source = source_of(module);

	if (module->n_new > 0 && module->keeps_locations && !module->is_partial &&
	    !module->no_debug && can_keep_locations(module) &&
	    location_file_write(&names->cache, &names->options, &source, &module->locations) == 0)
		module->n_new = 0;
}

/* What was kept on disk is more than there will be again. */
void module_forget_locations(struct module *module)
{
	module_keep_locations(module);
	location_cache_done(&module->locations);
	module->is_partial = true;
}

static void module_close_debug_file(struct module *module)
{
	if (module->debug_fd > 0)
		close(module->debug_fd);
	module->debug_fd = 0;
}

struct module *module_free(struct module *module)
{
	const struct name_source *source;
	struct names *names;

	if (!module)
		return NULL;
	names = module->names;
	pthread_mutex_lock(&names->lock);
	DL_DELETE(names->modules, module);
	pthread_mutex_unlock(&names->lock);
	module_keep_locations(module);
	for (size_t i = 0; (source = name_source(i)); i++)
		if (source->free)
			source->free(module);
	location_cache_done(&module->locations);
	if (module->reading)
		names->reader->forget(names->reader_arg, module);
	free(module->wanted);
	if (module->fd >= 0)
		close(module->fd);
	module_close_debug_file(module);
	if (module->code)
		module->code->free(module->code);
	jit_free(module->jit);
	free(module->memory);
	free(module->pages);
	free(module->path);
	free(module);
	return NULL;
}

struct dwfl_source module_dwfl_source(struct module *module)
{
	return (struct dwfl_source){
		.names = module->names,
		.fd = module->fd,
		.memory = module->memory,
		.size = module->memory_size,
		.path = module->path,
		.debug_fd = module->debug_fd,
		.awaited = &module->awaited,
	};
}

/* This process may read itself what it has made. */
static const struct name_reader *reader_of(const struct module *module)
{
	return module->memory ? NULL : module->names->reader;
}

/* False: this process has to do it. */
static bool close_elsewhere(struct module *module, bool names)
{
	const struct name_reader *reader = reader_of(module);

	return reader && module->fd >= 0 &&
	       reader->close(module->names->reader_arg, module,
			     names && !module_is_written_to(module)) != -ESHUTDOWN;
}

static void close_sources(struct module *module, bool names)
{
	const struct name_source *source;

	for (size_t i = 0; (source = name_source(i)); i++) {
		if (names && source->outlives_file)
			(void)source->open(module);
		if (source->detach)
			source->detach(module);
	}
}

static void close_binary(struct module *module, bool names)
{
	struct module_limits limits;

	module_keep_locations(module);
	module_limits_begin(&limits);
	if (!close_elsewhere(module, names))
		close_sources(module, names);
	module_limits_end(&limits, module);
	if (module->fd >= 0)
		close(module->fd);
	module->fd = -1;
	module_close_debug_file(module);
}

/* If inlined functions are not wanted, keeps only the outermost one, with the innermost line. */
static size_t limit_inlines(const struct module *module, struct source_location *locations,
			    size_t n)
{
	if (n <= 1 || !module->names->options.no_inlines)
		return n;
	locations[0].function = locations[n - 1].function;
	locations[0].inlined = false;
	return 1;
}

/* Whether servers may have what was not found before. */
static bool servers_have_news(struct module *module)
{
	struct debug_server *server = module->names->server;

	if (module->awaited) {
		if (debug_server_is_awaited(server, module->awaited))
			return false;
		module->awaited = 0;
		return true;
	}
	if (module->servers_tried || !debug_server_is_allowed(server))
		return false;
	module->servers_tried = true;
	return module->no_debug;
}

/* Looks everything up again if that may help. */
static void try_servers(struct module *module)
{
	const struct name_source *source;

	if (!servers_have_news(module) || module->fd < 0 || module_is_written_to(module))
		return;
	for (size_t i = 0; (source = name_source(i)); i++)
		if (source->retry)
			source->retry(module);
	if (module->reading)
		module->names->reader->retry(module->names->reader_arg, module);
	location_cache_done(&module->locations);
	module->locations_tried = module->keeps_locations =
		false; /* kept locations are read again */
	module->n_new = 0;
}

void module_want(struct module *module, uint64_t address, bool lines)
{
	const struct source_location *known;
	size_t n;

	if (!reader_of(module) || module_is_compiled(module) ||
	    location_cache_find(&module->locations, address, lines, &known, &n) ||
	    module->n_wanted == MODULE_WANTED_MAX ||
	    array_reserve(module->wanted, module->n_wanted, module->wanted_size) < 0)
		return;
	module->wants_lines |= lines;
	module->wanted[module->n_wanted++] = address;
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Returns the number of different ones, which are then first. */
static size_t sort_addresses(uint64_t *addresses, size_t n)
{
	size_t n_kept = 0;

	qsort(addresses, n, sizeof(*addresses), compare_addresses);
	for (size_t i = 0; i < n; i++)
		if (n_kept == 0 || addresses[n_kept - 1] != addresses[i])
			addresses[n_kept++] = addresses[i];
	return n_kept;
}

/*
 * Like look_up_here(), for all wanted addresses, and with lines from the first time on that these are
 * asked for: who wants names alone often looks up first. -ESHUTDOWN: this process has to do it.
 */
static int look_up_elsewhere(struct module *module, uint64_t address, bool lines)
{
	const struct name_reader *reader = reader_of(module);
	void *arg = module->names->reader_arg;
	size_t n;
	int err;

	if (!reader)
		return -ESHUTDOWN;
	/* The reader's file is the same, but what it was at first, only this process knows. */
	if (module_is_written_to(module))
		return location_cache_add_shown(&module->locations, address, lines, false, NULL, 0);
	if (array_reserve(module->wanted, module->n_wanted, module->wanted_size) < 0)
		return -ENOMEM;
	module->wanted[module->n_wanted] = address;
	n = sort_addresses(module->wanted, module->n_wanted + 1);
	module->n_wanted = 0;
	lines = module->wants_lines |= lines;
	/* A full cache starts again. */
	err = module->locations.n_entries + n > LOCATION_CACHE_MAX ?
		      reader->find(arg, module, &address, 1, lines) :
		      reader->find(arg, module, module->wanted, n, lines);
	if (err == 0)
		module->n_new += n;
	return err;
}

/* Like module_find_locations() for an address not in the cache. 0 or a negative errno. */
static int look_up_here(struct module *module, uint64_t address, bool lines)
{
	struct source_location locations[LOCATION_MAX];
	const struct name_source *source;
	size_t n = 0;
	int err;

	for (size_t i = 0; (source = name_source(i)); i++) {
		if (!source->find)
			continue;
		n = source->find(module, address, lines, locations, n);
		n = limit_inlines(module, locations, n);
		if (n > 0 && source->is_final)
			return location_cache_add_go(&module->locations, address, lines, locations,
						     n);
	}
	/* What was found before names_disable() may be incomplete. */
	err = names_disabled(module->names) ?
		      -ECANCELED :
		      location_cache_add(&module->locations, address, lines, locations, n);
	if (err == 0)
		module->n_new++;
	return err;
}

static int look_up(struct module *module, uint64_t address, bool lines)
{
	struct module_limits limits;
	int err;

	module_limits_begin(&limits);
	err = look_up_elsewhere(module, address, lines);
	if (err == -ESHUTDOWN)
		err = look_up_here(module, address, lines);
	module_limits_end(&limits, module);
	return err;
}

static uint64_t locate_in_binary(struct module *module, uint64_t address, uint64_t time)
{
	return address;
}

static size_t find_in_binary(struct module *module, uint64_t address, bool lines,
			     const struct source_location **ret)
{
	size_t n;

	try_servers(module);
	names_limit_locations(module->names);
	module->used = ++module->names->n_look_ups;
	read_locations(module);
	if (location_cache_find(&module->locations, address, lines, ret, &n))
		return n;
	/* A full cache starts again, so less would be kept than before. */
	module->is_partial |= module->locations.n_entries == LOCATION_CACHE_MAX;
	if (look_up(module, address, lines) < 0 ||
	    !location_cache_find(&module->locations, address, lines, ret, &n))
		n = 0;
	names_limit_debug(module->names, MODULE_DEBUG_MEMORY);
	return n;
}

/* With kept locations, symbols may not have been read. */
static int look_up_start(struct module *module, uint64_t address, uint64_t *ret)
{
	const struct name_reader *reader = reader_of(module);
	const struct name_source *source;
	int err = -ESHUTDOWN;

	if (reader)
		err = module_is_written_to(module) ?
			      -ENOENT :
			      reader->find_start(module->names->reader_arg, module, address, ret);
	if (err != -ESHUTDOWN)
		return err;
	for (size_t i = 0; (source = name_source(i)); i++)
		if (source->find_start && source->find_start(module, address, ret) == 0)
			return 0;
	return -ENOENT;
}

static int find_start_in_binary(struct module *module, uint64_t address, uint64_t *ret)
{
	struct module_limits limits;
	int err;

	module_limits_begin(&limits);
	err = look_up_start(module, address, ret);
	module_limits_end(&limits, module);
	return err;
}

static uint64_t locate_compiled(struct module *module, uint64_t address, uint64_t time)
{
	return jit_locate(module->jit, address, time);
}

static size_t find_compiled(struct module *module, uint64_t address, bool lines,
			    const struct source_location **ret)
{
	return jit_find(module->jit, address, lines, ret);
}

static int find_no_start(struct module *module, uint64_t address, uint64_t *ret)
{
	return -ENOENT;
}

static void close_compiled(struct module *module, bool names)
{
	jit_close(module->jit);
}

/* Code in a binary does not change; generated code does. */
static const struct module_kind {
	uint64_t (*locate)(struct module *module, uint64_t address, uint64_t time);
	size_t (*find)(struct module *module, uint64_t address, bool lines,
		       const struct source_location **ret);
	int (*find_start)(struct module *module, uint64_t address, uint64_t *ret);
	void (*close)(struct module *module, bool names);
} binary = { locate_in_binary, find_in_binary, find_start_in_binary, close_binary },
  compiled = { locate_compiled, find_compiled, find_no_start, close_compiled };

static const struct module_kind *kind_of(const struct module *module)
{
	return module_is_compiled(module) ? &compiled : &binary;
}

void module_close(struct module *module, bool names)
{
	kind_of(module)->close(module, names);
}

uint64_t module_locate(struct module *module, uint64_t address, uint64_t time)
{
	return kind_of(module)->locate(module, address, time);
}

size_t module_find_locations(struct module *module, uint64_t address, bool lines,
			     const struct source_location **ret)
{
	const struct names_options *options = &module->names->options;

	if (options->none || names_disabled(module->names))
		return 0;
	return kind_of(module)->find(module, address, lines && !options->no_lines, ret);
}

bool module_has_file(const struct module *module)
{
	return (module->fd >= 0 || module->memory) && !module_is_written_to(module);
}

bool module_has_source(const struct module *module)
{
	return !module->names->options.none && !names_disabled(module->names) &&
	       (module->fd >= 0 || module->memory || module->symtab || module->has_symbols);
}

int module_find_start(struct module *module, uint64_t address, uint64_t *ret)
{
	if (module->names->options.none || names_disabled(module->names))
		return -ENOENT;
	return kind_of(module)->find_start(module, address, ret);
}
