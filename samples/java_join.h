/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_JAVA_JOIN_H
#define DP_SAMPLES_JAVA_JOIN_H

struct runtime_frames;
struct process_table;
struct frame;
struct sample;

/*
 * Names a sample's HotSpot frames. The kernel sends one record per such frame, with the index of its native
 * frame. `frames` has room for DP_MAX_FRAMES and becomes the sample's array.
 */
void java_join_sample(struct process_table *table, const struct runtime_frames *runtime,
		      struct frame *frames, struct sample *sample);

#endif
