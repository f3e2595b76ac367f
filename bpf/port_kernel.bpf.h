/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_PORT_KERNEL_BPF_H
#define DP_BPF_PORT_KERNEL_BPF_H

#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/kernel.bpf.h"
#include "bpf/pool.bpf.h"
#include DP_ARCH_TASK

#ifndef NULL
#define NULL ((void *)0)
#endif

struct walk;

/* The kernel has only one world. The member gives struct walk the same layout on both sides. */
struct port_world {
	__u64 zero;
};

/*
 * Hides a value's history. Otherwise the compiler may turn masks into comparisons whose result the
 * verifier cannot use (clang 19), or duplicate branches until the verifier gives up.
 */
#define port_opaque(x)                                                                             \
	({                                                                                         \
		__typeof__(x) _x = (x);                                                            \
		asm volatile("" : "+r"(_x));                                                       \
		_x;                                                                                \
	})

static __always_inline __u32 port_index(__u32 i, __u32 n)
{
	return port_opaque(i) & (n - 1);
}

static __always_inline int port_read_user(struct walk *w, void *dst, __u32 size, __u64 address)
{
	return (int)bpf_probe_read_user(dst, size, (const void *)address);
}

static __always_inline const __u8 *port_segment(struct walk *w, __u32 cell)
{
	__u32 segment = cell / DP_SEGMENT_CELLS, zero = 0;
	void *map = bpf_map_lookup_elem(&dp_pool, &segment);

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

static __always_inline const void *port_pool(struct walk *w, __u32 cell)
{
	const __u8 *segment = port_segment(w, cell);

	return segment ? segment + port_index(cell, DP_SEGMENT_CELLS) * DP_CELL_SIZE : NULL;
}

static __always_inline const void *port_at(const __u8 *segment, __u64 at)
{
	return segment + (port_opaque(at) & (DP_SEGMENT_SIZE - 1));
}

static __always_inline __u8 port_u8(const __u8 *segment, __u64 at)
{
	return *(const __u8 *)port_at(segment, at);
}

static __always_inline __u16 port_u16(const __u8 *segment, __u64 at)
{
	return *(const __u16 *)port_at(segment, at);
}

static __always_inline __u32 port_u32(const __u8 *segment, __u64 at)
{
	return *(const __u32 *)port_at(segment, at);
}

/* Otherwise clang splits an unaligned copy of eight bytes into single bytes. */
static __always_inline __u64 port_u64(const void *p)
{
	return *(const __u64 *)p;
}

/*
 * A function that is verified once, not again for every call. Weak, so that clang 19 does not
 * notice an unused argument and pass an undefined value.
 */
#define PORT_GLOBAL __attribute__((weak, noinline))

/* MAX_URETPROBE_DEPTH, include/linux/uprobes.h */
#define MAX_URETPROBES 64

#define port_loop(n, fn, ctx) bpf_loop((n), (void *)(fn), (ctx), 0)

struct port_search {
	const struct return_instance *at; /* the next one to look at */
	__u64 slot;                       /* the stack address to find */
	__u64 found;                      /* the original return address there */
};

static long port_search_step(__u32 i, void *ctx)
{
	struct port_search *s = ctx;
	const struct return_instance *r = s->at;

	if (!r)
		return 1;
	if (BPF_CORE_READ(r, stack) == s->slot) {
		s->found = BPF_CORE_READ(r, orig_ret_vaddr);
		return 1;
	}
	s->at = BPF_CORE_READ(r, next);
	return 0;
}

/* A kernel may lack uprobes, or keep this list elsewhere. */
static __always_inline bool has_uretprobes(const struct task_struct *task)
{
	const struct uprobe_task *utask = NULL;
	const struct return_instance *r = NULL;
	const struct mm_struct *mm = NULL;
	const struct xol_area *area = NULL;

	return bpf_core_field_exists(task->utask) &&
	       bpf_core_field_exists(utask->return_instances) && bpf_core_field_exists(r->stack) &&
	       bpf_core_field_exists(r->orig_ret_vaddr) && bpf_core_field_exists(r->next) &&
	       bpf_core_field_exists(mm->uprobes_state.xol_area) &&
	       bpf_core_field_exists(area->vaddr);
}

/*
 * The return address that a uretprobe replaced at a stack address. The kernel has a list of them,
 * innermost first (prepare_uretprobe(), kernel/events/uprobes.c). Returns 0 if it is not in the
 * list yet, because the probe has only just replaced it.
 */
PORT_GLOBAL __u64 port_origin(struct walk *w, __u64 slot)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	struct port_search search = { .slot = slot };

	if (!has_uretprobes(task))
		return 0;
	search.at = BPF_CORE_READ(task, utask, return_instances);
	port_loop(MAX_URETPROBES, port_search_step, &search);
	return search.found;
}

/* Leave frames of JIT compilers. */
const volatile bool dp_jit;

static __always_inline bool port_has_jit(struct walk *w)
{
	return dp_jit;
}

static __always_inline __u64 port_thread_base(struct walk *w)
{
	return thread_base((const void *)bpf_get_current_task_btf());
}

static __always_inline __u32 port_max_cost(const struct walk *w, __u32 normal)
{
	return normal;
}

static __always_inline __u64 port_trampoline(struct walk *w)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();

	if (!has_uretprobes(task) || !task->utask)
		return 0;
	return BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

#endif
