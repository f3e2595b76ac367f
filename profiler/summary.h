/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_SUMMARY_H
#define DP_PROFILER_SUMMARY_H

#include <stddef.h>

#include "report/sample.h"

/*
 * Logs the result of a run: numbers of samples and of complete ones, and why others are not.
 * max_rate: --max-rate, or 0; n_events: different events, which are not added up; n_unseen: threads
 * that were blocked all the time.
 */
void summary_print(const struct totals *totals, unsigned int max_rate, size_t n_events,
		   size_t n_unseen);

/* Logs that the user has interrupted a run before it had a result. */
void summary_tell_interrupted(void);

#endif
