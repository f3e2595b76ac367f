// SPDX-License-Identifier: Apache-2.0
/* Frames and names that a sample shares with an earlier one of its ring are restored. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/last_stacks.h"

struct record {
	struct dp_names names;
	struct dp_sample sample;
	__u64 words[16];
};

static struct last_stacks stacks;
static const struct named_sample *whole;
static size_t size;

static void end(void)
{
	last_stacks_done(&stacks);
}

TestSuite(last_stacks, .fini = end);

/* Makes a sample whose own frames and kernel addresses are numbered from `first`. */
static struct record record(__u64 first, unsigned int n_own, unsigned int n_same,
			    unsigned int n_kernel)
{
	size_t whole_size = sizeof(struct dp_sample) + (n_own + n_kernel) * sizeof(__u64);
	struct record r = { .sample = { .part = { DP_RECORD_SAMPLE, (__u16)whole_size },
					.pid = 42,
					.n_user = (__u16)(n_own + n_same),
					.n_same = (__u16)n_same,
					.n_kernel = (__u8)n_kernel } };

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

static int complete_named(struct record *r, const char *comm, const char *thread_name)
{
	r->names = (struct dp_names){ .part = { DP_RECORD_NAMES, sizeof(r->names) } };
	memcpy(r->names.comm, comm, strlen(comm));
	memcpy(r->names.thread_name, thread_name, strlen(thread_name));
	return last_stacks_complete(&stacks, r, sizeof(r->names) + size_of(r), &whole, &size);
}

static void expect_names(const char *comm, const char *thread_name)
{
	cr_assert_eq(whole->names.part.type, DP_RECORD_NAMES);
	cr_assert_eq(whole->names.part.size, sizeof(whole->names));
	cr_assert_eq(strncmp(whole->names.comm, comm, sizeof(whole->names.comm)), 0);
	cr_assert_eq(strncmp(whole->names.thread_name, thread_name,
			     sizeof(whole->names.thread_name)),
		     0);
}

static void expect_words(const __u64 *words, size_t n)
{
	cr_assert_eq(size, sizeof(*whole) + n * sizeof(*words));
	cr_assert_eq(whole->sample.part.type, DP_RECORD_SAMPLE);
	cr_assert_eq(whole->sample.part.size, size - sizeof(whole->names));
	cr_assert_eq(whole->sample.n_user + whole->sample.n_kernel, n);
	cr_assert_eq(whole->sample.n_same, 0);
	cr_assert_eq(whole->sample.pid, 42);
	cr_assert(memcmp(whole->frames, words, n * sizeof(*words)) == 0);
}

Test(last_stacks, puts_the_frames_of_the_stack_before_behind_the_others)
{
	struct record first = record(10, 4, 0, 1), second = record(20, 1, 3, 2),
		      deeper = record(30, 5, 2, 0), same = record(40, 0, 7, 1);

	cr_assert_eq(complete_named(&first, "a", "b"), 0);
	cr_assert_eq((const void *)whole, &first, "nothing is copied that is whole");
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

/* A runtime's frames follow labels, or the frames. */
Test(last_stacks, leaves_a_runtimes_frames_behind_labels)
{
	struct record first = record(10, 3, 0, 1), second = record(20, 1, 2, 1);
	const __u64 *at = &second.words[2];
	size_t own = size_of(&second);

	second.sample.flags = DP_SAMPLE_RUNTIME;
	second.words[2] = DP_RECORD_RUNTIME | 32 << 16 | 1ULL << 48;
	second.words[3] = 1;
	second.words[5] = 3;
	cr_assert_eq(complete(&first), 0);
	cr_assert_eq(last_stacks_complete(&stacks, &second.sample, own + 32, &whole, &size), 0);
	cr_assert_eq(size, sizeof(*whole) + 4 * sizeof(__u64) + 32);
	cr_assert(memcmp(sample_runtime(whole), at, 32) == 0);
	/* More frames than the part has. */
	second.words[2] += 1ULL << 48;
	cr_assert_eq(last_stacks_complete(&stacks, &second.sample, own + 32, &whole, &size),
		     -EBADMSG);
	/* None. */
	cr_assert_eq(last_stacks_complete(&stacks, &second.sample, own, &whole, &size), -EBADMSG);
	second.sample.flags = 0;
	cr_assert_eq(last_stacks_complete(&stacks, &second.sample, own, &whole, &size), 0);
	cr_assert_null(sample_runtime(whole));
	second.sample.flags = DP_SAMPLE_RUNTIME | DP_SAMPLE_LABELS;
	second.words[2] = DP_RECORD_LABELS | 16 << 16;
	second.words[4] = DP_RECORD_RUNTIME | 8 << 16;
	cr_assert_eq(last_stacks_complete(&stacks, &second.sample, own + 24, &whole, &size), 0);
	cr_assert(memcmp(sample_labels(whole), at, 16) == 0);
	cr_assert(memcmp(sample_runtime(whole), at + 2, 8) == 0);
}

/* Labels follow the sample's own frames, and must follow all frames in the completed sample. */
Test(last_stacks, leaves_labels_behind_the_frames)
{
	struct record first = record(10, 3, 0, 1), second = record(20, 1, 2, 1);
	const struct dp_labels *labels;

	second.sample.flags = DP_SAMPLE_LABELS;
	labels = (const void *)&second.words[2];
	second.words[2] = DP_RECORD_LABELS | 16 << 16;
	second.words[3] = 0x31610101;
	cr_assert_eq(complete(&first), 0);
	cr_assert_eq(last_stacks_complete(&stacks, &second.sample, size_of(&second) + 16, &whole,
					  &size),
		     0);
	cr_assert_eq(size, sizeof(*whole) + 4 * sizeof(__u64) + 16);
	cr_assert(memcmp(whole->frames, (__u64[]){ 20, 11, 12, 21 }, 32) == 0);
	cr_assert(memcmp(whole->frames + 4, labels, 16) == 0);
	/* Too few labels. */
	for (size_t some = 0; some < 16; some++)
		cr_assert_eq(last_stacks_complete(&stacks, &second.sample, size_of(&second) + some,
						  &whole, &size),
			     -EBADMSG);
}

/* The kernel, too, keeps its memory of the frames it sent. */
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

Test(last_stacks, has_empty_names_before_the_first_ones)
{
	struct record first = record(10, 2, 0, 1), none = record(20, 0, 0, 0);

	cr_assert_eq(complete(&none), 0);
	expect_names("", "");
	cr_assert_eq(complete(&first), 0);
	expect_words((__u64[]){ 10, 11, 12 }, 3);
	expect_names("", "");
}

/* Also for samples without frames, and with the longest names, which have no terminating zero. */
Test(last_stacks, keeps_names_until_there_are_others)
{
	struct record first = record(10, 3, 0, 0), second = record(20, 1, 2, 1),
		      none = record(30, 0, 0, 2), third = record(40, 1, 2, 0);

	cr_assert_eq(complete_named(&first, "my prog", "sixteen letters!"), 0);
	expect_names("my prog", "sixteen letters!");
	cr_assert_eq(complete(&second), 0);
	expect_words((__u64[]){ 20, 11, 12, 21 }, 4);
	expect_names("my prog", "sixteen letters!");
	cr_assert_eq(complete_named(&none, "my prog", "worker"), 0);
	expect_words((__u64[]){ 30, 31 }, 2);
	expect_names("my prog", "worker");
	cr_assert_eq(complete(&third), 0);
	expect_words((__u64[]){ 40, 11, 12 }, 3);
	expect_names("my prog", "worker");
	cr_assert_eq(complete(&none), 0);
	expect_names("my prog", "worker");
	cr_assert_eq(complete_named(&second, "other", "other"), 0);
	expect_words((__u64[]){ 20, 11, 12, 21 }, 4);
	expect_names("other", "other");
}

Test(last_stacks, keeps_the_names_of_rings_and_levels_apart)
{
	struct record first = record(10, 1, 0, 0), other = record(20, 1, 0, 0);
	struct last_stacks next_ring = { 0 };

	other.sample.level = DP_UPROBE_LEVELS - 1;
	cr_assert_eq(complete_named(&first, "a", "first"), 0);
	cr_assert_eq(complete(&other), 0);
	expect_names("", "");
	cr_assert_eq(complete_named(&other, "a", "other"), 0);
	cr_assert_eq(complete(&first), 0);
	expect_names("a", "first");
	cr_assert_eq(complete(&other), 0);
	expect_names("a", "other");
	cr_assert_eq(
		last_stacks_complete(&next_ring, &first.sample, size_of(&first), &whole, &size), 0);
	expect_names("", "");
	last_stacks_done(&next_ring);
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
	too_many.sample.part.size = sizeof(too_many.sample) + sizeof(__u64);
	cr_assert_eq(complete(&too_many), -EBADMSG, "more of them than there are frames");
	cr_assert_eq(complete(&next), 0);
	expect_words((__u64[]){ 40, 11, 12 }, 3);
}

/* For every length that is too short: nothing behind it may be read or remembered. */
Test(last_stacks, refuses_names_without_a_whole_sample)
{
	struct record first = record(10, 2, 0, 0), next = record(20, 1, 1, 1);
	size_t needed = sizeof(next.names) + size_of(&next);

	cr_assert_eq(complete_named(&first, "my prog", "worker"), 0);
	next.names = (struct dp_names){ .part = { DP_RECORD_NAMES, sizeof(next.names) },
					.comm = "other" };
	for (size_t n = 0; n < needed; n++) {
		char *bytes = malloc(n);

		memcpy(bytes, &next, n);
		cr_assert_eq(last_stacks_complete(&stacks, bytes, n, &whole, &size), -EBADMSG);
		free(bytes);
	}
	next.sample.part.type = DP_RECORD_CHUNK;
	cr_assert_eq(last_stacks_complete(&stacks, &next, needed, &whole, &size), -EBADMSG);
	next.sample.part.type = DP_RECORD_NAMES;
	cr_assert_eq(last_stacks_complete(&stacks, &next, needed, &whole, &size), -EBADMSG);
	next.sample.part.type = DP_RECORD_SAMPLE;
	cr_assert_eq(complete(&next), 0);
	expect_words((__u64[]){ 20, 11, 21 }, 3);
	expect_names("my prog", "worker");
}

/* Otherwise a sample would get frames of another stack. */
Test(last_stacks, knows_no_stack_after_one_is_missing)
{
	struct record first = record(10, 3, 0, 0), next = record(20, 1, 2, 0),
		      other = record(30, 2, 0, 0);

	cr_assert_eq(complete_named(&first, "my prog", "worker"), 0);
	last_stacks_forget(&stacks);
	cr_assert_eq(complete(&next), -EBADMSG);
	cr_assert_eq(complete(&other), 0);
	expect_words((__u64[]){ 30, 31 }, 2);
	expect_names("", "");
}
