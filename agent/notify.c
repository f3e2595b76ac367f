// SPDX-License-Identifier: Apache-2.0
#include "agent/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"

int notify_send(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;
	size_t n = path ? strlen(path) : 0;

	if (n == 0)
		return -ENOENT;
	if ((path[0] != '/' && path[0] != '@') || n >= sizeof(address.sun_path))
		return -EINVAL;
	memcpy(address.sun_path, path, n);
	if (path[0] == '@')
		address.sun_path[0] = '\0'; /* in the abstract name space, unix(7) */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
		return -errno;
	return 0;
}

uint64_t notify_watchdog_ns(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!us || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(us, NULL, 10) * 1000;
}
