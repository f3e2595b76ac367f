/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_BASE64_STREAM_H
#define DP_FORMATS_BASE64_STREAM_H

#include <stdio.h>

/*
 * Opens a file whose contents are written to another one in base64 (RFC 4648 §4). fclose() writes
 * the rest, and reports whether all was written; the other file stays open. NULL: out of memory.
 */
FILE *base64_stream_open(FILE *to);

#endif
