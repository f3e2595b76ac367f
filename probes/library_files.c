// SPDX-License-Identifier: Apache-2.0
#include "probes/library_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "elf/loader.h"
#include "kernel/exception_places.h"
#include "log/log.h"
#include "probes/probe_catalog.h"
#include "probes/probe_file.h"
#include "process/process_table.h"
#include "process/target.h"

struct search {
	const char *path, *name; /* lib:NAME */
	struct library_files *files;
	struct exception_places of[LIBRARY_MAX_FILES]; /* which files they are for the kernel */
	pid_t pid;
	int err;
	int left_err;            /* why one was left out; 0: none was */
	char left_out[PATH_MAX]; /* the last one */
};

static const char *explain_left(int err)
{
	return err == -EAGAIN ? "it is not read yet: its file system may not answer" :
	       err == -EMFILE ? strerror(-err) :
				"it could not be read";
}

/* Others may be enough. */
static void leave_out(struct search *s, const char *path, int err)
{
	s->left_err = err;
	if (strcmp(s->left_out, path) == 0)
		return;
	snprintf(s->left_out, sizeof(s->left_out), "%s", path);
	log_warning("%s of %s is left out: %s", path, s->path, explain_left(err));
}

static int add_file(struct search *s, const struct module *module)
{
	struct library_files *files = s->files;
	struct exception_places at;
	struct library_file *file;
	struct stat st;
	int err = file_stat(module->fd, &st);

	if (err < 0)
		return err;
	exception_places_init(&at, module->fd, &st);
	for (size_t i = 0; i < files->n; i++)
		if (exception_places_share_file(&s->of[i], &at))
			return 0;
	if (files->n == LIBRARY_MAX_FILES)
		return -E2BIG;
	s->of[files->n] = at;
	file = &files->of[files->n];
	file->path = strdup(module->path);
	file->fd = fcntl(module->fd, F_DUPFD_CLOEXEC, 0);
	file->user = module->user;
	files->n++;
	return file->fd < 0 ? -errno : file->path ? 0 : -ENOMEM;
}

static int look_at_binary(struct search *s, const struct binary *binary)
{
	const struct module *module = binary->module;

	if (!module || !library_is_file(module->path, s->name))
		return 0;
	if (module->fd >= 0)
		return add_file(s, module);
	leave_out(s, module->path, binary_is_pending(binary) ? -EAGAIN : -EMFILE);
	return 0;
}

/* The kernel knows what is mapped there. */
static void look_at_unread(struct search *s, const struct mapping *mapping)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)s->pid,
		 mapping->start, mapping->end);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return;
	path[n] = '\0';
	if (library_is_file(path, s->name))
		leave_out(s, path, -EACCES);
}

static void look_at_mapping(void *arg, struct mapping *mapping)
{
	struct search *s = arg;

	if (s->err < 0 || mapping->died != TIME_NEVER)
		return;
	if (mapping->binary)
		s->err = look_at_binary(s, mapping->binary);
	else if (mapping->is_unread)
		look_at_unread(s, mapping);
}

static int explain(const char *path, const char *name, int err)
{
	if (err == -ENOENT) {
		log_error("no process that is sampled maps a library %s (lib%s.so)", path, name);
		log_detail("try:  its path, if it is loaded later");
	} else if (err == -E2BIG) {
		log_error("the processes map more than %d different files of %s: give paths",
			  LIBRARY_MAX_FILES, path);
	} else if (err == -EAGAIN || err == -EACCES) {
		log_error("no file of %s that processes map can be read", path);
	} else {
		log_error("cannot open the files of %s: %s", path, strerror(-err));
	}
	return err;
}

int library_files_find(const struct process_table *processes, const struct target *target,
		       const char *path, struct library_files *ret)
{
	struct search search = { .path = path, .name = library_name(path), .files = ret };
	struct process *p, *next;

	*ret = (struct library_files){ 0 };
	if (!search.name || !processes || processes->no_binaries || target->all || target->command)
		return 0;
	HASH_ITER(hh, processes->processes, p, next) {
		search.pid = p->pid;
		history_each(&p->mappings, look_at_mapping, &search);
	}
	if (search.err == 0 && ret->n == 0)
		search.err = search.left_err ?: -ENOENT;
	return search.err < 0 ? explain(path, search.name, search.err) : 0;
}

void library_files_done(struct library_files *files)
{
	while (files->n > 0) {
		struct library_file *file = &files->of[--files->n];

		free(file->path);
		if (file->fd >= 0)
			close(file->fd);
	}
}

struct others {
	const char *path;
	struct exception_places at; /* the file that is probed */
	bool is_other;              /* has this process another one there? */
};

static void look_at_path(void *arg, struct mapping *mapping)
{
	struct others *o = arg;
	const struct module *module = mapping->binary ? mapping->binary->module : NULL;
	struct exception_places at;
	struct stat st;

	if (o->is_other || mapping->died != TIME_NEVER || !module || module->fd < 0 ||
	    strcmp(module->path, o->path) != 0 || file_stat(module->fd, &st) < 0)
		return;
	exception_places_init(&at, module->fd, &st);
	o->is_other = !exception_places_share_file(&at, &o->at);
}

/* The name of an open file, which no file system is asked for; NULL: it has none. */
static char *name_of(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	return n > 0 && path[0] == '/' ? strndup(path, (size_t)n) : NULL;
}

void library_files_say_others(const struct process_table *processes,
			      const struct uprobe_places *places)
{
	_cleanup_free_ char *path = name_of(places->fd);
	struct others others = { .path = path };
	struct process *p, *next;
	pid_t first = 0;
	size_t n = 0;

	/* Below /proc, the user has chosen a process's file already. */
	if (!path || !processes || processes->no_binaries ||
	    strncmp(places->path, "/proc/", strlen("/proc/")) == 0)
		return;
	exception_places_init(&others.at, places->fd, &places->file);
	HASH_ITER(hh, processes->processes, p, next) {
		others.is_other = false;
		history_each(&p->mappings, look_at_path, &others);
		if (others.is_other && n++ == 0)
			first = p->pid;
	}
	if (n == 0)
		return;
	log_warning("process %d%s another file at %s, which is not probed", (int)first,
		    n > 1 ? " and others have" : " has", path);
	log_detail("try:  /proc/%d/root%s, if it is a container's", (int)first, path);
}

static int open_file(void *arg, const char *path)
{
	const struct library_reader *r = arg;

	(void)path;
	return probe_file_reopen(r->parsers, r->file->user, r->file->fd);
}

static int list_functions(void *arg, int fd, const struct function_query *query,
			  struct function_list *ret)
{
	const struct library_reader *r = arg;

	return probe_catalog_list_for(r->parsers, r->file->user, fd, query, ret);
}

struct uprobe_reader library_reader_of(const struct library_reader *r)
{
	return (struct uprobe_reader){ open_file, list_functions, r->base->explain, (void *)r,
				       r->file->user };
}
