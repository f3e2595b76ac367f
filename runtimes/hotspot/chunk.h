/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_HOTSPOT_CHUNK_H
#define DP_RUNTIMES_HOTSPOT_CHUNK_H

#include "bpf/abi.h"
#include "runtimes/hotspot/layout.h"

/*
 * Where objects of a JVM have the frames that a virtual thread has left in the heap (StackChunk), by what the
 * JVM keeps of these classes' fields; for the walker. 0; -EAGAIN: the classes are not loaded yet, or cannot be
 * read now; -ENOTSUP: it does not say. Then such frames are not read.
 */
int hotspot_chunk_read(const struct hotspot_layout *layout, hotspot_read *read, void *memory,
		       struct dp_hotspot *ret);

#endif
