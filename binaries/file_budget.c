// SPDX-License-Identifier: Apache-2.0
#include "binaries/file_budget.h"

#include <sys/resource.h>

#include "base/file_stat.h"

bool file_budget_allows(int fd)
{
	struct rlimit limit;
	struct stat st;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t)fd < limit.rlim_cur / 2)
		return true;
	return (rlim_t)fd < limit.rlim_cur / 4 * 3 && file_stat(fd, &st) == 0 && st.st_uid == 0;
}
