/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_VERIFY_QUEUE_H
#define DP_SAMPLES_VERIFY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/verification.h"
#include "report/verified.h"
#include "samples/unwinder.h"

struct names;
struct parsers;
struct snapshot;

/*
 * Samples that libdwfl has yet to verify (verify.h), in a thread of its own: it opens and reads
 * files, which the thread that reads the rings must not wait for. The latter hands over a sample's
 * frames, the copy of its stack and the mappings of its snapshot (verify_maps.h), all by value, and
 * counts the results. Samples do not wait here: the thread of the reports waits for the result when
 * it gets to the sample.
 *
 * What there is no room for is left out, and so is all that waits while libdwfl hangs: the process
 * that the thread waits for, or else the thread, has used no CPU time for WORKERS_HANG_NS. Both are
 * counted, as VERIFIED_LEFT_OUT.
 */
struct verify_queue;

/*
 * Starts the thread, with parsers as for verify_new(). names: names_disable() ends verify_queue_finish(), too. 0
 * or a negative errno.
 */
int verify_queue_new(struct parsers *parsers, unsigned int max_frames, const struct names *names,
		     struct verify_queue **ret);

/*
 * Verifies a sample, whose frames are already resolved, with the mappings of its time; NULL: they
 * are not known. Takes over the copy of its stack, even on failure; NULL: there is none. The caller
 * drops *ret. 0 or -ENOMEM.
 */
int verify_queue_add(struct verify_queue *queue, const struct sample *sample,
		     const struct snapshot *snapshot, struct stack_copy *copy,
		     struct verification **ret);

/* Counts the finished ones. To be called several times a second. NULL is allowed. */
void verify_queue_collect(struct verify_queue *queue);

/* Waits for what is left, unless the user does not want to. */
void verify_queue_finish(struct verify_queue *queue);

/* Leaves out what is left, so that nobody waits for it. NULL is allowed. */
void verify_queue_give_up(struct verify_queue *queue);

/*
 * Gives up, and ends the thread; one that hangs frees what it uses when it ends. Nobody may have a
 * verification any more. NULL is allowed. Returns NULL.
 */
struct verify_queue *verify_queue_free(struct verify_queue *queue);

/* The results so far; valid as long as the queue. They are the caller's thread's. */
const struct verified *verify_queue_results(const struct verify_queue *queue);

/* Prints them on stderr. */
void verify_queue_log(const struct verify_queue *queue, bool symbols);

#endif
