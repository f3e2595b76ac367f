// SPDX-License-Identifier: Apache-2.0
/*
 * usage: coroutines SECONDS LOG
 *
 * Once there is a line on stdin, two threads call handle(), a coroutine: it is on the thread's stack until it is
 * first suspended, and not when either thread resumes it, which may be in another one. LOG gets what each
 * thread does when: TID, time, and the number of the innermost handle() on its stack; 0: there is none, -1: it
 * is just changing.
 */
#include <atomic>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <unistd.h>

#define APART __attribute__((noinline, noclone))

struct change {
	uint64_t time;
	int number;
};

struct thread {
	pid_t tid = 0;
	uint32_t random = 1;
	int number = 0; /* of the innermost call */
	std::vector<change> changes;
};

/* It goes on by itself until it waits. */
struct task {
	struct promise_type {
		task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		std::suspend_never initial_suspend()
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};
	std::coroutine_handle<promise_type> coroutine;
};

static thread_local thread *self;
static std::atomic<bool> ends{ false };
static volatile uint64_t sum;
static std::mutex lock;
static std::vector<task> waiting;

/* Not inlined: a coroutine may have another thread once it goes on. */
APART static thread *this_thread(void)
{
	asm volatile("");
	return self;
}

static void note(int number)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	this_thread()->changes.push_back(
		{ (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec, number });
}

static uint32_t next_random(void)
{
	thread *t = this_thread();

	t->random = t->random * 1664525 + 1013904223;
	return t->random >> 16;
}

APART static void work(void)
{
	note(this_thread()->number);
	for (uint32_t i = 0, n = next_random() % 30000; i < n; i++)
		sum = sum + i;
	note(-1);
}

APART task handle(const char *route, int number, int rounds);

/* A new one, or more of one that waits. */
APART static void go_on(void)
{
	thread *t = this_thread();
	int before = t->number;
	std::vector<task> one;

	if (lock.lock(); !waiting.empty() && (waiting.size() > 20 || next_random() % 2)) {
		one.push_back(waiting.front());
		waiting.erase(waiting.begin());
	}
	lock.unlock();
	if (one.empty()) {
		int number = 1 + (int)(next_random() % 1000);
		char route[16];

		snprintf(route, sizeof(route), "/r/%d", number);
		t->number = number;
		one.push_back(handle(route, number, (int)(next_random() % 6)));
		t->number = before;
	} else {
		one[0].coroutine.resume();
	}
	if (one[0].coroutine.done()) {
		one[0].coroutine.destroy();
		return;
	}
	lock.lock();
	waiting.push_back(one[0]);
	lock.unlock();
}

task handle(const char *route, int number, int rounds)
{
	sum = sum + (unsigned char)*route + (unsigned int)number;
	for (int i = 0; i < rounds; i++) {
		work();
		if (next_random() % 3 == 0)
			go_on();
		work();
		co_await std::suspend_always{};
	}
}

static void run(thread *t)
{
	self = t;
	t->tid = gettid();
	while (!ends) {
		work();
		go_on();
	}
}

int main(int argc, char **argv)
{
	FILE *log = argc == 3 ? fopen(argv[2], "w") : nullptr;
	thread threads[2];

	if (!log) {
		fputs("usage: coroutines SECONDS LOG\n", stderr);
		return 2;
	}
	threads[1].random = 7;
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
	return 0;
}
