// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs that run in the kernel, one per kind of event. Each reads the user registers, walks
 * the stack, and sends the sample.
 */
#include <stdbool.h>

#include "bpf/abi.h"
#include "bpf/filter.bpf.h"
#include "bpf/kernel.bpf.h"
#include "bpf/labels.bpf.h"
#include "bpf/names.bpf.h"
#include "bpf/own_stack.bpf.h"
#include "bpf/probe_slots.bpf.h"
#include "bpf/rate.bpf.h"
#include "bpf/registers.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/share.h"
#include "bpf/signal.bpf.h"
#include "bpf/spans.bpf.h"
#include "bpf/task.bpf.h"
#include "bpf/values.bpf.h"
#include "bpf/walk.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/*
 * Options. They are constants of the loaded program, so the verifier removes what is switched off.
 */

/* Sample every process, not only those in dp_processes. */
const volatile bool dp_all_processes;
/* Sample the children of those in dp_processes. */
const volatile bool dp_inherit;
const volatile __u32 dp_not_inherited; /* but for this one */
const volatile __u32 dp_unwind;        /* enum dp_unwind */
const volatile __u32 dp_max_frames;    /* at most DP_MAX_FRAMES */

const volatile __u32 dp_sides; /* enum dp_sides */
/* Leave out kernel stacks: the user may not see kernel addresses. */
const volatile bool dp_kernel_hidden;

/* A sample stands for the events that the kernel has counted for it. */
const volatile bool dp_by_period;

/* Several perf events are sampled: each has its number as a cookie. */
const volatile bool dp_has_several;

/* Verify every dp_verify-th sample; 0: none. */
const volatile __u32 dp_verify;

const volatile __u32 dp_levels; /* DP_CPU_LEVELS, DP_WALL_LEVELS, or DP_UPROBE_LEVELS */

/*
 * Index in dp_rings of the first ring for blocked threads and crashes. Not 0 if a CPU's sampling
 * event may interrupt the program that sends them: it would find the ring locked.
 */
const volatile __u32 dp_off_cpu_rings;
/* Of each, in bytes. */
const volatile __u64 dp_ring_size;

/* Process (thread group) to the cell of its struct dp_snapshot, or DP_CELL_UNKNOWN. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} dp_processes SEC(".maps");

/*
 * One ring buffer per CPU: a shared one's lock is contended, and taking it in an NMI can stall
 * since 6.15.
 */
struct dp_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* user space makes the real rings */
};

/* User space sets max_entries of this and the next two maps from the number of CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct dp_ring);
} dp_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dp_losses);
} dp_losses SEC(".maps");

struct scratch {
	__u64 busy;
	struct walk walk;
	__u64 sent_walk; /* number of the walk whose frames were sent last, 0: none; on this
	                  * ring: */
	__u32 sent_ring;
	__u32 sent_names_ring; /* ring to which names were sent last, and the names: */
	__u64 sent_names[NAMES_WORDS];
	__u32 level;
	bool is_walked; /* the frames are those of the walk, not only the innermost */
	/* State of copying a stack for user space, and where to stop: */
	__u64 chunk_limit;
	__u64 hole_limit; /* untouched pages below this address are skipped */
	__u32 n_region;   /* chunks of this stack so far */
	__u32 max_region; /* and at most */
	__u32 max_chunks; /* limit for all stacks of the sample */
	__u32 unverified; /* samples since the last verified one */
	struct shares shares;
	struct dp_chunk chunk;
	__u8 bytes[DP_CHUNK_SIZE];
	__u64 zeros[5];
};
DP_ASSERT(sizeof(struct scratch) % 64 == 0, "each CPU's begins at the same place of a cache line");

