// SPDX-License-Identifier: Apache-2.0
#include "rescue.h"

#include <errno.h>
#include <stdlib.h>

#include "walk.h"

struct rescue {
	struct port_user port;
	const struct pool *pool;
	const struct stack_copy *copy;
	bool beyond_copy; /* a read failed only because not all of the stack was copied */
	struct walk walk;
};

struct stack_copy *stack_copy_free(struct stack_copy *copy)
{
	if (copy)
		free(copy->bytes);
	free(copy);
	return NULL;
}

int stack_copy_add(struct stack_copy **copy, const struct dp_chunk *chunk)
{
	struct stack_copy *c = *copy;
	uint8_t *bytes;

	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return -ENOMEM;
		c->regs = chunk->regs;
		c->in_syscall = chunk->in_syscall;
		c->tid = chunk->tid;
		c->time_ns = chunk->time_ns;
		c->start = chunk->start;
		*copy = c;
	}
	if (chunk->start != c->start + c->size)
		return -EBADMSG;
	bytes = realloc(c->bytes, c->size + chunk->size);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes + c->size, chunk + 1, chunk->size);
	c->bytes = bytes;
	c->size += chunk->size;
	/* The last chunk is smaller where the memory ended. */
	c->cut = chunk->size == DP_CHUNK_SIZE;
	return 0;
}

static int read_copy(struct port_user *port, void *dst, uint32_t size, uint64_t address)
{
	struct rescue *r = (struct rescue *)port;
	const struct stack_copy *c = r->copy;

	if (address < c->start || address - c->start > c->size ||
	    c->size - (address - c->start) < size) {
		r->beyond_copy = c->cut && address >= c->start;
		return -EFAULT;
	}
	memcpy(dst, c->bytes + (address - c->start), size);
	return 0;
}

int rescue_new(const struct pool *pool, enum dp_unwind unwind, unsigned int max_frames,
	       struct rescue **ret)
{
	struct rescue *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->port.read = read_copy;
	r->pool = pool;
	r->walk.world.user = &r->port;
	r->walk.unwind = unwind;
	r->walk.max_frames = max_frames;
	*ret = r;
	return 0;
}

struct rescue *rescue_free(struct rescue *r)
{
	free(r);
	return NULL;
}

struct rescue_result rescue_walk(struct rescue *r, const struct stack_copy *copy, uint64_t id,
				 uint32_t cell)
{
	struct walk *w = &r->walk;

	r->port.segments = r->pool->segments;
	r->port.n_segments = (uint32_t)r->pool->n_segments;
	r->copy = copy;
	r->beyond_copy = false;
	w->regs = copy->regs;
	w->in_syscall = copy->in_syscall;
	w->space = id;
	w->space_cell = cell;
	walk_run(w);
	return (struct rescue_result){
		.outcome = w->sample.outcome == DP_READ_FAULT && r->beyond_copy ?
				   DP_STACK_COPY_END :
				   (enum dp_outcome)w->sample.outcome,
		.frames = w->frames,
		.n_frames = w->n_frames,
	};
}
