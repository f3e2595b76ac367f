// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "clock.h"
#include "log.h"
#include "mapped_file.h"
#include "proc_maps.h"
#include "proc_stat.h"

/* Addresses from here on are the kernel's; [vsyscall] is among them. */
#define USER_ADDRESS_END (UINT64_C(1) << DP_METHOD_SHIFT)

void process_table_init(struct process_table *table, struct pool *pool,
			struct binary_store *binaries, int (*publish)(void *, pid_t, uint32_t),
			void *arg)
{
	*table = (struct process_table){
		.binaries = binaries,
		.publish = publish,
		.arg = arg,
	};
	space_store_init(&table->spaces, pool, &binaries->tables);
}

static struct table *table_of(const struct mapping *m)
{
	return m->binary ? m->binary->table : NULL;
}

static void process_free(struct process_table *table, struct process *p)
{
	for (size_t i = 0; i < p->n_mappings; i++)
		table_drop(table_of(&p->mappings[i]));
	HASH_DEL(table->processes, p);
	free(p->mappings);
	free(p);
}

void process_table_done(struct process_table *table)
{
	struct process *p, *next;

	space_store_done(&table->spaces);
	HASH_ITER(hh, table->processes, p, next)
		process_free(table, p);
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
	p->thread = pid;
	p->exited = TIME_NEVER;
	HASH_ADD(hh, table->processes, pid, sizeof(pid), p);
	if (!HASH_IS_ADDED(hh, p)) {
		free(p);
		return NULL;
	}
	return p;
}

static int mapping_append(struct process *p, const struct mapping *m)
{
	if (array_reserve(p->mappings, p->n_mappings, p->mappings_size) < 0)
		return -ENOMEM;
	p->mappings[p->n_mappings++] = *m;
	table_hold(table_of(m));
	p->changed = true;
	return 0;
}

/* Add a mapping; what it covers of older ones is gone from then on. */
static int mapping_add(struct process *p, const struct mapping *m)
{
	for (size_t i = p->n_mappings; i-- > 0;) {
		struct mapping old = p->mappings[i], left = old, right = old;
		int err = 0;

		if (old.died != TIME_NEVER || old.end <= m->start || old.start >= m->end)
			continue;
		p->mappings[i].died = m->born;
		left.born = right.born = m->born;
		left.end = m->start;
		right.start = m->end;
		if (left.start < left.end)
			err = mapping_append(p, &left);
		if (err == 0 && right.start < right.end)
			err = mapping_append(p, &right);
		if (err < 0)
			return err;
	}
	return mapping_append(p, m);
}

static void mappings_end(struct process *p, uint64_t time)
{
	for (size_t i = 0; i < p->n_mappings; i++)
		if (p->mappings[i].died == TIME_NEVER)
			p->mappings[i].died = time;
	p->changed = true;
}

/* Reading a word makes its page resident; the walker cannot. */
static bool touch(pid_t pid, uint64_t address)
{
	uint64_t word;
	struct iovec local = { &word, sizeof(word) };
	struct iovec remote = { (void *)address, sizeof(word) };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(word);
}

/* Find the binary and the bias of a mapping; without one it stays code that is in no file. */
static void mapping_resolve(struct process_table *table, pid_t pid, struct mapping *m,
			    uint64_t inode, const char *name)
{
	struct binary *b;
	int fd, err;

	if (strcmp(name, "[vdso]") == 0) {
		err = binary_store_get_vdso(table->binaries, &b);
	} else if (name[0] == '/' && inode != 0) {
		fd = mapped_file_open(pid, m->start, m->end, inode, name);
		err = fd < 0 ? fd : binary_store_get(table->binaries, fd, name, &b);
	} else {
		return;
	}
	if (err == 0)
		err = elf_file_bias(&b->elf, m->start, m->offset, &m->bias);
	if (err == 0) {
		m->binary = b;
		m->marked = mapping_has_mark(m);
		/* If it fails, the process may have unmapped the binary meanwhile. */
		if (m->marked)
			touch(pid, mapping_mark_address(m));
	} else {
		log_debug("process %d: no table for %s: %s", pid, name, strerror(-err));
	}
}

static int process_read_maps(struct process_table *table, struct process *p, uint64_t time)
{
	_cleanup_(proc_maps_close) struct proc_maps maps = { 0 };
	struct proc_map map;
	int err;

	/* The first thread may have exited before the others: /proc then shows nothing through it. */
	p->thread = proc_stat_live_thread(p->pid);
	if (p->thread == 0)
		return -ESRCH;
	err = proc_maps_open(&maps, p->thread);
	if (err < 0)
		return err;
	while ((err = proc_maps_next(&maps, &map)) > 0) {
		struct mapping m = { map.start, map.end, map.offset, .born = time,
				     .died = TIME_NEVER };

		if (!map.executable || map.end > USER_ADDRESS_END)
			continue;
		mapping_resolve(table, p->thread, &m, map.inode, map.name);
		err = mapping_add(p, &m);
		if (err < 0)
			return err;
	}
	return err;
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
	err = process_read_maps(table, p, 0);
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
	p->changed = true;
	return 0;
}

/* The process that a record is about, or NULL if it is of no interest. */
static struct process *process_of_record(struct process_table *table, pid_t pid)
{
	struct process *p = process_table_find(table, pid);

	if (!p && table->all)
		p = process_new(table, pid);
	return p;
}

