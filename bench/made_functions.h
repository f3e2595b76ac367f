/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_MADE_FUNCTIONS_H
#define DP_BENCH_MADE_FUNCTIONS_H

/*
 * Unwind information of functions like those of compilers, the same in each run. Its user sets
 * ASSEMBLER_SIZE.
 */

#include "bpf/abi.h"
#include "cfi/tests/assembler.h"

struct function {
	uint64_t start, size;
	unsigned int frame; /* bytes from the stack pointer in its body up to the CFA */
};

static inline unsigned int pick(unsigned int *seed, unsigned int n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % n;
}

static inline void put_advance(struct assembler *a, unsigned int n)
{
	if (n < 64) {
		put_u8(a, (uint8_t)(0x40 | n));
	} else {
		put_u8(a, 0x03); /* advance_loc2 */
		put_u16(a, (uint16_t)n);
	}
}

static inline void put_cfa_offset(struct assembler *a, unsigned int bytes)
{
	put_u8(a, 0x0e);
	put_uleb(a, bytes);
}

/* Pushes registers, makes room, and undoes it at the end, as gcc -O2 does. */
static inline void put_function(struct assembler *a, unsigned int *seed, struct function *f,
				size_t cie)
{
	static const uint8_t registers[] = { DP_R15, DP_R14, DP_R13, DP_R12, DP_REG_FP, DP_RBX };
	unsigned int n = pick(seed, 7), room = 8 * pick(seed, 32), first = n < 6 ? 6 - n : 0;
	size_t fde = fde_begin(a, cie, f->start, f->size);

	for (unsigned int i = first; i < 6; i++) {
		put_advance(a, registers[i] >= DP_R8 ? 2 : 1);
		put_cfa_offset(a, 16 + 8 * (i - first));
		put_u8(a, 0x80 | registers[i]);
		put_uleb(a, 2 + i - first);
	}
	f->frame = 8 * (1 + 6 - first) + room;
	if (room > 0) {
		put_advance(a, 4);
		put_cfa_offset(a, f->frame);
	}
	put_advance(a, (unsigned int)f->size - 40);
	for (unsigned int i = 0; i < 6 - first; i++) {
		put_cfa_offset(a, 8 * (1 + 6 - first - i));
		put_advance(a, registers[5 - i] >= DP_R8 ? 2 : 1);
	}
	put_cfa_offset(a, 8);
	record_end(a, fde);
}

#endif
