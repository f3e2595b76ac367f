/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_WALK_H
#define DP_BPF_WALK_H

/*
 * The walker: from the registers of a thread to the frames of its user stack.
 *
 * A walk goes from frame to frame, innermost first. In each frame it looks up the rule for its
 * address, computes the canonical frame address (CFA: the caller's stack pointer once this frame
 * has returned), and from it the caller's registers. It carries three registers: pc, sp and fp. The
 * others are known in the innermost frame, and in one that a signal interrupted; elsewhere they are
 * searched for on demand (walk_recover()).
 *
 * Every walk ends with one enum dp_outcome. No guess is hidden: the method of a frame found without
 * a rule says so.
 */

#include "bpf/memo.h"
#include "bpf/frame.h"
#include "bpf/landing.h"
#include "bpf/leave.h"
#include "bpf/program.h"
#include "bpf/fast_path.h"
#include "bpf/hotspot.h"
#include "bpf/sljit.h"

static __always_inline enum dp_outcome walk_cfa(struct walk *w, const struct dp_rule *rule,
						__u64 *ret)
{
	enum dp_outcome outcome;
	__u64 base;

	if (rule->cfa == DP_CFA_EXPRESSION || rule->cfa == DP_CFA_SWITCH) {
		w->program.n_values = 0;
		outcome = walk_program(w, (__u32)rule->cfa_offset);
		if (outcome == DP_WALKING)
			*ret = *walk_value(w, 0);
		/* The other stack is found through a register that may have any value. */
		if (rule->cfa == DP_CFA_SWITCH &&
		    (outcome == DP_READ_FAULT || (outcome == DP_WALKING && *ret == 0)))
			return DP_REGISTER_LOST;
		return outcome;
	}
	outcome = walk_register(w, rule->cfa_reg, &base);
	if (outcome != DP_WALKING)
		return outcome;
	*ret = base + rule->cfa_offset;
	switch (rule->cfa) {
	case DP_CFA_REGISTER:
		return DP_WALKING;
	case DP_CFA_MEMORY:
		if (walk_read(w, *ret, ret) < 0)
			return DP_READ_FAULT;
		*ret += rule->cfa_add;
		return DP_WALKING;
	case DP_CFA_PLT:
		*ret += DP_PLT_CFA(w->at.pc, rule->cfa_add);
		return DP_WALKING;
	case DP_CFA_CLONE:
		*ret = w->at.sp + rule->cfa_offset;
		return base == 0 ? DP_COMPLETE : DP_WALKING;
	}
	return DP_UNSUPPORTED_RULE;
}

/* Computes the caller's value of a register. *ret keeps its value if the register is unchanged. */
static __always_inline enum dp_outcome walk_where(struct walk *w, const struct dp_where *where,
						  __u64 cfa, __u64 *ret)
{
	enum dp_outcome outcome;
	__u64 address;

	switch (where->kind) {
	case DP_WHERE_SAME:
		return DP_WALKING;
	case DP_WHERE_CFA:
		address = cfa + where->offset;
		break;
	case DP_WHERE_MEMORY:
		outcome = walk_register(w, where->reg, &address);
		if (outcome != DP_WALKING)
			return outcome;
		address += where->offset;
		break;
	case DP_WHERE_REGISTER:
		return walk_register(w, where->reg, ret);
	case DP_WHERE_EXPRESSION:
	case DP_WHERE_VALUE:
		w->program.values[0] = cfa;
		w->program.n_values = 1;
		outcome = walk_program(w, (__u32)where->offset);
		if (outcome != DP_WALKING)
			return outcome;
		address = *walk_value(w, 0);
		if (where->kind == DP_WHERE_EXPRESSION)
			break;
		*ret = address;
		return DP_WALKING;
	default:
		return DP_REGISTER_LOST;
	}
	return walk_read(w, address, ret) < 0 ? DP_READ_FAULT : DP_WALKING;
}

static __always_inline int walk_is_trampoline(const struct walk *w)
{
	return w->in.trampoline != 0 && w->at.pc - w->in.trampoline < DP_TRAMPOLINE_SIZE;
}

