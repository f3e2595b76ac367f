// SPDX-License-Identifier: Apache-2.0
#include "recording/recording_labels.h"

#include <string.h>

static enum recording_tag tag_of(const struct label *label)
{
	if (!label->text)
		return RECORDING_NUMBERS;
	return label->is_decimal ? RECORDING_DECIMALS : RECORDING_LABELS;
}

static void put(const struct label *label, struct bytes *to)
{
	if (label->text) {
		bytes_put(to, label->key, strlen(label->key) + 1);
		bytes_put(to, label->text, strlen(label->text) + 1);
		return;
	}
	bytes_put_text(to, label->key);
	bytes_put_text(to, label->unit);
	bytes_put_signed(to, label->number);
}

void recording_labels_put(const struct label_set *labels, enum recording_tag tag, struct bytes *to)
{
	struct label label;
	size_t at = 0;

	to->size = 0;
	if (tag == RECORDING_LABELS)
		bytes_put_number(to, labels->is_cut);
	while (label_set_next(labels, &at, &label))
		if (tag_of(&label) == tag)
			put(&label, to);
}
