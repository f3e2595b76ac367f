/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LOSSES_H
#define DP_SAMPLES_LOSSES_H

#include <stdint.h>

#include "kernel/session.h"
#include "report/sample.h"

/* Adds up the samples lost so far, in the kernel and (n_dropped, dropped_ns) on the way to the reports. */
void losses_count(const struct session *session, uint64_t n_dropped, uint64_t dropped_ns,
		  struct totals *ret);

#endif
