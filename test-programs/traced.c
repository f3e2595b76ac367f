// SPDX-License-Identifier: Apache-2.0
/*
 * usage: traced N
 *
 * Once there is a line on stdin, makes each of these N times: getppid() in ask(), openat() of a file
 * that does not exist, "/nowhere/I" of the Ith, in look(), write() of I bytes in put(), a short sleep
 * in nap(), and a write in wake() for which a thread waits. Then says what the kernel has counted, as
 * an object in JSON: how often the process's first thread has left its CPU during its sleeps, in
 * naps(), how often the other thread has waited, and its number. Waits for the end of stdin.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS 200000
#define NOINLINE __attribute__((noinline, noclone))

static volatile long sum;
static int to_sleeper[2], from_sleeper[2];

static NOINLINE void ask(void)
{
	sum += syscall(SYS_getppid);
}

static NOINLINE void look(int i)
{
	char path[64];

	snprintf(path, sizeof(path), "/nowhere/%d", i);
	sum += openat(AT_FDCWD, path, O_RDONLY);
}

static NOINLINE void put(int fd, const char *bytes, int n)
{
	sum += write(fd, bytes, (size_t)n);
}

static NOINLINE void nap(void)
{
	const struct timespec time = { .tv_nsec = NAP_NS };

	sum += nanosleep(&time, NULL);
}

static NOINLINE void wake(void)
{
	sum += write(to_sleeper[1], "x", 1);
}

static long switches(int who)
{
	struct rusage used;

	getrusage(who, &used);
	return used.ru_nvcsw + (who == RUSAGE_SELF ? used.ru_nivcsw : 0);
}

static NOINLINE long naps(int n)
{
	long before = switches(RUSAGE_SELF);

	for (int i = 0; i < n; i++)
		nap();
	return switches(RUSAGE_SELF) - before;
}

struct sleeper {
	int n;
	long tid, waits;
};

static void *sleep_until_woken(void *arg)
{
	struct sleeper *s = arg;
	long before;
	char byte;

	s->tid = syscall(SYS_gettid);
	sum += write(from_sleeper[1], "x", 1);
	before = switches(RUSAGE_THREAD);
	for (int i = 0; i < s->n; i++)
		sum += read(to_sleeper[0], &byte, 1);
	s->waits = switches(RUSAGE_THREAD) - before;
	return NULL;
}

/* The other thread has the time to wait again. */
static NOINLINE void wake_often(struct sleeper *s)
{
	pthread_t thread;
	char byte;

	if (pipe(to_sleeper) < 0 || pipe(from_sleeper) < 0 ||
	    pthread_create(&thread, NULL, sleep_until_woken, s) != 0)
		exit(1);
	sum += read(from_sleeper[0], &byte, 1);
	for (int i = 0; i < s->n; i++) {
		nap();
		wake();
	}
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, null = open("/dev/null", O_WRONLY);
	char *bytes = calloc(1, (size_t)n);
	struct sleeper sleeper = { .n = n };
	long left;

	getchar();
	for (int i = 1; i <= n; i++)
		ask();
	for (int i = 1; i <= n; i++)
		look(i);
	for (int i = 1; i <= n; i++)
		put(null, bytes, i);
	left = naps(n);
	wake_often(&sleeper);
	printf("{\"left\": %ld, \"waits\": %ld, \"sleeper\": %ld}\n", left, sleeper.waits,
	       sleeper.tid);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
