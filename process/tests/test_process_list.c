// SPDX-License-Identifier: Apache-2.0
/*
 * What happens to a process between the request for the list of its mappings and the list: the linker
 * redirects the requests to the functions below, and no process of this machine is looked at.
 */
#include "process/process_list.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/proc_stat.h"
#include "process/tests/process_world.h"
#include "sandbox/list_fetchers.h"

#define LINE(range) range " r-xp 00000000 00:00 0 \n"
#define SECOND UINT64_C(1000000000)

static uint64_t n_asked, cancelled;
static pid_t asked;
static struct fetched_list answers[8];
static size_t n_answers;
static uint64_t started = 1;

int __wrap_list_fetchers_ask(struct list_fetchers *f, pid_t pid, pid_t thread, uint64_t *ret);
void __wrap_list_fetchers_cancel(struct list_fetchers *f, uint64_t number);
void __wrap_list_fetchers_look(struct list_fetchers *f);
bool __wrap_list_fetchers_take(struct list_fetchers *f, struct fetched_list *ret);
bool __wrap_list_fetchers_wait(struct list_fetchers *f, int timeout_ms);
pid_t __wrap_proc_stat_live_thread(pid_t pid);
int __wrap_proc_stat_read(pid_t pid, struct proc_stat *ret);

int __wrap_list_fetchers_ask(struct list_fetchers *f, pid_t pid, pid_t thread, uint64_t *ret)
{
	asked = pid;
	*ret = ++n_asked;
	return 0;
}

void __wrap_list_fetchers_cancel(struct list_fetchers *f, uint64_t number)
{
	cancelled = number;
}

void __wrap_list_fetchers_look(struct list_fetchers *f)
{
}

bool __wrap_list_fetchers_take(struct list_fetchers *f, struct fetched_list *ret)
{
	if (n_answers == 0)
		return false;
	*ret = answers[--n_answers];
	return true;
}

bool __wrap_list_fetchers_wait(struct list_fetchers *f, int timeout_ms)
{
	return false;
}

pid_t __wrap_proc_stat_live_thread(pid_t pid)
{
	return pid;
}

int __wrap_proc_stat_read(pid_t pid, struct proc_stat *ret)
{
	*ret = (struct proc_stat){ .pid = pid, .started = started };
	return 0;
}

static void set_up(void)
{
	begin();
	table.all = true;
	table.lists = (struct list_fetchers *)&n_asked; /* any */
}

static void tear_down(void)
{
	cr_assert_eq(table.n_awaited, 0);
	cr_assert_eq(table.deferred_bytes, 0);
	end();
}

TestSuite(process_list, .init = set_up, .fini = tear_down);

static struct process *process(int n)
{
	struct process *p = process_table_find(&table, PID(n));

	cr_assert(p);
	return p;
}

static struct process *add(int n)
{
	cr_assert_eq(process_table_add(&table, PID(n)), 0);
	cr_assert_eq(asked, PID(n));
	return process(n);
}

/* The answer to a request about a process. */
static void answer(int n, uint64_t number, int err, const char *text)
{
	answers[n_answers++] = (struct fetched_list){ .pid = PID(n),
						      .number = number,
						      .err = err,
						      .bytes = text ? strdup(text) : NULL,
						      .size = text ? strlen(text) : 0 };
	(void)process_lists_apply(&table);
	cr_assert_eq(n_answers, 0);
}

/* What has happened since is not undone. */
Test(process_list, is_as_if_read_when_it_was_asked_for)
{
	struct process *p = add(0);
	const struct mapping *m;

	cr_assert(p->is_unread && process_is_pending(p, 5));
	cr_assert_eq(process_table_publish(&table, 1), 0);
	cr_assert_eq(published[0], DP_CELL_UNKNOWN, "it is sampled");
	map(0, 50, 0x1800, 0x3000);
	expect_mappings(0, 60, 0);
	answer(0, 1, 0, LINE("1000-2000") "2000-4000 rw-p 00000000 00:00 0 \n" LINE("5000-6000"));
	cr_assert(!p->is_unread && !process_is_pending(p, 5));
	expect_mappings(0, 49, 2);
	expect_mappings(0, 50, 3);
	m = process_find(p, 0x1900, 50);
	cr_assert(m && m->start == 0x1800 && m->born == 50);
	m = process_find(p, 0x1900, 49);
	cr_assert(m && m->end == 0x2000 && m->born == 0);
	cr_assert_eq(process_table_publish(&table, 61), 0);
	cr_assert_geq(published[0], DP_FIRST_CELL);
}

