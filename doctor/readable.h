/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DOCTOR_READABLE_H
#define DP_DOCTOR_READABLE_H

#include <stddef.h>

/*
 * Counts the processes whose mappings and program can be read, and those that cannot; kernel threads do not count.
 * With a helper (doctor_examine()), they are read as for profiling, so that none blocks for long.
 */
void readable_count(const char *helper, size_t *ret_n_read, size_t *ret_n_refused);

#endif
