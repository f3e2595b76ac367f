// SPDX-License-Identifier: Apache-2.0
#include "target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "log.h"
#include "permission.h"
#include "proc_stat.h"

/* The process that a thread belongs to, and whether it has memory, as the kernel's threads do not. */
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
		log_detail("try:  -p %d", process);
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

/* Take in a process that nobody asked for by its number: it may be gone, or refused. */
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

static void warn_refused(size_t n)
{
	if (n > 0)
		log_warning("%zu processes left out, because their mappings cannot be read "
			    "(-v shows them; CAP_SYS_PTRACE helps)",
			    n);
}

/*
 * The children that the processes in the table have by now, and theirs. Those
 * to come are told by perf's records, which are being listened to already.
 * The parents are read from all processes, because the kernel's lists of
 * children, /proc/PID/task/TID/children, leave some out while others exit.
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

			if (pid == 0 || !process_table_find(table, all[i].parent))
				continue;
			all[i].pid = 0; /* once */
			found = true;
			err = add_found(table, pid, &n_refused);
		}
	}
	warn_refused(n_refused);
	return err;
}

int target_add_pids(struct process_table *table, const pid_t *pids, size_t n_pids)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < n_pids; i++)
		err = add_pid(table, pids[i]);
	return err < 0 ? err : add_children(table);
}

int target_add_all(struct process_table *table)
{
	_cleanup_free_ struct proc_stat *all = NULL;
	size_t n, n_refused = 0;
	int err = proc_stat_read_all(&all, &n);

	table->all = true;
	for (size_t i = 0; err == 0 && i < n; i++)
		err = add_found(table, all[i].pid, &n_refused);
	warn_refused(n_refused);
	return err;
}

void target_describe(const pid_t *pids, size_t n_pids, char **command, char *buffer, size_t size)
{
	char path[32], comm[32] = "?";
	FILE *file;

	if (command) {
		snprintf(buffer, size, "%s", command[0]);
	} else if (n_pids == 0) {
		snprintf(buffer, size, "all processes");
	} else if (n_pids > 1) {
		snprintf(buffer, size, "%zu processes", n_pids);
	} else {
		snprintf(path, sizeof(path), "/proc/%d/comm", pids[0]);
		file = fopen(path, "re");
		if (file) {
			size_t n = fread(comm, 1, sizeof(comm), file);

			/* The last newline is not the name's; others may be. */
			if (n > 0)
				comm[n - 1] = '\0';
			fclose(file);
		}
		snprintf(buffer, size, "%s (PID %d)", comm, pids[0]);
	}
	text_make_plain(buffer);
}
