// SPDX-License-Identifier: Apache-2.0
/*
 * Processes and mappings over time, from synthetic side-band records: mappings by address and time,
 * forks, execs, reused PIDs.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kernel/filter.h"
#include "process/tests/process_world.h"
#include "process/unrecorded.h"

TestSuite(process, .init = begin, .fini = end);

Test(process, ignores_records_of_strangers)
{
	map(0, 1, 0x1000, 0x2000);
	cr_assert(process_table_find(&table, PID(0)) == NULL);
	table.all = true;
	map(0, 1, 0x1000, 0x2000);
	cr_assert(process_table_find(&table, PID(0)) != NULL);
}

Test(process, remembers_when_mappings_came_and_went)
{
	table.all = true;
	map(0, 10, 0x1000, 0x3000);
	map(0, 20, 0x5000, 0x6000);
	map(0, 30, 0x2000, 0x5800); /* covers the end of one and the start of the other */
	expect_mappings(0, 9, 0);
	expect_mappings(0, 10, 1);
	expect_mappings(0, 25, 2);
	expect_mappings(0, 30, 3);
}

/* A mapping inside another one leaves its two ends. */
Test(process, splits_a_mapping)
{
	struct snapshot *s;

	table.all = true;
	map(0, 10, 0x1000, 0x9000);
	map(0, 20, 0x3000, 0x4000);
	s = snapshot_of(0, 20);
	cr_assert(s->n_mappings == 3);
	cr_assert(s->mappings[0].end == 0x3000 && s->mappings[2].start == 0x4000);
	cr_assert(snapshot_find(s, 0x3fff) == &s->mappings[1]);
	cr_assert(snapshot_find(s, 0x9000) == NULL && snapshot_find(s, 0xfff) == NULL);
	snapshot_free(&table.snapshots, s);
}

Test(process, gives_a_child_its_parents_mappings)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	table.all = false;
	cr_assert(process_table_on_fork(&table, PID(0), PID(1), 20) == 0);
	cr_assert(process_table_on_fork(&table, PID(5), PID(6), 20) == 0);
	cr_assert(process_table_find(&table, PID(6)) == NULL);
	expect_mappings(1, 20, 1);
	map(1, 30, 0x5000, 0x6000);
	expect_mappings(1, 30, 2);
	expect_mappings(0, 30, 1);
}

Test(process, knows_that_it_and_its_children_lack_cookies)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	process_table_miss_cookie(&table, process_table_find(&table, PID(0)), 1);
	cr_assert(process_table_on_fork(&table, PID(0), PID(1), 20) == 0 &&
		  process_table_find(&table, PID(1))->lacks_cookies);
	map(2, 20, 0x1000, 0x2000);
	cr_assert(!process_table_find(&table, PID(2))->lacks_cookies);
}

Test(process, starts_anew_at_exec)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	process_table_on_exec(&table, PID(0), 20);
	map(0, 21, 0x8000, 0x9000);
	expect_mappings(0, 15, 1);
	expect_mappings(0, 20, 0);
	expect_mappings(0, 21, 1);
}

/* Code was found that was not mapped: after a second mappings of existing processes are read again. */
Test(process, reads_mappings_again_when_there_is_doubt)
{
	const uint64_t second = UINT64_C(1000000000), later = TIME_NEVER - 1;

	table.all = true;
	for (int n = 0; n < 3; n++) {
		map(n, 10, 0x1000, 0x2000);
		process_table_doubt(process_table_find(&table, PID(n)), second);
	}
	process_table_find(&table, PID(1))->is_replaced = true;
	process_table_find(&table, PID(2))->left = 20;
	cr_assert_eq(process_table_publish(&table, 2 * second - 1), 0);
	for (int n = 0; n < 3; n++)
		expect_mappings(n, 2 * second, 1);
	/* There is no such process any more: what it had was there till now. */
	cr_assert_eq(process_table_publish(&table, 2 * second), 0);
	cr_assert_null(process_find(process_table_find(&table, PID(0)), 0x1000, later));
	cr_assert(process_find(process_table_find(&table, PID(1)), 0x1000, later));
	cr_assert(process_find(process_table_find(&table, PID(2)), 0x1000, later));
	cr_assert(process_find(process_table_find(&table, PID(0)), 0x1000, 2 * second - 1));
}

