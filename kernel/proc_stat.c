// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc_stat.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

int proc_stat_read(pid_t pid, struct proc_stat *ret)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[32], line[1024], *end, state;
	uint64_t ticks;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	/* The name, in parentheses, may contain anything, even newlines. */
	line[fread(line, 1, sizeof(line) - 1, file)] = '\0';
	end = strrchr(line, ')');
	if (!end)
		return -ESRCH; /* the process ended while it was read */
	if (sscanf(end + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%" SCNu64,
		   &state, &parent, &ticks) != 3)
		return -EBADMSG;
	*ret = (struct proc_stat){
		.pid = pid,
		.parent = parent,
		.state = state,
		.exited = state == 'Z' || state == 'X',
		.started = ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK)),
	};
	return 0;
}

bool proc_stat_is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

int proc_stat_read_all(struct proc_stat **ret, size_t *ret_n)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	_cleanup_free_ struct proc_stat *all = NULL;
	const struct dirent *entry;
	size_t n = 0, size = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (array_reserve(all, n, size) < 0)
			return -ENOMEM;
		if (proc_stat_read(atoi(entry->d_name), &all[n]) == 0)
			n++;
	}
	*ret = steal_ptr(all);
	*ret_n = n;
	return 0;
}

pid_t proc_stat_live_thread(pid_t pid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	struct proc_stat stat;
	char path[32];

	if (proc_stat_read(pid, &stat) == 0 && !stat.exited)
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0 && proc_stat_read(tid, &stat) == 0 && !stat.exited)
			return tid;
	}
	return 0;
}
