// SPDX-License-Identifier: Apache-2.0
/* Which libraries are HotSpot, and where it gives exceptions their stacks. */
#include "values/java_fill.h"

#include <criterion/criterion.h>
#include <string.h>

#define CODE 0x1000
#define FILL                                                                                       \
	{                                                                                          \
		"JVM_FillInStackTrace", CODE + 0x20, 0x100, true                                   \
	}
#define TABLES                                                                                     \
	{                                                                                          \
		"gHotSpotVMStructs", 0x9000, 8, false                                              \
	}

static struct elf_segment segment = { .offset = 0x400, .address = CODE, .file_size = 0x1000 };

/* A name of NULL ends the list. */
static bool find(const struct elf_symbol *symbols, struct cxx_runtime *ret)
{
	struct elf_file file = { .segments = &segment, .n_segments = 1 };
	struct java_fill fill = { 0 };

	memset(ret, 0, sizeof(*ret));
	for (; symbols->name; symbols++)
		java_fill_note(&fill, symbols);
	java_fill_find(&fill, &file, ret);
	cr_assert(cxx_runtime_is_sound(ret));
	return cxx_runtime_throws(ret);
}

Test(java_fill, is_in_hotspot)
{
	const struct elf_symbol symbols[] = { FILL, TABLES, { 0 } };
	struct cxx_runtime r;

	cr_assert(find(symbols, &r));
	cr_expect_eq(r.throws[CXX_FILL].address, CODE + 0x20);
	cr_expect_eq(r.throws[CXX_FILL].offset, 0x420);
	cr_expect_eq(r.throws[CXX_FILL].object, DP_RSI + 1);
	cr_expect_eq(r.throws[CXX_FILL].type, 0);
}

Test(java_fill, is_not_in_others)
{
	const struct elf_symbol other[] = { FILL, { 0 } };
	const struct elf_symbol hidden[] = { TABLES, { 0 } };
	const struct elf_symbol data[] = { TABLES,
					   { "JVM_FillInStackTrace", CODE + 0x20, 8, false },
					   { 0 } };
	const struct elf_symbol outside[] = { TABLES,
					      { "JVM_FillInStackTrace", 0x8000, 8, true },
					      { 0 } };
	struct cxx_runtime r;

	cr_expect_not(find(other, &r));
	cr_expect_not(find(hidden, &r));
	cr_expect_not(find(data, &r));
	cr_expect_not(find(outside, &r));
}
