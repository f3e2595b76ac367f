// SPDX-License-Identifier: Apache-2.0
/* Functions in a list, and lists that are none. */
#include "elf/function_list.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"

#define HEAD 32

static void expect_equal(const struct listed_function *a, const struct listed_function *b)
{
	cr_expect(a->kind == b->kind && a->offset == b->offset && a->size == b->size &&
		  a->of == b->of);
	cr_expect_str_eq(a->symbol, b->symbol);
	cr_expect_str_eq(a->name, b->name);
}

Test(function_list, has_what_was_added)
{
	static const struct listed_function added[] = {
		{ LISTED_FUNCTION, 16, 4, "_Z1fv", "f", 0 },
		{ LISTED_FUNCTION, UINT64_MAX, 0, "g", "", 0 },
		{ LISTED_HINT, 32, UINT64_MAX, "h", "h", 0 },
		{ LISTED_PART, 48, 8, "f.cold", "", 16 },
	};
	struct function_list list = { 0 };
	struct listed_function f;
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(added); i++)
		cr_assert_eq(function_list_add(&list, &added[i]), 0);
	cr_assert_eq(function_list_add(&list,
				       &(struct listed_function){ .symbol = "", .name = "" }),
		     -EINVAL);
	cr_assert(function_list_is_sound(&list));
	for (size_t i = 0; i < ARRAY_SIZE(added); i++) {
		cr_assert(function_list_next(&list, &at, &f));
		expect_equal(&f, &added[i]);
	}
	cr_assert(!function_list_next(&list, &at, &f));
	function_list_done(&list);
	cr_assert(!list.bytes && list.size == 0);
}

Test(function_list, grows_where_it_came_from_another_process)
{
	static const struct listed_function added = { LISTED_FUNCTION, 16, 4, "_Z1fv", "f", 0 };
	struct function_list list = { 0 };
	struct listed_function f;
	size_t n = 0;

	cr_assert_eq(function_list_add(&list, &added), 0);
	list.room = 0;
	cr_assert_eq(function_list_add(&list, &added), 0);
	cr_assert_geq(list.room, list.size);
	for (size_t at = 0; function_list_next(&list, &at, &f); n++)
		expect_equal(&f, &added);
	cr_expect_eq(n, 2);
	function_list_done(&list);
}

static bool is_sound(char *bytes, size_t size)
{
	return function_list_is_sound(&(struct function_list){ bytes, size, size });
}

Test(function_list, may_be_damaged)
{
	char bytes[2 * (HEAD + 3)] = "", *second = bytes + HEAD + 3;

	strcpy(bytes + HEAD, "a");
	strcpy(second + HEAD, "b");
	cr_assert(is_sound(bytes, 0));
	cr_assert(is_sound(bytes, HEAD + 3));
	cr_assert(is_sound(bytes, 2 * (HEAD + 3)));
	for (size_t i = 1; i < HEAD + 3; i++)
		cr_assert(!is_sound(bytes, HEAD + 3 + i), "%zu", i);
	second[0] = LISTED_N_KINDS;
	cr_assert(!is_sound(bytes, sizeof(bytes)), "an unknown kind");
	second[0] = LISTED_N_KINDS - 1;
	cr_assert(is_sound(bytes, sizeof(bytes)));
	second[HEAD] = '\0';
	cr_assert(!is_sound(bytes, sizeof(bytes) - 1), "an empty symbol");
}