/*
 * dp_levels for each CPU. A plain array: its lookup is inlined on every kernel, that of a per-CPU
 * array only since 6.8.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} dp_scratch SEC(".maps");

DP_ASSERT(__builtin_offsetof(struct walk_output, frames) ==
		  __builtin_offsetof(struct walk_output, sample) + sizeof(struct dp_sample),
	  "the frames follow the sample, so that one copy sends both");
DP_ASSERT(__builtin_offsetof(struct walk_output, sample) ==
		  __builtin_offsetof(struct walk_output, names) + sizeof(struct dp_names),
	  "and the sample its names");
DP_ASSERT(__builtin_offsetof(struct dp_names, thread_name) ==
			  __builtin_offsetof(struct dp_names, comm) + DP_COMM_SIZE &&
		  __builtin_offsetof(struct dp_names, cgroup) ==
			  __builtin_offsetof(struct dp_names, thread_name) + DP_COMM_SIZE,
	  "the names and the cgroup lie side by side, as words");
DP_ASSERT(__builtin_offsetof(struct scratch, bytes) ==
		  __builtin_offsetof(struct scratch, chunk) + sizeof(struct dp_chunk),
	  "the bytes follow the chunk's header");

static __always_inline void count_loss(__u32 cpu, enum dp_lost why)
{
	struct dp_losses *losses = bpf_map_lookup_elem(&dp_losses, &cpu);

	if (losses)
		__sync_fetch_and_add(&losses->samples[port_index(why, DP_N_LOST)], 1);
}

static __always_inline struct scratch *scratch_find(__u32 cpu)
{
	for (__u32 level = 0; level < dp_levels && level < DP_UPROBE_LEVELS; level++) {
		__u32 key = cpu * dp_levels + level;
		struct scratch *s = bpf_map_lookup_elem(&dp_scratch, &key);

		if (s && __sync_val_compare_and_swap(&s->busy, 0, 1) == 0) {
			s->level = level;
			return s;
		}
	}
	return NULL;
}

static __always_inline __u32 scratch_key(const struct scratch *s)
{
	return s->walk.out.sample.cpu * dp_levels + s->level;
}

static __always_inline struct scratch *scratch_claim(__u32 cpu)
{
	struct scratch *s = scratch_find(cpu);

	if (!s)
		count_loss(cpu, DP_LOST_BUSY);
	return s;
}

static __always_inline void scratch_release(struct scratch *s)
{
	__sync_lock_test_and_set(&s->busy, 0);
}

/* Finds the tables of the process. Returns DP_WALKING, or why there are none. */
static __always_inline enum dp_outcome sample_snapshot(struct walk *w, const __u32 *cell)
{
	const struct dp_snapshot *snapshot;

	if (!cell || *cell == DP_CELL_UNKNOWN)
		return DP_NO_PROCESS;
	w->in.snapshot_cell = *cell;
	snapshot = port_pool(w, w->in.snapshot_cell);
	if (!snapshot)
		return DP_TABLES_CHANGED;
	w->in.snapshot = snapshot->id;
	barrier(); /* see struct dp_snapshot */
	w->in.memory_map = snapshot->memory_map;
	if (w->in.snapshot == 0 || snapshot->pid != w->out.sample.pid)
		return DP_TABLES_CHANGED;
	w->out.sample.snapshot = w->in.snapshot;
	w->labels.mapping = snapshot->labels;
	w->runtime.mapping = snapshot->runtime;
	w->runtime.other = snapshot->other_runtime;
	return DP_WALKING;
}

/*
 * Wakes the reader only when much of the ring is full; it polls several times a second anyway. A
 * wake-up costs more than a walk.
 */
static __always_inline __u64 wakeup_flags(void *ring)
{
	__u64 used = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);

	return used > dp_ring_size / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline __u32 sample_ring_number(const struct dp_sample *sample)
{
	return sample->cpu + (is_sent_apart(sample) ? dp_off_cpu_rings : 0);
}

static __always_inline void *sample_ring(const struct dp_sample *sample)
{
	__u32 key = sample_ring_number(sample);

	return bpf_map_lookup_elem(&dp_rings, &key);
}

#include "bpf/share.bpf.h"
#include "bpf/span_times.bpf.h"
#include "bpf/stack_copy.bpf.h"

/* True if this sample is to be verified. */
static __always_inline bool is_verified(struct scratch *s)
{
	if (dp_verify == 0 || ++s->unverified < dp_verify)
		return false;
	s->unverified = 0;
	s->walk.out.sample.flags |= DP_SAMPLE_VERIFY;
	return true;
}

/* A copy must not displace a sample: half of the ring is for samples only. */
static __always_inline bool has_room_for_copy(const struct dp_sample *sample)
{
	void *ring = sample_ring(sample);

	return ring && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < dp_ring_size / 2;
}

/* True if user space is to finish the walk: it will have the tables, and time. */
static __always_inline bool is_late(const struct walk *w)
{
	enum dp_outcome outcome = w->out.sample.outcome;

	return outcome == DP_NO_PROCESS || outcome == DP_NO_MAPPING ||
	       outcome == DP_TABLES_CHANGED || outcome == DP_CODE_CHANGED ||
	       (outcome == DP_WALK_LIMIT && !w->runtime.is_short);
}

