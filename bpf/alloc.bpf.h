/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_ALLOC_BPF_H
#define DP_BPF_ALLOC_BPF_H

/*
 * Allocations of memory. Where a function of an allocator begins, its size is kept for the thread; where it
 * has returned, a sample is taken, and the pointer kept until it is given back. Functions that call others
 * of them, such as a library's malloc() that is in front of another one, count once: the outermost call does.
 *
 * Allocations that are smaller than the interval are taken with a probability of one in interval / size, rounded
 * up, and stand for as many. That depends on the size alone: sums are unbiased.
 *
 * Included by dwarfprof.bpf.c, after off_cpu.bpf.h.
 */

/* Constants of the loaded program, as the options are. In bytes; at most 1: each allocation is sampled. */
const volatile __u32 dp_alloc_interval;

/* A call whose return was not seen, as its thread has left it by longjmp(), is forgotten then. */
#define ALLOC_MAX_NS 1000000000ULL

/* A call that has not returned. */
struct alloc_call {
	__u64 sp; /* where it began, at the return address; 0: there is none */
	__u64 began_ns;
	__u64 size;
	__u64 result;            /* DP_ALLOC_POSIX: where the pointer will be */
	__u64 how;               /* enum dp_alloc */
	struct dp_held_key old;  /* DP_ALLOC_REALLOC: what is given back, and has been taken out: */
	struct dp_held old_held; /* weight 0: nothing */
};

/* By thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct alloc_call);
} dp_alloc_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct dp_held_key);
	__type(value, struct dp_held);
} dp_held SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dp_alloc_counts);
} dp_alloc_counts SEC(".maps");

/* Memory is given back. *ret is what was known of it. */
static __always_inline void held_take(const struct dp_held_key *key, struct dp_held *ret)
{
	const struct dp_held *held = bpf_map_lookup_elem(&dp_held, key);

	if (!held)
		return;
	if (ret)
		*ret = *held;
	bpf_map_delete_elem(&dp_held, key);
}

static __always_inline struct alloc_call *alloc_call_of(__u64 pid_tgid)
{
	static const struct alloc_call fresh;
	struct alloc_call *call = bpf_map_lookup_elem(&dp_alloc_calls, &pid_tgid);

	if (call)
		return call;
	bpf_map_update_elem(&dp_alloc_calls, &pid_tgid, &fresh, BPF_ANY);
	return bpf_map_lookup_elem(&dp_alloc_calls, &pid_tgid);
}

/* A tail call has the place of its caller, whose arguments it has, too. */
static __always_inline bool alloc_is_nested(const struct alloc_call *call, __u64 sp, __u64 now)
{
	return call->sp > sp && now - call->began_ns < ALLOC_MAX_NS;
}

static __always_inline void alloc_begin(struct pt_regs *ctx, __u64 pid_tgid, __u32 how)
{
	/* Opaque: a pointer to one of them would be none to the context. */
	__u64 first = port_opaque(REGS_ARGUMENT_1(ctx)), second = port_opaque(REGS_ARGUMENT_2(ctx));
	__u64 third = port_opaque(REGS_ARGUMENT_3(ctx)), now = bpf_ktime_get_ns();
	struct alloc_call *call = alloc_call_of(pid_tgid);

	if (!call || alloc_is_nested(call, REGS_SP(ctx), now))
		return;
	call->old_held.weight = 0;
	call->how = how;
	if (how == DP_ALLOC_MALLOC || how == DP_ALLOC_NEW)
		call->size = first;
	else
		call->size = how == DP_ALLOC_POSIX ? third : second;
	if (how == DP_ALLOC_CALLOC)
		call->size *= first;
	call->result = first;
	if (how == DP_ALLOC_REALLOC) {
		/* Now: once realloc() has freed it, another thread may get this address. */
		call->old = (struct dp_held_key){ first, pid_tgid >> 32, 0 };
		held_take(&call->old, &call->old_held);
	}
	call->began_ns = now;
	call->sp = REGS_SP(ctx);
}

/* An exception leaves the calls that it is thrown in. */
static __always_inline void alloc_throw(__u64 sp, __u64 pid_tgid)
{
	struct alloc_call *call = bpf_map_lookup_elem(&dp_alloc_calls, &pid_tgid);

	if (call && call->sp > sp)
		call->sp = 0;
}

SEC("uprobe")
int dp_begin_alloc(struct pt_regs *ctx)
{
	__u64 pid_tgid = current_pid_tgid();
	__u32 how = (__u32)bpf_get_attach_cookie(ctx);
	const __u32 *cell;

	keep_to_own_stack(ctx);
	if (pid_tgid >> 32 == dp_own_pid || !is_wanted_somewhere(pid_tgid, &cell))
		return 0;
	if (how == DP_ALLOC_FREE) {
		struct dp_held_key key = { REGS_ARGUMENT_1(ctx), pid_tgid >> 32, 0 };

		held_take(&key, NULL);
		return 0;
	}
	if (how == DP_ALLOC_THROW) {
		alloc_throw(REGS_SP(ctx), pid_tgid);
		return 0;
	}
	alloc_begin(ctx, pid_tgid, how);
	return 0;
}

/* How many such allocations this one stands for; 0: it is not taken. */
static __always_inline __u32 alloc_weight(__u64 size)
{
	__u32 weight;

	if (size >= dp_alloc_interval || dp_alloc_interval <= 1)
		return 1;
	if (size == 0)
		size = 1;
	weight = (dp_alloc_interval + (__u32)size - 1) / (__u32)size;
	return bpf_get_prandom_u32() % weight == 0 ? weight : 0;
}

