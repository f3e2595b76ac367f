// SPDX-License-Identifier: Apache-2.0
#include "process/process_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/filter.h"
#include "kernel/proc_stat.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "process/mapping.h"
#include "process/process_list.h"
#include "process/process_snapshot.h"
#include "process/unrecorded.h"
#include "sandbox/fetchers.h"

/* Time until mappings that could not be read are tried again. */
#define RETRY_NS UINT64_C(1000000000)

void process_table_init(struct process_table *table, struct pool *pool,
			struct binary_store *binaries, int (*publish)(void *, pid_t, uint32_t),
			void *arg)
{
	*table = (struct process_table){
		.inherit = true,
		.binaries = binaries,
		.jitted.names = binaries->names,
		.jitted.files = &binaries->files,
		.publish = publish,
		.arg = arg,
		.looked = clock_now_ns(),
	};
	snapshot_store_init(&table->snapshots, pool, &binaries->tables);
}

/* The program changed. Ended mappings, and samples in flight, keep the old one. */
static void process_forget_code(struct process *p)
{
	jitted_drop(p->jitted);
	p->jitted = NULL;
	p->hotspot = hotspot_free(p->hotspot);
	p->jit_objects = jit_objects_free(p->jit_objects);
	p->packed_asked = false;
	p->lacks_cookies = false;
	p->n_generated = 0;
	process_forget_program(p);
}

static void unset_due(struct process *p)
{
	if (p->is_due)
		DL_DELETE2(*p->due, p, prev_due, next_due);
	p->is_due = false;
}

static bool stays_due(const struct process *p)
{
	return p->changed || p->doubted != 0 || p->jit_objects || hotspot_is_starting(p->hotspot) ||
	       process_is_large(p);
}

static void process_free(struct process_table *table, struct process *p)
{
	process_list_cancel(table, p);
	history_done(&p->mappings);
	process_forget_code(p);
	unset_due(p);
	HASH_DEL(table->processes, p);
	free(p);
}

void process_table_done(struct process_table *table)
{
	struct process *p, *next;

	hotspot_tell_unknown(table);
	process_lists_tell(table);
	snapshot_store_done(&table->snapshots);
	free(table->refused);
	HASH_ITER(hh, table->processes, p, next)
		process_free(table, p);
	jitted_store_done(&table->jitted);
}

struct process *process_table_find(const struct process_table *table, pid_t pid)
{
	struct process *p;

	HASH_FIND(hh, table->processes, &pid, sizeof(pid), p);
	return p;
}

static struct process *process_new(struct process_table *table, pid_t pid)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	p->number = ++table->n_met;
	p->thread = pid;
	unrecorded_note(p, 0);
	p->known_from = clock_now_ns();
	p->exited = TIME_NEVER;
	p->left = TIME_NEVER;
	p->due = &table->due;
	HASH_ADD(hh, table->processes, pid, sizeof(pid), p);
	if (!HASH_IS_ADDED(hh, p)) {
		free(p);
		return NULL;
	}
	return p;
}

int process_table_add(struct process_table *table, pid_t pid)
{
	struct process *p = process_table_find(table, pid);
	int err;

	if (p)
		return 0;
	p = process_new(table, pid);
	if (!p)
		return -ENOMEM;
	err = process_list_read(table, p, 0, true);
	if (err < 0)
		process_free(table, p);
	return err;
}

int process_table_add_launched(struct process_table *table, pid_t pid)
{
	struct process *p = process_new(table, pid);

	if (!p)
		return -ENOMEM;
	p->sampled_from = TIME_NEVER;
	process_change(p);
	return 0;
}

/* Reads the mappings of a process that may have been known and have left. */
static int process_enter(struct process_table *table, struct process *p, pid_t pid)
{
	uint64_t left;
	int err;

	if (!p)
		return process_table_add(table, pid);
	left = p->left;
	p->left = TIME_NEVER;
	p->exited = TIME_NEVER;
	err = process_list_read(table, p, left, true);
	if (err < 0)
		p->left = left;
	return err;
}

