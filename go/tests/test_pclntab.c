// SPDX-License-Identifier: Apache-2.0
/* Go's pclntab, built byte by byte in each layout, intact and damaged. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "go/tests/table.h"

static struct table made;

static int open_table(struct pclntab *ret)
{
	return pclntab_init(ret, made.bytes.bytes, made.bytes.size, 0);
}

static struct pclntab make(enum pclntab_layout layout)
{
	struct pclntab t;

	table_make(&made, layout);
	cr_assert_eq(open_table(&t), 0);
	return t;
}

static struct pclntab_function first(const struct pclntab *t)
{
	struct pclntab_function f;

	cr_assert_eq(pclntab_function(t, 0, &f), 0);
	return f;
}

/* For each layout */
#define EACH(t)                                                                                    \
	for (size_t each = 0; each < ARRAY_SIZE(layouts); each++)                                  \
		for (struct pclntab t = make(layouts[each]), *once = &t; once; once = NULL)

Test(pclntab, has_functions)
{
	EACH(t)
	{
		struct pclntab_function f = first(&t);

		cr_expect_eq(t.n_functions, N_FUNCTIONS);
		cr_expect_eq(f.start, TEXT);
		cr_expect_eq(f.next, TEXT + 0x40);
		cr_expect_str_eq(f.name, "main.outer");
		cr_expect_eq(f.id, 7);
		cr_expect_eq(f.flags, PCLNTAB_ASM);
		cr_expect_eq(f.sp, made.sp);
		cr_expect_eq(pclntab_function_end(&t, &f), TEXT + 0x38);
		cr_expect_eq(pclntab_function(&t, N_FUNCTIONS, &f), -EBADMSG);
	}
}

Test(pclntab, takes_where_the_code_is)
{
	struct pclntab t = make(PCLNTAB_GO_1_20);

	cr_assert_eq(pclntab_init(&t, made.bytes.bytes, made.bytes.size, 0x1000), 0);
	cr_expect_eq(first(&t).start, 0x1000);
}

Test(pclntab, finds_the_function_of_an_address)
{
	EACH(t)
	{
		struct pclntab_function f;

		cr_expect_eq(pclntab_find(&t, TEXT - 1, &f), -ENOENT);
		cr_expect_eq(pclntab_find(&t, TEXT + 0x60, &f), -ENOENT);
		cr_expect_eq(pclntab_find(&t, UINT64_MAX, &f), -ENOENT);
		cr_assert_eq(pclntab_find(&t, TEXT + 0x3f, &f), 0);
		cr_expect_str_eq(f.name, "main.outer");
		cr_assert_eq(pclntab_find(&t, TEXT + 0x40, &f), 0);
		cr_expect_str_eq(f.name, "main.plain");
	}
}

Test(pclntab, has_values)
{
	EACH(t)
	{
		struct pclntab_function f = first(&t);
		struct pclntab_values v;

		pclntab_values_init(&v, &t, &f, f.sp);
		cr_assert(pclntab_values_next(&v));
		cr_expect_eq(v.last.start, TEXT);
		cr_expect_eq(v.last.end, TEXT + 4);
		cr_expect_eq(v.last.value, 0);
		cr_assert(pclntab_values_next(&v));
		cr_expect_eq(v.last.end, TEXT + 0x38);
		cr_expect_eq(v.last.value, 32);
		cr_expect_not(pclntab_values_next(&v));
		cr_expect_not(pclntab_values_next(&v));
		/* None at all */
		pclntab_values_init(&v, &t, &f, 0);
		cr_expect_not(pclntab_values_next(&v));
	}
}

Test(pclntab, has_more_values_and_data)
{
	EACH(t)
	{
		struct pclntab_function f = first(&t);
		uint64_t data;

		cr_expect_eq(pclntab_more_values(&t, &f, PCLNTAB_VALUES_INLINED), made.inlined);
		cr_expect_eq(pclntab_more_values(&t, &f, 3), 0);
		cr_expect_not(pclntab_data(&t, &f, 0, &data));
		cr_expect_not(pclntab_data(&t, &f, 4, &data));
		cr_assert(pclntab_data(&t, &f, PCLNTAB_DATA_INLINED, &data));
		cr_expect_eq(data, t.layout == PCLNTAB_GO_1_16 ? DATA + 8 : 8);
	}
}

Test(pclntab, has_names_and_files)
{
	EACH(t)
	{
		struct pclntab_function f = first(&t);

		cr_expect_str_eq(pclntab_name(&t, (int32_t)made.inner), "main.inner");
		cr_expect_null(pclntab_name(&t, -1));
		cr_expect_null(pclntab_name(&t, INT32_MAX));
		cr_expect_str_eq(pclntab_file(&t, &f, 0), "/src/outer.go");
		cr_expect_str_eq(pclntab_file(&t, &f, 1), "/src/inner.go");
		cr_expect_null(pclntab_file(&t, &f, 2)); /* one that the linker left out */
		cr_expect_null(pclntab_file(&t, &f, -1));
		cr_expect_null(pclntab_file(&t, &f, UINT32_MAX));
		cr_expect_null(pclntab_file(&t, &f, INT64_MAX));
	}
}

Test(pclntab, is_none_without_its_header)
{
	static const uint8_t other[] = { 0xfb, 0xff, 0xff, 0xff, 0, 0, 1, 8 };
	struct pclntab t;

	/* Those of Go 1.2, of another byte order, and of other pointer sizes */
	for (size_t at = 0; at < sizeof(other); at++) {
		table_make(&made, PCLNTAB_GO_1_20);
		made.bytes.bytes[at] = (uint8_t)(other[at] ^ (at == 0 ? 0 : 4));
		cr_expect_eq(open_table(&t), -EBADMSG, "byte %zu", at);
	}
}

