/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_RUNTIME_JOIN_H
#define DP_SAMPLES_RUNTIME_JOIN_H

#include <stdbool.h>

#include "kernel/ring_record.h"
#include "process/process_table.h"
#include "report/sample.h"

/* Puts the frames of runtimes in the places of the native frames that execute them. */
struct runtime_join {
	struct process_table *table;
	bool keeps_native;    /* the interpreter's own frames remain, too */
	struct frame *frames; /* twice DP_MAX_FRAMES, of the last sample */
	uint64_t n_apart;     /* samples whose frames could not be merged */
};

/* What the kernel has sent of one runtime. */
struct runtime_frames {
	unsigned int kind;
	enum dp_runtime_outcome outcome;
	const struct dp_runtime_frame *frames; /* leaf first */
	size_t n;
};

/* 0 or -ENOMEM. */
int runtime_join_init(struct runtime_join *ret, struct process_table *table);
void runtime_join_done(struct runtime_join *join);

/*
 * Replaces the user frames of a sample whose runtime's frames the kernel has sent. Each native
 * frame of an evaluation loop is replaced by the frames up to the one that entered the loop, in
 * order from the root; of a stack whose root is missing, from the leaf. A loop that is just being
 * entered or left has none, and remains. Native frames that call functions in C are replaced by
 * these, likewise. More than DP_MAX_FRAMES are cut. If the numbers do not fit otherwise, the sample
 * is left as it is, and counted.
 *
 * A process may have two runtimes: each has its own loops. The frames live until the next call.
 * snapshot: the one that the kernel used, or NULL. runtime: NULL: there is none.
 */
void runtime_join_sample(struct runtime_join *join, const struct snapshot *snapshot,
			 const struct dp_runtime *runtime, struct sample *sample);

/*
 * The frames of runtimes of a sample that cannot be joined yet, for frame_read(): those that it has not returned before,
 * in no order. They live until the next call. Returns their number.
 */
size_t runtime_join_code(struct runtime_join *join, const struct snapshot *snapshot,
			 const struct named_sample *sent, const struct frame **ret);

#endif
