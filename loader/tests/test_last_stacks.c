// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "last_stacks.h"

struct record {
	struct dp_sample sample;
	__u64 words[16];
};

static struct last_stacks stacks;
static const struct dp_sample *whole;
static size_t size;

static void end(void)
{
	last_stacks_done(&stacks);
}

TestSuite(last_stacks, .fini = end);

/* A sample whose own frames and kernel addresses are numbered from `first` on. */
static struct record record(__u64 first, unsigned int n_own, unsigned int n_same,
			    unsigned int n_kernel)
{
	struct record r = { .sample = { .kind = DP_RECORD_SAMPLE,
					.pid = 42,
					.n_user = (__u16)(n_own + n_same),
					.n_same = (__u16)n_same,
					.n_kernel = (__u16)n_kernel } };

	for (unsigned int i = 0; i < n_own + n_kernel; i++)
		r.words[i] = first + i;
	return r;
}

static size_t size_of(const struct record *r)
{
	return sizeof(r->sample) +
	       ((size_t)r->sample.n_user - r->sample.n_same + r->sample.n_kernel) * sizeof(__u64);
}

static int complete(const struct record *r)
{
	return last_stacks_complete(&stacks, &r->sample, size_of(r), &whole, &size);
}

static void expect_words(const __u64 *words, size_t n)
{
	cr_assert_eq(size, sizeof(*whole) + n * sizeof(*words));
	cr_assert_eq(whole->n_user + whole->n_kernel, n);
	cr_assert_eq(whole->n_same, 0);
	cr_assert_eq(whole->pid, 42);
	cr_assert(memcmp(whole + 1, words, n * sizeof(*words)) == 0);
}

Test(last_stacks, puts_the_frames_of_the_stack_before_behind_the_others)
{
	struct record first = record(10, 4, 0, 1), second = record(20, 1, 3, 2),
		      deeper = record(30, 5, 2, 0), same = record(40, 0, 7, 1);

	cr_assert_eq(complete(&first), 0);
	cr_assert_eq(whole, &first.sample, "nothing is copied that is whole");
	expect_words((__u64[]){ 10, 11, 12, 13, 14 }, 5);
	cr_assert_eq(complete(&second), 0);
	expect_words((__u64[]){ 20, 11, 12, 13, 21, 22 }, 6);
	cr_assert_eq(complete(&deeper), 0);
	expect_words((__u64[]){ 30, 31, 32, 33, 34, 12, 13 }, 7);
	cr_assert_eq(complete(&same), 0);
	expect_words((__u64[]){ 30, 31, 32, 33, 34, 12, 13, 40 }, 8);
}

Test(last_stacks, keeps_the_levels_apart)
{
	struct record first = record(10, 3, 0, 0), other = record(20, 3, 0, 0),
		      next = record(30, 1, 2, 0);

	other.sample.level = DP_UPROBE_LEVELS - 1;
	cr_assert_eq(complete(&first), 0);
	cr_assert_eq(complete(&other), 0);
	cr_assert_eq(complete(&next), 0);
	expect_words((__u64[]){ 30, 11, 12 }, 3);
	next.sample.level = other.sample.level;
	cr_assert_eq(complete(&next), 0);
	expect_words((__u64[]){ 30, 21, 22 }, 3);
}

/* The kernel's side keeps its memory of the frames that were sent, too. */
Test(last_stacks, is_not_changed_by_a_sample_without_frames)
{
	struct record first = record(10, 3, 0, 0), none = record(20, 0, 0, 4),
		      next = record(30, 1, 2, 0);

	cr_assert_eq(complete(&first), 0);
	cr_assert_eq(complete(&none), 0);
	expect_words((__u64[]){ 20, 21, 22, 23 }, 4);
	cr_assert_eq(complete(&next), 0);
	expect_words((__u64[]){ 30, 11, 12 }, 3);
}

Test(last_stacks, refuses_what_cannot_be)
{
	struct record first = record(10, 3, 0, 0), too_many = record(20, 1, 4, 0),
		      no_level = record(30, 1, 0, 0), next = record(40, 1, 2, 0);

	no_level.sample.level = DP_UPROBE_LEVELS;
	cr_assert_eq(complete(&first), 0);
	cr_assert_eq(complete(&too_many), -EBADMSG);
	cr_assert_eq(complete(&no_level), -EBADMSG);
	cr_assert_eq(last_stacks_complete(&stacks, &first.sample, size_of(&first) - 1, &whole,
					  &size),
		     -EBADMSG);
	too_many.sample.n_user = 2;
	cr_assert_eq(complete(&too_many), -EBADMSG, "more of them than there are frames");
	cr_assert_eq(complete(&next), 0);
	expect_words((__u64[]){ 40, 11, 12 }, 3);
}
