// SPDX-License-Identifier: Apache-2.0
/* Allocators in files, compared with what readelf says of them. */
#include "functions/allocator.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

static int find(const char *path, struct allocator *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file file;
	int err;

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(elf_file_init_fd_only(&file, fd), 0);
	err = allocator_find(&file, ret);
	elf_file_done(&file);
	cr_assert(allocator_is_sound(ret));
	return err;
}

/* Where readelf has a function; code lies in the file as it does in memory, in the library. */
static uint64_t address_of(const char *name, const char *path)
{
	char command[1024];
	uint64_t address = 0;
	FILE *output;

	snprintf(command, sizeof(command),
		 "readelf -W -s %s | awk '$8 ~ /^%s(@|$)/ && $7 != \"UND\" { print $2; exit }'",
		 path, name);
	output = popen(command, "re");
	cr_assert(output);
	if (fscanf(output, "%" SCNx64, &address) != 1)
		address = 0;
	pclose(output);
	return address;
}

static void expect(const struct allocator *a, const char *name, enum dp_alloc how, const char *path)
{
	uint64_t address = address_of(name, path);
	bool is_found = false;

	cr_assert_neq(address, 0, "%s", name);
	for (size_t i = 0; i < a->n; i++)
		is_found |= a->places[i].offset == address && a->places[i].how == how;
	cr_assert(is_found, "%s", name);
}

Test(allocator, is_in_the_library)
{
	static const struct {
		const char *name;
		enum dp_alloc how;
	} expected[] = {
		{ "malloc", DP_ALLOC_MALLOC },        { "calloc", DP_ALLOC_CALLOC },
		{ "realloc", DP_ALLOC_REALLOC },      { "aligned_alloc", DP_ALLOC_ALIGNED },
		{ "posix_memalign", DP_ALLOC_POSIX }, { "memalign", DP_ALLOC_ALIGNED },
		{ "valloc", DP_ALLOC_MALLOC },        { "free", DP_ALLOC_FREE },
	};
	const char *path = getenv("C_LIBRARY");
	struct allocator a;

	cr_assert_eq(find(path, &a), 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		expect(&a, expected[i].name, expected[i].how, path);
	for (size_t i = 0; i < a.n; i++)
		for (size_t j = 0; j < i; j++)
			cr_assert_neq(a.places[i].offset, a.places[j].offset);
	cr_assert_eq(a.places[a.n - 1].how, DP_ALLOC_FREE);
}

Test(allocator, is_not_in_what_only_calls_it)
{
	struct allocator a;

	cr_assert_eq(find("/proc/self/exe", &a), -ENOENT);
	cr_assert_eq(a.n, 0);
}

/* The returns that objdump has in functions of such a name. */
static void expect_exits(const struct allocator *a, const char *names, const char *path)
{
	char command[1024];
	uint64_t address;
	size_t n = 0;
	FILE *output;

	snprintf(
		command, sizeof(command),
		"objdump -d --no-show-raw-insn %s | awk '/^[0-9a-f]+ </ { is = $2 ~ /%s/ } is && /\tret/ { print \"0x\" $1 }'",
		path, names);
	output = popen(command, "re");
	cr_assert(output);
	for (; fscanf(output, "%" SCNx64 ":", &address) == 1; n++) {
		bool is_found = false;

		for (size_t i = 0; i < a->n; i++)
			is_found |=
				a->places[i].offset == address && a->places[i].how == DP_ALLOC_EXIT;
		cr_assert(is_found, "%#" PRIx64, address);
	}
	pclose(output);
	for (size_t i = 0; i < a->n; i++)
		n -= a->places[i].how == DP_ALLOC_EXIT;
	cr_assert_eq(n, 0);
}

Test(allocator, has_operators_that_return_where_what_they_jump_to_does)
{
	const char *path = getenv("ALLOCATES");
	struct allocator a;

	cr_assert_eq(find(path, &a), 0);
	expect(&a, "mallocx", DP_ALLOC_MALLOC, path);
	expect(&a, "_Znwm", DP_ALLOC_NEW, path);
	expect(&a, "_Znam", DP_ALLOC_NEW, path);
	expect(&a, "_ZdlPvm", DP_ALLOC_FREE, path);
	expect_exits(&a, "<_Znwm>|slow", path);
	for (size_t i = 0; i < a.n; i++)
		cr_assert_neq(a.places[i].offset, address_of("_ZnwmRi", path),
			      "in memory that is there");
}

/* What follows would seem to be within such a call. */
Test(allocator, has_no_operators_that_are_not_seen_to_return)
{
	const char *path = getenv("ALLOCATES_ELSEWHERE");
	struct allocator a;

	cr_assert_eq(find(path, &a), 0);
	expect(&a, "mallocx", DP_ALLOC_MALLOC, path);
	expect(&a, "_ZdlPvm", DP_ALLOC_FREE, path);
	for (size_t i = 0; i < a.n; i++)
		cr_assert(a.places[i].how != DP_ALLOC_NEW && a.places[i].how != DP_ALLOC_EXIT);
}

Test(allocator, of_a_parser_is_not_believed)
{
	struct allocator a = { .places = { { .how = DP_ALLOC_MALLOC }, { .how = DP_ALLOC_FREE } },
			       .n = 2 };

	cr_assert(allocator_is_sound(&a));
	a.places[0].how = DP_N_ALLOCS;
	cr_assert(!allocator_is_sound(&a));
	a.places[0].how = DP_ALLOC_FREE;
	a.places[1].how = DP_ALLOC_MALLOC;
	cr_assert(!allocator_is_sound(&a), "returns are those of the first places");
	a.places[1].how = DP_ALLOC_FREE;
	cr_assert(allocator_is_sound(&a));
	a.n = ALLOCATOR_PLACES + 1;
	cr_assert(!allocator_is_sound(&a));
}
