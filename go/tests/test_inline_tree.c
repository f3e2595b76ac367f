// SPDX-License-Identifier: Apache-2.0
/* Inlined Go calls: trees built entry by entry, intact and damaged. */
#include <criterion/criterion.h>

#include "base/array.h"
#include "go/go_location.h"
#include "go/tests/table.h"

static struct table made;
static struct go_file file;
static struct pclntab_function function;

static void open_file(enum pclntab_layout layout)
{
	table_make(&made, layout);
	file = (struct go_file){ .data = table_data(&made) };
	cr_assert_eq(pclntab_init(&file.table, made.bytes.bytes, made.bytes.size, 0), 0);
	cr_assert_eq(pclntab_function(&file.table, 0, &function), 0);
}

#define EACH                                                                                       \
	for (size_t each = 0; each < ARRAY_SIZE(layouts) && (open_file(layouts[each]), 1); each++)

static void expect(uint64_t address, size_t n, const struct go_location *wanted)
{
	struct go_location found[8];

	cr_assert_eq(go_locations_find(&file, &function, TEXT + address, true, found, 8), n,
		     "at 0x%lx", (unsigned long)address);
	for (size_t i = 0; i < n; i++) {
		cr_expect_str_eq(found[i].function, wanted[i].function);
		cr_expect_str_eq(found[i].file, wanted[i].file);
		cr_expect_eq(found[i].line, wanted[i].line, "at 0x%lx: %u", (unsigned long)address,
			     found[i].line);
	}
}

static const struct go_location deepest[] = {
	{ "main.inner", "/src/inner.go", 30 },
	{ "main.middle[go.shape.int]", "/src/inner.go", 20 },
	{ "main.outer", "/src/outer.go", 11 },
};

static const struct go_location middle[] = {
	{ "main.middle[go.shape.int]", "/src/inner.go", 20 },
	{ "main.outer", "/src/outer.go", 11 },
};

Test(go_location, names_what_was_inlined)
{
	EACH
	{
		expect(0, 1, &(struct go_location){ "main.outer", "/src/outer.go", 10 });
		expect(0x0f, 1, &(struct go_location){ "main.outer", "/src/outer.go", 11 });
		expect(0x10, 2, middle);
		expect(0x18, 3, deepest);
		expect(0x1f, 3, deepest);
		expect(0x20, 1, &(struct go_location){ "main.outer", "/src/outer.go", 12 });
	}
}

Test(go_location, has_no_line_in_padding)
{
	struct go_location found[8];

	EACH
	{
		cr_assert_eq(go_locations_find(&file, &function, TEXT + 0x38, true, found, 8), 1);
		cr_expect_str_eq(found[0].function, "main.outer");
		cr_expect_null(found[0].file);
		cr_expect_eq(found[0].line, 0);
	}
}

Test(go_location, leaves_lines_out)
{
	struct go_location found[8];

	EACH
	{
		cr_assert_eq(go_locations_find(&file, &function, TEXT + 0x18, false, found, 8), 3);
		for (size_t i = 0; i < 3; i++) {
			cr_expect_str_eq(found[i].function, deepest[i].function);
			cr_expect_null(found[i].file);
			cr_expect_eq(found[i].line, 0);
		}
	}
}

/* Without the data, the result is the function alone, with the current line. */
Test(go_location, does_without_data)
{
	EACH
	{
		file.data.size = 0;
		expect(0x18, 1, &(struct go_location){ "main.outer", "/src/inner.go", 30 });
	}
}

Test(go_location, is_limited_and_keeps_the_outermost)
{
	struct go_location found[2];

	EACH
	{
		cr_assert_eq(go_locations_find(&file, &function, TEXT + 0x18, true, found, 2), 2);
		cr_expect_str_eq(found[0].function, "main.inner");
		cr_expect_eq(found[0].line, 30);
		cr_expect_str_eq(found[1].function, "main.outer");
		cr_expect_eq(found[1].line, 0);
		cr_assert_eq(go_locations_find(&file, &function, TEXT + 0x18, true, found, 1), 1);
		cr_expect_str_eq(found[0].function, "main.outer");
	}
}

static void replace_calls(int32_t name, int32_t caller)
{
	made.calls.size = 8;
	put_call(&made, (uint32_t)name, caller);
	put_call(&made, made.inner, 0x18); /* its own caller */
	file.data = table_data(&made);
}

Test(go_location, ends_where_calls_do_not)
{
	struct go_location found[256];

	EACH
	{
		replace_calls((int32_t)made.middle, 8);
		cr_assert_eq(go_locations_find(&file, &function, TEXT + 0x18, true, found, 256),
			     256);
		cr_expect_str_eq(found[254].function, "main.inner");
		cr_expect_str_eq(found[255].function, "main.outer");
	}
}

static bool is_sound(unsigned int *left)
{
	struct inline_tree tree;

	cr_assert(inline_tree_init(&tree, &file.table, &function, &file.data));
	return inline_tree_is_sound(&tree, left);
}

Test(inline_tree, is_sound_if_all_its_calls_are)
{
	EACH
	{
		const int32_t names[] = { -1, INT32_MAX, (int32_t)made.inner + 1,
					  (int32_t)made.plain - 1 };
		const int32_t callers[] = { -1, 0x40, INT32_MAX };
		unsigned int left = 100;

		cr_expect(is_sound(&left));
		cr_expect_eq(left, 96);
		/* No name, inside of one, an empty one; callers outside of the function */
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			replace_calls(names[i], 8);
			cr_expect_not(is_sound(&left), "name %zu", i);
		}
		for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
			replace_calls((int32_t)made.middle, callers[i]);
			cr_expect_not(is_sound(&left), "caller %zu", i);
		}
		left = 1; /* the address that is looked at is in no call */
		cr_expect(is_sound(&left));
	}
}

Test(inline_tree, ends_with_the_data)
{
	struct inline_tree tree;
	struct inline_call call;

	EACH
	{
		unsigned int left = 100;

		file.data.size--;
		cr_expect_not(is_sound(&left));
		cr_assert(inline_tree_init(&tree, &file.table, &function, &file.data));
		cr_expect(inline_tree_call(&tree, 0, &call));
		cr_expect_not(inline_tree_call(&tree, 1, &call));
		cr_expect_not(inline_tree_call(&tree, -1, &call));
		cr_expect_not(inline_tree_call(&tree, INT64_MAX, &call));
		file.data.size = 8; /* where the calls start */
		cr_expect_not(inline_tree_init(&tree, &file.table, &function, &file.data));
		file.data = (struct go_data){ .size = 0 };
		cr_expect_not(inline_tree_init(&tree, &file.table, &function, &file.data));
	}
}

Test(inline_tree, is_there_only_if_something_was_inlined)
{
	struct inline_tree tree;

	EACH
	{
		cr_assert_eq(pclntab_function(&file.table, 1, &function), 0);
		cr_expect_not(inline_tree_init(&tree, &file.table, &function, &file.data));
	}
}
