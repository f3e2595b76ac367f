// SPDX-License-Identifier: Apache-2.0
/*
 * usage: crowd SLEEPERS SPINNERS [vfork]
 *
 * Threads that do not move, each in a stack given by its name: "deep N" has N frames of descend()
 * below it. Also one in a signal handler on an alternate stack, optionally one that waits for a
 * child after vfork(), and those that never stop running. Prints a line when all have reached their
 * places.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STACK_SIZE (256 << 10)

static atomic_int arrived;
static volatile unsigned long turns;

/* One function for the call that waits, with nothing after it. */
NOINLINE static int stay(void)
{
	volatile int result;

	atomic_fetch_add(&arrived, 1);
	result = pause();
	return result;
}

static inline __attribute__((always_inline)) int stay_inlined(int n)
{
	return stay() + n;
}

NOINLINE static int descend(int n)
{
	volatile char local[100 + n % 7];

	local[0] = (char)n;
	return (n > 0 ? descend(n - 1) : stay_inlined(n)) + local[0];
}

static void *sleep_deep(void *arg)
{
	int depth = (int)(long)arg;
	char name[16];

	snprintf(name, sizeof(name), "deep %d", depth);
	prctl(PR_SET_NAME, name);
	descend(depth - 1);
	return NULL;
}

NOINLINE static void handle(int signal_number)
{
	stay();
}

NOINLINE static void raise_here(void)
{
	raise(SIGUSR1);
}

static void *sleep_in_handler(void *arg)
{
	stack_t stack = { .ss_sp = malloc(STACK_SIZE), .ss_size = STACK_SIZE };

	prctl(PR_SET_NAME, "handler");
	sigaltstack(&stack, NULL);
	raise_here();
	return arg;
}

NOINLINE static void wait_in_vfork(void)
{
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		atomic_fetch_add(&arrived, 1);
		pause();
		_exit(0);
	}
}

static void *wait_for_child(void *arg)
{
	prctl(PR_SET_NAME, "vfork");
	wait_in_vfork();
	return arg;
}

NOINLINE static void spin(void)
{
	for (;;)
		turns++;
}

static void *spin_for_ever(void *arg)
{
	prctl(PR_SET_NAME, "spinner");
	atomic_fetch_add(&arrived, 1);
	spin();
	return arg;
}

static void start(void *(*fn)(void *), long arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (pthread_create(&thread, &attr, fn, (void *)arg) != 0)
		abort();
}

int main(int argc, char **argv)
{
	int sleepers = argc > 1 ? atoi(argv[1]) : 10;
	int spinners = argc > 2 ? atoi(argv[2]) : 0;
	int forks = argc > 3;
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < sleepers; i++)
		start(sleep_deep, i % 50 + 1);
	start(sleep_in_handler, 0);
	if (forks)
		start(wait_for_child, 0);
	for (int i = 0; i < spinners; i++)
		start(spin_for_ever, 0);
	while (atomic_load(&arrived) < sleepers + 1 + forks + spinners)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	pause();
}