/* A reused PID is another process. */
static const struct mapping *mapping_at(int n, uint64_t address, uint64_t time)
{
	const struct mapping *m = process_find(process_table_find(&table, PID(n)), address, time);

	cr_assert(m);
	return m;
}

/* JIT code from before a fork or an exec stays that of its process and program. */
Test(process, keeps_apart_what_each_program_has_compiled)
{
	const uint64_t minute = UINT64_C(60000000000);
	const struct jitted *first, *second;

	table.all = true;
	map(0, 1, 0x1000, 0x2000);
	cr_assert(!mapping_at(0, 0x1000, 1)->jitted, "nobody asks for names");
	binaries.symbols = true;
	map(0, 10, 0x1000, 0x2000);
	map(0, 10, 0x5000, 0x6000);
	first = mapping_at(0, 0x1000, 10)->jitted;
	cr_assert(first && first->module->jit);
	cr_assert_eq(mapping_at(0, 0x5000, 10)->jitted, first);
	cr_assert(process_table_on_fork(&table, PID(0), PID(1), 20) == 0);
	map(1, 21, 0x5000, 0x6000);
	cr_assert_eq(mapping_at(1, 0x1000, 21)->jitted, first);
	cr_assert_neq(mapping_at(1, 0x5000, 21)->jitted, first);
	process_table_on_exec(&table, PID(0), 30);
	map(0, 31, 0x1000, 0x2000);
	second = mapping_at(0, 0x1000, 31)->jitted;
	cr_assert_neq(second, first);
	cr_assert_eq(mapping_at(0, 0x1000, 29)->jitted, first);
	/* It is freed a minute after its last mapping, if no report keeps it. */
	process_table_on_exec(&table, PID(1), 40);
	process_table_forget(&table, minute);
	cr_assert_eq(first->n_users, 0);
	process_table_forget(&table, 2 * minute);
	process_table_forget(&table, 3 * minute);
	for (const struct jitted *j = table.jitted.all; j; j = j->next)
		cr_assert_eq(j, second);
}

Test(process, does_not_mix_up_reused_numbers)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	map(1, 10, 0x5000, 0x6000);
	map(1, 11, 0x7000, 0x8000);
	process_table_on_exit(&table, PID(1), 20);
	cr_assert(process_table_on_fork(&table, PID(0), PID(1), 30) == 0);
	expect_mappings(1, 15, 2);
	expect_mappings(1, 30, 1);
	cr_assert(process_table_find(&table, PID(1))->exited == TIME_NEVER);
}

/* The PID goes to a process that is not profiled. */
Test(process, leaves_a_reused_number_to_a_stranger)
{
	struct process *p;

	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	map(1, 10, 0x5000, 0x6000);
	table.all = false;
	cr_assert(process_table_publish(&table, 11) == 0);
	cr_assert(published[1] != 0);
	cr_assert(process_table_on_fork(&table, PID(7), PID(1), 30) == 0);
	p = process_table_find(&table, PID(1));
	cr_assert(p->is_replaced && p->exited == 30 && !p->snapshot && published[1] == 0);
	/* Samples of the old one are in flight; the new one's records are ignored. */
	expect_mappings(1, 29, 1);
	map(1, 31, 0x8000, 0x9000);
	process_table_on_exit(&table, PID(1), 40);
	cr_assert(p->exited == 30);
	expect_mappings(1, 31, 0);
	process_table_publish(&table, 41);
	cr_assert(published[1] == 0);
	/* Then it goes to a child of ours. */
	cr_assert(process_table_on_fork(&table, PID(0), PID(1), 50) == 0);
	expect_mappings(1, 50, 1);
	process_table_publish(&table, 51);
	cr_assert(!p->is_replaced && published[1] != 0);
}

