/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RECORDING_RECORDING_PROBES_H
#define DP_RECORDING_RECORDING_PROBES_H

#include "report/bytes.h"
#include "report/sample.h"

/*
 * The field RECORDING_HAS_PROBES of a sample: which frames are of probed calls, and whose values its labels are
 * (struct frame). The number of frames, of each its number and its probe's; then each label's probe, in their order.
 */

/* Is there such a frame? */
bool recording_has_probes(const struct sample *sample);
void recording_put_probes(struct bytes *b, const struct sample *sample);

/* Marks what has been read before: n frames, and labels, or NULL. Sets `failed` if it is not valid. */
void recording_read_probes(struct view *v, struct frame *frames, size_t n,
			   struct label_set *labels);

#endif
