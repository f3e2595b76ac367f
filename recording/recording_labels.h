/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RECORDING_RECORDING_LABELS_H
#define DP_RECORDING_RECORDING_LABELS_H

#include "recording/recording.h"
#include "report/bytes.h"
#include "report/label_set.h"

/*
 * Makes the record of one kind of labels: RECORDING_LABELS, _NUMBERS or _DECIMALS. It is empty if there are
 * none; the first never is.
 */
void recording_labels_put(const struct label_set *labels, enum recording_tag tag, struct bytes *to);

#endif
