/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_HOTSPOT_CHUNK_H
#define DP_RUNTIMES_HOTSPOT_CHUNK_H

#include "bpf/abi.h"
#include "runtimes/hotspot/layout.h"

/*
 * Finds, for the walker, where heap objects (StackChunk) have the frames of an unmounted virtual thread, by the JVM's
 * descriptions of these classes' fields. 0; -EAGAIN: the classes are not loaded yet, or cannot be read now; -ENOTSUP:
 * the JVM does not describe them. Without this, such frames are not read.
 */
int hotspot_chunk_read(const struct hotspot_layout *layout, hotspot_read *read, void *memory,
		       struct dp_hotspot *ret);

#endif
