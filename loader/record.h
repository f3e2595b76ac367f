/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_RECORD_H
#define DP_LOADER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "pool.h"

struct report_format;

#define MIN_TABLE_MEMORY ((uint64_t)POOL_MIN_SEGMENTS * DP_SEGMENT_SIZE)
#define MAX_TABLE_MEMORY ((uint64_t)DP_MAX_SEGMENTS * DP_SEGMENT_SIZE)

/* A sixteenth of the machine's memory, but 64 MiB at least: the tables of most machines' programs. */
uint64_t record_default_table_memory(void);

/* What `dwarfprof record` is asked for. */
struct record_options {
	/* One of: processes, everything, or a command */
	const pid_t *pids;
	size_t n_pids;
	bool all;
	char **command; /* argv, NULL: none */

	uint64_t duration_ns; /* 0: until interrupted, or the targets are gone */
	unsigned int hz;
	const char *uprobe_path; /* NULL: sample the CPUs */
	const char *uprobe_symbol;

	enum dp_unwind unwind;
	unsigned int max_frames;
	uint64_t table_memory; /* bytes, from MIN_ to MAX_TABLE_MEMORY */
	bool cache;            /* tables are kept on disk */

	const char *output; /* file, NULL or "-": stdout */
	const struct report_format *format;
	bool symbols;
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
