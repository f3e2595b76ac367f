// SPDX-License-Identifier: Apache-2.0
/*
 * The labels that threads set by Polar Signals' library. elf/elf_labels.h finds where, bpf/custom.h reads
 * them. They belong to the thread, whatever is on its stack.
 */
#include "samples/label_source.h"

static int add(const struct label_source *source, const struct label_context *c,
	       struct label_list *list)
{
	if (binary_has_labels(snapshot_labelled(c->in_kernel), DP_LABELS_CUSTOM))
		return label_add_record(sample_labels(c->named), list);
	list->is_cut |= !label_was_looked_for(c, DP_LABELS_CUSTOM);
	return 0;
}

const struct label_source label_custom = { .name = "custom", .add = add };