/*
 * Leaves a signal handler's return trampoline for the interrupted frame, whose registers the kernel
 * has saved on the stack.
 */
PORT_GLOBAL int walk_signal(struct walk *w, __u64 sigcontext)
{
	static const __u8 order[DP_N_REGISTERS] = {
#define X(name) DP_##name,
		DP_SIGCONTEXT(X)
#undef X
	};
	__u64 values[DP_N_REGISTERS];

	if (!w)
		return DP_READ_FAULT;
	w->at.cost += WALK_COST_READ;
	if (port_read_user(w, values, sizeof(values), sigcontext) < 0) {
		/* The context may cross into a second page, which may be the unreadable one. */
		w->stack.fault = sigcontext;
		if (port_read_user(w, values, sizeof(*values), sigcontext) == 0)
			w->stack.fault += sizeof(values) - sizeof(*values);
		return DP_READ_FAULT;
	}
	if (w->at.fresh == 0)
		w->innermost = w->in.regs;
	for (__u32 i = 0; i < DP_N_REGISTERS; i++)
		w->in.regs.reg[order[i]] = values[i];
	walk_leave(w, w->in.regs.reg[DP_REG_SP], WALK_SAVES_UNKNOWN, DP_METHOD_SIGNAL);
	w->at.pc = w->in.regs.reg[DP_REG_PC];
	w->at.fp = w->in.regs.reg[DP_REG_FP];
	w->at.fp_lost = 0;
	w->at.left_sp = 0; /* the interrupted code has not switched stacks */
	w->at.fresh = w->at.n_frames;
	return DP_WALKING;
}

/*
 * Computes the caller's fp. Returns walk_position.fp_lost. An unreadable fp does not end the walk,
 * because most frames do not need it, and gcc's unwind information is wrong about it at the end of
 * functions that realign their stack.
 */
static __always_inline __u32 walk_fp(struct walk *w, const struct dp_where *where, __u64 cfa,
				     __u64 *ret)
{
	*ret = w->at.fp;
	if (where->kind == DP_WHERE_SAME)
		return w->at.fp_lost;
	if (where->kind == DP_WHERE_UNDEFINED || where->kind == DP_WHERE_UNKNOWN)
		return DP_REGISTER_LOST;
	return walk_where(w, where, cfa, ret);
}

/* Computes all of the caller's registers from the frame's own, then assigns them together. */
static __always_inline enum dp_outcome walk_by_rule(struct walk *w, const struct dp_rule *rule)
{
	__u64 cfa, sp, pc = 0, fp;
	enum dp_outcome outcome;
	__u32 fp_lost;

	if (rule->ra.kind == DP_WHERE_UNDEFINED)
		return DP_COMPLETE;
	if (rule->cfa == DP_CFA_SIGNAL)
		return walk_signal(w, w->at.sp + rule->cfa_offset);

	outcome = walk_cfa(w, rule, &cfa);
	if (outcome != DP_WALKING)
		return outcome;
	outcome = walk_where(w, &rule->ra, cfa, &pc);
	if (outcome != DP_WALKING)
		return outcome;
	/* Uprobes replace a return address only where the call has put it. */
	if (walk_return_address(w, DP_CALLER_RA(cfa), &pc) < 0)
		return DP_URETPROBE;
	sp = cfa;
	outcome = walk_where(w, &rule->sp, cfa, &sp);
	if (outcome != DP_WALKING)
		return outcome;
	fp_lost = walk_fp(w, &rule->fp, cfa, &fp);
	/* Only an innermost frame may have nothing on the stack, like vfork()'s. */
	if (rule->cfa != DP_CFA_SWITCH &&
	    (sp < w->at.sp || (sp == w->at.sp && w->at.n_frames - 1 != w->at.fresh)))
		return DP_STACK_DIRECTION;
	if (pc == 0) {
		w->at.left_sp = sp; /* whether the stack begins there may be known later */
		return rule->cfa == DP_CFA_SWITCH ? DP_GOROUTINE_LEFT : DP_NULL_RETURN;
	}
	if (rule->cfa == DP_CFA_SWITCH)
		w->at.left_sp = w->at.sp;
	walk_leave(w, cfa, rule->saves, DP_METHOD_TABLE);
	w->at.lands = rule->lands;
	w->at.sp = sp;
	w->at.pc = pc;
	w->at.fp = fp;
	w->at.fp_lost = fp_lost;
	return DP_WALKING;
}

