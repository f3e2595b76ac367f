/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_VERIFY_H
#define DP_SAMPLES_VERIFY_H

#include "process/snapshot.h"
#include "report/verified.h"
#include "samples/unwinder.h"

/*
 * --verify: unwinds samples a second time in user space, from their registers and a copy of the
 * stack, with elfutils' libdwfl, which reads the binaries' unwind information itself. Both use the
 * same mappings and files; nothing else is shared.
 *
 * libdwfl uses the frame pointer in code without unwind information, and checks nothing that it
 * finds. Its stack ends at the first address in no executable mapping.
 */
struct verify;

int verify_new(unsigned int max_frames, struct verify **ret);
struct verify *verify_free(struct verify *verify);

/*
 * Unwinds and compares one sample, whose frames are already resolved, with the mappings of its
 * time. snapshot, copy: NULL if there is none. The result is valid until the next call.
 */
const struct verified_stack *verify_sample(struct verify *verify, const struct sample *sample,
					   const struct snapshot *snapshot,
					   const struct stack_copy *copy);

/* The results so far; valid as long as verify. */
const struct verified *verify_results(const struct verify *verify);

/* Prints them on stderr. */
void verify_log(const struct verify *verify, bool symbols);

#endif
