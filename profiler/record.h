/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_RECORD_H
#define DP_PROFILER_RECORD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "kernel/pool.h"
#include "process/target.h"

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
	struct target target;

	uint64_t duration_ns; /* 0: until interrupted, or the targets are gone */
	unsigned int hz;
	const char *uprobe_path; /* NULL: sample the CPUs */
	const char *uprobe_symbol;

	enum dp_sides sides;
	bool off_cpu;          /* blocked threads instead of the CPUs, or */
	bool wall;             /* both of them */
	unsigned int states;   /* of blocked threads: bits by enum dp_state */
	uint64_t min_block_ns; /* blocks that are shorter or longer are left out */
	uint64_t max_block_ns;
	unsigned int max_rate; /* samples per process and second; 0: no limit */

	enum dp_unwind unwind;
	unsigned int max_frames;
	unsigned int verify;   /* every so many samples; 0: none */
	const char *btf;       /* a file with the kernel's types (kernel_types.h), or NULL */
	uint64_t table_memory; /* bytes, from POOL_MIN_ to POOL_MAX_MEMORY */
	bool cache;            /* tables and names are kept on disk */

	uint64_t interval_ns; /* how often the reports are told that one is over; 0: never */
	bool keys;            /* a `q` from stdin is the end */
	const struct record_end *end; /* NULL: nobody ends it */

	const char *command_line; /* what was typed */
	const struct output_request *outputs;
	size_t n_outputs;
	bool symbols;
	struct names
		*names; /* whose options say what names look like; of no use to others meanwhile */
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
