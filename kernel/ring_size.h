/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_RING_SIZE_H
#define DP_KERNEL_RING_SIZE_H

#include <stddef.h>

/*
 * Returns the size in bytes of each of n ring buffers. They must hold what arrives while a large
 * table is built, when samples that wait for it include their stacks. On machines with many CPUs
 * each is smaller, to bound the total.
 */
size_t ring_size(size_t n_rings);

#endif
