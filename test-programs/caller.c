// SPDX-License-Identifier: Apache-2.0
/*
 * usage: caller LIBRARY
 *
 * Loads a library made of through.S. For each line of input, a number of milliseconds, calls
 * through the library for that long, and answers with a line.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void spin(void)
{
	double end = now() + 0.001;

	while (now() < end)
		;
}

int main(int argc, char **argv)
{
	void *handle = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*through)(void (*)(void), void (*)(void));
	const Elf64_Ehdr *header;
	char line[32];

	if (!handle) {
		fprintf(stderr, "usage: caller LIBRARY\n");
		return 2;
	}
	header = *(
		const Elf64_Ehdr *const *)handle; /* struct link_map: its first member is l_addr */
	through = (void (*)(void (*)(void), void (*)(void)))((uintptr_t)header + header->e_entry);
	while (fgets(line, sizeof(line), stdin)) {
		double end = now() + strtod(line, NULL) / 1000;

		while (now() < end)
			through(spin, spin);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
