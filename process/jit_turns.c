// SPDX-License-Identifier: Apache-2.0
/* Which process's generated code is looked at next. */
#include <time.h>

#include "limits/limits.h"
#include "log/clock.h"
#include "process/jit_objects.h"
#include "process/process_table.h"

/* How long new targets are waited for. */
#define SETTLE_NS UINT64_C(300000000)
#define SETTLE_WAIT_MS 5

static void find_bare(void *arg, struct mapping *m)
{
	bool *has = arg;

	*has |= !m->binary && !m->is_pending && !m->is_unread && m->died == TIME_NEVER;
}

/* Before there are samples. */
static void expect_generated(const struct process_table *table)
{
	struct process *p, *next;

	HASH_ITER(hh, table->processes, p, next) {
		bool has = false;

		history_each(&p->mappings, find_bare, &has);
		if (has && p->n_generated == 0)
			jit_objects_expect(p);
	}
}

bool jit_objects_update_all(struct process_table *table, uint64_t now, uint64_t until)
{
	struct process *first = process_table_find(table, table->jit_turn), *p;
	bool is_left = false;

	if (!first || !first->is_due)
		first = table->due;
	p = first;
	while (p) {
		uint64_t begun = clock_now_ns();
		uint64_t end = begun + JIT_OBJECTS_TURN_NS;

		if (begun > until)
			break;
		is_left |= jit_objects_update(table, p, now, end < until ? end : until);
		p = p->next_due ? p->next_due : table->due;
		if (p == first)
			break;
	}
	table->jit_turn = p ? p->pid : 0;
	return is_left;
}

void jit_objects_settle(struct process_table *table)
{
	const struct timespec pause = { .tv_nsec = SETTLE_WAIT_MS * 1000000 };
	uint64_t now = clock_now_ns(), until = now + SETTLE_NS;

	expect_generated(table);
	while (jit_objects_update_all(table, now, until) && (now = clock_now_ns()) < until)
		if (!binary_store_wait(table->binaries, SETTLE_WAIT_MS))
			nanosleep(&pause, NULL);
}
