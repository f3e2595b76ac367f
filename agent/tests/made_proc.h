/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_TESTS_MADE_PROC_H
#define DP_AGENT_TESTS_MADE_PROC_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>

/* Writes the file `cgroup` of a process in a made /proc. `others`: lines of other hierarchies. */
static inline void made_proc_put_cgroup(const char *proc, int pid, const char *others,
					const char *cgroup)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%d/cgroup", proc, pid);
	file = fopen(path, "w");
	cr_assert(file);
	fprintf(file, "%s0::%s\n", others, cgroup);
	fclose(file);
}

#endif
