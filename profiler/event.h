/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_EVENT_H
#define DP_PROFILER_EVENT_H

#include <stdbool.h>
#include <stdio.h>

#include "bpf/abi.h"
#include "kernel/event.h"
#include "kernel/tracer.h"
#include "report/report.h"
#include "report/sample.h"
#include "samples/label_values.h"
#include "samples/probed_code.h"

struct event_texts;
struct profiler_options;
struct parsers;
struct process_table;
struct session;
struct spans;

#define EVENT_TEXT_SIZE 512

/*
 * The name of an event in reports, its description in the log when sampling starts, and how the
 * values of its samples are written.
 */
struct event_text {
	char name[512];            /* "uprobe:/lib/libc.so.6:malloc" */
	char how[1024];            /* "at each call of malloc in /lib/libc.so.6" */
	struct value_forms *lists; /* by the number of the list of arguments */
	size_t n_lists;
	struct value_forms *thrown; /* of exceptions; NULL: none */
	/* Of probes whose calls label samples (label_probes.h) */
	struct probed_code code[DP_MAX_LABEL_PROBES];
	size_t n_code;
	char called[256]; /* how reports name calls of the first one */
};

void event_text_done(struct event_text *text);

/* What attaching events needs. */
struct event_means {
	struct session *session;
	struct parsers *parsers;               /* read files; NULL: this process does */
	const struct process_table *processes; /* with what they map; NULL: they are not known */
};

/*
 * A source of samples. Each is one object in its own file, with a row in event.c if users may name
 * it. Hosts may have sources that are not in the table.
 */
struct event_source {
	const char *name;     /* "uprobe" */
	const char *argument; /* its argument in messages: ":PATH:NAME"; NULL: it has none */
	/* What a pattern as its argument selects: "functions"; NULL: it takes none */
	const char *pattern;
	bool has_commas;       /* its argument may have commas, so it must be the last of a list */
	const char *when;      /* when there is a sample, for the help; NULL: it has an option */
	unsigned int programs; /* BPF programs that take its samples, an EVENT_BIT for each */
	unsigned int levels;   /* the most walks in progress on a CPU (DP_CPU_LEVELS); 0: one */
	/* 2: a program may interrupt another one that writes a record; 0: 1 */
	unsigned int rings_per_cpu;
	/*
	 * Which blocked threads it samples if options do not say: bits by enum dp_state; 0: none.
	 * Their samples have a time instead of a count, also those of threads that are blocked
	 * already when it starts.
	 */
	unsigned int states;
	bool cpu_has_time; /* samples of CPUs have a time, too: until the next one */
	bool at_rate;      /* sampled at the rate profiler_options.hz */
	/*
	 * It counts events: profiler_options.period of them may be a sample, and several such
	 * events may be sampled at once.
	 */
	bool has_period;
	bool is_several;         /* several of this source alone may be sampled at once */
	enum tracer_kind tracer; /* of DP_EVENT_TRACE */
	const char *counts;    /* the unit of its counts: "page_faults"; NULL: samples or events */
	bool user_only;        /* never happens in the kernel */
	bool has_exceptions;   /* it samples throws of exceptions in all runtimes */
	unsigned int max_rate; /* samples per process and second if options do not say; 0: all */
	const char *missing;   /* why a target may have no samples, after "which" */
	/*
	 * Validates an argument: 0, -EINVAL, or the error of reading the file in front of the first
	 * colon. May be NULL if there is a colon before the argument.
	 */
	int (*check)(const struct event_source *source, const char *argument);
	/* Explains what is wrong with an invalid argument. NULL: messages only say that it is invalid. */
	void (*explain)(const struct event_source *source, const char *argument,
			char ret_why[EVENT_TEXT_SIZE]);
	/* Do its samples have values, as the argument asks for? NULL: no */
	bool (*has_values)(const struct event_source *source, const char *argument);
	/* Also the times of calls? NULL: no */
	bool (*has_times)(const struct event_source *source, const char *argument);
	/*
	 * What an argument with a glob stands for, as arguments of this source: event_expand(). NULL:
	 * it takes none.
	 */
	int (*expand)(const char *argument, struct event_texts *ret, char ret_why[EVENT_TEXT_SIZE]);
	/* Are two arguments equal, perhaps in different spelling? NULL: there is only one spelling. */
	bool (*is_same)(const char *a, const char *b);
	/* Starts the event. Logs errors. 0 or a negative errno. */
	int (*attach)(const struct event_means *means, const struct profiler_options *options,
		      struct event_text *ret);
};

