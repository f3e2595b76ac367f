// SPDX-License-Identifier: Apache-2.0
#include "process/process_snapshot.h"

#include <errno.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "process/process_list.h"

/* Ten times what a mapping takes in a snapshot: a tenth for each of the two kinds of snapshots. */
#define PAUSE_NS UINT64_C(2000)

bool process_is_large(const struct process *p)
{
	return p->mappings.n_living + p->mappings.n_past > MANY_MAPPINGS;
}

/* The time from one snapshot of a process, for which n mappings are looked at, to the next. */
static uint64_t pause_of(const struct process_table *table, size_t n)
{
	return n > MANY_MAPPINGS ? n * PAUSE_NS * (table->n_large + 1) : 0;
}

bool process_may_publish(const struct process_table *table, const struct process *p, uint64_t now)
{
	return now >= p->published + pause_of(table, p->mappings.n_living);
}

static int make(struct process_table *table, struct process *p, uint64_t time, bool cookies,
		struct snapshot **ret)
{
	_cleanup_free_ const struct mapping **mappings = NULL;
	size_t n = 0;
	int err = inherited_is_due(&p->inherited, time) ? inherited_copy(table, p) : 0;

	if (err == 0)
		err = history_at(&p->mappings, time, &mappings, &n);
	return err < 0 ? err :
			 snapshot_new(&table->snapshots, p->pid, mappings, n,
				      hotspot_code(p->hotspot), cookies, ret);
}

int process_snapshot(struct process_table *table, struct process *p, uint64_t time,
		     struct snapshot **ret)
{
	return make(table, p, time, false, ret);
}

int process_look_back(struct process_table *table, struct process *p, uint64_t time,
		      struct snapshot **ret)
{
	uint64_t pause = pause_of(table, p->mappings.n_living + p->mappings.n_past);
	uint64_t now = pause > 0 ? clock_now_ns() : 0;

	if (p->is_unread || now < p->looked_back + pause)
		return -EAGAIN;
	p->looked_back = now;
	return process_snapshot(table, p, time, ret);
}

struct pending_search {
	uint64_t time;
	bool is_found;
};

static void look_for_pending(void *arg, struct mapping *m)
{
	struct pending_search *search = arg;

	search->is_found |= m->is_pending && m->born <= search->time && search->time < m->died;
}

bool process_is_pending(const struct process *p, uint64_t time)
{
	struct pending_search search = { .time = time };

	if (process_list_decides(p, time))
		return true;
	if (!p->has_pending)
		return false;
	history_each(&p->mappings, look_for_pending, &search);
	return search.is_found;
}

/* The kernel continues to sample a process whose snapshot has no room. */
static void log_no_room(struct process_table *table)
{
	if (!table->has_warned)
		log_warning("no room for the mappings of all processes: --table-memory gives more");
	table->has_warned = true;
}

int process_publish(struct process_table *table, struct process *p, uint64_t now)
{
	struct snapshot *s = NULL;
	int err = 0;

	/* Without one, its samples say that its mappings are not known, and wait until they are. */
	if (!p->is_unread)
		do
			err = make(table, p, TIME_NEVER - 1, true, &s);
		while (err < 0 && table_store_shed(&table->binaries->tables));
	p->changed = err < 0; /* so that it is tried again */
	if (err < 0)
		log_no_room(table);
	err = table->publish(table->arg, p->pid, s ? s->cell : DP_CELL_UNKNOWN);
	if (err < 0)
		return err;
	snapshot_retire(&table->snapshots, p->snapshot, now);
	p->snapshot = s;
	p->published = now;
	if (s)
		s->n_ended = p->mappings.n_ended;
	return 0;
}