/* It may be the old or the new program's. */
Test(process_list, is_worthless_after_an_exec)
{
	struct process *p = add(0);

	map(0, 10, 0x1000, 0x2000);
	process_table_on_exec(&table, PID(0), 20);
	cr_assert_eq(cancelled, 1);
	cr_assert(!p->is_unread && !process_is_pending(p, 20));
	cr_assert(process_lists_apply(&table), "samples are held for it");
	cr_assert(!process_lists_apply(&table));
	map(0, 21, 0x8000, 0x9000);
	answer(0, 1, 0, LINE("1000-2000"));
	expect_mappings(0, 21, 1);
	cr_assert(process_find(p, 0x8000, 21));
}

/* Records were lost after the exec, and the list was asked for then. */
Test(process_list, is_that_of_the_last_program)
{
	struct process *p = add(0);

	answer(0, 1, 0, LINE("1000-2000"));
	process_table_resync(&table, 100);
	map(0, 80, 0x3000, 0x4000);
	process_table_on_exec(&table, PID(0), 90);
	map(0, 95, 0x8000, 0x9000);
	cr_assert(process_is_pending(p, 100) && !process_find(p, 0x1000, 90));
	answer(0, 2, 0, LINE("8000-9000") LINE("a000-b000"));
	cr_assert(process_find(p, 0x1000, 89) && !process_find(p, 0x3000, 95));
	expect_mappings(0, 95, 1);
	expect_mappings(0, 100, 2);
}

Test(process_list, is_not_that_of_another_process)
{
	struct process *p = add(0);

	started = 2;
	answer(0, 1, 0, LINE("1000-2000"));
	cr_assert(p->is_unread && p->exited != TIME_NEVER);
	expect_mappings(0, 10, 0);
	started = 1;
}

/* Then samples say that the mappings are not known; and it is tried again, not all the time. */
Test(process_list, may_not_come)
{
	struct process *p = add(0);
	struct snapshot *snapshot;
	uint64_t now;

	answer(0, 1, -ETIMEDOUT, NULL);
	now = clock_now_ns();
	cr_assert(p->is_unread && p->list_err == -ETIMEDOUT && !process_is_pending(p, 10));
	cr_assert_eq(table.n_unlisted, 1);
	map(0, 10, 0x7000, 0x8000);
	cr_assert_eq(process_look_back(&table, p, 10, &snapshot), -EAGAIN);
	cr_assert_eq(process_table_publish(&table, now + 5 * SECOND), 0);
	cr_assert(n_asked == 1 && published[0] == DP_CELL_UNKNOWN);
	cr_assert_eq(process_table_publish(&table, now + 7 * SECOND), 0);
	cr_assert_eq(n_asked, 2);
	answer(0, 2, 0, LINE("1000-2000"));
	cr_assert(!p->is_unread && p->list_err == 0);
	expect_mappings(0, now + 7 * SECOND, 1);
	cr_assert_eq(process_table_publish(&table, now + 7 * SECOND), 0);
	cr_assert_geq(published[0], DP_FIRST_CELL);
}

Test(process_list, may_be_none)
{
	static const char *const texts[] = { LINE("1000-2000") "5000-60", "what is this\n",
					     LINE("3000-4000") LINE("1000-2000") };

	for (uint64_t i = 0; i < 3; i++) {
		struct process *p = add((int)i);

		answer((int)i, i + 1, 0, texts[i]);
		cr_assert(p->is_unread && p->list_err == -EBADMSG);
		expect_mappings((int)i, 10, 0);
	}
}

/* As the kernel writes it if they are joined while it is read. */
Test(process_list, may_have_mappings_that_overlap)
{
	struct process *p = add(0);
	const struct mapping *m;

	answer(0, 1, 0, LINE("1000-3000") "2000-5000 r-xp 00007000 00:00 0 \n" LINE("6000-7000"));
	expect_mappings(0, 10, 3);
	m = process_find(p, 0x2000, 10);
	cr_assert(m && m->start == 0x1000 && m->end == 0x3000);
	m = process_find(p, 0x4000, 10);
	cr_assert(m && m->start == 0x3000 && m->end == 0x5000 && m->offset == 0x8000);
}

