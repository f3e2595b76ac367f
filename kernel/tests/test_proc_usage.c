// SPDX-License-Identifier: Apache-2.0
/* What processes use, as getrusage() and files know it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/proc_usage.h"
#include "limits/limits.h"

static uint64_t cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

#define TICK_NS UINT64_C(20000000) /* and rounding */

Test(proc_usage, has_the_time_of_all_threads)
{
	uint64_t before = cpu_ns(), now;
	struct proc_usage u;

	while (cpu_ns() < before + 200000000)
		;
	before = cpu_ns();
	cr_assert_eq(proc_usage_read(getpid(), &u), 0);
	now = cpu_ns();
	cr_assert_geq(u.cpu_ns + TICK_NS, before);
	cr_assert_leq(u.cpu_ns, now + TICK_NS);
	cr_assert_gt(u.started, 0);
	proc_usage_done(&u);
}

Test(proc_usage, has_what_is_resident)
{
	const size_t size = 64 << 20;
	struct proc_usage before, now;
	char *memory;

	cr_assert_eq(proc_usage_read(getpid(), &before), 0);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(memory, MAP_FAILED);
	memset(memory, 1, size);
	cr_assert_eq(proc_usage_read(getpid(), &now), 0);
	cr_assert_gt(now.resident, before.resident + size * 9 / 10);
	cr_assert_lt(now.resident, before.resident + size * 11 / 10);
	munmap(memory, size);
	proc_usage_done(&before);
	proc_usage_done(&now);
}

static void *sleep_on(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

Test(proc_usage, has_waits_of_each_thread)
{
	pthread_t threads[4];
	struct proc_usage u;

	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, sleep_on, NULL);
	cr_assert_eq(proc_usage_read(getpid(), &u), 0);
	cr_assert(u.has_waits);
	cr_assert_geq(u.n_waits, 5);
	for (size_t i = 1; i < u.n_waits; i++)
		cr_assert_lt(u.waits[i - 1].tid, u.waits[i].tid);
	proc_usage_done(&u);
	cr_assert(!u.waits && u.n_waits == 0);
}

Test(proc_usage, has_none_of_too_many_threads)
{
	struct proc_usage u;
	pthread_t thread;

	for (size_t i = 0; i < PROC_USAGE_MAX_THREADS; i++)
		cr_assert_eq(pthread_create(&thread, NULL, sleep_on, NULL), 0);
	cr_assert_eq(proc_usage_read(getpid(), &u), 0);
	cr_assert(!u.has_waits && !u.waits);
	cr_assert_gt(u.resident, 0);
}

Test(proc_usage, is_of_a_process_that_there_is)
{
	struct proc_usage u;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	cr_assert_eq(proc_usage_read(child, &u), -ESRCH);
	cr_assert(!u.waits);
}

Test(proc_usage, knows_who_has_waited)
{
	struct proc_wait before[] = { { 3, 100 }, { 5, 50 }, { 9, 70 } };
	struct proc_wait now[] = { { 3, 130 }, { 4, 7 }, { 9, 20 }, { 11, 1 } };
	const struct proc_usage a = { .waits = before, .n_waits = 3 };
	const struct proc_usage b = { .waits = now, .n_waits = 4 };
	const struct proc_usage none = { 0 };

	/* 3 has gone on; 4 and 11 are new; 5 has gone; 9 is another one. */
	cr_assert_eq(proc_usage_waited(&a, &b), 30 + 7 + 20 + 1);
	cr_assert_eq(proc_usage_waited(&none, &b), 130 + 7 + 20 + 1);
	cr_assert_eq(proc_usage_waited(&a, &none), 0);
}