/* The pointer that a call has returned; 0: it has failed. */
static __always_inline __u64 alloc_result(struct pt_regs *ctx, const struct alloc_call *call,
					  __u32 how)
{
	__u64 pointer = REGS_RESULT(ctx);

	if (how != DP_ALLOC_POSIX)
		return pointer;
	if ((__u32)pointer != 0 ||
	    bpf_probe_read_user(&pointer, sizeof(pointer), (const void *)call->result) < 0)
		return 0;
	return pointer;
}

static __always_inline void count_full(void)
{
	__u32 zero = 0;
	struct dp_alloc_counts *counts = bpf_map_lookup_elem(&dp_alloc_counts, &zero);

	if (counts)
		__sync_fetch_and_add(&counts->n_full, 1);
}

static __always_inline void held_put(const struct dp_held_key *key, const struct dp_held *held)
{
	if (bpf_map_update_elem(&dp_held, key, held, BPF_ANY) < 0)
		count_full();
}

/* Does this call return here? Also calls of other functions jump to where one of `operator new` returns. */
static __always_inline bool alloc_returns(const struct alloc_call *call, __u64 sp, __u32 how)
{
	if (how == DP_ALLOC_EXIT)
		return call->how == DP_ALLOC_NEW && call->sp == sp;
	return call->sp + DP_CALL_SIZE == sp;
}

/* Of a call that has returned, or will at once. Returns the sample's weight, and fills `ret` in; 0: there is none. */
static __always_inline __u32 alloc_end(struct pt_regs *ctx, __u64 pid_tgid, __u32 how,
				       struct dp_held *ret)
{
	struct alloc_call *call = bpf_map_lookup_elem(&dp_alloc_calls, &pid_tgid);
	struct dp_held_key key = { .pid = pid_tgid >> 32 };
	struct dp_alloc_counts *counts;
	__u32 zero = 0;

	if (!call || call->sp == 0 || !alloc_returns(call, REGS_SP(ctx), how))
		return 0;
	call->sp = 0;
	key.pointer = alloc_result(ctx, call, how);
	if (key.pointer == 0) {
		/* Only a size of 0 gives the old memory back. */
		if (call->old_held.weight > 0 && call->size > 0)
			held_put(&call->old, &call->old_held);
		return 0;
	}
	ret->size = call->size;
	ret->weight = alloc_weight(call->size);
	counts = bpf_map_lookup_elem(&dp_alloc_counts, &zero);
	if (ret->weight == 0 || !counts || !passes_cpu_filter())
		return 0;
	ret->number = __sync_fetch_and_add(&counts->n_samples, 1) + 1;
	held_put(&key, ret);
	return ret->weight;
}

static __always_inline void alloc_values(__u32 key, const struct dp_held *held)
{
	struct values *v = bpf_map_lookup_elem(&dp_value_room, &key);

	if (!v)
		return;
	v->head = (struct dp_values){ .n = DP_ALLOC_N_VALUES };
	v->n_cells = DP_ALLOC_N_VALUES;
	v->cells[DP_ALLOC_SIZE] = held->size;
	v->cells[DP_ALLOC_NUMBER] = held->number;
}

/*
 * Begins the sample of a call that has returned. NULL: there is none. Not inlined: what it keeps on the
 * stack is gone when the stack is walked, for which 6.1 has 512 bytes in all.
 */
static __noinline struct scratch *alloc_sample_begin(struct pt_regs *ctx, __u64 pid_tgid, __u32 cpu)
{
	struct dp_held held = { 0 };
	struct scratch *s;

	if (alloc_end(ctx, pid_tgid, (__u32)bpf_get_attach_cookie(ctx), &held) == 0)
		return NULL;
	s = scratch_claim(cpu);
	if (!s)
		return NULL;
	sample_begin(s, pid_tgid, DP_EVENT_ALLOC, held.weight, cpu);
	alloc_values(scratch_key(s), &held);
	return s;
}

/* The stack is that of the caller, as at a uretprobe. */
static __always_inline void alloc_leave(struct dp_regs *regs)
{
	bpf_probe_read_user(&regs->reg[DP_REG_PC], sizeof(regs->reg[DP_REG_PC]),
			    (const void *)regs->reg[DP_REG_SP]);
	regs->reg[DP_REG_SP] += DP_CALL_SIZE;
}

/* Where a function has returned to, or is about to. */
SEC("uprobe")
int dp_end_alloc(struct pt_regs *ctx)
{
	__u64 pid_tgid = current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	const __u32 *cell;
	struct scratch *s;
	int mode;

	keep_to_own_stack(ctx);
	if (pid_tgid >> 32 == dp_own_pid || !is_wanted_somewhere(pid_tgid, &cell))
		return 0;
	s = alloc_sample_begin(ctx, pid_tgid, cpu);
	if (!s)
		return 0;
	mode = REGS_COPY(&s->walk.in.regs, ctx);
	if (bpf_get_attach_cookie(ctx) == DP_ALLOC_EXIT)
		alloc_leave(&s->walk.in.regs);
	sample_user_stack(s, cell, mode);
	if (!sample_output(s, true, NULL))
		count_loss(cpu, DP_LOST_FULL);
	scratch_release(s);
	return 0;
}

#endif
