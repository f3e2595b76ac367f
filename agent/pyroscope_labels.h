/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_PYROSCOPE_LABELS_H
#define DP_AGENT_PYROSCOPE_LABELS_H

#include <stdbool.h>

#include "report/label_set.h"
#include "report/sample.h"

struct named_labels;

/*
 * Labels as Pyroscope accepts them. From a pushed profile, it makes one series per distinct set of string labels of
 * samples, added to the profile's own labels, which take precedence (pkg/model/pprofsplit). One invalid set makes it
 * refuse the push (ValidateLabels() in pkg/validation). It drops numeric labels; span_id does not separate series,
 * but trace_id did before version 2.
 */

/* It takes 30, and may add some itself. */
#define PYROSCOPE_LABELS 28
/* Of those of a profile: the others are __name__, and what pyroscope_labels_all() adds. */
#define PYROSCOPE_PROFILE_LABELS (PYROSCOPE_LABELS - 4)
#define PYROSCOPE_MAX_NAME 1024
#define PYROSCOPE_MAX_VALUE 2048

/* How many of a profile's labels are sent. */
size_t pyroscope_labels_count(const struct named_labels *profile);
/* Leaves out the last of too many and what has too long a name, and cuts values. */
void pyroscope_labels_bound(struct named_labels *profile);

/*
 * Makes those of a sample, besides a profile's: with valid names, not more than there is room for, and the
 * labels of its span and its event as they are. *ret is NULL if there are none. 0 or -ENOMEM.
 */
int pyroscope_labels_make(const struct label_set *own, const struct label_set *profile,
			  struct label_set **ret);

/*
 * Adds the names of a sample's process and thread, and the state of one that is off the CPU, if it is to
 * have one. 0 or -ENOMEM; the caller frees *ret.
 */
int pyroscope_labels_all(const struct label_set *made, const struct sample *sample, bool has_state,
			 struct label_set **ret);

#endif
