// SPDX-License-Identifier: Apache-2.0
/* The functions of this program, listed, and lists that are none. */
#include "elf/function_list.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/elf_functions.h"

static int count(void *arg, const char *symbol, uint64_t offset, uint64_t size)
{
	uint64_t *sums = arg;

	sums[0]++;
	sums[1] += offset;
	sums[2] += size;
	sums[3] += strlen(symbol);
	return 0;
}

Test(function_list, has_what_the_file_has)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(function_list_done) struct function_list list = { 0 };
	uint64_t in_file[4] = { 0 }, listed[4] = { 0 };
	struct listed_function f;
	size_t at = 0;

	cr_assert_eq(elf_functions_each(fd, count, in_file), 0);
	cr_assert_eq(function_list_read(fd, &list), 0);
	cr_assert(function_list_is_sound(&list));
	while (function_list_next(&list, &at, &f))
		count(listed, f.symbol, f.offset, f.size);
	cr_assert_gt(in_file[0], 10);
	cr_assert_arr_eq(listed, in_file, sizeof(listed));
}

Test(function_list, is_of_an_elf_file)
{
	_cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct function_list list;

	cr_assert_eq(function_list_read(fd, &list), -ENOEXEC);
	cr_assert(!list.bytes && list.size == 0);
}

Test(function_list, may_be_damaged)
{
	char bytes[36] = "";

	strcpy(bytes + 16, "a");
	strcpy(bytes + 34, "b");
	cr_assert(function_list_is_sound(&(struct function_list){ bytes, 0 }));
	cr_assert(function_list_is_sound(&(struct function_list){ bytes, 18 }));
	cr_assert(function_list_is_sound(&(struct function_list){ bytes, 36 }));
	cr_assert(!function_list_is_sound(&(struct function_list){ bytes, 17 }), "no zero");
	cr_assert(!function_list_is_sound(&(struct function_list){ bytes, 16 }), "no symbol");
	cr_assert(!function_list_is_sound(&(struct function_list){ bytes, 35 }));
	bytes[34] = '\0';
	cr_assert(!function_list_is_sound(&(struct function_list){ bytes, 35 }), "an empty symbol");
}
