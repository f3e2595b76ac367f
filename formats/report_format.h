/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_REPORT_FORMAT_H
#define DP_FORMATS_REPORT_FORMAT_H

#include <stddef.h>
#include <stdio.h>

#include "report/report.h"

/* The format with that name, or NULL. */
const struct report_format *report_format_by_name(const char *name);
/* The format with a file's extension, or NULL. */
const struct report_format *report_format_by_path(const char *path);
/* The length of the longest of these extensions with which a path ends; 0: with none. */
size_t report_match_extension(const char *extensions, const char *path);
/* "folded (.folded .collapsed), jsonl (.jsonl)" */
void report_format_list(FILE *to);
/* "folded, jsonl", for the help */
void report_format_list_names(FILE *to);

int report_folded_new(struct report **ret);
int report_json_new(struct report **ret);
int report_jsonl_new(struct report **ret);
int report_otlp_new(struct report **ret);
int report_pprof_new(struct report **ret);
int report_perf_script_new(struct report **ret);
int report_speedscope_new(struct report **ret);
int report_html_new(struct report **ret);
const char *report_html_missing(void);
int report_svg_new(struct report **ret);
int report_firefox_new(struct report **ret);
int report_firefox_gz_new(struct report **ret);

#endif
