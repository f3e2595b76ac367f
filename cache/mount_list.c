// SPDX-License-Identifier: Apache-2.0
#include "cache/mount_list.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

struct mount_list {
	pthread_mutex_t lock; /* of everything below */
	FILE *file;
	bool is_read;
	uint64_t *ids; /* in ascending order */
	size_t n, size;
};

struct mount_list *mount_list_new(const char *mountinfo_path)
{
	struct mount_list *list = calloc(1, sizeof(*list));

	if (!list)
		return NULL;
	list->file = fopen(mountinfo_path, "re");
	if (!list->file) {
		free(list);
		return NULL;
	}
	pthread_mutex_init(&list->lock, NULL);
	return list;
}

struct mount_list *mount_list_free(struct mount_list *list)
{
	if (!list)
		return NULL;
	pthread_mutex_destroy(&list->lock);
	fclose(list->file);
	free(list->ids);
	free(list);
	return NULL;
}

/* Whether a list of options, separated by commas, has one. Ends at a space. */
static bool has_option(const char *options, const char *option)
{
	const size_t size = strlen(option);

	for (const char *at = options; *at && *at != ' ';) {
		size_t n = strcspn(at, ", ");

		if (n == size && memcmp(at, option, size) == 0)
			return true;
		at += n + (at[n] == ',');
	}
	return false;
}

/* proc_pid_mountinfo(5): mount, parent, device, root, mount point, options; spaces are escaped. */
static bool is_of_owner(const char *line, uint64_t *ret_id)
{
	int at = 0;

	return sscanf(line, "%" SCNu64 " %*u %*s %*s %*s %n", ret_id, &at) == 1 && at > 0 &&
	       !has_option(line + at, "nosuid") && !has_option(line + at, "nodev");
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* If memory is short, some are missing. */
static void read_all(struct mount_list *list)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	uint64_t id;

	list->n = 0;
	rewind(list->file);
	while (getline(&line, &size, list->file) > 0)
		if (is_of_owner(line, &id) && array_reserve(list->ids, list->n, list->size) == 0)
			list->ids[list->n++] = id;
	if (list->n > 0)
		qsort(list->ids, list->n, sizeof(*list->ids), compare);
	list->is_read = true;
}

/* Tells each change once: fs/namespace.c, mounts_poll(). So one while it is read is told next. */
static bool has_changed(const struct mount_list *list)
{
	struct pollfd file = { .fd = fileno(list->file), .events = POLLPRI };

	return poll(&file, 1, 0) != 0 && (file.revents & (POLLPRI | POLLERR));
}

bool mount_list_has(struct mount_list *list, uint64_t id)
{
	bool has;

	pthread_mutex_lock(&list->lock);
	if (has_changed(list) || !list->is_read)
		read_all(list);
	has = list->n > 0 && bsearch(&id, list->ids, list->n, sizeof(*list->ids), compare);
	pthread_mutex_unlock(&list->lock);
	return has;
}
