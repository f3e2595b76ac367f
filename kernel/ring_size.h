/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_RING_SIZE_H
#define DP_KERNEL_RING_SIZE_H

#include <stddef.h>

/*
 * Bytes of each ring buffer, of so many: room for what arrives while a large table is
 * being made, as samples that wait for it take their stacks along; on a machine of many
 * CPUs less, so that they do not take too much together.
 */
size_t ring_size(size_t n_rings);

#endif