struct event {
	const struct event_source *source;
	const char *argument; /* NULL: the source has none */
};

/* Enough for the name of an event that may be one of several: "page-faults", "r1c2". */
#define EVENT_NAME_SIZE 128
/* The name of an event in reports, without its values. */
void event_name(const struct event *event, char ret[EVENT_NAME_SIZE]);

extern const struct event_source event_cpu;
extern const struct event_source event_off_cpu;
extern const struct event_source event_wall;
extern const struct event_source event_uprobe;
extern const struct event_source event_uretprobe;
extern const struct event_source event_usdt;
extern const struct event_source event_exceptions;
extern const struct event_source event_alloc;
extern const struct event_source event_page_faults;
extern const struct event_source event_minor_faults;
extern const struct event_source event_major_faults;
extern const struct event_source event_context_switches;
extern const struct event_source event_cpu_migrations;
extern const struct event_source event_cycles;
extern const struct event_source event_instructions;
extern const struct event_source event_cache_references;
extern const struct event_source event_cache_misses;
extern const struct event_source event_branches;
extern const struct event_source event_branch_misses;
extern const struct event_source event_raw;
extern const struct event_source event_crash;
extern const struct event_source event_wakeups;
extern const struct event_source event_tracepoint;
extern const struct event_source event_raw_tracepoint;
extern const struct event_source event_fentry;
extern const struct event_source event_kprobe;

/*
 * Attaches all that is sampled: probes that label samples (label_probes.h), crashes, the events. *ret_labels
 * and *ret_spans refer to *ret. Logs errors. 0 or a negative errno.
 */
int events_attach(const struct event_means *means, const struct profiler_options *options,
		  struct event_text *ret, struct value_labels *ret_labels, struct spans *ret_spans);

/* Does each of its samples stand for the number of events that the kernel has counted for it? */
bool event_has_periods(const struct event *event, unsigned int period);

/*
 * Parses "uprobe:libc.so.6:malloc" or "cpu". *ret points into the text. Returns 0, -EINVAL if there
 * is no such event, or the error of reading the file in its argument.
 */
int event_parse(const char *text, struct event *ret);

/* Can the argument of the event that the text begins with contain commas? */
bool event_has_commas(const char *text);
/* The first comma in a list of events that is not between parentheses; NULL: there is none. */
char *event_find_comma(char *text);

/* Are they equal, perhaps in different spelling? */
bool event_is_same(const struct event *a, const struct event *b);

/* May they be sampled at once? */
bool event_may_join(const struct event *a, const struct event *b);

/*
 * The events that a text with a glob stands for: `tracepoint:sched:sched_process_*`, with values for
 * each. None if it has no glob. 0, -EINVAL, and what is wrong, or another negative errno.
 * event_texts_done() frees *ret.
 */
struct event_texts {
	char *items[EVENT_MAX];
	size_t n;
};

int event_expand(const char *text, struct event_texts *ret, char ret_why[EVENT_TEXT_SIZE]);
void event_texts_done(struct event_texts *texts);

/* Writes "cpu, off-cpu, wall, uprobe:PATH:NAME, page-faults". */
void event_list(FILE *to);

/* Writes "page-faults, minor-faults, each one; cycles, instructions, -F times a second". */
void event_list_help(FILE *to);

#endif
