/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TIME_ARGUMENT_H
#define DP_CLI_TIME_ARGUMENT_H

#include <stdint.h>

/* A time of --from and --to. */

#define TIME_ARGUMENT_HELP                                                                         \
	"14:00, 14:00:30, 2026-11-26T14:00 (with Z at its end: UTC), or -10m: before now"

/*
 * Parses one to nanoseconds of CLOCK_REALTIME. A time without a date is the first one after
 * `after_ns` or, if that is 0, the last one before now. -EINVAL for anything else.
 */
int time_argument_parse(const char *text, uint64_t now_ns, uint64_t after_ns, uint64_t *ret);

#endif
