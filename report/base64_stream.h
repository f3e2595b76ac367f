/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_BASE64_STREAM_H
#define DP_REPORT_BASE64_STREAM_H

#include <stdio.h>

/*
 * A file whose contents go into another one in base64 (RFC 4648 §4), in which they can
 * stand in a text. fclose() writes the rest, and says whether all could be written; the
 * other file stays open. NULL: there is no memory.
 */
FILE *base64_stream_open(FILE *to);

#endif
