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
 * A report being made. Each format is a file that fills this in; report.c has the table of formats.
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

/* Those that are not chosen by name: of `dwarfprof dump`, of `dwarfprof top`, of --crashes. */
extern const struct report_format report_stacks;
extern const struct report_format report_top;
extern const struct report_format report_crashes;

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

int report_folded_new(struct report **ret);
int report_json_new(struct report **ret);
int report_jsonl_new(struct report **ret);
int report_otlp_new(struct report **ret);
int report_pprof_new(struct report **ret);
int report_recording_new(struct report **ret);
int report_text_new(struct report **ret);
int report_perf_script_new(struct report **ret);
int report_speedscope_new(struct report **ret);
int report_html_new(struct report **ret);
const char *report_html_missing(void);
int report_svg_new(struct report **ret);
int report_firefox_new(struct report **ret);
int report_firefox_gz_new(struct report **ret);

#endif
