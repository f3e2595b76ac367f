// SPDX-License-Identifier: Apache-2.0
/* Which calls are on a stack, by what the kernel knows and what the frames tell. */
#include "samples/span_list.h"

#include <criterion/criterion.h>
#include <string.h>

#include "process/snapshot.h"
#include "report/sample.h"
#include "samples/probed_code.h"

#define INSIDE 0x40110
#define MAYBE 0x40300
#define OUTSIDE 0x40400

static struct binary binary = { .id = { .device = 8, .inode = 12 } };
static struct mapping mappings[] = {
	{ .start = 0x40000, .end = 0x41000, .offset = 0x1000, .binary = &binary },
};
static struct snapshot snapshot = { .n_mappings = 1, .mappings = mappings };
static struct code_extent maybe[] = { { 0x1300, 16 } };
static struct probed_code code = { .device = 8,
				   .inode = 12,
				   .n = 1,
				   .starts = { 0x1100 },
				   .places.of[0] = { .size = 32 },
				   .maybe = maybe,
				   .n_maybe = 1 };
static struct {
	struct dp_spans head;
	__u64 begins[16];
} raw;
static struct span_list list;

static void take(const struct dp_spans *sent, uint64_t address, enum dp_outcome outcome,
		 const struct snapshot *mapped)
{
	const struct frame frame = { .address = address, .method = DP_METHOD_LEAF };
	const struct sample sample = { .user = &frame, .n_user = 1, .outcome = outcome };

	span_list_take(&code, sent, mapped, &sample, &list);
}

/* The kernel has sent these calls. */
static void take_calls(uint64_t address, size_t n, uint64_t first, uint64_t second)
{
	raw.head = (struct dp_spans){ .n = (__u32)n, .root = 99 };
	raw.begins[0] = first;
	raw.begins[1] = second;
	take(&raw.head, address, DP_COMPLETE, &snapshot);
	cr_assert_eq(list.root, 99);
}

static void expect(size_t n, uint64_t first, uint64_t second)
{
	const uint64_t wanted[] = { first, second };

	cr_assert_eq(list.n, n, "%zu", list.n);
	for (size_t i = 0; i < n && i < 2; i++)
		cr_assert_eq(list.begins[i], wanted[i], "%zu", i);
}

Test(span_list, has_what_the_kernel_knows)
{
	take_calls(INSIDE, 1, 5, 0);
	expect(1, 5, 0);
	take_calls(INSIDE, 2, 7, 5);
	expect(2, 7, 5);
	take_calls(OUTSIDE, 0, 0, 0);
	expect(0, 0, 0);
}

Test(span_list, has_calls_that_the_kernel_does_not_know)
{
	take(NULL, INSIDE, DP_COMPLETE, &snapshot);
	expect(1, 0, 0);
	take(NULL, MAYBE, DP_COMPLETE, &snapshot);
	expect(1, 0, 0);
	take_calls(INSIDE, 0, 0, 0);
	expect(1, 0, 0);
	take_calls(MAYBE, 1, 5, 0);
	expect(2, 0, 5);
	take_calls(MAYBE, 2, 0, 5);
	expect(2, 0, 5);
}

/* User space has finished the walk. */
Test(span_list, lacks_calls_that_no_frame_has)
{
	take(NULL, OUTSIDE, DP_COMPLETE, &snapshot);
	expect(0, 0, 0);
	take_calls(OUTSIDE, 1, 0, 0);
	expect(0, 0, 0);
	take(NULL, OUTSIDE, DP_NO_RULE, &snapshot);
	expect(1, 0, 0);
}

/* What the kernel took for the whole stack is none. */
Test(span_list, ends_where_user_space_does_not_believe_the_walk)
{
	raw.head = (struct dp_spans){ .n = 1, .root = 99 };
	raw.begins[0] = 5;
	take(&raw.head, INSIDE, DP_NO_CALL, &snapshot);
	expect(2, 5, 0);
	cr_assert_eq(list.root, 0);
	raw.head = (struct dp_spans){ .n = 2 }; /* it has said so itself */
	raw.begins[1] = 0;
	take(&raw.head, INSIDE, DP_NO_RULE, &snapshot);
	expect(2, 5, 0);
}

Test(span_list, says_nothing_of_what_is_not_there_without_mappings)
{
	raw.head = (struct dp_spans){ .n = 1, .root = 99 };
	raw.begins[0] = 5;
	take(&raw.head, OUTSIDE, DP_COMPLETE, NULL);
	expect(1, 5, 0);
	cr_assert_eq(list.root, 0);
	take(NULL, INSIDE, DP_COMPLETE, NULL);
	expect(0, 0, 0);
}

Test(span_list, has_room)
{
	for (size_t i = 0; i < 16; i++)
		raw.begins[i] = 100 - i;
	raw.head = (struct dp_spans){ .n = 16, .root = 99 };
	take(&raw.head, MAYBE, DP_COMPLETE, &snapshot);
	cr_assert_eq(list.n, DP_MAX_SPANS + 2);
	cr_assert(list.begins[0] == 0 && list.begins[1] == 100);
	cr_assert_eq(list.begins[DP_MAX_SPANS + 1], 100 - DP_MAX_SPANS);
}
