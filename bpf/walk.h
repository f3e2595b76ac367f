/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_WALK_H
#define DP_BPF_WALK_H

/*
 * The walker: from the registers of a thread to the frames of its user stack.
 *
 * A walk goes from frame to frame, the innermost first. In each frame it looks
 * up the rule for its address, computes the canonical frame address (CFA: the
 * stack pointer of the caller once this frame has returned), and from it the
 * caller's registers. It keeps three registers at every step: pc, sp and rbp.
 * The others are known in the frame that was running, and in one that a signal
 * interrupted; elsewhere they are found on demand (walk_recover()).
 *
 * Every walk ends with one enum dp_outcome. Nothing is guessed in silence: a
 * frame that was found without a rule says so in its method.
 */

#include "abi.h"
#include "lookup.h"
#include "port.h"

/* Addresses whose rules are remembered. Direct mapped; a power of two. */
#define WALK_CACHE_SIZE 1024

/* In place of dp_rule.saves: the frame was left without knowing what it saved. */
#define WALK_SAVES_UNKNOWN (~0U)

#define WALK_NO_PAGE (~0ULL)

/* Mappings that were compared with the process's memory in this walk; a power of two. */
#define WALK_CHECKED 8

struct walk_cached {
	__u64 space;
	__u64 pc;
	struct dp_rule rule;
	__u32 mapping; /* cell of the struct dp_mapping, 0: none */
	__u32 zero;
};

/* How a frame was left, kept to find the registers it had saved. */
struct walk_trail {
	__u64 cfa;
	__u64 rbp;   /* in the frame itself */
	__u32 saves; /* as in struct dp_rule */
	__u32 zero;
};

struct walk {
	struct port_world world;

	/* What to walk, and how */
	__u64 space; /* id and cell of the process's struct dp_space */
	__u32 space_cell;
	__u32 unwind;     /* enum dp_unwind */
	__u32 max_frames; /* at most DP_MAX_FRAMES */
	__u32 in_syscall; /* the innermost pc is behind an instruction that has the kernel at work */

	/* Where the walk is: frames found are n_frames, the one at pc is the next */
	__u32 n_frames;
	__u32 method; /* how the frame at pc was found: enum dp_method */
	__u32 rbp_lost;
	__u64 pc, sp, rbp;

	__u32 checked[WALK_CHECKED]; /* cells of mappings, at the place that the cell determines */

	/* The last frame whose registers are known completely, and these registers */
	__u32 fresh;

	/* What walk_recover() looks for, and where */
	__u32 wanted;  /* enum dp_saved */
	__u32 callees; /* the frame looked at last */
	__u32 is_found;
	__u64 found;
	struct dp_regs regs;

	/* The page of the stack read last; the verifier wants room for a word behind any offset */
	__u64 page_address;
	__u8 page[DP_USER_PAGE_SIZE + 8];

	/* The sample being made; the kernel's frames come behind the user's */
	struct dp_sample sample;
	__u64 frames[DP_MAX_FRAMES + DP_MAX_KERNEL_FRAMES];

	struct walk_trail trail[DP_MAX_FRAMES];
	struct walk_cached cache[WALK_CACHE_SIZE];
};

/* What the callback of a loop is given. */
struct walk_ref {
	struct walk *w;
};

/*
 * Read the word at an address of the walked process. The stack is read by
 * aligned pages: neighbouring frames then cost no further read, and a page is
 * either readable or not, so that no read fails for reaching beyond its end.
 */
static __always_inline int walk_read(struct walk *w, __u64 address, __u64 *ret)
{
	__u64 offset = address & (DP_USER_PAGE_SIZE - 1);
	__u64 page = address - offset;

	if (offset > DP_USER_PAGE_SIZE - sizeof(*ret))
		return port_read_user(w, ret, sizeof(*ret), address);
	if (page != w->page_address) {
		w->page_address = WALK_NO_PAGE;
		if (port_read_user(w, w->page, DP_USER_PAGE_SIZE, page) < 0)
			return -1;
		w->page_address = page;
	}
	__builtin_memcpy(ret, w->page + port_index((__u32)offset, DP_USER_PAGE_SIZE), sizeof(*ret));
	return 0;
}

/* Is the binary that the mapping at cell tells of still the one that is there? */
static __noinline int walk_check(struct walk *w, __u32 cell)
{
	const struct dp_mapping *m = port_pool(w, cell);
	__u64 mark;

	if (!m)
		return -1;
	if (m->mark_below == 0)
		return 0;
	if (port_read_user(w, &mark, sizeof(mark), m->start - m->mark_below) < 0)
		return -1;
	return mark == m->mark ? 0 : -1;
}

