/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CACHE_STORED_FILE_H
#define DP_CACHE_STORED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What a file's contents are known by between runs, without reading them: device, inode, size and
 * times. That proves something only where the kernel makes them up: a user who serves a file system
 * (FUSE, a network's) chooses all of them, also below an overlay that they mount in a namespace of
 * their own.
 *
 *     type of file system                            believed       device
 *     one that this machine stores (a short list)    yes            as the kernel says
 *     overlay, mounted in our own mount namespace    yes            0: each start has another
 *     any other                                      no
 *
 * Our own mount namespace is that of someone with the privilege to mount: no mount comes to it from
 * the namespace of a less privileged user (mount_namespaces(7)).
 */
struct stored_file {
	uint64_t device, inode, size, mtime_ns, ctime_ns;
};

/*
 * Describes an open file. 0; -EPERM: it is on a file system that is not believed; -ESTALE: it was
 * changed just now, so that another change would not show; or another negative errno.
 */
int stored_file_identify(int fd, struct stored_file *ret);

/* Whether this machine stores file systems of a type (f_type of statfs(2)) itself. */
bool stored_file_is_on_disk(uint64_t fs_type);

/*
 * Whether a file system is mounted as a device, according to a file as /proc/self/mountinfo. `type`: only
 * one of that type counts; or NULL.
 */
bool stored_file_is_mounted(const char *mountinfo_path, dev_t device, const char *type);

/*
 * Whether it is on a file system that is known to be this machine's own, and needs nobody else to be read:
 * neither foreign nor of an unknown type. May wait.
 */
bool stored_file_is_local(int fd);

/* Whether reading a file may take long, since someone else, such as a server, decides about it. May wait. */
bool stored_file_is_foreign(int fd);

#endif
