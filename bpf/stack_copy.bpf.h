/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_STACK_COPY_BPF_H
#define DP_BPF_STACK_COPY_BPF_H

/*
 * Copies stacks into samples, for user space to walk: in chunks, so that the kernel needs little
 * memory. Included by dwarfprof.bpf.c.
 */

/*
 * The most untouched pages at the start of a stack: a large frame may not have been written to yet.
 */
#define MAX_EMPTY_PAGES DP_NORMAL_STACK_PAGES

/* Anything further above the stack pointer is another stack: the usual limit, ulimit -s. */
#define MAX_STACK_SIZE (8ULL << 20)

/*
 * Sends the next chunk of a stack. Returns 1 at the end: of the memory, of what may be sent, or the ring
 * is full.
 */
static long send_chunk(__u32 i, void *ctx)
{
	struct scratch *s = *(struct scratch **)ctx;
	struct dp_chunk *chunk = &s->chunk;
	void *ring = sample_ring(&s->walk.out.sample);
	__u32 size = 0;

	if (!ring || s->n_region == s->max_region)
		return 1;
	for (__u32 page = 0; page < DP_CHUNK_PAGES; page++) {
		if (chunk->start + size >= s->chunk_limit ||
		    bpf_probe_read_user(s->bytes + page * DP_USER_PAGE_SIZE, DP_USER_PAGE_SIZE,
					(const void *)(chunk->start + size)) < 0)
			break;
		size += DP_USER_PAGE_SIZE;
	}
	if (size == 0) {
		/*
		 * A page that is being faulted in is still empty, as is one in the middle of a
		 * large array. What matters is above.
		 */
		chunk->start += DP_USER_PAGE_SIZE;
		return s->n_region > 0 ? chunk->start >= s->hole_limit : i >= MAX_EMPTY_PAGES;
	}
	chunk->part.size = (__u16)(sizeof(*chunk) + size);
	chunk->n_bytes = size;
	chunk->is_cut = s->n_region + 1 == s->max_region;
	if (bpf_ringbuf_output(ring, chunk, sizeof(*chunk) + size, wakeup_flags(ring)) < 0)
		return 1;
	chunk->start += size;
	s->n_region++;
	s->walk.out.sample.n_chunks++;
	return size < DP_CHUNK_SIZE && chunk->start >= s->hole_limit;
}

PORT_GLOBAL int send_region(struct scratch *s, __u64 start, __u64 limit, __u64 hole_limit)
{
	__u32 most;

	if (!s)
		return 0;
	s->chunk.start = start & ~(__u64)(DP_USER_PAGE_SIZE - 1);
	s->chunk_limit = limit;
	s->hole_limit = hole_limit;
	s->n_region = 0;
	/* Pages that cannot be read take time, too. */
	most = share_chunks(s->walk.at.cost, DP_MAX_CHUNKS);
	bpf_loop(most + MAX_EMPTY_PAGES, send_chunk, &s, 0);
	return 0;
}

/* The end of a thread's normal stack: glibc puts the thread's local storage right above it. */
static __always_inline __u64 normal_stack_end(const struct task_struct *task)
{
	__u64 end =
		task->pid == task->tgid ? BPF_CORE_READ(task, mm, start_stack) : thread_base(task);

	return (end | (DP_USER_PAGE_SIZE - 1)) + 1;
}

/* How many chunks of a stack the sample has room for, of so many. */
static __always_inline __u32 chunks_left(const struct scratch *s, __u32 n)
{
	__u32 left = s->max_chunks - s->walk.out.sample.n_chunks;

	return left < n ? left : n;
}

/* The root's end of the normal stack, as the code that the handler has interrupted is there. */
static __always_inline void send_normal_stack(struct scratch *s, __u64 end)
{
	__u32 pages = s->max_region * DP_CHUNK_PAGES;

	if (pages > DP_NORMAL_STACK_PAGES)
		pages = DP_NORMAL_STACK_PAGES;
	send_region(s, end - (__u64)pages * DP_USER_PAGE_SIZE, end, end);
}

/* Sends up to max_chunks chunks of each stack for user space to walk. */
PORT_GLOBAL int send_stack(struct scratch *s, __u32 max_chunks)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	__u64 sp, end;

	if (!s)
		return 0;
	s->chunk.regs = s->walk.at.fresh ? s->walk.innermost : s->walk.in.regs;
	s->chunk.in_syscall = s->walk.in.in_syscall;
	sp = s->chunk.regs.reg[DP_REG_SP];
	s->max_region = chunks_left(s, max_chunks);

	s->chunk.part.type = DP_RECORD_CHUNK;
	s->chunk.tid = s->walk.out.sample.tid;
	s->chunk.time_ns = s->walk.out.sample.time_ns;
	end = normal_stack_end(task);
	if (sp - task->sas_ss_sp >= task->sas_ss_size) {
		/* The end is not certain: the stack may be a coroutine's. */
		send_region(s, sp, ~0ULL, end - sp <= MAX_STACK_SIZE ? end : 0);
		return 0;
	}
	/* A signal handler runs on the alternate stack. */
	send_region(s, sp, task->sas_ss_sp + task->sas_ss_size, 0);
	s->max_region = chunks_left(s, max_chunks);
	send_normal_stack(s, end);
	return 0;
}

#endif
