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

/* A heap at 0x10000 with its map at 0x20000: a piece of code of two segments, then one called `name`. */
enum {
	VARIABLES = 0x8,
	STUBS = 0x200,
	NAMES = 0x2f000,
	SECOND = 0x10000 + 2 * 64 + 16,
	SIZE = 0x300
};

static uint8_t memory[0x30000];

static void put(uint64_t address, uint64_t value)
{
	memcpy(memory + address, &value, sizeof(value));
}

static int read_memory(void *unused, void *ret, size_t size, uint64_t address)
{
	if (address >= sizeof(memory) || size > sizeof(memory) - address)
		return -EFAULT;
	memcpy(ret, memory + address, size);
	return 0;
}

static struct hotspot_layout make_heap(const char *name)
{
	struct hotspot_layout layout = layout_with(-1, -2);

	layout.at[HOTSPOT_HEAP] = VARIABLES;
	layout.at[HOTSPOT_INTERPRETER] = VARIABLES + 8;
	layout.at[HOTSPOT_CALL_STUB_RETURN] = VARIABLES + 16;
	layout.at[HOTSPOT_SPACE_END] = 8;
	layout.at[HOTSPOT_HEAP_BITS] = 16;
	layout.at[HOTSPOT_HEAP_MAP] = 32;
	layout.at[HOTSPOT_STUBS_SIZE] = 8;
	layout.at[HOTSPOT_BLOB_NAME] = 8;
	layout.at[HOTSPOT_BLOB_SIZE] = 16;
	layout.block_size = 16;
	layout.has_continuations = true;
	memset(memory, 0, sizeof(memory));
	put(VARIABLES, HEAP);
	put(VARIABLES + 8, STUBS);
	put(VARIABLES + 16, 0x4000);
	put(HEAP, 0x10000);
	put(HEAP + 8, 0x18000);
	put(HEAP + 16, 6);
	put(HEAP + 32, 0x20000);
	memset(memory + 0x20000, 255, (0x18000 - 0x10000) / 64);
	memcpy(memory + 0x20000, (uint8_t[]){ 0, 1, 0, 1 }, 4);
	put(0x10000 + 16 + 8, NAMES);
	strcpy((char *)memory + NAMES, "StubRoutines (compiler stubs), and more");
	put(SECOND + 8, NAMES + 0x100);
	put(SECOND + 16, SIZE);
	strcpy((char *)memory + NAMES + 0x100, name);
	return layout;
}

static struct dp_hotspot read_heap(const struct hotspot_layout *layout)
{
	struct dp_hotspot code;

	cr_assert_eq(hotspot_code_read(layout, read_memory, NULL, &code), 0);
	return code;
}

Test(hotspot_code, finds_the_stubs_of_continuations)
{
	static const char *const names[] = { "StubRoutines (continuationstubs)",
					     "StubRoutines (continuation stubs)" };

	for (size_t i = 0; i < 2; i++) {
		struct hotspot_layout layout = make_heap(names[i]);
		struct dp_hotspot code = read_heap(&layout);

		cr_expect_eq(code.thaw_start, SECOND);
		cr_expect_eq(code.thaw_end, SECOND + SIZE);
		layout.has_continuations = false;
		cr_expect_eq(read_heap(&layout).thaw_end, 0);
	}
}

Test(hotspot_code, a_jvm_may_have_no_such_stubs)
{
	struct hotspot_layout layout = make_heap("StubRoutines (final stubs), and more");

	cr_expect_eq(read_heap(&layout).thaw_end, 0);
	/* Code behind code, none of which has a name. */
	memset(memory + 0x20000, 0, (0x18000 - 0x10000) / 64);
	cr_expect_eq(read_heap(&layout).thaw_end, 0);
}
