/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_OFF_CPU_BPF_H
#define DP_BPF_OFF_CPU_BPF_H

/*
 * Off-CPU time: how long threads wait, and with which stacks. Included by dwarfprof.bpf.c.
 *
 * The stack is walked when the thread leaves the CPU, the last time that its memory can be read
 * here: when it comes back, the tracepoint still runs in the thread that leaves. The sample is sent
 * at once. When the thread is back, the end of the interval is sent, and user space joins the two.
 *
 * All of this runs with interrupts off and the run queue locked.
 */

const volatile __u64 dp_min_block_ns;
const volatile __u64 dp_max_block_ns;
const volatile __u32 dp_states; /* bits by enum dp_state */
/* Our own PID: not sampled, because its waits are for samples, and its events would cause further ones. */
const volatile __u32 dp_own_pid;

/* The tracepoint passes the state: since 5.18. */
const volatile bool dp_has_prev_state;

/* Limits how long copying a stack can hold up other CPUs. */
#define OFF_CPU_MAX_CHUNKS 8

/*
 * By TID in the initial PID namespace. Entries are reused, and deleted when their thread ends. Not
 * task storage (BPF_MAP_TYPE_TASK_STORAGE): before 6.4, allocating it may wake kswapd, which is
 * forbidden while the run queue is locked.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, __u32);
	__type(value, struct dp_blocked);
} dp_blocked SEC(".maps");

/*
 * The state bits that the scheduler has read. The task's own may have changed: another task may be
 * about to wake it up (TASK_WAKING).
 */
static __always_inline __u32 state_bits(const __u64 *ctx, const struct task_struct *prev)
{
	return dp_has_prev_state ? (__u32)ctx[3] : prev->__state;
}

/*
 * Why the thread leaves the CPU. A preempted thread may have set its state already. A thread with a
 * pending signal goes on: __schedule(), kernel/sched/core.c, makes it TASK_RUNNING again, which
 * nobody else can while the run queue is locked.
 */
static __always_inline enum dp_state state_of(const __u64 *ctx, const struct task_struct *prev)
{
	__u32 bits = state_bits(ctx, prev);
	bool is_preempted = (bool)ctx[0];

	if (is_preempted || bits == TASK_RUNNING || prev->__state == TASK_RUNNING)
		return DP_STATE_RUNNABLE;
	return state_of_bits(bits);
}

static __always_inline void count_lost_interval(__u32 cpu, const struct dp_blocked *b, __u64 ns)
{
	struct dp_losses *losses = bpf_map_lookup_elem(&dp_losses, &cpu);

	count_loss(cpu, b->lost != DP_LOST_NOT ? b->lost : DP_LOST_FULL);
	if (losses)
		__sync_fetch_and_add(&losses->time_ns, ns * b->weight);
}

/* Sends the end of an interval. Not inlined: its record would stay on the stack while that is walked. */
static __noinline void block_end(struct dp_blocked *b, __u64 end_ns, __u32 cpu)
{
	struct dp_off_cpu_end end = {
		.part = { DP_RECORD_OFF_CPU_END, sizeof(end) },
		.tid = b->tid,
		.time_ns = b->since_ns,
		.end_ns = end_ns,
	};
	__u32 key = cpu + dp_off_cpu_rings;
	__u64 ns = end_ns - b->since_ns;
	void *ring;

	b->since_ns = 0;
	if (ns < dp_min_block_ns || ns > dp_max_block_ns)
		return;
	ring = bpf_map_lookup_elem(&dp_rings, &key);
	if (b->lost != DP_LOST_NOT || !ring ||
	    bpf_ringbuf_output(ring, &end, sizeof(end), wakeup_flags(ring)) < 0)
		count_lost_interval(cpu, b, ns);
}

static __always_inline void switch_in(const struct task_struct *next, __u64 now, __u32 cpu)
{
	__u32 key = next->pid;
	struct dp_blocked *b = bpf_map_lookup_elem(&dp_blocked, &key);

	if (b && b->since_ns != 0)
		block_end(b, now, cpu);
}

/*
 * Ends the interval of a thread that leaves but was not seen to come back: a kernel may hide some
 * processes' switches from tracing, and with them the thread that comes next. The CPU time that it
 * has used since the interval began tells how long ago it came back.
 */
static __always_inline void end_unseen(const struct task_struct *prev, struct dp_blocked *b,
				       __u64 now, __u32 cpu)
{
	__u64 came;

	if (!b || b->since_ns == 0)
		return;
	came = now - (prev->se.sum_exec_runtime - b->ran_ns);
	block_end(b, came > b->since_ns ? came : b->since_ns, cpu);
}

