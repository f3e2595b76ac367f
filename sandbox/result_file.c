// SPDX-License-Identifier: Apache-2.0
#include "sandbox/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

int result_file_new(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fd;
}

/*
 * To forbid all writing, the kernel waits on all CPUs until nobody else holds a page, and fails if somebody
 * does for long, through no fault of the helper's.
 */
int result_file_seal(int fd)
{
	static const int size = F_SEAL_SHRINK | F_SEAL_GROW;
	int err = fcntl(fd, F_ADD_SEALS, size | F_SEAL_FUTURE_WRITE);

	if (err < 0 && errno == EINVAL) /* before Linux 5.1 */
		err = fcntl(fd, F_ADD_SEALS, size | F_SEAL_WRITE);
	if (err == 0)
		return 0;
	return errno == EBUSY ? -ECONNABORTED : -EPROTO;
}
