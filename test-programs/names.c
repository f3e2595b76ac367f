// SPDX-License-Identifier: Apache-2.0
/*
 * usage: names SECONDS [alone]
 *
 * A process whose first thread changes its name, another process, and a thread in each; all
 * alternate on one CPU. The two threads have the same name, their processes have different ones.
 * For each name there are separate functions to work and to wait in.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "seconds.h"

#define NOINLINE __attribute__((noinline, noclone))

static double end;

static int work(int n)
{
	static const struct timespec pause = { 0, 300000 };
	double until = seconds_now() + 0.003;

	while (seconds_now() < until)
		n++;
	nanosleep(&pause, NULL);
	return n;
}

NOINLINE static int run_first(void)
{
	return work(1) + 1;
}

NOINLINE static int run_second(void)
{
	return work(2) + 1;
}

NOINLINE static int run_worker(void)
{
	return work(3) + 1;
}

NOINLINE static int run_child(void)
{
	return work(4) + 1;
}

NOINLINE static int run_child_worker(void)
{
	return work(5) + 1;
}

static void *worker_main(void *arg)
{
	prctl(PR_SET_NAME, "worker");
	while (seconds_now() < end)
		run_worker();
	return arg;
}

static void *child_worker_main(void *arg)
{
	prctl(PR_SET_NAME, "worker");
	while (seconds_now() < end)
		run_child_worker();
	return arg;
}

static void child_main(void)
{
	pthread_t thread;

	prctl(PR_SET_NAME, "child");
	pthread_create(&thread, NULL, child_worker_main, NULL);
	while (seconds_now() < end)
		run_child();
	pthread_join(thread, NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	cpu_set_t set;

	if (argc < 2)
		return 2;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	end = seconds_now() + atof(argv[1]);
	prctl(PR_SET_NAME, "first");
	if (argc == 2) {
		if (fork() == 0)
			child_main();
		pthread_create(&thread, NULL, worker_main, NULL);
	}
	while (seconds_now() < end) {
		prctl(PR_SET_NAME, "first");
		run_first();
		prctl(PR_SET_NAME, "second");
		run_second();
	}
	if (argc == 2) {
		pthread_join(thread, NULL);
		wait(NULL);
	}
	return 0;
}
