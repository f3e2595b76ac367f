/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_TESTS_HELPER_TEST_H
#define DP_SANDBOX_TESTS_HELPER_TEST_H

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* For tests whose program is also the helper, and that look at helpers in /proc. */

/* What main() does if it is no helper. */
static inline int run_tests(int argc, char **argv)
{
	struct criterion_test_set *tests = criterion_initialize();
	int failed = criterion_handle_args(argc, argv, true) && !criterion_run_all_tests(tests);

	criterion_finalize(tests);
	return failed;
}

static inline bool is_alive(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[32], state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	return file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state != 'Z';
}

/* The living children of a process, by the kernel's list. */
static inline size_t children(pid_t pid, pid_t ret[16])
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64];
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "re");
	while (file && n < 16 && fscanf(file, "%d", &ret[n]) == 1)
		n += is_alive(ret[n]);
	return n;
}

/* A value of /proc/PID/status. */
static inline uint64_t status(pid_t pid, const char *name, int base)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[32], line[256];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	cr_assert(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
			return strtoull(line + strlen(name) + 1, NULL, base);
	return UINT64_MAX;
}

/* The seconds of CPU time after which the kernel kills it; 0: it does not. */
static inline unsigned long cpu_limit(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	unsigned long soft, hard = 0;
	char path[32], line[256];

	snprintf(path, sizeof(path), "/proc/%d/limits", pid);
	file = fopen(path, "re");
	cr_assert(file);
	while (hard == 0 && fgets(line, sizeof(line), file))
		(void)sscanf(line, "Max cpu time %lu %lu", &soft, &hard);
	return hard;
}

#endif
