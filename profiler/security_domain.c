// SPDX-License-Identifier: Apache-2.0
#include "profiler/security_domain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A page, as all that the kernel makes of it (proc_pid_attr_read(), fs/proc/base.c). */
#define MAX_SIZE 4096

/* EINVAL: no module has names for them; ENOENT: nor could one. */
static int read_text(unsigned int pid, char to[MAX_SIZE + 1])
{
	_cleanup_close_ int fd = -1;
	char path[40];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/attr/current", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, to, MAX_SIZE);
	if (n < 0)
		return -errno;
	to[n] = '\0';
	return 0;
}

int security_domain_read(unsigned int pid, char **ret)
{
	char text[MAX_SIZE + 1];
	int err = read_text(pid, text);

	*ret = NULL;
	if (err == -EINVAL || err == -ENOENT)
		return 0;
	*ret = strdup(err < 0 ? "" : text);
	return *ret ? 0 : -ENOMEM;
}
