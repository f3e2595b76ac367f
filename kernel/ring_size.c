// SPDX-License-Identifier: Apache-2.0
#include "kernel/ring_size.h"

#define MAX_RING_SIZE (16U << 20)
#define MIN_RING_SIZE (1U << 20)
#define ALL_RINGS_SIZE (128U << 20)

size_t ring_size(size_t n_rings)
{
	size_t size = MAX_RING_SIZE;

	while (size > MIN_RING_SIZE && size * n_rings > ALL_RINGS_SIZE)
		size /= 2;
	return size;
}
