/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_GZIP_STREAM_H
#define DP_REPORT_GZIP_STREAM_H

#include <stdbool.h>
#include <stdio.h>

/*
 * A file whose contents are compressed and go into another one, as they are or in base64
 * (RFC 4648 §4), in which they can stand in a text. fclose() writes the rest, and says
 * whether all could be written; the other file stays open.
 */

/* 0, -ENOMEM, or another negative errno. */
int gzip_stream_open(FILE *to, bool base64, FILE **ret);

#endif
