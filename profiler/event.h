/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_EVENT_H
#define DP_PROFILER_EVENT_H

#include <stdbool.h>
#include <stdio.h>

#include "bpf/abi.h"
#include "report/sample.h"

struct profiler_options;
struct session;

/* How reports call an event, and how the log says that it is sampled now. */
struct event_text {
	char name[512]; /* "uprobe:/lib/libc.so.6:malloc" */
	char how[1024]; /* "at each call of malloc in /lib/libc.so.6" */
};

/*
 * What samples are taken for. A source is one object in a file of its own, with a row in event.c
 * if users may name it; hosts may have sources that are in no table.
 */
struct event_source {
	const char *name;      /* "uprobe" */
	const char *argument;  /* what a user gives with it: "PATH:SYMBOL"; NULL: nothing */
	unsigned int programs; /* that take its samples: EVENT_BIT of each */
	bool at_rate;          /* so many times a second: profiler_options.hz */
	const char *counts;    /* what they count, a word: "page_faults"; NULL: samples or events */
	bool user_only;        /* it happens in programs, never in the kernel */
	const char *missing;   /* why there may be no sample of a target, which... */
	/* NULL, or is this an argument? 0, -EINVAL, or why the file before its last colon cannot be read. */
	int (*check)(const char *argument);
	/* Start it. Says what is wrong: 0 or a negative errno. */
	int (*attach)(struct session *session, const struct profiler_options *options,
		      struct event_text *ret);
};

struct event {
	const struct event_source *source;
	const char *argument; /* NULL: it takes none */
};

extern const struct event_source event_cpu;
extern const struct event_source event_off_cpu;
extern const struct event_source event_wall;
extern const struct event_source event_uprobe;

/* Does it sample threads that block? Its samples have times then, and not numbers. */
bool event_has_blocks(const struct event *event);

/* And others, which run? */
bool event_is_mixed(const struct event *event);

/* What threads may wait for when their blocks are sampled, as is usual: bits by enum dp_state. */
unsigned int event_states(const struct event *event);

/*
 * "uprobe:libc.so.6:malloc", "cpu". What is returned leads into the text. 0, -EINVAL if there is no
 * such event, or why the file of its argument cannot be read.
 */
int event_parse(const char *text, struct event *ret);

/* "cpu, off-cpu, wall, uprobe:PATH:SYMBOL" */
void event_list(FILE *to);

#endif
