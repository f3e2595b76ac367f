// SPDX-License-Identifier: Apache-2.0
#include "process/process_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/proc_stat.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "loop/loop.h"
#include "process/mapping.h"
#include "process/mapping_list.h"
#include "process/process_snapshot.h"
#include "process/sideband.h"
#include "process/unrecorded.h"
#include "sandbox/list_fetchers.h"

/* Until a list is asked for again that cannot be had now: its user is refused anyway. */
#define RETRY_NS UINT64_C(5000000000)

/* If there are many lists, the rings are read after this time. */
#define APPLY_NS UINT64_C(5000000)

/* Between looks for one, while lists are waited for. */
#define WAIT_MS 50

/* Files of earlier lines, by their inodes: most lines of a long list are of the same ones. */
#define N_FILES 64

struct known_file {
	dev_t device;
	uint64_t inode;
	struct binary *binary;
};

static int add_line(struct process_table *table, struct process *p, const struct proc_map *map,
		    uint64_t time, struct known_file files[N_FILES])
{
	struct known_file *file = &files[map->inode % N_FILES];
	struct mapping m = { map->start, map->end, map->offset, .born = time, .died = TIME_NEVER };

	if (file->binary && file->device == map->device && file->inode == map->inode)
		mapping_resolve_as(table, p, &m, file->binary, map->name);
	else
		mapping_resolve(table, p, &m, &(struct mapped_id){ .inode = map->inode },
				map->name);
	if (m.binary && map->inode != 0)
		*file = (struct known_file){ map->device, map->inode, m.binary };
	return process_add_mapping(p, &m);
}

static int apply_lines(struct process_table *table, struct process *p,
		       const struct fetched_list *from, uint64_t time)
{
	struct known_file files[N_FILES] = { 0 };
	uint64_t start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	struct mapping_list list;
	struct proc_map map;
	size_t n = 0;
	int err;

	if (from->size == 0) /* it has no memory any more (m_start(), fs/proc/task_mmu.c) */
		return -ESRCH;
	process_end_mappings(p, time);
	mapping_list_init(&list, from->bytes, from->size);
	while ((err = mapping_list_next(&list, &map)) > 0) {
		if (!map.executable || map.end > PROCESS_ADDRESS_END)
			continue;
		err = add_line(table, p, &map, time, files);
		if (err < 0)
			break;
		n++;
	}
	if (err < 0) { /* a part of a list is none */
		process_end_mappings(p, time);
		return err;
	}
	unrecorded_note(p, n);
	p->as_of = time;
	p->read = clock_now_ns();
	p->read_ns = process_is_large(p) ? clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start : 0;
	return 0;
}

bool process_list_is_due(const struct process *p)
{
	return p->read_ns == 0 || clock_now_ns() >= p->read + 10 * p->read_ns;
}

static const char *explain(int err)
{
	if (err == -ETIMEDOUT)
		return "they are locked, or those of others of its user were";
	if (err == -EFBIG)
		return "they are too many";
	return err == -EBADMSG ? "the list is none" : strerror(-err);
}

/* A process that has ended had its mappings till then: samples of it may be on their way. */
static int note_result(struct process *p, uint64_t time, bool is_void, int err)
{
	p->list_err = err;
	if (err < 0 && is_void)
		process_end_mappings(p, time);
	else if (err == -ESRCH)
		process_end_mappings(p, clock_now_ns());
	p->is_unread = err < 0 && (p->is_unread || (err != -ESRCH && p->mappings.n_living == 0));
	process_change(p);
	return err;
}

