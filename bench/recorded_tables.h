/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_RECORDED_TABLES_H
#define DP_BENCH_RECORDED_TABLES_H

#include "bench/recorded.h"
#include "tables/image.h"

/*
 * Makes the table of a recording's binary: the recorded frames have the recorded rules, and the
 * rest of the code has made-up functions. So it does not matter which format tables have, and none
 * has to be kept. 0 or a negative errno.
 */
int recorded_table(const struct recording *recording, unsigned int binary, struct image *ret);

#endif
