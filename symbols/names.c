// SPDX-License-Identifier: Apache-2.0
#include "symbols/names.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "limits/limits.h"
#include "log/log.h"
#include "symbols/debug_server.h"
#include "symbols/module.h"
#include "symbols/names_parts.h"

/* Of what goes last: a busy machine's programs get ten times the time, and it still gets on. */
#define LAST_NICE 10

int names_new(const struct names_options *options, struct names **ret)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->options = *options;
	n->cache.fd = -1;
	failures_init(&n->failures);
	pthread_mutex_init(&n->lock, NULL);
	n->server = debug_server_new(n);
	if (!n->server) {
		names_free(n);
		return -ENOMEM;
	}
	*ret = n;
	return 0;
}

struct names *names_free(struct names *n)
{
	if (!n)
		return NULL;
	names_set_cache(n, NULL);
	while (n->modules)
		module_free(n->modules);
	names_set_reader(n, NULL, NULL);
	names_set_jit_reader(n, NULL, NULL);
	debug_server_free(n->server);
	failures_done(&n->failures);
	pthread_mutex_destroy(&n->lock);
	free(n);
	return NULL;
}

void names_rest(struct names *n, uint64_t idle_ns)
{
	if (n && n->reader && n->reader->rest)
		n->reader->rest(n->reader_arg, idle_ns);
}

void names_go_last(const struct names *n, pid_t task)
{
	/* As nice as it was told to be, if that is more. */
	if (n->options.go_last && getpriority(PRIO_PROCESS, (id_t)task) < LAST_NICE)
		(void)setpriority(PRIO_PROCESS, (id_t)task, LAST_NICE);
}

const struct names_options *names_options(const struct names *n)
{
	return &n->options;
}

int names_cache_directory(const struct names *n)
{
	return n->cache.fd;
}

struct failures *names_failures(struct names *n)
{
	return &n->failures;
}

int names_open_file(const struct names *n, const char *path)
{
	return n->reader && n->reader->open_file ? n->reader->open_file(n->reader_arg, path) :
						   -EACCES;
}

void names_set_cache(struct names *n, const struct disk_cache *where)
{
	for (struct module *module = n->modules; module; module = module->next)
		module_keep_locations(module);
	if (n->cache.fd >= 0)
		disk_cache_close(&n->cache);
	n->cache = where ? *where : (struct disk_cache){ .fd = -1 };
}

void names_set_reader(struct names *n, const struct name_reader *reader, void *arg)
{
	pthread_mutex_lock(&n->lock);
	for (struct module *module = n->modules; n->reader && module; module = module->next)
		if (module->reading)
			n->reader->forget(n->reader_arg, module);
	pthread_mutex_unlock(&n->lock);
	if (n->reader)
		n->reader->free(n->reader_arg);
	n->reader = reader;
	n->reader_arg = arg;
}

/* Also closes the last one if it is too large by itself; the next look-up opens it again. */
void names_limit_debug(struct names *n, uint64_t memory)
{
	while (n->open && (n->open_memory > memory || n->n_open > MODULE_DEBUG_OPEN))
		module_close_debug(n->open);
}

void names_set_limits(struct names *n, uint64_t symbols, uint64_t strings)
{
	n->max_symbols = symbols;
	n->max_strings = strings;
}

struct names_kept names_kept(const struct names *n)
{
	return (struct names_kept){ .symbols = atomic_load(&n->kept.symbols),
				    .strings = atomic_load(&n->kept.strings),
				    .max_symbols = n->max_symbols,
				    .max_strings = n->max_strings,
				    .n_forgotten = atomic_load(&n->n_forgotten) };
}

static bool is_above(const struct names *n)
{
	return (n->max_symbols > 0 && atomic_load(&n->kept.symbols) > n->max_symbols) ||
	       (n->max_strings > 0 && atomic_load(&n->kept.strings) > n->max_strings);
}

/*
 * Of the modules with locations, the one that was looked up in the longest ago. Nobody else frees it: others do
 * not free what reports have seen.
 */
static struct module *longest_unused(struct names *n)
{
	struct module *found = NULL;

	pthread_mutex_lock(&n->lock);
	for (struct module *module = n->modules; module; module = module->next)
		if (module->locations.n_entries > 0 && (!found || module->used < found->used))
			found = module;
	pthread_mutex_unlock(&n->lock);
	return found;
}

void names_limit_locations(struct names *n)
{
	struct module *module;

	if (!is_above(n))
		return;
	if (atomic_load(&n->n_forgotten) == 0)
		log_info("names take more memory than they may: those of binaries that were not "
			 "sampled lately are looked up again when they are");
	while (is_above(n) && (module = longest_unused(n))) {
		module_forget_locations(module);
		atomic_fetch_add(&n->n_forgotten, 1);
	}
}

uint64_t names_debug_memory(const struct names *n)
{
	return n->open_memory;
}

void names_settle(struct names *n)
{
	atomic_fetch_add(&n->n_settled, 1);
}

/* A signal handler may access a lock-free atomic object: C11 §7.14.1.1. */
void names_disable(struct names *n)
{
	atomic_store(&n->is_disabled, true);
}

bool names_disabled(const struct names *n)
{
	return atomic_load_explicit(&n->is_disabled, memory_order_relaxed);
}

void names_hurry(struct names *n)
{
	atomic_store(&n->is_hurried, true);
}

bool names_hurried(const struct names *n)
{
	return atomic_load_explicit(&n->is_hurried, memory_order_relaxed);
}

struct debug_server *names_debug_server(struct names *n)
{
	return n->server;
}