/*
 * Leaves a frame by its frame pointer if that is plausible: aligned, not below the stack pointer,
 * and with a return address in executable code (in a file, behind a call). `why` is the outcome
 * otherwise; `mapping` is the frame's.
 */
static __always_inline enum dp_outcome walk_by_frame_pointer(struct walk *w, enum dp_outcome why,
							     __u32 mapping)
{
	__u32 link = walk_is_above(w, w->at.n_frames - 1) ? WALK_LINK(mapping, 1U) | WALK_BY_FP : 0;
	const struct dp_rule *rule;
	__u64 fp, pc;
	int place;

	if (w->at.fp == 0 &&
	    (w->in.unwind == DP_UNWIND_FP || w->at.method == DP_METHOD_FRAME_POINTER))
		return DP_CHAIN_END;
	if (w->at.fp_lost || w->at.fp % 8 != 0 || w->at.fp < w->at.sp)
		return why;
	if (walk_read(w, w->at.fp, &fp) < 0 || walk_read(w, w->at.fp + DP_FP_RA, &pc) < 0)
		return why;
	if (walk_return_address(w, w->at.fp + DP_FP_RA, &pc) < 0)
		return DP_URETPROBE;
	place = walk_look_up_noinline(w, pc - 1);
	if (place < 0)
		return walk_out_of_date(w);
	rule = &w->rules[port_index((__u32)place, WALK_CACHE_SIZE)].rule;
	if (rule->cfa == DP_CFA_NONE && rule->why == DP_NO_MAPPING)
		return why;
	if (!walk_follows_call(w, (__u32)place, pc))
		return why;
	walk_leave(w, w->at.fp + DP_FP_CFA, WALK_SAVES_UNKNOWN, DP_METHOD_FRAME_POINTER);
	walk_trail(w, w->at.n_frames - 1)->link = link;
	w->at.pc = pc;
	w->at.fp = fp;
	return DP_WALKING;
}

static __always_inline int walk_pc_is_return(const struct walk *w)
{
	return DP_METHOD_IS_CALLER(w->at.method);
}

/*
 * The address by which to look up the frame at pc. A return address may belong to the next
 * function. So may the address behind a system call instruction: those of exit_group() and
 * rt_sigreturn() end their functions.
 */
static __always_inline __u64 walk_lookup_pc(const struct walk *w)
{
	if (walk_pc_is_return(w) || (w->at.method == DP_METHOD_LEAF && w->in.in_syscall))
		return w->at.pc - 1;
	return w->at.pc;
}

/* Leaves a frame that has no rule; `why` is the outcome if it cannot be left. */
static __always_inline enum dp_outcome walk_without_rule(struct walk *w, enum dp_outcome why,
							 __u32 mapping)
{
	if ((why == DP_NO_MAPPING || why == DP_NO_TABLE) && walk_is_trampoline(w))
		return DP_URETPROBE;
	if (why == DP_NO_TABLE && port_has_jit(w)) {
		enum dp_outcome outcome = (enum dp_outcome)walk_hotspot(w, walk_pc_is_return(w));

		if (outcome == DP_NO_TABLE)
			outcome = (enum dp_outcome)walk_sljit(w);
		if (outcome != DP_NO_TABLE || w->sljit.found)
			return outcome;
	}
	if (w->in.unwind == DP_UNWIND_AUTO && (why == DP_NO_RULE || why == DP_NO_TABLE))
		return walk_by_frame_pointer(w, why, mapping);
	return why;
}