/* The kernel's snapshot at a time can be compared with the true mappings. */
Test(process, tells_what_was_mapped_at_a_time)
{
	const struct process *p;

	table.all = true;
	map(0, 10, 0x1000, 0x3000);
	cr_assert(process_table_publish(&table, 11) == 0);
	p = process_table_find(&table, PID(0));
	cr_assert(p->snapshot->n_ended == p->mappings.n_ended);
	map(0, 20, 0x2000, 0x3000);
	cr_assert(p->snapshot->n_ended != p->mappings.n_ended);
	cr_assert(process_find(p, 0x2000, 19)->born == 10);
	cr_assert(process_find(p, 0x2000, 20)->start == 0x2000);
	cr_assert(process_find(p, 0x1fff, 20)->born == 20, "what is left of the old one");
	cr_assert(process_find(p, 0x3000, 20) == NULL && process_find(p, 0x1000, 9) == NULL);
}

Test(process, counts_a_command_from_its_exec)
{
	struct process *p;

	cr_assert(process_table_add_launched(&table, PID(2)) == 0);
	p = process_table_find(&table, PID(2));
	cr_assert(p->sampled_from == TIME_NEVER);
	process_table_on_exec(&table, PID(2), 55);
	process_table_on_exec(&table, PID(2), 66);
	cr_assert(p->sampled_from == 55);
}

Test(process, publishes_what_changed_and_nothing_else)
{
	const struct dp_snapshot *snapshot;
	const struct dp_mapping *mapping;
	uint32_t first;

	table.all = true;
	map(0, 10, 0x5000, 0x6000);
	map(0, 10, 0x1000, 0x2000);
	map(1, 10, 0x1000, 0x2000);
	cr_assert(process_table_publish(&table, 100) == 0);
	first = published[0];
	cr_assert(first != 0 && published[1] != 0 && first != published[1]);
	snapshot = (const void *)(segments[0] + (size_t)first * 8);
	mapping = (const void *)(snapshot + 1);
	cr_assert(snapshot->pid == PID(0) && snapshot->n_mappings == 2);
	cr_assert(mapping[0].start == 0x1000 && mapping[1].start == 0x5000);
	cr_assert(snapshot_store_find(&table.snapshots, snapshot->id) != NULL);

	published[1] = 0;
	map(0, 110, 0x8000, 0x9000);
	cr_assert(process_table_publish(&table, 120) == 0);
	cr_assert(published[0] != first && published[1] == 0);
}

/* A replaced snapshot is kept for samples that refer to it; its cells are reused afterwards. */
Test(process, forgets_replaced_snapshots_in_time)
{
	uint64_t id;

	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	process_table_publish(&table, 100);
	id = process_table_find(&table, PID(0))->snapshot->id;
	map(0, 110, 0x3000, 0x4000);
	process_table_publish(&table, 200);
	process_table_forget(&table, 200);
	cr_assert(snapshot_store_find(&table.snapshots, id) != NULL);
	process_table_forget(&table, 201);
	cr_assert(snapshot_store_find(&table.snapshots, id) == NULL);
}

/* Ended mappings do not come back. */
Test(process, forgets_mappings_that_ended)
{
	const struct process *p;

	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	map(0, 10, 0x5000, 0x6000);
	map(0, 20, 0x1000, 0x2000);
	p = process_table_find(&table, PID(0));
	process_table_forget(&table, 20);
	cr_assert(p->mappings.n_living == 2 && process_find(p, 0x1000, 19)->born == 10);
	for (uint64_t before = 21; before < 24; before++) {
		process_table_forget(&table, before);
		cr_assert(p->mappings.n_living == 2 && !process_find(p, 0x1000, 19));
		expect_mappings(0, 20, 2);
	}
}

