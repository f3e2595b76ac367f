/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_UNIX_LISTENER_H
#define DP_PROBES_UNIX_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

/* The file of a socket at which this process listens. */
struct unix_listener {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	dev_t device;
	ino_t inode; /* 0: there is no file */
};

/*
 * Returns a socket that listens at a path, and does not block, or a negative errno. Its file gets mode
 * 0600. That of a process that has ended is replaced; that of another one is not (-EADDRINUSE), whether
 * it has room for connections or not. ret_replaces_own: whether an earlier socket of this process was
 * replaced; NULL: none is.
 */
int unix_listener_open(const char *path, int backlog, bool *ret_replaces_own,
		       struct unix_listener *ret);

/* Removes the file, before the socket is closed, unless another one has taken its place. */
void unix_listener_remove(const struct unix_listener *listener);

#endif
