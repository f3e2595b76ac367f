/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_REPORT_CONTEXT_H
#define DP_REPORT_REPORT_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct group;
struct kallsyms;
struct names;
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

#define REPORT_NUMBERS_MAX 7

/*
 * The label of each sample with the name of its event, if there are several. Programs have their own
 * labels `event`; this key comes before theirs, as labels are sorted.
 */
#define REPORT_EVENT "-e"
/* The event of samples taken by probes that were added while sampling. */
#define REPORT_PROBE_EVENT "probe"

/*
 * For a format whose readers take files of a limited size (otlp, pprof): it writes several, each
 * complete by itself, and each sample into one of them. `end` is called after each file, with the number of events in
 * it; what is written afterwards belongs to the next one. It returns 0 or a negative errno, which report_finish()
 * returns after writing the others. A file may exceed the size, which is that before compression, by a stack and its
 * names.
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
	bool timed;                      /* samples of different rates: hz is 0, each has a time */
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

#endif
