/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CACHE_MOUNT_LIST_H
#define DP_CACHE_MOUNT_LIST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The mounts of a mount namespace, made by its owner: without nosuid and nodev, which mounts by
 * users have. There may be thousands, so they are read again only when the kernel says that one has
 * changed.
 */
struct mount_list;

/* Of a mountinfo, proc_pid_mountinfo(5). NULL: it cannot be opened, or memory is short. */
struct mount_list *mount_list_new(const char *mountinfo_path);
/* Returns NULL, and NULL is allowed. */
struct mount_list *mount_list_free(struct mount_list *list);

/* Whether it has a mount now, by its id as in mountinfo or statx(). Callable from any thread. */
bool mount_list_has(struct mount_list *list, uint64_t id);

#endif
