/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_RECORD_H
#define DP_PROFILER_RECORD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/profiler_options.h"

struct names;
struct output_request;

/* Stages of a run, of interest to whoever may end it. */
enum record_stage {
	RECORD_LAUNCHED, /* the command, if any, was forked; handlers set now are not inherited */
	RECORD_WRITING,  /* sampling has ended, the result is being written */
};

/* How to end a run early. It is the caller's; no signal handler is installed here. */
struct record_end {
	int fd;               /* becomes readable, and stays so, to end sampling */
	const sigset_t *mask; /* signal mask of a launched command */
	/* Called by the thread of record_run(). */
	void (*tell)(void *arg, enum record_stage stage);
	void *arg;
};

/* Options of `dwarfprof record`. */
struct record_options {
	struct profiler_options profiler;

	uint64_t duration_ns; /* 0: until interrupted, or all targets have ended */
	bool kill;            /* end a launched command when sampling ends; false: wait for it */
	uint64_t interval_ns; /* how often reports are told that an interval ended; 0: never */
	const struct record_end *end; /* NULL: it cannot be ended early */

	bool tasks; /* dump: also the stacks of asyncio's tasks */

	const char *command_line; /* as typed */
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

/* The exit code for a result: 0, or a negative errno that has been logged. */
int exit_code_of(int err);

/* Samples and reports. Returns the exit code. All messages have been printed by then. */
int record_run(const struct record_options *options);

#endif
