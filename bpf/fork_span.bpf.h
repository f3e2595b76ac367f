/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_FORK_SPAN_BPF_H
#define DP_BPF_FORK_SPAN_BPF_H

/*
 * A new process whose stack is a copy of its parent's, or that of a parent that waits (vfork()), is in the calls
 * that are on it (spans.bpf.h). Included by dwarfprof.bpf.c.
 */

struct span_heir {
	const struct dp_span_places *places;
	const struct span_code *code;     /* the parent's */
	const struct thread_spans *spans; /* and its */
	struct thread_spans *own;
	__u64 from, to; /* PID and TID */
	__u64 sp;
	__u32 keys; /* that are inherited, a bit for each */
};

/*
 * A call that returns is not forgotten, so most that fork outside of calls have some, too: those that are below
 * the stack pointer are over. Of a probe for some processes, or for a user's, the child's later calls may not be
 * kept, and have the same place on the stack.
 */
static __always_inline bool span_is_inherited(const struct span_heir *heir,
					      const struct span_key *key)
{
	const struct dp_span_place *place =
		&heir->places->of[port_index(key->id, DP_MAX_SPAN_PLACES)];

	return key->cfa > heir->sp && place->id == key->id &&
	       (!dp_has_slots || probe_is_for_all(place->slot)) &&
	       span_is_own(heir->code, key, (__u32)(heir->from >> 32), (__u32)heir->from);
}

static long span_choose_step(__u32 i, void *ctx)
{
	struct span_heir *heir = ctx;

	if (!heir->places || !heir->code || !heir->spans)
		return 1;
	if (span_is_inherited(heir, &heir->spans->keys[port_index(i, SPANS)]))
		heir->keys |= 1U << port_index(i, SPANS);
	return 0;
}

static long span_inherit_step(__u32 i, void *ctx)
{
	const struct span_heir *heir = ctx;
	struct span_key *key;

	if (!heir->own)
		return 1;
	key = &heir->own->keys[port_index(i, SPANS)];
	if (heir->keys >> port_index(i, SPANS) & 1)
		span_own(key->cfa, heir->to, key->id);
	else
		*key = (struct span_key){ 0 };
	return 0;
}

/* Copies what the thread keeps, if there is something to inherit. */
static __always_inline bool spans_copy(struct span_heir *heir)
{
	__u32 parent = heir->from >> 32, child = heir->to >> 32;

	heir->code = bpf_map_lookup_elem(&dp_span_code, &parent);
	heir->spans = bpf_map_lookup_elem(&dp_spans, &heir->from);
	if (!heir->code || !heir->spans)
		return false;
	bpf_loop(SPANS, span_choose_step, heir, 0);
	if (heir->keys == 0 || span_code_add(&child, heir->code) < 0 ||
	    thread_spans_add(&heir->to, heir->spans) < 0)
		return false;
	heir->own = bpf_map_lookup_elem(&dp_spans, &heir->to);
	return heir->own != NULL;
}

static __always_inline void spans_inherit(struct span_heir *heir)
{
	__u32 child = heir->to >> 32;

	/* There may be those of an earlier process with this PID. */
	thread_spans_drop(&heir->to);
	span_code_drop(&child);
	if (spans_copy(heir)) {
		bpf_loop(SPANS, span_inherit_step, heir, 0);
		return;
	}
	span_code_drop(&child);
}

static __always_inline bool has_span_place(const struct dp_span_places *places)
{
	__u32 ids = 0;

	for (__u32 i = 0; places && i < DP_MAX_SPAN_PLACES && i < places->n; i++)
		ids |= places->of[i].id;
	return ids != 0;
}

/*
 * TP_PROTO(struct task_struct *parent, struct task_struct *child). The child has its numbers and registers, and
 * has not run yet (kernel_clone(), kernel/fork.c).
 */
SEC("tp_btf/sched_process_fork")
int dp_fork_span(__u64 *ctx)
{
	struct task_struct *parent = (void *)bpf_get_current_task_btf(), *child = (void *)ctx[1];
	const struct pt_regs___task *before = (const void *)bpf_task_pt_regs(parent);
	const struct pt_regs___task *after = (const void *)bpf_task_pt_regs(child);
	struct span_heir heir = { .sp = REGS_SP(before) };
	__u32 zero = 0;

	/* Else it has a stack of its own. */
	if (REGS_SP(after) != heir.sp)
		return 0;
	/* How often and how long calls run is that of those that begin. */
	if (dp_has_slots ? spans_are_timed() != 0 : dp_has_span_times)
		return 0;
	heir.places = bpf_map_lookup_elem(&dp_span_places, &zero);
	if (!has_span_place(heir.places))
		return 0;
	heir.from = current_pid_tgid();
	heir.to = dp_pid_namespace == 0 ? (__u64)child->tgid << 32 | child->pid :
					  pid_tgid_in_namespace(child);
	/* A thread may share another's stack: of its process, all is known. */
	if (heir.from != 0 && heir.to >> 32 != 0 && heir.from >> 32 != heir.to >> 32)
		spans_inherit(&heir);
	return 0;
}

#endif
