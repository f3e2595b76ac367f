// SPDX-License-Identifier: Apache-2.0
/* Layouts that JVMs may claim to have. */
#include <criterion/criterion.h>
#include <errno.h>

#include "runtimes/hotspot/code.h"

/* Nothing is there yet. */
static int read_nothing(void *memory, void *ret, size_t size, uint64_t address)
{
	return -EFAULT;
}

static int read_with(int32_t sender_sp, int32_t last_sp)
{
	const struct hotspot_layout layout = { .sender_sp = sender_sp, .last_sp = last_sp };
	struct dp_hotspot code;

	return hotspot_code_read(&layout, read_nothing, NULL, &code);
}

/* As JDK 17's frame_x86.hpp has them, in words: interpreter_frame_method_offset, and ..._bcp_offset. */
Test(hotspot_code, knows_what_a_frame_has)
{
	const struct hotspot_layout layout = { .sender_sp = -1, .last_sp = -1 };
	struct dp_hotspot code;

	cr_assert_eq(hotspot_code_read(&layout, read_nothing, NULL, &code), -EAGAIN);
	cr_expect_eq(code.frame_method, -2 * 8);
	cr_expect_eq(code.frame_bytecode, -7 * 8);
}

Test(hotspot_code, places_in_a_frame_are_near_its_fp)
{
	cr_expect_eq(read_with(-1, -2), -EAGAIN);
	cr_expect_eq(read_with(INT32_MAX, -2), -ENOTSUP);
	cr_expect_eq(read_with(INT32_MIN, -2), -ENOTSUP);
	cr_expect_eq(read_with(-1, INT32_MAX), -ENOTSUP);
	cr_expect_eq(read_with(-1, INT32_MIN), -ENOTSUP);
}
