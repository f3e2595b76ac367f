// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded into a program of tests: writes its name and that of the test to the file $NOTE_THREADS
 * when the test starts a thread. Those that libraries start, such as Criterion, are not its own.
 */
#include <criterion/criterion.h>
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
	const struct criterion_suite *const *suite = dlsym(RTLD_DEFAULT, "criterion_current_suite");
	const struct criterion_test *const *test = dlsym(RTLD_DEFAULT, "criterion_current_test");
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program));
	FILE *file = suite && test && *suite && *test ? fopen(path, "ae") : NULL;

	if (file && length > 0)
		fprintf(file, "%.*s %s/%s\n", (int)length, program, (*suite)->name, (*test)->name);
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
