/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_VIEWER_H
#define DP_FORMATS_VIEWER_H

#include <stddef.h>

/*
 * The speedscope release that the build found, made into one piece of HTML by embed_viewer.py:
 * licence, style, script. The page before it says what to load.
 */
extern const char viewer_name[]; /* "speedscope 1.25.0" */
extern const unsigned char viewer_html[];
extern const size_t viewer_size; /* 0: built without */

#endif
