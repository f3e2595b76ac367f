/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_JAVA_JOIN_H
#define DP_SAMPLES_JAVA_JOIN_H

struct runtime_frames;
struct process_table;
struct frame;
struct sample;

/*
 * Names the frames of a sample that are HotSpot's, by what the kernel has sent of them: each of these
 * has the number of a native frame. `frames` has room for DP_MAX_FRAMES, and becomes the sample's.
 */
void java_join_sample(struct process_table *table, const struct runtime_frames *runtime,
		      struct frame *frames, struct sample *sample);

#endif
