// SPDX-License-Identifier: GPL-2.0-only
/*
 * What runs in the kernel: one program per kind of event. Each takes the user
 * registers of the moment, has the stack walked, and sends the sample.
 */
#include <stdbool.h>

#include "abi.h"
#include "kernel.bpf.h"
#include "walk.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* include/linux/sched.h (PF_USER_WORKER since 6.4); arch/x86/include/asm/segment.h */
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD 0x00200000
#define USER32_CS 0x23
/* include/linux/pid_namespace.h; include/linux/pid.h, enum pid_type */
#define MAX_PID_NS_LEVEL 32
#define PIDTYPE_TGID 1

char LICENSE[] SEC("license") = "GPL";

/*
 * Knobs. Constants of the loaded program: what is switched off is removed by
 * the verifier and costs nothing.
 */

/* Sample every process, not only those in dp_processes. */
const volatile bool dp_all_processes;
const volatile __u32 dp_unwind;     /* enum dp_unwind */
const volatile __u32 dp_max_frames; /* at most DP_MAX_FRAMES */

const volatile __u32 dp_levels; /* DP_CPU_LEVELS or DP_UPROBE_LEVELS */

/* The PID namespace whose numbers are used; 0: the initial one, which every task is in. */
const volatile __u32 dp_pid_namespace;

/* Process (thread group) to the cell of its struct dp_space, or DP_CELL_UNKNOWN. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} dp_processes SEC(".maps");

/*
 * One ring buffer per CPU: a shared one's lock is contended, and taking it in
 * an NMI can stall on kernels since 6.15.
 */
struct dp_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the real ones are made by the loader */
};

/* For this and the next two maps the loader sets max_entries from the number of CPUs. */
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
	/* Part of the stack of a sample that user space has to finish, and where to stop */
	__u64 chunk_limit;
	__u32 n_region; /* chunks of this stack so far */
	__u32 zero;
	struct dp_chunk chunk;
	__u8 bytes[DP_CHUNK_SIZE];
};

/*
 * dp_levels for each CPU. A plain array, because its look-up is inlined on
 * every kernel, which that of a per-CPU array is only since 6.8.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} dp_scratch SEC(".maps");

DP_ASSERT(__builtin_offsetof(struct walk, frames) ==
		  __builtin_offsetof(struct walk, sample) + sizeof(struct dp_sample),
	  "the frames follow the sample, so that one copy sends both");
DP_ASSERT(__builtin_offsetof(struct scratch, bytes) ==
		  __builtin_offsetof(struct scratch, chunk) + sizeof(struct dp_chunk),
	  "the bytes follow the chunk's header");

static __always_inline void count_loss(__u32 cpu, bool full)
{
	struct dp_losses *losses = bpf_map_lookup_elem(&dp_losses, &cpu);

	if (losses)
		__sync_fetch_and_add(full ? &losses->full : &losses->busy, 1);
}

static __always_inline struct scratch *scratch_claim(__u32 cpu)
{
	for (__u32 level = 0; level < dp_levels && level < DP_UPROBE_LEVELS; level++) {
		__u32 key = cpu * dp_levels + level;
		struct scratch *s = bpf_map_lookup_elem(&dp_scratch, &key);

		if (s && __sync_val_compare_and_swap(&s->busy, 0, 1) == 0)
			return s;
	}
	count_loss(cpu, false);
	return NULL;
}

static __always_inline void scratch_release(struct scratch *s)
{
	__sync_lock_test_and_set(&s->busy, 0);
}

/* A macro, because a context and a task's registers are of different types to the verifier. */
#define REGS_COPY(to, from)                                                                        \
	({                                                                                         \
		(to)->reg[DP_RAX] = (from)->ax;                                                    \
		(to)->reg[DP_RDX] = (from)->dx;                                                    \
		(to)->reg[DP_RCX] = (from)->cx;                                                    \
		(to)->reg[DP_RBX] = (from)->bx;                                                    \
		(to)->reg[DP_RSI] = (from)->si;                                                    \
		(to)->reg[DP_RDI] = (from)->di;                                                    \
		(to)->reg[DP_RBP] = (from)->bp;                                                    \
		(to)->reg[DP_RSP] = (from)->sp;                                                    \
		(to)->reg[DP_R8] = (from)->r8;                                                     \
		(to)->reg[DP_R9] = (from)->r9;                                                     \
		(to)->reg[DP_R10] = (from)->r10;                                                   \
		(to)->reg[DP_R11] = (from)->r11;                                                   \
		(to)->reg[DP_R12] = (from)->r12;                                                   \
		(to)->reg[DP_R13] = (from)->r13;                                                   \
		(to)->reg[DP_R14] = (from)->r14;                                                   \
		(to)->reg[DP_R15] = (from)->r15;                                                   \
		(to)->reg[DP_RIP] = (from)->ip;                                                    \
		(__u16)(from)->cs;                                                                 \
	})

