/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_VERIFY_H
#define DP_SAMPLES_VERIFY_H

#include <time.h>

#include "report/verified.h"
#include "samples/unwinder.h"
#include "samples/verify_maps.h"

/*
 * --verify: unwinds samples a second time in user space, from their registers and a copy of the
 * stack, with elfutils' libdwfl, which reads the binaries' unwind information itself (second_walk.h), in
 * processes without privileges (verifiers.h). Both use the
 * same mappings and files; nothing else is shared. Reading the files may take long, so
 * verify_queue.h has a thread for it.
 */
struct verify;
struct parsers;

/* As verifiers_new(). */
int verify_new(struct parsers *parsers, unsigned int max_frames, struct verify **ret);
struct verify *verify_free(struct verify *verify);

/*
 * Unwinds a copied stack with the mappings of its time, and compares its frames with the sample's.
 * *ret is valid until the next call. Maps with the same number must be the same.
 */
void verify_stack(struct verify *verify, const struct verify_maps *maps,
		  const struct stack_copy *copy, const struct frame *ours, size_t n_ours,
		  struct verified_stack *ret);

/* What the thread that verifies waits for: as verifiers_clock(). */
clockid_t verify_clock(const struct verify *verify);

#endif
