// SPDX-License-Identifier: Apache-2.0
#include "profiler/library_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "elf/loader.h"
#include "kernel/exception_places.h"
#include "log/log.h"
#include "process/process.h"
#include "process/target.h"
#include "profiler/probe_file.h"

struct search {
	const char *name;
	struct library_files *files;
	struct exception_places of[LIBRARY_MAX_FILES]; /* which files they are for the kernel */
	int err;
};

static int add_file(struct search *s, const struct module *module)
{
	struct library_files *files = s->files;
	struct exception_places at;
	struct library_file *file;
	struct stat st;
	int err = module->fd < 0 ? -EMFILE : file_stat(module->fd, &st);

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

static void look_at_mapping(void *arg, struct mapping *mapping)
{
	struct search *s = arg;

	if (s->err == 0 && mapping->died == TIME_NEVER && mapping->binary &&
	    mapping->binary->module && library_is_file(mapping->binary->module->path, s->name))
		s->err = add_file(s, mapping->binary->module);
}

static int explain(const char *path, const char *name, int err)
{
	if (err == -ENOENT) {
		log_error("no process that is sampled maps a library %s (lib%s.so)", path, name);
		log_detail("try:  its path, if it is loaded later");
	} else if (err == -E2BIG) {
		log_error("the processes map more than %d different files of %s: give paths",
			  LIBRARY_MAX_FILES, path);
	} else {
		log_error("cannot open the files of %s: %s", path, strerror(-err));
	}
	return err;
}

int library_files_find(const struct process_table *processes, const struct target *target,
		       const char *path, struct library_files *ret)
{
	struct search search = { .name = library_name(path), .files = ret };
	struct process *p, *next;

	*ret = (struct library_files){ 0 };
	if (!search.name || !processes || target->all || target->command)
		return 0;
	HASH_ITER(hh, processes->processes, p, next)
		history_each(&p->mappings, look_at_mapping, &search);
	if (search.err == 0 && ret->n == 0)
		search.err = -ENOENT;
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

	return r->base->list(r->base->arg, fd, query, ret);
}

struct uprobe_reader library_reader_of(const struct library_reader *r)
{
	return (struct uprobe_reader){ open_file, list_functions, r->base->explain, (void *)r,
				       r->base->user };
}
