/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DOCTOR_READABLE_H
#define DP_DOCTOR_READABLE_H

#include <stddef.h>

/*
 * How many of the processes with memory have mappings and a program that can be read, and how many not?
 * With a helper (doctor_examine()), they are read as for profiling, so that none is waited for for long.
 */
void readable_count(const char *helper, size_t *ret_n_read, size_t *ret_n_refused);

#endif
