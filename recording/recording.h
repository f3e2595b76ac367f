/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RECORDING_RECORDING_H
#define DP_RECORDING_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"

/*
 * A recording: raw samples in a file, `.dwarfprof`, to be reported later, perhaps on another
 * machine. docs/FORMAT.md draws it. It is a head and blocks (block_stream.h) of records. A record
 * is its tag, its length and its contents; numbers are varints (bytes.h).
 *
 * What samples share is stated once, before the first sample that needs it, and then referred to by
 * its number. Each kind is numbered from 0, in file order.
 */
#define RECORDING_MAGIC "dwarfrec"
#define RECORDING_MAGIC_SIZE 8
#define RECORDING_VERSION 1
/*
 * A number beside the count (--value) needs no other version. Its name is a key that older readers skip, and without
 * that they leave the number out: they tell the samples of such an event by their count, which is right, not by their time.
 */
/* Without a rate, each sample has its time: a reader that does not know this would only count them. */
#define RECORDING_VERSION_TIMED 2

/* The part of the file before the blocks; numbers are little-endian. */
struct recording_head {
	char magic[RECORDING_MAGIC_SIZE];
	uint32_t version;
	uint32_t unused; /* 0 */
};

static inline uint32_t recording_version(const struct report_context *context)
{
	return context->timed ? RECORDING_VERSION_TIMED : RECORDING_VERSION;
}

/* Readers skip unknown tags, and everything after the fields that they know. */
enum recording_tag {
	RECORDING_CONTEXT = 1, /* pairs of texts: what was profiled, where, and how */
	RECORDING_MODULE,      /* path, build id, size, modification time in seconds and
	                      * nanoseconds */
	RECORDING_FUNCTION,    /* of the kernel: start, name, module */
	RECORDING_TASK,        /* pid, tid, comm, thread_name */
	RECORDING_STACK,       /* the user frames */
	RECORDING_PLACEMENT,   /* the biases of a stack's modules */
	RECORDING_KERNEL,      /* the kernel frames */
	RECORDING_LOST,        /* samples lost so far, and their time */
	RECORDING_SAMPLE,
	RECORDING_FORGET,   /* all numbers start again at 0 */
	RECORDING_TOTALS,   /* the end */
	RECORDING_COMPILED, /* a JIT function: name, file, line, column */
	RECORDING_LABELS,   /* 1 if cut; then keys and texts, zero-terminated */
	RECORDING_NUMBERS,  /* numeric labels: key, unit, number */
	RECORDING_CALLS,    /* a probed function, and how long its calls took */
	RECORDING_DECIMALS, /* labels that are decimals: keys and texts, zero-terminated */
	RECORDING_N_TAGS,
};

/* Optional fields of a sample, in this order after the fixed ones. */
enum recording_field {
	RECORDING_HAS_EVENT = 1, /* and state */
	RECORDING_HAS_WEIGHT = 2,
	RECORDING_HAS_VALUE = 4,
	RECORDING_HAS_OUTCOME = 8,
	RECORDING_HAS_FAULT = 16,
	RECORDING_HAS_KERNEL_ERROR = 32,
	RECORDING_IS_LATE = 64, /* no field */
	RECORDING_HAS_LABELS = 128,
	RECORDING_HAS_NUMBERS = 256,
	RECORDING_HAS_DECIMALS = 512,
	RECORDING_HAS_PROBES = 1024, /* recording_probes.h */
};

/* The first number of a frame is its slot times this plus its method. */
#define RECORDING_METHODS 16

/* Keys of the context for each of several events, numbered from 0. */
#define RECORDING_KEY_EVENT "event.%zu"
#define RECORDING_KEY_COUNTS "counts.%zu"
#define RECORDING_KEY_VALUE "value.%zu" /* and what each has beside its count, if it has */
#define RECORDING_KEY_UNIT "value_unit.%zu"
/* Further numbers of one event, from 0 */
#define RECORDING_KEY_MORE "more.%zu"
#define RECORDING_KEY_MORE_UNIT "more_unit.%zu"
#define RECORDING_KEY_SIZE 32

int report_recording_new(struct report **ret);

#endif
