// SPDX-License-Identifier: Apache-2.0
/*
 * usage: spans SECONDS LOG [early]
 *
 * Once there is a line on stdin, for so long or until a second line, two threads call handle(): nested, and left
 * by returns, exceptions, longjmp() and tail calls. LOG gets what each thread does when: TID, time, and the number
 * of the innermost handle() on its stack; 0: there is none, -1: it is just changing.
 *
 * early: one thread is in a single call from before that line until the end, partly asleep, and says so; the
 * other one never calls handle().
 */
#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include <poll.h>
#include <unistd.h>

#define APART extern "C" __attribute__((noinline))

struct change {
	uint64_t time;
	int number;
};

struct thread {
	pid_t tid = 0;
	uint32_t random = 1;
	jmp_buf back;
	std::vector<change> changes;
};

static thread_local thread *self;
static std::atomic<bool> ends{ false };
static volatile uint64_t sum;

static void note(int number)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	self->changes.push_back({ (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec, number });
}

static uint32_t next_random()
{
	self->random = self->random * 1664525 + 1013904223;
	return self->random >> 16;
}

/* Within the call of this number. */
__attribute__((noinline)) static void work(int number)
{
	note(number);
	for (uint32_t i = 0, n = next_random() % 30000; i < n; i++)
		sum += i;
	note(-1);
}

APART void handle(const char *route, int number, int outer, int depth);

/* In place of a handle() that ends with it. */
APART void last(const char *, int, int outer, int)
{
	work(outer);
	sum++;
}

__attribute__((noinline)) static void nested(int outer, int depth)
{
	char route[16];
	int number = 1 + (int)(next_random() % 1000);

	snprintf(route, sizeof(route), "/r/%d", number);
	handle(route, number, outer, depth);
	work(outer);
}

/* Until the end. */
__attribute__((noinline)) static void stay(int number)
{
	note(number);
	puts("in the call");
	fflush(stdout);
	while (!ends) {
		for (uint32_t i = 0; i < 3000000; i++)
			sum += i;
		usleep(20000);
	}
	note(-1);
}

APART void handle(const char *route, int number, int outer, int depth)
{
	if (depth < 0) {
		stay(number);
		sum++;
		return;
	}
	work(number);
	if (depth > 0)
		nested(number, depth - 1);
	work(number);
	switch (next_random() % 8) {
	case 0:
		throw number;
	case 1:
		if (next_random() % 4 == 0)
			longjmp(self->back, 1);
		break;
	case 2:
		try {
			nested(number, 0);
		} catch (int) {
			sum++;
		}
		work(number);
		break;
	case 3:
		return last(route, number, outer, depth); /* the compiler makes it a jump */
	}
	work(number);
	sum += (unsigned char)*route;
}

static void run(thread *t)
{
	self = t;
	t->tid = gettid();
	while (!ends) {
		work(0);
		try {
			if (setjmp(t->back) == 0)
				nested(0, (int)(next_random() % 12));
		} catch (int) {
			sum++;
		}
		work(0);
		last("", 0, 0, 0);
	}
}

static void run_early(thread *t)
{
	self = t;
	t->tid = gettid();
	handle("/r/7", 7, 0, -1);
}

static void run_without(thread *t)
{
	self = t;
	t->tid = gettid();
	while (!ends)
		work(0);
}

/* Or for so many seconds. */
static void wait_for_line(int seconds)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN, .revents = 0 };

	poll(&input, 1, seconds * 1000);
}

int main(int argc, char **argv)
{
	FILE *log = argc >= 3 ? fopen(argv[2], "w") : nullptr;
	bool is_early = argc == 4;
	thread threads[2];

	if (!log) {
		fputs("usage: spans SECONDS LOG\n", stderr);
		return 2;
	}
	threads[1].random = 7;
	std::thread first;
	if (is_early)
		first = std::thread(run_early, &threads[0]);
	if (getchar() == EOF)
		_exit(1);
	if (!is_early)
		first = std::thread(run, &threads[0]);
	std::thread second(is_early ? run_without : run, &threads[1]);
	wait_for_line(atoi(argv[1]));
	ends = true;
	first.join();
	second.join();
	for (const thread &t : threads)
		for (const change &c : t.changes)
			fprintf(log, "%d %lu %d\n", t.tid, c.time, c.number);
	if (fclose(log) != 0)
		return 1;
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
