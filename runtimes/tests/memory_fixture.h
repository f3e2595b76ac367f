/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_TESTS_MEMORY_FIXTURE_H
#define DP_RUNTIMES_TESTS_MEMORY_FIXTURE_H

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "runtimes/runtime.h"

/* A process's memory: zeros from PLACE on, until something is put there. */
#define PLACE 0x10000

static uint8_t bytes[0x10000];

static int read_bytes(void *arg, void *ret, size_t size, uint64_t address)
{
	if (address < PLACE || address - PLACE > sizeof(bytes) ||
	    size > sizeof(bytes) - (address - PLACE))
		return -EFAULT;
	memcpy(ret, bytes + (address - PLACE), size);
	return 0;
}

static const struct runtime_memory memory = { read_bytes, NULL };

static inline void put(uint64_t address, const void *from, size_t size)
{
	memcpy(bytes + (address - PLACE), from, size);
}

static inline void put_word(uint64_t address, uint64_t value)
{
	put(address, &value, sizeof(value));
}

static inline void put_half(uint64_t address, uint32_t value)
{
	put(address, &value, sizeof(value));
}

#endif
