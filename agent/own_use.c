// SPDX-License-Identifier: Apache-2.0
#include "agent/own_use.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * Fields 14 to 17 of proc_pid_stat(5), after the name, which may contain anything: of a process, and of
 * those of its children that have ended.
 */
static void add_cpu_seconds(pid_t pid, bool with_children, struct own_use *use)
{
	_cleanup_fclose_ FILE *file = NULL;
	unsigned long user = 0, system = 0;
	long children_user = 0, children_system = 0;
	char path[32], line[1024];
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file) || !(end = strrchr(line, ')')))
		return;
	sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &user,
	       &system, &children_user, &children_system);
	if (with_children)
		user += (unsigned long)(children_user + children_system);
	use->cpu_seconds += (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void add_process(pid_t pid, struct own_use *use)
{
	_cleanup_fclose_ FILE *file = NULL;
	uint64_t kib;
	char path[32], line[256];

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
			add_cpu_seconds(child, true, use);
			add_process(child, use);
			add_children(child, depth - 1, use);
		}
	}
}

static double ended_seconds(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return 0;
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* What a child has used must not be counted both before and after its end, nor be left out. */
static void read_children(struct own_use *ret)
{
	double ended = ended_seconds(), before;
	int tries = 3;

	do {
		before = ended;
		*ret = (struct own_use){ 0 };
		add_children(getpid(), 3, ret);
		ended = ended_seconds();
	} while (ended > before && --tries > 0);
	ret->cpu_seconds += ended;
}

void own_use_read(struct own_use *ret, struct own_use *ret_children)
{
	*ret = (struct own_use){ 0 };
	add_cpu_seconds(getpid(), false, ret);
	add_process(getpid(), ret);
	read_children(ret_children);
}