Test(process_list, is_not_applied_in_part)
{
	struct process *p = add(0);

	answer(0, 1, 0, LINE("1000-2000"));
	process_table_doubt(p, SECOND);
	cr_assert_eq(process_table_publish(&table, 2 * SECOND), 0);
	answer(0, 2, 0, LINE("1000-2000") "3000-40");
	cr_assert(p->is_unread);
	expect_mappings(0, 2 * SECOND - 1, 1);
	expect_mappings(0, 2 * SECOND, 0);
}

/* Where records were lost, what was known is not believed. */
Test(process_list, that_does_not_come_leaves_what_is_sure)
{
	struct process *p = add(0);

	answer(0, 1, 0, LINE("1000-2000"));
	process_table_doubt(p, SECOND);
	cr_assert_eq(process_table_publish(&table, 2 * SECOND), 0);
	cr_assert(n_asked == 2 && process_is_pending(p, 2 * SECOND) &&
		  !process_is_pending(p, 2 * SECOND - 1));
	answer(0, 2, -ETIMEDOUT, NULL);
	cr_assert(!p->is_unread);
	expect_mappings(0, 3 * SECOND, 1);
	process_table_resync(&table, 4 * SECOND);
	expect_mappings(0, 4 * SECOND, 1);
	answer(0, 3, -ETIMEDOUT, NULL);
	cr_assert(p->is_unread);
	expect_mappings(0, 4 * SECOND - 1, 1);
	expect_mappings(0, 4 * SECOND, 0);
}

/* Nothing is mapped where nothing is any more, or its thread has ended. */
Test(process_list, of_one_that_has_ended_is_empty)
{
	struct process *p = add(0);

	answer(0, 1, 0, "");
	cr_assert(p->is_unread && p->list_err == -ESRCH && p->exited != TIME_NEVER);
	cr_assert_eq(table.n_unlisted, 0);
}

/* The parent may have changed them by the time that its list tells. */
Test(process_list, of_a_child_is_its_own)
{
	struct process *child;

	add(0);
	cr_assert_eq(process_table_on_fork(&table, PID(0), PID(1), 20), 0);
	child = process(1);
	cr_assert(n_asked == 2 && asked == PID(1) && child->is_unread);
	answer(1, 2, 0, LINE("1000-2000") LINE("3000-4000"));
	expect_mappings(1, 20, 2);
	expect_mappings(0, 20, 0);
	answer(0, 1, 0, LINE("1000-2000"));
	expect_mappings(0, 20, 1);
	cr_assert_eq(process_table_on_fork(&table, PID(0), PID(2), 30), 0);
	cr_assert_eq(n_asked, 2, "they are known");
	expect_mappings(2, 30, 1);
}

/* It had what its parent had, whose list is being read. */
Test(process_list, of_a_child_that_has_ended_is_that_of_its_parent)
{
	struct process *child;
	struct snapshot *snapshot;

	add(0);
	answer(0, 1, 0, LINE("1000-2000"));
	process_table_doubt(process(0), 1);
	cr_assert_eq(process_table_publish(&table, SECOND + 1), 0);
	cr_assert_eq(process_table_on_fork(&table, PID(0), PID(1), SECOND + 10), 0);
	child = process(1);
	cr_assert(n_asked == 3 && process_is_pending(child, SECOND + 20));
	answer(1, 3, -ESRCH, NULL);
	cr_assert(child->exited != TIME_NEVER && !process_is_pending(child, SECOND + 20));
	expect_mappings(1, SECOND + 20, 1);
	cr_assert_eq(process_look_back(&table, child, SECOND + 20, &snapshot), 0);
	snapshot_free(&table.snapshots, snapshot);
	cr_assert_eq(child->mappings.n_living, 0);
	answer(0, 2, 0, LINE("1000-2000"));
}

/* What was lost may be missing in a list that is being read. */
Test(process_list, is_read_again_if_records_are_lost_meanwhile)
{
	struct process *p = add(0);

	process_table_resync(&table, 100);
	cr_assert_eq(n_asked, 1);
	answer(0, 1, 0, LINE("1000-2000"));
	cr_assert(n_asked == 2 && process_is_pending(p, 100));
	answer(0, 1, 0, LINE("7000-8000")); /* an old one */
	answer(0, 2, 0, LINE("3000-4000"));
	cr_assert(process_find(p, 0x1000, 99) && !process_find(p, 0x1000, 100));
	cr_assert(process_find(p, 0x3000, 100) && !process_find(p, 0x3000, 99));
}

