// SPDX-License-Identifier: Apache-2.0
/* Records about threads, without a kernel. */
#include "samples/thread_reader.h"

#include <criterion/criterion.h>
#include <errno.h>

/* Three threads, with this many kernel frames each. */
static const __u16 n_kernel[] = { 2, 0, 1 };
static _Alignas(8) char bytes[3 * sizeof(struct dp_thread) + 3 * sizeof(__u64)];
static unsigned int n_seen;

static void begin(void)
{
	char *to = bytes;

	for (__u32 i = 0; i < 3; i++) {
		struct dp_thread *t = (void *)to;
		__u64 *kernel = (__u64 *)(t + 1);

		t->tid = 100 + i;
		t->n_kernel = n_kernel[i];
		for (__u32 k = 0; k < n_kernel[i]; k++)
			kernel[k] = 0xffffffff81000000 + 16 * i + k;
		to += sizeof(*t) + n_kernel[i] * sizeof(*kernel);
	}
	cr_assert_eq(to, bytes + sizeof(bytes));
}

TestSuite(thread_reader, .init = begin);

static int on_thread(void *arg, const struct dp_thread *t)
{
	const __u64 *kernel = (const __u64 *)(t + 1);
	const __u32 *stop_at = arg;

	cr_assert(t->tid == 100 + n_seen && t->n_kernel == n_kernel[n_seen]);
	for (__u32 k = 0; k < t->n_kernel; k++)
		cr_assert_eq(kernel[k], 0xffffffff81000000 + 16 * n_seen + k);
	n_seen++;
	return stop_at && t->tid == *stop_at ? -ENOMEM : 0;
}

Test(thread_reader, tells_of_each_thread_with_its_kernel_stack)
{
	cr_assert_eq(thread_records_read(bytes, sizeof(bytes), on_thread, NULL), 0);
	cr_assert_eq(n_seen, 3);
	cr_assert_eq(thread_records_read(bytes, 0, on_thread, NULL), 0);
	cr_assert_eq(n_seen, 3);
}

Test(thread_reader, stops_when_it_is_told)
{
	__u32 second = 101;

	cr_assert_eq(thread_records_read(bytes, sizeof(bytes), on_thread, &second), -ENOMEM);
	cr_assert_eq(n_seen, 2);
}

/* Wherever a record is truncated, nothing is read behind its end. */
Test(thread_reader, refuses_a_record_that_is_not_whole)
{
	size_t first = sizeof(struct dp_thread) + 2 * sizeof(__u64);

	for (size_t size = 1; size < first; size++) {
		cr_assert_eq(thread_records_read(bytes, size, on_thread, NULL), -EBADMSG);
		cr_assert_eq(n_seen, 0, "of %zu bytes", size);
	}
	cr_assert_eq(thread_records_read(bytes, sizeof(bytes) - 1, on_thread, NULL), -EBADMSG);
	cr_assert_eq(n_seen, 2);
}
