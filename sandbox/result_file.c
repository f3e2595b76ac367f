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

int result_file_seal(int fd)
{
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0 ? -EPROTO : 0;
}
