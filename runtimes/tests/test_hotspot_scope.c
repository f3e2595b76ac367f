// SPDX-License-Identifier: Apache-2.0
/* Compressed numbers and lines, and scopes, as a JVM may claim to have them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "runtimes/hotspot/scope.h"

#define SIZE 512

static uint8_t bytes[SIZE];

static int read_bytes(void *memory, void *ret, size_t size, uint64_t address)
{
	if (address >= SIZE || size > SIZE - address)
		return -EFAULT;
	memcpy(ret, bytes + address, size);
	return 0;
}

static int number(uint32_t excluded, const char *text, size_t size, uint32_t *ret)
{
	struct hotspot_stream s = { .read = read_bytes, .end = size, .excluded = excluded };

	memcpy(bytes, text, size);
	return hotspot_stream_int(&s, ret);
}

Test(hotspot_scope, numbers_have_up_to_five_bytes)
{
	uint32_t n;

	cr_assert(number(0, "\xbf", 1, &n) == 0 && n == 191);
	cr_assert(number(0, "\xc0\x01", 2, &n) == 0 && n == 192 + 64);
	cr_assert(number(1, "\x01", 1, &n) == 0 && n == 0);
	cr_assert_eq(number(1, "\0", 1, &n), -ESTALE);
	cr_assert_eq(number(0, "\xff", 1, &n), -ESTALE);
	cr_assert_eq(number(0, "\xff\xff\xff\xff\xff", 5, &n), 0);
}

Test(hotspot_scope, lines_are_those_of_a_method)
{
	struct hotspot_line lines[HOTSPOT_MAX_LINES];
	struct hotspot_stream s = { .read = read_bytes, .end = SIZE };
	size_t n;

	memcpy(bytes, "\xff\0\x14\x19\0", 5); /* bci 0 line 10; bci 3 line 11 */
	cr_assert_eq(hotspot_lines_read(&s, 4, lines, &n), 0);
	cr_assert(n == 2 && lines[0].bci == 0 && lines[0].line == 10);
	cr_assert(lines[1].bci == 3 && lines[1].line == 11);
	s.at = 0;
	cr_assert_eq(hotspot_lines_read(&s, 3, lines, &n), -ESTALE);
	memset(bytes, 1, SIZE); /* without an end */
	s.at = 0;
	cr_assert_eq(hotspot_lines_read(&s, 100, lines, &n), -ESTALE);
}

/* An nmethod at 0 whose sections follow each other. */
enum { METADATA = 64, SCOPES = 96, DESCS = 128, END = DESCS + 4 * 16 };

static struct hotspot_layout layout_of(void)
{
	struct hotspot_layout l = { .desc_size = 16 };

	for (size_t i = 0; i < HOTSPOT_N_MEMBERS; i++)
		l.at[i] = HOTSPOT_MISSING;
	l.at[HOTSPOT_COMPILED_METHOD] = 0;
	l.at[HOTSPOT_COMPILED_SCOPES] = 8;
	l.at[HOTSPOT_NMETHOD_METADATA] = 16;
	l.at[HOTSPOT_NMETHOD_DESCS] = 20;
	l.at[HOTSPOT_NMETHOD_DEPENDENCIES] = 24;
	l.at[HOTSPOT_DESC_PC] = 0;
	l.at[HOTSPOT_DESC_SCOPE] = 4;
	return l;
}

static void put32(size_t at, uint32_t value)
{
	memcpy(bytes + at, &value, sizeof(value));
}

static void put64(size_t at, uint64_t value)
{
	memcpy(bytes + at, &value, sizeof(value));
}

/* Method 100 at 10 to 20 has method 200 inlined, which has an operand there. */
static void put_nmethod(void)
{
	const int32_t descs[4][2] = { { -1, 0 }, { 10, 1 }, { 20, 7 }, { INT32_MAX, 0 } };

	memset(bytes, 0, SIZE);
	put64(0, 100);
	put64(8, SCOPES);
	put32(16, METADATA);
	put32(20, DESCS);
	put32(24, END);
	put64(METADATA, 100);
	put64(METADATA + 8, 200);
	/* Sender, method, bci + 1, and what leads to values; the first byte is of no scope. */
	memcpy(bytes + SCOPES, "\0\0\1\6\0\0\0\1\2\0\0\3\0", 13);
	for (size_t i = 0; i < 4; i++) {
		put32(DESCS + i * 16, (uint32_t)descs[i][0]);
		put32(DESCS + i * 16 + 4, (uint32_t)descs[i][1]);
	}
}