Test(process, forgets_processes_that_exited)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	process_table_publish(&table, 100);
	process_table_on_exit(&table, PID(0), 150);
	process_table_forget(&table, 150);
	cr_assert(process_table_find(&table, PID(0)) != NULL);
	process_table_forget(&table, 151);
	cr_assert(process_table_find(&table, PID(0)) == NULL && published[0] == 0);
}

/* Records report that a thread has exited, not whether it was the last one. */
Test(process, keeps_processes_that_run)
{
	siginfo_t ended;
	pid_t pid = fork();
	uint64_t now;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	usleep(20000); /* the time that a process started is known to 10 ms */
	cr_assert(process_table_add(&table, pid) == 0);
	now = clock_now_ns();
	process_table_on_exit(&table, pid, now);
	process_table_forget(&table, now + 1);
	cr_assert(process_table_find(&table, pid)->exited == TIME_NEVER);
	/* Its PID belongs to another process, which started later. */
	process_table_on_exit(&table, pid, 1);
	process_table_forget(&table, 2);
	cr_assert(process_table_find(&table, pid) == NULL);

	cr_assert(process_table_add(&table, pid) == 0);
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT);
	now = clock_now_ns();
	process_table_on_exit(&table, pid, now);
	process_table_forget(&table, now + 1);
	cr_assert(process_table_find(&table, pid) == NULL, "a zombie has ended");
	waitpid(pid, NULL, 0);
}

/* An exec by another thread than the first ends the first, with the same PID. */
Test(process, survives_an_exec_by_any_thread)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	process_table_on_exit(&table, PID(0), 20);
	process_table_on_exec(&table, PID(0), 21);
	process_table_forget(&table, 30);
	cr_assert(process_table_find(&table, PID(0)) != NULL);
}

/* Thousands of changes do not use up the pool. */
Test(process, reuses_the_pool)
{
	table.all = true;
	for (uint64_t i = 0; i < 5000; i++) {
		map(0, 10 * i, 0x1000 * (1 + i % 300), 0x1000 * (2 + i % 300));
		process_table_publish(&table, 10 * i);
		process_table_forget(&table, 10 * i - 20);
	}
	cr_assert(n_segments == 1, "%d segments", n_segments);
}

/* This very process: its libraries are found, with tables, and so is the vDSO. */
Test(process, takes_in_a_real_process)
{
	struct process *p;
	const struct mapping *m;
	struct snapshot *s;

	cr_assert(process_table_add(&table, getpid()) == 0);
	cr_assert(process_table_publish(&table, 1) == 0);
	p = process_table_find(&table, getpid());
	s = p->snapshot;
	m = snapshot_find(s, (uint64_t)(uintptr_t)&begin);
	cr_assert(m && m->binary && m->binary->table && m->image >= DP_FIRST_CELL && m->has_cookie);
	m = snapshot_find(s, (uint64_t)(uintptr_t)&gnu_get_libc_version);
	cr_assert(m && m->binary && strstr(m->binary->module->path, "libc.so"));
	if (getauxval(AT_SYSINFO_EHDR)) /* valgrind hides it */
		cr_assert(binaries.vdso && table_image(binaries.vdso->table) >= DP_FIRST_CELL);
}

/* Without room for its snapshot a process is still sampled, and gets one when there is room. */
Test(process, goes_on_without_room_for_a_snapshot)
{
	table.all = true;
	pool.max_segments = 0;
	map(0, 10, 0x1000, 0x2000);
	cr_assert(process_table_publish(&table, 100) == 0);
	cr_assert(published[0] == DP_CELL_UNKNOWN);
	pool.max_segments = POOL_MIN_SEGMENTS;
	cr_assert(process_table_publish(&table, 110) == 0);
	cr_assert(published[0] >= DP_FIRST_CELL);
	published[0] = 0;
	cr_assert(process_table_publish(&table, 120) == 0 && published[0] == 0, "nothing changed");
}

