// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded into a program: writes its name to the file $NOTE_THREADS when it starts a thread. Those
 * that its libraries start, such as a test framework's, are not its own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int create_fn(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
		      void *arg);

static void note(const char *path)
{
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program));
	FILE *file = fopen(path, "ae");

	if (file && length > 0)
		fprintf(file, "%.*s\n", (int)length, program);
	if (file)
		fclose(file);
}

create_fn pthread_create;
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	create_fn *create = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
	const char *path = getenv("NOTE_THREADS");
	Dl_info caller;

	if (path && dladdr(__builtin_return_address(0), &caller) &&
	    strcmp(caller.dli_fname, program_invocation_name) == 0)
		note(path);
	return create(thread, attr, fn, arg);
}
