// SPDX-License-Identifier: Apache-2.0
#include "sandbox/security_domain.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

_Static_assert(SECURITY_DOMAIN_DIGEST_SIZE == SHA256_DIGEST_SIZE, "of SHA-256");

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

void security_domain_digest(const char *domain, uint8_t ret[SECURITY_DOMAIN_DIGEST_SIZE])
{
	struct sha256_ctx sha;

	memset(ret, 0, SECURITY_DOMAIN_DIGEST_SIZE);
	if (!domain)
		return;
	sha256_init(&sha);
	sha256_update(&sha, strlen(domain), (const uint8_t *)domain);
	sha256_digest(&sha, SECURITY_DOMAIN_DIGEST_SIZE, ret);
}
