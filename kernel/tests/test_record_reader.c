// SPDX-License-Identifier: Apache-2.0
/*
 * Records as other versions of the BPF programs would send them: new parts, longer and shorter
 * ones.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "kernel/record_reader.h"

#define CPU 3

static struct record_reader reader;

/* The record under construction. */
static __u64 words[64];
static size_t size;

/* What was read: the types, and the last part. */
static unsigned int types[16];
static size_t n_read, last_size;
static __u64 last[64];
static int result;

static void end(void)
{
	record_reader_done(&reader);
}

TestSuite(record_reader, .fini = end);

static int take(void *arg, unsigned int cpu, const void *part, size_t part_size)
{
	cr_assert(arg == &reader && cpu == CPU && n_read < 16 && part_size <= sizeof(last));
	types[n_read++] = ((const struct dp_part *)part)->type;
	memcpy(last, part, part_size);
	last_size = part_size;
	return result;
}

/* Adds a part to the record: a head, `more` unknown bytes, and words. */
static void *put(unsigned int type, const void *head, size_t head_size, size_t more, size_t n)
{
	void *part = (char *)words + size;
	const struct dp_part own = { (__u16)type, (__u16)(head_size + more + n * sizeof(__u64)) };

	memcpy(part, head, head_size);
	memset((char *)part + head_size, 0xee, more);
	memcpy(part, &own, sizeof(own));
	for (__u64 i = 0, word; i < n; i++) {
		word = 10 + i;
		memcpy((char *)part + head_size + more + i * sizeof(word), &word, sizeof(word));
	}
	size += own.size;
	return part;
}

static void put_names(size_t more)
{
	put(DP_RECORD_NAMES, &(struct dp_names){ .comm = "comm" }, sizeof(struct dp_names), more,
	    0);
}

/* A sample with two user frames and one kernel address. */
static struct dp_sample *put_sample(size_t more)
{
	const struct dp_sample sample = { .pid = 42, .n_user = 2, .n_kernel = 1 };

	return put(DP_RECORD_SAMPLE, &sample, sizeof(sample), more, 3);
}

static struct dp_part *put_unknown(void)
{
	return put(4711, &(__u64){ 0 }, sizeof(__u64), 8, 1);
}

static int read_record(void)
{
	int err = record_reader_read(&reader, words, size, CPU, take, &reader);

	size = 0;
	return err;
}

static void expect_sample(void)
{
	const struct named_sample *s = (const void *)last;

	cr_assert(types[n_read - 1] == DP_RECORD_NAMES && s->sample.part.type == DP_RECORD_SAMPLE);
	cr_assert_str_eq(s->names.comm, "comm");
	cr_assert(s->sample.pid == 42 && s->sample.n_user == 2 && s->sample.n_kernel == 1);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(s->frames[i], 10 + i);
}

/* Labels follow the frames, wherever those were. */
static void expect_labels(void)
{
	const struct named_sample *s = (const void *)last;
	const struct dp_labels *labels = (const void *)(s->frames + 3);

	cr_assert_eq(labels->n, 1);
	cr_assert_eq(s->frames[4], 10);
}

Test(record_reader, reads_longer_parts)
{
	put_names(0);
	put_sample(0);
	cr_assert_eq(read_record(), 0);
	expect_sample();
	put_names(8);
	put_sample(16);
	cr_assert_eq(read_record(), 0);
	expect_sample();
	put_sample(8);
	cr_assert_eq(read_record(), 0);
	expect_sample();
	put_names(0);
	put_sample(8);
	cr_assert_eq(read_record(), 0);
	expect_sample();
	cr_assert(n_read == 4 && reader.n_refused == 0);
}

Test(record_reader, has_values_behind_labels)
{
	const struct dp_labels labels = { .n = 1 };
	const struct dp_values values = { .n = 3 };

	for (unsigned int i = 0; i < 2; i++) {
		const struct named_sample *s = (const void *)last;

		put_names(0);
		put_sample(0)->flags = i ? DP_SAMPLE_VALUES : DP_SAMPLE_LABELS | DP_SAMPLE_VALUES;
		put_unknown();
		if (i == 0)
			put(DP_RECORD_LABELS, &labels, sizeof(labels), 0, 2);
		put(DP_RECORD_VALUES, &values, sizeof(values), 0, 3);
		cr_assert_eq(read_record(), 0);
		expect_sample();
		cr_assert_eq(sample_values(s)->n, 3);
		cr_assert(sample_call(s, 0) == sample_values(s) && !sample_call(s, 1));
		cr_assert_eq(((const __u64 *)(const void *)(sample_values(s) + 1))[2], 12);
	}
	put_names(0);
	put_sample(0)->flags = DP_SAMPLE_VALUES;
	cr_assert_eq(read_record(), 0, "values that are not there");
	cr_assert(n_read == 2 && reader.n_refused == 1);
}