/* 0: it will come; -ESHUTDOWN: this process has to read it; or a negative errno. */
static int ask(struct process_table *table, struct process *p, uint64_t time, bool is_void)
{
	struct process_list *list;
	struct proc_stat stat;
	int err;

	if (!table->lists)
		return -ESHUTDOWN;
	err = proc_stat_read(p->pid, &stat);
	if (err < 0)
		return err;
	list = calloc(1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	list->time = time;
	list->is_void = is_void;
	list->started = stat.started;
	err = list_fetchers_ask(table->lists, p->pid, p->thread, &list->number);
	if (err < 0) {
		free(list);
		return err;
	}
	p->list = list;
	table->n_awaited++;
	p->is_unread |= p->mappings.n_living == 0;
	if (p->is_unread)
		process_change(p);
	return 0;
}

int process_list_read(struct process_table *table, struct process *p, uint64_t time, bool is_void)
{
	struct fetched_list here;
	int err;

	if (p->list) {
		p->list->is_again = true;
		p->list->again = time;
		p->list->again_void |= is_void;
		return 0;
	}
	/* The first thread may have exited: /proc then shows nothing through it. */
	p->thread = proc_stat_live_thread(p->pid);
	err = p->thread == 0 ? -ESRCH : ask(table, p, time, is_void);
	if (err == 0)
		return 0;
	if (err == -ESHUTDOWN) {
		list_fetch_here(p->pid, p->thread, &here);
		err = here.err < 0 ? here.err : apply_lines(table, p, &here, time);
		free(here.bytes);
	}
	return note_result(p, time, is_void, err);
}

/* What was asked for while a list was being read. What is large is read at a tenth of the time. */
static void read_again(struct process_table *table, struct process *p, uint64_t time, bool is_void)
{
	int err = process_list_is_due(p) ? process_list_read(table, p, time, is_void) : -EAGAIN;

	if (err < 0 && err != -ESRCH)
		process_table_doubt(p, clock_now_ns());
}

static size_t record_size(const struct mmap_record *r)
{
	return sizeof(*r) + strlen(r->name) + 1;
}

static void forget_deferred(struct process_table *table, struct process_list *list)
{
	for (size_t i = 0; i < list->n_deferred; i++) {
		table->deferred_bytes -= record_size(&list->deferred[i]);
		free((char *)list->deferred[i].name);
	}
	list->n_deferred = 0;
}

/* The process has none any more, and its samples need not wait for it. */
static struct process_list *take_off(struct process_table *table, struct process *p)
{
	table->n_awaited--;
	table->lists_ended = true;
	return steal_ptr(p->list);
}

static void list_free(struct process_table *table, struct process_list *list)
{
	forget_deferred(table, list);
	free(list->deferred);
	free(list);
}

void process_list_cancel(struct process_table *table, struct process *p)
{
	if (!p->list)
		return;
	list_fetchers_cancel(table->lists, p->list->number);
	list_free(table, take_off(table, p));
}

void process_list_on_exec(struct process_table *table, struct process *p, uint64_t time)
{
	bool is_again = p->list && p->list->is_again && p->list->again > time;
	uint64_t again = is_again ? p->list->again : 0;

	if (!p->list)
		return;
	if (time < p->list->time) { /* it was asked for later, and is of this program */
		forget_deferred(table, p->list);
		return;
	}
	process_list_cancel(table, p);
	if (is_again)
		read_again(table, p, again, true);
}

int process_list_defer(struct process_table *table, struct process *p, const struct mmap_record *r)
{
	struct process_list *list = p->list;
	size_t size = record_size(r);
	struct mmap_record copy = *r;

	if (list->n_deferred >= PROCESS_LIST_MAX_RECORDS ||
	    table->deferred_bytes + size > PROCESS_LIST_MAX_BYTES) {
		/* What is older is in the list. */
		if (!list->is_again && r->time >= list->time) {
			list->is_again = true;
			list->again = r->time;
		}
		return 0;
	}
	if (array_reserve(list->deferred, list->n_deferred, list->deferred_size) < 0)
		return -ENOMEM;
	copy.name = strdup(r->name);
	if (!copy.name)
		return -ENOMEM;
	list->deferred[list->n_deferred++] = copy;
	table->deferred_bytes += size;
	return 0;
}

/* Another process can have the number without a record, if records were lost. */
static bool is_same(const struct process *p, const struct process_list *list)
{
	struct proc_stat stat;

	return proc_stat_read(p->pid, &stat) == 0 && stat.started == list->started;
}

/* Not each time that it is tried. */
static void note_failure(struct process_table *table, const struct process *p, int err)
{
	if (err == p->list_err)
		return;
	log_debug("cannot read the mappings of process %d: %s", p->pid, explain(err));
	table->n_unlisted += p->list_err == 0;
}

static bool will_be_refused(int err)
{
	return err == -ETIMEDOUT || err == -EFBIG || err == -EACCES || err == -EPERM;
}

/* There is a list, or none. */
static void finish(struct process_table *table, struct process *p, const struct fetched_list *from)
{
	struct process_list *list = take_off(table, p);
	bool is_void = list->is_void;
	uint64_t now = clock_now_ns();
	int err = from->err;

	if (err == 0 && !is_same(p, list)) {
		err = -ESRCH;
		is_void = true;
	}
	if (err == 0)
		err = apply_lines(table, p, from, list->time);
	if (err < 0 && err != -ESRCH)
		note_failure(table, p, err);
	(void)note_result(p, list->time, is_void, err);
	if (err == -ESRCH && p->exited == TIME_NEVER)
		p->exited = now; /* of which nobody can be sure (process_table_forget()) */
	if (err < 0)
		process_table_doubt(p, will_be_refused(err) ? now + RETRY_NS : now);
	for (size_t i = 0; i < list->n_deferred; i++)
		if (process_table_on_mmap(table, &list->deferred[i]) < 0)
			process_table_doubt(p, now);
	if (list->is_again)
		read_again(table, p, list->again, list->again_void);
	list_free(table, list);
}

bool process_lists_apply(struct process_table *table)
{
	struct fetched_list from;
	uint64_t until;
	bool any;

	if (!table->lists)
		return false;
	until = clock_now_ns() + APPLY_NS;
	table->lists_left = false;
	while (!table->lists_left && list_fetchers_take(table->lists, &from)) {
		struct process *p = process_table_find(table, from.pid);

		/* What was cancelled may come all the same. */
		if (p && p->list && p->list->number == from.number)
			finish(table, p, &from);
		free(from.bytes);
		table->lists_left = clock_now_ns() > until;
	}
	any = table->lists_ended;
	table->lists_ended = false;
	return any;
}

void process_lists_tell(const struct process_table *table)
{
	if (table->n_unlisted > 0)
		log_warning("lists of mappings could not be read %zu times: stacks of these "
			    "processes are missing (-v names them)",
			    table->n_unlisted);
}

void process_lists_look(const struct process_table *table)
{
	if (table->n_awaited > 0)
		list_fetchers_look(table->lists);
}

static int on_ready(void *arg, int fd)
{
	const struct process_table *table = arg;

	list_fetchers_look(table->lists);
	return 0;
}

int process_lists_listen(struct process_table *table, struct loop *loop)
{
	int fd = list_fetchers_fd(table->lists);

	return fd < 0 ? 0 : loop_add(loop, fd, on_ready, table);
}

void process_lists_advance(struct process_table *table)
{
	process_lists_look(table);
	(void)process_lists_apply(table);
}

void process_lists_settle(struct process_table *table)
{
	uint64_t since = clock_now_ns();

	while (table->n_awaited > 0 && !binary_store_is_cancelled(table->binaries) &&
	       clock_now_ns() < since + PROCESS_LISTS_PATIENCE_NS) {
		if (list_fetchers_wait(table->lists, WAIT_MS) || table->lists_left)
			since = clock_now_ns();
		(void)process_lists_apply(table);
	}
}

bool process_lists_wait(struct process_table *table, struct sideband *sideband, int timeout_ms)
{
	if (table->n_awaited == 0)
		return false;
	(void)list_fetchers_wait(table->lists, timeout_ms);
	return sideband_drain(sideband, table) == 0 && process_lists_apply(table);
}
