// SPDX-License-Identifier: Apache-2.0

// A C program with chains.go's sibling as a library: linked with it, or, with an argument, opened.
//
// usage: host [LIBRARY]
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#ifdef LINKED
extern void goStart(void);
extern int goWork(int n);
#else
static void (*goStart)(void);
static int (*goWork)(int n);

static void open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	if (library) {
		goStart = (void (*)(void))dlsym(library, "goStart");
		goWork = (int (*)(int))dlsym(library, "goWork");
	}
	if (!goStart || !goWork)
		abort();
}
#endif

// chain: c_hosted goWork main.goWork @work
__attribute__((noinline, noclone)) static void *c_hosted(void *unused)
{
	for (;;)
		goWork(2);
	return unused;
}

// chain: c_host c_recursion*5 goWork main.goWork @work
__attribute__((noinline, noclone)) static int c_recursion(int n)
{
	volatile int room[5] = { n };

	return (n == 1 ? goWork(2) : c_recursion(n - 1)) + room[0];
}

__attribute__((noinline, noclone)) static int c_host(void)
{
	pthread_t thread;

	goStart();
	if (pthread_create(&thread, NULL, c_hosted, NULL) != 0)
		return 1;
	for (;;)
		c_recursion(5);
}

int main(int argc, char **argv)
{
#ifndef LINKED
	if (argc != 2)
		return 2;
	open_library(argv[1]);
#endif
	(void)argc;
	(void)argv;
	return c_host();
}