static __always_inline void walk_add(struct walk *w)
{
	__u64 frame = DP_FRAME_ADDRESS(w->at.pc) | (__u64)w->at.method << DP_METHOD_SHIFT;
	struct walk_trail *t = walk_trail(w, w->at.n_frames);

	t->frame = frame;
	t->fp = w->at.fp;
	t->link = 0;
	w->out.frames[port_index(w->at.n_frames, DP_MAX_FRAMES)] = frame;
	w->at.n_frames++;
}

/*
 * Handles a return address outside all code. If the frame that it came from was not called itself,
 * user space, which removes that frame, need not walk again with a copy of the stack.
 */
PORT_GLOBAL int walk_out_of_code(struct walk *w)
{
	__u64 frame;
	int place;

	if (!w || w->at.n_frames == 0)
		return DP_NO_MAPPING;
	frame = walk_trail(w, w->at.n_frames - 1)->frame;
	if (DP_FRAME_METHOD(frame) != DP_METHOD_TABLE)
		return DP_NO_MAPPING;
	place = walk_look_up_noinline(w, DP_FRAME_ADDRESS(frame) - 1);
	if (place < 0 || walk_follows_call(w, (__u32)place, DP_FRAME_ADDRESS(frame)))
		return DP_NO_MAPPING;
	return DP_NO_CALL;
}

/* Must the frame be asked whether it has the return address of a landing? */
static __always_inline int walk_may_land(const struct walk *w, const struct dp_rule *rule)
{
	return w->at.lands && rule->cfa_reg != DP_REG_FP;
}

/* Goes to the caller of a frame that has a rule. */
static __always_inline enum dp_outcome walk_on(struct walk *w, const struct dp_rule *rule,
					       int has_landed)
{
	__u64 pc = w->at.pc;
	enum dp_outcome outcome = walk_by_rule(w, rule);

	return has_landed && outcome == DP_WALKING ? (enum dp_outcome)walk_from_landing(w, pc) :
						     outcome;
}

/* Adds the frame at pc and goes to its caller. */
static __always_inline enum dp_outcome walk_step(struct walk *w)
{
	int place = walk_find(w, walk_lookup_pc(w));
	const struct dp_rule *rule;
	enum dp_outcome why;
	int has_landed = 0;
	__u32 mapping;

	if (place < 0)
		return walk_out_of_date(w);
	mapping = WALK_MAPPING(w->cache[port_index((__u32)place, WALK_CACHE_SIZE)].link);
	rule = &w->rules[port_index((__u32)place, WALK_CACHE_SIZE)].rule;
	why = rule->cfa == DP_CFA_NONE ? rule->why : DP_WALKING;
	if (walk_pc_is_return(w)) {
		/* A return address outside all code is no frame. */
		if (why == DP_NO_MAPPING)
			return walk_out_of_code(w);
		/*
		 * A landing without a call in front of it uses the rule for the address itself. No
		 * call is in front of a function's start.
		 */
		if (w->at.lands == DP_LANDS ||
		    (w->at.lands &&
		     (why == DP_NO_RULE || !walk_follows_call(w, (__u32)place, w->at.pc)))) {
			w->at.method = DP_METHOD_LANDING_PAD;
			return DP_WALKING;
		}
		has_landed = walk_may_land(w, rule) && walk_has_landed(w);
	}
	if (w->at.n_frames >= w->in.max_frames)
		return DP_DEPTH_LIMIT;
	walk_add(w);
	w->at.mapping = mapping;
	if (w->in.unwind == DP_UNWIND_FP && why != DP_NO_MAPPING)
		return walk_by_frame_pointer(w, DP_BAD_FRAME_POINTER, mapping);
	if (why != DP_WALKING)
		return walk_without_rule(w, why, mapping);
	return walk_on(w, rule, has_landed);
}

static long walk_loop_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	enum dp_outcome outcome;

	/* A call costs more than this test. */
	if (memo_may(w) && walk_by_memo(w))
		return 0;
	/* Behind the memo, which looks nothing up. */
	if (walk_is_over(w)) {
		w->out.sample.outcome = DP_WALK_LIMIT;
		return 1;
	}
	if (fast_path_may(w) && walk_fast_path(w))
		return 0;
	w->at.cost += WALK_COST_FRAME;
	outcome = walk_step(w);
	/* Beyond the limit nothing more is read or searched, so that is why the walk ends. */
	if (walk_is_over(w) && outcome != DP_WALKING && outcome != DP_COMPLETE)
		outcome = DP_WALK_LIMIT;
	w->out.sample.outcome = outcome;
	return outcome != DP_WALKING;
}

