/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_RECORD_H
#define DP_PROFILER_RECORD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/profiler.h"

struct names;
struct output_request;

/* How far a run is, for who may end it. */
enum record_stage {
	RECORD_LAUNCHED, /* the command, if there is one, was forked: it has no handlers that come now */
	RECORD_WRITING, /* sampling is over, and the result is being written */
};

/* Who may end a run before its time. It is the caller's; no handler of a signal is set here. */
struct record_end {
	int fd;               /* can be read, and stays so, when sampling is to end */
	const sigset_t *mask; /* signals that are blocked in a launched command */
	/* Told in the thread of record_run(). */
	void (*tell)(void *arg, enum record_stage stage);
	void *arg;
};

/* What `dwarfprof record` is asked for. */
struct record_options {
	struct profiler_options profiler;

	uint64_t duration_ns; /* 0: until interrupted, or the targets are gone */
	uint64_t interval_ns; /* how often the reports are told that one is over; 0: never */
	bool keys;            /* a `q` from stdin is the end */
	const struct record_end *end; /* NULL: nobody ends it */

	const char *command_line; /* what was typed */
	const struct output_request *outputs;
	size_t n_outputs;
};

/* Exit codes of the program. */
enum {
	EXIT_CODE_OK = 0,
	EXIT_CODE_FAILED = 1,
	EXIT_CODE_USAGE = 2,
	EXIT_CODE_NOT_PERMITTED = 3,
	EXIT_CODE_NO_PROCESS = 4,
	EXIT_CODE_NO_SAMPLES = 5,
};

/* Do it: sample, report, and return the exit code. Everything there is to say has been said. */
int record_run(const struct record_options *options);

#endif