Test(process, forgets_one_that_never_had_room)
{
	table.all = true;
	pool.max_segments = 0;
	map(0, 10, 0x1000, 0x2000);
	cr_assert(process_table_publish(&table, 100) == 0 && published[0] == DP_CELL_UNKNOWN);
	process_table_on_exit(&table, PID(0), 110);
	process_table_forget(&table, 120);
	cr_assert(published[0] == 0, "the number may be another program's next");
}

Test(process, says_that_there_is_no_such_process)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	cr_assert(process_table_add(&table, pid) == -ESRCH);
	cr_assert(process_table_find(&table, pid) == NULL);
}

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (pid == 0)
		pause();
	return pid;
}

Test(process, one_that_a_sample_meets_is_read_once)
{
	pid_t pid = start_sleeper();
	struct snapshot *s;

	cr_assert(process_table_meet(&table, pid, 100) == 1);
	cr_assert(process_table_meet(&table, pid, 101) == 0);
	/* Also for samples taken before. */
	cr_assert(process_snapshot(&table, process_table_find(&table, pid), 1, &s) == 0);
	cr_assert(snapshot_find(s, (uint64_t)(uintptr_t)start_sleeper));
	snapshot_free(&table.snapshots, s);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* After records were lost, those that come late say what had been by then. */
Test(process, has_its_mappings_as_they_were_read)
{
	const uint64_t code = (uint64_t)(uintptr_t)start_sleeper;
	pid_t pid = start_sleeper();
	const struct mmap_record r = { .pid = pid,
				       .time = 50,
				       .start = code & ~UINT64_C(0xfff),
				       .end = (code & ~UINT64_C(0xfff)) + 0x1000,
				       .name = "//anon" };
	const struct process *p;

	cr_assert(process_table_add(&table, pid) == 0);
	p = process_table_find(&table, pid);
	process_table_resync(&table, 100);
	cr_assert(process_find(p, code, 100)->born == 100);
	cr_assert(process_table_on_mmap(&table, &r) == 0);
	process_table_on_exec(&table, pid, 60);
	cr_assert(process_find(p, code, 60)->born == 50);
	cr_assert(process_find(p, code, 100)->binary && process_find(p, code, 100)->born == 100);
	process_table_on_exec(&table, pid, 110);
	cr_assert(process_find(p, code, 109) && !process_find(p, code, 110));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

Test(process, one_that_cannot_be_read_is_tried_again_after_a_second)
{
	pid_t pid = start_sleeper();

	table.all = true;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert(process_table_meet(&table, pid, 100) == 0);
	cr_assert(!process_table_find(&table, pid));
	cr_assert(table.refused[pid % PROCESS_N_REFUSED].time == 100);
	cr_assert(process_table_meet(&table, pid, 1000000099) == 0);
	cr_assert(table.refused[pid % PROCESS_N_REFUSED].time == 100, "not tried");
	cr_assert(process_table_meet(&table, pid, 1000000100) == 0);
	cr_assert(table.refused[pid % PROCESS_N_REFUSED].time == 1000000100, "tried");
}

Test(process, a_filter_decides_when_a_program_is_executed)
{
	char why[FILTER_WHY_SIZE];
	pid_t pid = getpid();
	struct filter filter;
	struct mmap_record r = {
		.pid = pid, .time = 35, .start = 0x5000, .end = 0x6000, .name = "//anon"
	};
	struct process *p;

	filter_init(&filter);
	cr_assert(filter_set_comm(&filter, "^wanted$", why) == 0);
	table.all = true;
	table.filter = &filter;

	prctl(PR_SET_NAME, "other");
	process_table_on_exec(&table, pid, 10);
	cr_assert(process_table_on_mmap(&table, &r) == 0);
	cr_assert(!process_table_find(&table, pid));

	prctl(PR_SET_NAME, "wanted");
	process_table_on_exec(&table, pid, 20);
	p = process_table_find(&table, pid);
	cr_assert(p && p->left == TIME_NEVER);
	cr_assert(process_table_on_fork(&table, pid, PID(1), 25) == 0);
	cr_assert(process_table_find(&table, PID(1)));

	prctl(PR_SET_NAME, "other");
	process_table_on_exec(&table, pid, 30);
	cr_assert(p->left == 30);
	cr_assert(process_table_on_mmap(&table, &r) == 0);
	cr_assert(p->mappings.n_living == 0);
	cr_assert(process_table_on_fork(&table, pid, PID(2), 35) == 0);
	cr_assert(!process_table_find(&table, PID(2)));

	/* A sample shows that the kernel accepts it again, from its last program on. */
	cr_assert(process_table_meet(&table, pid, 50) == 1);
	cr_assert(p->left == TIME_NEVER && p->mappings.n_living > 0 &&
		  process_find(p, (uintptr_t)fork, 50)->born == 30);

	process_table_on_exec(&table, pid, 60);
	process_table_forget(&table, 60);
	cr_assert(process_table_find(&table, pid));
	process_table_forget(&table, 61);
	cr_assert(!process_table_find(&table, pid));
	filter_done(&filter);
}

Test(process, children_are_left_out_if_asked)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	table.all = false;
	table.inherit = false;
	cr_assert(process_table_on_fork(&table, PID(0), PID(1), 20) == 0);
	cr_assert(!process_table_find(&table, PID(1)));
}

/* perf does not report munmap(): a process that maps more and more has its mappings read again. */
Test(process, reads_mappings_again_where_many_may_be_gone)
{
	uint64_t now = clock_now_ns();
	struct process *p;
	struct mmap_record r = { .pid = getpid(), .time = now, .name = "//anon" };
	size_t n;

	cr_assert(process_table_add(&table, getpid()) == 0);
	p = process_table_find(&table, getpid());
	n = p->mappings.n_living;
	/* Each line that was read counts twice. Under valgrind mappings change meanwhile. */
	cr_assert(p->max_mappings > n + n / 2 + UNRECORDED_SPARE &&
			  p->max_mappings <= 2 * n + UNRECORDED_SPARE,
		  "%zu of %zu", p->max_mappings, n);
	/* The same mappings again and again do not count as more. */
	for (size_t i = 0; i <= 2 * p->max_mappings; i++) {
		r.start = 0x10000 * (1 + i % 2);
		r.end = r.start + 0x1000;
		cr_assert(process_table_on_mmap(&table, &r) == 0);
	}
	cr_assert_eq(p->doubted, 0);
	for (size_t i = 3; i < 2 * p->max_mappings; i++) {
		r.start = 0x10000 * i;
		r.end = r.start + 0x1000;
		cr_assert(process_table_on_mmap(&table, &r) == 0);
	}
	cr_assert_eq(p->doubted, now);
	now += 2 * UINT64_C(1000000000);
	cr_assert(process_table_publish(&table, now) == 0);
	process_table_forget(&table, now + 1);
	/* Meanwhile allocations, and valgrind, may have mapped a few more. */
	cr_assert(p->mappings.n_living >= n && p->mappings.n_living < n + UNRECORDED_SPARE,
		  "%zu of %zu", p->mappings.n_living, n);
	cr_assert_eq(p->doubted, 0);
}

/* A process may exit before it is known. */
Test(process, forgets_one_whose_exit_nobody_told)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	cr_assert(process_table_add(&table, getpid()) == 0);
	process_table_forget(&table, UINT64_MAX - 1);
	cr_assert_eq(HASH_COUNT(table.processes), 2, "it is not looked for all the time");
	table.looked = 0;
	process_table_forget(&table, 20);
	cr_assert_eq(HASH_COUNT(table.processes), 2, "samples of it may be on their way");
	cr_assert_neq(process_table_find(&table, PID(0))->exited, TIME_NEVER);
	process_table_forget(&table, clock_now_ns() + 1);
	cr_assert_eq(HASH_COUNT(table.processes), 1);
	cr_assert(process_table_find(&table, getpid()));
}