Test(record_reader, has_a_signal_between_values_and_a_runtime)
{
	const struct dp_values values = { .n = 3 };
	const struct dp_crash crash = { .stack_top = 7 };
	const struct dp_runtime runtime = { .n = 0 };
	const struct named_sample *s = (const void *)last;

	put_names(0);
	put_sample(0)->flags = DP_SAMPLE_VALUES | DP_SAMPLE_CRASH | DP_SAMPLE_RUNTIME;
	put(DP_RECORD_VALUES, &values, sizeof(values), 0, 3);
	put(DP_RECORD_CRASH, &crash, sizeof(crash), 8, 0);
	put(DP_RECORD_RUNTIME, &runtime, sizeof(runtime), 0, 0);
	cr_assert_eq(read_record(), 0);
	expect_sample();
	cr_assert_eq(sample_crash(s)->stack_top, 7);
	cr_assert_eq(sample_values(s)->n, 3);
	cr_assert_eq(sample_runtime(s)->part.type, DP_RECORD_RUNTIME);
	put_names(0);
	put_sample(0)->flags = DP_SAMPLE_CRASH;
	put(DP_RECORD_CRASH, &crash, sizeof(crash) - 8, 0, 0);
	cr_assert_eq(read_record(), 0);
	cr_assert(n_read == 1 && reader.n_refused == 1, "a part of it");
}

Test(record_reader, has_the_calls_of_a_sample)
{
	const struct dp_spans spans = { .n = 2, .root = 99 };
	const struct named_sample *s;

	put_names(0);
	put_sample(0)->flags = DP_SAMPLE_SPANS;
	put(DP_RECORD_SPANS, &spans, sizeof(spans), 0, 2);
	cr_assert_eq(read_record(), 0);
	expect_sample();
	s = (const void *)last;
	cr_assert(sample_spans(s)->n == 2 && sample_spans(s)->root == 99);
	cr_assert_eq(((const __u64 *)(const void *)(sample_spans(s) + 1))[1], 11);
	cr_assert_null(sample_values(s));
	put_names(0);
	put_sample(0)->flags = DP_SAMPLE_SPANS;
	put(DP_RECORD_SPANS, &spans, sizeof(spans), 0, 1);
	cr_assert_eq(read_record(), 0, "fewer than it says");
	cr_assert(n_read == 1 && reader.n_refused == 1);
}

/* Of the second and the fourth of several probes. */
Test(record_reader, has_the_values_of_several_calls)
{
	static const struct {
		struct dp_calls head;
		struct dp_values first;
		__u64 word;
		struct dp_values second;
	} calls = {
		.head.probes = 2 | 8,
		.first = { .part = { DP_RECORD_VALUES, sizeof(calls.first) + 8 }, .n = 1 },
		.word = 77,
		.second = { .part = { DP_RECORD_VALUES, sizeof(calls.second) }, .unread = 1 },
	};
	const struct named_sample *s = (const void *)last;
	static const unsigned int wrong[] = { 1 | 2 | 8, 2 | 16 };

	put_names(0);
	put_sample(0)->flags = DP_SAMPLE_CALLS;
	put(DP_RECORD_CALLS, &calls, sizeof(calls), 0, 0);
	cr_assert_eq(read_record(), 0);
	expect_sample();
	cr_assert(!sample_call(s, 0) && !sample_call(s, 2) && !sample_values(s));
	cr_assert_eq(((const __u64 *)(const void *)(sample_call(s, 1) + 1))[0], 77);
	cr_assert(sample_call(s, 3)->unread && named_sample_lacks(s));
	put_names(0);
	put_sample(0)->flags = DP_SAMPLE_CALLS;
	put(DP_RECORD_CALLS, &calls, sizeof(calls) - 8, 0, 0);
	cr_assert_eq(read_record(), 0, "the last one is not complete");
	for (size_t i = 0; i < 2; i++) {
		struct dp_calls *head;

		put_names(0);
		put_sample(0)->flags = DP_SAMPLE_CALLS;
		head = put(DP_RECORD_CALLS, &calls, sizeof(calls), 0, 0);
		head->probes = (__u16)wrong[i];
		cr_assert_eq(read_record(), 0);
	}
	cr_assert(n_read == 1 && reader.n_refused == 3);
}

Test(record_reader, passes_over_unknown_parts_of_a_sample)
{
	const struct dp_labels labels = { .n = 1 };
	struct dp_sample *sample;

	put_unknown();
	put_names(0);
	put_unknown();
	sample = put_sample(0);
	sample->flags = DP_SAMPLE_LABELS;
	put_unknown();
	put(DP_RECORD_LABELS, &labels, sizeof(labels), 0, 1);
	put_unknown();
	cr_assert_eq(read_record(), 0);
	expect_sample();
	cr_assert(n_read == 1 && reader.n_refused == 0);
	expect_labels();
	put_names(0);
	put_sample(0)->flags = DP_SAMPLE_LABELS;
	put_unknown();
	put(DP_RECORD_LABELS, &labels, sizeof(labels), 0, 1);
	cr_assert_eq(read_record(), 0);
	expect_sample();
	expect_labels();
}

