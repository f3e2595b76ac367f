// SPDX-License-Identifier: Apache-2.0
#include "symbols/kernel_list.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/arch.h"

/*
 * The list has no sizes: a function ends where the next one starts. The end of a module's last
 * function is unknown, but a module loaded later starts on a page of its own. BPF programs loaded
 * later are reported separately.
 */
#define PAGE_SIZE DP_USER_PAGE_SIZE
#define MAX_PROGRAM_SIZE (1 << 20)

/* Names are stored contiguously in blocks of this size, which is also the size of reads. */
#define BLOCK_SIZE (64 << 10)

struct kernel_list {
	FILE *file;
	pthread_mutex_t lock; /* protects the next three */
	pthread_t thread;
	bool has_thread; /* the thread that reads it was started */
	bool is_read;
	atomic_bool is_unwanted; /* the reader should give up */
	int err;
	struct kernel_function *functions; /* sorted by start, unique */
	size_t n_functions, functions_size;
	char **modules;
	size_t n_modules, modules_size;
	char **blocks;
	size_t n_blocks, blocks_size;
	char *name; /* where the next name goes, and the remaining room */
	size_t room;
};

const char kernel_list_bpf[] = "bpf";

/* The module's name, shared by its lines, which are contiguous. */
static const char *module_name(struct kernel_list *l, const char *name)
{
	if (strcmp(name, kernel_list_bpf) == 0)
		return kernel_list_bpf;
	if (l->n_modules > 0 && strcmp(l->modules[l->n_modules - 1], name) == 0)
		return l->modules[l->n_modules - 1];
	if (array_reserve(l->modules, l->n_modules, l->modules_size) < 0)
		return NULL;
	l->modules[l->n_modules] = strdup(name);
	return l->modules[l->n_modules] ? l->modules[l->n_modules++] : NULL;
}

/* Copies a name; it lives as long as the list. */
static const char *keep_name(struct kernel_list *l, const char *name)
{
	size_t size = strlen(name) + 1, room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
	char *copy;

	if (size > l->room) {
		char *block = array_reserve(l->blocks, l->n_blocks, l->blocks_size) < 0 ?
				      NULL :
				      malloc(room);

		if (!block)
			return NULL;
		l->blocks[l->n_blocks++] = l->name = block;
		l->room = room;
	}
	copy = memcpy(l->name, name, size);
	l->name += size;
	l->room -= size;
	return copy;
}

/* Prefers public to private to weak names, and `ksys_read` to `__ksys_read`. */
static int function_rank(char type, const char *name)
{
	int rank = type == 'T' ? 200 : type == 't' ? 100 : 0;

	return rank - (int)strspn(name, "_");
}

/* Symbols of the linker script for ends of code, which are not functions (vmlinux.lds.S). */
static bool is_end(const char *name)
{
	return strcmp(name, "_etext") == 0 || strcmp(name, "_einittext") == 0;
}

static int kernel_function_compare(const void *a, const void *b)
{
	const struct kernel_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return y->rank - x->rank;
}

/* A line: "ffffffff81000000 T _text", followed by a tab and "[module]" outside the kernel. */
struct line {
	uint64_t start;
	char type;
	char *name;
	char *module; /* NULL: none */
};

/* Splits a line into its parts. False if it is not about code. */
static bool line_read(char *text, struct line *ret)
{
	char *end;

	ret->start = strtoull(text, &end, 16);
	if (end == text || *end != ' ' || end[1] == '\0' || !strchr("tTwW", end[1]) ||
	    end[2] != ' ')
		return false;
	ret->type = end[1];
	ret->name = end + 3;
	ret->module = NULL;
	end = ret->name + strcspn(ret->name, "\t\n");
	if (*end == '\t' && end[1] == '[') {
		ret->module = end + 2;
		ret->module[strcspn(ret->module, "]\n")] = '\0';
	}
	*end = '\0';
	return true;
}

static int list_add(struct kernel_list *l, const struct line *line)
{
	struct kernel_function f = { .start = line->start };

	if (array_reserve(l->functions, l->n_functions, l->functions_size) < 0)
		return -ENOMEM;
	if (line->module) {
		f.module = module_name(l, line->module);
		if (!f.module)
			return -ENOMEM;
	}
	if (line->module || !is_end(line->name)) {
		f.name = keep_name(l, line->name);
		if (!f.name)
			return -ENOMEM;
		f.rank = function_rank(line->type, line->name);
	}
	l->functions[l->n_functions++] = f;
	return 0;
}