/* The rule for an address, from the cache or the tables; NULL if they are out of date. */
static __always_inline const struct dp_rule *walk_rule(struct walk *w, __u64 pc)
{
	struct walk_cached *c = &w->cache[(pc ^ pc >> 12) & (WALK_CACHE_SIZE - 1)];
	__u32 *checked;

	if (c->space != w->space || c->pc != pc) {
		c->mapping = lookup_space(w, w->space_cell, pc, &c->rule);
		c->space = w->space;
		c->pc = pc;
	}
	checked = &w->checked[c->mapping / DP_CELLS(struct dp_mapping) & (WALK_CHECKED - 1)];
	if (c->mapping != 0 && *checked != c->mapping) {
		if (walk_check(w, c->mapping) < 0)
			return NULL;
		*checked = c->mapping;
	}
	return &c->rule;
}

/*
 * Where a frame saved a register, by its dp_rule.saves: 1 if it did, 0 if not,
 * negative if that is not known.
 */
static __always_inline int walk_saved(struct walk *w, const struct walk_trail *t, __u32 saved,
				      __u64 *ret_address)
{
	const struct dp_saves *saves;
	struct dp_where where;
	__u32 slot;

	if (t->saves == WALK_SAVES_UNKNOWN || saved >= DP_N_SAVED)
		return -1;
	if (!(t->saves & DP_SAVES_APART)) {
		slot = t->saves >> (saved * DP_SLOT_BITS) & DP_MAX_SLOT;
		*ret_address = t->cfa - 8 * slot;
		return slot != 0;
	}
	saves = port_pool(w, t->saves & ~DP_SAVES_APART);
	if (!saves)
		return -1;
	where = saves->where[saved];
	if (where.kind == DP_WHERE_CFA)
		*ret_address = t->cfa + where.offset;
	else if (where.kind == DP_WHERE_MEMORY && where.reg == DP_RBP)
		*ret_address = t->rbp + where.offset;
	else
		return where.kind == DP_WHERE_SAME ? 0 : -1;
	return 1;
}

/* Look whether the next frame down saved the wanted register; 1 ends the search. */
static long walk_recover_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;
	const struct walk_trail *t;
	__u64 address;
	int is_saved;

	if (w->callees <= w->fresh) {
		w->is_found = 1; /* nobody saved it: it still has its initial value */
		return 1;
	}
	w->callees--;
	t = &w->trail[port_index(w->callees, DP_MAX_FRAMES)];
	is_saved = walk_saved(w, t, port_opaque(w->wanted), &address);
	if (is_saved > 0)
		w->is_found = walk_read(w, address, &w->found) == 0;
	return is_saved != 0;
}

/*
 * The value of a callee-saved register in the current frame: what it was in
 * the last frame known completely, unless a frame between has saved it since.
 * Rules that need one are rare (the lazy binding resolver is the best known),
 * so the search may be slow.
 */
static __noinline int walk_recover(struct walk *w, __u32 saved, __u64 initial)
{
	struct walk_ref ref = { w };

	w->wanted = saved;
	w->found = initial;
	w->is_found = 0;
	w->callees = w->n_frames - 1;
	port_loop(DP_MAX_FRAMES, walk_recover_step, &ref);
	return w->is_found ? 0 : -1;
}

static __always_inline __u32 saved_number(__u32 reg)
{
	switch (reg) {
#define X(name, word)                                                                              \
	case DP_##name:                                                                            \
		return DP_SAVED_##name;
		DP_SAVED_REGISTERS(X)
#undef X
	}
	return DP_N_SAVED;
}

/* The value of a register in the current frame. */
static __always_inline enum dp_outcome walk_register(struct walk *w, __u32 reg, __u64 *ret)
{
	__u32 saved;

	if (reg == DP_RSP) {
		*ret = w->sp;
		return DP_WALKING;
	}
	if (reg == DP_RBP) {
		*ret = w->rbp;
		return w->rbp_lost ? DP_REGISTER_LOST : DP_WALKING;
	}
	if (reg >= DP_N_REGISTERS)
		return DP_UNSUPPORTED_RULE;
	*ret = w->regs.reg[reg];
	if (w->n_frames - 1 == w->fresh)
		return DP_WALKING;
	saved = saved_number(reg);
	if (saved == DP_N_SAVED || walk_recover(w, saved, *ret) < 0)
		return DP_REGISTER_LOST;
	*ret = w->found;
	return DP_WALKING;
}

