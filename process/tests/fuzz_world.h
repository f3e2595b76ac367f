/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_TESTS_FUZZ_WORLD_H
#define DP_PROCESS_TESTS_FUZZ_WORLD_H

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <time.h>

#include "cfi/tests/fuzz.h"
#include "process/tests/process_parts.h"
#include "symbols/kallsyms.h"
#include "symbols/names.h"

/*
 * For fuzz targets whose input has PIDs: the linker redirects questions about processes of this
 * machine to the functions below (--wrap), for which none runs. Time passes from one question to the
 * next, so that an input does the same again.
 */

/* Where the clock starts for each input. */
#define WORLD_START_NS UINT64_C(1000000000000)

static struct names *names;
static struct kallsyms *kallsyms;
static uint64_t now_ns;      /* 0: the machine's clock */
static int mapped_file = -1; /* what "/file" is to every process; -1: nothing */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_mapped_file_find(pid_t pid, uint64_t start, uint64_t end, uint64_t inode,
			    const char *name);
int __wrap_mapped_file_find_program(pid_t pid);
pid_t __wrap_proc_stat_live_thread(pid_t pid);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
				const struct iovec *remote, unsigned long n_remote,
				unsigned long flags);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (now_ns == 0 || clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, ret);
	now_ns += 1000;
	*ret = (struct timespec){ (time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000) };
	return 0;
}

int __wrap_mapped_file_find(pid_t pid, uint64_t start, uint64_t end, uint64_t inode,
			    const char *name)
{
	if (mapped_file < 0 || strcmp(name, "/file") != 0)
		return -ENOENT;
	return fcntl(mapped_file, F_DUPFD_CLOEXEC, 0);
}

int __wrap_mapped_file_find_program(pid_t pid)
{
	return -ESRCH;
}

pid_t __wrap_proc_stat_live_thread(pid_t pid)
{
	return 0;
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
				const struct iovec *remote, unsigned long n_remote,
				unsigned long flags)
{
	errno = ESRCH;
	return -1;
}

static void world_begin(void)
{
	const struct names_options options = { .no_debuginfod = true };

	now_ns = WORLD_START_NS;
	EXPECT(names_new(&options, &names) == 0);
	EXPECT(kallsyms_new_unread(names, "/dev/null", &kallsyms) == 0);
	parts_init(names);
}

static void world_end(void)
{
	parts_done();
	kallsyms_free(kallsyms);
	names_free(names);
	now_ns = 0;
}

#endif
