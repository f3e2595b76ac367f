// SPDX-License-Identifier: Apache-2.0
#include "kernel/uprobe_places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/mapped_file.h"
#include "log/log.h"
#include "log/suggestion.h"
#include "symbols/function_pattern.h"

static int open_here(void *arg, const char *path)
{
	(void)arg;
	return regular_file_open(path, 0);
}

static int list_here(void *arg, int fd, struct function_list *ret)
{
	(void)arg;
	return function_list_read(fd, ret);
}

static const struct uprobe_reader this_process = { open_here, list_here, NULL };

/* Opens a file in the first directory of a colon-separated list that has it; else the error of the last. */
static int open_from_list(const char *list, const char *name, const struct uprobe_reader *r,
			  char path[PATH_MAX])
{
	int fd = -ENOENT;

	while (fd < 0 && list && *list) {
		size_t n = strcspn(list, ":");

		if (snprintf(path, PATH_MAX, "%.*s/%s", (int)n, list, name) < PATH_MAX)
			fd = r->open(r->arg, path);
		list += n + (list[n] == ':');
	}
	return fd;
}

static int open_file(const char *file, const struct uprobe_reader *r, char path[PATH_MAX])
{
	bool library = strstr(file, ".so");
	int fd;

	if (strchr(file, '/')) {
		if (snprintf(path, PATH_MAX, "%s", file) >= PATH_MAX)
			return -ENAMETOOLONG;
		return r->open(r->arg, path);
	}
	fd = open_from_list(getenv(library ? "LD_LIBRARY_PATH" : "PATH"), file, r, path);
	if (fd >= 0)
		return fd;
	return open_from_list(library ? "/usr/lib64:/usr/lib:/usr/lib/" DP_ARCH "-linux-gnu" :
					"/usr/bin:/usr/sbin",
			      file, r, path);
}

/* Places that are kept, with repetitions. */
#define MAX_UNSORTED (4 * UPROBE_MAX_PLACES)
/* Names are compared for a suggestion only up to this many bytes: that takes a second. */
#define MAX_GUESS_BYTES ((size_t)16 << 20)

struct search {
	struct function_pattern pattern;
	int best; /* enum function_match of what was found */
	bool too_many;
	struct uprobe_places *found;
};