static __always_inline enum dp_outcome walk_cfa(struct walk *w, const struct dp_rule *rule,
						__u64 *ret)
{
	enum dp_outcome outcome;
	__u64 base;

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
		if ((w->pc & 15) >= (__u64)rule->cfa_add)
			*ret += 8;
		return DP_WALKING;
	}
	return DP_UNSUPPORTED_RULE;
}

/* The caller's value of a register; *ret keeps its value if the register is unchanged. */
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
	default:
		return DP_REGISTER_LOST;
	}
	return walk_read(w, address, ret) < 0 ? DP_READ_FAULT : DP_WALKING;
}

/* Leave the current frame for its caller. */
static __always_inline void walk_leave(struct walk *w, __u64 cfa, __u32 saves,
				       enum dp_method method)
{
	struct walk_trail *t = &w->trail[port_index(w->n_frames - 1, DP_MAX_FRAMES)];

	t->cfa = cfa;
	t->rbp = w->rbp;
	t->saves = saves;
	w->sp = cfa;
	w->method = method;
}

/*
 * Leave a signal handler's return trampoline for the interrupted frame, whose
 * registers the kernel has put on the stack: struct sigcontext_64,
 * arch/x86/include/uapi/asm/sigcontext.h.
 */
static __noinline int walk_signal(struct walk *w, __u64 sigcontext)
{
	static const __u8 order[DP_N_REGISTERS] = {
		DP_R8,  DP_R9,  DP_R10, DP_R11, DP_R12, DP_R13, DP_R14, DP_R15, DP_RDI,
		DP_RSI, DP_RBP, DP_RBX, DP_RDX, DP_RAX, DP_RCX, DP_RSP, DP_RIP,
	};

	for (__u32 i = 0; i < DP_N_REGISTERS; i++) {
		__u64 value;

		if (walk_read(w, sigcontext + 8 * i, &value) < 0)
			return DP_READ_FAULT;
		if (order[i] < DP_N_REGISTERS)
			w->regs.reg[order[i]] = value;
	}
	walk_leave(w, w->regs.reg[DP_RSP], WALK_SAVES_UNKNOWN, DP_METHOD_SIGNAL);
	w->pc = w->regs.reg[DP_RIP];
	w->rbp = w->regs.reg[DP_RBP];
	w->rbp_lost = 0;
	w->fresh = w->n_frames;
	return DP_WALKING;
}

/* All of the caller's registers follow from the frame's own, and are assigned together. */
static __always_inline enum dp_outcome walk_by_rule(struct walk *w, const struct dp_rule *rule)
{
	__u64 cfa, pc = 0, rbp = w->rbp;
	enum dp_outcome outcome;

	if (rule->ra.kind == DP_WHERE_UNDEFINED)
		return DP_COMPLETE;
	if (rule->cfa == DP_CFA_SIGNAL)
		return walk_signal(w, w->sp + rule->cfa_offset);

	outcome = walk_cfa(w, rule, &cfa);
	if (outcome != DP_WALKING)
		return outcome;
	outcome = walk_where(w, &rule->ra, cfa, &pc);
	if (outcome != DP_WALKING)
		return outcome;
	if (rule->rbp.kind == DP_WHERE_UNDEFINED || rule->rbp.kind == DP_WHERE_UNKNOWN)
		w->rbp_lost = 1;
	else
		outcome = walk_where(w, &rule->rbp, cfa, &rbp);
	if (outcome != DP_WALKING)
		return outcome;
	/* Only an innermost frame may have nothing on the stack, like vfork()'s. */
	if (cfa < w->sp || (cfa == w->sp && w->n_frames - 1 != w->fresh))
		return DP_STACK_DIRECTION;
	if (pc == 0)
		return DP_NULL_RETURN;
	walk_leave(w, cfa, rule->saves, DP_METHOD_TABLE);
	w->pc = pc;
	w->rbp = rbp;
	return DP_WALKING;
}

/*
 * Leave a frame through its frame pointer, if that is plausible: aligned, not
 * below the stack pointer, and with a return address into executable code.
 * `why` is the outcome if not.
 */