/* `syscall`, as it lies in memory */
#define SYSCALL_INSTRUCTION 0x050f

/*
 * The user registers of the current task, which is in the kernel. Returns its
 * code segment.
 *
 * Is its program counter behind a system call's instruction? On entry by
 * anything else orig_ax is -1 (arch/x86/entry/entry_64.S); but execve() and
 * the delivery of a signal put a new program counter there, hence the look at
 * the instruction.
 */
static __noinline int regs_of_task(struct walk *w)
{
	const struct pt_regs___task *regs =
		(const void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	__u16 instruction = 0;

	if ((long)regs->orig_ax >= 0)
		bpf_probe_read_user(&instruction, sizeof(instruction),
				    (const void *)(regs->ip - sizeof(instruction)));
	w->in_syscall = instruction == SYSCALL_INSTRUCTION;
	return REGS_COPY(&w->regs, regs);
}

/* Look up the tables of the process: DP_WALKING, or why there are none. */
static __always_inline enum dp_outcome sample_space(struct walk *w, const __u32 *cell)
{
	const struct dp_space *space;

	if (!cell || *cell == DP_CELL_UNKNOWN)
		return DP_NO_PROCESS;
	w->space_cell = *cell;
	space = port_pool(w, w->space_cell);
	if (!space || space->pid != w->sample.pid)
		return DP_TABLES_CHANGED;
	w->space = space->id;
	w->sample.space = space->id;
	return DP_WALKING;
}

/*
 * Wake the reader only when a good part of the ring is full; it looks by
 * itself several times a second. A wake-up costs more than a walk.
 */
static __always_inline __u64 wakeup_flags(void *ring)
{
	__u64 used = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	__u64 size = bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);

	return used > size / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Pages at the start of a stack that may be empty: a frame that is not touched yet. */
#define MAX_EMPTY_PAGES DP_NORMAL_STACK_PAGES

/* Send the next chunk of a stack; 1 if it was the last, because memory or the ring ends. */
static long send_chunk(__u32 i, void *ctx)
{
	struct scratch *s = *(struct scratch **)ctx;
	struct dp_chunk *chunk = &s->chunk;
	__u32 cpu = s->walk.sample.cpu;
	void *ring = bpf_map_lookup_elem(&dp_rings, &cpu);
	__u32 size = 0;

	for (__u32 page = 0; page < DP_CHUNK_PAGES; page++) {
		if (chunk->start + size >= s->chunk_limit ||
		    bpf_probe_read_user(s->bytes + page * DP_USER_PAGE_SIZE, DP_USER_PAGE_SIZE,
					(const void *)(chunk->start + size)) < 0)
			break;
		size += DP_USER_PAGE_SIZE;
	}
	if (!ring || s->walk.sample.n_chunks == DP_MAX_CHUNKS)
		return 1;
	if (size == 0) {
		/* A page that is just being faulted in holds nothing yet: what matters is above. */
		chunk->start += DP_USER_PAGE_SIZE;
		return s->n_region > 0 || i >= MAX_EMPTY_PAGES;
	}
	chunk->size = size;
	if (bpf_ringbuf_output(ring, chunk, sizeof(*chunk) + size, wakeup_flags(ring)) < 0)
		return 1;
	chunk->start += size;
	s->n_region++;
	s->walk.sample.n_chunks++;
	return size < DP_CHUNK_SIZE;
}

static __noinline int send_region(struct scratch *s, __u64 start, __u64 limit)
{
	s->chunk.start = start & ~(__u64)(DP_USER_PAGE_SIZE - 1);
	s->chunk_limit = limit;
	s->n_region = 0;
	bpf_loop(DP_MAX_CHUNKS + MAX_EMPTY_PAGES, send_chunk, &s, 0);
	return 0;
}

/* The end of a thread's normal stack: glibc keeps a thread's own data right above it. */
static __always_inline __u64 normal_stack_end(const struct task_struct *task)
{
	__u64 end = task->pid == task->tgid ? task->mm->start_stack : task->thread.fsbase;

	return (end | (DP_USER_PAGE_SIZE - 1)) + 1;
}

/* Send ahead what user space needs to walk the stack when the tables are there. */
static __noinline int send_stack(struct scratch *s)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	__u64 sp = s->chunk.regs.reg[DP_RSP];
	__u64 end;

	s->chunk.kind = DP_RECORD_CHUNK;
	s->chunk.tid = s->walk.sample.tid;
	s->chunk.time_ns = s->walk.sample.time_ns;
	if (sp - task->sas_ss_sp >= task->sas_ss_size) {
		send_region(s, sp, ~0ULL);
		return 0;
	}
	/* A signal handler on its alternate stack: what it interrupted is on the normal one. */
	send_region(s, sp, task->sas_ss_sp + task->sas_ss_size);
	end = normal_stack_end(task);
	send_region(s, end - DP_NORMAL_STACK_PAGES * DP_USER_PAGE_SIZE, end);
	return 0;
}

