// SPDX-License-Identifier: Apache-2.0
#include "binaries/prewarm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf_needed.h"
#include "elf/mapped_file.h"
#include "log/log.h"

/* The dynamic linker's default directories, ld.so(8). /etc/ld.so.conf is not read. */
static const char *const default_dirs[] = {
	"/lib/" DP_ARCH "-linux-gnu",
	"/usr/lib/" DP_ARCH "-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
	"/usr/local/lib",
};

/* Files found so far. Each is loaded once, and its dependencies are added. */
struct prewarm {
	struct binary_store *store;
	char **paths;
	size_t n_paths, paths_size;
};

static void prewarm_done(struct prewarm *p)
{
	for (size_t i = 0; i < p->n_paths; i++)
		free(p->paths[i]);
	free(p->paths);
}

/* Adds a file by its resolved path, once. False: it cannot be read, or memory is short. */
static bool add_path(struct prewarm *p, const char *path)
{
	_cleanup_free_ char *real = NULL;

	if (access(path, R_OK) < 0)
		return false;
	real = realpath(path, NULL);
	if (!real)
		return false;
	for (size_t i = 0; i < p->n_paths; i++)
		if (strcmp(p->paths[i], real) == 0)
			return true;
	if (array_reserve(p->paths, p->n_paths, p->paths_size) < 0)
		return false;
	p->paths[p->n_paths++] = steal_ptr(real);
	return true;
}

static bool add_from_dir(struct prewarm *p, const char *dir, size_t dir_length, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%.*s/%s", (int)dir_length, dir, name);

	return n > 0 && (size_t)n < sizeof(path) && add_path(p, path);
}

/* Searches the directories of a colon-separated list; $ORIGIN is the file's own directory. */
static bool add_from_list(struct prewarm *p, const char *list, const char *origin, const char *name)
{
	static const char variable[] = "$ORIGIN";
	const char *slash = strrchr(origin, '/');

	while (list && *list) {
		size_t n = strcspn(list, ":");
		char dir[PATH_MAX];

		if (strncmp(list, variable, strlen(variable)) == 0)
			snprintf(dir, sizeof(dir), "%.*s%.*s", (int)(slash - origin), origin,
				 (int)(n - strlen(variable)), list + strlen(variable));
		else
			snprintf(dir, sizeof(dir), "%.*s", (int)n, list);
		if (add_from_dir(p, dir, strlen(dir), name))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

static void add_library(struct prewarm *p, const char *origin, const char *run_path,
			const char *name)
{
	if (strchr(name, '/')) {
		add_path(p, name);
		return;
	}
	if (add_from_list(p, run_path, origin, name) ||
	    add_from_list(p, getenv("LD_LIBRARY_PATH"), origin, name))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(default_dirs); i++)
		if (add_from_dir(p, default_dirs[i], strlen(default_dirs[i]), name))
			return;
}

static void add_needed(struct prewarm *p, const char *path, const struct elf_needed *needed)
{
	if (needed->interpreter)
		add_path(p, needed->interpreter);
	for (size_t i = 0; i < needed->n_libraries; i++)
		add_library(p, path, needed->run_path, needed->libraries[i]);
}

/* Loads a file; for a script, its interpreter. */
static void load(struct prewarm *p, const char *path)
{
	_cleanup_close_ int fd = regular_file_open(path, 0);
	_cleanup_(elf_needed_done) struct elf_needed needed = { 0 };
	char line[PATH_MAX] = "";
	struct binary *b;
	ssize_t n;

	if (fd < 0)
		return;
	n = pread(fd, line, sizeof(line) - 1, 0);
	if (n > 2 && line[0] == '#' && line[1] == '!') {
		char *word = line + 2 + strspn(line + 2, " \t");

		word[strcspn(word, " \t\n")] = '\0';
		add_path(p, word);
		return;
	}
	if (elf_needed_init(&needed, fd) < 0)
		return;
	if (binary_store_get(p->store, getpid(), steal_fd(&fd), path, &b) == 0)
		add_needed(p, path, &needed);
}

void prewarm_command(struct binary_store *store, const char *command)
{
	_cleanup_(prewarm_done) struct prewarm p = { .store = store };
	const char *search = strchr(command, '/') ? NULL : getenv("PATH");

	if (!search)
		add_path(&p, command);
	else
		add_from_list(&p, search, "/", command);
	for (size_t i = 0; i < p.n_paths; i++)
		load(&p, p.paths[i]);
}
