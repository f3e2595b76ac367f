/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_VIEWER_H
#define DP_REPORT_VIEWER_H

#include <stddef.h>

/*
 * The released speedscope, as the build found it, made into one piece of HTML by
 * embed_viewer.py: its licence, its style, its script. The page before it says what to load.
 */
extern const char viewer_name[]; /* "speedscope 1.25.0" */
extern const unsigned char viewer_html[];
extern const size_t viewer_size; /* 0: built without */

#endif
