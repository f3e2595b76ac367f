/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_PORT_USER_H
#define DP_BPF_PORT_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bpf/abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif

struct walk;

/* The world of a walk in user space, to which struct walk points. */
struct port_user {
	/* Copies size bytes at address in the walked process. Returns 0, or negative on failure. */
	int (*read)(struct port_user *port, void *dst, uint32_t size, uint64_t address);
	/* The segments of the pool. */
	uint8_t *const *segments;
	uint32_t n_segments;
	uint64_t thread_base; /* of the walked thread; 0: not known */
	uint32_t times; /* how many times as much a walk may cost as in the kernel; 0: as much */
};

/* Every struct walk starts with this. */
struct port_world {
	struct port_user *user;
};

static inline int port_read_user(struct walk *w, void *dst, uint32_t size, uint64_t address)
{
	struct port_user *port = ((struct port_world *)w)->user;

	return port->read(port, dst, size, address);
}

static inline const uint8_t *port_segment(struct walk *w, uint32_t cell)
{
	struct port_user *port = ((struct port_world *)w)->user;
	uint32_t segment = cell / DP_SEGMENT_CELLS;

	return segment < port->n_segments ? port->segments[segment] : NULL;
}

static inline const void *port_pool(struct walk *w, uint32_t cell)
{
	const uint8_t *segment = port_segment(w, cell);

	return segment ? segment + (size_t)(cell % DP_SEGMENT_CELLS) * DP_CELL_SIZE : NULL;
}

static inline uint32_t port_index(uint32_t i, uint32_t n)
{
	if (i >= n)
		__builtin_trap();
	return i;
}

static inline const void *port_at(const uint8_t *segment, uint64_t at)
{
	if (at >= DP_SEGMENT_SIZE)
		__builtin_trap();
	return segment + at;
}

static inline uint8_t port_u8(const uint8_t *segment, uint64_t at)
{
	return *(const uint8_t *)port_at(segment, at);
}

static inline uint16_t port_u16(const uint8_t *segment, uint64_t at)
{
	uint16_t value;

	memcpy(&value, port_at(segment, at), sizeof(value));
	return value;
}

static inline uint32_t port_u32(const uint8_t *segment, uint64_t at)
{
	uint32_t value;

	memcpy(&value, port_at(segment, at), sizeof(value));
	return value;
}

static inline uint64_t port_u64(const void *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static inline long port_loop(uint32_t n, long (*fn)(uint32_t, void *), void *ctx)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (fn(i, ctx))
			return i + 1;
	return i;
}

static inline uint64_t port_thread_base(struct walk *w)
{
	return ((struct port_world *)w)->user->thread_base;
}

static inline bool port_has_jit(struct walk *w)
{
	return true;
}

/* Nothing waits for it here as a CPU does for the kernel's. */
static inline uint32_t port_max_cost(const struct walk *w, uint32_t normal)
{
	const struct port_user *port = ((const struct port_world *)w)->user;

	return port->times ? port->times * normal : normal;
}

/* Only the kernel knows it. */
static inline uint64_t port_trampoline(struct walk *w)
{
	return 0;
}

static inline uint64_t port_origin(struct walk *w, uint64_t slot)
{
	return 0;
}

#define PORT_GLOBAL static inline

#define port_opaque(x) (x)

#endif