/* Sends only the number of those frames that user space has from the previous sample. */
static __always_inline void sample_share(struct scratch *s)
{
	struct walk *w = &s->walk;

	if (s->sent_walk + 1 != w->in.number || s->sent_ring != sample_ring_number(&w->out.sample))
		walk_spell_out(w);
	w->out.sample.n_same = (__u16)w->out.n_same;
	s->is_walked = true;
}

/* Walks the user stack whose registers are in w->in.regs, as if w->at.cost were used up. */
static __always_inline void walk_or_copy(struct scratch *s, const __u32 *cell, int mode)
{
	struct walk *w = &s->walk;
	enum dp_outcome outcome;

	if (regs_are_compat(mode)) {
		w->out.sample.outcome = DP_COMPAT_MODE;
		return;
	}
	outcome = sample_snapshot(w, cell);
	if (outcome == DP_WALKING && dp_unwind != DP_UNWIND_COPY) {
		w->in.unwind = dp_unwind;
		w->in.max_frames = dp_max_frames;
		walk_run_from(w, w->at.cost);
		sample_share(s);
	} else {
		w->out.frames[0] = DP_FRAME_ADDRESS(w->in.regs.reg[DP_REG_PC]);
		w->at.n_frames = 1;
		w->out.sample.n_user = 1;
		/* Without room for a copy, user space has nothing to walk. */
		w->out.sample.outcome = outcome == DP_WALKING ? DP_STACK_COPY_END : outcome;
	}
	if (!is_late(w) && dp_unwind != DP_UNWIND_COPY) {
		if (is_verified(s) && has_room_for_copy(&w->out.sample))
			send_stack(s, DP_VERIFY_CHUNKS);
		return;
	}
	if (is_late(w) && is_executing((const void *)bpf_get_current_task_btf())) {
		if (w->out.sample.outcome == DP_WALK_LIMIT)
			return;
		w->out.sample.outcome = DP_NO_USER_STACK;
		w->at.n_frames = 0;
		w->out.sample.n_user = 0;
		w->out.sample.n_same = 0;
		w->labels.mapping = w->runtime.mapping = 0;
		return;
	}
	w->out.sample.flags |= DP_SAMPLE_LATE;
	is_verified(s);
	s->max_chunks = share_chunks(w->at.cost, s->max_chunks);
	send_stack(s, dp_unwind == DP_UNWIND_COPY ? DP_COPY_CHUNKS : s->max_chunks);
}

static __always_inline void sample_user_stack(struct scratch *s, const __u32 *cell, int mode)
{
	struct walk *w = &s->walk;

	if (w->out.sample.time_ns < s->shares.until)
		walk_shorten(s);
	walk_or_copy(s, cell, mode);
	if (w->runtime.is_short && w->out.sample.outcome == DP_WALK_LIMIT)
		w->out.sample.outcome = DP_WALK_SHARE;
}

/* Appends the kernel frames to the user frames, if they are wanted. */
static __always_inline void sample_kernel_stack(struct walk *w, void *ctx)
{
	__u32 n = port_opaque(w->at.n_frames - w->out.sample.n_same);
	long size;

	if (dp_sides == DP_SIDES_USER || n > DP_MAX_FRAMES)
		return;
	if (dp_kernel_hidden) {
		w->out.sample.kernel_error = DP_KERNEL_HIDDEN;
		return;
	}
	size = bpf_get_stack(ctx, &w->out.frames[n], DP_MAX_KERNEL_FRAMES * sizeof(__u64), 0);
	if (size < 0)
		w->out.sample.kernel_error = (__s16)size;
	else
		w->out.sample.n_kernel = (__u8)(size / sizeof(__u64));
}

/*
 * True if the last sample on this ring had other names. A function: inlined, all words of the names would be
 * kept on the stack until the sample is sent, and the calls of a walk of Java would need more than the 512
 * bytes that Linux 6.1 allows.
 */
static __noinline bool has_new_names(const struct scratch *s, __u32 ring_number)
{
	__u64 difference = s->sent_names_ring ^ ring_number;

	for (__u32 i = 0; i < NAMES_WORDS; i++)
		difference |= s->sent_names[i] ^ name_word(&s->walk, i);
	return difference != 0;
}

static __always_inline void names_remember(struct scratch *s, __u32 ring_number)
{
	s->sent_names_ring = ring_number;
	for (__u32 i = 0; i < NAMES_WORDS; i++)
		s->sent_names[i] = name_word(&s->walk, i);
}

