/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_REPORT_H
#define DP_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/report_context.h"
#include "report/sample.h"
#include "report/string_table.h"

struct piped;

/*
 * A report being made. Each format is a file that fills this in; formats/report_format.c has their table.
 */
struct report {
	struct report_context context;
	FILE *to;
	struct string_table strings; /* see symbolized.h */
	bool streams;                /* keeps nothing of a sample, except strings for a while */
	struct piped *piped;         /* which `to` leads to; NULL: none */
	size_t n_held; /* of the last samples, those that are still to be written to it */
	bool forgets;  /* keeps nothing of an interval that tick() has shown */
	/* 0, or a negative errno, after which the report cannot be used. */
	int (*add)(struct report *report, const struct sample *sample, const struct totals *totals);
	/* Ends an interval, with the totals so far; NULL: not needed. */
	int (*tick)(struct report *report, const struct totals *totals);
	/* Writes the rest. The totals are final. */
	int (*finish)(struct report *report, const struct totals *totals);
	void (*free)(struct report *report);
};

struct report_format {
	const char *name;
	const char *extensions; /* ".folded .collapsed" */
	int (*new)(struct report **ret);
	bool is_binary; /* not suitable for a terminal */
	/*
	 * It shows labels next to functions: with context.by, only that label. Other formats have
	 * all labels.
	 */
	bool groups;
	bool streams;    /* writes samples as they come, and keeps none */
	bool no_memory;  /* it cannot distinguish allocated bytes from samples */
	const char *use; /* what to do with such a file, as a phrase; NULL: it is obvious */
	/* What this build lacks for it, and what to do, as a phrase; NULL: nothing. */
	const char *(*missing)(void);
};

/* Name for kernel frames that could not be taken, and for the kernel as a binary. */
#define REPORT_KERNEL "[kernel]"

/*
 * The name of kernel frame number i of a stack, counted from the leaf: its function, else
 * `0xffffffff81234567`. Returns the symbol or `buffer`.
 */
const char *report_kernel_label(const struct report *report, uint64_t address, size_t i,
				char buffer[FRAME_LABEL_SIZE]);

/* Profiles that are compared with each other. */
#define REPORT_SIDES 2

/* `to` and the context's strings must outlive the report. */
int report_new(const struct report_format *format, const struct report_context *context, FILE *to,
	       struct report **ret);
/*
 * Makes the report write to `piped`, which must outlive it. Call it before the first sample. If the pipe's reader is
 * given up, the report continues without an error, and only counts what it gets.
 */
void report_set_piped(struct report *report, struct piped *piped);
int report_add(struct report *report, const struct sample *sample, const struct totals *totals);
/* Ends an interval. */
int report_tick(struct report *report, const struct totals *totals);
/* The error of writing a file so far, which it flushes: a negative errno, or 0. */
int report_write_error(FILE *to);
/* Finishes, and flushes the file: a negative errno if not everything could be written. */
int report_finish(struct report *report, const struct totals *totals);
struct report *report_free(struct report *report);

#endif
