// SPDX-License-Identifier: Apache-2.0
/* Where functions of this very program end, by labels that are there. */
#include "functions/function_ends.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "functions/function_search.h"

#define FUNCTION(name) ".type " name ", @function\n" name ":\n"
#define END(name) ".size " name ", . - " name "\n"

__asm__(".pushsection .text\n"
	/* A return, a jump to its own part, and one to another function */
	FUNCTION("ends_sample") "push %rbx\n"
				"test %edi, %edi\n"
				"je 1f\n"
				"pop %rbx\n"
				"ends_first: ret\n"
				"1: jmp ends_sample.cold\n"
				"2: pop %rbx\n"
				"ends_second: jmp ends_at_once\n" END("ends_sample")
	/* A jump back, and a return */
	FUNCTION("ends_sample.cold") "test %esi, %esi\n"
				     "jne 3f\n"
				     "jmp 2b\n"
				     "3: pop %rbx\n"
				     "ends_third: ret\n" END("ends_sample.cold")
	/* At its start, where its calls begin */
	FUNCTION("ends_at_once") "ret\n" END("ends_at_once")
	/* Data within */
	FUNCTION("ends_unsound") "jmp 1f\n"
				 ".byte 0x06\n"
				 "1: ret\n" END("ends_unsound") ".popsection\n");

extern const char ends_sample[], ends_first[], ends_second[], ends_third[];

static size_t find(const char *name, uint64_t ret[8])
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(function_list_done) struct function_list list = { 0 };
	const struct function_query query = { .pattern = name,
					      .has_parts = true,
					      .has_ends = true };
	struct listed_function f;
	uint64_t start = 0;
	size_t n = 0;

	cr_assert_eq(function_search(fd, &query, &list), 0);
	for (size_t at = 0; function_list_next(&list, &at, &f);) {
		if (f.kind == LISTED_FUNCTION)
			start = f.offset;
		if (f.kind != LISTED_EXIT)
			continue;
		cr_assert(f.of == start && n < 8);
		ret[n++] = f.offset - start;
	}
	cr_assert_neq(start, 0);
	return n;
}

Test(function_ends, are_those_of_all_its_parts)
{
	const uint64_t wanted[] = { (uint64_t)(ends_first - ends_sample),
				    (uint64_t)(ends_second - ends_sample),
				    (uint64_t)(ends_third - ends_sample) };
	uint64_t found[8];

	cr_assert_eq(find("ends_sample", found), ARRAY_SIZE(wanted));
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		cr_expect_eq(found[i], wanted[i], "%lu", (unsigned long)found[i]);
}

Test(function_ends, are_not_where_it_begins)
{
	uint64_t found[8];

	cr_assert_eq(find("ends_at_once", found), 0);
}

Test(function_ends, are_not_known_in_data)
{
	uint64_t found[8];

	cr_assert_eq(find("ends_unsound", found), 0);
}
