/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_HELD_CODE_H
#define DP_SAMPLES_HELD_CODE_H

#include <stdint.h>

struct off_cpu_intervals;
struct queued;
struct report_queue;
struct runtime_join;
struct sample;

/*
 * Lets the queue read what names the functions of runtimes in samples that wait: their processes may have ended when
 * they are reported. While the queue is full, nothing is read before. All return 0 or a negative errno.
 */

/* Of one that is about to be held. */
int held_code_read(struct runtime_join *join, struct report_queue *queue,
		   const struct queued *queued);
/* Of one that waits for what becomes of its calls. */
int held_code_read_kept(struct report_queue *queue, const struct sample *sample);
/* Of threads that have been blocked for long. */
int held_code_read_blocked(struct report_queue *queue, struct off_cpu_intervals *intervals,
			   uint64_t now);

#endif