/* The same where the list that is being read has become worthless. */
Test(process_list, is_read_again_if_records_are_lost_after_an_exec)
{
	struct process *p = add(0);

	process_table_resync(&table, 100);
	process_table_on_exec(&table, PID(0), 50);
	cr_assert(cancelled == 1 && n_asked == 2 && process_is_pending(p, 60));
	answer(0, 1, 0, LINE("1000-2000"));
	answer(0, 2, 0, LINE("3000-4000"));
	expect_mappings(0, 99, 0);
	expect_mappings(0, 100, 1);
}

/* Maps something until that is too much, and once more. Returns how often it was not. */
static uint64_t map_too_much(int n, const char *name)
{
	struct mmap_record r = { PID(n), .start = 0x1000, .end = 0x2000, .name = name };
	const struct process_list *list = process(n)->list;

	for (r.time = 1; !list->is_again; r.time++) {
		cr_assert_eq(process_table_on_mmap(&table, &r), 0);
		cr_assert_lt(r.time, 10000);
	}
	cr_assert_eq(process_table_on_mmap(&table, &r), 0);
	cr_assert_eq(list->again, r.time - 1, "the first one that is left out");
	return r.time - 2;
}

/* A process maps thousands of files while its list is locked; another list has what is left out. */
Test(process_list, bounds_what_waits_for_it)
{
	struct process *p = add(0);
	uint64_t n = map_too_much(0, "//anon");

	cr_assert_gt(n, 1000);
	answer(0, 1, 0, LINE("5000-6000"));
	cr_assert(n_asked == 2 && process_is_pending(p, n + 1) && !process_is_pending(p, n));
	cr_assert(process_find(p, 0x1000, n + 1)->born == n && process_find(p, 0x5000, n + 1));
	answer(0, 2, 0, LINE("5000-6000"));
	expect_mappings(0, n + 1, 1);
}

/* Those of one process may leave no room for those of others. */
Test(process_list, bounds_what_waits_for_all)
{
	static char name[8000];

	memset(name, 'x', sizeof(name) - 1);
	add(0);
	add(1);
	cr_assert_gt(map_too_much(0, name), 1000);
	cr_assert_lt(map_too_much(1, name), 2);
	for (uint64_t i = 0; i < 2; i++) {
		answer((int)i, i + 1, 0, LINE("5000-6000"));
		answer((int)i, i + 3, 0, LINE("5000-6000"));
	}
}

/* Tens of thousands of mappings are not read all the time, whatever happens while they are. */
Test(process_list, is_not_read_again_at_once_if_it_is_long)
{
	enum { N = 50000, LINE_SIZE = 64 };
	_cleanup_free_ char *text = malloc((size_t)N * LINE_SIZE);
	struct process *p = add(0);
	size_t n = 0;

	cr_assert(text);
	for (unsigned int i = 1; i <= N; i++)
		n += (size_t)snprintf(text + n, LINE_SIZE, LINE("%x000-%x800"), i, i);
	process_table_resync(&table, 100);
	answer(0, 1, 0, text);
	cr_assert(p->read_ns > 0 && !p->list && p->doubted != 0);
	cr_assert_eq(n_asked, 1);
}

/* Those of a user who is refused, too, are asked for little by little. */
Test(process_list, are_not_asked_for_again_all_at_once)
{
	enum { N = 200 };
	uint64_t last;

	for (int i = 0; i < N; i++)
		answer(i, add(i)->list->number, -ETIMEDOUT, NULL);
	cr_assert_eq(table.n_unlisted, N);
	cr_assert_eq(process_table_publish(&table, UINT64_MAX / 2), 0);
	last = n_asked;
	cr_assert(last > N && last < 2 * N);
	for (int i = 0; i < N; i++)
		process_list_cancel(&table, process(i));
	cr_assert_eq(process_table_publish(&table, UINT64_MAX / 2), 0);
	cr_assert_gt(n_asked, last);
	for (int i = 0; i < N; i++)
		process_list_cancel(&table, process(i));
}

/* Its number is another's, or it is forgotten. */
Test(process_list, ends_with_its_process)
{
	add(0);
	map(0, 10, 0x1000, 0x2000);
	table.all = false;
	cr_assert_eq(process_table_on_fork(&table, PID(7), PID(0), 20), 0);
	cr_assert_eq(cancelled, 1);
	add(1);
	map(1, 10, 0x1000, 0x2000);
	process_table_on_exit(&table, PID(1), 20);
	process(1)->is_replaced = true; /* it does not run */
	process_table_forget(&table, 30);
	cr_assert(cancelled == 2 && !process_table_find(&table, PID(1)));
}
