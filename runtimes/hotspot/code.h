/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_HOTSPOT_CODE_H
#define DP_RUNTIMES_HOTSPOT_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "runtimes/hotspot/layout.h"

/*
 * Finds where a JVM has its code, for the walker; it does not change after the JVM has started. 0; -EAGAIN: the JVM has
 * not started, or cannot be read now; -ENOTSUP: its data are inconsistent.
 */
int hotspot_code_read(const struct hotspot_layout *layout, hotspot_read *read, void *memory,
		      struct dp_hotspot *ret);

/* True if the walker may read it to leave code: an address in a heap, or its map. */
bool hotspot_code_has(const struct dp_hotspot *code, uint64_t address);

#endif
