/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_REPORT_H
#define DP_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/sample.h"
#include "report/string_table.h"

struct group;
struct kallsyms;
struct names;

/* What was profiled, for the head of a report. The strings stay the caller's. */
struct report_context {
	const char *target;     /* "python3 (PID 4711)" */
	const char *event;      /* "cpu-clock", "cycles", "uprobe:/lib/libc.so.6:malloc" */
	unsigned int hz;        /* 0: each time the event happens */
	unsigned int events;    /* kinds that are sampled: EVENT_BIT of each */
	const struct group *by; /* what stacks are told apart by; NULL: as the format does it */
	const char *counts; /* what is counted, a word: "page_faults"; NULL: events or samples */
	bool wide;          /* lines may be wider than a terminal */
	bool symbols;       /* look names up */
	const struct names *names; /* how they are shown: those that modules and kallsyms are of */
	const struct kallsyms *kallsyms; /* NULL: kernel addresses stay numbers */
	const char *command;             /* as it was typed, of the profiler */
	const char *host;                /* name of the machine */
	const char *kernel;              /* "Linux 6.18.5 " DP_ARCH */
	uint64_t started_ns;             /* CLOCK_MONOTONIC, as the samples' times */
	uint64_t started_real_ns;        /* the same moment, CLOCK_REALTIME */
};

/*
 * A report in the making. Each format is one file that fills this in; report.c
 * has the table of them.
 */
struct report {
	struct report_context context;
	FILE *to;
	struct string_table strings; /* see symbolized.h */
	bool streams; /* nothing is kept of a sample that was added, but strings for a while */
	bool forgets; /* nor is of an interval that is over, once tick() has shown it */
	/* 0, or a negative errno after which the report is of no use. */
	int (*add)(struct report *report, const struct sample *sample, const struct totals *totals);
	/* An interval is over, with the totals so far; NULL: nothing is done then. */
	int (*tick)(struct report *report, const struct totals *totals);
	/* Write what is not written yet. The totals are final. */
	int (*finish)(struct report *report, const struct totals *totals);
	void (*free)(struct report *report);
};

struct report_format {
	const char *name;
	const char *extensions; /* ".folded .collapsed" */
	int (*new)(struct report **ret);
	bool is_binary; /* nothing to look at on a terminal */
	/*
	 * It shows labels beside the functions: with context.by, that one is a sample's only label.
	 * Others have all labels there are, and leave it to who reads them.
	 */
	bool groups;
	bool streams; /* samples are written as they come, and nothing is kept of them */
	const char *
		use; /* what to do with a file, a phrase for who has written it; NULL: it is known */
	/* What this build lacks for it, and what to do, as a phrase; NULL: nothing. */
	const char *(*missing)(void);
};

/* What stands for the kernel's frames where they could not be taken, and for its file. */
#define REPORT_KERNEL "[kernel]"

/*
 * What to call kernel frame number i of a stack, counted from the leaf: its
 * function, else `0xffffffff81234567`. Returns the symbol or `buffer`.
 */
const char *report_kernel_label(const struct report *report, uint64_t address, size_t i,
				char buffer[FRAME_LABEL_SIZE]);

/* Formats that belong to a command, and go by no name: `dwarfprof dump` and `dwarfprof top`. */
extern const struct report_format report_stacks;
extern const struct report_format report_top;

/* The format of that name; NULL if there is none. */
const struct report_format *report_format_by_name(const char *name);
/* The format that a file's extension stands for; NULL if it stands for none. */
const struct report_format *report_format_by_path(const char *path);
/* "folded (.folded .collapsed), jsonl (.jsonl)" */
void report_format_list(FILE *to);

/* Strings that a report has which streams, at most: about as many are in use at a time. */
#define REPORT_MAX_STRINGS 16384

/* `to` and the context's strings must outlive the report. */
int report_new(const struct report_format *format, const struct report_context *context, FILE *to,
	       struct report **ret);
int report_add(struct report *report, const struct sample *sample, const struct totals *totals);
/* An interval is over. */
int report_tick(struct report *report, const struct totals *totals);
/* Finish, and flush the file: -errno if not everything could be written. */
int report_finish(struct report *report, const struct totals *totals);
struct report *report_free(struct report *report);

int report_folded_new(struct report **ret);
int report_json_new(struct report **ret);
int report_jsonl_new(struct report **ret);
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
