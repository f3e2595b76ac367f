/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_QUANTITY_H
#define DP_CLI_QUANTITY_H

#include <stdint.h>

/* Parsers of times and sizes. */

/*
 * Parses "30", "30s", "1.5s", "500ms" or "5m" to nanoseconds. -EINVAL for anything else, and for
 * zero.
 */
int quantity_parse_duration(const char *text, uint64_t *ret);

/* Parses "4194304", "4096K", "4M" or "1G" to bytes. -EINVAL for anything else. */
int quantity_parse_size(const char *text, uint64_t *ret);

/* Parses a number of percent, from 0.01 to 100000, to a share. -EINVAL for anything else. */
int quantity_parse_percent(const char *text, double *ret);

#endif