/* Reads what else the sample has, and sends it: see sample_output(). */
static __always_inline bool sample_put(struct scratch *s, bool is_probe, const void *siginfo)
{
	struct walk *w = &s->walk;
	__u32 ring_number = sample_ring_number(&w->out.sample);
	void *ring = bpf_map_lookup_elem(&dp_rings, &ring_number);
	__u32 n = port_opaque((__u32)w->out.sample.n_user - w->out.sample.n_same +
			      w->out.sample.n_kernel);
	bool is_new = has_new_names(s, ring_number);
	void *record = &w->out.sample;
	__u32 size;

	w->out.sample.part.size = (__u16)(sizeof(w->out.sample) + n * sizeof(__u64));
	n += sample_put_labels(w, n);
	if (is_probe && dp_has_values)
		n += sample_put_values(w, scratch_key(s), n);
	/* Of other probes, their own values are in the same place. */
	if ((!is_probe || dp_has_exceptions) && dp_has_spans) {
		w->out.span = s->is_walked;
		n += sample_put_probed(w, n);
	}
	if (siginfo)
		n += sample_put_signal(w, siginfo, n);
	n = port_opaque(n);
	if (dp_runtimes) {
		n += sample_put_runtime(w, n);
		n = port_opaque(n);
	}
	if (!ring || n > sizeof(w->out.frames) / sizeof(*w->out.frames))
		return false;
	size = sizeof(w->out.sample) + n * sizeof(__u64);
	if (is_new) {
		record = &w->out.names;
		size += sizeof(w->out.names);
	}
	if (bpf_ringbuf_output(ring, record, size, wakeup_flags(ring)) < 0)
		return false;
	if (is_new)
		names_remember(s, ring_number);
	if (w->out.sample.n_user > 0) {
		s->sent_walk = s->is_walked ? w->in.number : 0;
		s->sent_ring = ring_number;
	}
	return true;
}

/* Sends the sample, of a probe, of a signal, or of another event. True if the ring had room. */
static __always_inline bool sample_output(struct scratch *s, bool is_probe, const void *siginfo)
{
	bool is_sent = sample_put(s, is_probe, siginfo);

	if (s->walk.at.cost > SHARE_FREE_COST || s->walk.out.sample.n_chunks > SHARE_FREE_CHUNKS)
		sample_charge(s);
	return is_sent;
}

static __always_inline void sample_send(struct scratch *s, __u32 cpu)
{
	if (!sample_output(s, false, NULL))
		count_loss(cpu, DP_LOST_FULL);
}

static __always_inline void sample_begin(struct scratch *s, __u64 pid_tgid, enum dp_event event,
					 __u32 weight, __u32 cpu)
{
	struct walk *w = &s->walk;

	w->out.sample = (struct dp_sample){
		.part.type = DP_RECORD_SAMPLE,
		.cpu = (__u16)cpu,
		.pid = pid_tgid >> 32,
		.tid = (__u32)pid_tgid,
		.time_ns = bpf_ktime_get_ns(),
		.event = event,
		.level = (__u8)s->level,
		.weight = weight,
	};
	s->is_walked = false;
	s->max_chunks = DP_MAX_CHUNKS;
	w->at.n_frames = 0;
	w->at.fresh = 0;
	w->at.cost = 0;
	w->in.in_syscall = 0;
	w->labels.mapping = w->runtime.mapping = 0;
	w->runtime.is_short = 0;
	w->runtime.head.n = 0;
	names_read(w);
}

/* PID and TID in the PID namespace of user space; 0 for a task outside of it. */
static __always_inline __u64 current_pid_tgid(void)
{
	if (dp_pid_namespace == 0)
		return bpf_get_current_pid_tgid();
	return pid_tgid_in_namespace((const void *)bpf_get_current_task_btf());
}

/*
 * True if the current task is to be sampled, on some CPU. *ret_cell then points to the cell of its
 * tables, or is NULL. A newly forked child is wanted because its parent is, until user space knows it.
 */
static __always_inline bool is_wanted_somewhere(__u64 pid_tgid, const __u32 **ret_cell)
{
	const struct task_struct *task;
	__u32 pid = pid_tgid >> 32;
	__u32 parent;

	if (pid == 0 || !passes_filters((__u32)pid_tgid))
		return false;
	*ret_cell = bpf_map_lookup_elem(&dp_processes, &pid);
	if (*ret_cell || dp_all_processes || dp_by_thread)
		return true;
	if (!dp_inherit || pid == dp_not_inherited)
		return false;
	task = (const void *)bpf_get_current_task_btf();
	task = BPF_CORE_READ(task, real_parent);
	parent = dp_pid_namespace == 0 ? read_number(task, tgid) : process_in_namespace(task);
	return bpf_map_lookup_elem(&dp_processes, &parent) != NULL;
}

