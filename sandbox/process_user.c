// SPDX-License-Identifier: Apache-2.0
#include "sandbox/process_user.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

int process_user(pid_t pid, uid_t *ret)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[32], line[128];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Uid: %*u %u", ret) == 1)
			return 0;
	return -ENODATA;
}
