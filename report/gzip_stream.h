/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_GZIP_STREAM_H
#define DP_REPORT_GZIP_STREAM_H

#include <stdio.h>

/*
 * A file whose contents are compressed (gzip.h) and go into another one. fclose() writes
 * the rest, and says whether all could be written; the other file stays open. NULL: there
 * is no memory.
 */
FILE *gzip_stream_open(FILE *to);

#endif