/*
 * Is the task in an execve()? If its registers then lead nowhere, they are the
 * old program's, and the memory the new one's.
 */
static __always_inline bool is_executing(void)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();

	return bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD(task, in_execve);
}

/* Walk the user stack whose registers are in w->regs. */
static __always_inline void sample_user_stack(struct scratch *s, const __u32 *cell, int cs)
{
	struct walk *w = &s->walk;
	enum dp_outcome outcome;

	if (cs == USER32_CS) {
		w->sample.outcome = DP_COMPAT_MODE;
		return;
	}
	s->chunk.regs = w->regs; /* a signal frame replaces them during the walk */
	s->chunk.in_syscall = w->in_syscall;
	outcome = sample_space(w, cell);
	if (outcome == DP_WALKING) {
		w->unwind = dp_unwind;
		w->max_frames = dp_max_frames;
		walk_run(w);
	} else {
		w->frames[0] = DP_FRAME_ADDRESS(w->regs.reg[DP_RIP]);
		w->n_frames = 1;
		w->sample.n_user = 1;
		w->sample.outcome = outcome;
	}
	outcome = w->sample.outcome;
	if (outcome != DP_NO_PROCESS && outcome != DP_NO_MAPPING && outcome != DP_TABLES_CHANGED)
		return;
	if (is_executing()) {
		w->sample.outcome = DP_NO_USER_STACK;
		w->n_frames = 0;
		w->sample.n_user = 0;
		return;
	}
	send_stack(s);
}

/* Put the kernel's frames behind the user's. */
static __always_inline void sample_kernel_stack(struct walk *w, void *ctx)
{
	__u32 n = port_opaque(w->n_frames);
	long size;

	if (n > DP_MAX_FRAMES)
		return;
	size = bpf_get_stack(ctx, &w->frames[n], DP_MAX_KERNEL_FRAMES * sizeof(__u64), 0);
	if (size < 0)
		w->sample.kernel_error = (__s32)size;
	else
		w->sample.n_kernel = (__u16)(size / sizeof(__u64));
}

static __always_inline void sample_send(struct walk *w, __u32 cpu)
{
	void *ring = bpf_map_lookup_elem(&dp_rings, &cpu);
	__u32 n = port_opaque((__u32)w->sample.n_user + w->sample.n_kernel);

	if (!ring || n > DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES ||
	    bpf_ringbuf_output(ring, &w->sample, sizeof(w->sample) + n * sizeof(__u64),
			       wakeup_flags(ring)) < 0)
		count_loss(cpu, true);
}

static __always_inline void sample_begin(struct walk *w, __u64 pid_tgid, enum dp_event event,
					 __u32 cpu)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	const struct task_struct *leader;

	w->sample = (struct dp_sample){
		.kind = DP_RECORD_SAMPLE,
		.cpu = cpu,
		.pid = pid_tgid >> 32,
		.tid = (__u32)pid_tgid,
		.time_ns = bpf_ktime_get_ns(),
		.event = event,
	};
	w->n_frames = 0;
	w->in_syscall = 0;
	bpf_get_current_comm(w->sample.thread_name, sizeof(w->sample.thread_name));
	leader = task->group_leader;
	bpf_core_read(w->sample.comm, sizeof(w->sample.comm), &leader->comm);
}

