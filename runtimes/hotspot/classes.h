/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_HOTSPOT_CLASSES_H
#define DP_RUNTIMES_HOTSPOT_CLASSES_H

#include "bpf/abi.h"
#include "runtimes/hotspot/layout.h"

/*
 * Reads how a JVM that has started, with these options, finds the classes of its objects. Fills that part of ret. 0;
 * -ENOTSUP: its tables do not tell; or an error of reading.
 */
int hotspot_classes_read(const struct hotspot_layout *layout, const struct hotspot_flags *flags,
			 hotspot_read *read, void *memory, struct dp_hotspot *ret);

#endif
