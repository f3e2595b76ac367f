// SPDX-License-Identifier: Apache-2.0
/*
 * usage: churn LIBRARY [DIRECTORY]
 *
 * A program of which churn.py makes thousands that differ: in their build id, in their contents, and
 * in the name of the function in which they spend their time, 4 ms in two threads and as much in a
 * library that is loaded while it runs. With a DIRECTORY it stays, and loads one library of it after
 * the other, which it unloads again.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/churn.h"

#define PAUSE_US 50000

const char churn_contents[] = CHURN_CONTENTS;

static __attribute__((noinline)) void churn_function_000000(void)
{
	churn_spend(CHURN_NS, churn_contents);
}

static void *run_thread(void *arg)
{
	churn_function_000000();
	return NULL;
}

static int run_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*run)(void);

	if (!library)
		return -1;
	*(void **)&run = dlsym(library, "churn_run");
	if (run)
		run();
	dlclose(library);
	return run ? 0 : -1;
}

/* One after the other, for as long as whoever started it wants. */
static void run_all(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	char path[4096];

	while (dir && (entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".so"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		run_library(path);
		usleep(PAUSE_US);
	}
	if (dir)
		closedir(dir);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int err = argc >= 2 ? 0 : 2;

	if (argc > 2)
		for (;;)
			run_all(argv[2]);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run_thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return err == 0 && run_library(argv[1]) < 0 ? 1 : err;
}
