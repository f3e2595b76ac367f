// SPDX-License-Identifier: Apache-2.0
/* Layouts that JVMs may claim to have. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "runtimes/hotspot/code.h"

/* Nothing is there yet. */
static int read_nothing(void *memory, void *ret, size_t size, uint64_t address)
{
	return -EFAULT;
}

static struct hotspot_layout layout_with(int32_t sender_sp, int32_t last_sp)
{
	struct hotspot_layout layout = { .sender_sp = sender_sp, .last_sp = last_sp };

	layout.at[HOTSPOT_HEAP] = HOTSPOT_MISSING;
	return layout;
}

static int read_with(int32_t sender_sp, int32_t last_sp)
{
	const struct hotspot_layout layout = layout_with(sender_sp, last_sp);
	struct dp_hotspot code;

	return hotspot_code_read(&layout, read_nothing, NULL, &code);
}

/* As JDK 17's frame_x86.hpp has them, in words: interpreter_frame_method_offset, and ..._bcp_offset. */
Test(hotspot_code, knows_what_a_frame_has)
{
	struct hotspot_layout layout = layout_with(-1, -1);
	struct dp_hotspot code;

	cr_assert_eq(hotspot_code_read(&layout, read_nothing, NULL, &code), -EAGAIN);
	cr_expect_eq(code.frame_method, -2 * 8);
	cr_expect_eq(code.frame_bytecode, -7 * 8);
	/* As JDK 8 has them, which has one heap of code. */
	layout.at[HOTSPOT_HEAP] = 0;
	cr_assert_eq(hotspot_code_read(&layout, read_nothing, NULL, &code), -EAGAIN);
	cr_expect_eq(code.frame_bytecode, -6 * 8);
}

#define HEAP 0x100

/* JDK 8's variable leads to the heap, at HEAP. Of 32 KB in segments of 64 bytes. */
static int read_one_heap(void *memory, void *ret, size_t size, uint64_t address)
{
	uint64_t value = address == 0         ? HEAP :
			 address == HEAP      ? 0x10000 :
			 address == HEAP + 8  ? 0x18000 :
			 address == HEAP + 16 ? 6 :
			 address == HEAP + 32 ? 0x20000 :
						0;

	memcpy(ret, &value, size);
	return 0;
}

Test(hotspot_code, jdk_8_has_one_heap)
{
	struct hotspot_layout layout = layout_with(-1, -2);
	struct dp_hotspot code;

	layout.at[HOTSPOT_HEAP] = 0;
	layout.at[HOTSPOT_SPACE_END] = 8;
	layout.at[HOTSPOT_HEAP_BITS] = 16;
	layout.at[HOTSPOT_HEAP_MAP] = 32;
	layout.at[HOTSPOT_INTERPRETER] = 8;
	cr_assert_eq(hotspot_code_read(&layout, read_one_heap, NULL, &code), -EAGAIN);
	cr_expect(hotspot_code_has(&code, 0x10000) && hotspot_code_has(&code, 0x17fff));
	cr_expect(hotspot_code_has(&code, 0x20000));
	cr_expect_not(hotspot_code_has(&code, 0x18000));
	cr_expect_eq(code.segment_bits, 6);
}

Test(hotspot_code, places_in_a_frame_are_near_its_fp)
{
	cr_expect_eq(read_with(-1, -2), -EAGAIN);
	cr_expect_eq(read_with(INT32_MAX, -2), -ENOTSUP);
	cr_expect_eq(read_with(INT32_MIN, -2), -ENOTSUP);
	cr_expect_eq(read_with(-1, INT32_MAX), -ENOTSUP);
	cr_expect_eq(read_with(-1, INT32_MIN), -ENOTSUP);
}
