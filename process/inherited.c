// SPDX-License-Identifier: Apache-2.0
#include "process/inherited.h"

#include "base/cleanup.h"
#include "process/process_table.h"

/* What is not known yet of the parent's mappings, or describes code in them, is to be known of the child's, too. */
static bool can_wait(const struct process *parent, uint64_t time)
{
	return !parent->has_pending && !parent->list && !parent->is_unread &&
	       !parent->jit_objects && parent->as_of <= time;
}

static int copy(struct process *p, const struct process *parent, uint64_t time)
{
	const struct inherited *inherited = &p->inherited;
	_cleanup_free_ const struct mapping **mappings = NULL;
	size_t n = 0;
	int err = history_at(&parent->mappings, time, &mappings, &n);

	for (size_t i = 0; err == 0 && i < n; i++) {
		struct mapping m = *mappings[i];

		m.born = inherited->from;
		m.died = inherited->until;
		err = m.died == TIME_NEVER ? process_add_mapping(p, &m) :
					     history_add_past(&p->mappings, &m);
	}
	return err;
}

int inherited_begin(struct process_table *table, struct process *child, struct process *parent,
		    uint64_t time)
{
	int err = inherited_is_due(&parent->inherited, time) ? inherited_copy(table, parent) : 0;

	if (err < 0)
		return err;
	child->inherited = (struct inherited){ 0, parent->number, time, TIME_NEVER };
	if (!can_wait(parent, time))
		return copy(child, parent, TIME_NEVER - 1);
	child->inherited.parent = parent->pid;
	return 0;
}

int inherited_copy(struct process_table *table, struct process *child)
{
	const struct process *parent =
		child->inherited.parent ? process_table_find(table, child->inherited.parent) : NULL;

	child->inherited.parent = 0;
	if (!parent || parent->number != child->inherited.number)
		return 0;
	return copy(child, parent, child->inherited.from);
}

struct process *inherited_find(struct process_table *table, pid_t pid, uint64_t time)
{
	struct process *p = process_table_find(table, pid);

	/* Without memory, its stack ends there. */
	if (p && inherited_is_due(&p->inherited, time))
		(void)inherited_copy(table, p);
	return p;
}
