// SPDX-License-Identifier: Apache-2.0
#include "process/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "kernel/capability.h"
#include "kernel/filter.h"
#include "kernel/permission.h"
#include "kernel/proc_stat.h"
#include "log/log.h"
#include "process/process_list.h"

/* Finds the process of a thread, and whether it has memory; kernel threads have none. */
static int read_status(pid_t pid, pid_t *ret_process, bool *ret_has_memory)
{
	_cleanup_fclose_ FILE *file = NULL;
	pid_t thread = proc_stat_live_thread(pid);
	char path[32], line[256];

	snprintf(path, sizeof(path), "/proc/%d/status", thread ? thread : pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret_process = pid;
	*ret_has_memory = false;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "Tgid: %d", ret_process);
		if (strncmp(line, "VmSize:", 7) == 0)
			*ret_has_memory = true;
	}
	return 0;
}

static int add_pid(struct process_table *table, pid_t pid)
{
	bool has_memory;
	pid_t process;
	int err;

	err = read_status(pid, &process, &has_memory);
	if (err < 0) {
		permission_explain_process(pid, err);
		return err;
	}
	if (process != pid) {
		log_error("%d is a thread of process %d", pid, process);
		log_detail("try:  -p %d for all of the process, -t %d for this thread", process,
			   pid);
		return -ESRCH;
	}
	if (!has_memory) {
		log_error("process %d has no user memory: it belongs to the kernel, or has exited",
			  pid);
		return -ESRCH;
	}
	err = process_table_add(table, pid);
	if (err < 0)
		permission_explain_process(pid, err);
	return err == -EACCES ? -EPERM : err;
}

static int add_tid(struct process_table *table, pid_t tid)
{
	bool has_memory;
	pid_t process;
	int err;

	err = read_status(tid, &process, &has_memory);
	if (err == -ESRCH) {
		log_error("there is no thread %d", tid);
		return err;
	}
	if (err < 0) {
		permission_explain_process(tid, err);
		return err;
	}
	return add_pid(table, process);
}

/* Adds a process that was not given by its PID: it may be gone or refused. */
static int add_found(struct process_table *table, pid_t pid, size_t *n_refused)
{
	bool has_memory;
	pid_t process;
	int err;

	if (binary_store_is_cancelled(table->binaries))
		return -ECANCELED;
	if (read_status(pid, &process, &has_memory) < 0 || !has_memory)
		return 0;
	err = process_table_add(table, pid);
	if (err == -ENOMEM || err == -ENOSPC)
		return err;
	if (err == 0 || err == -ESRCH)
		return 0;
	log_debug("cannot read the mappings of process %d: %s", pid, strerror(-err));
	++*n_refused;
	return 0;
}

/* Once, unless there are more: losses of records make it look for all processes again. */
static void warn_refused(struct process_table *table, size_t n)
{
	if (n <= table->n_unreadable)
		return;
	table->n_unreadable = n;
	log_warning("%zu %s left out, because %s mappings cannot be read (-v shows %s%s)", n,
		    n == 1 ? "process" : "processes", n == 1 ? "its" : "their",
		    n == 1 ? "it" : "them",
		    permission_has(CAP_SYS_PTRACE) ? "" : "; CAP_SYS_PTRACE helps");
}

/* True if the process is in the table and is the same, not another one with its PID. */
static bool is_followed(const struct process_table *table, pid_t pid)
{
	const struct process *p = process_table_find(table, pid);

	return p && !p->is_replaced;
}

/*
 * Adds the present children of the processes in the table, and theirs. Later ones are reported by
 * perf's records, which are being read already. Parents are read from all processes, because the
 * kernel's lists, /proc/PID/task/TID/children, omit some children while others exit.
 */
static int add_children(struct process_table *table)
{
	_cleanup_free_ struct proc_stat *all = NULL;
	size_t n, n_refused = 0;
	bool found = true;
	int err = proc_stat_read_all(&all, &n);

	while (err == 0 && found) {
		found = false;
		for (size_t i = 0; err == 0 && i < n; i++) {
			pid_t pid = all[i].pid;

			if (pid == 0 || pid == table->not_inherited ||
			    !is_followed(table, all[i].parent))
				continue;
			all[i].pid = 0; /* only once */
			found = true;
			err = add_found(table, pid, &n_refused);
		}
	}
	warn_refused(table, n_refused);
	return err;
}

