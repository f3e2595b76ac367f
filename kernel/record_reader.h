/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_RECORD_READER_H
#define DP_KERNEL_RECORD_READER_H

#include "kernel/last_stacks.h"

/*
 * Called for a part of a record (struct dp_part), which is gone afterwards, and for how many bytes
 * there are. A sample is a struct named_sample by then, checked and whole (last_stacks.h), so its
 * type is DP_RECORD_NAMES. -EBADMSG: the part is refused, which is counted; types that are not known
 * are to be passed over instead. -EAGAIN: this record was taken, and the others of its ring are left
 * for the next time. Without it, a ring that is filled as fast as it is read would be read for ever.
 * Another negative errno ends the reading.
 */
typedef int (*ring_fn)(void *arg, unsigned int cpu, const void *part, size_t size);

/* Takes the records of one ring apart; zero is a new one. */
struct record_reader {
	struct last_stacks stacks;
	uint64_t n_refused; /* records: too short, or damaged */
};

void record_reader_done(struct record_reader *reader);

/*
 * A record of so many bytes, in the order of the ring: have fn called for its sample, or for each
 * other part. 0, -EAGAIN, -ENOMEM, or an error of fn.
 */
int record_reader_read(struct record_reader *reader, const void *record, size_t size,
		       unsigned int cpu, ring_fn fn, void *arg);

#endif
