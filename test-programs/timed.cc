// SPDX-License-Identifier: Apache-2.0
/*
 * usage: timed SECONDS LOG DEPTH
 *
 * Once there is a line on stdin, for so long or until a second line, two threads call handle(): nested up to DEPTH
 * deep, and left by returns, exceptions, longjmp() and tail calls. Calls take from some microseconds to some milliseconds, on the CPU and
 * asleep. LOG gets, each with a TID and times of CLOCK_MONOTONIC,
 *
 *     c TID NUMBER BEFORE IN OUT AFTER HOW    a call, by its caller and within it; r: it returned, t: with a
 *                                             tail call, x: an exception left it, l: longjmp()
 *     s TID BEFORE AFTER                      a sleep, in which it blocked
 */
#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <poll.h>
#include <unistd.h>

#define APART extern "C" __attribute__((noinline))

struct call {
	int number;
	uint64_t before, in, out, after;
	char how;
};

struct sleeping {
	uint64_t before, after;
};

struct thread {
	pid_t tid = 0;
	uint32_t random = 1;
	int n = 0;
	std::deque<call> calls; /* does not move them */
	std::vector<sleeping> sleeps;
};

static thread_local thread *self;
static std::atomic<bool> ends{ false };
static volatile uint64_t sum;

static uint64_t now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint32_t next_random()
{
	self->random = self->random * 1664525 + 1013904223;
	return self->random >> 16;
}

/* A thread that is interrupted long enough just before it would sleep does not. */
static long n_blocks()
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

__attribute__((noinline)) static void work()
{
	uint32_t kind = next_random() % 16;

	for (uint32_t i = 0, n = next_random() % (kind < 2 ? 500000 : 3000); i < n; i++)
		sum += i;
	if (kind == 15 || kind == 0) {
		struct timespec t = { 0, 50000 + next_random() % 16 * 50000 };
		long blocks = n_blocks();
		sleeping s = { now(), 0 };

		nanosleep(&t, nullptr);
		s.after = now();
		if (n_blocks() > blocks)
			self->sleeps.push_back(s);
	}
}

APART void handle(int number, call *c, jmp_buf *back, int depth);

/* In place of a handle() that ends with it. */
APART void last(int, call *c, jmp_buf *, int)
{
	c->after = now();
	c->how = 't';
	work();
}

/* Makes a call, which exceptions and longjmp() do not leave. */
__attribute__((noinline)) static void make(int depth)
{
	jmp_buf back;
	call *volatile made;

	self->calls.push_back(call());
	made = &self->calls.back();
	made->number = ++self->n;
	made->how = 'r';
	made->before = now();
	try {
		if (setjmp(back) == 0)
			handle(made->number, made, &back, depth);
	} catch (int) {
	}
	if (made->how != 't')
		made->after = now();
	work();
}

APART void handle(int number, call *c, jmp_buf *back, int depth)
{
	c->in = now();
	work();
	for (uint32_t i = 0, n = next_random() % 3; depth > 0 && i < n; i++)
		make(depth - 1);
	work();
	switch (next_random() % 16) {
	case 0:
		c->how = 'x';
		c->out = now();
		throw number;
	case 1:
		c->how = 'l';
		c->out = now();
		longjmp(*back, 1);
	case 2:
	case 3:
		c->out = now();
		return last(number, c, back, depth); /* the compiler makes it a jump */
	case 4:
		if (number > 0) {
			c->out = now();
			return;
		}
		break;
	}
	sum += (uint64_t)number;
	c->out = now();
}

static void run(thread *t, int depth)
{
	self = t;
	t->tid = gettid();
	while (!ends) {
		make((int)(next_random() % (uint32_t)depth));
		work();
	}
}

/* Or for so many seconds. */
static void wait_for_line(int seconds)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN, .revents = 0 };

	poll(&input, 1, seconds * 1000);
}

int main(int argc, char **argv)
{
	FILE *log = argc == 4 ? fopen(argv[2], "w") : nullptr;
	thread threads[2];

	if (!log) {
		fputs("usage: timed SECONDS LOG DEPTH\n", stderr);
		return 2;
	}
	threads[1].random = 7;
	if (getchar() == EOF)
		_exit(1);
	std::thread first(run, &threads[0], atoi(argv[3])), second(run, &threads[1], atoi(argv[3]));
	wait_for_line(atoi(argv[1]));
	ends = true;
	first.join();
	second.join();
	for (const thread &t : threads) {
		for (const call &c : t.calls)
			fprintf(log, "c %d %d %lu %lu %lu %lu %c\n", t.tid, c.number, c.before, c.in,
				c.out, c.after, c.how);
		for (const sleeping &s : t.sleeps)
			fprintf(log, "s %d %lu %lu\n", t.tid, s.before, s.after);
	}
	if (fclose(log) != 0)
		return 1;
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
