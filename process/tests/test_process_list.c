// SPDX-License-Identifier: Apache-2.0
/*
 * What happens to a process between the request for the list of its mappings and the list: the linker
 * redirects the requests to the functions below, and no process of this machine is looked at.
 */
#include "process/process_list.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
					     LINE("1000-3000") LINE("2000-4000") };

	for (uint64_t i = 0; i < 3; i++) {
		struct process *p = add((int)i);

		answer((int)i, i + 1, 0, texts[i]);
		cr_assert(p->is_unread && p->list_err == -EBADMSG);
		expect_mappings((int)i, 10, 0);
	}
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

/* A process that maps thousands of files while its list is locked; what is left out is in another list. */
Test(process_list, bounds_what_waits_for_it)
{
	static char name[4000];
	struct mmap_record r = { .pid = PID(0), .start = 0x1000, .end = 0x2000, .name = name };
	struct process *p = add(0);

	memset(name, 'x', sizeof(name) - 1);
	for (r.time = 1; !p->list->is_again; r.time++) {
		cr_assert_eq(process_table_on_mmap(&table, &r), 0);
		cr_assert_lt(r.time, 10000);
	}
	cr_assert_gt(r.time, 1000);
	answer(0, 1, 0, LINE("5000-6000"));
	cr_assert(n_asked == 2 && process_find(p, 0x1000, r.time) &&
		  process_find(p, 0x5000, r.time));
	cr_assert_lt(process_find(p, 0x1000, r.time)->born, r.time - 1, "the last one is left out");
	answer(0, 2, 0, LINE("5000-6000"));
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