Test(record_reader, gives_other_parts_one_by_one)
{
	const struct dp_off_cpu_end end_of_interval = { .tid = 5 };

	put_unknown();
	put(DP_RECORD_OFF_CPU_END, &end_of_interval, sizeof(end_of_interval), 8, 0);
	put(DP_RECORD_OFF_CPU_END, &end_of_interval, sizeof(end_of_interval), 0, 0);
	result = -EAGAIN;
	cr_assert_eq(read_record(), -EAGAIN);
	cr_assert(n_read == 3 && types[0] == 4711 && types[2] == DP_RECORD_OFF_CPU_END);
	cr_assert(last_size == sizeof(end_of_interval) && reader.n_refused == 0);
	result = -ENOMEM;
	put_unknown();
	put_unknown();
	cr_assert_eq(read_record(), -ENOMEM);
	cr_assert_eq(n_read, 4, "that ends it");
}

Test(record_reader, counts_what_it_refuses)
{
	struct dp_sample *sample;

	put_names(0);
	sample = put_sample(0);
	sample->part.size -= 8;
	size -= 8;
	cr_assert_eq(read_record(), 0);
	put_names(0);
	sample = put_sample(0);
	sample->flags = DP_SAMPLE_LABELS;
	cr_assert_eq(read_record(), 0, "labels that are not there");
	put(DP_RECORD_NAMES, &(struct dp_names){ 0 }, sizeof(struct dp_names) - 8, 0, 0);
	put_sample(0);
	cr_assert_eq(read_record(), 0);
	cr_assert(n_read == 0 && reader.n_refused == 3);
	/* Parts longer than the record, shorter than their head, or without a size. */
	for (unsigned int i = 0; i < 3; i++) {
		put_unknown()->size = (__u16[]){ 40, 7, 0 }[i];
		cr_assert_eq(read_record(), 0);
	}
	cr_assert(n_read == 0 && reader.n_refused == 6);
	put_unknown();
	result = -EBADMSG;
	cr_assert_eq(read_record(), 0);
	cr_assert(n_read == 1 && reader.n_refused == 7);
}

/* Otherwise their frames would be those of another stack. */
Test(record_reader, refuses_what_goes_on_from_what_it_refused)
{
	struct dp_sample *sample;

	put_names(0);
	put_sample(0);
	cr_assert_eq(read_record(), 0);
	put_sample(0)->level = DP_UPROBE_LEVELS;
	cr_assert_eq(read_record(), 0);
	sample = put_sample(0);
	sample->n_user = 3;
	sample->n_same = 1;
	cr_assert_eq(read_record(), 0);
	cr_assert(n_read == 1 && reader.n_refused == 2);
	put_names(0);
	put_sample(0);
	cr_assert_eq(read_record(), 0);
	expect_sample();
}

/* A record with names alone has no sample, nor has one that is damaged behind them. */
Test(record_reader, refuses_a_sample_that_is_not_there)
{
	struct dp_sample *sample;

	put_names(0);
	cr_assert_eq(read_record(), 0);
	put_names(0);
	put_unknown()->size = 0;
	cr_assert_eq(read_record(), 0);
	cr_assert(n_read == 0 && reader.n_refused == 2);
	put_names(0);
	sample = put_sample(0);
	sample->n_user = DP_MAX_FRAMES + 1;
	sample->n_same = DP_MAX_FRAMES + 1;
	cr_assert_eq(read_record(), 0);
	cr_assert(n_read == 0 && reader.n_refused == 3);
	for (size_t i = 0; i < N_SAMPLE_PARTS; i++) {
		put((unsigned int)SAMPLE_PARTS[i].type, &(__u64[8]){ 0 }, SAMPLE_PARTS[i].head, 0,
		    0);
		cr_assert_eq(read_record(), 0);
		cr_assert(n_read == 0 && reader.n_refused == 4 + i, "%zu", i);
	}
}

/* Samples do not refer to records without a sample. */
Test(record_reader, goes_on_after_a_record_without_a_sample)
{
	struct dp_sample *sample;

	put_names(0);
	put_sample(0);
	cr_assert_eq(read_record(), 0);
	put_unknown();
	result = -EBADMSG;
	cr_assert_eq(read_record(), 0);
	cr_assert_eq(reader.n_refused, 1);
	result = 0;
	sample = put_sample(0);
	sample->n_user = 2;
	sample->n_same = 2;
	cr_assert_eq(read_record(), 0);
	cr_assert_eq(reader.n_refused, 1);
}
