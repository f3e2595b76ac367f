/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_GZIP_STREAM_H
#define DP_FORMATS_GZIP_STREAM_H

#include <stdio.h>

/*
 * Opens a file whose contents are compressed (gzip.h) into another one. fclose() writes the rest,
 * and reports whether all was written; the other file stays open. NULL: out of memory.
 */
FILE *gzip_stream_open(FILE *to);

#endif
