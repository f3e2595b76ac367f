// SPDX-License-Identifier: Apache-2.0
/*
 * usage: blocked ROUNDS FILE
 *
 * Threads that each wait in their own function and way, and two that never wait but share a CPU.
 * FILE gets a line per thread with its own measurements:
 *
 *   NAME TID BEGIN END CPU VOLUNTARY INVOLUNTARY WAITED
 *
 * begin and end (CLOCK_MONOTONIC), its CPU time, the kernel's counts of its context switches, and
 * the time spent in calls that wait. Times are in nanoseconds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static int rounds;
static FILE *results;
static int pipe_fds[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t handover;
static volatile int done;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void pause_ms(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

NOINLINE static uint64_t wait_in_sleep(void)
{
	uint64_t start = now(CLOCK_MONOTONIC);

	pause_ms(10);
	return now(CLOCK_MONOTONIC) - start;
}

NOINLINE static uint64_t wait_in_read(void)
{
	uint64_t start = now(CLOCK_MONOTONIC);
	char byte;

	if (read(pipe_fds[0], &byte, 1) != 1)
		abort();
	return now(CLOCK_MONOTONIC) - start;
}

/* Another thread holds the mutex already: see hold(). */
NOINLINE static uint64_t wait_in_lock(void)
{
	uint64_t start;

	pthread_barrier_wait(&handover);
	start = now(CLOCK_MONOTONIC);
	pthread_mutex_lock(&mutex);
	start = now(CLOCK_MONOTONIC) - start;
	pthread_mutex_unlock(&mutex);
	pthread_barrier_wait(&handover);
	return start;
}

/* Only a fatal signal ends this: state D. */
NOINLINE static uint64_t wait_in_vfork(void)
{
	uint64_t start = now(CLOCK_MONOTONIC);

	if (vfork() == 0) {
		pause_ms(10);
		_exit(0);
	}
	return now(CLOCK_MONOTONIC) - start;
}

NOINLINE static uint64_t never_wait(void)
{
	uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + 10000000;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	return 0;
}

struct worker {
	const char *name;
	uint64_t (*round)(void);
	int cpu; /* -1: any */
	pthread_t thread;
};

static void *work(void *arg)
{
	const struct worker *w = arg;
	uint64_t begin, end, cpu, waited = 0;
	struct rusage before, after;
	cpu_set_t set;

	prctl(PR_SET_NAME, w->name);
	CPU_ZERO(&set);
	CPU_SET(w->cpu, &set);
	if (w->cpu >= 0)
		sched_setaffinity(0, sizeof(set), &set);
	getrusage(RUSAGE_THREAD, &before);
	begin = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < rounds; i++)
		waited += w->round();
	cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	end = now(CLOCK_MONOTONIC);
	getrusage(RUSAGE_THREAD, &after);
	fprintf(results, "%s %d %ju %ju %ju %ld %ld %ju\n", w->name, gettid(), (uintmax_t)begin,
		(uintmax_t)end, (uintmax_t)cpu, after.ru_nvcsw - before.ru_nvcsw,
		after.ru_nivcsw - before.ru_nivcsw, (uintmax_t)waited);
	return NULL;
}

static void *hold(void *arg)
{
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&handover);
		pause_ms(12);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&handover);
	}
	return arg;
}

static void *write_slowly(void *arg)
{
	while (!done) {
		pause_ms(8);
		if (write(pipe_fds[1], "x", 1) != 1)
			abort();
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct worker workers[] = {
		{ "sleep", wait_in_sleep, -1 }, { "read", wait_in_read, -1 },
		{ "lock", wait_in_lock, -1 },   { "vfork", wait_in_vfork, -1 },
		{ "busy1", never_wait, 0 },     { "busy2", never_wait, 0 },
	};
	size_t n = sizeof(workers) / sizeof(workers[0]);
	pthread_t holder, writer;

	if (argc != 3)
		return 2;
	rounds = atoi(argv[1]);
	results = fopen(argv[2], "w");
	if (!results || pipe(pipe_fds) < 0)
		return 1;
	pthread_barrier_init(&handover, NULL, 2);
	pthread_create(&holder, NULL, hold, NULL);
	pthread_create(&writer, NULL, write_slowly, NULL);
	for (size_t i = 0; i < n; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	for (size_t i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	done = 1;
	pthread_join(writer, NULL);
	pthread_join(holder, NULL);
	return fclose(results) ? 1 : 0;
}
