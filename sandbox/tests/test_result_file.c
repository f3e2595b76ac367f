// SPDX-License-Identifier: Apache-2.0
/* What a helper has returned does not change, whatever it still has of it. */
#include "sandbox/result_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool is_old;

int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, int argument);

int __wrap_fcntl64(int fd, int command, int argument)
{
	if (is_old && command == F_ADD_SEALS && (argument & F_SEAL_FUTURE_WRITE)) {
		errno = EINVAL;
		return -1;
	}
	return __real_fcntl64(fd, command, argument);
}

/* A helper has its own descriptor. */
Test(result_file, cannot_be_changed_once_it_is_sealed)
{
	_cleanup_close_ int file = result_file_new("result"), theirs = dup(file);
	char text[8] = "";

	cr_assert(file >= 0 && write(theirs, "honest", 6) == 6);
	cr_assert_eq(result_file_seal(file), 0);
	cr_assert(pwrite(theirs, "lie", 3, 0) < 0 && errno == EPERM);
	cr_assert(write(theirs, "more", 4) < 0 && errno == EPERM);
	cr_assert(ftruncate(theirs, 1) < 0 && ftruncate(theirs, 100) < 0);
	cr_assert(fallocate(theirs, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4) < 0);
	cr_assert(mmap(NULL, 6, PROT_WRITE, MAP_SHARED, theirs, 0) == MAP_FAILED);
	cr_assert(pread(file, text, sizeof(text), 0) == 6);
	cr_assert_str_eq(text, "honest");
}

Test(result_file, is_refused_if_it_cannot_be_sealed)
{
	_cleanup_close_ int sealed = result_file_new("result");

	cr_assert(fcntl(sealed, F_ADD_SEALS, F_SEAL_SEAL) == 0);
	cr_assert_eq(result_file_seal(sealed), -EPROTO);
}

/* As somebody may who reads /proc/PID/mem, or moves pages; here, it is a mapping. */
Test(result_file, is_no_ones_fault_if_its_pages_are_in_use)
{
	_cleanup_close_ int file = result_file_new("result"), theirs = dup(file);
	char *memory;

	cr_assert(write(theirs, "honest", 6) == 6);
	memory = mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	cr_assert(memory != MAP_FAILED);
	cr_assert_eq(result_file_seal(file), 0);
	cr_assert(pwrite(theirs, "lie", 3, 0) < 0 && errno == EPERM);
	munmap(memory, 6);
}

/* Before Linux 5.1. */
Test(result_file, is_sealed_by_what_older_kernels_know)
{
	_cleanup_close_ int file = result_file_new("result"), theirs = dup(file);
	char *memory;

	is_old = true;
	cr_assert(write(theirs, "honest", 6) == 6);
	memory = mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	cr_assert(memory != MAP_FAILED);
	cr_assert_eq(result_file_seal(file), -ECONNABORTED, "another helper may be asked");
	munmap(memory, 6);
	cr_assert_eq(result_file_seal(file), 0);
	cr_assert(pwrite(theirs, "lie", 3, 0) < 0 && errno == EPERM);
}
