// SPDX-License-Identifier: Apache-2.0
/*
 * Allocates memory in all ways, in several threads, and counts that itself: at its end it writes, for each
 * way, what was allocated and what is held as "NAME PIECES BYTES HELD_PIECES HELD_BYTES". Each way is a
 * function of that name. Memory is also given back by other threads, grown, and not there.
 *
 *   allocating LOOPS [wait]     the latter: says "ready", and begins when a line comes
 */
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <unistd.h>

#define N_THREADS 4
#define NOINLINE __attribute__((noinline))

namespace
{
struct way {
	const char *name;
	std::atomic<uint64_t> n, bytes, held, held_bytes;
};

way ways[] = { { "by_malloc" },         { "by_calloc" },   { "by_realloc" }, { "by_aligned_alloc" },
	       { "by_posix_memalign" }, { "by_memalign" }, { "by_new" },     { "grown" } };
constexpr size_t N_WAYS = sizeof(ways) / sizeof(*ways);

void count(size_t way, size_t size)
{
	ways[way].n++;
	ways[way].bytes += size;
	ways[way].held++;
	ways[way].held_bytes += size;
}

void uncount(size_t way, size_t size)
{
	ways[way].held--;
	ways[way].held_bytes -= size;
}

volatile size_t failures;

/* Of memory from by_new(). */
bool is_array(size_t size)
{
	return size % 128 == 0;
}
} // namespace

/* What follows the call keeps it from being a tail call. */
extern "C" {
NOINLINE void *by_malloc(size_t size)
{
	void *p = malloc(size);

	failures = failures + !p;
	return p;
}

NOINLINE void *by_calloc(size_t size)
{
	void *p = calloc(size / 8, 8);

	failures = failures + !p;
	return p;
}

NOINLINE void *by_realloc(size_t size)
{
	void *volatile none = nullptr;
	void *p = realloc(none, size);

	failures = failures + !p;
	return p;
}

NOINLINE void *by_aligned_alloc(size_t size)
{
	void *p = aligned_alloc(64, size);

	failures = failures + !p;
	return p;
}

NOINLINE void *by_posix_memalign(size_t size)
{
	void *p = nullptr;

	failures = failures + posix_memalign(&p, 128, size);
	return p;
}

NOINLINE void *by_memalign(size_t size)
{
	void *p = memalign(256, size);

	failures = failures + !p;
	return p;
}

NOINLINE void *by_new(size_t size)
{
	void *p = is_array(size) ? ::operator new[](size) : ::operator new(size);

	failures = failures + !p;
	return p;
}

NOINLINE void *grown(void *old, size_t size)
{
	void *p = realloc(old, size);

	failures = failures + !p;
	return p;
}

/* None of these allocates anything. */
NOINLINE void fail(void *held)
{
	void *p = nullptr;
	volatile size_t too_much = SIZE_MAX / 2, wrong = 24;

	errno = 0;
	if (malloc(too_much) || calloc(too_much, 2) || realloc(held, too_much) ||
	    posix_memalign(&p, wrong, 64) == 0)
		abort();
	/* Built as C, mimalloc aborts instead. */
	if (getenv("NEVER_THROW"))
		return;
	try {
		p = ::operator new(too_much);
		abort();
	} catch (const std::bad_alloc &) {
	}
}
}

namespace
{
using maker = void *(*)(size_t size);
const maker makers[] = { by_malloc,         by_calloc,   by_realloc, by_aligned_alloc,
			 by_posix_memalign, by_memalign, by_new };
constexpr size_t N_MAKERS = sizeof(makers) / sizeof(*makers);
constexpr size_t GROWN = N_MAKERS;

void give_back(size_t way, void *p, size_t size)
{
	if (way != N_MAKERS - 1)
		free(p);
	else if (is_array(size))
		::operator delete[](p, size);
	else
		::operator delete(p);
}

struct piece {
	void *p;
	size_t way, size;
};

/* What a thread hands to the next one, which gives it back. */
std::atomic<piece *> handed[N_THREADS];
std::atomic<size_t> n_ended;
long n_loops;

void take_over(size_t thread)
{
	piece *given = handed[thread].exchange(nullptr);

	if (!given)
		return;
	give_back(given->way, given->p, given->size);
	uncount(given->way, given->size);
	::operator delete(given);
	uncount(N_MAKERS - 1, sizeof(piece));
}

void hand_over(size_t thread, const piece &given)
{
	piece *copy = static_cast<piece *>(by_new(sizeof(piece)));
	piece *none = nullptr;

	count(N_MAKERS - 1, sizeof(piece));
	*copy = given;
	if (handed[(thread + 1) % N_THREADS].compare_exchange_strong(none, copy))
		return;
	/* It has not taken the last one yet: this is held. */
	::operator delete(copy);
	uncount(N_MAKERS - 1, sizeof(piece));
}

void grow(piece &one)
{
	size_t size = one.size * 3;

	one.p = grown(one.p, size);
	uncount(one.way, one.size);
	one.way = GROWN;
	one.size = size;
	count(GROWN, size);
}

void *run(void *arg)
{
	size_t thread = reinterpret_cast<size_t>(arg);
	unsigned int seed = static_cast<unsigned int>(thread + 1);

	for (long i = 0; i < n_loops; i++) {
		size_t way = static_cast<size_t>(rand_r(&seed)) % N_MAKERS;
		piece one = { nullptr, way, (1 + static_cast<size_t>(rand_r(&seed)) % 40) * 64 };
		int what = rand_r(&seed) % 10;

		one.p = makers[way](one.size);
		count(way, one.size);
		if (what == 0 && way != N_MAKERS - 1)
			grow(one);
		if (i % 100 == 0)
			fail(one.way == N_MAKERS - 1 ? nullptr : one.p);
		if (what == 1 || (one.way == GROWN && i % 3 == 0))
			continue; /* held */
		if (what == 2) {
			hand_over(thread, one);
			take_over(thread);
			continue;
		}
		give_back(one.way, one.p, one.size);
		uncount(one.way, one.size);
	}
	n_ended++;
	while (n_ended < N_THREADS)
		usleep(1000);
	take_over(thread);
	return nullptr;
}
} // namespace

int main(int argc, char **argv)
{
	pthread_t threads[N_THREADS];

	n_loops = argc > 1 ? atol(argv[1]) : 1000;
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	for (size_t i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], nullptr, run, reinterpret_cast<void *>(i));
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
	for (const way &w : ways)
		printf("%s %ju %ju %ju %ju\n", w.name, static_cast<uintmax_t>(w.n),
		       static_cast<uintmax_t>(w.bytes), static_cast<uintmax_t>(w.held),
		       static_cast<uintmax_t>(w.held_bytes));
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
