// SPDX-License-Identifier: Apache-2.0
#include "samples/unwinder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "bpf/runtime.h"
#include "bpf/walk.h"
#include "kernel/ring_record.h"
#include "limits/limits.h"

struct unwinder {
	struct port_user port;
	const struct pool *pool;
	unwinder_read *read; /* reads the memory that is walked */
	void *memory;
	bool beyond_copy; /* a read failed only because the copy is too short */
	struct walk walk;
	uint64_t cfas[DP_MAX_FRAMES];
};

struct stack_copy *stack_copy_free(struct stack_copy *copy)
{
	if (!copy)
		return NULL;
	for (size_t i = 0; i < copy->n_parts; i++)
		free(copy->parts[i].bytes);
	free(copy->parts);
	free(copy);
	return NULL;
}

/* Finds the part that a chunk continues, or makes a new one. */
static struct stack_part *part_of_chunk(struct stack_copy *c, const struct dp_chunk *chunk)
{
	struct stack_part *last = c->n_parts ? &c->parts[c->n_parts - 1] : NULL;

	if (last && chunk->start == last->start + last->size)
		return last;
	if (array_reserve(c->parts, c->n_parts, c->parts_size) < 0)
		return NULL;
	c->parts[c->n_parts] = (struct stack_part){ .start = chunk->start };
	return &c->parts[c->n_parts++];
}

int stack_copy_add(struct stack_copy **copy, const struct dp_chunk *chunk)
{
	struct stack_part *part;
	uint8_t *bytes;

	if (!*copy) {
		struct stack_copy *c = calloc(1, sizeof(*c));

		if (!c)
			return -ENOMEM;
		c->regs = chunk->regs;
		c->in_syscall = chunk->in_syscall;
		c->tid = chunk->tid;
		c->time_ns = chunk->time_ns;
		*copy = c;
	}
	part = part_of_chunk(*copy, chunk);
	if (!part)
		return -ENOMEM;
	bytes = realloc(part->bytes, part->size + chunk->n_bytes);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes + part->size, chunk_bytes(chunk), chunk->n_bytes);
	part->bytes = bytes;
	part->size += chunk->n_bytes;
	(*copy)->n_bytes += chunk->n_bytes;
	/* A last one that is smaller ends where the memory does, unless a limit was met. */
	part->cut = chunk->n_bytes == DP_CHUNK_SIZE || chunk->is_cut;
	return 0;
}

int stack_copy_read(const struct stack_copy *copy, void *ret, size_t size, uint64_t address)
{
	bool beyond = false;

	for (size_t i = 0; i < copy->n_parts; i++) {
		const struct stack_part *p = &copy->parts[i];
		uint64_t offset = address - p->start;

		if (offset < p->size && p->size - offset >= size) {
			memcpy(ret, p->bytes + offset, size);
			return 0;
		}
		beyond |= p->cut && offset + size > p->size && offset < STACK_MAX_SIZE;
	}
	return beyond ? -ENODATA : -EFAULT;
}

static int read_memory(struct port_user *port, void *dst, uint32_t size, uint64_t address)
{
	struct unwinder *r = (struct unwinder *)port;
	int err = r->read(r->memory, dst, size, address);

	r->beyond_copy |= err == -ENODATA;
	return err;
}

int unwinder_new(const struct pool *pool, enum dp_unwind unwind, unsigned int max_frames,
		 struct unwinder **ret)
{
	struct unwinder *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->port.read = read_memory;
	r->port.times = UNWINDER_TIMES;
	r->pool = pool;
	r->walk.world.user = &r->port;
	r->walk.in.unwind = unwind == DP_UNWIND_COPY ? DP_UNWIND_AUTO : unwind;
	r->walk.in.max_frames = max_frames;
	*ret = r;
	return 0;
}

struct unwinder *unwinder_free(struct unwinder *r)
{
	free(r);
	return NULL;
}

static void use_pool(struct unwinder *r)
{
	r->port.segments = r->pool->segments;
	r->port.n_segments = (uint32_t)r->pool->n_segments;
}

void unwinder_rule(struct unwinder *r, uint64_t address, uint32_t cell, struct dp_rule *ret)
{
	use_pool(r);
	lookup_snapshot(&r->walk, cell, 0, address, ret);
}

