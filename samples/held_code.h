/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_HELD_CODE_H
#define DP_SAMPLES_HELD_CODE_H

struct queued;
struct report_queue;
struct runtime_join;

/*
 * Lets the queue read what names the functions of runtimes in a sample that is about to be held: its process may have
 * ended when it is released. While the queue is full, nothing is read before. 0 or a negative errno.
 */
int held_code_read(struct runtime_join *join, struct report_queue *queue,
		   const struct queued *queued);

#endif
