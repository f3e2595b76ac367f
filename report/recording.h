/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_RECORDING_H
#define DP_REPORT_RECORDING_H

#include <stddef.h>
#include <stdint.h>

/*
 * A recording: raw samples in a file, `.dwarfprof`, to be reported later, also on another
 * machine. docs/FORMAT.md draws it. It is a header, and blocks (block_stream.h) of records.
 * A record is its tag, the size of what follows, and that; numbers are varints (bytes.h).
 *
 * What samples have in common is told once, before the first sample that needs it, and
 * then referred to by its number: each kind is numbered from 0, in the order of the file.
 */
#define RECORDING_MAGIC "dwarfrec"
#define RECORDING_MAGIC_SIZE 8
#define RECORDING_VERSION 1

/* All of the file that is not in blocks; the number is little-endian. */
struct recording_head {
	char magic[RECORDING_MAGIC_SIZE];
	uint32_t version;
	uint32_t unused; /* 0 */
};

/* Readers pass over tags that they do not know, and over what follows the fields they know. */
enum recording_tag {
	RECORDING_CONTEXT = 1, /* pairs of texts: what was profiled, where, and how */
	RECORDING_MODULE,    /* path, build id, size, seconds and nanoseconds of its last change */
	RECORDING_FUNCTION,  /* of the kernel: start, name, module */
	RECORDING_TASK,      /* pid, tid, comm, thread_name */
	RECORDING_STACK,     /* the user's frames */
	RECORDING_PLACEMENT, /* where the modules of a stack were */
	RECORDING_KERNEL,    /* the kernel's frames */
	RECORDING_LOST,      /* samples lost until now, and their time */
	RECORDING_SAMPLE,
	RECORDING_FORGET,   /* all numbers begin again at 0 */
	RECORDING_TOTALS,   /* the end */
	RECORDING_COMPILED, /* a function that a process compiled itself: name, file, line */
	RECORDING_LABELS,   /* are they cut? then keys and texts, each with its zero */
	RECORDING_NUMBERS,  /* labels that are numbers: key, unit, number */
	RECORDING_N_TAGS,
};

/* Which fields a sample has behind those that each one has, in this order. */
enum recording_field {
	RECORDING_HAS_EVENT = 1, /* and state */
	RECORDING_HAS_WEIGHT = 2,
	RECORDING_HAS_VALUE = 4,
	RECORDING_HAS_OUTCOME = 8,
	RECORDING_HAS_FAULT = 16,
	RECORDING_HAS_KERNEL_ERROR = 32,
	RECORDING_IS_LATE = 64, /* without a field */
	RECORDING_HAS_LABELS = 128,
	RECORDING_HAS_NUMBERS = 256,
};

/* A frame of a stack begins with its slot times this plus its method. */
#define RECORDING_METHODS 16

/* A record is smaller than this: what no writer makes is damage. */
#define RECORDING_MAX_RECORD (256 << 10)

/*
 * Memory, about, that what was told once may take, in the writer and in the reader; then
 * it is forgotten, and told again when it is needed.
 */
#define RECORDING_MEMORY ((size_t)48 << 20)

#endif