/* The last frame was not left, so its CFA is not known. */
static const uint64_t *take_cfas(struct unwinder *r)
{
	struct walk *w = &r->walk;

	for (uint32_t i = 0; i < w->at.n_frames && i < DP_MAX_FRAMES; i++)
		r->cfas[i] = i + 1 < w->at.n_frames ? walk_trail(w, i)->cfa : 0;
	return r->cfas;
}

struct unwinder_result unwinder_walk_memory(struct unwinder *r, const struct dp_regs *regs,
					    uint64_t thread_base, bool in_syscall,
					    unwinder_read *read, void *memory, uint64_t id,
					    uint32_t cell)
{
	struct walk *w = &r->walk;

	use_pool(r);
	r->read = read;
	r->memory = memory;
	r->beyond_copy = false;
	r->port.thread_base = thread_base;
	w->runtime.head = (struct dp_runtime){ 0 };
	w->in.regs = *regs;
	w->in.in_syscall = in_syscall;
	w->in.snapshot = id;
	w->in.snapshot_cell = cell;
	w->in.memory_map = ((const struct dp_snapshot *)port_pool(w, cell))->memory_map;
	walk_run(w);
	walk_spell_out(w);
	return (struct unwinder_result){
		.outcome = w->out.sample.outcome == DP_READ_FAULT && r->beyond_copy ?
				   DP_STACK_COPY_END :
				   (enum dp_outcome)w->out.sample.outcome,
		.frames = w->out.frames,
		.n_frames = w->at.n_frames,
		.runtime = w->runtime.head.n > 0 ? &w->runtime.head : NULL,
		.fault_address = w->out.sample.fault_address,
		.cfas = take_cfas(r),
	};
}

const struct dp_runtime *unwinder_runtime(struct unwinder *r, const struct snapshot *snapshot,
					  struct unwinder_result *result)
{
	const struct dp_runtime *found;

	r->walk.runtime.mapping = snapshot->runtime;
	r->walk.runtime.other = snapshot->other_runtime;
	found = runtime_read_all(&r->walk) ? &r->walk.runtime.head : NULL;
	if (r->walk.out.sample.outcome == DP_COMPLETE)
		result->outcome = DP_COMPLETE;
	return found;
}

struct copied {
	const struct stack_copy *copy;
	const struct snapshot *snapshot;
};

static int read_copied(void *memory, void *ret, size_t size, uint64_t address)
{
	const struct copied *c = memory;
	int err = stack_copy_read(c->copy, ret, size, address);
	const struct mapping *m = err < 0 ? snapshot_find(c->snapshot, address) : NULL;

	if (m && m->binary &&
	    binary_read_before(m->binary, address + size - m->bias, ret, size) == 0)
		return 0;
	return err;
}

struct unwinder_result unwinder_walk(struct unwinder *r, const struct stack_copy *copy,
				     const struct snapshot *snapshot)
{
	struct copied copied = { copy, snapshot };

	return unwinder_walk_memory(r, &copy->regs, 0, copy->in_syscall, read_copied, &copied,
				    snapshot->id, snapshot->cell);
}

/* Puts a frame in front of the others. The outermost one makes room if there are too many. */
static void put_first(struct walk *w, __u64 frame, struct unwinder_result *result)
{
	if (result->n_frames == w->in.max_frames) {
		result->n_frames--;
		result->outcome = DP_DEPTH_LIMIT;
	}
	memmove(w->out.frames + 1, w->out.frames, result->n_frames * sizeof(*w->out.frames));
	w->out.frames[0] = frame;
	result->n_frames++;
}

struct unwinder_result unwinder_walk_caller(struct unwinder *r, const struct stack_copy *copy,
					    const struct snapshot *snapshot, uint64_t called)
{
	struct copied copied = { copy, snapshot };
	/* Behind a call as behind a system call, the instruction in front is looked up. */
	struct unwinder_result result = unwinder_walk_memory(r, &copy->regs, 0, true, read_copied,
							     &copied, snapshot->id, snapshot->cell);

	r->walk.out.frames[0] = DP_FRAME_ADDRESS(copy->regs.reg[DP_REG_PC]) |
				(__u64)DP_METHOD_STACK_TOP << DP_METHOD_SHIFT;
	put_first(&r->walk, DP_FRAME_ADDRESS(called), &result); /* DP_METHOD_LEAF */
	/* Their frames have numbers, which no longer fit. */
	result.runtime = NULL;
	result.cfas = NULL;
	return result;
}
