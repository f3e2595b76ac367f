// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc_usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"

/* All of a file, as a text. 0, -ESRCH if there is none, or another negative errno. */
static int read_text(const char *path, char *to, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, to, size - 1);

	if (n < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	to[n] = '\0';
	return n > 0 ? 0 : -ESRCH;
}

static int read_stat(pid_t pid, struct proc_usage *ret)
{
	char path[32], text[1024];
	const char *end;
	uint64_t user, system, started, pages;
	const uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	int err;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	err = read_text(path, text, sizeof(text));
	if (err < 0)
		return err;
	/* The name, in parentheses, may contain anything. */
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1,
			   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
			   " %*d %*d %*d %*d %*d %*d %" SCNu64 " %*u %" SCNu64,
			   &user, &system, &started, &pages) != 4)
		return -EBADMSG;
	ret->cpu_ns = (user + system) * tick_ns;
	ret->started = started * tick_ns;
	ret->resident = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

static bool find_number(const char *text, const char *key, uint64_t *ret)
{
	const char *at = strstr(text, key);

	return at && sscanf(at + strlen(key), "%" SCNu64, ret) == 1;
}

static void read_io(pid_t pid, struct proc_usage *ret)
{
	char path[32], text[512];

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	ret->has_io = read_text(path, text, sizeof(text)) == 0 &&
		      find_number(text, "\nread_bytes: ", &ret->read) &&
		      find_number(text, "\nwrite_bytes: ", &ret->written);
}

/* 1; 0: the thread has ended meanwhile; -ENODATA: the kernel does not tell, or another negative errno. */
static int read_wait(pid_t pid, const char *thread, struct proc_wait *ret)
{
	char path[64], text[128];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/schedstat", pid, thread);
	err = read_text(path, text, sizeof(text));
	if (err == -ESRCH)
		return 0;
	if (err < 0)
		return err;
	ret->tid = atoi(thread);
	return sscanf(text, "%*u %" SCNu64, &ret->ns) == 1 ? 1 : -ENODATA;
}

static int compare_tids(const void *a, const void *b)
{
	const struct proc_wait *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

static int read_threads(pid_t pid, DIR *dir, struct proc_usage *ret)
{
	const struct dirent *entry;
	size_t size = 0;
	int n = 0;

	while (n >= 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (ret->n_waits == PROC_USAGE_MAX_THREADS)
			return -E2BIG;
		if (array_reserve(ret->waits, ret->n_waits, size) < 0)
			return -ENOMEM;
		n = read_wait(pid, entry->d_name, &ret->waits[ret->n_waits]);
		ret->n_waits += n > 0;
	}
	return n < 0 ? n : 0;
}

static void read_waits(pid_t pid, struct proc_usage *ret)
{
	_cleanup_closedir_ DIR *dir = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	ret->has_waits = dir && read_threads(pid, dir, ret) == 0 && ret->n_waits > 0;
	if (ret->has_waits)
		qsort(ret->waits, ret->n_waits, sizeof(*ret->waits), compare_tids);
	else
		proc_usage_done(ret);
}

int proc_usage_read(pid_t pid, struct proc_usage *ret)
{
	int err;

	*ret = (struct proc_usage){ 0 };
	err = read_stat(pid, ret);
	if (err < 0)
		return err;
	read_io(pid, ret);
	read_waits(pid, ret);
	return 0;
}

void proc_usage_done(struct proc_usage *usage)
{
	free(usage->waits);
	usage->waits = NULL;
	usage->n_waits = 0;
}

uint64_t proc_usage_waited(const struct proc_usage *before, const struct proc_usage *now)
{
	uint64_t sum_ns = 0;
	size_t at = 0;

	for (size_t i = 0; i < now->n_waits; i++) {
		const struct proc_wait *w = &now->waits[i];

		while (at < before->n_waits && before->waits[at].tid < w->tid)
			at++;
		/* Another one may have had its number. */
		if (at < before->n_waits && before->waits[at].tid == w->tid &&
		    before->waits[at].ns <= w->ns)
			sum_ns += w->ns - before->waits[at].ns;
		else
			sum_ns += w->ns;
	}
	return sum_ns;
}
