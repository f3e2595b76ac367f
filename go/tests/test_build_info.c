// SPDX-License-Identifier: Apache-2.0
/* Go's version in a binary's build information, and nothing where it is damaged. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "go/build_info.h"

#define ADDRESS UINT64_C(0x5ff8)
#define AT 8 /* the first multiple of 16 from there on */

static uint8_t bytes[256];

/* What linkers write, with a version. */
static void put(size_t at, const char *version)
{
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes + at, "\xff Go buildinf:\x08\x02", 16);
	bytes[at + 32] = (uint8_t)strlen(version);
	memcpy(bytes + at + 33, version, strlen(version));
}

static unsigned int minor(size_t size)
{
	/* A copy, so that reading behind it is detected. */
	uint8_t *copy = malloc(size ? size : 1);
	unsigned int ret;

	memcpy(copy, bytes, size);
	ret = build_info_minor(copy, size, ADDRESS);
	free(copy);
	return ret;
}

Test(build_info, tells_the_version)
{
	put(AT, "go1.26.8");
	cr_assert_eq(minor(sizeof(bytes)), 26);
	put(AT + 64, "go1.19");
	cr_assert_eq(minor(sizeof(bytes)), 19);
	put(AT, "devel go1.27-f00d1234 Mon Nov 23 2026");
	cr_assert_eq(minor(sizeof(bytes)), 27);
	put(AT, "go1.24rc1 X:nocoverageredesign");
	cr_assert_eq(minor(sizeof(bytes)), 24);
	/* The file ends with it. */
	put(AT, "go1.22.12");
	cr_assert_eq(minor(AT + 33 + strlen("go1.22.12")), 22);
}

Test(build_info, does_not_guess)
{
	put(AT, "go1.26.8");
	for (size_t size = 0; size < AT + 33 + strlen("go1.26.8"); size++)
		cr_assert_eq(minor(size), 0, "of %zu bytes", size);
	/* At another place; without text; without a version; with an impossible version. */
	put(AT + 1, "go1.26.8");
	cr_assert_eq(minor(sizeof(bytes)), 0);
	put(AT, "go1.26.8");
	bytes[AT + 15] = 0;
	cr_assert_eq(minor(sizeof(bytes)), 0);
	put(AT, "gc 26");
	cr_assert_eq(minor(sizeof(bytes)), 0);
	put(AT, "go1.4294967322");
	cr_assert_eq(minor(sizeof(bytes)), 0);
	put(AT, "go1.26.8");
	bytes[AT + 32] = 0x88;
	cr_assert_eq(minor(sizeof(bytes)), 0);
}
