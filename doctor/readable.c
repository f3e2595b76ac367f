// SPDX-License-Identifier: Apache-2.0
#include "doctor/readable.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/mapped_file.h"
#include "kernel/permission.h"
#include "kernel/proc_stat.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "process/mapping_list.h"
#include "sandbox/finders.h"
#include "sandbox/list_fetchers.h"
#include "sandbox/process_user.h"

/* How long who has been asked is waited for if nobody answers: they are given up by then. */
#define PATIENCE_NS (2 * LIST_FETCHERS_TIME_NS)
#define WAIT_MS 50

struct reading {
	struct parsers *parsers;     /* NULL: this process reads all, and may wait */
	struct list_fetchers *lists; /* likewise */
	size_t n_asked;              /* that have not answered */
	size_t n_read, n_refused;
};

static int open_file(const struct reading *r, pid_t pid, const struct proc_map *map)
{
	struct finders *finders = parsers_finders(r->parsers);
	_cleanup_close_ int fd = -1;
	struct found_file found;
	uid_t user;
	int err;

	if (!finders) {
		fd = mapped_file_open(pid, map->start, map->end, map->inode, map->name);
		return fd < 0 ? fd : 0;
	}
	fd = mapped_file_find_named(pid, map->inode, map->name);
	if (fd < 0) /* without its name, it would have to be waited for */
		return fd == -EAGAIN ? 0 : fd;
	err = process_user(pid, &user);
	if (err == 0)
		err = finders_open(finders, user, fd, &found);
	if (err == 0)
		close(found.fd);
	return err;
}

/* -ENOEXEC: it has no program, as it belongs to the kernel or has ended. */
static int open_program(const struct reading *r, const struct fetched_list *from)
{
	struct mapping_list list;
	struct proc_map map;

	if (from->err < 0)
		return from->err;
	mapping_list_init(&list, from->bytes, from->size);
	while (mapping_list_next(&list, &map) > 0)
		if (map.executable && map.inode != 0 && map.name[0] == '/')
			return open_file(r, from->pid, &map);
	return -ENOEXEC;
}

static void count(struct reading *r, const struct fetched_list *from)
{
	int err = open_program(r, from);

	r->n_read += err == 0;
	r->n_refused += err < 0 && err != -ENOEXEC && err != -ESRCH;
	free(from->bytes);
}

static void begin(struct reading *r, pid_t pid)
{
	struct fetched_list here = { .pid = pid };
	uint64_t number;

	here.err = list_fetchers_ask(r->lists, pid, pid, &number);
	if (here.err == 0) {
		r->n_asked++;
		return;
	}
	if (here.err == -ESHUTDOWN)
		list_fetch_here(pid, pid, &here);
	count(r, &here);
}

static void take(struct reading *r)
{
	struct fetched_list list;

	while (list_fetchers_take(r->lists, &list)) {
		r->n_asked--;
		count(r, &list);
	}
}

void readable_count(const char *helper, size_t *ret_n_read, size_t *ret_n_refused)
{
	_cleanup_free_ struct proc_stat *all = NULL;
	struct reading r = { 0 };
	uint64_t since;
	size_t n = 0;

	if (helper && parsers_new(helper, &r.parsers) == 0) {
		if (permission_has(CAP_SYS_PTRACE))
			(void)list_fetchers_new(r.parsers, &r.lists);
		if (permission_has(CAP_DAC_READ_SEARCH))
			(void)parsers_use_finders(r.parsers);
	}
	if (proc_stat_read_all(&all, &n) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++)
		begin(&r, all[i].pid);
	since = clock_now_ns();
	while (r.n_asked > 0 && clock_now_ns() < since + PATIENCE_NS) {
		if (list_fetchers_wait(r.lists, WAIT_MS))
			since = clock_now_ns();
		take(&r);
	}
	*ret_n_read = r.n_read;
	*ret_n_refused = r.n_refused + r.n_asked;
	list_fetchers_free(r.lists);
	parsers_drop(r.parsers);
}