/* In memory of exactly that size, so that a sanitizer detects reads behind it. */
Test(pclntab, is_bounded_by_its_size)
{
	EACH(whole)
	{
		for (uint64_t size = 0; size < whole.size; size++) {
			uint8_t *bytes = malloc(size ? size : 1);
			struct pclntab_function f;
			struct pclntab_values v;
			struct pclntab t;
			uint64_t data;

			memcpy(bytes, whole.data, size);
			if (pclntab_init(&t, bytes, size, 0) == 0) {
				for (uint64_t i = 0; i <= t.n_functions; i++) {
					if (pclntab_function(&t, i, &f) < 0)
						continue;
					pclntab_values_init(&v, &t, &f, f.line);
					while (pclntab_values_next(&v))
						;
					(void)pclntab_file(&t, &f, 1);
					(void)pclntab_more_values(&t, &f, 2);
					(void)pclntab_data(&t, &f, 3, &data);
				}
				(void)pclntab_find(&t, TEXT + 0x50, &f);
			}
			free(bytes);
		}
	}
}

Test(pclntab, has_no_parts_behind_its_end)
{
	EACH(good)
	{
		size_t parts = good.layout == PCLNTAB_GO_1_16 ? 24 : 32;
		struct pclntab t;

		for (size_t i = 0; i < 5; i++) {
			table_make(&made, good.layout);
			set_u64(&made.bytes, parts + 8 * i, made.bytes.size + 1);
			cr_expect_eq(open_table(&t), -EBADMSG, "part %zu", i);
			set_u64(&made.bytes, parts + 8 * i, UINT64_MAX);
			cr_expect_eq(open_table(&t), -EBADMSG, "part %zu", i);
		}
		/* More functions than there is room for; so many that their size wraps */
		table_make(&made, good.layout);
		set_u64(&made.bytes, 8, 1000);
		cr_expect_eq(open_table(&t), -EBADMSG);
		set_u64(&made.bytes, 8, UINT64_C(1) << 61);
		cr_expect_eq(open_table(&t), -EBADMSG);
		set_u64(&made.bytes, 8, UINT64_MAX);
		cr_expect_eq(open_table(&t), -EBADMSG);
	}
}

Test(pclntab, refuses_functions_that_do_not_ascend)
{
	EACH(t)
	{
		struct pclntab_function f;

		/* The second one starts in front of the first one. */
		if (t.layout == PCLNTAB_GO_1_16)
			set_u64(&made.bytes, made.functions + 16, TEXT - 0x10);
		else
			set_u32(&made.bytes, made.functions, 0x50);
		cr_expect_eq(pclntab_function(&t, 0, &f), -EBADMSG);
	}
}

Test(pclntab, refuses_records_elsewhere)
{
	EACH(t)
	{
		size_t at = made.functions + (t.layout == PCLNTAB_GO_1_16 ? 8 : 4);
		struct pclntab_function f;

		set_u32(&made.bytes, at, (uint32_t)(made.bytes.size - made.functions - 4));
		cr_expect_eq(pclntab_function(&t, 0, &f), -EBADMSG);
		set_u32(&made.bytes, at, UINT32_MAX);
		cr_expect_eq(pclntab_function(&t, 0, &f), -EBADMSG);
		cr_expect_eq(pclntab_find(&t, TEXT, &f), -EBADMSG);
	}
}

Test(pclntab, refuses_names_without_an_end)
{
	EACH(t)
	{
		size_t at = made.records[0] + (t.layout == PCLNTAB_GO_1_16 ? 8 : 4);
		struct pclntab_function f;

		set_u32(&made.bytes, at, UINT32_MAX);
		cr_expect_eq(pclntab_function(&t, 0, &f), -EBADMSG);
		/* The last byte, which is no zero */
		set_u32(&made.bytes, at, (uint32_t)(made.bytes.size - 1 - made.names));
		made.bytes.bytes[made.bytes.size - 1] = 'x';
		cr_expect_eq(pclntab_function(&t, 0, &f), -EBADMSG);
	}
}

Test(pclntab, refuses_values_that_make_no_sense)
{
	EACH(t)
	{
		static const char bad[][12] = {
			"\x02\x00",                 /* one that holds for nothing */
			"\x02\x80\x80\x80\x80\x10", /* or for more than 4 GiB */
			"\x80\x80\x80\x80\x10\x04", /* changes by more than 32 bits */
			"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", /* and more than 64 */
		};
		struct pclntab_function f = first(&t);
		struct pclntab_values v;

		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			memcpy(made.bytes.bytes + made.values + f.sp, bad[i], 11);
			pclntab_values_init(&v, &t, &f, f.sp);
			cr_expect_not(pclntab_values_next(&v), "%zu", i);
			cr_expect_not(pclntab_values_next(&v), "%zu", i);
			cr_expect_eq(pclntab_function_end(&t, &f), f.start);
		}
		/* Behind the table */
		pclntab_values_init(&v, &t, &f, UINT32_MAX);
		cr_expect_not(pclntab_values_next(&v));
	}
}

Test(pclntab, has_no_end_behind_the_next_function)
{
	EACH(t)
	{
		struct pclntab_function f = first(&t);
		struct assembler *a = &made.bytes;
		size_t size = a->size;

		a->size = made.values + f.sp;
		put_value(a, 1, 4), put_value(a, 32, 0x7f), put_u8(a, 0);
		a->size = size;
		cr_expect_eq(pclntab_function_end(&t, &f), f.next);
	}
}
