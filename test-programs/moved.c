// SPDX-License-Identifier: Apache-2.0
/*
 * usage: moved SECONDS LOG
 *
 * Once there is a line on stdin, two threads run calls of handle() on one stack in turn, as those that
 * schedule goroutines do: the first one all of call 1; then the second one begins call 2, in the same
 * place, which the first one ends. LOG is as that of spans.cc.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define MAX_CHANGES 100000
#define MS 1000000

static struct thread {
	pid_t tid;
	ucontext_t own;
	size_t n;
	struct change {
		uint64_t time;
		int number;
	} changes[MAX_CHANGES];
} threads[2];
static _Thread_local struct thread *self;
static _Alignas(16) char stack[65536];
static ucontext_t call;
static pthread_barrier_t turn;
static volatile int ends;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static APART void note(int number)
{
	if (self->n < MAX_CHANGES)
		self->changes[self->n++] = (struct change){ now(), number };
}

static APART void work(int number, uint64_t time)
{
	uint64_t end;

	note(number);
	for (end = now() + time; now() < end;)
		;
	note(-1);
}

static APART void leave(void)
{
	swapcontext(&call, &self->own);
}

APART void handle(const char *route, int number)
{
	work(number, 3 * MS);
	if (number == 2) {
		leave();
		work(number, 20 * MS);
	}
	__asm__ volatile("" ::"r"(route) : "memory");
}

static void run(int number)
{
	char route[16];

	/* Written, so that its page is there when the probe is hit. */
	snprintf(route, sizeof(route), "/r/%d", number);
	handle(route, number);
	leave();
}

static void begin(int number)
{
	getcontext(&call);
	call.uc_stack.ss_sp = stack;
	call.uc_stack.ss_size = sizeof(stack);
	makecontext(&call, (void (*)(void))run, 1, number);
	note(-1);
	swapcontext(&self->own, &call);
	note(0);
}

static void *first(void *arg)
{
	self = arg;
	self->tid = gettid();
	note(0);
	while (!ends) {
		begin(1);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		note(-1);
		swapcontext(&self->own, &call);
		note(0);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

static void *second(void *arg)
{
	uint64_t end = now() + (uint64_t)atoi(arg) * 1000000000;

	self = &threads[1];
	self->tid = gettid();
	note(0);
	while (!ends) {
		pthread_barrier_wait(&turn);
		begin(2);
		ends = now() > end;
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[2];
	FILE *log;

	if (argc != 3 || getchar() != '\n')
		return 2;
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&ids[0], NULL, first, &threads[0]);
	pthread_create(&ids[1], NULL, second, argv[1]);
	pthread_join(ids[0], NULL);
	pthread_join(ids[1], NULL);
	log = fopen(argv[2], "w");
	if (!log)
		return 1;
	for (int i = 0; i < 2; i++)
		for (size_t at = 0; at < threads[i].n; at++)
			fprintf(log, "%d %llu %d\n", threads[i].tid,
				(unsigned long long)threads[i].changes[at].time,
				threads[i].changes[at].number);
	fclose(log);
	puts("done");
	fflush(stdout);
	(void)getchar();
	return 0;
}