static __always_inline bool is_wanted(__u64 pid_tgid, const __u32 **ret_cell)
{
	return passes_cpu_filter() && is_wanted_somewhere(pid_tgid, ret_cell);
}

/* Read again rather than kept, so that the verifier processes the code in between only once. */
static __always_inline bool is_user_mode(const struct bpf_perf_event_data *ctx)
{
	return ctx->regs.cs & 3; /* the privilege level */
}

static __always_inline __u32 period_weight(const struct bpf_perf_event_data *ctx)
{
	__u64 period = ctx->sample_period;

	return period < 0xffffffff ? (__u32)period : 0xffffffff;
}

SEC("perf_event")
int dp_sample_cpu(struct bpf_perf_event_data *ctx)
{
	__u64 pid_tgid = current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	const __u32 *cell;
	struct scratch *s;
	__u32 weight;
	int mode;

	if (dp_sides == DP_SIDES_KERNEL && is_user_mode(ctx))
		return 0;
	if (!is_wanted(pid_tgid, &cell))
		return 0;
	weight = dp_by_period ? period_weight(ctx) : rate_weight(pid_tgid >> 32, DP_EVENT_CPU);
	if (weight == 0)
		return 0;
	s = scratch_claim(cpu);
	if (!s)
		return 0;
	sample_begin(s, pid_tgid, DP_EVENT_CPU, weight, cpu);
	if (dp_has_several)
		s->walk.out.sample.state = (__u8)bpf_get_attach_cookie(ctx);
	if (dp_sides == DP_SIDES_KERNEL) {
		s->walk.out.sample.outcome = DP_KERNEL_ONLY;
	} else if (!is_user_mode(ctx) &&
		   has_no_user_stack((const void *)bpf_get_current_task_btf())) {
		s->walk.out.sample.outcome = DP_NO_USER_STACK;
	} else {
		mode = is_user_mode(ctx) ? regs_of_event(&s->walk, ctx) : regs_of_task(&s->walk);
		sample_user_stack(s, cell, mode & 0xffff);
	}
	if (!is_user_mode(ctx))
		sample_kernel_stack(&s->walk, ctx);
	/* With user stacks only, a sample without one is dropped. */
	if (dp_sides != DP_SIDES_USER || s->walk.out.sample.outcome != DP_NO_USER_STACK)
		sample_send(s, cpu);
	scratch_release(s);
	return 0;
}

SEC("uprobe")
int dp_sample_uprobe(struct pt_regs *ctx)
{
	__u64 time_ns = 0;
	__u64 pid_tgid = current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	const __u32 *cell;
	struct scratch *s;
	__u32 weight;
	int mode;

	keep_to_own_stack(ctx);
	if (dp_has_slots && !probe_hit(bpf_get_attach_cookie(ctx), pid_tgid >> 32))
		return 0;
	if (!is_wanted(pid_tgid, &cell))
		return 0;
	if (dp_has_times && call_begins(ctx, &time_ns))
		return 0;
	weight = hit_weight(ctx, pid_tgid >> 32);
	if (weight == 0)
		return 0;
	s = scratch_claim(cpu);
	if (!s)
		return 0;
	sample_begin(s, pid_tgid, DP_EVENT_UPROBE, weight, cpu);
	/* A uprobe hits user code: there is no kernel stack. */
	mode = REGS_COPY(&s->walk.in.regs, ctx);
	if (dp_has_values)
		values_read(&s->walk, scratch_key(s), (__u32)bpf_get_attach_cookie(ctx), time_ns,
			    cell);
	sample_user_stack(s, cell, mode);
	if (!sample_output(s, true, NULL))
		count_loss(cpu, DP_LOST_FULL);
	scratch_release(s);
	return 0;
}

#include "bpf/begin_span.bpf.h"
#include "bpf/crash.bpf.h"
#include "bpf/exec_span.bpf.h"
#include "bpf/fork_span.bpf.h"
#include "bpf/off_cpu.bpf.h"

#include "bpf/alloc.bpf.h"
#include "bpf/trace.bpf.h"
