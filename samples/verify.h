/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_VERIFY_H
#define DP_SAMPLES_VERIFY_H

#include "process/snapshot.h"
#include "report/verified.h"
#include "samples/unwinder.h"

/*
 * --verify: samples are unwound a second time, in user space, by elfutils'
 * libdwfl, which reads the binaries' unwind information itself: from the
 * registers of the sample and a copy of its stack. Both use the same mappings
 * of the process and the same files; all else is theirs.
 *
 * libdwfl goes on by the frame pointer where code has no unwind information, and
 * asks nothing of what it finds. An address that lies in no executable mapping
 * is no frame: there, its stack ends.
 */
struct verify;

int verify_new(unsigned int max_frames, struct verify **ret);
struct verify *verify_free(struct verify *verify);

/*
 * Unwind and compare one sample, whose frames are resolved already, with the
 * mappings of its moment. snapshot, copy: NULL if there is none. What is returned
 * is valid until the next call.
 */
const struct verified_stack *verify_sample(struct verify *verify, const struct sample *sample,
					   const struct snapshot *snapshot,
					   const struct stack_copy *copy);

/* The results so far; valid as long as verify. */
const struct verified *verify_results(const struct verify *verify);

/* Say them on stderr. */
void verify_log(const struct verify *verify, bool symbols);

#endif
