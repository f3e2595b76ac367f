/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FUNCTIONS_ALLOCATOR_H
#define DP_FUNCTIONS_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/elf_file.h"

/*
 * The functions of a file that allocate memory and give it back: of the C library, jemalloc, tcmalloc,
 * mimalloc, or another one with such names, in a library or linked into a program. An operator new or delete is
 * one of them in a file of the last three, where it need not call the others. And where a file throws exceptions.
 */

#define ALLOCATOR_PLACES 128

struct allocator_place {
	uint64_t offset; /* in the file */
	uint32_t how;    /* enum dp_alloc */
	uint32_t zero;
};

struct allocator {
	struct allocator_place places[ALLOCATOR_PLACES]; /* by enum dp_alloc */
	uint32_t n;
	uint32_t zero;
};

/* 0, or -ENOENT: there are none, as in most files. */
int allocator_find(const struct elf_file *file, struct allocator *ret);

/* May it be one that this program has made? */
bool allocator_is_sound(const struct allocator *allocator);

#endif
