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
#include "base/file_stat.h"
#include "elf/loader.h"
#include "elf/mapped_file.h"
#include "limits/limits.h"
#include "log/log.h"

static int open_here(void *arg, const char *path)
{
	(void)arg;
	return regular_file_open(path, 0);
}

static int list_here(void *arg, int fd, const struct function_query *query,
		     struct function_list *ret)
{
	(void)arg;
	return function_search(fd, query, ret);
}

static const char *explain_here(int err)
{
	return strerror(-err);
}

static const struct uprobe_reader this_process = { open_here, list_here, explain_here, NULL };

/* Has the directory no such program or library, as far as can be told? A directory may have its name. */
static bool is_elsewhere(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -ENAMETOOLONG || err == -ESTALE;
}

/*
 * Opens a file in the first directory of a colon-separated list that has it; else the error of the last. One
 * that cannot be opened ends the search: it may be the one that is meant, and another one is not.
 */
static int open_from_list(const char *list, const char *name, const struct uprobe_reader *r,
			  char path[PATH_MAX])
{
	int fd = -ENOENT;

	while (is_elsewhere(fd) && list && *list) {
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

	if (library_name(file))
		return loader_find(library_name(file), path) ? r->open(r->arg, path) : -ENOENT;
	if (strchr(file, '/')) {
		if (snprintf(path, PATH_MAX, "%s", file) >= PATH_MAX)
			return -ENAMETOOLONG;
		return r->open(r->arg, path);
	}
	fd = open_from_list(getenv(library ? "LD_LIBRARY_PATH" : "PATH"), file, r, path);
	if (!is_elsewhere(fd))
		return fd;
	return open_from_list(library ? "/usr/lib64:/usr/lib:/usr/lib/" DP_ARCH "-linux-gnu" :
					"/usr/bin:/usr/sbin",
			      file, r, path);
}

static int compare_offsets(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Functions may have several names, and be in both tables. For those, no room is kept. */
static void sort(struct uprobe_places *p)
{
	uint64_t *smaller;
	size_t n = 0;

	qsort(p->offsets, p->n, sizeof(*p->offsets), compare_offsets);
	for (size_t i = 0; i < p->n; i++)
		if (i == 0 || p->offsets[i] != p->offsets[i - 1])
			p->offsets[n++] = p->offsets[i];
	p->n = n;
	smaller = reallocarray(p->offsets, n, sizeof(*p->offsets));
	if (smaller) {
		p->offsets = smaller;
		p->size = n;
	}
}

static int take_functions(struct uprobe_places *ret)
{
	struct listed_function f;

	for (size_t at = 0; function_list_next(&ret->functions, &at, &f);) {
		if (f.kind != LISTED_FUNCTION)
			continue;
		if (array_reserve(ret->offsets, ret->n, ret->size) < 0)
			return -ENOMEM;
		ret->offsets[ret->n++] = f.offset;
	}
	if (ret->n == 0)
		return -ENOENT;
	sort(ret);
	return ret->n > UPROBE_MAX_PLACES ? -E2BIG : 0;
}

static void say_none(const struct uprobe_places *p, const char *file, const char *function)
{
	struct listed_function f;
	size_t at = 0;
	bool has_one = function_list_next(&p->functions, &at, &f);

	if (has_one && f.kind == LISTED_WHY) {
		log_error("%s has no place %s: %s", file, function, f.name);
		return;
	}
	if (has_one)
		log_error("%s has no function %s; did you mean %s?", file, function, f.name);
	else
		log_error("%s has no function %s", file, function);
	log_detail("try:  dwarfprof probes %s", p->path);
}

static int find_in_file(const char *file, const char *function, const struct uprobe_reader *reader,
			struct uprobe_places *ret)
{
	const struct function_query query = { .pattern = function, .has_hint = true };
	int err = reader->list(reader->arg, ret->fd, &query, &ret->functions);

	if (err == 0)
		err = take_functions(ret);
	if (err == -ENOEXEC)
		log_error("%s is not an ELF file", file);
	else if (err == -ENOENT)
		say_none(ret, file, function);
	else if (err == -E2BIG)
		log_error("%s has too many functions %s; at most %d can be sampled at once", file,
			  function, UPROBE_MAX_PLACES);
	else if (err < 0)
		log_error("cannot search %s: %s", file, reader->explain(err));
	return err;
}

/* path: where it was found. */
static void say_why(const char *file, const char *path, int err)
{
	if (!is_elsewhere(err))
		file = path;
	if (err == -EREMOTE) {
		log_error(
			"cannot set probes in %s: its file system may not answer the kernel, which would wait for it",
			file);
		log_detail(
			"only files that this machine stores can be probed, not those of FUSE or a network");
		return;
	}
	if (err == -ETIMEDOUT || err == -EBUSY) {
		log_error("cannot set probes in %s: its file system does not answer now", file);
		return;
	}
	log_error("cannot read %s: %s", file,
		  err == -ESTALE ? "it is not a regular file" : strerror(-err));
	if (library_name(file))
		log_detail("try:  its full path; only where the dynamic linker looks is searched");
	else if (!strchr(file, '/'))
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
		(void)file_stat(fd, &ret->file);
		snprintf(ret->link, sizeof(ret->link), "/proc/self/fd/%d", fd);
		return 0;
	}
	say_why(file, ret->path, fd);
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
	function_list_done(&p->functions);
	p->offsets = p->cookies = p->counters = NULL;
	p->n = p->size = 0;
}
