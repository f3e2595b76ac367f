// SPDX-License-Identifier: Apache-2.0
/*
 * usage: target chain DEPTH|hot|flat|words COUNTER [MAPPINGS]
 *
 * A program to profile, busy until it is killed: at the bottom of DEPTH functions; in one function;
 * in eight thousand in turn; or in C++. Its progress is a 64-bit number in the file COUNTER.
 * MAPPINGS: maps that many additional pieces of code.
 */
#include "bench/target.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

/* Frames of the forest, which make_target.py writes. */
#define FOREST_DEPTH 20

__attribute__((noinline)) unsigned int target_work(unsigned int x)
{
	for (int i = 0; i < 20000; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

/* Maps every other page of a range, so that the mappings are not merged. */
static int map_code(const char *self, long n)
{
	int fd = open(self, O_RDONLY | O_CLOEXEC);
	uint8_t *room =
		mmap(NULL, (size_t)n * 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || room == MAP_FAILED)
		return -1;
	for (long i = 0; i < n; i++)
		if (mmap(room + i * 2 * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			 fd, PAGE) == MAP_FAILED)
			return -1;
	return 0;
}

static volatile uint64_t *map_counter(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	void *counter;

	if (fd < 0 || ftruncate(fd, PAGE) < 0)
		return NULL;
	counter = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return counter == MAP_FAILED ? NULL : counter;
}

static bool is_mode(const char *word)
{
	static const char *const words[] = { "hot", "flat", "words" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

static int run(const char *mode, unsigned int depth, volatile uint64_t *counter)
{
	unsigned int x = 1;

	for (;; ++*counter) {
		if (strcmp(mode, "chain") == 0)
			x += target_chain(depth, x);
		else if (strcmp(mode, "hot") == 0)
			x += target_work(x);
		else if (strcmp(mode, "words") == 0)
			x += target_words(x);
		else
			for (int i = 0; i < 50; i++)
				x += target_forest(FOREST_DEPTH, x * 2654435761U);
		counter[1] = x;
	}
}

int main(int argc, char **argv)
{
	int at = argc > 1 && strcmp(argv[1], "chain") == 0 ? 3 : 2;
	volatile uint64_t *counter = argc > at ? map_counter(argv[at]) : NULL;

	if (!counter || (at == 2 && !is_mode(argv[1]))) {
		fprintf(stderr, "usage: target chain DEPTH|hot|flat|words COUNTER [MAPPINGS]\n");
		return 2;
	}
	if (argc > at + 1 && map_code("/proc/self/exe", atol(argv[at + 1])) < 0) {
		perror("target");
		return 1;
	}
	return run(argv[1], at == 3 ? (unsigned int)atoi(argv[2]) : 0, counter);
}