static int compare_offsets(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Functions may have several names, and be in both tables. */
static void sort(struct uprobe_places *p)
{
	size_t n = 0;

	qsort(p->offsets, p->n, sizeof(*p->offsets), compare_offsets);
	for (size_t i = 0; i < p->n; i++)
		if (i == 0 || p->offsets[i] != p->offsets[i - 1])
			p->offsets[n++] = p->offsets[i];
	p->n = n;
}

static int add_function(struct search *s, const char *symbol, uint64_t offset)
{
	struct uprobe_places *found = s->found;
	int match = function_pattern_match(&s->pattern, symbol);

	if (match < 0)
		return match;
	if (match == FUNCTION_OTHER || match < s->best)
		return 0;
	if (match > s->best) {
		found->n = 0;
		s->too_many = false;
	}
	s->best = match;
	if (found->n == MAX_UNSORTED && !s->too_many) {
		sort(found);
		s->too_many = found->n > UPROBE_MAX_PLACES;
	}
	/* Too many for a glob; but a function may still have just this name. */
	if (s->too_many)
		return match == FUNCTION_BY_NAME ? -E2BIG : 0;
	if (array_reserve(found->offsets, found->n, found->size) < 0)
		return -ENOMEM;
	found->offsets[found->n++] = offset;
	return 0;
}

static int find_functions(const struct function_list *list, const char *function,
			  struct uprobe_places *ret)
{
	struct search s = { .found = ret };
	struct listed_function f;
	int err = function_pattern_init(&s.pattern, function);

	for (size_t at = 0; err == 0 && function_list_next(list, &at, &f);)
		err = add_function(&s, f.symbol, f.offset);
	function_pattern_done(&s.pattern);
	if (err < 0)
		return err;
	if (ret->n == 0)
		return -ENOENT;
	sort(ret);
	return ret->n > UPROBE_MAX_PLACES ? -E2BIG : 0;
}

struct guess {
	struct suggestion suggestion;
	char *name;   /* the suggested one */
	size_t bytes; /* of the names so far */
};

/* Is it the name, but for a namespace or class in front, or for a template's types behind it? */
static bool is_within(const char *name, const char *given)
{
	size_t n = strlen(name), wanted = strlen(given);

	if (n < wanted + 1)
		return false;
	return (strcmp(name + n - wanted, given) == 0 && name[n - wanted - 1] == ':') ||
	       (strncmp(name, given, wanted) == 0 && name[wanted] == '<');
}

static int guess_function(struct guess *g, const char *symbol)
{
	_cleanup_free_ char *name = demangle(symbol, NAMES_DEMANGLE_SIMPLE);

	g->bytes += strlen(symbol);
	if (g->bytes > MAX_GUESS_BYTES)
		return -EFBIG;
	if (!name)
		return -ENOMEM;
	suggestion_consider(&g->suggestion, name);
	if (g->suggestion.word != name && is_within(name, g->suggestion.given)) {
		g->suggestion.word = name;
		g->suggestion.distance = 0;
	}
	if (g->suggestion.word == name) {
		free(g->name);
		g->name = steal_ptr(name);
	}
	return 0;
}

static void say_none(const struct function_list *list, const char *file, const char *path,
		     const char *function)
{
	struct guess g = { .suggestion = { .given = function } };
	struct listed_function f;
	int err = 0;

	for (size_t at = 0; err == 0 && function_list_next(list, &at, &f);)
		err = guess_function(&g, f.symbol);
	if (err == 0 && g.name)
		log_error("%s has no function %s; did you mean %s?", file, function, g.name);
	else
		log_error("%s has no function %s", file, function);
	log_detail("try:  dwarfprof probes %s", path);
	free(g.name);
}

static int find_in_file(const char *file, const char *function, const struct uprobe_reader *reader,
			struct uprobe_places *ret)
{
	_cleanup_(function_list_done) struct function_list list = { 0 };
	int err = reader->list(reader->arg, ret->fd, &list);

	if (err == 0)
		err = find_functions(&list, function, ret);
	if (err == -ENOEXEC)
		log_error("%s is not an ELF file", file);
	else if (err == -ENOENT)
		say_none(&list, file, ret->path, function);
	else if (err == -E2BIG)
		log_error("%s has too many functions %s; at most %d can be sampled at once", file,
			  function, UPROBE_MAX_PLACES);
	else if (err < 0)
		log_error("cannot search %s: %s", file, strerror(-err));
	return err;
}

static void say_why(const char *file, int err)
{
	if (err == -EREMOTE) {
		log_error(
			"cannot set probes in %s: its file system may not answer the kernel, which would wait for it",
			file);
		log_detail(
			"only files that this machine stores can be probed, not those of FUSE or a network");
		return;
	}
	log_error("cannot read %s: %s", file,
		  err == -ESTALE ? "it is no regular file" : strerror(-err));
	if (!strchr(file, '/'))
		log_detail("try:  its full path; only the usual directories are searched");
}

int uprobe_places_open(const char *file, const struct uprobe_reader *reader,
		       struct uprobe_places *ret)
{
	int fd;

	*ret = UPROBE_PLACES_NONE;
	fd = open_file(file, reader ?: &this_process, ret->path);
	if (fd >= 0) {
		ret->fd = fd;
		snprintf(ret->link, sizeof(ret->link), "/proc/self/fd/%d", fd);
		return 0;
	}
	say_why(file, fd);
	return fd;
}

int uprobe_places_find(const char *file, const char *function, const struct uprobe_reader *reader,
		       struct uprobe_places *ret)
{
	int err = uprobe_places_open(file, reader, ret);

	if (err == 0)
		err = find_in_file(file, function, reader ?: &this_process, ret);
	if (err < 0)
		uprobe_places_done(ret);
	return err;
}

void uprobe_places_done(struct uprobe_places *p)
{
	if (p->fd >= 0)
		close(steal_fd(&p->fd));
	free(p->offsets);
	free(p->cookies);
	free(p->counters);
	p->offsets = p->cookies = p->counters = NULL;
	p->n = p->size = 0;
}
