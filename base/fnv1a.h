/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_FNV1A_H
#define DP_BASE_FNV1A_H

#include <stddef.h>
#include <stdint.h>

#define FNV1A_START UINT64_C(0xcbf29ce484222325)

/* Continues a hash with more bytes; FNV1A_START begins one. */
static inline uint64_t hash_fnv1a(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