/* The kernel lists its own functions in order, and modules and BPF programs behind them in any. */
static void sort(struct kernel_list *l)
{
	struct kernel_function *f = l->functions;
	size_t sorted = 1, from = 0, to;
	uint64_t lowest;

	while (sorted < l->n_functions && f[sorted].start >= f[sorted - 1].start)
		sorted++;
	if (sorted == l->n_functions)
		return;
	lowest = f[sorted].start;
	for (size_t i = sorted; i < l->n_functions; i++)
		lowest = f[i].start < lowest ? f[i].start : lowest;
	for (to = sorted; from < to;) {
		size_t mid = from + (to - from) / 2;

		if (f[mid].start <= lowest)
			from = mid + 1;
		else
			to = mid;
	}
	qsort(f + from, l->n_functions - from, sizeof(*f), kernel_function_compare);
}

/* Of functions with the same start, keeps the one with the highest rank, or the first of these. */
static void remove_aliases(struct kernel_list *l)
{
	struct kernel_function *f = l->functions;
	size_t n = 0;

	for (size_t i = 0; i < l->n_functions; i++)
		if (n == 0 || f[i].start != f[n - 1].start)
			f[n++] = f[i];
		else if (f[i].rank > f[n - 1].rank)
			f[n - 1] = f[i];
	l->n_functions = n;
}

/* Not inlined, because helgrind, which does not know atomic accesses, is told their names. */
static __attribute__((noinline)) bool is_unwanted(const struct kernel_list *l)
{
	return atomic_load_explicit(&l->is_unwanted, memory_order_relaxed);
}

static __attribute__((noinline)) void set_unwanted(struct kernel_list *l)
{
	atomic_store_explicit(&l->is_unwanted, true, memory_order_relaxed);
}

static int list_read(struct kernel_list *l)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	struct line line;

	while (!is_unwanted(l) && getline(&text, &size, l->file) > 0)
		if (line_read(text, &line) && line.start != 0 && list_add(l, &line) < 0)
			return -ENOMEM;
	if (l->n_functions == 0)
		return -EACCES;
	sort(l);
	remove_aliases(l);
	return 0;
}

static void *list_run(void *arg)
{
	struct kernel_list *l = arg;

	l->err = list_read(l);
	if (l->err < 0)
		l->n_functions = 0;
	fclose(l->file);
	l->file = NULL;
	return NULL;
}

int kernel_list_new(const char *path, struct kernel_list **ret)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	struct kernel_list *l;

	if (!file)
		return -errno;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	pthread_mutex_init(&l->lock, NULL);
	setvbuf(file, NULL, _IOFBF, BLOCK_SIZE);
	l->file = steal_ptr(file);
	*ret = l;
	return 0;
}

void kernel_list_read_ahead(struct kernel_list *l)
{
	pthread_mutex_lock(&l->lock);
	if (!l->is_read && !l->has_thread)
		l->has_thread = pthread_create(&l->thread, NULL, list_run, l) == 0;
	pthread_mutex_unlock(&l->lock);
}

int kernel_list_wait(struct kernel_list *l)
{
	pthread_mutex_lock(&l->lock);
	if (!l->is_read && l->has_thread)
		pthread_join(l->thread, NULL);
	else if (!l->is_read)
		list_run(l);
	l->is_read = true;
	pthread_mutex_unlock(&l->lock);
	return l->err;
}

struct kernel_list *kernel_list_free(struct kernel_list *l)
{
	if (!l)
		return NULL;
	set_unwanted(l);
	kernel_list_wait(l);
	for (size_t i = 0; i < l->n_blocks; i++)
		free(l->blocks[i]);
	for (size_t i = 0; i < l->n_modules; i++)
		free(l->modules[i]);
	free(l->blocks);
	free(l->modules);
	free(l->functions);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}

const struct kernel_function *kernel_list_find(struct kernel_list *l, uint64_t address)
{
	const struct kernel_function *f;
	size_t lo = 0, hi;

	kernel_list_wait(l);
	hi = l->n_functions;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->functions[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return NULL;
	f = &l->functions[lo - 1];
	if (!f->name)
		return NULL;
	if (f->module == kernel_list_bpf && address - f->start >= MAX_PROGRAM_SIZE)
		return NULL;
	if (f->module && f->module != kernel_list_bpf &&
	    (lo == l->n_functions || l->functions[lo].module != f->module) &&
	    address / PAGE_SIZE != f->start / PAGE_SIZE)
		return NULL;
	return f;
}

bool kernel_list_is_hidden(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	struct line line;

	/* Per-CPU data may have the address zero, functions never do. */
	while (file && getline(&text, &size, file) > 0)
		if (line_read(text, &line))
			return line.start == 0;
	return false;
}
