/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_CURSOR_H
#define DP_CFI_CURSOR_H

/*
 * All bytes of a section are read through a cursor. It moves over a span inside a section. A read
 * that does not fit returns the reason, moves nothing, and leaves `mark` at the first byte of the
 * value, so that the caller can give the offset of the refusal. Multi-byte values are
 * little-endian, as on every supported machine.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cfi/reason.h"

struct cursor {
	const uint8_t *base; /* first byte of the section: offsets count from here */
	const uint8_t *pos;
	const uint8_t *end;
	const uint8_t *mark; /* start of the value read last */
};

static inline void cursor_init(struct cursor *c, const uint8_t *base, uint64_t from, uint64_t to)
{
	*c = (struct cursor){
		.base = base, .pos = base + from, .end = base + to, .mark = base + from
	};
}

static inline uint64_t cursor_left(const struct cursor *c)
{
	return (uint64_t)(c->end - c->pos);
}

/* Offset in the section of the next byte, and of the value read last. */
static inline uint64_t cursor_offset(const struct cursor *c)
{
	return (uint64_t)(c->pos - c->base);
}

static inline uint64_t cursor_mark(const struct cursor *c)
{
	return (uint64_t)(c->mark - c->base);
}

static inline enum cfi_reason cursor_bytes(struct cursor *c, uint64_t n, const uint8_t **ret)
{
	c->mark = c->pos;
	if (n > cursor_left(c))
		return CFI_TRUNCATED;
	*ret = c->pos;
	c->pos += n;
	return CFI_NONE;
}

static inline enum cfi_reason cursor_skip(struct cursor *c, uint64_t n)
{
	const uint8_t *p;

	return cursor_bytes(c, n, &p);
}

/* Returns the next n bytes without moving; NULL if there are not that many. */
static inline const uint8_t *cursor_peek(const struct cursor *c, uint64_t n)
{
	return cursor_left(c) < n ? NULL : c->pos;
}

#define DEFINE_CURSOR_READ(name, type)                                                             \
	static inline enum cfi_reason cursor_##name(struct cursor *c, type *ret)                   \
	{                                                                                          \
		const uint8_t *p;                                                                  \
		enum cfi_reason r = cursor_bytes(c, sizeof(type), &p);                             \
                                                                                                   \
		if (r == CFI_NONE)                                                                 \
			memcpy(ret, p, sizeof(type));                                              \
		return r;                                                                          \
	}

DEFINE_CURSOR_READ(u8, uint8_t)
DEFINE_CURSOR_READ(u16, uint16_t)
DEFINE_CURSOR_READ(u32, uint32_t)
DEFINE_CURSOR_READ(u64, uint64_t)

/* Assemblers pad a LEB128 to at most 16 bytes (.uleb128 with a relaxed difference needs 10). */
#define CURSOR_LEB_MAX_SHIFT (15 * 7)

/* DWARF 5 §7.6. Padding with 0x80 bytes is legal as long as the value fits 64 bits. */
static inline enum cfi_reason cursor_uleb(struct cursor *c, uint64_t *ret)
{
	const uint8_t *p = c->pos;
	uint64_t value = 0;

	c->mark = p;
	for (unsigned int shift = 0; p < c->end; shift += 7) {
		uint8_t byte = *p++;
		uint64_t bits = byte & 0x7f;

		if (shift >= 64 ? bits != 0 || shift > CURSOR_LEB_MAX_SHIFT :
				  (bits << shift) >> shift != bits)
			return CFI_LEB_TOO_LONG;
		if (shift < 64)
			value |= bits << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			c->pos = p;
			return CFI_NONE;
		}
	}
	return CFI_TRUNCATED;
}

/* As above, signed: bits beyond the 64th must repeat the sign. */
static inline enum cfi_reason cursor_sleb(struct cursor *c, int64_t *ret)
{
	const uint8_t *p = c->pos;
	uint64_t value = 0;

	c->mark = p;
	for (unsigned int shift = 0; p < c->end; shift += 7) {
		uint8_t byte = *p++;
		uint64_t bits = byte & 0x7f;

		if (shift < 63) {
			value |= bits << shift;
		} else {
			uint64_t sign = shift == 63 ? bits & 1 : value >> 63;

			if (bits != (sign ? 0x7f : 0) || shift > CURSOR_LEB_MAX_SHIFT)
				return CFI_LEB_TOO_LONG;
			if (shift == 63)
				value |= sign << 63;
		}
		if (byte & 0x80)
			continue;
		if (shift + 7 < 64 && (byte & 0x40))
			value |= ~UINT64_C(0) << (shift + 7);
		*ret = (int64_t)value;
		c->pos = p;
		return CFI_NONE;
	}
	return CFI_TRUNCATED;
}

#endif