static int add_pids(struct process_table *table, const pid_t *pids, size_t n_pids)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < n_pids; i++)
		err = add_pid(table, pids[i]);
	return err < 0 || !table->inherit ? err : add_children(table);
}

static int add_tids(struct process_table *table, const pid_t *tids, size_t n_tids)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < n_tids; i++)
		err = add_tid(table, tids[i]);
	return err;
}

/* is_sampling: it is not the time to apply lists. */
static int add_all(struct process_table *table, bool is_sampling)
{
	_cleanup_free_ struct proc_stat *all = NULL;
	size_t n, n_refused = 0;
	int err = proc_stat_read_all(&all, &n);

	for (size_t i = 0; err == 0 && i < n; i++) {
		if (!table->filter || filter_matches_process(table->filter, all[i].pid))
			err = add_found(table, all[i].pid, &n_refused);
		/* Tables are made meanwhile. */
		if (!is_sampling)
			process_lists_advance(table);
	}
	warn_refused(table, n_refused);
	return err;
}

static int add(struct process_table *table, const struct target *t)
{
	if (t->n_tids > 0)
		return add_tids(table, t->tids, t->n_tids);
	if (!t->all)
		return add_pids(table, t->pids, t->n_pids);
	table->all = true;
	table->filter = filter_by_process(t->filter) ? t->filter : NULL;
	return add_all(table, false);
}

/* With threads, all processes are those of the named ones. */
static bool is_named(const struct target *t, pid_t pid)
{
	for (size_t i = 0; i < t->n_pids; i++)
		if (t->pids[i] == pid)
			return true;
	return t->n_tids > 0;
}

/* Who has read the mappings can tell only now that they could not be read. */
static int check_lists(struct process_table *table, const struct target *t)
{
	struct process *p, *next;
	size_t n_refused = 0;

	HASH_ITER(hh, table->processes, p, next) {
		bool is_refused = p->list_err == -EACCES || p->list_err == -EPERM;

		n_refused += p->list_err < 0 && p->list_err != -ESRCH;
		if (!is_named(t, p->pid) || (!is_refused && p->list_err != -ESRCH))
			continue;
		permission_explain_process(p->pid, p->list_err);
		return is_refused ? -EPERM : p->list_err;
	}
	warn_refused(table, n_refused);
	return 0;
}

int target_add(struct process_table *table, const struct target *t)
{
	int err = add(table, t);

	if (err < 0)
		return err;
	process_lists_settle(table);
	return binary_store_is_cancelled(table->binaries) ? -ECANCELED : check_lists(table, t);
}

int target_look_again(struct process_table *table)
{
	if (table->all)
		return add_all(table, true);
	return table->inherit ? add_children(table) : 0;
}

/* "NAME (PID 17)", or TID for a thread. */
static void describe_task(pid_t number, const char *kind, char *buffer, size_t size)
{
	char path[32], comm[32] = "?";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", number);
	file = fopen(path, "re");
	if (file) {
		size_t n = fread(comm, 1, sizeof(comm), file);

		/* The last newline does not belong to the name; others may. */
		if (n > 0)
			comm[n - 1] = '\0';
		fclose(file);
	}
	snprintf(buffer, size, "%s (%s %d)", comm, kind, number);
}

void target_describe(const struct target *t, char *buffer, size_t size)
{
	if (t->command)
		snprintf(buffer, size, "%s", t->command[0]);
	else if (t->n_tids > 1)
		snprintf(buffer, size, "%zu threads", t->n_tids);
	else if (t->n_tids == 1)
		describe_task(t->tids[0], "TID", buffer, size);
	else if (t->n_pids > 1)
		snprintf(buffer, size, "%zu processes", t->n_pids);
	else if (t->n_pids == 1)
		describe_task(t->pids[0], "PID", buffer, size);
	else
		snprintf(buffer, size,
			 filter_by_process(t->filter) ? "processes" : "all processes");
	filter_describe(t->filter, buffer, size);
	text_make_plain(buffer);
}

pid_t target_pid(const struct target *t, pid_t launched)
{
	if (t->command)
		return launched;
	return t->n_pids > 0 ? t->pids[0] : t->n_tids > 0 ? t->tids[0] : 0;
}
