// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

/* All moments of all threads, from the start: {tid, number of addresses, addresses...}. */
#define LOG_WORDS (32UL << 20)

static unsigned long *log_words;
static unsigned long log_used;

/* Not on the stack, because handlers may run on small ones. */
#define MAX_FRAMES 4096
static __thread unsigned long words[MAX_FRAMES];
static __thread int busy;
static __thread unsigned int count, timer_count;
static __thread sigjmp_buf unwinder_crashed;
static unsigned int crash_count;
static volatile int paused;
static volatile int chosen = 1;
static timer_t timer;
static long timer_us;

/* The function with the uprobe. Its caller must not end with a jump to it. */
__attribute__((noinline)) void oracle_mark(void)
{
	__asm__ volatile("" ::: "memory");
}

struct trace {
	unsigned long *words;
	unsigned long n;
};

static _Unwind_Reason_Code trace_frame(struct _Unwind_Context *context, void *arg)
{
	struct trace *t = arg;

	t->words[t->n++] = _Unwind_GetIP(context);
	return t->n < MAX_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/*
 * Compilers' unwind information is sometimes wrong (docs/ACCURACY.md), and libgcc follows it
 * anywhere.
 */
static void on_crash(int signal)
{
	if (!busy)
		abort();
	siglongjmp(unwinder_crashed, 1);
}

/*
 * The list begins in this function: the same frame that dwarfprof finds above oracle_mark(), at
 * another call. The comparison starts after it.
 */
__attribute__((noinline)) static void record(void)
{
	struct trace t = { words, 0 };
	unsigned long at;

	if (busy)
		return;
	busy = 1;
	if (sigsetjmp(unwinder_crashed, 1)) {
		__atomic_fetch_add(&crash_count, 1, __ATOMIC_RELAXED);
		busy = 0;
		return;
	}
	_Unwind_Backtrace(trace_frame, &t);
	at = __atomic_fetch_add(&log_used, t.n + 2, __ATOMIC_RELAXED);
	if (at + t.n + 2 > LOG_WORDS)
		abort();
	log_words[at] = (unsigned long)syscall(SYS_gettid);
	log_words[at + 1] = t.n;
	for (unsigned long i = 0; i < t.n; i++)
		log_words[at + 2 + i] = words[i];
	oracle_mark();
	__asm__ volatile("" ::: "memory");
	count++;
	busy = 0;
}

void oracle_check(void)
{
	if (chosen)
		record();
	__asm__ volatile("" ::: "memory");
}

void oracle_set_chosen(int value)
{
	chosen = value;
}

int oracle_is_chosen(void)
{
	return chosen;
}

unsigned int oracle_count(void)
{
	return count;
}

unsigned int oracle_timer_count(void)
{
	return timer_count;
}

unsigned int oracle_crash_count(void)
{
	return crash_count;
}

/*
 * One signal; the next one is armed when this is done. If listing a stack took longer than an
 * interval timer, the program would make no progress.
 */
static void timer_arm(void)
{
	struct itimerspec once = { { 0, 0 }, { 0, timer_us * 1000 } };

	timer_settime(timer, 0, &once, NULL);
}

static void on_timer(int signal)
{
	if (!paused && !busy) {
		record();
		timer_count++;
	}
	timer_arm();
}

void oracle_timer_pause(int pause)
{
	paused = pause;
}

void oracle_timer_start(long us)
{
	struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	struct sigaction crash = { .sa_handler = on_crash };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };

	sigaction(SIGPROF, &action, NULL);
	sigaction(SIGSEGV, &crash, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		abort();
	timer_us = us;
	timer_arm();
}

void oracle_timer_stop(void)
{
	timer_delete(timer);
}

int oracle_write(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return -1;
	for (unsigned long at = 0; at < log_used; at += log_words[at + 1] + 2) {
		fprintf(file, "%lu", log_words[at]);
		for (unsigned long i = 0; i < log_words[at + 1]; i++)
			fprintf(file, " %lx", log_words[at + 2 + i]);
		fputc('\n', file);
	}
	return fclose(file);
}

__attribute__((constructor)) static void make_log(void)
{
	log_words = mmap(NULL, LOG_WORDS * sizeof(*log_words), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (log_words == MAP_FAILED)
		abort();
}
