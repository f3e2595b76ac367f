// SPDX-License-Identifier: Apache-2.0
/* Where functions are left: code as objdump shows it, and code that is none. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tables/function_exits.h"
#include "tables/tests/code.h"

#define START UINT64_C(0x1000)

/* Finds the exits of code, which must be those, at most 8. */
static void expect(const char *hex, const struct function_exit *wanted, size_t n_wanted)
{
	_cleanup_free_ struct function_exit *found = NULL;
	uint8_t bytes[1024];
	size_t n, size = assemble(hex, bytes, sizeof(bytes));

	cr_assert_eq(function_exits_find(bytes, START, size, &found, &n), 0, "%s", hex);
	cr_assert_eq(n, n_wanted, "%s: %zu", hex, n);
	for (size_t i = 0; i < n; i++)
		cr_assert(found[i].at == wanted[i].at && found[i].to == wanted[i].to,
			  "%s: at %#lx to %#lx", hex, found[i].at, found[i].to);
}

#define EXPECT(hex, ...)                                                                           \
	expect(hex, (const struct function_exit[]){ __VA_ARGS__ },                                 \
	       sizeof((const struct function_exit[]){ __VA_ARGS__ }) /                             \
		       sizeof(struct function_exit))

static void expect_none(const char *hex)
{
	expect(hex, NULL, 0);
}

static int find(const char *hex)
{
	_cleanup_free_ struct function_exit *found = NULL;
	uint8_t bytes[1024];
	size_t n;

	return function_exits_find(bytes, START, assemble(hex, bytes, sizeof(bytes)), &found, &n);
}

Test(function_exits, are_returns)
{
	EXPECT("c3", { START, 0 });
	EXPECT("f3 c3", { START, 0 });              /* repz ret */
	EXPECT("55 5d c2 08 00", { START + 2, 0 }); /* push, pop, ret 8 */
	EXPECT("85 ff 74 01 c3 31 c0 c3", { START + 4, 0 }, { START + 7, 0 });
}

Test(function_exits, are_jumps_to_other_code)
{
	EXPECT("e9 fb 0f 00 00", { START, START + 0x1000 });
	EXPECT("90 e9 fa ef ff ff", { START + 1, 0 });  /* to address 0 */
	EXPECT("e9 00 00 00 00", { START, START + 5 }); /* just behind it */
	EXPECT("ff 25 00 10 00 00", { START, 0 });      /* jmp *0x1000(%rip) */
	EXPECT("eb 7f 90 eb fd c3", { START, START + 0x81 }, { START + 5, 0 });
}

Test(function_exits, are_no_jumps_within)
{
	expect_none("eb fe");          /* to itself */
	expect_none("90 eb fd");       /* to the start */
	expect_none("eb 00 90 eb fd"); /* to the next one */
}

Test(function_exits, are_no_jumps_that_may_stay)
{
	expect_none("ff e0");                /* jmp *%rax */
	expect_none("3e ff e0");             /* notrack: to a case of a switch */
	expect_none("ff 24 c5 00 10 00 00"); /* through a table */
	expect_none("e8 00 10 00 00");       /* call */
}

Test(function_exits, may_be_conditional)
{
	_cleanup_free_ struct function_exit *found = NULL;
	uint8_t bytes[1024];
	size_t n, size = assemble("74 7f 90 0f 85 00 10 00 00 74 f5 c3", bytes, sizeof(bytes));

	cr_assert_eq(function_exits_find(bytes, START, size, &found, &n), 0);
	cr_assert_eq(n, 3);
	cr_assert(found[0].may_stay && found[0].to == START + 0x81);       /* je */
	cr_assert(found[1].may_stay && found[1].to == START + 9 + 0x1000); /* jne */
	cr_assert(!found[0].returns && !found[1].returns);
	cr_assert(found[2].returns && !found[2].may_stay && found[2].at == START + 11);
}

/* More than are decoded together. */
Test(function_exits, of_long_code)
{
	_cleanup_free_ struct function_exit *found = NULL;
	static uint8_t bytes[10000];
	size_t n;

	memset(bytes, 0x90, sizeof(bytes));
	bytes[256] = bytes[5000] = bytes[sizeof(bytes) - 1] = 0xc3;
	cr_assert_eq(function_exits_find(bytes, START, sizeof(bytes), &found, &n), 0);
	cr_assert_eq(n, 3);
	cr_assert(found[0].at == START + 256 && found[1].at == START + 5000 &&
		  found[2].at == START + sizeof(bytes) - 1);
}

/* A probe in data would change it. */
Test(function_exits, of_what_is_no_code)
{
	cr_assert_eq(find("06 c3"), -EBADMSG);                   /* no instruction of this mode */
	cr_assert_eq(find("c3 e9 00 00"), -EBADMSG);             /* half a jump */
	cr_assert_eq(find("eb 01 b8 c3 00 00 00 c3"), -EBADMSG); /* into a mov */
	cr_assert_eq(find("74 01 b8 c3 00 00 00 c3"), -EBADMSG);
}

static size_t next(const char *hex, size_t at)
{
	uint8_t bytes[1024];

	return function_next_instruction(bytes, START, assemble(hex, bytes, sizeof(bytes)), at);
}

/* push, mov of 3 bytes, pop, ret; and an invalid one */
Test(function_exits, are_among_instructions)
{
	cr_assert_eq(next("55 48 89 e5 5d c3", 0), 0);
	cr_assert_eq(next("55 48 89 e5 5d c3", 1), 1);
	cr_assert_eq(next("55 48 89 e5 5d c3", 2), 4);
	cr_assert_eq(next("55 48 89 e5 5d c3", 5), 5);
	cr_assert_eq(next("55 48 89 e5", 2), 4, "the end");
	cr_assert_eq(next("55 06 5d c3", 2), 4);
}

Test(function_exits, are_among_any_number_of_instructions)
{
	uint8_t bytes[600];

	memset(bytes, 0x55, sizeof(bytes));
	bytes[598] = 0x48;
	for (size_t i = 0; i < 598; i++)
		cr_assert_eq(function_next_instruction(bytes, START, sizeof(bytes), i), i);
	cr_assert_eq(function_next_instruction(bytes, START, sizeof(bytes), 599), 600);
}