int process_table_meet(struct process_table *table, pid_t pid, uint64_t now)
{
	struct process *p = process_table_find(table, pid);
	struct refused_pid *refused;
	int err;

	if (p && p->left == TIME_NEVER)
		return 0;
	if (!table->refused)
		table->refused = calloc(PROCESS_N_REFUSED, sizeof(*table->refused));
	if (!table->refused)
		return -ENOMEM;
	refused = &table->refused[(unsigned int)pid % PROCESS_N_REFUSED];
	if (refused->pid == pid && now < refused->time + RETRY_NS)
		return 0;
	err = process_enter(table, p, pid);
	if (err == 0)
		return 1;
	if (err == -ENOMEM || err == -ENOSPC)
		return err;
	log_debug("cannot read the mappings of process %d: %s", pid, strerror(-err));
	*refused = (struct refused_pid){ pid, now };
	return 0;
}

int process_table_on_mmap(struct process_table *table, const struct mmap_record *r)
{
	struct process *p = process_table_find(table, r->pid);
	struct mapping m = { r->start, r->end, r->offset, .born = r->time, .died = TIME_NEVER };
	int met;

	if (!p && table->all && !table->filter) {
		/* Records were lost. The process's current mappings include this one. */
		met = process_table_meet(table, r->pid, r->time);
		return met < 0 ? met : 0;
	}
	if (!p || p->is_replaced || p->left != TIME_NEVER || r->end > PROCESS_ADDRESS_END)
		return 0;
	table->recorded_ns = r->time;
	if (p->list)
		return process_list_defer(table, p, r);
	if (inherited_is_due(&p->inherited, TIME_NEVER - 1) && inherited_copy(table, p) < 0)
		return -ENOMEM;
	mapping_resolve(table, p, &m, &r->file, r->name);
	if (unrecorded_unmaps(p))
		process_table_doubt(p, r->time);
	if (r->time < p->as_of) {
		m.died = p->as_of;
		p->has_pending |= m.is_pending;
		process_set_due(p); /* they may be many */
		return history_add_past(&p->mappings, &m);
	}
	return process_add_mapping(p, &m);
}

/* Another process has the PID. What was known is kept for samples in flight. */
static int process_replace(struct process_table *table, struct process *p, uint64_t time)
{
	int err = table->publish(table->arg, p->pid, 0);

	process_list_cancel(table, p);
	process_end_mappings(p, time);
	snapshot_retire(&table->snapshots, p->snapshot, clock_now_ns());
	p->snapshot = NULL;
	p->jit_objects = jit_objects_free(p->jit_objects);
	p->changed = false;
	p->exited = time;
	p->is_replaced = true;
	return err;
}

void process_table_doubt(struct process *p, uint64_t now)
{
	if (p->doubted == 0)
		p->doubted = now;
	process_set_due(p);
}

/* Its mappings could not be read, perhaps for lack of descriptors: they will be again. */
static void process_doubt_all(struct process *p, int err, uint64_t now)
{
	if (err < 0 && err != -ESRCH)
		process_table_doubt(p, now);
}

/* Reads the mappings of a process whose parent is not known. */
static int process_begin_anew(struct process_table *table, struct process *p, uint64_t time)
{
	int err;

	process_list_cancel(table, p);
	process_end_mappings(p, time);
	process_forget_code(p);
	p->known_from = time;
	p->exited = TIME_NEVER;
	err = process_list_read(table, p, time, true);
	process_doubt_all(p, err, time);
	return err == -ENOMEM ? err : 0;
}

/* A child of a process that is not profiled, or not known, has the PID. */
static int process_give_away(struct process_table *table, struct process *p, uint64_t time)
{
	if (!table->all)
		return process_replace(table, p, time);
	if (!table->filter)
		return process_begin_anew(table, p, time);
	process_list_cancel(table, p);
	process_end_mappings(p, time);
	p->jit_objects = jit_objects_free(p->jit_objects);
	p->known_from = p->left = time; /* until a sample passes the filter */
	p->exited = TIME_NEVER;
	return 0;
}

