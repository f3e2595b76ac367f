// SPDX-License-Identifier: Apache-2.0
#include "kernel/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "log/log.h"
#include "log/suggestion.h"

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

/* Of fsopen(2) and the like, newer than the oldest headers we build with: linux/mount.h. */
#define OPEN_CLOEXEC 1
#define CONFIG_CREATE 6
#define READ_ONLY 0x0f /* MOUNT_ATTR_RDONLY, _NOSUID, _NODEV and _NOEXEC */

static int open_directory(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Mounts it nowhere: the mount ends with its last descriptor. */
static int open_own(void)
{
	_cleanup_close_ int context = (int)syscall(SYS_fsopen, "tracefs", OPEN_CLOEXEC), mount = -1;

	if (context < 0 || syscall(SYS_fsconfig, context, CONFIG_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mount = (int)syscall(SYS_fsmount, context, OPEN_CLOEXEC, READ_ONLY);
	return mount < 0 ? -errno : open_directory(mount, "events");
}

int tracefs_open(void)
{
	static const char *const usual[] = { "/sys/kernel/tracing/events",
					     "/sys/kernel/debug/tracing/events" };
	int err = -ENOENT, fd;

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		fd = open_directory(AT_FDCWD, usual[i]);
		if (fd >= 0)
			return fd;
		if (fd != -ENOENT)
			err = fd;
	}
	fd = open_own();
	return fd < 0 ? err : fd;
}

void tracefs_explain(int err)
{
	if (err == -ENOENT) {
		log_detail("need: tracefs, which is not mounted");
		log_detail("try:  sudo mount -t tracefs nodev /sys/kernel/tracing");
		return;
	}
	log_detail("need: to read tracefs, in /sys/kernel/tracing");
	log_detail("try:  sudo dwarfprof ...");
}

bool tracefs_is_name(const char *text)
{
	return *text && text[strspn(text, NAME_CHARACTERS)] == '\0';
}

static int open_file(int events, const char *system, const char *name, const char *file, FILE **ret)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s/%s", system, name, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = openat(events, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = fdopen(fd, "r");
	if (!*ret)
		return -errno;
	steal_fd(&fd);
	return 0;
}

int tracefs_read_id(int events, const char *system, const char *name, uint64_t *ret)
{
	_cleanup_fclose_ FILE *file = NULL;
	int err = open_file(events, system, name, "id", &file);

	if (err < 0)
		return err;
	return fscanf(file, "%" SCNu64, ret) == 1 ? 0 : -EBADMSG;
}

int tracefs_open_format(int events, const char *system, const char *name, FILE **ret)
{
	return open_file(events, system, name, "format", ret);
}

/* Calls fn for each directory in a directory, until it returns an error. */
static int each_directory(int at, const char *path, int (*fn)(void *arg, int at, const char *name),
			  void *arg)
{
	_cleanup_closedir_ DIR *directory = NULL;
	_cleanup_close_ int fd = open_directory(at, path);
	struct dirent *entry;
	int err = 0;

	if (fd < 0)
		return fd;
	directory = fdopendir(fd);
	if (!directory)
		return -errno;
	fd = -1;
	while (err == 0 && (entry = readdir(directory)))
		if (entry->d_name[0] != '.' &&
		    (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
			err = fn(arg, dirfd(directory), entry->d_name);
	return err;
}

struct search {
	const char *system_glob, *name_glob;
	const char *system; /* that is being searched */
	struct tracefs_list *list;
};

static int add_name(void *arg, int at, const char *name)
{
	struct search *s = arg;
	struct tracefs_list *list = s->list;

	(void)at;
	if (fnmatch(s->name_glob, name, 0) != 0)
		return 0;
	if (array_reserve(list->names, list->n, list->size) < 0 ||
	    asprintf(&list->names[list->n], "%s:%s", s->system, name) < 0)
		return -ENOMEM;
	list->n++;
	return 0;
}

static int add_system(void *arg, int at, const char *system)
{
	struct search *s = arg;
	int err;

	if (fnmatch(s->system_glob, system, 0) != 0)
		return 0;
	s->system = system;
	err = each_directory(at, system, add_name, s);
	return err == -ENOTDIR ? 0 : err;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int tracefs_find(int events, const char *system, const char *name, struct tracefs_list *ret)
{
	struct search search = { .system_glob = system, .name_glob = name, .list = ret };
	int err;

	*ret = (struct tracefs_list){ 0 };
	err = each_directory(events, ".", add_system, &search);
	if (err == 0 && ret->n > 0)
		qsort(ret->names, ret->n, sizeof(*ret->names), compare_names);
	return err;
}

void tracefs_list_done(struct tracefs_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i]);
	free(list->names);
	*list = (struct tracefs_list){ 0 };
}

void tracefs_say_none(int events, const char *system, const char *name)
{
	_cleanup_(tracefs_list_done) struct tracefs_list all = { 0 };
	_cleanup_free_ char *given = NULL;
	struct suggestion suggestion = { 0 };

	if (asprintf(&given, "%s:%s", system, name) < 0) {
		given = NULL;
		return;
	}
	suggestion.given = given;
	if (tracefs_find(events, "*", "*", &all) == 0)
		for (size_t i = 0; i < all.n; i++) {
			/* The name alone is enough, whatever the subsystem. */
			if (strcmp(strchr(all.names[i], ':') + 1, name) == 0) {
				suggestion.word = all.names[i];
				break;
			}
			suggestion_consider(&suggestion, all.names[i]);
		}
	log_error("the kernel has no tracepoint %s%s%s%s", given,
		  suggestion.word ? "; did you mean " : "", suggestion.word ? suggestion.word : "",
		  suggestion.word ? "?" : "");
	log_detail("the directories in /sys/kernel/tracing/events are named after all that it has");
}
