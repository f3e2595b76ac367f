/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_TESTS_ASSEMBLER_H
#define DP_CFI_TESTS_ASSEMBLER_H

/*
 * Assembles unwind sections byte by byte, so that a test shows exactly what it tests, including
 * malformed bytes.
 */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "cfi/entry.h"

#ifndef ASSEMBLER_SIZE
#define ASSEMBLER_SIZE 4096
#endif

struct assembler {
	uint8_t bytes[ASSEMBLER_SIZE];
	size_t size;
};

static inline void put_bytes(struct assembler *a, const void *bytes, size_t n)
{
	assert(a->size + n <= sizeof(a->bytes));
	memcpy(a->bytes + a->size, bytes, n);
	a->size += n;
}

static inline void put_u8(struct assembler *a, uint8_t v)
{
	put_bytes(a, &v, sizeof(v));
}

static inline void put_u16(struct assembler *a, uint16_t v)
{
	put_bytes(a, &v, sizeof(v));
}

static inline void put_u32(struct assembler *a, uint32_t v)
{
	put_bytes(a, &v, sizeof(v));
}

static inline void put_u64(struct assembler *a, uint64_t v)
{
	put_bytes(a, &v, sizeof(v));
}

static inline void put_uleb(struct assembler *a, uint64_t v)
{
	do {
		uint8_t byte = v & 0x7f;

		v >>= 7;
		put_u8(a, (uint8_t)(v ? byte | 0x80 : byte));
	} while (v);
}

static inline void put_sleb(struct assembler *a, int64_t v)
{
	for (;;) {
		uint8_t byte = v & 0x7f;

		v >>= 7;
		if ((v == 0 && !(byte & 0x40)) || (v == -1 && (byte & 0x40))) {
			put_u8(a, byte);
			return;
		}
		put_u8(a, byte | 0x80);
	}
}

static inline void put_string(struct assembler *a, const char *s)
{
	put_bytes(a, s, strlen(s) + 1);
}

/* Starts a record; record_end() fills in its length. Returns its offset. */
static inline size_t record_begin(struct assembler *a)
{
	size_t at = a->size;

	put_u32(a, 0);
	return at;
}

static inline void record_end(struct assembler *a, size_t at)
{
	uint32_t length;

	while (a->size % 8 != 0)
		put_u8(a, 0); /* DW_CFA_nop */
	length = (uint32_t)(a->size - at - sizeof(length));
	memcpy(a->bytes + at, &length, sizeof(length));
}

/* The CIE that GCC makes for x86-64, up to its instructions: rsp+8, return address at CFA-8. */
static inline size_t cie_begin(struct assembler *a, const char *augmentation, uint8_t encoding)
{
	size_t at = record_begin(a);

	put_u32(a, 0); /* id */
	put_u8(a, 1);  /* version */
	put_string(a, augmentation);
	put_uleb(a, 1);  /* code alignment */
	put_sleb(a, -8); /* data alignment */
	put_u8(a, 16);   /* return address register */
	if (augmentation[0] == 'z') {
		put_uleb(a, 1);
		put_u8(a, encoding);
	}
	return at;
}

static inline size_t put_cie(struct assembler *a)
{
	size_t at = cie_begin(a, "zR", 0x00);

	put_u8(a, 0x0c), put_uleb(a, 7), put_uleb(a, 8); /* def_cfa rsp+8 */
	put_u8(a, 0x80 | 16), put_uleb(a, 1);            /* offset rip, CFA-8 */
	record_end(a, at);
	return at;
}

/* An FDE with absolute addresses, up to its instructions. */
static inline size_t fde_begin(struct assembler *a, size_t cie, uint64_t start, uint64_t size)
{
	size_t at = record_begin(a);

	put_u32(a, (uint32_t)(a->size - cie));
	put_u64(a, start);
	put_u64(a, size);
	put_uleb(a, 0); /* augmentation data */
	return at;
}

static inline struct cfi_section assembled(const struct assembler *a)
{
	return (struct cfi_section){ .data = a->bytes, .size = a->size, .address = 0x10000 };
}

#endif
