// SPDX-License-Identifier: Apache-2.0
#include "kernel/record_reader.h"

#include <errno.h>

void record_reader_done(struct record_reader *reader)
{
	last_stacks_done(&reader->stacks);
}

/* These parts only come with a sample: a record that has them and no sample is damaged. */
static bool is_of_sample(const struct dp_part *part)
{
	if (part->type == DP_RECORD_SAMPLE || part->type == DP_RECORD_NAMES)
		return true;
	for (size_t i = 0; i < N_SAMPLE_PARTS; i++)
		if (part->type == SAMPLE_PARTS[i].type)
			return true;
	return false;
}

static bool has_sample(const char *record, size_t size)
{
	const struct dp_part *part;

	for (size_t at = 0; at < size; at += part->size) {
		part = (const void *)(record + at);
		if (!part_is_whole(part, size - at))
			return true; /* there may be a sample */
		if (is_of_sample(part))
			return true;
	}
	return false;
}

/* All parts are complete, and none belongs to a sample. */
static int read_parts(const char *record, size_t size, unsigned int cpu, ring_fn fn, void *arg)
{
	const struct dp_part *part;
	int result = 0;

	for (size_t at = 0; at < size; at += part->size) {
		int err;

		part = (const void *)(record + at);
		err = fn(arg, cpu, part, part->size);
		if (err < 0 && err != -EAGAIN)
			return err;
		result = err < 0 ? err : result;
	}
	return result;
}

int record_reader_read(struct record_reader *r, const void *record, size_t size, unsigned int cpu,
		       ring_fn fn, void *arg)
{
	const struct named_sample *sample;
	bool is_sample = has_sample(record, size);
	int err;

	if (is_sample) {
		err = last_stacks_complete(&r->stacks, record, size, &sample, &size);
		if (err == 0)
			err = fn(arg, cpu, sample, size);
	} else {
		err = read_parts(record, size, cpu, fn, arg);
	}
	if (err != -EBADMSG)
		return err;
	/* Later samples would refer to it. */
	if (is_sample)
		last_stacks_forget(&r->stacks);
	r->n_refused++;
	return 0;
}
