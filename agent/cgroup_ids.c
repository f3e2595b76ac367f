// SPDX-License-Identifier: Apache-2.0
#include "agent/cgroup_ids.h"

#include <dirent.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"

#define CPU_SHARE 100
/* Of the hierarchy's root: the first that it has (kernfs_create_root(), fs/kernfs/dir.c of the kernel). */
#define ROOT_INODE 1

struct cgroup_id {
	UT_hash_handle hh; /* by id */
	uint64_t id;
	uint64_t seen_ns, read_ns;
	char path[];
};

DEFINE_CLEANUP(FILE *, endmntent)

static void forget(struct cgroup_ids *ids, struct cgroup_id *of)
{
	HASH_DEL(ids->all, of);
	ids->n--;
	free(of);
}

void cgroup_ids_done(struct cgroup_ids *ids)
{
	struct cgroup_id *of, *next;

	HASH_ITER(hh, ids->all, of, next)
		forget(ids, of);
}

void cgroup_ids_find_root(struct cgroup_ids *ids, const char *mounts)
{
	_cleanup_(endmntentp) FILE *file = setmntent(mounts, "re");
	char line[2 * PATH_MAX];
	struct mntent entry;
	struct stat st;

	ids->root[0] = '\0';
	while (file && getmntent_r(file, &entry, line, sizeof(line))) {
		bool has_all;

		/* Others' file systems may not answer. */
		if (strcmp(entry.mnt_type, "cgroup2") != 0)
			continue;
		has_all = stat(entry.mnt_dir, &st) == 0 && st.st_ino == ROOT_INODE;
		if (ids->root[0] && !has_all)
			continue;
		snprintf(ids->root, sizeof(ids->root), "%s", entry.mnt_dir);
		if (has_all)
			return;
	}
}

static bool is_full(const struct cgroup_ids *ids)
{
	return ids->n >= CGROUP_IDS_MAX;
}

static struct cgroup_id *get(const struct cgroup_ids *ids, uint64_t id)
{
	struct cgroup_id *of;

	HASH_FIND(hh, ids->all, &id, sizeof(id), of);
	return of;
}

static void see(struct cgroup_ids *ids, uint64_t id, const char *path, uint64_t now_ns)
{
	struct cgroup_id *of = get(ids, id);
	size_t size = strlen(path) + 1;

	if (of)
		of->seen_ns = now_ns;
	if (of || size > CGROUP_IDS_PATH_MAX || is_full(ids))
		return;
	of = malloc(sizeof(*of) + size);
	if (!of)
		return;
	of->id = id;
	of->seen_ns = now_ns;
	of->read_ns = 0;
	memcpy(of->path, path, size);
	HASH_ADD(hh, ids->all, id, sizeof(of->id), of);
	if (HASH_IS_ADDED(hh, of))
		ids->n++;
	else
		free(of);
}

static bool is_root(const char *path)
{
	return strcmp(path, "/") == 0;
}

/* Sees what a cgroup's directory has. */
static void read_children(struct cgroup_ids *ids, int root, const struct cgroup_id *of,
			  uint64_t now_ns)
{
	const char *own = is_root(of->path) ? "." : of->path + 1;
	_cleanup_close_ int fd = openat(root, own, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_closedir_ DIR *directory = NULL;
	char path[CGROUP_IDS_PATH_MAX + 1];
	struct dirent *entry;
	struct stat st;

	/* Each directory in it is a link to it. Most have none, but tens of files. */
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_nlink == 2)
		return;
	directory = fdopendir(fd);
	if (!directory)
		return;
	(void)steal_fd(&fd);
	while (!is_full(ids) && (entry = readdir(directory))) {
		if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		/* What is too long has no room in `path`, either. */
		snprintf(path, sizeof(path), "%s/%s", is_root(of->path) ? "" : of->path,
			 entry->d_name);
		see(ids, entry->d_ino, path, now_ns);
	}
}

/* Those that have been seen and not read. Returns whether there were any. */
static bool read_seen(struct cgroup_ids *ids, int root, uint64_t now_ns)
{
	bool any = false;

	for (struct cgroup_id *of = ids->all; of && !is_full(ids); of = of->hh.next) {
		if (of->seen_ns != now_ns || of->read_ns == now_ns)
			continue;
		of->read_ns = now_ns;
		read_children(ids, root, of, now_ns);
		any = true;
	}
	return any;
}

/*
 * Level by level, until there is no room: what users may make, without bound, lies deeper than services and
 * containers.
 */
static void read_all(struct cgroup_ids *ids, uint64_t now_ns)
{
	_cleanup_close_ int root = open(ids->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cgroup_id *of, *next;
	struct stat st;

	if (root < 0 || fstat(root, &st) < 0)
		return;
	if (is_full(ids))
		cgroup_ids_done(ids);
	see(ids, st.st_ino, "/", now_ns);
	while (read_seen(ids, root, now_ns))
		continue;
	HASH_ITER(hh, ids->all, of, next)
		if (now_ns > of->seen_ns + CGROUP_IDS_FORGET_NS)
			forget(ids, of);
}

const char *cgroup_ids_find(const struct cgroup_ids *ids, uint64_t id)
{
	const struct cgroup_id *of = get(ids, id);

	return of ? of->path : NULL;
}

const char *cgroup_ids_confirm(struct cgroup_ids *ids, uint64_t id, const char *path,
			       uint64_t now_ns)
{
	char name[2 * PATH_MAX];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", ids->root, path);
	if (!ids->root[0] || !path[0] || strstr(path, "/..") || lstat(name, &st) < 0 ||
	    st.st_ino != id)
		return NULL;
	see(ids, id, path, now_ns);
	return path;
}

const char *cgroup_ids_search(struct cgroup_ids *ids, uint64_t id, uint64_t now_ns)
{
	uint64_t start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID), pause;

	if (!ids->root[0] || now_ns < ids->again_ns)
		return NULL;
	read_all(ids, now_ns);
	pause = CPU_SHARE * (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start);
	ids->again_ns = now_ns + (pause > CGROUP_IDS_AGAIN_NS ? pause : CGROUP_IDS_AGAIN_NS);
	return cgroup_ids_find(ids, id);
}