static __always_inline enum dp_outcome walk_by_frame_pointer(struct walk *w, enum dp_outcome why)
{
	const struct dp_rule *rule;
	__u64 rbp, pc;

	if (w->rbp == 0 && (w->unwind == DP_UNWIND_FP || w->method == DP_METHOD_FRAME_POINTER))
		return DP_CHAIN_END;
	if (w->rbp_lost || w->rbp % 8 != 0 || w->rbp < w->sp)
		return why;
	if (walk_read(w, w->rbp, &rbp) < 0 || walk_read(w, w->rbp + 8, &pc) < 0)
		return why;
	rule = walk_rule(w, pc - 1);
	if (!rule)
		return DP_TABLES_CHANGED;
	if (rule->cfa == DP_CFA_NONE && rule->why == DP_NO_MAPPING)
		return why;
	walk_leave(w, w->rbp + 16, WALK_SAVES_UNKNOWN, DP_METHOD_FRAME_POINTER);
	w->pc = pc;
	w->rbp = rbp;
	return DP_WALKING;
}

static __always_inline int walk_is_called(const struct walk *w)
{
	return w->method == DP_METHOD_TABLE || w->method == DP_METHOD_FRAME_POINTER;
}

/*
 * The address to look the frame at pc up at. A caller's is the one behind its
 * call, which may belong to the next function; so is that behind a system
 * call's instruction: exit_group()'s and rt_sigreturn()'s are the last ones of
 * their functions.
 */
static __always_inline __u64 walk_lookup_pc(const struct walk *w)
{
	if (walk_is_called(w) || (w->method == DP_METHOD_LEAF && w->in_syscall))
		return w->pc - 1;
	return w->pc;
}

/* Add the frame at pc and go on to its caller. */
static __always_inline enum dp_outcome walk_step(struct walk *w)
{
	const struct dp_rule *rule = walk_rule(w, walk_lookup_pc(w));
	enum dp_outcome why;

	if (!rule)
		return DP_TABLES_CHANGED;
	why = rule->cfa == DP_CFA_NONE ? rule->why : DP_WALKING;
	/* A return address outside all code is no frame. */
	if (why == DP_NO_MAPPING && walk_is_called(w))
		return why;
	if (w->n_frames >= w->max_frames)
		return DP_DEPTH_LIMIT;
	w->frames[port_index(w->n_frames, DP_MAX_FRAMES)] =
		DP_FRAME_ADDRESS(w->pc) | (__u64)w->method << DP_METHOD_SHIFT;
	w->n_frames++;

	if (w->unwind == DP_UNWIND_FP && why != DP_NO_MAPPING)
		return walk_by_frame_pointer(w, DP_BAD_FRAME_POINTER);
	if (why == DP_WALKING)
		return walk_by_rule(w, rule);
	if (w->unwind == DP_UNWIND_AUTO && (why == DP_NO_RULE || why == DP_NO_TABLE))
		return walk_by_frame_pointer(w, why);
	return why;
}

static long walk_loop_step(__u32 i, void *ctx)
{
	struct walk *w = ((struct walk_ref *)ctx)->w;

	w->sample.outcome = walk_step(w);
	return w->sample.outcome != DP_WALKING;
}

/*
 * Walk the stack that w->regs belongs to. A walk that was preempted for long,
 * as one from a uprobe can be, may have read what became of its space's memory
 * since: whoever gives that up overwrites the id first. The caller has set regs, in_syscall,
 * space, space_cell, unwind and max_frames. Leaves the frames in w->frames, their
 * number and the outcome in w->sample.
 */
static __always_inline void walk_run(struct walk *w)
{
	struct walk_ref ref = { w };
	const struct dp_space *space;

	w->pc = w->regs.reg[DP_RIP];
	w->sp = w->regs.reg[DP_RSP];
	w->rbp = w->regs.reg[DP_RBP];
	w->rbp_lost = 0;
	w->n_frames = 0;
	w->fresh = 0;
	w->method = DP_METHOD_LEAF;
	w->page_address = WALK_NO_PAGE;
	__builtin_memset(w->checked, 0, sizeof(w->checked));
	w->sample.outcome = DP_WALKING;
	/* One step more than there can be frames: the last one finds the limit. */
	port_loop(DP_MAX_FRAMES + 1, walk_loop_step, &ref);
	w->sample.n_user = w->n_frames;
	space = port_pool(w, w->space_cell);
	if (!space || space->id != w->space)
		w->sample.outcome = DP_TABLES_CHANGED;
}

#endif
