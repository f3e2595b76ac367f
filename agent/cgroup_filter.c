// SPDX-License-Identifier: Apache-2.0
#include "agent/cgroup_filter.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "limits/limits.h"
#include "report/sample.h"

#define READ_AGAIN_NS UINT64_C(10000000000)

struct cgroup_process {
	UT_hash_handle hh; /* by pid */
	pid_t pid;
	char comm[DP_COMM_SIZE + 1];
	uint64_t read_again_ns; /* by the samples' times */
	bool is_in;
};

void cgroup_filter_init(struct cgroup_filter *ret, const char *proc, const char *cgroup)
{
	*ret = (struct cgroup_filter){ .proc = proc, .cgroup = cgroup };
}

void cgroup_filter_done(struct cgroup_filter *f)
{
	struct cgroup_process *process, *next;

	HASH_ITER(hh, f->processes, process, next) {
		HASH_DEL(f->processes, process);
		free(process);
	}
}

static bool is_below(const char *path, const char *cgroup)
{
	size_t n = strlen(cgroup);

	while (n > 0 && cgroup[n - 1] == '/')
		n--;
	return strncmp(path, cgroup, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* Sets *ret, unless the process has ended. The line of version 2 is "0::/path", cgroups(7). */
static void read_cgroup(const struct cgroup_filter *f, pid_t pid, bool *ret)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX], line[4200];

	snprintf(path, sizeof(path), "%s/%d/cgroup", f->proc, pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3) != 0)
			continue;
		*ret = is_below(line + 3, f->cgroup);
		return;
	}
}

/* NULL: memory is short. */
static struct cgroup_process *add(struct cgroup_filter *f, pid_t pid)
{
	struct cgroup_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	if (HASH_COUNT(f->processes) >= PROCESS_LABELS_MAX)
		cgroup_filter_done(f);
	process->pid = pid;
	HASH_ADD(hh, f->processes, pid, sizeof(process->pid), process);
	if (HASH_IS_ADDED(hh, process))
		return process;
	free(process);
	return NULL;
}

bool cgroup_filter_has(struct cgroup_filter *f, const struct sample *sample)
{
	struct cgroup_process *process;
	bool is_in = false;

	HASH_FIND(hh, f->processes, &sample->pid, sizeof(sample->pid), process);
	if (process && sample->time_ns < process->read_again_ns &&
	    strcmp(process->comm, sample->comm) == 0)
		return process->is_in;
	if (!process)
		process = add(f, sample->pid);
	if (!process) {
		read_cgroup(f, sample->pid, &is_in);
		return is_in;
	}
	read_cgroup(f, sample->pid, &process->is_in);
	process->read_again_ns = sample->time_ns + READ_AGAIN_NS;
	snprintf(process->comm, sizeof(process->comm), "%s", sample->comm);
	return process->is_in;
}
