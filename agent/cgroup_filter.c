// SPDX-License-Identifier: Apache-2.0
#include "agent/cgroup_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"

/* The number of a process may be used again, but seldom while a profile is taken. */
struct cgroup_process {
	UT_hash_handle hh; /* by pid */
	pid_t pid;
	bool is_in;
};

void cgroup_filter_init(struct cgroup_filter *ret, const char *cgroup)
{
	*ret = (struct cgroup_filter){ .cgroup = cgroup };
}

void cgroup_filter_done(struct cgroup_filter *f)
{
	struct cgroup_process *process, *next;

	HASH_ITER(hh, f->processes, process, next) {
		HASH_DEL(f->processes, process);
		free(process);
	}
}

/* The line of version 2 is "0::/path", cgroups(7). */
static bool is_in(const char *cgroup, pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	size_t n = strlen(cgroup);
	char path[32], line[4200];

	while (n > 0 && cgroup[n - 1] == '/')
		n--;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3) == 0)
			return strncmp(line + 3, cgroup, n) == 0 &&
			       (line[3 + n] == '\0' || line[3 + n] == '/');
	}
	return false;
}

bool cgroup_filter_has(struct cgroup_filter *f, pid_t pid)
{
	struct cgroup_process *process;

	HASH_FIND(hh, f->processes, &pid, sizeof(pid), process);
	if (process)
		return process->is_in;
	process = calloc(1, sizeof(*process));
	if (!process)
		return is_in(f->cgroup, pid);
	process->pid = pid;
	process->is_in = is_in(f->cgroup, pid);
	HASH_ADD(hh, f->processes, pid, sizeof(process->pid), process);
	return process->is_in;
}
