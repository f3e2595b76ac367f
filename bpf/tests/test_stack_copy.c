// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which parts of a thread's stacks a sample takes along. The kernel is played by functions of the same
 * names: each page of the two stacks is readable, unless it is said not to be.
 */
#include <criterion/criterion.h>

#include "bpf/port.h"
#include "bpf/share.h"
#include "bpf/walk_state.h"

#define PAGE ((uint64_t)DP_USER_PAGE_SIZE)
#define NORMAL_END 0x7ffffffff000ULL
#define NORMAL_START (NORMAL_END - 64 * PAGE)
#define ALTERNATE 0x200000000000ULL

struct task_struct {
	int pid, tgid;
	uint64_t sas_ss_sp, sas_ss_size;
	struct {
		uint64_t start_stack;
	} mm;
};

struct scratch {
	struct walk walk;
	uint64_t chunk_limit, hole_limit;
	uint32_t n_region, max_region, max_chunks;
	struct dp_chunk chunk;
	uint8_t bytes[DP_CHUNK_SIZE];
};

static struct scratch sampled;
static struct task_struct current = {
	.pid = 1,
	.tgid = 1,
	.mm.start_stack = NORMAL_END - 100,
};
static unsigned int n_reads, n_alternate;
static struct {
	uint64_t start, end;
	bool is_cut;
} chunks[DP_MAX_CHUNKS + 1];
static unsigned int n_chunks;

static bool is_within(uint64_t address, uint64_t start, uint64_t size)
{
	return address - start < size;
}

static long bpf_probe_read_user(void *dst, uint32_t size, const void *from)
{
	uint64_t address = (uint64_t)from;

	n_reads++;
	if (!is_within(address, NORMAL_START, NORMAL_END - NORMAL_START) &&
	    !is_within(address, ALTERNATE, n_alternate * PAGE))
		return -14;
	memset(dst, 1, size);
	return 0;
}

static long bpf_ringbuf_output(void *ring, const struct dp_chunk *chunk, uint64_t size,
			       uint64_t flags)
{
	(void)ring;
	(void)flags;
	cr_assert_eq(size, sizeof(*chunk) + chunk->n_bytes);
	cr_assert(n_chunks < DP_MAX_CHUNKS);
	chunks[n_chunks].start = chunk->start;
	chunks[n_chunks].end = chunk->start + chunk->n_bytes;
	chunks[n_chunks].is_cut = chunk->is_cut;
	n_chunks++;
	return 0;
}

static long bpf_loop(uint32_t n, long (*fn)(uint32_t, void *), void *ctx, uint64_t flags)
{
	(void)flags;
	return port_loop(n, fn, ctx);
}

static const struct task_struct *bpf_get_current_task_btf(void)
{
	return &current;
}

static void *sample_ring(const struct dp_sample *sample)
{
	return (void *)sample;
}

static uint64_t wakeup_flags(void *ring)
{
	(void)ring;
	return 0;
}

static uint64_t thread_base(const struct task_struct *task)
{
	(void)task;
	return 0;
}

#define BPF_CORE_READ(task, a, b) ((task)->a.b)

#include "bpf/stack_copy.bpf.h"

/* Copies the stacks of a thread with this stack pointer, for a sample that may have max_chunks. */
static void copy(uint64_t sp, uint32_t max_chunks, uint32_t of_each)
{
	sampled.walk.in.regs.reg[DP_REG_SP] = sp;
	sampled.walk.out.sample.n_chunks = 0;
	sampled.max_chunks = max_chunks;
	n_chunks = n_reads = 0;
	send_stack(&sampled, of_each);
	cr_assert_eq(n_chunks, sampled.walk.out.sample.n_chunks);
	cr_assert(n_chunks <= max_chunks);
}

/* In a handler on an alternate stack of so many pages. */
static void copy_both(unsigned int n_pages, uint32_t max_chunks, uint32_t of_each)
{
	n_alternate = n_pages;
	current.sas_ss_sp = ALTERNATE;
	current.sas_ss_size = n_pages * PAGE;
	copy(ALTERNATE + 8, max_chunks, of_each);
}

Test(stack_copy, begins_at_the_stack_pointer)
{
	copy(NORMAL_END - 5 * PAGE + 8, 64, 64);
	cr_assert_eq(n_chunks, 2);
	cr_assert(chunks[0].start == NORMAL_END - 5 * PAGE && chunks[0].end == NORMAL_END - PAGE &&
		  chunks[1].end == NORMAL_END);
	cr_assert(!chunks[1].is_cut, "the memory ends");
}

/* The root is at the normal stack's end, whatever the alternate one takes of the room. */
Test(stack_copy, reaches_the_root_of_the_normal_stack)
{
	for (unsigned int n_pages = 1; n_pages <= 12; n_pages++) {
		const unsigned int n_first = (n_pages + DP_CHUNK_PAGES - 1) / DP_CHUNK_PAGES;

		copy_both(n_pages, 8, 8);
		cr_assert(chunks[n_first - 1].end == ALTERNATE + n_pages * PAGE);
		cr_assert_eq(n_chunks, 8);
		cr_assert_eq(chunks[7].end, NORMAL_END, "with %u pages on the alternate one",
			     n_pages);
		cr_assert_eq(chunks[n_first].start, NORMAL_END - (8 - n_first) * DP_CHUNK_SIZE);
	}
}

Test(stack_copy, has_parts_of_both_stacks)
{
	copy_both(30, 64, 4);
	cr_assert_eq(n_chunks, 8);
	cr_assert(chunks[3].end == ALTERNATE + 16 * PAGE && chunks[3].is_cut);
	cr_assert(chunks[4].start == NORMAL_END - 16 * PAGE && chunks[7].end == NORMAL_END);
	/* Of the normal one, no more than that. */
	copy_both(1, 64, 64);
	cr_assert_eq(n_chunks, 1 + DP_NORMAL_STACK_PAGES / DP_CHUNK_PAGES);
	cr_assert(chunks[1].start == NORMAL_END - DP_NORMAL_STACK_PAGES * PAGE &&
		  chunks[n_chunks - 1].end == NORMAL_END);
}

Test(stack_copy, reads_only_what_it_sends)
{
	copy(NORMAL_START, 8, 8);
	cr_assert(n_chunks == 8 && chunks[7].is_cut);
	cr_assert_eq(n_reads, 8 * DP_CHUNK_PAGES);
	copy_both(64, 8, 8);
	cr_assert(n_chunks == 8 && chunks[7].end == ALTERNATE + 32 * PAGE);
	cr_assert_eq(n_reads, 8 * DP_CHUNK_PAGES, "none of the normal one");
}