static long walk_forget_address(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;

	w->cache[port_index(i, WALK_CACHE_SIZE)].memory_map = 0;
	return 0;
}

/* Clears all that is kept from one walk to the next. */
PORT_GLOBAL int walk_forget(struct walk *w)
{
	struct walk_ref ref = { w };

	if (!w)
		return 0;
	port_loop(WALK_CACHE_SIZE, walk_forget_address, &ref);
	__builtin_memset(w->mapped.cookies, 0, sizeof(w->mapped.cookies));
	w->memo.memory_map = 0;
	return 0;
}

/*
 * Walks the stack that w->in.regs belongs to, as if `cost` of WALK_MAX_COST were used up. The caller
 * has set regs, in_syscall, snapshot, memory_map, snapshot_cell, unwind and max_frames. Stores the
 * number of frames and the outcome in w->out.sample, the number of outermost frames in common with
 * the previous walk in w->out.n_same, and the other frames in w->out.frames; walk_spell_out() adds
 * the common ones.
 *
 * A walk that was preempted for long, such as one from a uprobe, may have read memory that was
 * reused since. Whoever frees a snapshot overwrites its id first, so the id is compared again at
 * the end. If it differs, all that is kept is cleared: it would be used for other processes.
 */
static __always_inline void walk_run_from(struct walk *w, __u32 cost)
{
	struct walk_ref ref = { w };
	const struct dp_snapshot *snapshot;

	w->at.pc = w->in.regs.reg[DP_REG_PC];
	w->at.sp = w->in.regs.reg[DP_REG_SP];
	w->at.fp = w->in.regs.reg[DP_REG_FP];
	w->at.fp_lost = 0;
	w->mapped.code_changed = 0;
	w->at.n_frames = 0;
	w->at.fresh = 0;
	w->at.cost = cost;
	w->at.n_pages = 0;
	w->stack.fault = 0;
	w->at.left_sp = 0;
	w->program.is_elsewhere = 0;
	w->at.method = DP_METHOD_LEAF;
	w->stack.start = w->at.sp;
	w->stack.n_words = 0;
	w->in.trampoline = port_trampoline(w);
	w->in.number++;
	w->mapped.last = 0;
	memo_begin(w);
	w->out.sample.outcome = DP_WALKING;
	/* Nearly every walk needs it. If it cannot be read, the walk finds out later. */
	walk_read_part(w, w->at.sp, w->at.sp + 1);
	/*
	 * One step per frame to read the stack and one to leave it; the last one meets the limit.
	 */
	port_loop(2 * DP_MAX_FRAMES + 1, walk_loop_step, &ref);
	/*
	 * All steps were used. One that only recognises a landing pad adds no frame, so this can come
	 * before max_frames.
	 */
	if (w->out.sample.outcome == DP_WALKING)
		w->out.sample.outcome = DP_DEPTH_LIMIT;
	w->out.sample.n_user = w->at.n_frames;
	w->out.sample.fault_address = w->out.sample.outcome == DP_READ_FAULT ? w->stack.fault : 0;
	snapshot = port_pool(w, w->in.snapshot_cell);
	if (snapshot && snapshot->id == w->in.snapshot) {
		memo_end(w);
	} else {
		w->out.sample.outcome = DP_TABLES_CHANGED;
		walk_forget(w);
	}
	memo_spell_out(w);
}

/* The same, with all of WALK_MAX_COST. */
static __always_inline void walk_run(struct walk *w)
{
	walk_run_from(w, 0);
}

/* Copies all frames of a walk to w->out.frames. */
static __always_inline void walk_spell_out(struct walk *w)
{
	w->out.n_same = 0;
	memo_spell_out(w);
}

#endif