static int scopes(uint64_t pc, bool is_leaf, struct hotspot_scope *ret, size_t *ret_n)
{
	const struct hotspot_layout l = layout_of();

	return hotspot_scopes_read(&l, read_bytes, NULL, 0, pc, is_leaf, ret, ret_n);
}

Test(hotspot_scope, inlined_methods_are_in_front_of_their_callers)
{
	struct hotspot_scope s[HOTSPOT_MAX_SCOPES];
	size_t n;

	put_nmethod();
	cr_assert_eq(scopes(20, false, s, &n), 0);
	cr_assert(n == 2 && s[0].method == 200 && s[0].bci == -1);
	cr_assert(s[1].method == 100 && s[1].bci == 5);
	cr_assert(scopes(10, false, s, &n) == 0 && n == 1);
	/* Only the innermost frame may be between two. */
	cr_assert_eq(scopes(15, false, s, &n), -ENOENT);
	cr_assert(scopes(15, true, s, &n) == 0 && n == 2);
	cr_assert(scopes(9, true, s, &n) == 0 && n == 1);
	cr_assert_eq(scopes(20, true, s, &n), -ENOENT);
}

/* A safepoint says where values are, unlike what -XX:+DebugNonSafepoints adds. */
Test(hotspot_scope, the_next_safepoint_is_only_near)
{
	struct hotspot_scope s[HOTSPOT_MAX_SCOPES];
	size_t n;

	put_nmethod();
	cr_assert(scopes(15, true, s, &n) == 0 && s[0].is_near && !s[1].is_near);
	cr_assert(scopes(20, false, s, &n) == 0 && !s[0].is_near);
	cr_assert(scopes(9, true, s, &n) == 0 && !s[0].is_near);
	bytes[SCOPES + 11] = 0;
	cr_assert(scopes(15, true, s, &n) == 0 && !s[0].is_near);
	/* Its values would be behind the end. */
	memcpy(bytes + DESCS - 11, bytes + SCOPES, 11);
	put64(8, DESCS - 11);
	cr_assert_eq(scopes(15, true, s, &n), -ESTALE);
}

Test(hotspot_scope, jdk_8_has_offsets_of_scopes)
{
	struct hotspot_layout l = layout_of();
	struct hotspot_scope s[HOTSPOT_MAX_SCOPES];
	size_t n;

	put_nmethod();
	put64(8, 0);
	put32(28, SCOPES);
	l.at[HOTSPOT_COMPILED_SCOPES] = HOTSPOT_MISSING;
	cr_assert_eq(hotspot_scopes_read(&l, read_bytes, NULL, 0, 20, false, s, &n), -ENOTSUP);
	l.at[HOTSPOT_NMETHOD_SCOPES] = 28;
	cr_assert_eq(hotspot_scopes_read(&l, read_bytes, NULL, 0, 20, false, s, &n), 0);
	cr_assert(n == 2 && s[0].method == 200);
	cr_assert(s[1].method == 100 && s[1].bci == 5);
}

Test(hotspot_scope, what_makes_no_sense_ends)
{
	struct hotspot_scope s[HOTSPOT_MAX_SCOPES];
	size_t n;

	put_nmethod();
	bytes[SCOPES + 7] = 7; /* its own sender */
	cr_assert_eq(scopes(20, false, s, &n), -ESTALE);
	put_nmethod();
	bytes[SCOPES + 8] = 9; /* no such method */
	cr_assert_eq(scopes(20, false, s, &n), -ESTALE);
	put_nmethod();
	put64(0, 300); /* the root is another one */
	cr_assert_eq(scopes(20, false, s, &n), -ESTALE);
	put_nmethod();
	put64(8, UINT64_C(1) << 60);
	cr_assert_eq(scopes(20, false, s, &n), -ESTALE);
	put_nmethod();
	put32(24, UINT32_MAX);
	cr_assert_eq(scopes(20, false, s, &n), -ESTALE);
}
