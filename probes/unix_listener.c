// SPDX-License-Identifier: Apache-2.0
#include "probes/unix_listener.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TYPE (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)

/* Who listens there. Returns 0, or a negative errno of connect(2): -ECONNREFUSED: nobody. */
static int find_listener(const struct sockaddr_un *address, pid_t *ret)
{
	/* A socket that waits would do so for as long as a listener that hangs has no room. */
	_cleanup_close_ int fd = socket(AF_UNIX, TYPE, 0);
	struct ucred who = { 0 };
	socklen_t size = sizeof(who);

	*ret = 0;
	if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0)
		*ret = who.pid;
	return 0;
}

static void remove_old(const struct sockaddr_un *address, bool *ret_replaces_own)
{
	struct stat st;
	bool is_own;
	pid_t pid;
	int err;

	if (lstat(address->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	err = find_listener(address, &pid);
	is_own = ret_replaces_own && pid == getpid();
	if (err == -ECONNREFUSED || is_own)
		unlink(address->sun_path);
	if (is_own)
		*ret_replaces_own = true;
}

int unix_listener_open(const char *path, int backlog, bool *ret_replaces_own,
		       struct unix_listener *ret)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;
	struct stat st;

	*ret = (struct unix_listener){ 0 };
	if (ret_replaces_own)
		*ret_replaces_own = false;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	strcpy(ret->path, path);
	fd = socket(AF_UNIX, TYPE, 0);
	if (fd < 0)
		return -errno;
	remove_old(&address, ret_replaces_own);
	/* The file gets the socket's mode (net/unix/af_unix.c, unix_bind_bsd()). */
	if (fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    lstat(path, &st) < 0)
		return -errno;
	ret->device = st.st_dev;
	ret->inode = st.st_ino;
	if (listen(fd, backlog) < 0) {
		int err = -errno;

		unix_listener_remove(ret);
		return err;
	}
	return steal_fd(&fd);
}

void unix_listener_remove(const struct unix_listener *l)
{
	struct stat st;

	if (l->inode && lstat(l->path, &st) == 0 && st.st_dev == l->device && st.st_ino == l->inode)
		unlink(l->path);
}
