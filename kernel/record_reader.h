/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_RECORD_READER_H
#define DP_KERNEL_RECORD_READER_H

#include "kernel/last_stacks.h"

/*
 * Called for each part of a record (struct dp_part), with its size in bytes; the part is valid only
 * during the call. A sample arrives as a checked and complete struct named_sample (last_stacks.h),
 * so its type is DP_RECORD_NAMES. Parts of unknown types must be ignored.
 *
 * Returns 0, -EBADMSG to refuse the part, which is counted, or -EAGAIN to accept it and leave the
 * rest of the ring for the next time, as otherwise a ring that fills as fast as it is read would be
 * read forever. Any other negative errno ends reading.
 */
typedef int (*ring_fn)(void *arg, unsigned int cpu, const void *part, size_t size);

/* Splits the records of one ring into parts. A zeroed structure is ready for use. */
struct record_reader {
	struct last_stacks stacks;
	uint64_t n_refused; /* records that are too short or damaged */
};

void record_reader_done(struct record_reader *reader);

/*
 * Reads one record of `size` bytes, in the order of the ring: calls fn for its sample, or for each
 * other part. 0, -EAGAIN, -ENOMEM, or an error of fn.
 */
int record_reader_read(struct record_reader *reader, const void *record, size_t size,
		       unsigned int cpu, ring_fn fn, void *arg);

#endif