int process_table_on_fork(struct process_table *table, pid_t parent, pid_t child, uint64_t time)
{
	struct process *from = process_table_find(table, parent);
	struct process *p = process_table_find(table, child);
	bool followed = from && !from->is_replaced && from->left == TIME_NEVER;
	int err;

	if (parent == child)
		return 0;
	if (!followed || !table->inherit)
		return p && !p->is_replaced ? process_give_away(table, p, time) : 0;
	table->recorded_ns = time;
	if (p) { /* the PID was used before */
		if (inherited_copy(table, p) < 0)
			return -ENOMEM;
		process_list_cancel(table, p);
		process_end_mappings(p, time);
	} else {
		p = process_new(table, child);
	}
	if (!p)
		return -ENOMEM;
	process_forget_code(p);
	p->hotspot = hotspot_copy(from->hotspot);
	p->jit_objects = jit_objects_copy(from->jit_objects);
	p->lacks_cookies = from->lacks_cookies;
	p->thread = child;
	p->as_of = 0;
	p->known_from = time;
	p->exited = TIME_NEVER;
	p->left = TIME_NEVER;
	p->is_replaced = false;
	p->sampled_from = from->sampled_from;
	p->max_mappings = from->max_mappings;
	p->is_unread = from->is_unread;
	process_change(p);
	err = inherited_begin(table, p, from, time);
	/* By the time that the parent's list tells what the child has, the parent may have changed it. */
	if (err == 0 && (from->list || from->is_unread)) {
		err = process_list_read(table, p, time, from->is_unread);
		process_doubt_all(p, err, time);
	}
	return err == -ENOMEM ? err : 0;
}

void process_table_on_exec(struct process_table *table, pid_t pid, uint64_t time)
{
	struct process *p = process_table_find(table, pid);
	bool wanted = !table->filter || filter_matches_process(table->filter, pid);

	if (!p && table->all && wanted)
		p = process_new(table, pid);
	if (!p || p->is_replaced)
		return;
	table->recorded_ns = time;
	process_list_on_exec(table, p, time);
	if (time >= p->as_of) {
		process_end_mappings(p, time);
		process_forget_code(p);
		p->is_unread = p->list != NULL;
	}
	p->left = wanted ? TIME_NEVER : time;
	/* If a thread other than the first calls exec, it ends the first and takes its number. */
	p->thread = pid;
	p->exited = TIME_NEVER;
	if (p->sampled_from == TIME_NEVER)
		p->sampled_from = time;
}

void process_table_on_exit(struct process_table *table, pid_t pid, uint64_t time)
{
	struct process *p = process_table_find(table, pid);

	if (p && !p->is_replaced)
		p->exited = time;
}

static int read_cookie(const struct process_table *table, const struct process *p,
		       const struct mapping *m, uint64_t *ret)
{
	return fetchers_read(table->fetchers, p->thread, mapping_cookie_address(m), ret,
			     sizeof(*ret));
}

bool process_cookie_differs(const struct process_table *table, const struct process *p,
			    const struct mapping *m)
{
	uint64_t cookie;

	return m->has_cookie && read_cookie(table, p, m, &cookie) == 0 &&
	       cookie != m->binary->elf.cookie;
}

struct cookie_check {
	struct process_table *table;
	struct process *process;
};

static void check_cookie(void *arg, struct mapping *m)
{
	const struct cookie_check *check = arg;
	uint64_t cookie;
	int err;

	if (m->died != TIME_NEVER || !m->has_cookie)
		return;
	err = read_cookie(check->table, check->process, m, &cookie);
	/* Later, it may be told. */
	if (err == 0 || err == -EAGAIN || err == -ETIMEDOUT)
		return;
	m->has_cookie = false;
	process_change(check->process);
}

void process_table_miss_cookie(struct process_table *table, struct process *p, uint64_t snapshot)
{
	p->lacks_cookies = true;
	if (!p->snapshot || p->snapshot->id != snapshot)
		return;
	history_each(&p->mappings, check_cookie, &(struct cookie_check){ table, p });
}

void process_table_resync(struct process_table *table, uint64_t time)
{
	struct process *p, *next;
	int err;

	HASH_ITER(hh, table->processes, p, next) {
		if (p->left != TIME_NEVER || p->is_replaced)
			continue;
		if (!table->all && !process_is_same(p)) {
			process_replace(table, p, time);
			continue;
		}
		if (!p->list && !process_list_is_due(p)) {
			process_end_mappings(p, time);
			p->as_of = time;
			process_table_doubt(p, time);
			continue;
		}
		err = process_list_read(table, p, time, true);
		process_doubt_all(p, err, time);
		if (err < 0 && p->exited == TIME_NEVER)
			p->exited = time;
	}
}

/* Time from a first doubt to reading the mappings: a file may be half written. */
#define DOUBT_NS UINT64_C(1000000000)

