/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_SUMMARY_H
#define DP_PROFILER_SUMMARY_H

#include <stddef.h>

#include "report/sample.h"

/*
 * Say what a run has given: how many samples, how many of them whole, and why not.
 * max_rate: --max-rate, or 0; n_unseen: threads that were blocked all the time.
 */
void summary_print(const struct totals *totals, unsigned int max_rate, size_t n_unseen);

#endif
