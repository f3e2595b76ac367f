/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_JAVASCRIPT_JOIN_H
#define DP_SAMPLES_JAVASCRIPT_JOIN_H

#include "process/mapping.h"
#include "report/sample.h"
#include "samples/runtime_join.h"

/*
 * Replaces native frames by the JavaScript functions that they execute, and removes frames of V8's glue code between
 * them; with runtime_join.keeps_native, inserts the functions behind their native frames instead. As
 * runtime_join_sample(). mapping: of the file with V8, or NULL. `frames` has room for DP_MAX_FRAMES and becomes the
 * sample's array.
 */
void javascript_join_sample(struct runtime_join *join, const struct mapping *mapping,
			    const struct runtime_frames *runtime, struct frame *frames,
			    struct sample *sample);

#endif
