// SPDX-License-Identifier: Apache-2.0
#include "kernel/record_reader.h"

#include <errno.h>

void record_reader_done(struct record_reader *reader)
{
	last_stacks_done(&reader->stacks);
}

static bool has_sample(const char *record, size_t size)
{
	const struct dp_part *part;

	for (size_t at = 0; at < size; at += part->size) {
		part = (const void *)(record + at);
		if (!part_is_whole(part, size - at))
			return false;
		if (part->type == DP_RECORD_SAMPLE)
			return true;
	}
	return false;
}

static int read_parts(const char *record, size_t size, unsigned int cpu, ring_fn fn, void *arg)
{
	const struct dp_part *part;
	int result = 0;

	for (size_t at = 0; at < size; at += part->size) {
		int err;

		part = (const void *)(record + at);
		if (!part_is_whole(part, size - at))
			return -EBADMSG;
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
	int err;

	if (has_sample(record, size)) {
		err = last_stacks_complete(&r->stacks, record, size, &sample, &size);
		if (err == 0)
			err = fn(arg, cpu, sample, size);
	} else {
		err = read_parts(record, size, cpu, fn, arg);
	}
	if (err != -EBADMSG)
		return err;
	/* It may have been a sample, which the next ones refer to. */
	last_stacks_forget(&r->stacks);
	r->n_refused++;
	return 0;
}
