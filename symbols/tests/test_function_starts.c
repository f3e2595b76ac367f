// SPDX-License-Identifier: Apache-2.0
/* The starts of functions compared with readelf's output for the same .eh_frame. */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/function_starts.h"

#define PROGRAM "/proc/self/exe"

static struct function_starts *starts;

/* Looks up both ends of each function that readelf prints. *ret_n is their number. */
static void compare_with_readelf(size_t *ret_n)
{
	char command[100], line[300];
	uint64_t start, end, found, found_end;
	FILE *from;

	snprintf(command, sizeof(command), "readelf --debug-dump=frames /proc/%d/exe", getpid());
	from = popen(command, "r");
	cr_assert(from);
	*ret_n = 0;
	while (fgets(line, sizeof(line), from)) {
		const char *range = strstr(line, " FDE ") ? strstr(line, "pc=") : NULL;

		if (!range || sscanf(range, "pc=%" SCNx64 "..%" SCNx64, &start, &end) != 2)
			continue;
		cr_assert_eq(function_starts_find(starts, start, &found, &found_end), 0);
		cr_assert(found == start && found_end == end);
		cr_assert_eq(function_starts_find(starts, end - 1, &found, &found_end), 0);
		cr_assert(found == start && found_end == end);
		cr_assert_eq(function_starts_next(starts, start - 1), start);
		++*ret_n;
	}
	pclose(from);
}

Test(function_starts, are_those_of_the_fdes)
{
	int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	uint64_t start, end;
	size_t n;

	cr_assert_eq(function_starts_new(fd, NULL, 0, &starts), 0);
	close(fd);
	compare_with_readelf(&n);
	cr_assert_gt(n, 5);
	cr_assert_eq(function_starts_find(starts, 0, &start, &end), -ENOENT);
	cr_assert_eq(function_starts_find(starts, UINT64_MAX, &start, &end), -ENOENT);
	cr_assert_eq(function_starts_next(starts, UINT64_MAX), UINT64_MAX);
	function_starts_free(starts);
}

static void *read_program(size_t *ret_size)
{
	int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	cr_assert(fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size);
	cr_assert_eq(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

/* As after sstrip. */
Test(function_starts, are_found_without_section_headers)
{
	size_t size, n;
	Elf64_Ehdr *program = read_program(&size);

	program->e_shoff = 0;
	program->e_shnum = program->e_shstrndx = 0;
	cr_assert_eq(function_starts_new(-1, program, size, &starts), 0);
	compare_with_readelf(&n);
	cr_assert_gt(n, 5);
	function_starts_free(starts);
	free(program);
}

Test(function_starts, are_not_in_what_has_none)
{
	size_t size;
	Elf64_Ehdr *program = read_program(&size);

	cr_assert_eq(function_starts_new(-1, "no ELF file", 11, &starts), -ENODATA);
	program->e_shoff = program->e_phoff = 0;
	program->e_shnum = program->e_shstrndx = program->e_phnum = 0;
	cr_assert_eq(function_starts_new(-1, program, size, &starts), -ENODATA);
	free(program);
}
