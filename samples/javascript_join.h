/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_JAVASCRIPT_JOIN_H
#define DP_SAMPLES_JAVASCRIPT_JOIN_H

#include "process/mapping.h"
#include "report/sample.h"
#include "samples/runtime_join.h"

/*
 * Puts V8's functions in the places of the native frames that they are noted for, and leaves out
 * frames of V8's code that only leads from one to the next, or with runtime_join.keeps_native, puts
 * the functions behind their native frames. As runtime_join_sample(); mapping: of the file with V8,
 * or NULL. `frames` has room for DP_MAX_FRAMES, and becomes the sample's.
 */
void javascript_join_sample(struct runtime_join *join, const struct mapping *mapping,
			    const struct runtime_frames *runtime, struct frame *frames,
			    struct sample *sample);

#endif
