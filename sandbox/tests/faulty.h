/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_TESTS_FAULTY_H
#define DP_SANDBOX_TESTS_FAULTY_H

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * Helpers with faults: this program, which runs a copy of itself as helper; a file beside the copy
 * says in one letter what is wrong with it.
 */
#define WELL ' '

static char directory[] = "/tmp/dwarfprof-test-XXXXXX", program[64], fault_path[80];
static int said; /* what was logged */

static inline char read_fault(void)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[256], fault = WELL;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 8);

	strcpy(path + (n > 0 ? n : 0), ".fault");
	file = fopen(path, "re");
	return file && fscanf(file, " %c", &fault) == 1 ? fault : WELL;
}

static inline void faulty_copy_self(void)
{
	_cleanup_close_ int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int to = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	ssize_t n;

	do
		n = sendfile(to, from, NULL, 1 << 30); /* also to another file system */
	while (n > 0);
	cr_assert(n == 0, "%s", strerror(errno));
}

static inline void faulty_begin(void)
{
	cr_assert(mkdtemp(directory) && chmod(directory, 0755) == 0);
	snprintf(program, sizeof(program), "%s/program", directory);
	snprintf(fault_path, sizeof(fault_path), "%s.fault", program);
	faulty_copy_self();
	said = memfd_create("said", MFD_CLOEXEC);
	cr_assert(dup2(said, STDERR_FILENO) == STDERR_FILENO);
}

static inline void faulty_end(void)
{
	unlink(program);
	unlink(fault_path);
	rmdir(directory);
}

static inline void set_fault(char fault)
{
	_cleanup_fclose_ FILE *file = fopen(fault_path, "we");

	cr_assert(file);
	fputc(fault, file);
}

/* How often a text was logged. */
static inline size_t n_said(const char *text)
{
	char all[4096] = "";
	size_t n = 0;

	cr_assert(pread(said, all, sizeof(all) - 1, 0) >= 0);
	for (const char *at = all; (at = strstr(at, text)); at++)
		n++;
	return n;
}

#endif