/*
 * Is there no user stack behind the kernel's? A thread of the kernel and one
 * that is exiting have no memory of a user; one in the middle of an execve()
 * has new memory, but still the registers of the old program. start_code is
 * set at the end, right before the registers (load_elf_binary(),
 * fs/binfmt_elf.c). A worker that the kernel runs as a thread of a process, for
 * io_uring or vhost, has its memory, but no registers of a user.
 */
static __always_inline bool has_no_user_stack(const struct task_struct *task)
{
	const struct mm_struct *mm = task->mm;

	return (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) || !mm ||
	       mm->start_code == 0;
}

/*
 * The number that a process or thread has in our namespace, which may be its
 * own or one around it; 0 if it is in neither. bpf_get_ns_current_pid_tgid()
 * knows a task's own namespace only. Which level ours has, user space cannot
 * know: its /proc starts counting there. Mostly it is 1, a container's.
 */
static __noinline __u32 number_in_namespace(const struct pid *pid)
{
	__u32 depth = BPF_CORE_READ(pid, level);

	for (__u32 level = 1; level <= MAX_PID_NS_LEVEL && level <= depth; level++) {
		const struct upid *number = (const void *)((const char *)&pid->numbers +
							   level * bpf_core_type_size(struct upid));

		if (BPF_CORE_READ(number, ns, ns.inum) == dp_pid_namespace)
			return BPF_CORE_READ(number, nr);
	}
	return 0;
}

static __always_inline __u32 process_in_namespace(const struct task_struct *task)
{
	return number_in_namespace(BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]));
}

/* Process and thread, as user space numbers them; 0 for a task outside its namespace. */
static __always_inline __u64 current_pid_tgid(void)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	__u32 pid;

	if (dp_pid_namespace == 0)
		return bpf_get_current_pid_tgid();
	pid = process_in_namespace(task);
	if (pid == 0)
		return 0;
	return (__u64)pid << 32 | number_in_namespace(BPF_CORE_READ(task, thread_pid));
}

/*
 * Is the current process to be sampled? If so, *ret_cell says where its tables
 * are, if they are known. A child that was forked a moment ago is wanted for
 * its parent's sake, until user space has heard of it.
 */
static __always_inline bool is_wanted(__u32 pid, const __u32 **ret_cell)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	__u32 parent;

	*ret_cell = bpf_map_lookup_elem(&dp_processes, &pid);
	if (pid == 0)
		return false;
	if (*ret_cell || dp_all_processes)
		return true;
	if (dp_pid_namespace == 0)
		parent = task->real_parent->tgid;
	else
		parent = process_in_namespace(task->real_parent);
	return bpf_map_lookup_elem(&dp_processes, &parent) != NULL;
}

SEC("perf_event")
int dp_sample_cpu(struct bpf_perf_event_data *ctx)
{
	__u64 pid_tgid = current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	const struct task_struct *task;
	const __u32 *cell;
	struct scratch *s;
	bool user_mode;
	int cs;

	if (!is_wanted(pid_tgid >> 32, &cell))
		return 0;
	s = scratch_claim(cpu);
	if (!s)
		return 0;
	sample_begin(&s->walk, pid_tgid, DP_EVENT_CPU, cpu);

	cs = (__u16)ctx->regs.cs;
	user_mode = cs & 3; /* the privilege level */
	task = (const void *)bpf_get_current_task_btf();
	if (!user_mode && has_no_user_stack(task)) {
		s->walk.sample.outcome = DP_NO_USER_STACK;
	} else {
		if (user_mode)
			REGS_COPY(&s->walk.regs, &ctx->regs);
		else
			cs = regs_of_task(&s->walk);
		sample_user_stack(s, cell, cs);
	}
	if (!user_mode)
		sample_kernel_stack(&s->walk, ctx);
	sample_send(&s->walk, cpu);
	scratch_release(s);
	return 0;
}

SEC("uprobe")
int dp_sample_uprobe(struct pt_regs *ctx)
{
	__u64 pid_tgid = current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	const __u32 *cell;
	struct scratch *s;
	int cs;

	if (!is_wanted(pid_tgid >> 32, &cell))
		return 0;
	s = scratch_claim(cpu);
	if (!s)
		return 0;
	sample_begin(&s->walk, pid_tgid, DP_EVENT_UPROBE, cpu);
	cs = REGS_COPY(&s->walk.regs, ctx);
	sample_user_stack(s, cell, cs);
	sample_kernel_stack(&s->walk, ctx);
	sample_send(&s->walk, cpu);
	scratch_release(s);
	return 0;
}
