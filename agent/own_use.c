// SPDX-License-Identifier: Apache-2.0
#include "agent/own_use.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Fields 14 and 15 of proc_pid_stat(5), after the name, which may contain anything. */
static double cpu_seconds(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	unsigned long user = 0, system = 0;
	char path[32], line[1024];
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file) || !(end = strrchr(line, ')')))
		return 0;
	sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void add_process(pid_t pid, struct own_use *use)
{
	_cleanup_fclose_ FILE *file = NULL;
	uint64_t kib;
	char path[32], line[256];

	use->cpu_seconds += cpu_seconds(pid);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "VmRSS: %" SCNu64, &kib) == 1)
			use->resident_bytes += kib << 10;
		else if (sscanf(line, "RssAnon: %" SCNu64, &kib) == 1)
			use->private_bytes += kib << 10;
	}
}

/* A helper's own helpers are deeper than the stack of this is worth: three levels. */
static void add_children(pid_t pid, int depth, struct own_use *use)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (depth > 0 && tasks && (entry = readdir(tasks))) {
		_cleanup_fclose_ FILE *file = NULL;
		int child;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, atoi(entry->d_name));
		file = fopen(path, "re");
		while (file && fscanf(file, "%d", &child) == 1) {
			add_process(child, use);
			add_children(child, depth - 1, use);
		}
	}
}

void own_use_read(struct own_use *ret, struct own_use *ret_children)
{
	*ret = *ret_children = (struct own_use){ 0 };
	add_process(getpid(), ret);
	add_children(getpid(), 3, ret_children);
}
