// SPDX-License-Identifier: Apache-2.0
#include "agent/pod_names.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"

/* What names of Kubernetes are of (RFC 1123 subdomains); UIDs, too. */
#define CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-."

void pod_names_done(struct pod_names *p)
{
	struct pod_name *pod, *next;

	HASH_ITER(hh, p->all, pod, next) {
		HASH_DEL(p->all, pod);
		free(pod);
	}
}

/* Copies what is before `end`, and goes behind that. False: it is no name. */
static bool take(const char **text, char end, char *ret, size_t size)
{
	size_t n = strspn(*text, CHARACTERS);

	if (n == 0 || n >= size || (*text)[n] != end)
		return false;
	memcpy(ret, *text, n);
	ret[n] = '\0';
	*text += n + (end != '\0');
	return true;
}

static void add(struct pod_names *p, const char *entry)
{
	struct pod_name *pod = calloc(1, sizeof(*pod)), *known = NULL;

	if (!pod)
		return;
	if (take(&entry, '_', pod->name_space, sizeof(pod->name_space)) &&
	    take(&entry, '_', pod->name, sizeof(pod->name)) &&
	    take(&entry, '\0', pod->uid, sizeof(pod->uid))) {
		HASH_FIND_STR(p->all, pod->uid, known);
		if (!known)
			HASH_ADD_STR(p->all, uid, pod);
		if (!known && HASH_IS_ADDED(hh, pod))
			return;
	}
	free(pod);
}

static bool is_trusted(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static void read_all(struct pod_names *p)
{
	_cleanup_close_ int fd =
		open(p->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_closedir_ DIR *directory = NULL;
	struct dirent *entry;

	pod_names_done(p);
	if (fd < 0 || !is_trusted(fd))
		return;
	directory = fdopendir(fd);
	if (!directory)
		return;
	(void)steal_fd(&fd);
	while (HASH_COUNT(p->all) < POD_NAMES_MAX && (entry = readdir(directory)))
		add(p, entry->d_name);
}

const struct pod_name *pod_names_find(struct pod_names *p, const char *uid, uint64_t now_ns)
{
	struct pod_name *pod;

	HASH_FIND_STR(p->all, uid, pod);
	if (pod || now_ns < p->again_ns)
		return pod;
	p->again_ns = now_ns + POD_NAMES_AGAIN_NS;
	read_all(p);
	HASH_FIND_STR(p->all, uid, pod);
	return pod;
}
