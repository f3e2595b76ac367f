// SPDX-License-Identifier: Apache-2.0
#include "recording/recording_probes.h"

static size_t count_frames(const struct sample *sample)
{
	size_t n = 0;

	for (size_t i = 0; i < sample->n_user; i++)
		n += sample->user[i].probe > 0;
	return n;
}

bool recording_has_probes(const struct sample *sample)
{
	return count_frames(sample) > 0;
}

void recording_put_probes(struct bytes *b, const struct sample *sample)
{
	struct label label;
	size_t at = 0;

	bytes_put_number(b, count_frames(sample));
	for (size_t i = 0; i < sample->n_user; i++) {
		if (sample->user[i].probe == 0)
			continue;
		bytes_put_number(b, i);
		bytes_put_number(b, sample->user[i].probe);
	}
	while (label_set_next(sample->labels, &at, &label))
		bytes_put_number(b, label.probe);
}

static unsigned int read_probe(struct view *v)
{
	return (unsigned int)view_below(v, DP_MAX_LABEL_PROBES + 1);
}

void recording_read_probes(struct view *v, struct frame *frames, size_t n, struct label_set *labels)
{
	uint64_t n_probed = view_below(v, n + 1);
	struct label label;
	size_t at = 0;

	for (uint64_t i = 0; i < n_probed && !v->failed; i++) {
		uint64_t number = view_below(v, n);
		unsigned int probe = read_probe(v);

		if (!v->failed)
			frames[number].probe = (unsigned char)probe;
	}
	while (!v->failed && label_set_next(labels, &at, &label))
		label_set_mark(labels, &label, read_probe(v));
}
