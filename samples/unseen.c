// SPDX-License-Identifier: Apache-2.0
#include "samples/unseen.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/proc_stat.h"
#include "kernel/session_blocked.h"
#include "report/outcome.h"

/* TIDs of threads that were seen. */
struct seen {
	pid_t *tids;
	size_t n, size;
};

static int add_seen(void *arg, const struct dp_blocked *blocked)
{
	struct seen *seen = arg;

	if (array_reserve(seen->tids, seen->n, seen->size) < 0)
		return -ENOMEM;
	seen->tids[seen->n++] = (pid_t)blocked->tid;
	return 0;
}

static int tid_compare(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_among(char letter, unsigned int states)
{
	for (int i = 0; i < DP_N_STATES; i++)
		if (states >> i & 1 && letter == state_letter(i) && i != DP_STATE_RUNNABLE)
			return true;
	return false;
}

static size_t count_process(const struct seen *seen, pid_t pid, unsigned int states)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	struct proc_stat stat;
	char path[32];
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0 ||
		    (seen->n > 0 && bsearch(&tid, seen->tids, seen->n, sizeof(tid), tid_compare)))
			continue;
		/* Last, because the kernel adds up all threads for that. */
		if (proc_stat_read(tid, &stat) == 0 && is_among(stat.state, states))
			n++;
	}
	return n;
}

int unseen_count(const struct session *session, const pid_t *pids, size_t n_pids,
		 unsigned int states, size_t *ret)
{
	struct seen seen = { 0 };
	int err = session_each_seen(session, add_seen, &seen);

	*ret = 0;
	if (seen.n > 0)
		qsort(seen.tids, seen.n, sizeof(*seen.tids), tid_compare);
	for (size_t i = 0; err == 0 && i < n_pids; i++)
		*ret += count_process(&seen, pids[i], states);
	free(seen.tids);
	return err;
}
