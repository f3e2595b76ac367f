/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CACHE_STORED_FILE_H
#define DP_CACHE_STORED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Tells without reading a file that its contents are unchanged, between runs: by device, inode, size and times. These
 * prove something only where the kernel sets them. A user who serves a file system (FUSE, a network) chooses all of
 * them, also below an overlay mounted in the user's own namespace; and a user who may mount a disk may have written
 * its times.
 *
 *     type of file system                            believed   lasting   device
 *     one that this machine stores (a short list)    yes        yes       as the kernel says
 *     the same on a disk, mounted "nosuid"           yes        no        as the kernel says
 *     overlay, mounted in our own mount namespace    yes        yes       0: each start has another
 *     any other                                      no
 *
 * Our own mount namespace is that of someone with the privilege to mount: no mount comes to it from
 * the namespace of a less privileged user (mount_namespaces(7)). Disks of users are "nosuid"
 * (mount(8), udisks2).
 */
struct stored_file {
	uint64_t device, inode, size, mtime_ns, ctime_ns;
};

/*
 * Who controls a file's contents, even while it is read: writing through a mapping does not always change its times.
 * Files of the same owner may have been made by the same user, or by an attacker who has taken over the process that
 * reads this user's files.
 *
 *     on a disk, written by its user alone           device, user
 *     others, of which several may decide            device (as above), user, inode: nobody else's
 */
struct stored_owner {
	uint64_t device, user, inode;
};

struct stored_identity {
	struct stored_file file;
	struct stored_owner owner;
	bool is_lasting; /* `file` proves something in later runs; if not, only during this one */
};

/*
 * Describes an open file. 0; -EPERM: it is on a file system that is not believed; -ESTALE: it was
 * changed just now, so that another change would not show; or another negative errno.
 */
int stored_file_identify(int fd, struct stored_identity *ret);

/* Whether an open file is unchanged. */
bool stored_file_is_same(int fd, const struct stored_file *file);

/* Whether this machine stores file systems of a type (f_type of statfs(2)) itself. */
bool stored_file_is_on_disk(uint64_t fs_type);

/*
 * Whether a file system is mounted as a device, according to a file as /proc/self/mountinfo. `type`: only
 * one of that type counts; or NULL.
 */
bool stored_file_is_mounted(const char *mountinfo_path, dev_t device, const char *type);

/* Who serves a file system (FUSE) that is mounted as a device, likewise. False: nobody, or it is not known. */
bool stored_file_server(const char *mountinfo_path, dev_t device, uid_t *ret);

/*
 * Whether it is on a file system that is known to be this machine's own, and needs nobody else to be read:
 * neither foreign nor of an unknown type. May wait.
 */
bool stored_file_is_local(int fd);

/* Whether reading a file may take long, since someone else, such as a server, decides about it. May wait. */
bool stored_file_is_foreign(int fd);

/* Whether a user may have mounted the disk that it is on, and so may have forged all of it, even owners. May wait. */
bool stored_file_is_on_disk_of_user(int fd);

/*
 * Whether its inode and the device of its file system identify it while it is open. Not where snapshots share both,
 * as in bcachefs, nor in an overlay, whose layers may be snapshots. A short list of types. May wait.
 */
bool stored_file_has_own_inode(int fd);

#endif