/*
 * Records that a thread blocks. b: its entry, or NULL. Returns the entry; NULL: there are too many.
 */
static __always_inline struct dp_blocked *block_begin(const struct task_struct *prev,
						      struct dp_blocked *b, __u32 tid, __u32 weight,
						      __u64 now)
{
	/* Not on the stack: the walk needs the room (MAX_BPF_STACK, include/linux/filter.h). */
	static const struct dp_blocked fresh;
	__u32 key = prev->pid;

	if (!b) {
		bpf_map_update_elem(&dp_blocked, &key, &fresh, BPF_ANY);
		b = bpf_map_lookup_elem(&dp_blocked, &key);
		if (!b)
			return NULL;
	}
	b->tid = tid;
	b->weight = weight;
	b->lost = DP_LOST_NOT;
	b->ran_ns = prev->se.sum_exec_runtime;
	b->since_ns = now;
	return b;
}

/* A thread leaves its CPU: takes its stack. */
static __always_inline void switch_out(__u64 *ctx, const struct task_struct *prev,
				       struct dp_blocked *b, __u64 now, __u32 cpu)
{
	enum dp_state state = state_of(ctx, prev);
	__u64 pid_tgid = current_pid_tgid();
	__u32 pid = pid_tgid >> 32, weight;
	const __u32 *cell;
	struct scratch *s;

	if (!(dp_states >> state & 1) || pid == dp_own_pid || !is_wanted(pid_tgid, &cell))
		return;
	if (dp_sides == DP_SIDES_USER && has_no_user_stack(prev))
		return;
	weight = rate_weight(pid, DP_EVENT_OFF_CPU);
	if (weight == 0)
		return;
	b = block_begin(prev, b, (__u32)pid_tgid, weight, now);
	if (!b) {
		count_loss(cpu, DP_LOST_UNTRACKED);
		return;
	}
	s = scratch_find(cpu);
	if (!s) {
		b->lost = DP_LOST_BUSY;
		return;
	}
	sample_begin(s, pid_tgid, DP_EVENT_OFF_CPU, weight, cpu);
	s->walk.out.sample.time_ns = now;
	s->walk.out.sample.state = state;
	s->max_chunks = OFF_CPU_MAX_CHUNKS;
	if (dp_sides == DP_SIDES_KERNEL)
		s->walk.out.sample.outcome = DP_KERNEL_ONLY;
	else if (has_no_user_stack(prev))
		s->walk.out.sample.outcome = DP_NO_USER_STACK;
	else
		sample_user_stack(s, cell, regs_of_task(&s->walk));
	sample_kernel_stack(&s->walk, ctx);
	if (!sample_output(s, false, NULL))
		b->lost = DP_LOST_FULL;
	scratch_release(s);
}

/* The thread ends: user space need not wait for the end of an interval that is not sent. */
static __always_inline void forget_thread(const struct task_struct *prev,
					  const struct dp_blocked *b, __u64 now, __u32 cpu)
{
	struct dp_off_cpu_end end = { .part = { DP_RECORD_OFF_CPU_END, sizeof(end) },
				      .end_ns = now };
	__u32 key = prev->pid, ring_key = cpu + dp_off_cpu_rings;
	void *ring = bpf_map_lookup_elem(&dp_rings, &ring_key);

	if (!b)
		return;
	end.tid = b->tid;
	if (ring)
		bpf_ringbuf_output(ring, &end, sizeof(end), wakeup_flags(ring));
	bpf_map_delete_elem(&dp_blocked, &key);
}

/* TP_PROTO(bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state) */
SEC("tp_btf/sched_switch")
int dp_switch(__u64 *ctx)
{
	const struct task_struct *prev = (const void *)ctx[1];
	const struct task_struct *next = (const void *)ctx[2];
	__u32 cpu = bpf_get_smp_processor_id(), key = prev->pid;
	__u64 now = bpf_ktime_get_ns();
	struct dp_blocked *b;

	switch_in(next, now, cpu);
	b = bpf_map_lookup_elem(&dp_blocked, &key);
	end_unseen(prev, b, now, cpu);
	if (state_bits(ctx, prev) & TASK_DEAD) {
		forget_thread(prev, b, now, cpu);
		return 0;
	}
	switch_out(ctx, prev, b, now, cpu);
	return 0;
}

#endif
