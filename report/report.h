/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_REPORT_H
#define DP_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "sample.h"

struct kallsyms;

/* What was profiled, for the head of a report. The strings stay the caller's. */
struct report_context {
	const char *target;              /* "python3 (PID 4711)" */
	const char *event;               /* "cpu-clock", "cycles", "uprobe:/lib/libc.so.6:malloc" */
	unsigned int hz;                 /* 0: each time the event happens */
	bool symbols;                    /* look names up */
	const struct kallsyms *kallsyms; /* NULL: kernel addresses stay numbers */
};

/*
 * A report in the making. Each format is one file that fills this in; report.c
 * has the table of them.
 */
struct report {
	struct report_context context;
	FILE *to;
	/* 0, or a negative errno after which the report is of no use. */
	int (*add)(struct report *report, const struct sample *sample, const struct totals *totals);
	/* Write what is not written yet. The totals are final. */
	int (*finish)(struct report *report, const struct totals *totals);
	void (*free)(struct report *report);
};

struct report_format {
	const char *name;
	const char *extensions; /* ".folded .collapsed" */
	int (*new)(struct report **ret);
};

/*
 * What to call kernel frame number i of a stack, counted from the leaf: its
 * function, else `0xffffffff81234567`. Returns the symbol or `buffer`.
 */
const char *report_kernel_label(const struct report *report, uint64_t address, size_t i,
				char buffer[FRAME_LABEL_SIZE]);

/* The format of that name; NULL if there is none. */
const struct report_format *report_format_by_name(const char *name);
/* The format that a file's extension stands for; NULL if it stands for none. */
const struct report_format *report_format_by_path(const char *path);
/* "folded (.folded .collapsed), jsonl (.jsonl)" */
void report_format_list(FILE *to);

/* `to` and the context's strings must outlive the report. */
int report_new(const struct report_format *format, const struct report_context *context, FILE *to,
	       struct report **ret);
int report_add(struct report *report, const struct sample *sample, const struct totals *totals);
/* Finish, and flush the file: -errno if not everything could be written. */
int report_finish(struct report *report, const struct totals *totals);
struct report *report_free(struct report *report);

int report_folded_new(struct report **ret);
int report_jsonl_new(struct report **ret);
int report_text_new(struct report **ret);

#endif
