/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_TESTS_OWN_FILE_H
#define DP_ELF_TESTS_OWN_FILE_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "elf/elf_file.h"

/* For tests about the functions and variables of their own program: set up and torn down by them. */
static struct elf_file file;
static int fd;

static void open_own_file(void)
{
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(elf_file_init_fd_only(&file, fd), 0);
}

static void close_own_file(void)
{
	elf_file_done(&file);
	close(fd);
}

/* The address in the file of what has this one in memory. */
static inline uint64_t in_file(const void *place)
{
	return (uintptr_t)place - _r_debug.r_map->l_addr;
}

#endif
