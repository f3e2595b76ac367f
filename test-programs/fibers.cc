// SPDX-License-Identifier: Apache-2.0
/*
 * usage: fibers SECONDS LOG
 *
 * Once there is a line on stdin, two threads run eight fibers in turn. These call handle(): nested, and left
 * by returns, exceptions and longjmp(); within it they leave the thread, and go on in either one. LOG gets
 * what each thread does when: TID, time, and the number of the innermost handle() on its stack; 0: there is
 * none, -1: it is just changing.
 */
#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define FIBERS 8
#define STACK_SIZE (256UL << 10)
#define APART __attribute__((noinline, noclone))

struct change {
	uint64_t time;
	int number;
};

struct thread {
	pid_t tid = 0;
	ucontext_t own;
	std::vector<change> changes;
};

struct fiber {
	uint32_t random = 1;
	ucontext_t context;
	jmp_buf back;
};

static thread_local thread *self;
static std::atomic<bool> ends{ false };
static volatile uint64_t sum;
static std::mutex lock;
static fiber fibers[FIBERS];
static std::vector<fiber *> waiting;

/* Not inlined: a fiber may have another thread when a call returns. */
APART static thread *this_thread(void)
{
	asm volatile("");
	return self;
}

APART static void note(int number)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	this_thread()->changes.push_back(
		{ (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec, number });
}

static uint32_t next_random(fiber *f)
{
	f->random = f->random * 1664525 + 1013904223;
	return f->random >> 16;
}

/* Within the call of this number. */
APART static void work(fiber *f, int number)
{
	note(number);
	for (uint32_t i = 0, n = next_random(f) % 30000; i < n; i++)
		sum = sum + i;
	note(-1);
}

APART static void leave(fiber *f)
{
	swapcontext(&f->context, &this_thread()->own);
}

extern "C" APART void handle(const char *route, int number, int depth, fiber *f);

APART static void nested(fiber *f, int outer, int depth)
{
	char route[16];
	int number = 1 + (int)(next_random(f) % 1000);

	snprintf(route, sizeof(route), "/r/%d", number);
	handle(route, number, depth, f);
	work(f, outer);
}

extern "C" APART void handle(const char *route, int number, int depth, fiber *f)
{
	work(f, number);
	if (next_random(f) % 4 == 0)
		leave(f);
	if (depth > 0)
		nested(f, number, depth - 1);
	work(f, number);
	switch (next_random(f) % 8) {
	case 0:
		throw number;
	case 1:
		if (next_random(f) % 4 == 0)
			longjmp(f->back, 1);
		break;
	case 2:
		try {
			nested(f, number, 0);
		} catch (int) {
			sum = sum + 1;
		}
		break;
	}
	work(f, number);
	sum = sum + (unsigned char)*route;
}

APART static void round_of(fiber *f)
{
	try {
		if (setjmp(f->back) == 0)
			nested(f, 0, (int)(next_random(f) % 8));
	} catch (int) {
		sum = sum + 1;
	}
}

static void begin(unsigned int index)
{
	fiber *f = &fibers[index];

	for (;;) {
		for (int i = 0; i < 8; i++)
			work(f, 0);
		round_of(f);
		leave(f);
	}
}

static fiber *take(void)
{
	std::lock_guard<std::mutex> guard(lock);
	fiber *f = waiting.front();

	waiting.erase(waiting.begin());
	return f;
}

static void run(thread *t)
{
	self = t;
	t->tid = gettid();
	while (!ends) {
		fiber *f = take();

		swapcontext(&t->own, &f->context);
		std::lock_guard<std::mutex> guard(lock);
		waiting.push_back(f);
	}
}

static void make_fibers(void)
{
	for (unsigned int i = 0; i < FIBERS; i++) {
		fiber *f = &fibers[i];
		void *stack = mmap(nullptr, STACK_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (stack == MAP_FAILED || getcontext(&f->context) < 0)
			exit(1);
		f->random = i + 1;
		f->context.uc_stack.ss_sp = stack;
		f->context.uc_stack.ss_size = STACK_SIZE;
		makecontext(&f->context, (void (*)(void))begin, 1, i);
		waiting.push_back(f);
	}
}

int main(int argc, char **argv)
{
	FILE *log = argc == 3 ? fopen(argv[2], "w") : nullptr;
	thread threads[2];

	if (!log) {
		fputs("usage: fibers SECONDS LOG\n", stderr);
		return 2;
	}
	make_fibers();
	if (getchar() == EOF)
		_exit(1);
	std::thread first(run, &threads[0]), second(run, &threads[1]);
	sleep((unsigned int)atoi(argv[1]));
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
	_exit(0);
}