static void process_settle_doubt(struct process_table *table, struct process *p, uint64_t now)
{
	if (p->doubted == 0 || p->doubted + DOUBT_NS > now || !process_list_is_due(p) ||
	    (p->list_err < 0 && table->n_awaited >= PROCESS_LIST_MAX_AGAIN))
		return;
	p->doubted = 0;
	if (p->is_replaced || p->left != TIME_NEVER)
		return;
	if (!p->is_unread)
		log_debug("process %d: unexpected code, reading its mappings again", p->pid);
	process_doubt_all(p, process_list_read(table, p, now, false), now);
}

struct settling {
	struct process_table *table;
	struct process *process;
	bool is_settled;
};

static void settle(void *arg, struct mapping *m)
{
	struct settling *s = arg;

	if (!m->is_pending)
		return;
	if (!mapping_settle(s->table, s->process, m)) {
		s->is_settled = false;
	} else if (m->died == TIME_NEVER) {
		process_change(s->process);
		jit_objects_cover(s->process, m);
	}
}

static void process_settle(struct process_table *table, struct process *p)
{
	struct settling settling = { table, p, process_settle_program(table, p) };

	history_each(&p->mappings, settle, &settling);
	/* The result may have led to the question whether the program is packed. */
	p->has_pending = !settling.is_settled || p->program;
}

void process_table_settle(struct process_table *table)
{
	struct process *p, *next;

	HASH_ITER(hh, table->processes, p, next)
		if (p->has_pending)
			process_settle(table, p);
}

/* Nobody needs its snapshot: samples from before get one of their own (process_look_back()). */
static bool has_ended(const struct process *p)
{
	return p->exited != TIME_NEVER && proc_stat_is_gone(p->pid);
}

/* Snapshots refer to tables that have come or gone. */
static void look_at_tables(struct process_table *table)
{
	struct process *p, *next;

	HASH_ITER(hh, table->processes, p, next)
		if (p->snapshot && snapshot_is_outdated(p->snapshot))
			process_change(p);
}

/* Whatever it takes, most of the time is left to samples. */
static void look_at_objects(struct process_table *table, uint64_t now)
{
	uint64_t begun = clock_now_ns();

	if (begun < table->jit_next)
		return;
	(void)jit_objects_update_all(table, now, begun + JIT_OBJECTS_TURN_NS);
	table->jit_next = begun + JIT_OBJECTS_PAUSE * (clock_now_ns() - begun);
}

int process_table_publish(struct process_table *table, uint64_t now)
{
	uint64_t generation = table->binaries->tables.generation;
	struct process *p, *next;
	size_t n_large = 0;
	int err;

	if (table->generation != generation)
		look_at_tables(table);
	look_at_objects(table, now);
	for (p = table->due; p; p = next) {
		next = p->next_due;
		process_settle_doubt(table, p, now);
		hotspot_update(table, p, now);
		n_large += process_is_large(p);
		if (p->changed && has_ended(p))
			p->changed = false;
		err = p->changed && process_may_publish(table, p, now) ?
			      process_publish(table, p, now) :
			      0;
		if (err < 0)
			return err;
		if (!stays_due(p))
			unset_due(p);
	}
	table->generation = generation;
	table->n_large = n_large;
	return 0;
}

/* True if it runs, and the PID is still its own. */
static bool process_runs(struct process *p)
{
	p->thread = !proc_stat_is_gone(p->pid) && process_is_same(p) ?
			    proc_stat_live_thread(p->pid) :
			    0;
	return p->thread != 0;
}

void process_table_forget(struct process_table *table, uint64_t before)
{
	struct process *p, *next;

	snapshot_store_forget(&table->snapshots, before);
	jitted_store_forget(&table->jitted, before, table->binaries->users);
	unrecorded_exits(table);
	HASH_ITER(hh, table->processes, p, next) {
		history_forget(&p->mappings, before);
		if (p->exited >= before && p->left >= before)
			continue;
		if (p->left >= before && process_runs(p)) { /* only one of its threads has exited */
			p->exited = TIME_NEVER;
			continue;
		}
		/* It may be known without having a snapshot. */
		if (p->published != 0)
			table->publish(table->arg, p->pid, 0);
		snapshot_retire(&table->snapshots, p->snapshot, before);
		process_free(table, p);
	}
}