int process_table_on_mmap(struct process_table *table, const struct mmap_record *r)
{
	struct process *p = process_of_record(table, r->pid);
	struct mapping m = { r->start, r->end, r->offset, .born = r->time, .died = TIME_NEVER };

	if (!p || r->end > USER_ADDRESS_END)
		return 0;
	mapping_resolve(table, p->thread, &m, r->inode, r->name);
	return mapping_add(p, &m);
}

int process_table_on_fork(struct process_table *table, pid_t parent, pid_t child, uint64_t time)
{
	struct process *from = process_table_find(table, parent);
	struct process *p = process_table_find(table, child);

	if (!from || parent == child)
		return 0;
	if (p) /* the number was used before */
		mappings_end(p, time);
	else
		p = process_new(table, child);
	if (!p)
		return -ENOMEM;
	p->thread = child;
	p->exited = TIME_NEVER;
	p->sampled_from = from->sampled_from;
	p->changed = true;
	for (size_t i = 0; i < from->n_mappings; i++) {
		struct mapping m = from->mappings[i];

		if (m.died != TIME_NEVER)
			continue;
		m.born = time;
		if (mapping_append(p, &m) < 0)
			return -ENOMEM;
	}
	return 0;
}

void process_table_on_exec(struct process_table *table, pid_t pid, uint64_t time)
{
	struct process *p = process_of_record(table, pid);

	if (!p)
		return;
	mappings_end(p, time);
	/* If another thread than the first executes, it ends the first and takes its number. */
	p->thread = pid;
	p->exited = TIME_NEVER;
	if (p->sampled_from == TIME_NEVER)
		p->sampled_from = time;
}

void process_table_on_exit(struct process_table *table, pid_t pid, uint64_t time)
{
	struct process *p = process_table_find(table, pid);

	if (p)
		p->exited = time;
}

void process_table_check_marks(struct process_table *table, struct process *p)
{
	for (size_t i = 0; i < p->n_mappings; i++) {
		struct mapping *m = &p->mappings[i];

		if (m->died != TIME_NEVER || !m->marked ||
		    touch(p->thread, mapping_mark_address(m)))
			continue;
		m->marked = false;
		p->changed = true;
	}
}

void process_table_resync(struct process_table *table, uint64_t time)
{
	struct process *p, *next;

	HASH_ITER(hh, table->processes, p, next) {
		mappings_end(p, time);
		if (process_read_maps(table, p, time) < 0 && p->exited == TIME_NEVER)
			p->exited = time;
	}
}

int process_snapshot(struct process_table *table, const struct process *process, uint64_t time,
		     struct space **ret)
{
	return space_new(&table->spaces, process->pid, process->mappings, process->n_mappings, time,
			 false, ret);
}

/* The kernel goes on sampling a process whose space has no room. */
static void log_no_room(struct process_table *table)
{
	if (!table->has_warned)
		log_warning("no room for the mappings of all processes: --table-memory gives more");
	table->has_warned = true;
}

/* Give the kernel the newest state of a process: nothing in its list is born later than now. */
static int process_publish(struct process_table *table, struct process *p, uint64_t now)
{
	struct space *s = NULL;
	int err;

	do
		err = space_new(&table->spaces, p->pid, p->mappings, p->n_mappings, TIME_NEVER - 1,
				true, &s);
	while (err < 0 && table_store_shed(&table->binaries->tables));
	p->changed = err < 0; /* and so it is tried again */
	if (err < 0)
		log_no_room(table);
	err = table->publish(table->arg, p->pid, s ? s->cell : DP_CELL_UNKNOWN);
	if (err < 0)
		return err;
	space_retire(&table->spaces, p->space, now);
	p->space = s;
	return 0;
}

int process_table_publish(struct process_table *table, uint64_t now)
{
	uint64_t generation = table->binaries->tables.generation;
	bool tables_changed = table->generation != generation;
	struct process *p, *next;

	HASH_ITER(hh, table->processes, p, next) {
		int err;

		if (!p->changed && !(tables_changed && p->space && space_is_outdated(p->space)))
			continue;
		err = process_publish(table, p, now);
		if (err < 0)
			return err;
	}
	table->generation = generation;
	return 0;
}

/* Does it run, as the process that it was? Its number may be another one's by now. */
static bool process_runs(struct process *p)
{
	struct proc_stat stat;

	if (proc_stat_read(p->pid, &stat) < 0 || stat.started >= clock_to_boot_ns(p->exited))
		return false;
	p->thread = proc_stat_live_thread(p->pid);
	return p->thread != 0;
}

static void process_forget_mappings(struct process *p, uint64_t before)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n_mappings; i++) {
		if (p->mappings[i].died >= before)
			p->mappings[kept++] = p->mappings[i];
		else
			table_drop(table_of(&p->mappings[i]));
	}
	p->n_mappings = kept;
}

void process_table_forget(struct process_table *table, uint64_t before)
{
	struct process *p, *next;

	space_store_forget(&table->spaces, before);
	HASH_ITER(hh, table->processes, p, next) {
		process_forget_mappings(p, before);
		if (p->exited >= before)
			continue;
		if (process_runs(p)) { /* only one of its threads has exited */
			p->exited = TIME_NEVER;
			continue;
		}
		/* It may be known without a space, too. */
		table->publish(table->arg, p->pid, 0);
		space_retire(&table->spaces, p->space, before);
		process_free(table, p);
	}
}
