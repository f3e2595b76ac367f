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
struct piped;
struct top_viewer;

/* One of several events that were sampled at once. */
struct report_event {
	const char *name;   /* "page-faults" */
	const char *counts; /* what is counted: "page_faults" */
	/* A number that each has beside its count, and its unit; NULL: none (struct report_context) */
	const char *value, *value_unit;
};

/* A further number of each event: its samples have it as a label of that name, unless it could not be read. */
struct report_number {
	const char *name, *unit; /* "path_length", "bytes" */
};

/*
 * The label of each sample with the name of its event, if there are several. Programs have their own
 * labels `event`; this key comes before theirs, as labels are sorted.
 */
#define REPORT_EVENT "-e"
/* The event of samples that probes take which were added meanwhile. */
#define REPORT_PROBE_EVENT "probe"

#define REPORT_NUMBERS_MAX 7

/*
 * For a format whose readers take files of a limited size (otlp, pprof): it writes several, each
 * complete by itself, and each sample into one of them. `end` is called when one has been written, of
 * samples that stand for so many events, and what is written then belongs to the next one. 0 or a negative errno, which report_finish() returns
 * after it has written the others. A file may exceed the size, which is that before compression, by a
 * stack and its names.
 */
struct report_parts {
	size_t max_size, max_samples;
	int (*end)(void *arg, uint64_t n_events);
	void *arg;
};

/* What was profiled, for the head of a report. The caller keeps the strings. */
struct report_context {
	const char *target;     /* "python3 (PID 4711)" */
	const char *event;      /* "cpu-clock", "cycles", "uprobe:/lib/libc.so.6:malloc" */
	unsigned int hz;        /* 0: at each event */
	unsigned int period;    /* events for each of which a sample stands; 0: not known */
	unsigned int events;    /* sampled kinds, as EVENT_BIT */
	const struct group *by; /* key to group stacks by; NULL: the format's default */
	const struct report_event *several; /* if several events were sampled, each of them */
	size_t n_several;                   /* 0: there is one */
	const char *counts; /* what is counted, such as "page_faults"; NULL: events or samples */
	const char *value;  /* a number that each event has beside its count: "size"; NULL: none */
	const char *value_unit;           /* "bytes" */
	const struct report_number *more; /* beside this one, if there is one event */
	size_t n_more;                    /* at most REPORT_NUMBERS_MAX */
	const struct report_parts *parts; /* NULL: one file */
	size_t max_frames;                /* of a stack, for readers with a limit; 0: none */
	bool main_value;                  /* of several values, only the count and the last */
	bool for_pyroscope; /* pprof: of labels only the samples', and names that it takes */
	const struct top_viewer *viewer; /* takes what `top` would write; NULL: nobody */
	bool timed;                      /* of different rates: hz is 0, samples have times */
	bool wide;                       /* lines may be wider than a terminal */
	bool symbols;                    /* look names up */
	struct names *names;             /* for modules and kallsyms: how names are shown */
	const struct kallsyms *kallsyms; /* NULL: kernel addresses stay numbers */
	const char *command;             /* the profiler's command line */
	const char *host;                /* name of the machine */
	const char *kernel;              /* "Linux 6.18.5 " DP_ARCH */
	uint64_t started_ns;             /* CLOCK_MONOTONIC, as the samples' times */
	uint64_t started_real_ns;        /* the same time by CLOCK_REALTIME */
};

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
	bool no_memory;  /* it cannot tell bytes that were allocated from samples */
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
 * Before the first sample: it is written there instead, which must outlive the report. If its reader is given up, the
 * report goes on without an error, and what it gets is only counted.
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
